/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the argument strings of stapsdt notes, and of the notes of real files: this test's own (made below with
 * sys/sdt.h and by hand), and PostgreSQL's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>
#include <unistd.h>

#include "sym/elf/usdt.h"

/* ---- registers ---- */

static void registers_of_x86(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned offset, width;
    } rows[] = {
        {"rax", 80, 8},  {"eax", 80, 4},  {"ax", 80, 2},   {"al", 80, 1},  {"ah", 81, 1},  {"bh", 41, 1},
        {"rdi", 112, 8}, {"dil", 112, 1}, {"r8", 72, 8},   {"r8d", 72, 4}, {"r8w", 72, 2}, {"r8b", 72, 1},
        {"r15", 0, 8},   {"esp", 152, 4}, {"rip", 128, 8}, {"rbp", 32, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct machine_register found;
        assert_true(machine_register_assembler(MACHINE_X86_64, rows[i].name, strlen(rows[i].name), &found));
        assert_int_equal(found.offset, rows[i].offset);
        assert_int_equal(found.width, rows[i].width);
    }
    struct machine_register found;
    assert_false(machine_register_assembler(MACHINE_X86_64, "xmm0", 4, &found));
    assert_false(machine_register_assembler(MACHINE_X86_64, "", 0, &found));
    assert_true(machine_register_named(MACHINE_X86_64, "ax", &found));
    assert_int_equal(found.width, 8);
    assert_true(machine_register_named(MACHINE_X86_64, "orig_ax", &found));
    assert_int_equal(found.offset, 120);
    assert_false(machine_register_named(MACHINE_X86_64, "eax", &found));
    assert_true(machine_register_argument(MACHINE_X86_64, 3, &found));
    assert_int_equal(found.offset, 88);
    assert_false(machine_register_argument(MACHINE_X86_64, 6, &found));
}

static void registers_of_aarch64(void **state)
{
    (void)state;
    struct machine_register found;
    assert_true(machine_register_assembler(MACHINE_AARCH64, "x30", 3, &found));
    assert_int_equal(found.offset, 240);
    assert_true(machine_register_assembler(MACHINE_AARCH64, "w1", 2, &found));
    assert_int_equal(found.offset, 8);
    assert_int_equal(found.width, 4);
    assert_true(machine_register_assembler(MACHINE_AARCH64, "sp", 2, &found));
    assert_int_equal(found.offset, 248);
    assert_false(machine_register_assembler(MACHINE_AARCH64, "x31", 3, &found));
    assert_false(machine_register_assembler(MACHINE_AARCH64, "x01", 3, &found));
}

/* ---- argument strings ---- */

static struct usdt_argument one(const char *text)
{
    struct usdt_arguments parsed;
    assert_int_equal(usdt_parse_arguments(text, MACHINE_X86_64, &parsed), 0);
    assert_int_equal(parsed.count, 1);
    return parsed.items[0];
}

static void constants(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
        unsigned size;
        bool is_signed;
    } rows[] = {
        {"-4@$5", 5, 4, true},
        {"-4@$-5", -5, 4, true},
        {"4@$-1", 0xffffffff, 4, false},
        {"-4@$4294967295", -1, 4, true},
        {"8@$0x10", 16, 8, false},
        {"1@$010", 8, 1, false},
        {"-8@$-9223372036854775808", INT64_MIN, 8, true},
        {"8@$18446744073709551615", -1, 8, false},
        {"-1@$200", -56, 1, true},
        {"$7", 7, 8, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct usdt_argument argument = one(rows[i].text);
        assert_int_equal(argument.kind, USDT_CONSTANT);
        assert_true(argument.constant == rows[i].value);
        assert_int_equal(argument.size, rows[i].size);
        assert_int_equal(argument.is_signed, rows[i].is_signed);
    }
    assert_int_equal(one("8@$18446744073709551616").kind, USDT_UNSUPPORTED);
    assert_int_equal(one("8@$").kind, USDT_UNSUPPORTED);
    assert_int_equal(one("3@$1").kind, USDT_UNSUPPORTED);
}

