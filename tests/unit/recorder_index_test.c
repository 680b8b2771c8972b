/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder's index of its tracepoints: what was added is found, also where hashes are equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "recorder/state.h"

static void all_are_found(void **state)
{
    (void)state;
    enum { COUNT = 20000, HASHES = 1000 };
    struct registry_index index = {0};
    for (unsigned id = 1; id <= COUNT; id++)
        assert_int_equal(index_add(&index, id % HASHES * 64, id), 0);
    for (unsigned hash = 0; hash < HASHES; hash++) {
        unsigned step = 0, found = 0;
        for (unsigned id; (id = index_next(&index, hash * 64, &step)) != 0; found++)
            assert_int_equal(id % HASHES, hash);
        assert_int_equal(found, COUNT / HASHES);
    }
    unsigned step = 0;
    assert_int_equal(index_next(&index, 1, &step), 0);
    free(index.slots);
}

static void an_empty_one_has_nothing(void **state)
{
    (void)state;
    const struct registry_index index = {0};
    unsigned step = 0;
    assert_int_equal(index_next(&index, 0, &step), 0);
}

static void names_have_different_hashes(void **state)
{
    (void)state;
    const uint32_t hash = index_hash(INDEX_HASH_FIRST, "ab", 2);
    assert_int_not_equal(hash, index_hash(INDEX_HASH_FIRST, "ba", 2));
    assert_int_equal(hash, index_hash(index_hash(INDEX_HASH_FIRST, "a", 1), "b", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_are_found),
                                       cmocka_unit_test(an_empty_one_has_nothing),
                                       cmocka_unit_test(names_have_different_hashes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
