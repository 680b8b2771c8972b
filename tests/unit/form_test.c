/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what stands outside of action blocks (macros, parameters by name, settings), and of the layout of
 * --fmt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lang/parse/layout.h"
#include "probe/kind.h"
#include "session/settings.h"

struct formed {
    struct arena arena;
    struct diagnostics diagnostics;
    struct source source;
    struct script *script;
    struct text text;
};

static const char *const named[] = {"--count=7", "--flag", "--text=a b", "--other"};

static struct formed *form(const char *text, size_t named_count)
{
    struct formed *f = calloc(1, sizeof *f);
    const struct parameters parameters = {.named = named, .named_count = named_count};
    f->diagnostics.arena = &f->arena;
    f->source.name = "t";
    f->source.text = text;
    f->source.length = strlen(text);
    f->script = script_parse(&f->arena, &f->diagnostics, &f->source, &parameters);
    if (!f->diagnostics.errors)
        script_expand(&f->arena, &f->diagnostics, f->script, NULL);
    if (!f->diagnostics.errors)
        script_take_options(&f->arena, &f->diagnostics, f->script, &parameters);
    return f;
}

static void release(struct formed *f)
{
    text_free(&f->text);
    arena_free(&f->arena);
    free(f);
}

static void expect_tree(const char *text, const char *tree)
{
    struct formed *f = form(text, 0);
    diagnostics_render(&f->text, &f->diagnostics, DIAGNOSTIC_ERROR, false);
    node_print(&f->text, f->script->blocks->body, 0);
    assert_string_equal(text_string(&f->text), tree);
    release(f);
}

static void expect_error(const char *text, const char *message)
{
    struct formed *f = form(text, 0);
    diagnostics_render(&f->text, &f->diagnostics, DIAGNOSTIC_ERROR, false);
    if (!strstr(text_string(&f->text), message))
        fail_msg("%s\n%s\nand not:\n%s", text, text_string(&f->text), message);
    release(f);
}

static void test_values(void **state)
{
    (void)state;
    expect_tree("begin { @ = { $x = 1; $x } }", "block\n  expression\n    assign =\n      map @\n"
                                                "      block value\n        expression\n          assign =\n"
                                                "            variable $x\n            integer 1\n"
                                                "        variable $x\n");
    expect_tree(
        "begin { @ = if 1 { 2 } else if 3 { 4 } else { 5 } }",
        "block\n  expression\n    assign =\n      map @\n      ternary\n        integer 1\n"
        "        block value\n          integer 2\n        ternary\n          integer 3\n"
        "          block value\n            integer 4\n          block value\n            integer 5\n");
    /* The last statement of a block that is a value is a value too. */
    expect_tree("begin { @ = { if 1 { 2 } else { 3 } } }",
                "block\n  expression\n    assign =\n      map @\n      block value\n        ternary\n"
                "          integer 1\n          block value\n            integer 2\n          block value\n"
                "            integer 3\n");
    expect_error("begin { @ = { 1; } }", "t:1:13-19: ERROR: This block has no value");
    expect_error("begin { @ = { } }", "This block has no value");
    expect_error("begin { @ = if 1 { 2 } }", "syntax: expected 'else'");
    expect_error("begin { @ = { 1 ", "syntax: expected '}', found the end of the script");
}

static void test_macros(void **state)
{
    (void)state;
    expect_tree("macro one() { 1 } macro add(a, b) { a + b } begin { @ = add(one, add(2, 3)) }",
                "block\n  expression\n    assign =\n      map @\n      binary +\n        integer 1\n"
                "        binary +\n          integer 2\n          integer 3\n");
    /* Variables of the macro's body belong to the body; parameters with sigils are the caller's variables. */
    expect_tree("macro m($v, @w, x) { $t = x; $v += $t; @w[1] = $v; } begin { m($a, @b, $t) }",
                "block\n  expression\n    block value\n      expression\n        assign =\n"
                "          variable $$m_t\n          variable $t\n      expression\n        assign +=\n"
                "          variable $a\n          variable $$m_t\n      expression\n        assign =\n"
                "          map @b\n            integer 1\n          variable $a\n");
    /* Macros are chosen by the number and the kind of their arguments. */
    expect_tree(
        "macro m(a) { 1 } macro m(@a) { 2 } macro m() { 3 } macro m($a) { 4 } "
        "begin { @ = (m(7), m(@q), m(), m, m($v), m(@q[1])) }",
        "block\n  expression\n    assign =\n      map @\n      tuple\n        integer 1\n"
        "        integer 2\n        integer 3\n        integer 3\n        integer 4\n        integer 1\n");
    expect_error("macro m(a) { m(a) } begin { m(1) }", "Recursive macro call detected. Call chain: m > m");
    expect_error("macro m(a) { 1 } begin { m() }",
                 "ERROR: Call to m() has arguments that do not match any definition.");
    expect_error("macro m(@a) { 1 } begin { m($x) }",
                 "Mismatched arg. m() expects a map for arg @a but got a variable.");
    expect_error("macro m() { @x } begin { m() }", "Unhygienic access to map: @x.");
    expect_error("macro m() { @x } begin { m() }", "t:1:26-29: ERROR: expanded from");
    expect_error("macro m($a) { let $a; } begin { $x = 1; m($x) }",
                 "Variable declaration shadows macro arg $a");
    expect_error("macro m(a, a) { 1 } begin { }", "Name for macro argument has already been used: a");
    expect_error("macro m(a) { 1 } macro m(b) { 2 } begin { }", "Redefinition of macro: m");
    expect_error("macro m(1) { } begin { }", "syntax: expected a parameter");
    expect_error("macro m { } begin { }", "syntax: expected '('");
    expect_error("macro m( ", "syntax: expected a parameter, found the end of the script");
}

