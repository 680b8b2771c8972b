/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/table.h"
#include "base/terminal.h"

enum { TABLE_TRACEPOINTS, TABLE_OWNERS, TABLE_THREADS, MODEL_IDS = 65536, MODEL_TYPES = 256 };
_Static_assert(TABLE_THREADS + 1 == TOP_RECORDING_TABLES, "all of them");

struct tally { /* an owner, or a thread */
    uint64_t count, last;
    char *label;
};

struct tallies {
    struct table by_key;
    size_t key_bytes;
    uint64_t left_out; /* events of those for which there was no room */
};

struct top_recording {
    const struct recording *recording;
    /* Of everything, and of what came between the last two refreshes; `next`: what came since. */
    struct latency_table spans[TOP_SPANS], next;
    struct tallies tallies[TOP_RECORDING_TABLES]; /* of tracepoints: unused */
    struct top_table tables[TOP_RECORDING_TABLES_MAX];
    struct text names[TOP_RECORDING_TABLES_MAX];
    size_t count;
    double seconds; /* of the last refresh: what rates are divided by */
};

/* ---- columns ---- */

static const struct top_column columns_count[] = {
    {"COUNT", TOP_INTEGER, 12}, {"PER SEC", TOP_RATE, 10}, {"SHARE", TOP_PERCENT, 6}};
static const struct top_column columns_steps[] = {
    {"COUNT", TOP_INTEGER, 8}, {"PER SEC", TOP_RATE, 7}, {"TIME", TOP_PERCENT, 6},
    {"MEAN us", TOP_REAL, 8},  {"P50", TOP_REAL, 8},     {"P90", TOP_REAL, 8},
    {"P99", TOP_REAL, 8},      {"P99.9", TOP_REAL, 8},   {"MAX", TOP_REAL, 9}};
enum { COUNT_TOTAL, COUNT_RATE, COUNT_SHARE };
enum { STEP_COUNT, STEP_RATE, STEP_TIME, STEP_MEAN, STEP_P50, STEP_P90, STEP_P99, STEP_P999, STEP_MAX };

/* ---- labels: what tracepoints, owners and threads are called is the program's own ---- */

struct step_key {      /* of a row of an object's type */
    uint64_t from, to; /* ids of tracepoints; MODEL_IDS: the whole life */
};

static struct top_recording *recording_of(const struct top_table *table)
{
    return table->state;
}

static const struct recording_tracepoint *tracepoint_of(const struct top_recording *top, uint64_t id)
{
    const struct recording_model *model = recording_model(top->recording);
    return id < model->tracepoint_room ? model->tracepoints[id] : NULL;
}

static uint64_t key_of(const struct top_row *row)
{
    uint64_t key;
    memcpy(&key, row->bytes, sizeof key);
    return key;
}

static void write_tracepoint(const struct top_table *table, const struct top_row *row, struct text *out)
{
    const struct recording_tracepoint *of = tracepoint_of(recording_of(table), key_of(row));
    if (of)
        terminal_print(out, "%s:%s", of->group->name, of->name);
}

static void write_step(const struct top_table *table, const struct top_row *row, struct text *out)
{
    struct step_key key;
    memcpy(&key, row->bytes, sizeof key);
    const struct recording_tracepoint *from = tracepoint_of(recording_of(table), key.from),
                                      *to = tracepoint_of(recording_of(table), key.to);
    if (from && to)
        terminal_print(out, "%s -> %s", from->name, to->name);
    else
        text_add(out, "whole life");
}

static void write_tally(const struct top_table *table, const struct top_row *row, struct text *out)
{
    const struct top_recording *top = recording_of(table);
    const struct tally *tally =
        table_get(&top->tallies[table - top->tables].by_key, row->bytes, table->key_bytes);
    text_add(out, tally && tally->label ? tally->label : "?");
}

