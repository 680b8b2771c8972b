/* SPDX-License-Identifier: BSD-3-Clause */
#include "export/html/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/html/column.h"
/* page_head and page_tail: see tools/embed */
#include "page.inc"

static void put_parts(struct text *out, const char *const *parts)
{
    for (; *parts; parts++)
        text_add(out, *parts);
}

static int begin(struct export *export)
{
    struct page *page = calloc(1, sizeof *page);
    if (!page)
        return -ENOMEM;
    export->state = page;
    page->recording = export->recording;
    page->model = recording_model(export->recording);
    page->start = recording_start(export->recording);
    page->first = UINT64_MAX;
    for (size_t i = 0; i < page->model->object_count; i++)
        page->has_ends[i] = recording_has_explicit_ends(page->model, (int16_t)i);
    const int error = latency_table_make(&page->latency, page->recording);
    if (!error)
        put_parts(&export->out, page_head);
    return error;
}

/* Returns a time since the start. Numbers of the page's script are whole up to 2^53 ns, 104 days: what is later is at
 * their end. */
static uint64_t since_start(struct page *page, uint64_t time)
{
    const uint64_t most = (1ull << 53) - 1;
    time = time > page->start ? time - page->start : 0;
    time = time < most ? time : most;
    if (time > page->last)
        page->last = time;
    if (page->last < page->first)
        page->first = page->last;
    return page->last;
}

static int event(struct export *export, const struct export_event *at)
{
    struct page *page = export->state;
    const uint64_t time = since_start(page, at->time);
    struct thread *thread = page_thread(page, at->event);
    const int64_t owner = page_owner(page, at->event);
    struct life *life;
    if (!thread || owner < 0)
        return -ENOMEM;
    int error = 0;
    if (chunk_is_full(page))
        error = chunk_write(page, &export->out);
    if (!error)
        error = page_follow(page, at, time, (uint32_t)owner, &life);
    if (!error)
        error = sums_event(page, thread, time);
    if (!error)
        error = latency_table_add(&page->latency, at->event, at->step);
    if (!error)
        error = chunk_add(page, at, time, thread, (uint32_t)owner, life);
    if (!error)
        error = page_followed(page, at, life);
    if (!error)
        error = chunk_write_crossing(page, &export->out, PAGE_CHUNK);
    page->events++;
    return error;
}

static int write_lines(struct page *page, struct text *out, size_t much)
{
    enum { BYTES = 1 << 20 };
    const size_t count = page->line_times.count;
    if (!count || (count < much && page->line_bytes.length < BYTES))
        return 0;
    code_number(&page->bytes, count);
    code_column(&page->bytes, page->line_times.values, count);
    code_column(&page->bytes, page->line_lengths.values, count);
    text_append(&page->bytes, text_string(&page->line_bytes), page->line_bytes.length);
    page->bytes.failed |= page->line_bytes.failed;
    page->line_times.count = page->line_lengths.count = 0;
    text_clear(&page->line_bytes);
    return page_write_data(page, out, "lines");
}

static int line(struct export *export, const struct json_line *line)
{
    struct page *page = export->state;
    const uint64_t time = since_start(page, line->time);
    const char *bytes = line->text ? line->text : line->json;
    const size_t length = line->text ? line->text_length : line->length;
    text_append(&page->line_bytes, bytes, length);
    page->lines++;
    if (!numbers_add(&page->line_times, time) || !numbers_add(&page->line_lengths, length))
        return -ENOMEM;
    return write_lines(page, &export->out, PAGE_LINES);
}

static int end(struct export *export)
{
    struct page *page = export->state;
    struct text *out = &export->out;
    int error = page_end_lives(page);
    if (!error)
        error = chunk_write(page, out);
    if (!error)
        error = chunk_write_crossing(page, out, 1);
    if (!error)
        error = write_lines(page, out, 1);
    if (!error)
        error = latency_table_finish(&page->latency, export->objects);
    if (!error)
        error = sums_write(page, out);
    if (error)
        return error;
    page_write_tables(page, out, export);
    put_parts(out, page_tail);
    return out->failed ? -ENOMEM : 0;
}

static void release(struct export *export)
{
    struct page *page = export->state;
    if (!page)
        return;
    living_free(&page->living);
    chunk_free(page);
    sums_free(page);
    page_places_free(page);
    latency_table_free(&page->latency);
    text_free(&page->compressed);
    free(page->line_times.values);
    free(page->line_lengths.values);
    text_free(&page->line_bytes);
    text_free(&page->bytes);
    for (size_t i = 0; i < 256; i++)
        free(page->slowest[i]);
    free(page);
}

const struct export_format export_html = {
    "html", "a browser shows it", false, true, begin, event, line, end, release, NULL, false};
