/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns of a page: what is decoded, here as src/page/decode.js does it, is what was coded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/html/column.h"

static uint64_t take(const struct text *text, size_t *at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(*at < text->length && shift < 70);
        const unsigned char byte = (unsigned char)text->bytes[(*at)++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

static uint64_t unfold(uint64_t folded)
{
    return folded >> 1 ^ (0 - (folded & 1));
}

static void take_steps(const struct text *text, size_t *at, uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = i ? values[i - 1] + unfold(take(text, at)) : take(text, at);
}

/* Checks that a column comes back, written so. */
static void check(const uint64_t *values, size_t count, enum column_mode mode)
{
    struct text text = {0};
    size_t at = 0;
    uint64_t *back = calloc(count + 1, sizeof *back), *distinct = calloc(count + 1, sizeof *distinct);
    code_column(&text, values, count);
    assert_int_equal(take(&text, &at), mode);
    const uint64_t shift = take(&text, &at), length = take(&text, &at);
    assert_int_equal(length, text.length - at);
    switch (mode) {
    case COLUMN_PLAIN:
        for (size_t i = 0; i < count; i++)
            back[i] = take(&text, &at);
        break;
    case COLUMN_STEPS: take_steps(&text, &at, back, count); break;
    case COLUMN_TABLE: {
        const size_t known = take(&text, &at);
        assert_true(known <= count);
        take_steps(&text, &at, distinct, known);
        for (size_t i = 0; i < count; i++) {
            const uint64_t index = take(&text, &at);
            assert_true(index < known);
            back[i] = distinct[index];
        }
        break;
    }
    case COLUMN_SAME: {
        const uint64_t same = take(&text, &at);
        for (size_t i = 0; i < count; i++)
            back[i] = same;
        break;
    }
    }
    assert_int_equal(at, text.length);
    for (size_t i = 0; i < count; i++)
        assert_true(back[i] << shift == values[i]);
    text_free(&text);
    free(back);
    free(distinct);
}

static void test_ends(void **state)
{
    (void)state;
    const uint64_t ends[] = {0, UINT64_MAX, 1, 1ull << 63, 127, 128, (1ull << 53) - 1};
    check(NULL, 0, COLUMN_SAME);
    check(ends + 1, 1, COLUMN_SAME);
    check(ends, 1, COLUMN_SAME);
    check(ends, sizeof ends / sizeof ends[0], COLUMN_STEPS); /* from 0 to the largest is -1 */
}

static void test_each_mode(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    uint64_t values[COUNT], random = 1;
    for (size_t i = 0; i < COUNT; i++)
        values[i] = i % 100;
    check(values, COUNT, COLUMN_PLAIN);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = UINT64_MAX - 2500 + i; /* goes round */
    check(values, COUNT, COLUMN_STEPS);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = 0x7ffc00001000 + i * 7919 % 300 * 0x100040; /* some hundred addresses */
    check(values, COUNT, COLUMN_TABLE);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = 0xdeadbeef00000000;
    check(values, COUNT, COLUMN_SAME);
    for (size_t i = 0; i < COUNT; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        values[i] = random >> i % 50 & ~0xfffull; /* whole pages, of all lengths */
    }
    values[0] = 1ull << 63;
    check(values, COUNT, COLUMN_PLAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_each_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
