/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares this program's own debug information with what the compiler made of the same declarations, and reads the
 * same file with bytes changed at random. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "sym/apart.h"
#include "sym/dwarf/dwarf.h"

enum test_colour { TEST_RED = -2, TEST_GREEN, TEST_BLUE = 300 };
enum test_large { TEST_LARGE = 0xffffffffu };
struct test_inner {
    char name[224];
    unsigned low : 3;
    int middle : 7;
    uint64_t high : 40;
};
struct test_outer {
    struct test_inner inner;
    struct test_outer *next;
    int grid[3][5];
    union {
        int number;
        uint8_t bytes[4];
    };
    enum test_colour colour;
    double real;
    char open[];
};
typedef struct test_inner test_alias;
struct test_outer *test_variable;
test_alias test_keeps;
enum test_large test_keeps_large;

__attribute__((noinline, noclone, used)) int test_function(int first, const char *second,
                                                           struct test_outer *third)
{
    __asm__ volatile("" ::: "memory");
    return first + (second && third);
}

struct fixture {
    struct arena arena;
    struct dwarf_file *file;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct dwarf_options options = {.arena = &fixture->arena};
    setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    unsetenv("DEBUGINFOD_URLS");
    *state = fixture;
    return dwarf_file_open("/proc/self/exe", &options, &fixture->file);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    dwarf_file_close(fixture->file);
    arena_free(&fixture->arena);
    free(fixture);
    return 0;
}

static struct field field_of(const struct type *type, const char *name)
{
    struct field field = {0};
    assert_true(type_find_field(type, name, &field));
    return field;
}

static void test_structs(void **state)
{
    struct fixture *fixture = *state;
    const struct type *type = dwarf_file_type(fixture->file, "struct test_outer", 0);
    assert_non_null(type);
    assert_int_equal(type->size, sizeof(struct test_outer));
    assert_int_equal(field_of(type, "next").offset, offsetof(struct test_outer, next));
    assert_int_equal(field_of(type, "number").offset, offsetof(struct test_outer, number));
    assert_int_equal(field_of(type, "colour").offset, offsetof(struct test_outer, colour));
    assert_int_equal(field_of(type, "open").type->count, 0);
    struct field grid = field_of(type, "grid");
    assert_int_equal(grid.type->count, 3);
    assert_int_equal(grid.type->target->count, 5);
    assert_ptr_equal(grid.type->target->target, &type_i32);
    struct field next = field_of(type, "next");
    assert_int_equal(next.type->kind, TYPE_POINTER);
    assert_int_equal(next.type->space, SPACE_USER);
    assert_ptr_equal(next.type->target, type);
    assert_int_equal(field_of(type, "real").type->size, sizeof(double));
    struct field inner = field_of(type, "inner"), high = field_of(inner.type, "high");
    assert_int_equal(inner.type->size, sizeof(struct test_inner));
    assert_int_equal(field_of(inner.type, "name").type->count, 224);
    assert_int_equal(high.bit_size, 40);
    /* The bits must be where the compiler put them. */
    struct test_inner bits = {.high = (1ull << 40) - 1};
    for (unsigned bit = 0; bit < 40; bit++) {
        unsigned at = high.offset * 8 + high.bit_offset + bit;
        assert_true(((const uint8_t *)&bits)[at / 8] >> at % 8 & 1);
    }
    assert_true(field_of(inner.type, "middle").type->is_signed);
    assert_non_null(dwarf_file_type(fixture->file, "test_alias", 0));
    assert_null(dwarf_file_type(fixture->file, "struct test_alias", 0));
    assert_null(dwarf_file_type(fixture->file, "struct nobody_has_this", 0));
}

static void test_enums(void **state)
{
    struct fixture *fixture = *state;
    int64_t value = 0;
    const struct type *type = dwarf_file_enumerator(fixture->file, "TEST_RED", 0, &value);
    assert_non_null(type);
    assert_int_equal(value, -2);
    assert_string_equal(type->name, "test_colour");
    assert_non_null(dwarf_file_enumerator(fixture->file, "TEST_BLUE", 0, &value));
    assert_int_equal(value, 300);
    assert_non_null(dwarf_file_enumerator(fixture->file, "TEST_LARGE", 0, &value));
    assert_int_equal((uint32_t)value, 0xffffffffu);
    assert_true(value > 0);
    assert_null(dwarf_file_enumerator(fixture->file, "TEST_NOBODY", 0, &value));
}

struct names {
    unsigned count, wanted;
};

static int see_name(void *state, const char *name)
{
    struct names *names = state;
    names->count++;
    names->wanted += !strcmp(name, "test_colour");
    return names->wanted > 1;
}

static void test_names_of_enums(void **state)
{
    struct fixture *fixture = *state;
    struct names all = {0}, some = {0}, none = {0};
    assert_int_equal(dwarf_file_each_enum(fixture->file, "*", see_name, &all), 0);
    assert_int_equal(all.wanted, 1);
    assert_true(all.count > 1);
    assert_int_equal(dwarf_file_each_enum(fixture->file, "*_colour", see_name, &some), 0);
    assert_true(some.wanted == 1 && some.count < all.count);
    assert_int_equal(dwarf_file_each_enum(fixture->file, "TEST_RED", see_name, &none), 0);
    assert_int_equal(none.count, 0);
}

