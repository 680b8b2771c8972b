/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the layouts of structs with a real compiler's: random definitions with bit-fields, unions, packed and
 * aligned members, arrays and anonymous members are compiled, the compiled program prints where everything lies,
 * and the parser must agree on every size, offset, bit and sign. Skipped where there is no compiler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lang/c/definitions.h"
#include "lang/parse/parse.h"

enum { STRUCTS = 600, SEEDS = 3 };

static uint64_t random_state;

static unsigned pick(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % below;
}

static const char preamble[] = "enum plain { P0, P1 = 100 };\n"
                               "enum negative { N0 = -1, N1 = 5 };\n"
                               "enum wide { W0, W1 = 0x100000000 };\n"
                               "enum __attribute__((packed)) tiny { T0, T1 = 200 };\n"
                               "enum tiny_negative { M0 = -3, M1 = 100 } __attribute__((packed));\n"
                               "typedef int int_aligned __attribute__((aligned(16)));\n"
                               "typedef long long_loose __attribute__((aligned(2)));\n"
                               "typedef unsigned long int ulong_t;\n"
                               "struct flexible { int n; char text[]; };\n"
                               "struct empty { };\n";

static const char *const numbers[] = {
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short int",
    "int",
    "unsigned",
    "long",
    "ulong_t",
    "long long",
    "_Bool",
    "enum plain",
    "enum negative",
    "enum wide",
    "enum tiny",
    "enum tiny_negative",
    "int unsigned",
    "long signed",
    "int volatile",
    "volatile char",
};
static const char *const others[] = {"float",       "double",     "long double",
                                     "int_aligned", "long_loose", "__int128"};
enum { NUMBERS = sizeof numbers / sizeof *numbers, OTHERS = sizeof others / sizeof *others };

struct generator {
    struct text definitions, program;
    unsigned structs, members;
    char owner[32];
};

static unsigned bits_of(unsigned number)
{
    static const unsigned bits[NUMBERS] = {8, 8,  8,  16, 16, 32, 32, 64, 64, 64,
                                           1, 32, 32, 64, 8,  8,  32, 64, 32, 8};
    return bits[number];
}

/* Adds the line to the program that prints where a member lies. */
static void ask(struct generator *g, bool is_bit_field)
{
    const char *form = is_bit_field ? "BITS(%s, m%u)\n" : "PLAIN(%s, m%u)\n";
    text_printf(&g->program, form, g->owner, g->members);
}

static void members(struct generator *g, unsigned depth, bool is_union)
{
    static const char *const member_attributes[] = {"",
                                                    "",
                                                    "",
                                                    "",
                                                    " __attribute__((packed))",
                                                    " __attribute__((aligned(8)))",
                                                    " __attribute__((aligned))",
                                                    " __attribute__((packed, aligned(2)))"};
    unsigned count = 1 + pick(7);
    for (unsigned i = 0; i < count; i++) {
        unsigned kind = pick(12), number = pick(NUMBERS);
        const char *attribute = member_attributes[pick(8)];
        g->members++;
        if (kind < 4) { /* a run of bit-fields */
            unsigned run = 1 + pick(4);
            for (unsigned k = 0; k < run; k++) {
                unsigned width = 1 + pick(bits_of(number));
                if (pick(8) == 0)
                    text_printf(&g->definitions, "%s : %u;\n", numbers[number], pick(2) ? width : 0);
                else {
                    text_printf(&g->definitions, "%s m%u : %u%s;\n", numbers[number], g->members, width,
                                pick(6) ? "" : attribute);
                    ask(g, true);
                }
                g->members++;
                if (pick(2))
                    number = pick(NUMBERS);
            }
        } else if (kind < 7) {
            text_printf(&g->definitions, "%s m%u%s;\n", numbers[number], g->members, attribute);
            ask(g, false);
        } else if (kind == 7) {
            text_printf(&g->definitions, "%s m%u%s;\n", others[pick(OTHERS)], g->members, attribute);
            ask(g, false);
        } else if (kind == 8) {
            static const char *const forms[] = {"%s m%u[3]%s;\n",
                                                "%s m%u[2][5]%s;\n",
                                                "%s *m%u[2]%s;\n",
                                                "%s (*m%u)[7]%s;\n",
                                                "%s (*m%u)(int, char *)%s;\n",
                                                "%s *(*m%u[2])(void)%s;\n",
                                                "%s m%u[0]%s;\n",
                                                "%s **m%u%s;\n"};
            text_printf(&g->definitions, forms[pick(8)], numbers[number], g->members, attribute);
            ask(g, false);
        } else if (kind == 9 && g->structs) {
            text_printf(&g->definitions, "struct s%u m%u%s%s;\n", pick(g->structs), g->members,
                        pick(3) ? "" : "[2]", attribute);
            ask(g, false);
        } else if (kind == 10 && depth) {
            bool inner_union = pick(2);
            text_printf(&g->definitions, "%s {\n", inner_union ? "union" : "struct");
            members(g, depth - 1, inner_union);
            text_printf(&g->definitions, "}%s;\n", pick(4) ? "" : " __attribute__((packed))");
        } else {
            text_printf(&g->definitions, "void *m%u;\n", g->members);
            ask(g, false);
        }
    }
    (void)is_union;
}

