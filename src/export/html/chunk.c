/* SPDX-License-Identifier: BSD-3-Clause */
/* A chunk: numbers (column.h), in this order.
 *
 *     events, objects, and the time of the first event
 *     columns of the events   time since the one before, tracepoint, thread, owner + 1 or 0 (that of the object's track,
 *                             nobody's without an object), object + 1 or 0, size
 *     lost                    how many pairs; a column of them: index of the event, how many are missing before it
 *     objects                 columns: serial, track, lane, number + 1 or 0, id, and how long before the first event of
 *                             the chunk it began, + 1; 0: with its first event in the chunk
 *     relations               of each event whose tracepoint has relations: a mask of those that are of a known
 *                             object; of each bit: the object + 1. Both with their count before the column
 *     arguments               of each tracepoint with events in the chunk: its index + 1, how many events, and a column
 *                             for each argument. Of a string it is 0 (a null pointer) or 1 + 2 × its bytes + (1 if it
 *                             was cut), and behind the column come the bytes of all strings. 0 ends them
 *
 * Objects are numbered within the chunk, in the order in which they began: what is known of them is short then. A step, from an event of an
 * object to its next, is in the chunk that has both; one that goes on from a chunk into another is in a part of its own,
 * "crossing", which is read before anything is drawn. */
#include "export/html/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "export/html/column.h"

static struct numbers *const *chunk_columns(struct chunk *chunk, struct numbers *columns[static 14])
{
    struct numbers *const all[] = {&chunk->times,   &chunk->tracepoints,
                                   &chunk->threads, &chunk->owners,
                                   &chunk->objects, &chunk->sizes,
                                   &chunk->lost,    &chunk->serials,
                                   &chunk->tracks,  &chunk->lanes,
                                   &chunk->numbers, &chunk->ids,
                                   &chunk->begins,  NULL};
    memcpy(columns, all, sizeof all);
    return columns;
}

static int add_all(struct numbers *const *columns, const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!numbers_add(columns[i], values[i]))
            return -ENOMEM;
    return 0;
}

/* Gives an object a number in this chunk. Returns 0 or -errno. */
static int add_object(struct chunk *chunk, struct life *life)
{
    const bool is_older = life->chunk != UINT64_MAX; /* a new one is added with its first event */
    if (life->chunk == chunk->number)
        return 0;
    struct numbers *const columns[] = {&chunk->serials, &chunk->tracks, &chunk->lanes,
                                       &chunk->numbers, &chunk->ids,    &chunk->begins};
    const uint64_t values[] = {life->serial,    life->track->index,
                               life->lane,      life->number + 1,
                               life->living.id, is_older ? chunk->begun - life->begun + 1 : 0};
    life->chunk = chunk->number;
    life->local = chunk->serials.count;
    return add_all(columns, values, sizeof values / sizeof values[0]);
}

/* ---- an event ---- */

static int add_relations(struct page *page, const struct export_event *at)
{
    const struct recording_tracepoint *tracepoint = at->event->tracepoint;
    const struct object_step *step = at->step;
    struct chunk *chunk = &page->chunk;
    uint64_t mask = 0;
    unsigned next = 0;
    for (unsigned i = 0; i < tracepoint->relation_count && next < step->related_count; i++) {
        const struct recording_relation *relation = &tracepoint->relations[i];
        if (step->related[next].type != relation->object ||
            step->related[next].id != at->event->words[relation->argument])
            continue;
        struct life *other =
            (struct life *)living_find(&page->living, step->related[next].type, step->related[next].id);
        next++;
        if (!other)
            continue;
        mask |= 1u << i;
        if (add_object(chunk, other) || !numbers_add(&chunk->related, other->local + 1))
            return -ENOMEM;
    }
    return numbers_add(&chunk->related_masks, mask) ? 0 : -ENOMEM;
}

static struct rows *rows_of(struct chunk *chunk, uint32_t tracepoint)
{
    const size_t before = chunk->row_room;
    while (tracepoint >= chunk->row_room)
        if (!vector_make_room(chunk->rows, chunk->row_room, chunk->row_room))
            return NULL;
    if (chunk->row_room > before)
        memset(chunk->rows + before, 0, (chunk->row_room - before) * sizeof *chunk->rows);
    return &chunk->rows[tracepoint];
}