static int see_place(void *state, uint64_t address, bool is_inlined)
{
    *(uint64_t *)state = address;
    return !is_inlined;
}

static void test_functions(void **state)
{
    struct fixture *fixture = *state;
    uint64_t address = 0, variable = 0;
    struct dwarf_function function;
    const struct type *type;
    assert_int_equal(dwarf_file_each_function(fixture->file, "test_function", see_place, &address), 1);
    assert_int_equal(dwarf_file_function(fixture->file, address, NULL, &function), 0);
    assert_string_equal(function.name, "test_function");
    assert_true(function.is_entry);
    assert_int_equal(function.count, 3);
    assert_string_equal(function.parameters[1].spelling, "const char *");
    for (unsigned i = 0; i < 3; i++) {
        struct machine_register expected;
        assert_true(machine_register_argument(machine_here(), i, &expected));
        assert_int_equal(function.parameters[i].location.where, DWARF_REGISTERS);
        assert_int_equal(function.parameters[i].location.registers[0].offset, expected.offset);
    }
    assert_ptr_equal(function.result, &type_i32);
    /* The distance of two symbols in the file equals their distance in memory. */
    assert_int_equal(dwarf_file_variable(fixture->file, "test_variable", address, &variable, &type), 0);
    assert_int_equal(variable - address, (uintptr_t)&test_variable - (uintptr_t)test_function);
    assert_string_equal(type->target->name, "test_outer");
    assert_int_not_equal(dwarf_file_variable(fixture->file, "nobody_has_this", 0, &variable, &type), 0);
    assert_int_not_equal(dwarf_file_function(fixture->file, 1, NULL, &function), 0);
}

static void test_lines(void **state)
{
    struct fixture *fixture = *state;
    uint64_t address = 0;
    unsigned next = 0;
    assert_int_not_equal(
        dwarf_file_each_line(fixture->file, "dwarf_test.c", 2, 0, see_place, &address, &next), 0);
    assert_true(next > 2);
    assert_int_equal(
        dwarf_file_each_line(fixture->file, "unit/dwarf_test.c", next, 0, see_place, &address, &next), 1);
    assert_true(address != 0);
    assert_int_not_equal(dwarf_file_each_line(fixture->file, "warf_test.c", 2, 0, see_place, &address, &next),
                         0);
    assert_int_equal(next, 0);
}

/* ---- damage ---- */

static size_t see_type(const struct type *type, unsigned depth)
{
    size_t sum = 0;
    if (!type || !depth)
        return 0;
    type_complete(type);
    for (uint32_t i = 0; type->kind == TYPE_STRUCT && i < type->count; i++) {
        assert_true(type->fields[i].offset <= type->size);
        sum += strlen(type->fields[i].name) + see_type(type->fields[i].type, depth - 1);
    }
    return sum + see_type(type->target, depth - 1);
}

static bool ask_damaged(const char *path)
{
    struct arena arena = {0};
    struct dwarf_options options = {.arena = &arena};
    struct dwarf_file *file = NULL;
    struct dwarf_function function;
    uint64_t address = 0;
    int64_t value;
    unsigned next;
    jmp_buf nowhere;
    volatile bool is_open = false;
    if (!arena_guard(&arena, nowhere) && !dwarf_file_open(path, &options, &file)) {
        see_type(dwarf_file_type(file, "struct test_outer", 0), 5);
        dwarf_file_enumerator(file, "TEST_BLUE", 0, &value);
        dwarf_file_each_function(file, "test_function", see_place, &address);
        for (uint64_t at = address; at < address + 64; at++)
            if (!dwarf_file_function(file, at, NULL, &function))
                for (uint32_t i = 0; i < function.count; i++)
                    see_type(function.parameters[i].type, 4);
        dwarf_file_each_line(file, "dwarf_test.c", 100, 0, see_place, &address, &next);
        is_open = true;
    }
    dwarf_file_close(file);
    arena_free(&arena);
    return is_open;
}

