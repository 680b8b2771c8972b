/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of src/top: rows and their figures, percentiles, the canvas, charts, printed lines, and what keys do. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builtin/aggregation.h"
#include "builtin/hist.h"
#include "top/chart.h"
#include "top/quantile.h"
#include "top/view.h"

/* ---- a table whose keys are numbers, and whose first figure is a number ---- */

static void label(const struct top_table *table, const struct top_row *row, struct text *out)
{
    uint64_t key;
    (void)table;
    memcpy(&key, row->bytes, sizeof key);
    text_printf(out, "key%" PRIu64, key);
}

static int compare(const struct top_table *table, const struct top_row *a, const struct top_row *b)
{
    uint64_t x, y;
    (void)table;
    memcpy(&x, a->bytes, sizeof x);
    memcpy(&y, b->bytes, sizeof y);
    return (x > y) - (x < y);
}

static const struct top_column columns[] = {{"TOTAL", TOP_INTEGER, 10}, {"PER SEC", TOP_RATE, 8}};
static const struct top_table_source source = {label, compare, NULL, NULL};

static struct top_table new_table(void)
{
    return (struct top_table){.name = "@x",
                              .key_title = "KEY",
                              .history_title = "RATE",
                              .columns = columns,
                              .column_count = 2,
                              .key_bytes = sizeof(uint64_t),
                              .source = &source};
}

static bool put(struct top_table *table, uint64_t key, double total)
{
    struct top_row *row = top_table_row(table, &key);
    if (!row)
        return false;
    const double before = row->figures[TOP_TOTAL][0], seconds = top_table_seconds(table);
    row->figures[TOP_TOTAL][0] = total;
    row->figures[TOP_LAST][0] = total - before;
    row->figures[TOP_TOTAL][1] = row->figures[TOP_LAST][1] = seconds > 0 ? (total - before) / seconds : 0;
    top_row_push(row, row->figures[TOP_LAST][1]);
    return true;
}

static const char *shown(const struct top_table *table, size_t index)
{
    assert_true(index < table->shown_count);
    return top_row_label(table, table->shown[index]);
}

static void rows_are_found_again(void **state)
{
    struct top_table table = new_table();
    (void)state;
    table.time = 1000000000;
    top_table_begin(&table, 3000000000);
    assert_true(put(&table, 1, 10));
    assert_true(put(&table, 2, 20));
    top_table_end(&table);
    assert_int_equal(table.count, 2);
    assert_true(top_table_seconds(&table) == 2);
    assert_true(table.rows[0]->figures[TOP_LAST][1] == 5); /* since the beginning, when it had nothing */
    assert_true(top_row_is_new(table.rows[0]));
    top_table_begin(&table, 4000000000);
    assert_true(put(&table, 2, 26));
    assert_true(put(&table, 3, 1));
    top_table_end(&table);
    assert_int_equal(table.count, 2); /* 1 has gone */
    top_table_arrange(&table, 0);
    assert_string_equal(shown(&table, 0), "key2");
    assert_true(table.shown[0]->figures[TOP_TOTAL][0] == 26);
    assert_true(table.shown[0]->figures[TOP_LAST][0] == 6);
    assert_true(table.shown[0]->figures[TOP_LAST][1] == 6);
    assert_false(top_row_is_new(table.shown[0]));
    assert_true(table.shown[0]->history[TOP_HISTORY - 1] == 6);
    assert_true(table.shown[0]->history[TOP_HISTORY - 2] == 10);
    assert_true(table.shown[0]->history[TOP_HISTORY - 3] == 0);
    top_table_free(&table);
}

