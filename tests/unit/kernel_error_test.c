/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernel_error.h"

/* The C library knows none of these numbers. Once it does, kernel_error.c is not needed any more. */
static void test_names(void **state)
{
    static const int numbers[] = {ERESTARTSYS, 513, ENOTSUPP, KERNEL_ERRORS_END - 1};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_null(strstr(kernel_error(-numbers[i]), "nknown"));
        assert_non_null(strstr(strerror(numbers[i]), "nknown"));
    }
    assert_string_equal(kernel_error(-ENOTSUPP), "Not supported (ENOTSUPP)");
    assert_string_equal(kernel_error(-520), strerror(520)); /* a number that the kernel does not use */
    assert_string_equal(kernel_error(-KERNEL_ERRORS_END), strerror(KERNEL_ERRORS_END));
    assert_string_equal(kernel_error(-ENOENT), strerror(ENOENT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
