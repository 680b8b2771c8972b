/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the preprocessor, the constant expressions and the declarations of C: what they mean, what is refused,
 * and that nothing hostile takes long or nests without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/c/definitions.h"
#include "lang/parse/parse.h"

struct file {
    const char *path, *text;
};

struct held {
    struct arena arena;
    struct diagnostics diagnostics;
    struct source source;
    const struct file *files;
    unsigned asked; /* how often a file was asked for */
    struct c_definitions *definitions;
    struct script *script;
};

static int read_file(void *state, const char *path, const char **text, size_t *length)
{
    struct held *held = state;
    held->asked++;
    for (const struct file *file = held->files; file && file->path; file++)
        if (!strcmp(file->path, path)) {
            *text = file->text;
            *length = strlen(file->text);
            return 0;
        }
    return -ENOENT;
}

static struct held *hold(const char *text, const struct file *files)
{
    static const char *const directories[] = {"/first", "/second", NULL};
    struct held *held = calloc(1, sizeof *held);
    held->diagnostics.arena = &held->arena;
    held->files = files;
    held->source = (struct source){"stdin", text, strlen(text)};
    struct c_options options = {.arena = &held->arena,
                                .diagnostics = &held->diagnostics,
                                .directories = directories,
                                .script_directory = "/script",
                                .state = held,
                                .read = read_file};
    held->definitions = c_open(&options);
    held->script =
        script_parse_with(&held->arena, &held->diagnostics, &held->source, NULL, held->definitions);
    return held;
}

static void drop(struct held *held)
{
    c_close(held->definitions);
    arena_free(&held->arena);
    free(held);
}

