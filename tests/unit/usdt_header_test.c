/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of spoor/probe.h and its compatibility headers from both sides: what this program does when its probes are
 * on and off, and what the reader of notes finds in it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spoor/compat/sdt.h>
#include <spoor/compat/spdk_usdt.h>
#include <spoor/probe.h>

#include "kernel/pad.h"
#include "sym/elf/usdt.h"

enum colour { RED, GREEN, BLUE };
struct cell;
typedef int (*callback)(void *);

SPOOR_PROBE_DECLARE(unit, none);
SPOOR_PROBE_DECLARE(unit, one, (bool, is_on));
SPOOR_PROBE_DECLARE(unit, kinds, (enum colour, colour), (callback, call), (const struct cell *, cell),
                    (volatile unsigned short *, port));
SPOOR_PROBE_DECLARE(unit, twelve, (signed char, a), (unsigned char, b), (short, c), (unsigned short, d),
                    (int, e), (unsigned, f), (long, g), (unsigned long, h), (char, i), (long long, j),
                    (const char *, k), (size_t, l));
SPOOR_PROBE_DECLARE(unit, never_fired, (int, a));

uint64_t spdk_get_ticks(void)
{
    return 77;
}

static unsigned evaluated;

static int evaluate(void)
{
    evaluated++;
    return 5;
}

static __attribute__((noinline)) void fire_declared(const char *text)
{
    SPOOR_FIRE(unit, none);
    SPOOR_FIRE(unit, one, evaluate());
    SPOOR_FIRE(unit, kinds, BLUE, NULL, NULL, &SPOOR_USDT_SEMAPHORE(unit, one));
    SPOOR_FIRE(unit, twelve, -1, 2, -3, 4, -5, 6, -7, 8, 'i', -10, text, (size_t)evaluate());
}

static __attribute__((noinline)) void fire_inline(const volatile int8_t *narrow, const char *text,
                                                  uint32_t wide)
{
    enum colour colour = (enum colour)wide;
    /* clang-format off */
    SPOOR_PROBE(unit, in-line, *narrow, wide, text, "constant", colour, (bool)wide);
    /* clang-format on */
    SPOOR_PROBE(unit, nothing);
    SPOOR_PROBE(unit, constants, 5, -7, 1ull << 63, 'c', RED, (uint8_t)255);
    SPOOR_PROBE(unit, full, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, wide, text);
    if (wide)
        SPOOR_PROBE(unit, branch, wide);
    else
        SPOOR_PROBE(unit, branch, 0);
}

static __attribute__((noinline)) void fire_compat(int a)
{
    DTRACE_PROBE(unit, dtrace);
    DTRACE_PROBE0(unit, dtrace0);
    DTRACE_PROBE2(unit, dtrace2, a, "two");
    STAP_PROBE12(unit, stap12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, a);
    SPDK_DTRACE_PROBE(spdk_none);
    SPDK_DTRACE_PROBE4(spdk_four, 1, 2, 3, a);
    SPDK_DTRACE_PROBE1_TICKS(spdk_ticks, a);
}

static void fire_all(void)
{
    int8_t narrow = -3;
    volatile uint32_t wide = 3; /* volatile, so that the compiler does not know which branch is taken */
    fire_declared("text");
    fire_inline(&narrow, "text", wide);
    fire_compat(1);
}

/* ---- running ---- */

static void test_off(void **state)
{
    (void)state;
    evaluated = 0;
    fire_all();
    assert_int_equal(evaluated, 0);
    assert_false(SPOOR_LISTENED(unit, none));
}

static void test_on(void **state)
{
    (void)state;
    evaluated = 0;
    SPOOR_USDT_SEMAPHORE(unit, one)++; /* what a tracer does */
    assert_true(SPOOR_LISTENED(unit, one));
    assert_false(SPOOR_LISTENED(unit, twelve));
    fire_all();
    assert_int_equal(evaluated, 1);
    SPOOR_USDT_SEMAPHORE(unit, twelve)++;
    fire_all();
    assert_int_equal(evaluated, 3);
    SPOOR_USDT_SEMAPHORE(unit, one)--;
    SPOOR_USDT_SEMAPHORE(unit, twelve)--;
    fire_all();
    assert_int_equal(evaluated, 3);
}

/* ---- reading ---- */