static void generate(struct generator *g)
{
    static const char *const attributes[] = {"",
                                             "",
                                             "",
                                             "",
                                             " __attribute__((packed))",
                                             " __attribute__((aligned(32)))",
                                             " __attribute__((__packed__, __aligned__(4)))"};
    text_add(&g->definitions, preamble);
    for (; g->structs < STRUCTS; g->structs++) {
        bool is_union = pick(5) == 0, is_before = pick(3) == 0;
        const char *attribute = attributes[pick(7)];
        unsigned pack = pick(8) ? 0 : 1u << pick(4);
        g->members = 0;
        /* Unions are wrapped into structs, so that all names have one form. */
        snprintf(g->owner, sizeof g->owner, "struct s%u", g->structs);
        if (pack)
            text_printf(&g->definitions, "#pragma pack(push, %u)\n", pack);
        text_printf(&g->definitions, "struct%s s%u {\n", is_before ? attribute : "", g->structs);
        if (is_union)
            text_add(&g->definitions, "union {\n");
        members(g, 2, is_union);
        if (is_union)
            text_add(&g->definitions, "};\n");
        text_printf(&g->definitions, "}%s;\n", is_before ? "" : attribute);
        if (pack)
            text_add(&g->definitions, "#pragma pack(pop)\n");
        text_printf(&g->program, "printf(\"size struct s%u %%zu\\n\", sizeof(struct s%u));\n", g->structs,
                    g->structs);
    }
}

static const char program_head[] =
    "#include <stdio.h>\n#include <string.h>\n#include <stddef.h>\n#include \"d.h\"\n"
    "static void range(const char *s, const char *m, const unsigned char *b, size_t n, int sign) {\n"
    "    size_t first = n * 8, last = 0;\n"
    "    for (size_t i = 0; i < n * 8; i++) if (b[i / 8] >> (i % 8) & 1) { last = i; if (first > i) first = "
    "i; }\n"
    "    printf(\"bits %s %s %zu %zu %d\\n\", s, m, first, last - first + 1, sign);\n"
    "}\n"
    "#define PLAIN(S, M) printf(\"plain \" #S \" \" #M \" %zu %zu\\n\", offsetof(S, M), sizeof(((S "
    "*)0)->M));\n"
    "#define BITS(S, M) { static S x; memset(&x, 0, sizeof x); x.M = -1; \\\n"
    "    range(#S, #M, (unsigned char *)&x, sizeof x, x.M < 0); }\n";

static char directory[] = "/tmp/spoor-layout.XXXXXX";

static void write_file(const char *name, const struct text *first, const struct text *second)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fwrite(first->bytes, 1, first->length, file);
    if (second)
        fwrite(second->bytes, 1, second->length, file);
    fclose(file);
}

