/* SPDX-License-Identifier: BSD-3-Clause */
/* What is kept of a trace for its page is bounded, and what is left out is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "history/history.h"

static void begin(struct history *history)
{
    history_begin(history, "a test", false);
    history->period = 1000;
}

/* Keeps a state of the map @m with the keys 0 to count - 1, each with the value `value`. */
static void keep(struct history *history, uint64_t time, size_t count, uint64_t value, bool is_own)
{
    uint64_t *keys = calloc(count + 1, sizeof *keys), *values = calloc(count + 1, sizeof *values);
    struct map_entry *entries = calloc(count + 1, sizeof *entries);
    struct printer printer = {.orders_by_key = true}; /* what is kept is chosen by value all the same */
    for (size_t i = 0; i < count; i++) {
        keys[i] = count - 1 - i;
        values[i] = value + i;
        entries[i] = (struct map_entry){&keys[i], &values[i]};
    }
    const struct map_snapshot snapshot = {"@m", &type_u64, &type_u64, entries, count};
    history_keep(history, &printer, &snapshot, time, 0, 0, is_own);
    assert_false(history->failed);
    printer_free(&printer);
    free(keys);
    free(values);
    free(entries);
}

/* States have an order in time, and the newest one is there. */
static void check_states(const struct history_map *map, uint64_t last, size_t all)
{
    assert_true(map->count > HISTORY_STATES_MAX / 4 && map->count <= HISTORY_STATES_MAX);
    assert_int_equal(map->count + map->states_left, all);
    for (size_t i = 1; i < map->count; i++)
        assert_true(map->states[i].time > map->states[i - 1].time);
    assert_true(last - map->states[map->count - 1].time <= map->stride);
}

static void test_looks_are_thinned(void **state)
{
    (void)state;
    struct history history;
    enum { ALL = 5 * HISTORY_STATES_MAX };
    begin(&history);
    for (uint64_t i = 1; i <= ALL; i++)
        keep(&history, i, 2, i, true);
    check_states(history.maps, ALL, ALL);
    assert_int_equal(history.maps->states[history.maps->count - 1].time, ALL);
    assert_true(history.period >= 4000);
    history_free(&history);
}

static void test_printings_are_thinned(void **state)
{
    (void)state;
    struct history history;
    enum { ALL = 5 * HISTORY_STATES_MAX };
    begin(&history);
    keep(&history, 1, 2, 1, true);
    for (uint64_t i = 1; i <= ALL; i++)
        keep(&history, i + 1, 2, i, false);
    assert_true(history.maps->is_printed);
    check_states(history.maps, ALL + 1, ALL);
    assert_int_equal(history.period, 1000);
    history_free(&history);
}

static void test_keys_with_the_largest_values_are_kept(void **state)
{
    (void)state;
    struct history history;
    begin(&history);
    keep(&history, 1, HISTORY_KEYS_MAX + 7, 0, true);
    assert_int_equal(history.maps->keys_left, 7);
    assert_int_equal(history.maps->keys.count, HISTORY_KEYS_MAX);
    assert_string_equal(history.maps->keys.entries[0].key, "499");
    history_free(&history);
}

static void test_states_take_bounded_memory(void **state)
{
    (void)state;
    struct history history;
    begin(&history);
    history.bytes = HISTORY_BYTES_MAX - 4000; /* as if there were others */
    for (uint64_t i = 1; i <= 100; i++)
        keep(&history, i, 100, UINT64_C(1) << 60, true);
    const struct history_map *map = history.maps;
    assert_true(history.bytes < HISTORY_BYTES_MAX + 4000);
    assert_true(map->count >= 1 && map->count < 10);
    assert_int_equal(map->count + map->states_left, 100);
    history_free(&history);
}

static void test_the_oldest_lines_are_left_out(void **state)
{
    (void)state;
    struct history history;
    char line[1024];
    uint64_t all = 0, kept = 0;
    begin(&history);
    for (size_t bytes = 0; bytes < HISTORY_LINES_MAX * 3ul / 2; all++) {
        bytes += (size_t)snprintf(line, sizeof line, "%0500d\n", (int)all);
        history_add_text(&history, all + 1, line, strlen(line));
    }
    const struct history_lines *lines = &history.lines;
    for (size_t i = 0; i < lines->count; i++)
        kept += lines->parts[i].times.count;
    assert_int_equal(kept + lines->left, all);
    assert_true(lines->left > 0 && lines->bytes <= HISTORY_LINES_MAX + (2 << 20));
    const struct history_part *last = &lines->parts[lines->count - 1];
    assert_int_equal(last->times.values[last->times.count - 1], all);
    assert_int_equal(lines->parts[0].times.values[0], lines->left + 1);
    history_free(&history);
}

static void test_a_line_that_does_not_end(void **state)
{
    (void)state;
    struct history history;
    begin(&history);
    history_add_text(&history, 1, "one", 3);
    history_add_text(&history, 2, " line\ntwo", 9);
    assert_int_equal(history.lines.parts[0].times.count, 1);
    assert_int_equal(history.lines.parts[0].times.values[0], 1);
    history_end_line(&history);
    history_end_line(&history);
    assert_int_equal(history.lines.parts[0].times.count, 2);
    assert_int_equal(history.lines.parts[0].times.values[1], 2);
    assert_memory_equal(history.lines.parts[0].bytes.bytes, "one linetwo", 11);
    history_free(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks_are_thinned),
        cmocka_unit_test(test_printings_are_thinned),
        cmocka_unit_test(test_keys_with_the_largest_values_are_kept),
        cmocka_unit_test(test_states_take_bounded_memory),
        cmocka_unit_test(test_the_oldest_lines_are_left_out),
        cmocka_unit_test(test_a_line_that_does_not_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
