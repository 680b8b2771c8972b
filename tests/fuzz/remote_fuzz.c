/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as a map that a host of --on sends, twice, and what becomes of it, also on a page and in a picture; and as what --on asks a host. */
#include <stdlib.h>
#include <string.h>

#include "builtin/all.h"
#include "chart/chart.h"
#include "history/history.h"
#include "remote/merge.h"
#include "remote/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print(void *state, const char *bytes, size_t length)
{
    *(size_t *)state += strnlen(bytes, length);
}

static void warn(void *state, const char *text)
{
    *(size_t *)state += strlen(text);
}

static void look_at_request(const uint8_t *data, size_t size)
{
    struct cursor payload = cursor_over(data, size);
    struct remote_request request;
    remote_take_request(&payload, &request);
    free((void *)request.words);
    free((void *)request.names);
}

static void draw(const struct chart *chart, struct history *history)
{
    struct text drawn = {0};
    if (chart_draw(chart, "a", &drawn) || history_write(history, &drawn))
        abort();
    text_free(&drawn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const hosts[] = {"a", "b"};
    size_t printed = 0;
    if (!size)
        return 0;
    struct chart chart;
    struct history history;
    chart_begin(&chart);
    history_begin(&history, "a", data[0] & 2);
    chart.watcher.next = &history.watcher;
    const struct merge_options options = {.hosts = hosts,
                                          .host_count = 2,
                                          .builtins = &builtin_table,
                                          .per_host = data[0] & 1,
                                          .json = data[0] & 2,
                                          .is_terminal = data[0] & 4,
                                          .watcher = &chart.watcher,
                                          .observer = &history.observer,
                                          .print = print,
                                          .warn = warn,
                                          .state = &printed};
    struct merge *merge = merge_new(&options);
    if (!merge)
        abort();
    const int first = merge_map(merge, 0, cursor_over(data + 1, size - 1), 0);
    if (merge_map(merge, 1, cursor_over(data + 1, size - 1), 0) != first)
        abort();
    merge_over(merge, 0);
    merge_over(merge, 1);
    merge_finish(merge);
    draw(&chart, &history);
    merge_free(merge);
    chart_free(&chart);
    history_free(&history);
    look_at_request(data + 1, size - 1);
    return 0;
}
