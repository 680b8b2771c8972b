/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the decoder of moves: instructions as the assembler writes them, and random bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sym/machine/copy.h"

enum { NOWHERE, REGISTER, MEMORY, STATIC };

struct expected {
    uint8_t kind;
    const char *base;
    int64_t offset;
};

static void check_place(const struct machine_place *place, const struct expected *expected)
{
    struct machine_register base;
    assert_int_equal(place->is_known, expected->kind != NOWHERE);
    if (!place->is_known)
        return;
    assert_int_equal(place->in_memory, expected->kind != REGISTER);
    assert_int_equal(place->is_static, expected->kind == STATIC);
    assert_int_equal(place->offset, expected->offset);
    if (!expected->base)
        return;
    assert_true(machine_register_named(MACHINE_X86_64, expected->base, &base));
    assert_int_equal(place->base.offset, base.offset);
}

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        uint8_t length, size;
        struct expected from, to;
    } rows[] = {
        /* mov %rdi,-0x8(%rbp) */
        {"\x48\x89\x7d\xf8", 4, 8, {REGISTER, "rdi", 0}, {MEMORY, "rbp", -8}},
        /* mov %dl,-0xd(%rsp) */
        {"\x88\x54\x24\xf3", 4, 1, {REGISTER, "rdx", 0}, {MEMORY, "rsp", -13}},
        /* mov 0x10(%r12),%r9 */
        {"\x4d\x8b\x4c\x24\x10", 5, 8, {MEMORY, "r12", 16}, {REGISTER, "r9", 0}},
        /* mov (%r13),%eax */
        {"\x41\x8b\x45\x00", 4, 4, {MEMORY, "r13", 0}, {REGISTER, "rax", 0}},
        /* mov 0x2cdc(%rip),%rcx at 0x133d */
        {"\x48\x8b\x0d\xdc\x2c\x00\x00", 7, 8, {STATIC, NULL, 0x4020}, {REGISTER, "rcx", 0}},
        /* mov %ax,0x12345678(%rax) */
        {"\x66\x89\x80\x78\x56\x34\x12", 7, 2, {REGISTER, "rax", 0}, {MEMORY, "rax", 0x12345678}},
        /* mov 0x404020,%eax */
        {"\x8b\x04\x25\x20\x40\x40\x00", 7, 4, {STATIC, NULL, 0x404020}, {REGISTER, "rax", 0}},
        /* mov (%rax,%rbx,8),%rcx: the source is not described */
        {"\x48\x8b\x0c\xd8", 4, 8, {NOWHERE, NULL, 0}, {REGISTER, "rcx", 0}},
        /* lea 0x10(%rax),%rdi: the source is computed */
        {"\x48\x8d\x78\x10", 4, 8, {NOWHERE, NULL, 0}, {REGISTER, "rdi", 0}},
        /* movzbl 0x3(%rsi),%eax */
        {"\x0f\xb6\x46\x03", 4, 4, {NOWHERE, NULL, 0}, {REGISTER, "rax", 0}},
        /* movl $0x3,-0x14(%rbp) */
        {"\xc7\x45\xec\x03\x00\x00\x00", 7, 4, {NOWHERE, NULL, 0}, {MEMORY, "rbp", -20}},
        /* nop */
        {"\x90", 1, 0, {NOWHERE, NULL, 0}, {NOWHERE, NULL, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct machine_copy copy;
        const uint8_t *code = (const uint8_t *)rows[i].code;
        assert_int_equal(machine_copy_decode(code, rows[i].length, 0x133d, &copy), rows[i].length);
        assert_int_equal(copy.size, rows[i].size);
        check_place(&copy.from, &rows[i].from);
        check_place(&copy.to, &rows[i].to);
        for (size_t room = 0; room < rows[i].length; room++)
            assert_int_equal(machine_copy_decode(code, room, 0x133d, &copy), 0);
    }
}

static void test_others(void **state)
{
    (void)state;
    /* mov %ah,(%rax); push; call; jmp; an address-size prefix */
    static const char *const codes[] = {"\x88\x20", "\x55", "\xe8\0\0\0\0", "\xeb\0", "\x67\x8b\x00"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct machine_copy copy;
        assert_int_equal(machine_copy_decode((const uint8_t *)codes[i], 5, 0, &copy), 0);
    }
}

static void test_any_bytes(void **state)
{
    (void)state;
    srand(5);
    for (unsigned turn = 0; turn < 200000; turn++) {
        struct machine_copy copy;
        size_t room = (size_t)(rand() % 16);
        uint8_t *code = malloc(room ? room : 1);
        for (size_t i = 0; i < room; i++)
            code[i] = (uint8_t)rand();
        assert_true(machine_copy_decode(code, room, (uint64_t)rand() << 33, &copy) <= room);
        free(code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_any_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