static void register_operands(void **state)
{
    (void)state;
    struct usdt_argument argument = one("8@%rax");
    assert_int_equal(argument.kind, USDT_REGISTER);
    assert_int_equal(argument.base.offset, 80);
    assert_int_equal(argument.size, 8);
    argument = one("-1@%ah");
    assert_int_equal(argument.base.offset, 81);
    assert_int_equal(argument.base.width, 1);
    assert_int_equal(argument.size, 1);
    assert_true(argument.is_signed);
    argument = one("%eax");
    assert_int_equal(argument.kind, USDT_REGISTER);
    assert_int_equal(argument.size, 4);
    assert_int_equal(one("%rax").size, 8);
    assert_int_equal(one("8@%xmm0").kind, USDT_UNSUPPORTED);
    assert_int_equal(one("8f@%xmm0").kind, USDT_UNSUPPORTED);
    assert_true(one("8f@%xmm0").is_float);
    assert_int_equal(one("8f@(%rax)").kind, USDT_UNSUPPORTED);
}

static void memory_operands(void **state)
{
    (void)state;
    struct usdt_argument argument = one("4@-20(%rbp)");
    assert_int_equal(argument.kind, USDT_MEMORY);
    assert_true(argument.has_base);
    assert_false(argument.has_index);
    assert_int_equal(argument.base.offset, 32);
    assert_int_equal(argument.displacement, -20);

    argument = one("8@(%rax,%rcx,8)");
    assert_int_equal(argument.kind, USDT_MEMORY);
    assert_int_equal(argument.base.offset, 80);
    assert_int_equal(argument.index.offset, 88);
    assert_int_equal(argument.scale, 8);
    assert_int_equal(argument.displacement, 0);

    argument = one("-4@8(%rdi,%rcx)");
    assert_int_equal(argument.scale, 1);
    assert_int_equal(argument.displacement, 8);
    assert_true(argument.has_index);

    argument = one("-4@0x10( %rdi , %rcx , 2 )");
    assert_int_equal(argument.kind, USDT_MEMORY);
    assert_int_equal(argument.scale, 2);
    assert_int_equal(argument.displacement, 16);

    argument = one("8@-8(,%rcx,4)");
    assert_int_equal(argument.kind, USDT_MEMORY);
    assert_false(argument.has_base);
    assert_true(argument.has_index);

    static const char *const wrong[] = {
        "8@(%rax,%rcx,3)", "8@(%rax", "8@%", "8@()",      "8@(%rax)x", "8@16",
        "8@%fs:16",        "8@x@y(",  "8@",  "8@8(%rip)", "@",         "8@(%xmm0)"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(one(wrong[i]).kind, USDT_UNSUPPORTED);
}

static void symbol_operands(void **state)
{
    (void)state;
    static const struct {
        const char *text, *symbol;
        int64_t displacement;
    } rows[] = {
        {"8@global(%rip)", "global", 0},     {"4@global+4(%rip)", "global", 4},
        {"4@global-4(%rip)", "global", -4},  {"4@4+global(%rip)", "global", 4},
        {"4@table.0+8(%rip)", "table.0", 8}, {"8@global", "global", 0},
        {"4@table(,%rax,4)", "table", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct usdt_argument argument = one(rows[i].text);
        assert_int_equal(argument.kind, USDT_MEMORY);
        assert_true(argument.is_pc_relative);
        assert_true(argument.is_indirect_symbol);
        assert_false(argument.has_base);
        assert_int_equal(argument.displacement, rows[i].displacement);
        char name[32] = "";
        memcpy(name, rows[i].text + argument.symbol_begin,
               (size_t)(argument.symbol_end - argument.symbol_begin));
        assert_string_equal(name, rows[i].symbol);
    }
}

static void several_arguments(void **state)
{
    (void)state;
    struct usdt_arguments parsed;
    const char *text = "  -4@$5 8@%rax 8f@%xmm0 4@8(%rdi, %rcx, 4)\t2@%r9w ";
    assert_int_equal(usdt_parse_arguments(text, MACHINE_X86_64, &parsed), 0);
    assert_int_equal(parsed.count, 5);
    assert_int_equal(parsed.items[2].kind, USDT_UNSUPPORTED);
    assert_int_equal(parsed.items[3].scale, 4);
    assert_int_equal(parsed.items[4].base.offset, 64);
    assert_int_equal(parsed.items[4].size, 2);
    assert_memory_equal(text + parsed.items[1].text_begin, "8@%rax", 6);
    assert_int_equal(usdt_parse_arguments("", MACHINE_X86_64, &parsed), 0);
    assert_int_equal(parsed.count, 0);
    assert_int_equal(usdt_parse_arguments("\001", MACHINE_X86_64, &parsed), -EBADMSG);
    assert_int_equal(usdt_parse_arguments("1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", MACHINE_X86_64, &parsed),
                     -E2BIG);
    assert_int_equal(usdt_parse_arguments("8@%rax", MACHINE_OTHER, &parsed), 0);
    assert_int_equal(parsed.items[0].kind, USDT_UNSUPPORTED);
}

static void arguments_of_aarch64(void **state)
{
    (void)state;
    struct usdt_arguments parsed;
    const char *text = "8@x0 -4@w1 4@[sp, 12] 8@[x0] 8@[x1, x2] 8@5 -8@-7 8@[x29,-16] 8@s0";
    assert_int_equal(usdt_parse_arguments(text, MACHINE_AARCH64, &parsed), 0);
    assert_int_equal(parsed.count, 9);
    const struct usdt_argument *items = parsed.items;
    assert_int_equal(items[0].kind, USDT_REGISTER);
    assert_int_equal(items[1].base.width, 4);
    assert_true(items[1].is_signed);
    assert_int_equal(items[2].kind, USDT_MEMORY);
    assert_int_equal(items[2].base.offset, 248);
    assert_int_equal(items[2].displacement, 12);
    assert_int_equal(items[3].kind, USDT_MEMORY);
    assert_true(items[4].has_index);
    assert_int_equal(items[4].index.offset, 16);
    assert_int_equal(items[5].kind, USDT_CONSTANT);
    assert_int_equal(items[5].constant, 5);
    assert_true(items[6].constant == -7);
    assert_int_equal(items[7].displacement, -16);
    assert_int_equal(items[8].kind, USDT_UNSUPPORTED);
}

/* ---- the notes of this program ---- */

unsigned short test_declared_semaphore __attribute__((section(".probes")));
int test_global = 77;

/* A declared probe as spoor/probe.h makes it, written out, so that this test does not depend on that header. */
#define NOTE(section, owner, type, payload)                                                                  \
    ".pushsection " section ",\"?\",\"note\"\n\t.balign 4\n\t.4byte 2f-1f, 4f-3f, " type "\n"                \
    "1:\t.asciz \"" owner "\"\n2:\t.balign 4\n3:\t.8byte 990b\n\t.8byte _.stapsdt.base\n"                    \
    "\t.8byte test_declared_semaphore\n\t.asciz \"unit-test\"\n\t.asciz \"de-clared\"\n" payload             \
    "4:\t.balign 4\n.popsection\n"

static __attribute__((noinline)) void fire_declared(const char *path, int flags)
{
    __asm__ volatile(
        "990:\tnop\n" NOTE(".note.stapsdt", "stapsdt", "3", "\t.asciz \"8@%0 -4@%1 4@test_global(%%rip)\"\n")
            NOTE(".note.spoor", "spoor", "1",
                 "\t.asciz \"const char *\"\n\t.asciz \"path\"\n\t.asciz \"int\"\n\t.asciz \"flags\"\n")
        :
        : "r"(path), "r"(flags));
}

static __attribute__((noinline)) void fire_plain(long value)
{
    DTRACE_PROBE2(unit_test, plain, value, 42);
    if (value > 3)
        DTRACE_PROBE2(unit_test, plain, value + 1, 43);
}

static int count_site(void *context, const struct usdt_site *site)
{
    (void)site;
    ++*(int *)context;
    return 0;
}

static int keep_site(void *context, const struct usdt_site *site)
{
    *(const struct usdt_site **)context = site;
    return 7;
}

static void notes_of_this_program(void **state)
{
    (void)state;
    fire_declared("x", 1);
    fire_plain(getpid());
    struct elf_file *file;
    struct usdt_probes probes;
    assert_int_equal(elf_file_open("/proc/self/exe", &file), 0);
    assert_int_equal(usdt_read(file, &probes), 0);
    int count = 0;
    assert_int_equal(usdt_each(&probes, "unit_test", "plain", count_site, &count), 0);
    assert_true(count >= 2);
    count = 0;
    usdt_each(&probes, NULL, "de-*", count_site, &count);
    assert_int_equal(count, 1);

    const struct usdt_site *site = NULL;
    assert_int_equal(usdt_each(&probes, "unit-*", "de-clared", keep_site, &site), 7);
    assert_int_equal(site->declared_count, 2);
    assert_string_equal(site->declared[0].type, "const char *");
    assert_string_equal(site->declared[0].name, "path");
    assert_string_equal(site->declared[1].type, "int");
    assert_string_equal(site->declared[1].name, "flags");
    assert_true(site->semaphore_offset != 0);

    /* There is a nop at the site, and it lies inside the function. */
    uint8_t nop;
    struct elf_symbol symbol;
    assert_int_equal(elf_file_read(file, site->offset, &nop, 1), 0);
    assert_int_equal(nop, 0x90);
    assert_int_equal(elf_file_nearest(file, site->address, &symbol), 0);
    /* the compiler may have made a clone of it */
    assert_memory_equal(symbol.name, "fire_declared", strlen("fire_declared"));
    assert_int_equal(elf_file_symbol(file, "test_declared_semaphore", &symbol), 0);
    assert_int_equal(symbol.address, site->semaphore_address);

    struct usdt_arguments arguments;
    assert_int_equal(usdt_site_arguments(file, site, &arguments), 0);
    assert_int_equal(arguments.count, 3);
    assert_int_equal(arguments.items[2].kind, USDT_MEMORY);
    assert_true(arguments.items[2].is_pc_relative);
    assert_false(arguments.items[2].is_indirect_symbol);
    assert_int_equal(elf_file_symbol(file, "test_global", &symbol), 0);
    assert_int_equal(arguments.items[2].displacement, symbol.address);
    usdt_free(&probes);
    elf_file_close(file);
}

static void notes_of_postgres(void **state)
{
    (void)state;
    static const char path[] = "/usr/lib/postgresql/15/bin/postgres";
    struct elf_file *file;
    struct usdt_probes probes;
    if (access(path, R_OK)) {
        print_message("SKIP: %s is not installed\n", path);
        skip();
    }
    assert_int_equal(elf_file_open(path, &file), 0);
    assert_int_equal(usdt_read(file, &probes), 0);
    assert_int_equal(probes.damaged, 0);
    size_t names = 0;
    for (size_t i = 0; i < probes.count; i++) {
        const struct usdt_site *site = &probes.sites[i];
        struct usdt_arguments arguments;
        uint8_t nop;
        assert_string_equal(site->provider, "postgresql");
        names += !i || strcmp(probes.sites[i - 1].name, site->name);
        assert_true(!i || strcmp(probes.sites[i - 1].name, site->name) < 0 ||
                    probes.sites[i - 1].offset < site->offset);
        assert_int_equal(elf_file_read(file, site->offset, &nop, 1), 0);
        assert_int_equal(nop, 0x90);
        assert_true(site->semaphore_offset != 0);
        assert_int_equal(usdt_site_arguments(file, site, &arguments), 0);
        for (unsigned k = 0; k < arguments.count; k++)
            assert_int_not_equal(arguments.items[k].kind, USDT_UNSUPPORTED);
    }
    assert_int_equal(names, 57);
    assert_true(probes.count > names);
    const struct usdt_site *site = NULL;
    assert_int_equal(usdt_each(&probes, "postgresql", "query__start", keep_site, &site), 7);
    usdt_free(&probes);
    elf_file_close(file);
}

static void a_file_without_notes(void **state)
{
    (void)state;
    struct elf_file *file;
    struct usdt_probes probes;
    assert_int_equal(elf_file_open("/bin/true", &file), 0);
    assert_int_equal(usdt_read(file, &probes), 0);
    assert_int_equal(probes.count, 0);
    usdt_free(&probes);
    elf_file_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_of_x86),
        cmocka_unit_test(registers_of_aarch64),
        cmocka_unit_test(constants),
        cmocka_unit_test(register_operands),
        cmocka_unit_test(memory_operands),
        cmocka_unit_test(symbol_operands),
        cmocka_unit_test(several_arguments),
        cmocka_unit_test(arguments_of_aarch64),
        cmocka_unit_test(notes_of_this_program),
        cmocka_unit_test(notes_of_postgres),
        cmocka_unit_test(a_file_without_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