static void test_damaged(void **state)
{
    enum { ROUNDS = 60, CHANGES = 400 };
    const char *wanted = getenv("DAMAGED_ROUNDS"); /* set by `make check-deep` to run more rounds */
    const unsigned rounds = wanted ? (unsigned)atoi(wanted) : ROUNDS, deaths = apart_deaths();
    struct stat status;
    char path[64];
    (void)state;
    int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy = memfd_create("damaged", MFD_CLOEXEC);
    assert_true(own >= 0 && copy >= 0 && fstat(own, &status) == 0);
    char *bytes = malloc((size_t)status.st_size);
    assert_int_equal(pread(own, bytes, (size_t)status.st_size, 0), status.st_size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
    srand(20);
    unsigned opened = 0;
    for (unsigned round = 0; round < rounds; round++) {
        assert_int_equal(pwrite(copy, bytes, (size_t)status.st_size, 0), status.st_size);
        /* Only the last three quarters are changed: debug sections take most of the file and follow the code. */
        for (unsigned i = 0; i < CHANGES; i++) {
            char byte = (char)rand();
            off_t at = status.st_size / 4 + rand() % (status.st_size * 3 / 4 - 4096);
            assert_int_equal(pwrite(copy, &byte, 1, at), 1);
        }
        opened += ask_damaged(path);
    }
    assert_true(opened > rounds / 2);
    assert_int_equal(apart_deaths(), deaths);
    assert_int_equal(ftruncate(copy, status.st_size / 2), 0);
    ask_damaged(path);
    free(bytes);
    close(own);
    close(copy);
}

static void count_line(void *state, const char *line, bool is_problem)
{
    if (!is_problem) /* reading takes long, on a slow machine */
        return;
    assert_non_null(strstr(line, "cut short"));
    ++*(unsigned *)state;
}

/* Another process writes over the file, or copies another file over it, while it is read. */
static void test_cut_short(void **state)
{
    enum { PARTS = 24 };
    (void)state;
    for (unsigned part = 0; part < PARTS; part++) {
        char path[64];
        struct arena arena = {0};
        unsigned told = 0;
        struct dwarf_options options = {.arena = &arena, .report = count_line, .state = &told};
        struct dwarf_file *file;
        struct dwarf_function function;
        struct sigaction before, after;
        jmp_buf nowhere;
        int own = open("/proc/self/exe", O_RDONLY), copy = memfd_create("cut", 0);
        struct stat status;
        assert_int_equal(fstat(own, &status), 0);
        assert_int_equal(sendfile(copy, own, NULL, (size_t)status.st_size), status.st_size);
        close(own);
        snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
        assert_int_equal(sigaction(SIGBUS, NULL, &before), 0);
        assert_int_equal(arena_guard(&arena, nowhere), 0);
        assert_int_equal(dwarf_file_open(path, &options, &file), 0);
        const struct type *type = dwarf_file_type(file, "struct test_outer", 0);
        assert_non_null(type);
        assert_int_equal(ftruncate(copy, status.st_size * part / PARTS), 0);
        type_complete(type);
        dwarf_file_type(file, "struct nobody_has_this", 0);
        dwarf_file_function(file, (uint64_t)(uintptr_t)test_function, NULL, &function);
        dwarf_file_function(file, 0x4000, NULL, &function);
        dwarf_file_type(file, "test_alias", 0);
        assert_true(told == 1 || part > PARTS / 2);
        assert_int_equal(sigaction(SIGBUS, NULL, &after), 0);
        assert_ptr_equal(before.sa_handler, after.sa_handler);
        dwarf_file_close(file);
        arena_free(&arena);
        close(copy);
    }
}

static void count_slowness(void *state, const char *line, bool is_problem)
{
    if (!is_problem && strstr(line, "Reading the debug information of /proc/self/exe"))
        ++*(unsigned *)state;
}

/* Runs in the service, which may not sleep. */
static void take_half_a_second(struct text *answer)
{
    const uint64_t end = clock_ms(CLOCK_MONOTONIC) + 500;
    (void)answer;
    while (clock_ms(CLOCK_MONOTONIC) < end)
        ;
}

/* Questions of which none takes long take long together: the user is told once, and not before a second has passed. */
static void test_slow(void **state)
{
    struct arena arena = {0};
    unsigned told = 0;
    const struct dwarf_options options = {.arena = &arena, .report = count_slowness, .state = &told};
    struct dwarf_file *file;
    struct dwarf_function function;
    jmp_buf nowhere;
    (void)state;
    assert_int_equal(arena_guard(&arena, nowhere), 0);
    const uint64_t begin = clock_ms(CLOCK_MONOTONIC);
    apart_answers_change(take_half_a_second);
    const int error = dwarf_file_open("/proc/self/exe", &options, &file);
    apart_answers_change(NULL);
    assert_int_equal(error, 0);
    assert_true(!told || clock_ms(CLOCK_MONOTONIC) - begin >= 1000);
    for (unsigned i = 0; i < 3; i++)
        dwarf_file_function(file, 0x4000, NULL, &function);
    assert_int_equal(told, 1);
    dwarf_file_close(file);
    arena_free(&arena);
}

static void test_nothing(void **state)
{
    struct arena arena = {0};
    struct dwarf_options options = {.arena = &arena};
    struct dwarf_file *file;
    jmp_buf nowhere;
    (void)state;
    assert_int_equal(arena_guard(&arena, nowhere), 0);
    assert_int_not_equal(dwarf_file_open("/nonexistent", &options, &file), 0);
    assert_int_not_equal(dwarf_file_open("/dev/null", &options, &file), 0);
    assert_int_not_equal(dwarf_file_open("/etc/passwd", &options, &file), 0);
    assert_null(file);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_structs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_enums, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_of_enums, setup, teardown),
        cmocka_unit_test_setup_teardown(test_functions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