static unsigned compare(struct c_definitions *definitions, const char *line, unsigned *compared)
{
    char tag[32], member[32], name[48];
    size_t offset, size;
    int is_signed;
    struct field field;
    ++*compared;
    if (sscanf(line, "size struct %31s %zu", tag, &size) == 2) {
        snprintf(name, sizeof name, "struct %s", tag);
        const struct type *type = c_type(definitions, name);
        if (type && type->size == size)
            return 0;
        printf("%s: size %u, the compiler says %zu\n", tag, type ? type->size : 0, size);
    } else if (sscanf(line, "plain struct %31s %31s %zu %zu", tag, member, &offset, &size) == 4) {
        snprintf(name, sizeof name, "struct %s", tag);
        const struct type *type = c_type(definitions, name);
        if (type && type_find_field(type, member, &field) && field.offset == offset &&
            field.type->size == size && !field.bit_size)
            return 0;
        printf("%s.%s: the compiler says offset %zu size %zu, we have %u and %u\n", tag, member, offset, size,
               field.offset, field.type ? field.type->size : 0);
    } else if (sscanf(line, "bits struct %31s %31s %zu %zu %d", tag, member, &offset, &size, &is_signed) ==
               5) {
        snprintf(name, sizeof name, "struct %s", tag);
        const struct type *type = c_type(definitions, name);
        if (type && type_find_field(type, member, &field) && field.offset * 8u + field.bit_offset == offset &&
            (field.type->kind == TYPE_BOOL || (field.bit_size == size && field.type->is_signed == is_signed)))
            return 0;
        printf("%s.%s: the compiler says bit %zu width %zu sign %d, we have %u, %u and %d\n", tag, member,
               offset, size, is_signed, field.offset * 8 + field.bit_offset, field.bit_size,
               field.type && field.type->is_signed);
    } else
        printf("not understood: %s\n", line);
    return 1;
}

static void test_layouts(void **state)
{
    (void)state;
    if (system("gcc --version >/dev/null 2>&1"))
        skip();
    assert_non_null(mkdtemp(directory));
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *chosen = getenv("LAYOUT_SEED");
        random_state = (chosen ? strtoull(chosen, NULL, 10) : 0) + seed;
        struct generator g = {0};
        struct text head = {0};
        text_add(&head, program_head);
        text_add(&g.program, "");
        generate(&g);
        struct text body = {0};
        text_printf(&body, "%sint main(void) {\n%s}\n", program_head, text_string(&g.program));
        write_file("d.h", &g.definitions, NULL);
        write_file("d.c", &body, NULL);
        char command[256];
        snprintf(command, sizeof command,
                 "cd %s && gcc -w -Wno-packed-bitfield-compat -O0 -o d d.c && ./d >d.out", directory);
        assert_int_equal(system(command), 0);

        struct arena arena = {0};
        struct diagnostics diagnostics = {.arena = &arena};
        struct c_options options = {.arena = &arena, .diagnostics = &diagnostics};
        struct c_definitions *definitions = c_open(&options);
        text_add(&g.definitions, "BEGIN { }\n");
        struct source source = {"stdin", text_string(&g.definitions), g.definitions.length};
        script_parse_with(&arena, &diagnostics, &source, NULL, definitions);
        struct text errors = {0};
        diagnostics_render(&errors, &diagnostics, DIAGNOSTIC_ERROR, false);
        if (errors.length)
            printf("%s", text_string(&errors));
        assert_int_equal(diagnostics.errors, 0);

        snprintf(command, sizeof command, "%s/d.out", directory);
        FILE *file = fopen(command, "r");
        assert_non_null(file);
        char line[256];
        unsigned wrong = 0, compared = 0;
        while (fgets(line, sizeof line, file))
            wrong += compare(definitions, line, &compared);
        fclose(file);
        assert_true(compared > STRUCTS * 3);
        if (wrong && getenv("LAYOUT_KEEP"))
            printf("see %s\n", directory);
        assert_int_equal(wrong, 0);
        c_close(definitions);
        arena_free(&arena);
        text_free(&errors);
        text_free(&body);
        text_free(&head);
        text_free(&g.definitions);
        text_free(&g.program);
    }
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layouts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
