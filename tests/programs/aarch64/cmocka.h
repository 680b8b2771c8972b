/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of cmocka's interface that tests of the recorder use, for machines for which Debian's cross packages
 * have no cmocka. A failed assertion ends its test. */
#ifndef AARCH64_CMOCKA_H
#define AARCH64_CMOCKA_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*cmocka_fixture)(void **state);
struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
    cmocka_fixture setup, teardown;
};
#define cmocka_unit_test(test_)                                                                              \
    {                                                                                                        \
#test_, test_, NULL, NULL                                                                            \
    }
#define cmocka_unit_test_teardown(test_, teardown_)                                                          \
    {                                                                                                        \
#test_, test_, NULL, teardown_                                                                       \
    }
#define cmocka_run_group_tests(tests_, setup_, teardown_)                                                    \
    cmocka_run(tests_, sizeof(tests_) / sizeof((tests_)[0]), setup_, teardown_)

static jmp_buf cmocka_back;
enum { CMOCKA_FAILED = 1, CMOCKA_SKIPPED };

static inline void cmocka_fail(const char *what, const char *file, int line)
{
    printf("%s:%d: %s\n", file, line, what);
    longjmp(cmocka_back, CMOCKA_FAILED);
}

#define cmocka_check(condition_, what_)                                                                      \
    do {                                                                                                     \
        if (!(condition_))                                                                                   \
            cmocka_fail(what_, __FILE__, __LINE__);                                                          \
    } while (0)
#define assert_true(x) cmocka_check(x, #x)
#define assert_false(x) cmocka_check(!(x), "not " #x)
#define assert_null(x) cmocka_check((x) == NULL, #x " is NULL")
#define assert_non_null(x) cmocka_check((x) != NULL, #x " is not NULL")
#define assert_ptr_equal(a, b) cmocka_check((a) == (b), #a " == " #b)
#define assert_int_equal(a, b) cmocka_check((uintmax_t)(a) == (uintmax_t)(b), #a " == " #b)
#define assert_int_not_equal(a, b) cmocka_check((uintmax_t)(a) != (uintmax_t)(b), #a " != " #b)
#define assert_in_range(x, least, most)                                                                      \
    cmocka_check((uintmax_t)(x) >= (uintmax_t)(least) && (uintmax_t)(x) <= (uintmax_t)(most),                \
                 #x " is from " #least " to " #most)
#define assert_string_equal(a, b) cmocka_check(strcmp(a, b) == 0, #a " is " #b)
#define assert_string_not_equal(a, b) cmocka_check(strcmp(a, b) != 0, #a " is not " #b)
#define assert_memory_equal(a, b, size_) cmocka_check(memcmp(a, b, size_) == 0, #a " holds " #b)
#define fail_msg(...) (printf(__VA_ARGS__), cmocka_fail("fails", __FILE__, __LINE__))
#define print_message(...) printf(__VA_ARGS__)
#define skip() longjmp(cmocka_back, CMOCKA_SKIPPED)

static inline int cmocka_run_one(const struct CMUnitTest *test, void **state)
{
    const int result = setjmp(cmocka_back);
    if (result == 0)
        test->test(state);
    return result;
}

static inline int cmocka_run(const struct CMUnitTest *tests, size_t count, cmocka_fixture setup,
                             cmocka_fixture teardown)
{
    static const char *const results[] = {"ok", "not ok", "skip"};
    void *state = NULL;
    int failed = 0;
    if (setup != NULL && setup(&state) != 0)
        return 1;
    for (size_t i = 0; i < count; i++) {
        const int result = cmocka_run_one(&tests[i], &state);
        if (tests[i].teardown != NULL)
            tests[i].teardown(&state);
        printf("%s %s\n", results[result], tests[i].name);
        fflush(stdout);
        failed += result == CMOCKA_FAILED;
    }
    if (teardown != NULL)
        teardown(&state);
    return failed;
}

#endif
