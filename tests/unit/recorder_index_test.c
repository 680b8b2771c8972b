/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder's index of its tracepoints: what was added is found, also where hashes are equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "recorder/state.h"

static bool is_key(const struct registry *registry, unsigned id, const void *key)
{
    (void)registry;
    return id == *(const unsigned *)key;
}

static void all_are_found(void **state)
{
    (void)state;
    enum { COUNT = 20000, HASHES = 1000 };
    struct registry_index index = {0};
    for (unsigned id = 1; id <= COUNT; id++)
        assert_int_equal(index_add(&index, id % HASHES * 64, id), 0);
    for (unsigned id = 1; id <= COUNT; id++)
        assert_int_equal(index_find(&index, id % HASHES * 64, is_key, NULL, &id), id);
    const unsigned other = COUNT + 1, there = 1;
    assert_int_equal(index_find(&index, other % HASHES * 64, is_key, NULL, &other), 0);
    assert_int_equal(index_find(&index, 65, is_key, NULL, &there), 0);
    free(index.slots);
}

static void an_empty_one_has_nothing(void **state)
{
    (void)state;
    const struct registry_index index = {0};
    const unsigned id = 1;
    assert_int_equal(index_find(&index, 0, is_key, NULL, &id), 0);
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