static void order_and_filter(void **state)
{
    struct top_table table = new_table();
    (void)state;
    top_table_begin(&table, 0);
    for (uint64_t key = 1; key <= 30; key++)
        put(&table, key, (double)(key * 7 % 31));
    top_table_end(&table);
    top_table_arrange(&table, 0);
    assert_int_equal(table.shown_count, 30);
    for (size_t i = 1; i < 30; i++)
        assert_true(table.shown[i - 1]->figures[TOP_TOTAL][0] > table.shown[i]->figures[TOP_TOTAL][0]);
    table.is_reversed = true;
    top_table_arrange(&table, 0);
    assert_true(table.shown[0]->figures[TOP_TOTAL][0] == 1);
    table.is_reversed = false;
    top_table_sort_next(&table, 1);
    assert_int_equal(table.sort, 1);
    top_table_sort_next(&table, 1);
    assert_int_equal(table.sort, -1);
    top_table_arrange(&table, 0);
    assert_string_equal(shown(&table, 0), "key1");
    assert_string_equal(shown(&table, 29), "key30");
    top_table_sort_next(&table, -1);
    assert_int_equal(table.sort, 1);
    table.sort = -1;
    text_add(&table.filter, "KEY2");
    top_table_arrange(&table, 0);
    assert_int_equal(table.shown_count, 11); /* 2, 20 … 29 */
    assert_string_equal(shown(&table, 1), "key20");
    text_add(&table.filter, "x");
    top_table_arrange(&table, 0);
    assert_int_equal(table.shown_count, 0);
    top_table_free(&table);
}

static void rows_are_bounded(void **state)
{
    struct top_table table = new_table();
    (void)state;
    for (int refresh = 0; refresh < 3; refresh++) {
        size_t taken = 0;
        top_table_begin(&table, 0);
        for (uint64_t key = 0; key < 3 * TOP_ROWS_MAX; key++)
            taken += put(&table, key + (uint64_t)refresh * 1000000, 1);
        assert_int_equal(taken, TOP_ROWS_MAX);
        assert_true(table.is_incomplete);
        top_table_end(&table);
        assert_int_equal(table.count, TOP_ROWS_MAX);
    }
    top_table_begin(&table, 0);
    top_table_end(&table);
    assert_int_equal(table.count, 0);
    top_table_free(&table);
}