static int add_arguments(struct chunk *chunk, const struct recording_event *event, uint32_t tracepoint)
{
    struct rows *rows = rows_of(chunk, tracepoint);
    if (!rows)
        return -ENOMEM;
    for (unsigned i = 0; i < event->tracepoint->argument_count; i++) {
        uint64_t word = event->words[i];
        if (event->tracepoint->arguments[i].kind == RECORDING_STRING) {
            const struct recording_text string = recording_string(event, i);
            word = string.is_null ? 0 : 1 + 2 * (uint64_t)string.length + string.is_cut;
            text_append(&rows->strings[i], string.bytes, string.is_null ? 0 : string.length);
            chunk->text_bytes += string.is_null ? 0 : string.length;
            if (rows->strings[i].failed)
                return -ENOMEM;
        }
        if (!numbers_add(&rows->words, word))
            return -ENOMEM;
    }
    return 0;
}

int chunk_add(struct page *page, const struct export_event *at, uint64_t time, const struct thread *thread,
              uint32_t owner, struct life *life)
{
    struct chunk *chunk = &page->chunk;
    const struct recording_event *event = at->event;
    const size_t index = chunk->times.count;
    const uint32_t tracepoint = page->tracepoint_indexes[event->tracepoint->id & 0xffff] - 1;
    const uint32_t usual = life ? life->track->owner : 0;
    if (!index)
        chunk->begun = chunk->ended = time;
    if (life && add_object(chunk, life))
        return -ENOMEM;
    struct numbers *const columns[] = {&chunk->times,  &chunk->tracepoints, &chunk->threads,
                                       &chunk->owners, &chunk->objects,     &chunk->sizes};
    const uint64_t values[] = {
        time - chunk->ended,        tracepoint, thread->index, owner == usual ? 0 : owner + 1u,
        life ? life->local + 1 : 0, event->size};
    chunk->ended = time;
    int error = add_all(columns, values, sizeof values / sizeof values[0]);
    if (!error && event->lost)
        error = add_all((struct numbers *const[]){&chunk->lost, &chunk->lost},
                        (const uint64_t[]){index, event->lost}, 2);
    if (!error && event->tracepoint->relation_count)
        error = add_relations(page, at);
    return error ? error : add_arguments(chunk, event, tracepoint);
}

/* Objects that live are in each chunk that has events of theirs: where there are very many, chunks are larger. */
bool chunk_is_full(const struct page *page)
{
    const struct chunk *chunk = &page->chunk;
    const size_t enough = page->living.count * 8 < PAGE_CHUNK       ? PAGE_CHUNK
                          : page->living.count * 8 < PAGE_CHUNK_MAX ? page->living.count * 8
                                                                    : PAGE_CHUNK_MAX;
    return chunk->text_bytes >= PAGE_TEXTS || chunk->times.count >= enough;
}

/* ---- a chunk as bytes ---- */

static void put_counted(struct text *out, struct numbers *numbers)
{
    code_number(out, numbers->count);
    code_column(out, numbers->values, numbers->count);
    numbers->count = 0;
}

static int put_arguments(struct page *page, struct text *out, uint32_t index)
{
    const struct recording_tracepoint *tracepoint = page->tracepoints[index];
    struct rows *rows = &page->chunk.rows[index];
    const size_t count = tracepoint->argument_count ? rows->words.count / tracepoint->argument_count : 0;
    uint64_t *column = count ? malloc(count * sizeof *column) : NULL;
    if (!count || !column)
        return count ? -ENOMEM : 0;
    code_number(out, index + 1u);
    code_number(out, count);
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        for (size_t j = 0; j < count; j++)
            column[j] = rows->words.values[j * tracepoint->argument_count + i];
        code_column(out, column, count);
        if (tracepoint->arguments[i].kind != RECORDING_STRING)
            continue;
        code_number(out, rows->strings[i].length);
        text_append(out, text_string(&rows->strings[i]), rows->strings[i].length);
        text_clear(&rows->strings[i]);
    }
    rows->words.count = 0;
    free(column);
    return 0;
}

int page_write_data(struct page *page, struct text *out, const char *name)
{
    text_printf(out, "<script type=\"application/octet-stream\" class=\"%s\">", name);
    const int error = page_deflate(out, &page->bytes, &page->compressed);
    text_add(out, "</script>\n");
    text_clear(&page->bytes);
    return error;
}

struct place_of_object {
    uint64_t serial, local;
};