/* Each macro doubles the previous one's expansion: no machine has the memory for all of it. */
static void test_macros_are_bounded(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, "macro m0(x) { x + x } ");
    for (int i = 1; i < 60; i++)
        text_printf(&text, "macro m%d(x) { m%d(x) + m%d(x) } ", i, i - 1, i - 1);
    text_add(&text, "begin { @ = m59(1) }");
    expect_error(text_string(&text), "The macros of this script expand to too much");
    text_free(&text);
    text_add(&text, "macro m(x) { x + x } begin { @ = ");
    for (int i = 0; i < 150; i++)
        text_add(&text, "m(");
    text_add(&text, "1");
    text_fill(&text, ')', 150);
    text_add(&text, " }");
    expect_error(text_string(&text), "The macros of this script expand to too much");
    text_free(&text);
    for (int i = 0; i < 20000; i++)
        text_printf(&text, "macro m%d() { 1 } fn f%d() { } ", i, i);
    text_add(&text, "begin { }");
    expect_error(text_string(&text), "More than 1000 imports, macros, functions and declarations of maps");
    text_free(&text);
}

static void test_forms(void **state)
{
    (void)state;
    struct formed *f =
        form("config = { a = 1; b = \"x y\"; c=on }\nlet @m = lruhash(1_000);\n"
             "fn f($a : int64, $b : struct x *) : uint8 { return 1 } import \"lib\"; n=begin { }",
             0);
    const struct setting *setting = f->script->settings;
    assert_int_equal(f->diagnostics.errors, 0);
    assert_string_equal(setting->key, "a");
    assert_string_equal(setting->value, "1");
    assert_string_equal(setting->next->value, "x y");
    assert_string_equal(setting->next->next->value, "on");
    assert_null(setting->next->next->next);
    assert_string_equal(f->script->declarations->name, "@m");
    assert_string_equal(f->script->declarations->kind, "lruhash");
    assert_int_equal(f->script->declarations->entries, 1000);
    assert_string_equal(f->script->subprograms->name, "f");
    assert_int_equal(f->script->subprograms->parameters.count, 2);
    assert_string_equal(f->script->subprograms->result.name, "uint8");
    assert_string_equal(f->script->imports->path, "lib");
    assert_int_equal(f->script->block_count, 1);
    release(f);
    static const char *const wrong[][2] = {
        {"config = { a } begin { }", "t:1:14-15: ERROR: syntax: expected '='"},
        {"config = { a = } begin { }", "expected a number, a word or a string"},
        {"config = { a = 1 b = 2 } begin { }", "expected ';' or '}'"},
        {"config = ", "syntax: expected '{', found the end of the script"},
        {"config = { a = 1", "found the end of the script"},
        {"import \"x", "Unterminated string"},
        {"let @a = hash(x); begin { }", "expected the number of entries"},
        {"let @a = ; begin { }", "expected a type of map"},
        {"let @a = hash(1); let @a = hash(1); begin { }", "Redeclaration of existing map: @a"},
        {"fn f(a : int8) { } begin { }", "expected a parameter"},
        {"fn f($a) { } begin { }", "syntax: expected ':'"},
        {"fn f($a : int8) begin { }", "syntax: expected '{'"},
        {"fn f() { } fn f() { } begin { }", "Redefinition of function: f"},
        {"fn", "syntax: expected '{'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_error(wrong[i][0], wrong[i][1]);
}

static void test_options(void **state)
{
    (void)state;
    struct formed *f =
        form("begin { @ = (getopt(\"count\", 5), getopt(\"flag\"), getopt(\"text\", \"x\", \"w\"), "
             "getopt(\"none\", -3), getopt(\"on\", true)) }",
             3);
    node_print(&f->text, f->script->blocks->body, 0);
    assert_int_equal(f->diagnostics.errors, 0);
    assert_string_equal(text_string(&f->text),
                        "block\n  expression\n    assign =\n      map @\n      tuple\n        cast int64\n"
                        "          integer 7\n        bool true\n        string \"a b\"\n        cast int64\n"
                        "          integer -3\n        bool true\n");
    release(f);
    f = form("begin { @ = (getopt(\"count\", 5), getopt(\"flag\", 1)) }", 4);
    diagnostics_render(&f->text, &f->diagnostics, DIAGNOSTIC_ERROR, false);
    assert_string_equal(text_string(&f->text),
                        "ERROR: program command line option --flag invalid integer (value: true)\n"
                        "ERROR: unexpected program command line options: --text, --other\n"
                        "HINT: expected program options: --count, --flag\n");
    release(f);
    expect_error("begin { @ = getopt(); }", "getopt() requires 1 to 3 arguments");
    expect_error("begin { @ = getopt(\"a\", 1, 2); }",
                 "Third argument to 'getopt' must be a string literal.");
}

static void expect_setting(const char *script, const char *message)
{
    struct formed *f = form(script, 0);
    struct settings settings = {0};
    settings_defaults(&settings);
    settings_from_script(&settings, f->script, &f->diagnostics);
    diagnostics_render(&f->text, &f->diagnostics, DIAGNOSTIC_ERROR, false);
    if (message ? !strstr(text_string(&f->text), message) : f->text.length)
        fail_msg("%s\n%s", script, text_string(&f->text));
    release(f);
}

static void test_settings(void **state)
{
    (void)state;
    struct formed *f = form(
        "config = { max_strlen = 0x40; BPFTRACE_MAX_MAP_KEYS = 1_0; print_maps_on_exit = No; "
        "stack_mode = perf; license = \"MIT\"; log_size = 1e3; missing_probes = warn; perf_rb_pages = auto } "
        "begin { }",
        0);
    struct settings settings = {0};
    settings_defaults(&settings);
    assert_int_equal(settings.max_strlen, 1024);
    assert_true(settings.print_maps_on_exit);
    setenv("SPOOR_MAX_STRLEN", "99", 1);
    assert_true(settings_from_environment(&settings, &f->diagnostics));
    unsetenv("SPOOR_MAX_STRLEN");
    settings_from_script(&settings, f->script, &f->diagnostics);
    assert_int_equal(f->diagnostics.errors, 0);
    assert_int_equal(settings.max_strlen, 99); /* the environment wins */
    assert_int_equal(settings.max_map_keys, 10);
    assert_int_equal(settings.log_size, 1000);
    assert_false(settings.print_maps_on_exit);
    assert_int_equal(settings.stack_mode, STACK_PERF);
    assert_int_equal(settings.missing_probes, MISSING_WARN);
    assert_string_equal(settings.license, "MIT");
    release(f);
    expect_setting("config = { unstable_tseries = enable; lazy_symbolication = 1 } begin { }", NULL);
    expect_setting("config = { nonsense = 1 } begin { }",
                   "t:1:12-24: ERROR: nonsense: not a known configuration option");
    expect_setting("config = { max_strle = 1 } begin { }", "HINT: did you mean 'max_strlen'?");
    expect_setting("config = { cat_bytes_max = 1 } begin { }", "key has been renamed to max_cat_bytes");
    expect_setting("config = { vmlinux = 1 } begin { }", "can only be set as an environment variable");
    expect_setting("config = { max_strlen = 99999999999999999999 } begin { }",
                   "max_strlen: expecting a number");
    expect_setting("config = { max_strlen = 0 } begin { }", "expecting a number from 1 to 16384, got 0");
    expect_setting("config = { cpp_demangle = 2 } begin { }", "expecting a boolean, got 2");
    expect_setting("config = { missing_probes = maybe } begin { }",
                   "HINT: valid values are error, warn, ignore");
}

static void expect_layout(const char *text, const char *wanted)
{
    struct formed f = {0};
    f.diagnostics.arena = &f.arena;
    for (int round = 0; round < 2; round++) { /* laying out the result again changes nothing */
        const char *in = round ? wanted : text;
        f.source.name = "t";
        f.source.text = in;
        f.source.length = strlen(in);
        assert_true(script_layout(&f.text, &f.arena, &f.diagnostics, &f.source, NULL));
        assert_string_equal(text_string(&f.text), wanted);
        text_free(&f.text);
    }
    arena_free(&f.arena);
}

static void test_layout(void **state)
{
    (void)state;
    expect_layout("#!/usr/bin/env spoor\n// c\nBEGIN{@x=1;print( @x )}",
                  "#!/usr/bin/env spoor\n// c\nBEGIN\n{\n"
                  "  @x = 1;\n  print(@x);\n}\n");
    expect_layout("begin,\nend/pid==1/{ } interval:s:1 { /* why */ exit() // so\n}",
                  "begin,\nend\n/pid == 1/\n{\n}\ninterval:s:1\n{ /* why */\n  exit(); // so\n}\n");
    expect_layout("begin { if(1){print(1)}else{print(2)}\n\n\n for ($i:0..3) {$x=- -$i;} }",
                  "begin\n{\n  if (1) {\n    print(1);\n  } else {\n    print(2);\n  }\n\n"
                  "  for ($i : 0..3) {\n    $x = - -$i;\n  }\n}\n");
    expect_layout(
        "macro m(a){a} config={max_strlen=9} begin{ $x=(({$y=1;$y})); $z=(int8)$x*-1; }",
        "macro m(a) {\n  a\n}\nconfig = {\n  max_strlen = 9;\n}\nbegin\n{\n  $x = (({\n    $y = 1;\n"
        "    $y\n  }));\n  $z = (int8)$x * -1;\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_macros),
        cmocka_unit_test(test_macros_are_bounded),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