static void assert_format(enum top_format format, double value, unsigned width, const char *expected)
{
    struct text text = {0};
    top_format(&text, format, value, width);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void figures_as_text(void **state)
{
    (void)state;
    assert_format(TOP_INTEGER, 0, 5, "0");
    assert_format(TOP_INTEGER, -12, 5, "-12");
    assert_format(TOP_INTEGER, 12345, 5, "12345");
    assert_format(TOP_INTEGER, 123456, 5, "123k");
    assert_format(TOP_INTEGER, 1234567, 5, "1.23M");
    assert_format(TOP_INTEGER, -1234567, 5, "-1.23M");
    assert_format(TOP_INTEGER, 9007199254740991, 20, "9007199254740991");
    assert_format(TOP_INTEGER, 18446744073709551615.0, 8, "18.4E");
    assert_format(TOP_INTEGER, 999999, 5, "1.00M");
    assert_format(TOP_RATE, 12.34, 8, "12.3");
    assert_format(TOP_RATE, 12, 8, "12");
    assert_format(TOP_RATE, 1234.5, 8, "1235");
    assert_format(TOP_REAL, 1.5, 8, "1.500");
    assert_format(TOP_REAL, 123456.789, 8, "123456.8");
    assert_format(TOP_PERCENT, 99.95, 6, "100.0%");
}

static void assert_fold(const char *text, const char *expected)
{
    struct text out = {0};
    top_fold(&out, text, " < ");
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}

static void lines_become_one(void **state)
{
    (void)state;
    assert_fold("", "");
    assert_fold("one", "one");
    assert_fold("\n        a+1\n        b+2\n", "a+1 < b+2");
    assert_fold("bash, \n\ta\n\n\tb\n, 3", "bash, < a < b < , 3");
    assert_fold("   \n \n", "");
}

/* ---- percentiles ---- */

static void percentiles_of_hist(void **state)
{
    const struct type type = {.kind = TYPE_AGGREGATION, .aggregation = &aggregation_kind_hist};
    uint64_t counts[128] = {0}, before[128] = {0};
    struct top_bars bars;
    (void)state;
    assert_true(type_rows(&type) <= 128);
    assert_true(histogram_quantile(&type, counts, 0.5) == 0);
    assert_int_equal(histogram_quantile_row(counts, type_rows(&type), 0.5), type_rows(&type));
    for (int64_t value = 1; value <= 1000; value++)
        counts[type.aggregation->row(&type, value)]++;
    const double p50 = histogram_quantile(&type, counts, 0.5), p99 = histogram_quantile(&type, counts, 0.99);
    assert_true(p50 >= 256 && p50 <= 511);
    assert_true(p50 > 495 && p50 < 505); /* evenly spread, as they are taken to be */
    assert_true(p99 > 980 && p99 <= 1023);
    assert_true(histogram_quantile(&type, counts, 1) <= 1023);
    memcpy(before, counts, sizeof before);
    counts[type.aggregation->row(&type, 5)] += 3;
    assert_true(histogram_bars(&type, counts, before, &bars));
    assert_int_equal(bars.total, 1003);
    assert_int_equal(bars.last, 3);
    assert_int_equal(bars.count, 10); /* 1, 2-3 … 512-1023 */
    assert_string_equal(bars.items[0].label, "[1]");
    assert_string_equal(bars.items[2].label, "[4, 8)");
    assert_int_equal(bars.items[2].last, 3);
    assert_int_equal(bars.items[2].total, 7);
    assert_int_equal(bars.marks[0], 8);
    assert_int_equal(bars.marks[3], 9);
    free(bars.items);
    memset(counts, 0, sizeof counts);
    assert_true(histogram_bars(&type, counts, before, &bars));
    assert_int_equal(bars.count, 0);
    free(bars.items);
}

/* ---- the canvas ---- */

static void assert_row(const struct canvas *canvas, unsigned row, const char *expected)
{
    struct text text = {0};
    canvas_row_text(canvas, row, &text);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void text_on_a_canvas(void **state)
{
    struct canvas canvas = {.is_utf8 = true};
    (void)state;
    assert_int_equal(canvas_resize(&canvas, 4, 10), 0);
    assert_int_equal(canvas_put(&canvas, 0, 0, 100, STYLE_PLAIN, "0123456789abc"), 10);
    assert_row(&canvas, 0, "0123456789");
    assert_int_equal(canvas_put(&canvas, 1, 8, 5, STYLE_PLAIN, "abc"), 2);
    assert_row(&canvas, 1, "        ab");
    canvas_put_right(&canvas, 2, 0, 6, STYLE_PLAIN, "abc");
    assert_row(&canvas, 2, "   abc");
    assert_int_equal(canvas_put(&canvas, 9, 0, 5, STYLE_PLAIN, "x"), 0);
    assert_int_equal(canvas_put(&canvas, 0, 10, 5, STYLE_PLAIN, "x"), 0);
    canvas_clear(&canvas);
    /* nothing of what is written commands a terminal */
    canvas_put(&canvas, 0, 0, 10, STYLE_PLAIN,
               "a\x1b[2J\x9b\xff\u202e"
               "b");
    assert_row(&canvas, 0, "a?[2J???b");
    canvas_put(&canvas, 1, 0, 10, STYLE_PLAIN, "one\ntwo");
    assert_row(&canvas, 1, "one");
    canvas.is_utf8 = false;
    canvas_put(&canvas, 2, 0, 10, STYLE_PLAIN, "é€x");
    assert_row(&canvas, 2, "??x");
    canvas_free(&canvas);
}

static void wide_characters(void **state)
{
    struct canvas canvas = {.is_utf8 = true};
    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    assert_int_equal(canvas_resize(&canvas, 1, 5), 0);
    assert_int_equal(canvas_put(&canvas, 0, 0, 5, STYLE_PLAIN, "漢字漢"), 4); /* half of one is none */
    assert_row(&canvas, 0, "漢字");
    canvas_free(&canvas);
}

static void charts(void **state)
{
    struct canvas canvas = {.is_utf8 = false};
    const float values[] = {9, 0, 1, 4, 8};
    (void)state;
    assert_int_equal(canvas_resize(&canvas, 8, 20), 0);
    chart_spark(&canvas, 0, 0, 4, STYLE_BAR, values, 5);
    assert_row(&canvas, 0, " _=#");
    chart_spark(&canvas, 1, 0, 8, STYLE_BAR, values, 5);
    assert_row(&canvas, 1, "   # _=%");
    chart_bar(&canvas, 2, 0, 10, 5, 2, 10);
    assert_row(&canvas, 2, "###++");
    chart_bar(&canvas, 3, 0, 10, 1, 0, 1000000); /* what is there is seen */
    assert_row(&canvas, 3, "#");
    chart_bar(&canvas, 4, 0, 10, 0, 0, 10);
    assert_row(&canvas, 4, "");
    chart_bar(&canvas, 5, 0, 10, 10, 1, 10);
    assert_row(&canvas, 5, "#########+");
    canvas_free(&canvas);
}

static void printed_lines(void **state)
{
    struct top_lines lines = {0};
    char number[16];
    (void)state;
    assert_null(top_lines_last(&lines, lines.count, 0));
    top_lines_add(&lines, "on", 2);
    top_lines_add(&lines, "e\n\ntwo\nthr", 10);
    assert_int_equal(lines.count, 3);
    assert_string_equal(top_lines_last(&lines, lines.count, 0), "thr");
    top_lines_add(&lines, "ee\n", 3);
    assert_int_equal(lines.count, 3);
    assert_string_equal(top_lines_last(&lines, lines.count, 0), "three");
    assert_string_equal(top_lines_last(&lines, lines.count, 2), "one");
    assert_string_equal(top_lines_last(&lines, 2, 0), "two");
    assert_null(top_lines_last(&lines, lines.count, 3));
    for (int i = 0; i < 1000; i++)
        top_lines_add(&lines, number, (size_t)snprintf(number, sizeof number, "%d\n", i));
    assert_string_equal(top_lines_last(&lines, lines.count, 0), "999");
    assert_string_equal(top_lines_last(&lines, lines.count, TOP_LINES - 1), "744");
    assert_null(top_lines_last(&lines, lines.count, TOP_LINES));
    assert_null(top_lines_last(&lines, 10, 0)); /* long gone */
    top_lines_free(&lines);
}

/* ---- the view ---- */

struct scene {
    struct top_table tables[2];
    struct top_lines lines;
    struct top_view view;
};

static void make_scene(struct scene *scene, unsigned rows, unsigned columns_)
{
    memset(scene, 0, sizeof *scene);
    for (int i = 0; i < 2; i++) {
        scene->tables[i] = new_table();
        top_table_begin(&scene->tables[i], 0);
        for (uint64_t key = 1; key <= 40; key++)
            put(&scene->tables[i], key, (double)(i ? key : 100 - key));
        top_table_end(&scene->tables[i]);
        top_table_arrange(&scene->tables[i], 0);
    }
    scene->tables[1].name = "@y";
    scene->view.title = "title";
    scene->view.interval = 1000000000;
    assert_int_equal(top_view_begin(&scene->view, scene->tables, 2, 2, &scene->lines), 0);
    assert_int_equal(canvas_resize(&scene->view.canvas, rows, columns_), 0);
}

static void free_scene(struct scene *scene)
{
    for (int i = 0; i < 2; i++)
        top_table_free(&scene->tables[i]);
    top_lines_free(&scene->lines);
    top_view_free(&scene->view);
}

static bool screen_has(const struct scene *scene, const char *what)
{
    struct text text = {0};
    for (unsigned row = 0; row < scene->view.canvas.rows; row++) {
        canvas_row_text(&scene->view.canvas, row, &text);
        text_char(&text, '\n');
    }
    const bool has = strstr(text_string(&text), what);
    text_free(&text);
    return has;
}

static enum view_request press(struct scene *scene, uint32_t key)
{
    const enum view_request request = top_view_key(&scene->view, key);
    if (request == VIEW_ARRANGE) {
        top_table_arrange(top_view_table(&scene->view), 0);
        top_view_arranged(&scene->view);
    }
    top_view_draw(&scene->view);
    return request;
}

static void keys(void **state)
{
    struct scene scene;
    (void)state;
    make_scene(&scene, 24, 80);
    top_view_draw(&scene.view);
    assert_true(screen_has(&scene, "key1\n"));
    assert_false(screen_has(&scene, "key40\n"));
    press(&scene, VIEW_END);
    assert_true(screen_has(&scene, "key40\n"));
    assert_int_equal(scene.view.positions[0].selected, 39);
    press(&scene, 'S'); /* the selection stays on its row */
    assert_int_equal(scene.view.positions[0].selected, 0);
    press(&scene, VIEW_DOWN);
    assert_int_equal(scene.view.positions[0].selected, 1);
    press(&scene, VIEW_HOME);
    press(&scene, 'S');
    assert_int_equal(scene.view.positions[0].selected, 0); /* the first place is held */
    press(&scene, '2');
    assert_int_equal(scene.view.current, 1);
    assert_true(screen_has(&scene, "key40\n"));
    press(&scene, VIEW_TAB);
    assert_int_equal(scene.view.current, 0);
    press(&scene, '9'); /* there is none */
    assert_int_equal(scene.view.current, 0);
    press(&scene, '/');
    press(&scene, '3');
    press(&scene, '8');
    assert_int_equal(scene.tables[0].shown_count, 1);
    press(&scene, VIEW_BACKSPACE);
    assert_int_equal(scene.tables[0].shown_count, 13);
    press(&scene, VIEW_ENTER);
    press(&scene, 'd');
    assert_int_equal(scene.tables[0].span, TOP_LAST);
    press(&scene, ' ');
    assert_true(scene.view.is_paused && screen_has(&scene, "paused"));
    press(&scene, '?');
    assert_true(screen_has(&scene, "Ctrl-C"));
    press(&scene, VIEW_ESCAPE);
    press(&scene, VIEW_ENTER);
    assert_int_equal(scene.view.mode, VIEW_WHOLE_ROW);
    press(&scene, VIEW_ESCAPE);
    assert_int_equal(scene.view.mode, VIEW_TABLE);
    assert_int_equal(press(&scene, 'w'), VIEW_SAVE);
    assert_int_equal(press(&scene, 'q'), VIEW_QUIT);
    free_scene(&scene);
}

/* Draws at every small size, in every mode. */
static void sizes(void **state)
{
    static const uint32_t modes[] = {'?', VIEW_ESCAPE, VIEW_ENTER};
    struct scene scene;
    (void)state;
    make_scene(&scene, 24, 80);
    top_lines_add(&scene.lines, "printed\n", 8);
    top_view_status(&scene.view, true, "status");
    for (size_t mode = 0; mode < 3; mode++) {
        press(&scene, modes[mode]);
        for (unsigned rows = 0; rows < 40; rows++)
            for (unsigned columns_ = 0; columns_ < 130; columns_ += columns_ < 45 ? 1 : 9) {
                assert_int_equal(canvas_resize(&scene.view.canvas, rows, columns_), 0);
                top_view_draw(&scene.view);
                if (rows && columns_ > 25 && (rows < VIEW_ROWS_MIN || columns_ < VIEW_COLUMNS_MIN))
                    assert_true(screen_has(&scene, "too small"));
            }
    }
    free_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_again),
        cmocka_unit_test(order_and_filter),
        cmocka_unit_test(rows_are_bounded),
        cmocka_unit_test(figures_as_text),
        cmocka_unit_test(lines_become_one),
        cmocka_unit_test(percentiles_of_hist),
        cmocka_unit_test(text_on_a_canvas),
        cmocka_unit_test(wide_characters),
        cmocka_unit_test(charts),
        cmocka_unit_test(printed_lines),
        cmocka_unit_test(keys),
        cmocka_unit_test(sizes),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