struct notes {
    struct elf_file *file;
    struct usdt_probes probes;
};

static int notes_open(void **state)
{
    static struct notes notes;
    *state = &notes;
    return elf_file_open("/proc/self/exe", &notes.file) || usdt_read(notes.file, &notes.probes);
}

static int notes_close(void **state)
{
    struct notes *notes = *state;
    usdt_free(&notes->probes);
    elf_file_close(notes->file);
    return 0;
}

/* Returns the only site of a probe. */
static const struct usdt_site *site_of(const struct notes *notes, const char *provider, const char *name)
{
    const struct usdt_site *found = NULL;
    for (size_t i = 0; i < notes->probes.count; i++) {
        const struct usdt_site *site = &notes->probes.sites[i];
        if (strcmp(site->provider, provider) != 0 || strcmp(site->name, name) != 0)
            continue;
        assert_null(found);
        found = site;
    }
    assert_non_null(found);
    return found;
}

struct expectation {
    int size; /* in bytes; negative: signed */
    bool is_constant;
    int64_t constant;
};

static void check_arguments(struct notes *notes, const char *provider, const char *name,
                            const struct expectation *expected, unsigned count)
{
    struct usdt_arguments arguments;
    assert_int_equal(usdt_site_arguments(notes->file, site_of(notes, provider, name), &arguments), 0);
    assert_int_equal(arguments.count, count);
    for (unsigned i = 0; i < count; i++) {
        const struct usdt_argument *argument = &arguments.items[i];
        assert_int_not_equal(argument->kind, USDT_UNSUPPORTED);
        assert_int_equal(argument->is_signed ? -argument->size : argument->size, expected[i].size);
        if (expected[i].is_constant && argument->kind == USDT_CONSTANT)
            assert_int_equal(argument->constant, expected[i].constant);
    }
}
#define SIZED(size)                                                                                          \
    {                                                                                                        \
        size, false, 0                                                                                       \
    }
#define CONSTANT(size, value)                                                                                \
    {                                                                                                        \
        size, true, value                                                                                    \
    }
#define CHECK(notes, provider, name, ...)                                                                    \
    check_arguments(notes, provider, name, (const struct expectation[]){__VA_ARGS__},                        \
                    sizeof((const struct expectation[]){__VA_ARGS__}) / sizeof(struct expectation))

static void test_inline_notes(void **state)
{
    struct notes *notes = *state;
    CHECK(notes, "unit", "in-line", SIZED(-1), SIZED(4), SIZED(8), SIZED(8), SIZED(4), SIZED(1));
    CHECK(notes, "unit", "constants", CONSTANT(-4, 5), CONSTANT(-4, -7), CONSTANT(8, INT64_MIN),
          CONSTANT(-4, 'c'), CONSTANT(-4, RED), CONSTANT(1, 255));
    CHECK(notes, "unit", "full", CONSTANT(-4, 1), SIZED(-4), SIZED(-4), SIZED(-4), SIZED(-4), SIZED(-4),
          SIZED(-4), SIZED(-4), SIZED(-4), CONSTANT(-4, 10), SIZED(4), SIZED(8));
    assert_string_equal(site_of(notes, "unit", "nothing")->arguments, "");
    assert_int_equal(site_of(notes, "unit", "nothing")->semaphore_address, 0);
    size_t branches = 0;
    for (size_t i = 0; i < notes->probes.count; i++)
        branches += !strcmp(notes->probes.sites[i].name, "branch");
    assert_int_equal(branches, 2);
}

static void test_declared_notes(void **state)
{
    struct notes *notes = *state;
    static const char *const kinds[][2] = {
        {"enum colour", "colour"},
        {"callback", "call"},
        {"const struct cell *", "cell"},
        {"volatile unsigned short *", "port"},
    };
    CHECK(notes, "unit", "twelve", SIZED(-1), SIZED(1), SIZED(-2), SIZED(2), SIZED(-4), SIZED(4), SIZED(-8),
          SIZED(8), SIZED((char)-1 < 0 ? -1 : 1), SIZED(-8), SIZED(8), SIZED(8));
    CHECK(notes, "unit", "kinds", SIZED(4), SIZED(8), SIZED(8), SIZED(8));
    const struct usdt_site *site = site_of(notes, "unit", "kinds");
    assert_int_equal(site->declared_count, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_string_equal(site->declared[i].type, kinds[i][0]);
        assert_string_equal(site->declared[i].name, kinds[i][1]);
    }
    assert_true(site->is_declared);
    assert_int_equal(site_of(notes, "unit", "twelve")->declared_count, 12);
    assert_string_equal(site_of(notes, "unit", "one")->declared[0].name, "is_on");
    assert_true(site_of(notes, "unit", "none")->is_declared);
    assert_false(site_of(notes, "unit", "nothing")->is_declared);
    for (size_t i = 0; i < notes->probes.count; i++)
        assert_string_not_equal(notes->probes.sites[i].name, "never_fired");
}

