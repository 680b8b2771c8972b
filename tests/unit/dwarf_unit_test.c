/* SPDX-License-Identifier: BSD-3-Clause */
/* A unit with thousands of functions is walked over once, and not for each of them. What is counted is the entries
 * that are read, in the reader itself. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "../targets/many.h"
#include "sym/dwarf/private.h"

#define ONE(n)                                                                                               \
    __attribute__((noinline, noclone, used)) int many_##n(int first, const char *second);                    \
    int many_##n(int first, const char *second)                                                              \
    {                                                                                                        \
        __asm__ volatile("" ::: "memory");                                                                   \
        return first + 1##n + *second;                                                                       \
    }
THOUSAND(ONE)

static inline __attribute__((always_inline)) int inlined_once(int value)
{
    __asm__ volatile("" ::: "memory");
    return value * 3;
}
static inline __attribute__((always_inline)) int inlined_twice(int value)
{
    __asm__ volatile("" ::: "memory");
    return value * 5;
}
__attribute__((noinline, noclone, used)) int inlines(int value)
{
    struct local {
        int member;
    } local = {inlined_twice(value)};
    return inlined_once(value) + inlined_twice(local.member);
}

struct fixture {
    struct arena arena;
    struct dwarf_source source;
    struct dwarf_reader *reader;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    bool is_split;
    *state = fixture;
    int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    fixture->source = (struct dwarf_source){
        .path = "/proc/self/exe", .program = descriptor, .debug = -1, .alternative = -1, .index = -1};
    return dwarf_reader_open(&fixture->source, &fixture->arena, &fixture->reader, &is_split);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    dwarf_reader_close(fixture->reader);
    close(fixture->source.program);
    arena_free(&fixture->arena);
    free(fixture);
    return 0;
}

static int keep_address(void *state, uint64_t address, bool is_inlined)
{
    uint64_t *places = state; /* how many, and where */
    assert_true(places[0] < 8);
    places[++places[0]] = address | (is_inlined ? UINT64_C(1) << 63 : 0);
    return 0;
}

static void ask(struct dwarf_reader *reader, unsigned number)
{
    char name[16];
    uint64_t places[9] = {0};
    struct dwarf_function function;
    snprintf(name, sizeof name, "many_%03u", number);
    assert_int_equal(dwarf_reader_each_function(reader, name, keep_address, places), 0);
    assert_int_equal(places[0], 1);
    assert_int_equal(dwarf_reader_function(reader, places[1], "", &function), 0);
    assert_string_equal(function.name, name);
    assert_int_equal(function.count, 2);
    assert_string_equal(function.parameters[1].name, "second");
    assert_true(function.is_entry && !function.is_inlined);
}

static void each_function_is_read_alone(void **state)
{
    enum { FEW = 40 };
    struct dwarf_reader *reader = ((struct fixture *)*state)->reader;
    ask(reader, 500);
    const uint64_t walked = reader->entries;
    assert_true(walked > 1000);
    for (unsigned i = 0; i < 1000; i++)
        ask(reader, i);
    assert_true(reader->entries - walked <= FEW * 1000);
}

static void each_instance_is_found(void **state)
{
    struct dwarf_reader *reader = ((struct fixture *)*state)->reader;
    uint64_t once[9] = {0}, twice[9] = {0};
    assert_int_equal(dwarf_reader_each_function(reader, "inlined_once", keep_address, once), 0);
    assert_int_equal(dwarf_reader_each_function(reader, "inlined_twice", keep_address, twice), 0);
    assert_int_equal(once[0], 1);
    assert_int_equal(twice[0], 2);
    struct dwarf_scope scope;
    for (unsigned i = 1; i <= 2; i++) {
        assert_true(twice[i] >> 63);
        assert_true(dwarf_scope_at(reader, twice[i] & ~(UINT64_C(1) << 63), "inlined_twice", &scope));
        assert_int_equal(dwarf_tag(&scope.die), DW_TAG_inlined_subroutine);
        assert_string_equal(dwarf_diename(&scope.function), "inlines");
        assert_true(dwarf_scope_at(reader, twice[i] & ~(UINT64_C(1) << 63), "", &scope));
        assert_string_equal(dwarf_diename(&scope.die), "inlines");
    }
    const uint64_t walked = reader->entries;
    twice[0] = 0;
    assert_int_equal(dwarf_reader_each_function(reader, "inlined_twice", keep_address, twice), 0);
    assert_int_equal(twice[0], 2);
    assert_true(reader->entries - walked < 1000);
}

static void symbols_say_whose_code_it_is(void **state)
{
    struct dwarf_reader *reader = ((struct fixture *)*state)->reader;
    uint64_t places[9] = {0};
    bool any, plain;
    assert_int_equal(dwarf_reader_each_function(reader, "inlines", keep_address, places), 0);
    dwarf_symbols_at(reader, places[1], &any, &plain);
    assert_true(any && plain);
    dwarf_symbols_at(reader, places[1] + 1, &any, &plain);
    assert_false(any || plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_function_is_read_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(each_instance_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(symbols_say_whose_code_it_is, setup, teardown),
    };
    return cmocka_run_group_tests_name("dwarf_unit", tests, NULL, NULL);
}
