/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over time with a fixed number of instants: when time goes beyond the last one, instants are joined two by two, so
 * that they become twice as long. How long things were there in an instant comes from when they began and ended:
 * (how many were there before) × its length + Σ over beginnings (its end - time) - Σ over ends (its end - time). All
 * of it can be joined exactly. */
#include "export/html/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "export/html/column.h"

/* ---- steps and events ---- */

static void join_series(struct series *series, uint64_t instant)
{
    for (size_t i = 0; i < PAGE_INSTANTS / 2; i++) {
        series->times[i] =
            series->times[2 * i] + series->times[2 * i + 1] + series->counts[2 * i + 1] * (int64_t)instant;
        series->counts[i] = series->counts[2 * i] + series->counts[2 * i + 1];
    }
    memset(series->times + PAGE_INSTANTS / 2, 0, PAGE_INSTANTS / 2 * sizeof *series->times);
    memset(series->counts + PAGE_INSTANTS / 2, 0, PAGE_INSTANTS / 2 * sizeof *series->counts);
}

static void join_counts(uint32_t *counts)
{
    for (size_t i = 0; counts && i < PAGE_INSTANTS / 2; i++)
        counts[i] = counts[2 * i] + counts[2 * i + 1];
    if (counts)
        memset(counts + PAGE_INSTANTS / 2, 0, PAGE_INSTANTS / 2 * sizeof *counts);
}

/* Makes instants so long that there is one for a time. */
static void reach(struct page *page, uint64_t time)
{
    struct sums *sums = &page->sums;
    if (!sums->instant)
        sums->instant = 1;
    for (; time / sums->instant >= PAGE_INSTANTS; sums->instant *= 2) {
        for (size_t i = 0; i < sums->series_count; i++)
            join_series(&sums->series[i].series, sums->instant);
        for (size_t i = 0; i < page->threads.count; i++)
            join_counts(((struct thread *)page->threads.entries[i].value)->counts);
    }
}

static void change(struct series *series, uint64_t instant, uint64_t time, int64_t by)
{
    series->counts[time / instant] += by;
    series->times[time / instant] += by * (int64_t)(time % instant);
}

/* Finds the series of steps of a track; NULL in *result: there are too many. */
static int find_series(struct sums *sums, uint32_t track, uint32_t tracepoint, struct series **result)
{
    const uint32_t key[2] = {track, tracepoint};
    const uintptr_t known = (uintptr_t)table_get(&sums->by_key, key, sizeof key);
    *result = known ? &sums->series[known - 1].series : NULL;
    if (known || sums->series_count >= (track < PAGE_TOTAL ? PAGE_SERIES_MAX : 2 * PAGE_SERIES_MAX))
        return 0;
    struct step_series series = {.track = track, .tracepoint = tracepoint};
    series.series.counts = calloc(PAGE_INSTANTS, sizeof *series.series.counts);
    series.series.times = calloc(PAGE_INSTANTS, sizeof *series.series.times);
    if (!series.series.counts || !series.series.times ||
        !vector_make_room(sums->series, sums->series_count, sums->series_room) ||
        table_set(&sums->by_key, key, sizeof key, (void *)(sums->series_count + 1))) {
        free(series.series.counts);
        free(series.series.times);
        return -ENOMEM;
    }
    sums->series[sums->series_count++] = series;
    *result = &sums->series[sums->series_count - 1].series;
    return 0;
}

static int add_step(struct page *page, uint32_t track, const struct life *life, uint64_t until)
{
    struct series *series;
    const int error = find_series(&page->sums, track, life->last_tracepoint, &series);
    if (error || !series) {
        page->sums.left_out += track < PAGE_TOTAL;
        return error;
    }
    change(series, page->sums.instant, life->last, 1);
    change(series, page->sums.instant, until, -1);
    return 0;
}

int sums_step(struct page *page, const struct life *life, uint64_t until)
{
    reach(page, until);
    const int error = add_step(page, PAGE_TOTAL + (uint32_t)life->living.type, life, until);
    return error ? error : add_step(page, life->track->index, life, until);
}

int sums_event(struct page *page, struct thread *thread, uint64_t time)
{
    reach(page, time);
    if (!thread->counts && thread->index < PAGE_SERIES_MAX &&
        !(thread->counts = calloc(PAGE_INSTANTS, sizeof *thread->counts)))
        return -ENOMEM;
    if (thread->counts)
        thread->counts[time / page->sums.instant]++;
    return 0;
}

