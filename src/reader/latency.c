/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/latency.h"
#include "reader/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1 << LATENCY_BITS };

/* Counts a value. Octave 0 has the values 0 to 63 one by one, octave n > 0 those with n + 5 bits behind the first,
 * in 64 steps. */
int latency_add(struct latency *latency, uint64_t value)
{
    const unsigned top = value >> LATENCY_BITS ? 63u - (unsigned)__builtin_clzll(value) : LATENCY_BITS - 1;
    const unsigned octave = top - (LATENCY_BITS - 1);
    const unsigned row = octave ? (unsigned)(value >> (top - LATENCY_BITS)) & (ROWS - 1) : (unsigned)value;
    if (!latency->octaves[octave] && !(latency->octaves[octave] = calloc(ROWS, sizeof(uint64_t))))
        return -ENOMEM;
    latency->octaves[octave][row]++;
    latency->count++;
    latency->sum += value;
    if (value > latency->largest)
        latency->largest = value;
    return 0;
}

uint64_t latency_quantile(const struct latency *latency, double fraction)
{
    const double wanted = fraction * (double)latency->count;
    uint64_t seen = 0;
    for (unsigned octave = 0; octave < LATENCY_OCTAVES; octave++)
        for (unsigned row = 0; latency->octaves[octave] && row < ROWS; row++) {
            seen += latency->octaves[octave][row];
            if (!latency->octaves[octave][row] || (double)seen < wanted)
                continue;
            if (!octave)
                return row;
            const unsigned shift = octave - 1;
            const uint64_t low = ((uint64_t)ROWS + row) << shift, middle = low + ((uint64_t)1 << shift) / 2;
            return middle < latency->largest ? middle : latency->largest;
        }
    return latency->largest;
}

void latency_clear(struct latency *latency)
{
    for (unsigned i = 0; i < LATENCY_OCTAVES; i++)
        free(latency->octaves[i]);
    *latency = (struct latency){0};
}

int latency_table_make(struct latency_table *table, const struct recording *recording)
{
    *table = (struct latency_table){
        .recording = recording,
        .model = recording_model(recording),
        .timeline = &recording->timeline,
        .first = UINT64_MAX,
    };
    table->counts = calloc(65536, sizeof *table->counts);
    table->pairs = calloc(65536, sizeof *table->pairs);
    table->lives = calloc(256, sizeof *table->lives);
    return table->counts && table->pairs && table->lives ? 0 : -ENOMEM;
}

void latency_table_set_apart(struct latency_table *table)
{
    table->own_timeline = table->recording->timeline; /* its points do not change any more */
    table->timeline = &table->own_timeline;
}

static void free_chain(struct latency_pair *pair)
{
    while (pair) {
        struct latency_pair *next = pair->next;
        latency_clear(&pair->latency);
        free(pair);
        pair = next;
    }
}

void latency_table_free(struct latency_table *table)
{
    for (size_t i = 0; table->pairs && i < 65536; i++)
        free_chain(table->pairs[i]);
    for (size_t i = 0; table->lives && i < 256; i++)
        free_chain(table->lives[i]);
    free(table->counts);
    free(table->pairs);
    free(table->lives);
    *table = (struct latency_table){0};
}

static int add_pair(struct latency_table *table, struct latency_pair **chain, int16_t object,
                    const struct recording_tracepoint *from, const struct recording_tracepoint *to,
                    uint64_t value)
{
    struct latency_pair *pair = *chain;
    while (pair && (pair->from != from || pair->object != object))
        pair = pair->next;
    if (!pair) {
        if (table->pair_count == LATENCY_PAIRS_MAX) {
            table->left_out++;
            return 0;
        }
        if (!(pair = calloc(1, sizeof *pair)))
            return -ENOMEM;
        pair->object = object;
        pair->from = from;
        pair->to = to;
        pair->next = *chain;
        *chain = pair;
        table->pair_count++;
    }
    return latency_add(&pair->latency, value);
}

/* Returns the time between two stamps as a listing shows it: the difference of two times, each rounded to the
 * nanosecond. */
static uint64_t time_between(const struct latency_table *table, uint64_t from, uint64_t to)
{
    return to > from ? timeline_time(table->timeline, to) - timeline_time(table->timeline, from) : 0;
}

static int add_life(struct latency_table *table, const struct object *object)
{
    if (object->number == OBJECT_UNNUMBERED)
        return 0;
    return add_pair(table, &table->lives[object->type], object->type, NULL, NULL,
                    time_between(table, object->begun, object->last));
}

/* recording_has_explicit_ends(), which is asked once for each type unless more can be declared. */
static bool has_explicit_ends(struct latency_table *table, int16_t type)
{
    enum { UNKNOWN, NO, YES };
    uint8_t *known = &table->explicit_ends[type];
    if (*known == UNKNOWN || recording_is_live(table->recording))
        *known = recording_has_explicit_ends(table->model, type) ? YES : NO;
    return *known == YES;
}

int latency_table_add(struct latency_table *table, const struct recording_event *event,
                      const struct object_step *step)
{
    const struct recording_tracepoint *tracepoint = event->tracepoint;
    int error = 0;
    table->events++;
    table->counts[tracepoint->id & 0xffff]++;
    if (event->stamp < table->first)
        table->first = event->stamp;
    if (event->stamp > table->last)
        table->last = event->stamp;
    if (table->timeline == &table->own_timeline)
        timeline_expect(&table->own_timeline, event->stamp);
    if (step->own->type < 0)
        return 0;
    if (step->before && step->before_tracepoint < table->model->tracepoint_room)
        error = add_pair(table, &table->pairs[tracepoint->id & 0xffff], step->own->type,
                         table->model->tracepoints[step->before_tracepoint], tracepoint,
                         time_between(table, step->before, event->stamp));
    if (!error && tracepoint->life == RECORDING_ENDS)
        error = add_life(table, step->own);
    if (!error && step->ended.type >= 0 && !has_explicit_ends(table, step->ended.type))
        error = add_life(table, &step->ended);
    return error;
}

struct finish {
    struct latency_table *table;
    int error;
};

static void see_living(void *context, const struct object *object)
{
    struct finish *finish = context;
    if (!finish->error && object->last > object->begun && !has_explicit_ends(finish->table, object->type))
        finish->error = add_life(finish->table, object);
}

int latency_table_finish(struct latency_table *table, const struct objects *objects)
{
    struct finish finish = {table, 0};
    objects_each(objects, see_living, &finish);
    return finish.error;
}