static int by_serial(const void *a, const void *b)
{
    const struct place_of_object *left = a, *right = b;
    return (left->serial > right->serial) - (left->serial < right->serial);
}

/* Numbers the objects anew, by their serial numbers. */
static int sort_objects(struct chunk *chunk)
{
    struct numbers *const columns[] = {&chunk->serials, &chunk->tracks, &chunk->lanes,
                                       &chunk->numbers, &chunk->ids,    &chunk->begins};
    const size_t count = chunk->serials.count;
    struct place_of_object *places = malloc((count + 1) * sizeof *places);
    uint64_t *values = malloc((count + 1) * sizeof *values);
    if (!places || !values) {
        free(places);
        free(values);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place_of_object){chunk->serials.values[i], i};
    qsort(places, count, sizeof *places, by_serial);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        memcpy(values, columns[i]->values, count * sizeof *values);
        for (size_t j = 0; j < count; j++)
            columns[i]->values[j] = values[places[j].local];
    }
    for (size_t i = 0; i < count; i++)
        values[places[i].local] = i;
    for (size_t i = 0; i < chunk->objects.count; i++)
        if (chunk->objects.values[i])
            chunk->objects.values[i] = values[chunk->objects.values[i] - 1] + 1;
    for (size_t i = 0; i < chunk->related.count; i++)
        chunk->related.values[i] = values[chunk->related.values[i] - 1] + 1;
    free(places);
    free(values);
    return 0;
}

int chunk_write(struct page *page, struct text *out)
{
    struct chunk *chunk = &page->chunk;
    struct text *bytes = &page->bytes;
    const size_t events = chunk->times.count, objects = chunk->serials.count;
    struct numbers *columns[14];
    if (!events)
        return 0;
    int error = sort_objects(chunk);
    if (error)
        return error;
    if (!numbers_add(&page->chunks, events) || !numbers_add(&page->chunks, chunk->begun) ||
        !numbers_add(&page->chunks, chunk->ended))
        return -ENOMEM;
    code_number(bytes, events);
    code_number(bytes, objects);
    code_number(bytes, chunk->begun);
    for (struct numbers *const *column = chunk_columns(chunk, columns); *column; column++) {
        if (*column == &chunk->lost)
            code_number(bytes, chunk->lost.count / 2);
        code_column(bytes, (*column)->values, (*column)->count);
        (*column)->count = 0;
    }
    put_counted(bytes, &chunk->related_masks);
    put_counted(bytes, &chunk->related);
    for (size_t i = 0; i < page->tracepoint_count && i < chunk->row_room && !error; i++)
        error = put_arguments(page, bytes, (uint32_t)i);
    code_number(bytes, 0);
    chunk->number++;
    chunk->text_bytes = 0;
    return error ? error : page_write_data(page, out, "chunk");
}

/* ---- steps from chunk to chunk ---- */

int chunk_cross(struct page *page, const struct life *life, uint64_t until)
{
    const uint64_t values[] = {until,      until - life->last, life->last_tracepoint, life->track->index,
                               life->lane, life->serial,       life->number + 1,      life->living.id};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (!numbers_add(&page->crossing[i], values[i]))
            return -ENOMEM;
    return 0;
}

int chunk_write_crossing(struct page *page, struct text *out, size_t much)
{
    const size_t count = page->crossing[0].count;
    if (!count || count < much)
        return 0;
    code_number(&page->bytes, count);
    for (size_t i = 0; i < sizeof page->crossing / sizeof page->crossing[0]; i++) {
        code_column(&page->bytes, page->crossing[i].values, count);
        page->crossing[i].count = 0;
    }
    return page_write_data(page, out, "crossing");
}

void chunk_free(struct page *page)
{
    struct chunk *chunk = &page->chunk;
    struct numbers *columns[14];
    for (struct numbers *const *column = chunk_columns(chunk, columns); *column; column++)
        free((*column)->values);
    free(chunk->related_masks.values);
    free(chunk->related.values);
    for (size_t i = 0; i < chunk->row_room; i++) {
        free(chunk->rows[i].words.values);
        for (unsigned j = 0; j < RECORDING_ARGUMENTS_MAX; j++)
            text_free(&chunk->rows[i].strings[j]);
    }
    free(chunk->rows);
    for (size_t i = 0; i < sizeof page->crossing / sizeof page->crossing[0]; i++)
        free(page->crossing[i].values);
    free(page->chunks.values);
}