/* ---- heat maps ---- */

static uint64_t heat_row(uint64_t latency)
{
    if (latency < 8)
        return latency;
    const unsigned top = 63u - (unsigned)__builtin_clzll(latency);
    const uint64_t row = (top - 2) * 8 + ((latency >> (top - 3)) & 7);
    return row < PAGE_HEAT_ROWS ? row : PAGE_HEAT_ROWS - 1;
}

static void join_heat(uint32_t *cells)
{
    for (size_t column = 0; column < PAGE_HEAT_COLUMNS; column++)
        for (size_t row = 0; row < PAGE_HEAT_ROWS; row++)
            cells[column * PAGE_HEAT_ROWS + row] = column < PAGE_HEAT_COLUMNS / 2
                                                       ? cells[2 * column * PAGE_HEAT_ROWS + row] +
                                                             cells[(2 * column + 1) * PAGE_HEAT_ROWS + row]
                                                       : 0;
}

int sums_latency(struct page *page, int16_t type, int32_t from, int32_t to, uint64_t time, uint64_t latency)
{
    struct sums *sums = &page->sums;
    const int32_t key[3] = {type, from, to};
    if (!sums->column)
        sums->column = 1;
    for (; time / sums->column >= PAGE_HEAT_COLUMNS; sums->column *= 2)
        for (size_t i = 0; i < sums->heat_count; i++)
            join_heat(sums->heats[i].cells);
    uintptr_t known = (uintptr_t)table_get(&sums->heat_by_key, key, sizeof key);
    if (!known) {
        if (sums->heat_count == PAGE_HEATS_MAX)
            return 0;
        uint32_t *cells = calloc(PAGE_HEAT_COLUMNS * PAGE_HEAT_ROWS, sizeof *cells);
        if (!cells || !vector_make_room(sums->heats, sums->heat_count, sums->heat_room) ||
            table_set(&sums->heat_by_key, key, sizeof key, (void *)(sums->heat_count + 1))) {
            free(cells);
            return -ENOMEM;
        }
        sums->heats[sums->heat_count++] = (struct heat){type, from, to, cells};
        known = sums->heat_count;
    }
    sums->heats[known - 1].cells[time / sums->column * PAGE_HEAT_ROWS + heat_row(latency)]++;
    return 0;
}

/* ---- as columns ---- */

/* Writes for each instant how long all steps of the series were in it, ns. */
static void put_series(struct text *out, const struct series *series, uint64_t instant, uint64_t *values)
{
    int64_t there = 0;
    for (size_t i = 0; i < PAGE_INSTANTS; i++) {
        values[i] = (uint64_t)((there + series->counts[i]) * (int64_t)instant - series->times[i]);
        there += series->counts[i];
    }
    code_column(out, values, PAGE_INSTANTS);
}

/* Writes the sums: of each series a column, of each thread one, of each heat map one. Which is which is in the
 * tables. */
int sums_write(struct page *page, struct text *out)
{
    struct sums *sums = &page->sums;
    const size_t cells = PAGE_HEAT_COLUMNS * PAGE_HEAT_ROWS;
    uint64_t *values = calloc(cells > PAGE_INSTANTS ? cells : PAGE_INSTANTS, sizeof *values);
    if (!values)
        return -ENOMEM;
    for (size_t i = 0; i < sums->series_count; i++)
        put_series(&page->bytes, &sums->series[i].series, sums->instant, values);
    for (size_t i = 0; i < page->threads.count; i++) {
        const struct thread *thread = page->threads.entries[i].value;
        for (size_t j = 0; thread->counts && j < PAGE_INSTANTS; j++)
            values[j] = thread->counts[j];
        if (thread->counts)
            code_column(&page->bytes, values, PAGE_INSTANTS);
    }
    for (size_t i = 0; i < sums->heat_count; i++) {
        for (size_t j = 0; j < cells; j++)
            values[j] = sums->heats[i].cells[j];
        code_column(&page->bytes, values, cells);
    }
    free(values);
    return page_write_data(page, out, "sums");
}

void sums_free(struct page *page)
{
    struct sums *sums = &page->sums;
    for (size_t i = 0; i < sums->series_count; i++) {
        free(sums->series[i].series.counts);
        free(sums->series[i].series.times);
    }
    for (size_t i = 0; i < sums->heat_count; i++)
        free(sums->heats[i].cells);
    free(sums->series);
    free(sums->heats);
    table_free(&sums->by_key);
    table_free(&sums->heat_by_key);
}