static void test_semaphores(void **state)
{
    struct notes *notes = *state;
    struct elf_symbol symbol;
    assert_int_equal(elf_file_symbol(notes->file, "spoor_semaphore_unit_one", &symbol), 0);
    assert_int_equal(site_of(notes, "unit", "one")->semaphore_address, symbol.address);
    assert_int_not_equal(site_of(notes, "unit", "none")->semaphore_offset,
                         site_of(notes, "unit", "one")->semaphore_offset);
}

static void test_pads(void **state)
{
#if defined(__x86_64__)
    struct notes *notes = *state;
    uint8_t code[PADS_BYTES];
    static const char *const declared[] = {"none", "one", "kinds", "twelve"};
    for (size_t i = 0; i < sizeof declared / sizeof declared[0]; i++) {
        const struct usdt_site *site = site_of(notes, "unit", declared[i]);
        assert_int_equal(elf_file_read(notes->file, site->offset, code, sizeof code), 0);
        assert_true(pad_found(code, sizeof code));
        assert_false(pad_found(code, sizeof code - 1));
        assert_false(pad_found(code + 1, sizeof code - 1));
    }
    assert_int_equal(elf_file_read(notes->file, site_of(notes, "unit", "nothing")->offset, code, sizeof code),
                     0);
    assert_int_equal(code[0], 0x90);
    assert_false(pad_found(code, sizeof code));
#else
    (void)state;
    skip();
#endif
}

/* Which answer the kernel gives is not known here, but it must give one, and nothing may stay behind. */
static void test_proof(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("[  SKIPPED ] the proof needs root\n");
        skip();
    }
    struct pad_proof proof;
    int before = open("/dev/null", O_RDONLY);
    close(before);
    pad_prove(&proof);
    assert_true(proof.pad < PADS);
    assert_null(proof.why[proof.pad]);
    if (proof.pad == PAD_NOP1)
        assert_non_null(proof.why[PAD_NOP5]);
    pad_proof_close(&proof);
    assert_int_equal(proof.count, 0);
    int after = open("/dev/null", O_RDONLY);
    close(after);
    assert_int_equal(after, before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_compat_notes(void **state)
{
    struct notes *notes = *state;
    CHECK(notes, "unit", "dtrace2", SIZED(-4), SIZED(8));
    assert_string_equal(site_of(notes, "unit", "dtrace")->arguments, "");
    assert_string_equal(site_of(notes, "unit", "dtrace0")->arguments, "");
    CHECK(notes, "unit", "stap12", CONSTANT(-4, 1), SIZED(-4), SIZED(-4), SIZED(-4), SIZED(-4), SIZED(-4),
          SIZED(-4), SIZED(-4), SIZED(-4), SIZED(-4), CONSTANT(-4, 11), SIZED(-4));
    CHECK(notes, "spdk", "spdk_none", CONSTANT(-4, 0));
    CHECK(notes, "spdk", "spdk_four", CONSTANT(-4, 0), CONSTANT(-4, 1), CONSTANT(-4, 2), CONSTANT(-4, 3),
          SIZED(-4));
    CHECK(notes, "spdk", "spdk_ticks", SIZED(8), SIZED(-4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_on),
        cmocka_unit_test(test_proof),
        cmocka_unit_test_setup_teardown(test_inline_notes, notes_open, notes_close),
        cmocka_unit_test_setup_teardown(test_declared_notes, notes_open, notes_close),
        cmocka_unit_test_setup_teardown(test_semaphores, notes_open, notes_close),
        cmocka_unit_test_setup_teardown(test_pads, notes_open, notes_close),
        cmocka_unit_test_setup_teardown(test_compat_notes, notes_open, notes_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