static int compare_bytes(const struct top_table *table, const struct top_row *a, const struct top_row *b)
{
    for (size_t at = 0; at < table->key_bytes; at += sizeof(uint64_t)) {
        uint64_t x, y;
        memcpy(&x, a->bytes + at, sizeof x);
        memcpy(&y, b->bytes + at, sizeof y);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

/* ---- distributions ---- */

static const struct latency *latency_of(const struct top_table *table, const struct top_row *row,
                                        enum top_span span)
{
    const struct top_recording *top = recording_of(table);
    const struct latency_table *latencies = &top->spans[span];
    const int16_t type = (int16_t)(table - top->tables - TOP_RECORDING_TABLES);
    struct step_key key;
    memcpy(&key, row->bytes, sizeof key);
    const struct latency_pair *pair = key.to < MODEL_IDS ? latencies->pairs[key.to] : latencies->lives[type];
    while (pair && (pair->object != type || (pair->from ? pair->from->id : MODEL_IDS) != key.from))
        pair = pair->next;
    return pair ? &pair->latency : NULL;
}

static uint64_t octave_count(const struct latency *latency, unsigned octave)
{
    uint64_t count = 0;
    for (unsigned i = 0; latency && latency->octaves[octave] && i < 1 << LATENCY_BITS; i++)
        count += latency->octaves[octave][i];
    return count;
}

/* Writes a time in the unit that fits: "64ns", "2.05us". */
static void write_time(struct text *out, uint64_t ns)
{
    static const char *const units[] = {"us", "ms", "s"};
    double time = (double)ns / 1000;
    size_t unit = 0;
    if (ns < 1000) {
        text_printf(out, "%" PRIu64 "ns", ns);
        return;
    }
    for (; time >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++)
        time /= 1000;
    text_printf(out, "%.*f%s", time < 10 ? 2 : time < 100 ? 1 : 0, time, units[unit]);
}

/* The values of an octave begin here. */
static uint64_t octave_low(unsigned octave)
{
    return octave ? UINT64_C(1) << (octave + LATENCY_BITS - 1) : 0;
}

static void fill_bar(struct top_bar *bar, const struct latency *total, const struct latency *last,
                     unsigned octave)
{
    struct text label = {0};
    text_char(&label, '[');
    write_time(&label, octave_low(octave));
    text_add(&label, ", ");
    write_time(&label, octave + 1 < LATENCY_OCTAVES ? octave_low(octave + 1) : UINT64_MAX);
    text_char(&label, ')');
    snprintf(bar->label, sizeof bar->label, "%s", text_string(&label));
    text_free(&label);
    bar->total = octave_count(total, octave);
    bar->last = octave_count(last, octave);
}

static const double shares[TOP_QUANTILES] = {0.5, 0.9, 0.99, 0.999};

static bool make_bars(const struct top_table *table, const struct top_row *row, struct top_bars *bars)
{
    const struct latency *total = latency_of(table, row, TOP_TOTAL), *last = latency_of(table, row, TOP_LAST);
    unsigned first = 0, end = LATENCY_OCTAVES;
    if (!total || !total->count)
        return false;
    while (first < end && !octave_count(total, first))
        first++;
    while (end > first && !octave_count(total, end - 1))
        end--;
    *bars = (struct top_bars){.count = end - first, .items = calloc(end - first + 1, sizeof *bars->items)};
    if (!bars->items)
        return false;
    for (unsigned octave = first; octave < end; octave++)
        fill_bar(&bars->items[octave - first], total, last, octave);
    bars->total = total->count;
    bars->last = last ? last->count : 0;
    for (int i = 0; i < TOP_QUANTILES; i++) {
        const uint64_t value = latency_quantile(total, shares[i]);
        bars->quantiles[TOP_TOTAL][i] = bars->before[i] = (double)value / NSEC_PER_USEC;
        if (last && last->count)
            bars->quantiles[TOP_LAST][i] = (double)latency_quantile(last, shares[i]) / NSEC_PER_USEC;
        while (bars->marks[i] + 1 < bars->count && octave_low(first + (unsigned)bars->marks[i] + 1) <= value)
            bars->marks[i]++;
    }
    return true;
}

static const struct top_table_source tracepoint_source = {write_tracepoint, compare_bytes, NULL, NULL};
static const struct top_table_source tally_source = {write_tally, compare_bytes, NULL, NULL};
static const struct top_table_source step_source = {write_step, compare_bytes, make_bars, NULL};

/* ---- counting ---- */

static struct tally *tally_of(struct tallies *tallies, const void *key)
{
    struct tally *tally = table_get(&tallies->by_key, key, tallies->key_bytes);
    if (tally)
        return tally;
    if (tallies->by_key.count >= TOP_ROWS_MAX || !(tally = calloc(1, sizeof *tally))) {
        tallies->left_out++;
        return NULL;
    }
    if (table_set(&tallies->by_key, key, tallies->key_bytes, tally)) {
        free(tally);
        return NULL;
    }
    return tally;
}

static void count_tally(struct tally *tally)
{
    tally->count++;
    tally->last++;
}

static void keep_label(struct tally *tally, struct text *label)
{
    tally->label = label->failed ? NULL : strdup(text_string(label));
    text_free(label);
}

static void count_owner(struct top_recording *top, const struct recording_event *event)
{
    const uint64_t key[] = {(uint64_t)event->tracepoint->owner, event->owner};
    struct recording_owner owner;
    struct tally *tally;
    if (!event->owner || !(tally = tally_of(&top->tallies[TABLE_OWNERS], key)))
        return;
    if (!tally->label) {
        struct text label = {0};
        const bool is_known = recording_owner(top->recording, event, &owner);
        if (is_known && owner.letter)
            text_char(&label, owner.letter);
        text_printf(&label, "%" PRIu32, event->owner);
        if (is_known && owner.description_length) {
            text_char(&label, ' ');
            terminal_escape(&label, owner.description, owner.description_length, TERMINAL_NAME);
        }
        keep_label(tally, &label);
    }
    count_tally(tally);
}

static void count_thread(struct top_recording *top, const struct recording_event *event)
{
    const uint64_t key[] = {event->thread, 0};
    struct tally *tally = tally_of(&top->tallies[TABLE_THREADS], key);
    if (!tally)
        return;
    if (!tally->label) {
        struct text label = {0};
        text_printf(&label, "%" PRIu32, event->thread);
        if (event->thread_name[0]) {
            text_char(&label, ' ');
            terminal_escape(&label, event->thread_name, strnlen(event->thread_name, RECORDING_NAME),
                            TERMINAL_NAME);
        }
        keep_label(tally, &label);
    }
    count_tally(tally);
}

int top_recording_add(struct top_recording *top, const struct recording_event *event,
                      const struct object_step *step)
{
    count_owner(top, event);
    count_thread(top, event);
    const int error = latency_table_add(&top->spans[TOP_TOTAL], event, step);
    return error ? error : latency_table_add(&top->next, event, step);
}

static void forget_chain(struct latency_pair *pair)
{
    for (; pair; pair = pair->next)
        latency_clear(&pair->latency);
}

static void forget(struct latency_table *latencies)
{
    memset(latencies->counts, 0, MODEL_IDS * sizeof *latencies->counts);
    for (size_t i = 0; i < MODEL_IDS; i++)
        forget_chain(latencies->pairs[i]);
    for (size_t i = 0; i < MODEL_TYPES; i++)
        forget_chain(latencies->lives[i]);
}

void top_recording_forget_last(struct top_recording *top)
{
    forget(&top->next);
    for (int table = TABLE_OWNERS; table < TOP_RECORDING_TABLES; table++)
        for (size_t i = 0; i < top->tallies[table].by_key.count; i++)
            ((struct tally *)top->tallies[table].by_key.entries[i].value)->last = 0;
}

/* ---- rows ---- */

static double rate_of(const struct top_recording *top, const struct top_table *table, uint64_t total,
                      uint64_t last)
{
    const double seconds = top->seconds > 0 ? top->seconds : top_table_seconds(table);
    return seconds > 0 ? (double)(top->seconds > 0 ? total : last) / seconds : 0;
}

static void put_count(struct top_recording *top, struct top_table *table, const void *key, uint64_t total,
                      uint64_t last)
{
    struct top_row *row = total ? top_table_row(table, key) : NULL;
    if (!row)
        return;
    const double rate = rate_of(top, table, total, last);
    row->figures[TOP_TOTAL][COUNT_TOTAL] = (double)total;
    row->figures[TOP_LAST][COUNT_TOTAL] = (double)last;
    row->figures[TOP_TOTAL][COUNT_RATE] = row->figures[TOP_LAST][COUNT_RATE] = rate;
    top_row_push(row, rate);
}

static void refresh_tracepoints(struct top_recording *top, uint64_t now)
{
    struct top_table *table = &top->tables[TABLE_TRACEPOINTS];
    top_table_begin(table, now);
    for (uint64_t id = 0; id < MODEL_IDS; id++)
        put_count(top, table, &id, top->spans[TOP_TOTAL].counts[id], top->spans[TOP_LAST].counts[id]);
    top_table_end(table);
    top_table_shares(table, COUNT_TOTAL, COUNT_SHARE);
}

static void refresh_tallies(struct top_recording *top, uint64_t now, int which)
{
    struct top_table *table = &top->tables[which];
    const struct table *tallies = &top->tallies[which].by_key;
    top_table_begin(table, now);
    for (size_t i = 0; i < tallies->count; i++) {
        const struct tally *tally = tallies->entries[i].value;
        put_count(top, table, tallies->entries[i].key, tally->count, tally->last);
    }
    top_table_end(table);
    top_table_shares(table, COUNT_TOTAL, COUNT_SHARE);
}

static void set_step(double *figures, const struct latency *latency)
{
    static const int columns[TOP_QUANTILES] = {STEP_P50, STEP_P90, STEP_P99, STEP_P999};
    memset(figures, 0, TOP_FIGURES * sizeof *figures);
    if (!latency || !latency->count)
        return;
    figures[STEP_COUNT] = (double)latency->count;
    figures[STEP_TIME] = (double)latency->sum;
    figures[STEP_MEAN] = (double)latency->sum / (double)latency->count / NSEC_PER_USEC;
    for (int i = 0; i < TOP_QUANTILES; i++)
        figures[columns[i]] = (double)latency_quantile(latency, shares[i]) / NSEC_PER_USEC;
    figures[STEP_MAX] = (double)latency->largest / NSEC_PER_USEC;
}

static void put_step(struct top_recording *top, struct top_table *table, const struct latency_pair *pair)
{
    const struct step_key key = {pair->from ? pair->from->id : MODEL_IDS,
                                 pair->to ? pair->to->id : MODEL_IDS};
    struct top_row *row = pair->latency.count ? top_table_row(table, &key) : NULL;
    if (!row)
        return;
    const struct latency *last = latency_of(table, row, TOP_LAST);
    set_step(row->figures[TOP_TOTAL], &pair->latency);
    set_step(row->figures[TOP_LAST], last);
    row->figures[TOP_TOTAL][STEP_RATE] = row->figures[TOP_LAST][STEP_RATE] =
        rate_of(top, table, pair->latency.count, last ? last->count : 0);
    top_row_push(row, row->figures[TOP_LAST][STEP_MEAN]);
}

/* A step's share of the time that all steps took; that of the whole life is 100 %. */
static void set_time_shares(struct top_table *table)
{
    for (int span = 0; span < TOP_SPANS; span++) {
        double total = 0;
        for (size_t i = 0; i < table->count; i++)
            total += key_of(table->rows[i]) < MODEL_IDS ? table->rows[i]->figures[span][STEP_TIME] : 0;
        for (size_t i = 0; i < table->count; i++) {
            double *time = &table->rows[i]->figures[span][STEP_TIME];
            *time = key_of(table->rows[i]) == MODEL_IDS ? (*time > 0 ? 100 : 0)
                    : total > 0                         ? *time * 100 / total
                                                        : 0;
        }
    }
}

static void refresh_steps(struct top_recording *top, uint64_t now)
{
    const struct latency_table *total = &top->spans[TOP_TOTAL];
    for (size_t i = TOP_RECORDING_TABLES; i < top->count; i++)
        top_table_begin(&top->tables[i], now);
    for (size_t id = 0; id < MODEL_IDS; id++)
        for (const struct latency_pair *pair = total->pairs[id]; pair; pair = pair->next)
            if (pair->object >= 0 && TOP_RECORDING_TABLES + (size_t)pair->object < top->count)
                put_step(top, &top->tables[TOP_RECORDING_TABLES + pair->object], pair);
    for (size_t i = TOP_RECORDING_TABLES; i < top->count; i++) {
        for (const struct latency_pair *pair = total->lives[i - TOP_RECORDING_TABLES]; pair;
             pair = pair->next)
            put_step(top, &top->tables[i], pair);
        top_table_end(&top->tables[i]);
        set_time_shares(&top->tables[i]);
    }
}

/* ---- tables ---- */

static void add_table(struct top_recording *top, const char *key_title, bool has_steps,
                      const struct top_table_source *source, size_t key_bytes)
{
    top->tables[top->count] = (struct top_table){
        .name = text_string(&top->names[top->count]),
        .key_title = key_title,
        .history_title = has_steps ? "MEAN" : "RATE",
        .has_bars = has_steps,
        .columns = has_steps ? columns_steps : columns_count,
        .column_count = has_steps ? sizeof columns_steps / sizeof *columns_steps
                                  : sizeof columns_count / sizeof *columns_count,
        .key_bytes = key_bytes,
        .source = source,
        .state = top,
        .sort = has_steps ? -1 : 0,
    };
    top->count++;
}

/* Programs may declare types of objects while they run. */
static void add_types(struct top_recording *top)
{
    const struct recording_model *model = recording_model(top->recording);
    for (size_t type = top->count - TOP_RECORDING_TABLES;
         type < model->object_count && top->count < TOP_RECORDING_TABLES_MAX; type++) {
        terminal_print(&top->names[top->count], model->objects[type].name[0] ? "%c %s" : "%c",
                       model->objects[type].letter, model->objects[type].name);
        add_table(top, "STEP", true, &step_source, sizeof(struct step_key));
    }
}

int top_recording_make(const struct recording *recording, struct top_recording **result)
{
    static const char *const names[] = {"tracepoints", "owners", "threads"};
    struct top_recording *top = *result = calloc(1, sizeof *top);
    if (!top)
        return -ENOMEM;
    top->recording = recording;
    for (int span = 0; span < TOP_SPANS; span++)
        if (latency_table_make(&top->spans[span], recording))
            return -ENOMEM;
    if (latency_table_make(&top->next, recording))
        return -ENOMEM;
    for (int i = 0; i < TOP_RECORDING_TABLES; i++) {
        text_add(&top->names[i], names[i]);
        top->tallies[i].key_bytes = 2 * sizeof(uint64_t);
        add_table(top,
                  i == TABLE_TRACEPOINTS ? "TRACEPOINT"
                  : i == TABLE_OWNERS    ? "OWNER"
                                         : "THREAD",
                  false, i == TABLE_TRACEPOINTS ? &tracepoint_source : &tally_source,
                  i == TABLE_TRACEPOINTS ? sizeof(uint64_t) : 2 * sizeof(uint64_t));
    }
    add_types(top);
    return 0;
}

void top_recording_free(struct top_recording *top)
{
    if (!top)
        return;
    for (size_t i = 0; i < top->count; i++)
        top_table_free(&top->tables[i]);
    for (size_t i = 0; i < TOP_RECORDING_TABLES_MAX; i++)
        text_free(&top->names[i]);
    for (int i = 0; i < TOP_RECORDING_TABLES; i++) {
        for (size_t k = 0; k < top->tallies[i].by_key.count; k++) {
            struct tally *tally = top->tallies[i].by_key.entries[k].value;
            free(tally->label);
            free(tally);
        }
        table_free(&top->tallies[i].by_key);
    }
    for (int span = 0; span < TOP_SPANS; span++)
        latency_table_free(&top->spans[span]);
    latency_table_free(&top->next);
    free(top);
}

void top_recording_refresh(struct top_recording *top, uint64_t now, double seconds)
{
    const struct latency_table last = top->spans[TOP_LAST];
    top->spans[TOP_LAST] = top->next;
    top->next = last;
    forget(&top->next);
    top->seconds = seconds;
    add_types(top);
    refresh_tracepoints(top, now);
    refresh_tallies(top, now, TABLE_OWNERS);
    refresh_tallies(top, now, TABLE_THREADS);
    refresh_steps(top, now);
    top_recording_forget_last(top);
}

struct top_table *top_recording_tables(const struct top_recording *top, size_t *count)
{
    *count = top->count;
    return (struct top_table *)top->tables;
}

struct latency_table *top_recording_latencies(struct top_recording *top)
{
    return &top->spans[TOP_TOTAL];
}