static void assert_messages(struct held *held, const char *expected)
{
    struct text text = {0};
    for (size_t i = 0; i < held->diagnostics.count; i++)
        text_printf(&text, "%s%s", i ? "; " : "", held->diagnostics.items[i].message);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

/* Compares the block's tokens after expansion, printed as a tree, with the expected text. */
static void assert_tree(const char *text, const char *expected)
{
    struct held *held = hold(text, NULL);
    struct text tree = {0};
    assert_messages(held, "");
    node_print(&tree, held->script->blocks->body, 0);
    if (!strstr(text_string(&tree), expected))
        printf("%s\n", text_string(&tree));
    assert_non_null(strstr(text_string(&tree), expected));
    text_free(&tree);
    drop(held);
}

static void assert_value(const char *expression, int64_t expected)
{
    char text[512];
    int64_t value = 0;
    snprintf(text, sizeof text,
             "struct t { char a; int b[3]; struct { long c; } d; }; enum { V = %s }; begin { }", expression);
    struct held *held = hold(text, NULL);
    assert_messages(held, "");
    assert_non_null(c_enumerator(held->definitions, "V", &value));
    if (value != expected)
        printf("%s is %lld\n", expression, (long long)value);
    assert_true(value == expected);
    drop(held);
}

static void test_values(void **state)
{
    (void)state;
    assert_value("1 + 2 * 3 - 4 / 2 % 3", 5);
    assert_value("-7 / 2", -3);
    assert_value("-7 % 3", -1);
    assert_value("~0", -1);
    assert_value("~0U", 4294967295);
    assert_value("0x7fffffff + 1U", 2147483648);
    assert_value("(char)200", -56);
    assert_value("(unsigned char)-1", 255);
    assert_value("(unsigned)-1 > 0", 1);
    assert_value("-1 < 0U", 0);
    assert_value("-1L < 0U", 1);
    assert_value("1 ? 2 : 1 / 0", 2);
    assert_value("0 && 1 / 0", 0);
    assert_value("1 || 1 / 0", 1);
    assert_value("'a'", 97);
    assert_value("'\\n' + '\\x41' + '\\0' + '\\101'", 140);
    assert_value("L'x'", 120);
    assert_value("0b101 + 010 + 0xFFul", 268);
    assert_value("sizeof(struct t)", 24);
    assert_value("sizeof(int[3][2])", 24);
    assert_value("sizeof(char *)", 8);
    assert_value("sizeof(int (*)(void))", 8);
    assert_value("sizeof(((struct t *)0)->b)", 12);
    assert_value("sizeof(((struct t *)0)->b[0])", 4);
    assert_value("sizeof(((struct t *)0)->b) / sizeof(((struct t *)0)->b[0])", 3);
    assert_value("sizeof(\"four\")", 5);
    assert_value("sizeof(unsigned long long int) + sizeof(short unsigned)", 10);
    assert_value("_Alignof(struct t)", 8);
    assert_value("offsetof(struct t, d.c)", 16);
    assert_value("__builtin_offsetof(struct t, b[2])", 12);
    assert_value("1 << 31 >> 31", -1);
    assert_value("1U << 31 >> 31", 1);
    assert_value("(-9223372036854775807L - 1) / -1", INT64_MIN);
    assert_value("(-9223372036854775807L - 1) % -1", 0);
}

static void test_macros(void **state)
{
    (void)state;
    /* the example of the standard for # and ##, and for rescanning */
    assert_tree("#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n#define z "
                "z[0]\n#define t(a) a\nbegin { print(t(t(g)(0) + t)(1)); }",
                "call f");
    assert_tree("#define hash_hash # ## #\n#define mkstr(a) # a\n#define in_between(a) mkstr(a)\n#define "
                "join(c, d) in_between(c hash_hash d)\nbegin { print(join(x, y)); }",
                "\"x ## y\"");
    assert_tree("#define t(x,y,z) x ## y ## z\nbegin { print(t(1,2,3)); print(t(,4,5)); }", "45");
    assert_tree("#define str(s) #s\nbegin { print(str(a \"b\\n\" 'c')); }", "\"a \\\"b\\\\n\\\" 'c'\"");
    assert_tree("#define E\n#define F(a) a E\nbegin { print(F(E 7 E)); }", "integer 7");
    assert_tree("#define A B\n#define B A\n#define begin_x begin\nbegin { print(A); }", "name A");
    assert_tree("#define ADD(a, ...) a + __VA_ARGS__ + 0\nbegin { print(ADD(1, 2)); }", "binary +");
    assert_tree("#define R 0..4\nbegin { for ($i : R) { print($i); } }", "integer 4");
    assert_tree("#define T(a) a.0\nbegin { print(T((5, 6))); }", "tuple");
    assert_tree("#define LINES \"a\" \\\n  \"b\"\nbegin { print(LINES); }", "\"ab\"");
    assert_tree("#define MS(n) n##ms\nbegin { print(MS(10)); }", "integer 10000000");
    assert_tree("#define F(x) 1\nbegin { $F = 2; @F = 3; print(F(()) + F((,))); }", "variable $F");
    /* no expansion in probes; a function-like name without parentheses is a name */
    struct held *held = hold("#define foo bar\n#define nsecs() 1\nkprobe:foo { print(nsecs); }", NULL);
    assert_messages(held, "");
    assert_string_equal(held->script->blocks->attach_points->text, "kprobe:foo");
    drop(held);
}

static void assert_refused(const char *text, const char *messages)
{
    struct held *held = hold(text, NULL);
    assert_messages(held, messages);
    drop(held);
}

static void test_refused(void **state)
{
    (void)state;
    assert_refused("#define F(x) x\nbegin { print(F(1; }",
                   "Unterminated arguments of the macro 'F'; syntax: expected an expression, found the end "
                   "of the script");
    assert_refused("#define F(a, b) a\nbegin { print(F(1)); }",
                   "The macro 'F' takes 2 arguments, 1 was given");
    assert_refused("#define END } begin {\nbegin { print(1); END print(2); }",
                   "A macro goes on behind the end of its block; syntax: expected '{' after the probe");
    assert_refused("#endif\nbegin { }", "#endif without #if");
    assert_refused("#if 0\n#else\n#else\n#endif\nbegin { }", "#else after #else");
    assert_refused("#if X(\n#endif\nbegin { }", "The condition cannot be evaluated: something follows it");
    assert_refused("#define\nbegin { }", "#define needs a name");
    assert_refused("#include\nbegin { }", "#include expects \"FILE\" or <FILE>");
    assert_refused("struct s { int a[-1]; }; begin { }", "An array is too long");
    assert_refused("struct s { int a[1 << 20][1 << 20]; }; begin { }", "An array is too long");
    assert_refused("struct s { struct s inside; }; begin { }",
                   "The member 'inside' has a type whose size is not known: 'struct s'");
    assert_refused("struct s { float f : 3; }; begin { }",
                   "The width of the bit-field 'f' does not fit its type");
    assert_refused("struct s { long short x; }; begin { }", "The words of a type contradict each other");
    assert_refused("struct s { int x", "syntax: expected ';', found the end of the script; syntax: expected "
                                       "'}', found the end of the script");
    assert_refused("enum e { 1 }; begin { }", "syntax: expected an enumerator, found '1'");
    assert_refused("typedef unknown_t other_t; begin { }", "unknown type name 'unknown_t'");
}

/* Declarations of all kinds are accepted, functions and objects too, and the blocks behind them are parsed. */
static void test_passed_over(void **state)
{
    (void)state;
    struct held *held = hold(
        "struct a { int x; }\nenum b { B }\nunion c { int x; } __attribute__((packed))\nstatic inline int "
        "f(struct a *p) { return p->x ? 1 : 2; }\nextern int g(int, char *), h;\nstruct a object, "
        "*pointer;\nstatic const char *const names[] = {\"a\", [3] = \"b\"};\ntypedef int (*callback)(struct "
        "a *, void (*)(int));\n_Static_assert(sizeof(struct a) == 4, \"size\");\nstruct "
        "__attribute__((aligned(16))) d { callback f; char rest[]; };\nconst int i = 5;\nbegin { } end { }",
        NULL);
    assert_messages(held, "");
    assert_int_equal(held->script->block_count, 2);
    assert_int_equal(c_type(held->definitions, "struct d")->size, 16);
    assert_int_equal(c_type(held->definitions, "callback")->kind, TYPE_POINTER);
    assert_null(c_type(held->definitions, "struct b"));
    assert_non_null(c_type(held->definitions, "b"));
    drop(held);
}

static void test_files(void **state)
{
    (void)state;
    static const struct file files[] = {
        {"/first/one.h",
         "#pragma once\n#include <two.h>\n#include \"own.h\"\nstruct one { struct two t; int x : ; "
         "};\nstruct good { int y; };\n#include <linux/absent.h>\n#include \"nothing.h\"\n#error stop"},
        {"/first/two.h", "#include_next <two.h>\n#define FIRST 1\n"},
        {"/second/two.h", "struct two { int a[FROM_OWN]; };\n#ifndef FROM_OWN\n#define FROM_OWN 2\n#endif\n"},
        {"/first/own.h", "enum { OWN = 11 };\n"},
        {"/script/own.h", "enum { OWN = 22 };\n"},
        {"/script/cycle.h", "#include \"cycle.h\"\nenum { IN_CYCLE = 1 };\n"},
        {"/first/open.h", "#if 1\nenum { IN_OPEN = 1 };\nstruct open {"},
        {NULL, NULL},
    };
    int64_t value = 0;
    struct held *held = hold("#define FROM_OWN 3\n#include <one.h>\n#include <one.h>\n#include "
                             "\"cycle.h\"\n#include <open.h>\nstruct own { struct two t[2]; }; begin { }",
                             files);
    assert_messages(held, "");
    assert_int_equal(held->script->block_count, 1);
    assert_int_equal(c_type(held->definitions, "struct own")->size, 24);
    assert_null(c_type(held->definitions, "struct one"));
    assert_non_null(c_type(held->definitions, "struct good"));
    assert_non_null(c_enumerator(held->definitions, "OWN", &value));
    assert_int_equal(value, 11);
    assert_non_null(c_enumerator(held->definitions, "IN_CYCLE", &value));
    assert_non_null(c_enumerator(held->definitions, "IN_OPEN", &value));
    assert_string_equal(c_missing_header(held->definitions), "linux/absent.h");
    struct text notes = {0};
    for (size_t n = 0; c_note(held->definitions, n); n++)
        text_printf(&notes, "%s\n", c_note(held->definitions, n));
    assert_non_null(strstr(text_string(&notes), "/first/one.h:4: A constant expression cannot be evaluated"));
    assert_non_null(strstr(text_string(&notes), "<linux/absent.h> is not on this machine"));
    assert_non_null(strstr(text_string(&notes), "/first/one.h:7: 'nothing.h' file not found"));
    assert_non_null(strstr(text_string(&notes), "#error stop"));
    assert_non_null(strstr(text_string(&notes), "headers include each other too deeply"));
    text_free(&notes);
    drop(held);
}

/* A header is asked for once, and is not processed again when its guard says that nothing would come of it. */
static void test_guards(void **state)
{
    (void)state;
    static const struct file files[] = {
        {"/first/guarded.h",
         "/* a */\n#ifndef GUARDED_H\n#define GUARDED_H\n#if 1\n#include <inner.h>\n#else\n"
         "#endif\nenum { IN_GUARDED = 1 };\n#endif // GUARDED_H\n/* b */\n"},
        {"/first/inner.h", "#pragma once\nstruct inner { int x; };\n"},
        {"/first/other.h", "#ifndef OTHER_H\n#define OTHER_H\n#else\nenum { IN_OTHER = 2 };\n#endif\n"},
        {"/first/behind.h",
         "#ifndef BEHIND_H\n#define BEHIND_H\n#endif\n#ifdef SECOND\nenum { BEHIND = 3 };\n"
         "#endif\n#define SECOND\n"},
        {NULL, NULL},
    };
    struct text text = {0};
    int64_t value = 0;
    for (int i = 0; i < 20000; i++)
        text_add(&text, "#include <guarded.h>\n#include <inner.h>\n");
    text_add(&text, "#include <other.h>\n#include <other.h>\n#include <behind.h>\n#include <behind.h>\n"
                    "#undef GUARDED_H\n#define IN_GUARDED IN_GUARDED_AGAIN\n#include <guarded.h>\n"
                    "#undef IN_GUARDED\nbegin { }");
    struct held *held = hold(text_string(&text), files);
    assert_messages(held, "");
    assert_int_equal(held->asked, 4);
    for (const char *const *name =
             (const char *const[]){"IN_GUARDED", "IN_OTHER", "BEHIND", "IN_GUARDED_AGAIN", NULL};
         *name; name++)
        assert_non_null(c_enumerator(held->definitions, *name, &value));
    drop(held);
    text_free(&text);
}

/* Parses `piece` repeated `count` times between `begin` and `end`. Only the fact that it ends matters, not the
 * result. */
static void endure(const char *begin, const char *piece, unsigned count, const char *end)
{
    struct text text = {0};
    text_add(&text, begin);
    for (unsigned i = 0; i < count; i++)
        text_add(&text, piece);
    text_add(&text, end);
    struct held *held = hold(text_string(&text), NULL);
    drop(held);
    text_free(&text);
}

static void test_hostile(void **state)
{
    (void)state;
    endure("enum { A = ", "(", 100000, "");
    endure("enum { A = ", "-", 100000, "1 };");
    endure("enum { A = ", "1?", 100000, "");
    endure("enum { A = sizeof", "(", 100000, "");
    endure("enum { A = ", "1+", 100000, "1 };");
    endure("struct s { ", "struct {", 100000, "");
    endure("struct s { int ", "*", 100000, "x; };");
    endure("struct s { int x", "[1]", 100000, "; };");
    endure("struct s { int ", "(", 100000, "");
    endure("struct s { int x; ", "int y;", 100000, "};");
    endure("typedef ", "typeof(", 100000, "int");
    endure("struct s { ", "_Alignas(", 100000, "int");
    endure("struct s { ", "__attribute__((aligned(", 100000, "int");
    endure("", "enum e : ", 100000, "int { A };");
    endure("", "#if 1\n", 100000, "");
    endure("#if 0\n", "#if 1\n", 100000, "");
    endure("#if ", "(", 100000, "\n#endif");
    endure("#define F(x) x x\nbegin { ", "F(", 1000, "");
    endure("#define F(x) x\nbegin { ", "F(", 1000, "1");
    endure("#define F(x) F(x x)\nbegin { F(", "1", 1000, ") }");
    endure("#define F(x, ...) x ## __VA_ARGS__ ## x\nbegin { F(", "1,", 1000, ") }");
    endure("#define A(", "a,", 1000, "b) a\nbegin { A(1) }");
    endure("#pragma pack(push, 1)\n", "#pragma pack(push)\n", 1000, "struct s { int x; };");
    endure("#pragma pack(", "1", 1000, ")\nstruct s { int x; };");
    endure("typedef struct s ", "*p, ", 1000, "q; begin { }");
    endure("struct s {} __attribute__((", "aligned(2), ", 1000, "packed)); begin { }");
    static const char *const pieces[] = {"struct",
                                         "struct {",
                                         "struct s",
                                         "struct s {",
                                         "struct s { int",
                                         "struct s { int x :",
                                         "union",
                                         "enum",
                                         "enum x :",
                                         "enum x : int {",
                                         "typedef",
                                         "typedef int",
                                         "static",
                                         "static int f(",
                                         "static int f() {",
                                         "#",
                                         "#if",
                                         "#if defined",
                                         "#if defined(",
                                         "#if __has_include(",
                                         "#ifdef",
                                         "#elif",
                                         "#include <",
                                         "#include \"",
                                         "#include <>",
                                         "#include \"\"",
                                         "#define F(",
                                         "#define F(x",
                                         "#define F(x) #",
                                         "#define F(x) ##",
                                         "#define F(x) x ##",
                                         "#define F ## ##\nbegin { F }",
                                         "#define F(x) # x ## x\nbegin { F(\\) }",
                                         "#define F \"\nbegin { F }",
                                         "#define F /*",
                                         "#define F '\nbegin { F }",
                                         "#undef",
                                         "#pragma pack(",
                                         "__attribute__((",
                                         "struct s { int x __attribute__((aligned(",
                                         "struct s { int x __attribute__((aligned(0))) : 3; };",
                                         "struct s { int : 0; int : 0; char x; } begin { }",
                                         "\\\n#\\\nif 1\\\n",
                                         "#define defined 1\n#if defined(defined)\n#endif\n",
                                         "#define __VA_ARGS__ 1\nbegin { __VA_ARGS__ }",
                                         "enum { A = offsetof(struct s, ",
                                         "enum { A = sizeof(((",
                                         "typedef typeof(int) x; begin { }",
                                         "#define A __LINE__ __FILE__ __COUNTER__\nbegin { print(A) }"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        endure("", pieces[i], 1, "");
        endure("", pieces[i], 3, "\n");
        endure("", pieces[i], 1, " begin { }");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),      cmocka_unit_test(test_macros), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_passed_over), cmocka_unit_test(test_files),  cmocka_unit_test(test_guards),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
