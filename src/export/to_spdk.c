/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a recording's events as SPDK's histories. Each thread, or lcore, has one, which is no ring but has room
 * for all its events.
 *
 * The events are read twice: their number and the length of their texts decide how long the histories are, which
 * follow one another. SPDK's reader keeps one event for each time of an lcore, so that a mark of what is missing
 * has a time of its own. */
#include "export/to_spdk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

enum {
    BUFFERED = 64, /* slots that are written at once */
    ARGUMENTS_BYTES = SPDK_ARGUMENTS * 255,
    MARK_BYTES = SPDK_MARK_ARGUMENTS * sizeof(uint64_t),
};

static unsigned slots_of(unsigned bytes)
{
    const unsigned inside = sizeof((struct spdk_slot *)0)->arguments;
    return bytes <= inside ? 1 : 1 + (bytes - inside + SPDK_CONTINUATION_BYTES - 1) / SPDK_CONTINUATION_BYTES;
}

/* ---- the first reading: how much there is ---- */

static struct to_lcore *lcore_of(struct to_spdk *to, uint32_t thread)
{
    const uint32_t before = to->threads.count;
    const int64_t index = convert_thread(&to->threads, thread);
    if (index < 0 || index < before)
        return index < 0 ? NULL : &to->lcores[index];
    if (!vector_make_room(to->lcores, before, to->lcore_room)) {
        to->threads.count = before; /* the thread has no lcore */
        return NULL;
    }
    struct to_lcore *lcore = &to->lcores[index];
    *lcore = (struct to_lcore){.number = thread, .counts = calloc(TO_IDS, sizeof *lcore->counts)};
    if (!lcore->counts)
        return NULL;
    lcore->counts[to->mark] = 1; /* the mark that begins it */
    return lcore;
}

static void look_at_arguments(struct to_tracepoint *planned, const struct recording_event *event)
{
    for (unsigned i = 0; i < planned->count; i++)
        if (event->tracepoint->arguments[i].kind == RECORDING_STRING) {
            const struct recording_text text = recording_string(event, i);
            if (text.length > planned->longest[i])
                planned->longest[i] = text.length;
        }
}

/* Notes the type of a tracepoint's owner. In SPDK's format the tracepoint says it, so that the first owner counts. */
static void look_at_owner(struct to_spdk *to, struct to_tracepoint *planned,
                          const struct recording_event *event)
{
    struct recording_owner owner;
    if (planned->owner < 0 && event->owner && recording_owner(to->job->recording, event, &owner))
        planned->owner = owner.type;
}

static int too_many_threads(struct to_spdk *to)
{
    text_printf(
        to->job->why,
        "%s has more threads than SPDK's format has lcores, which are %d: only `spoor report` can show "
        "them all",
        recording_path(to->job->recording), TO_LCORES);
    return -E2BIG;
}

static int look(struct to_spdk *to)
{
    struct recording_event event;
    int got = 0;
    while (!*to->job->stop && (got = recording_next(to->job->recording, &event)) == 1) {
        struct to_tracepoint *planned = &to->tracepoints[event.tracepoint->id];
        struct to_lcore *lcore = lcore_of(to, event.thread);
        if (!lcore || to->threads.count > TO_LCORES)
            return lcore ? too_many_threads(to) : -ENOMEM;
        if (!to->first)
            to->first = event.stamp > 1 ? event.stamp - 1 : 1;
        look_at_arguments(planned, &event);
        look_at_owner(to, planned, &event);
        if (event.thread_name[0])
            memcpy(lcore->name, event.thread_name, sizeof lcore->name);
        lcore->counts[to->mark] += event.lost && lcore->last;
        lcore->last = 1;
        lcore->counts[planned->id]++;
        to->attributed += event.lost;
        to->job->result->events++;
    }
    return *to->job->stop ? -EINTR : got;
}

/* Counts what is missing behind all events, or if there are none. */
static int look_at_rest(struct to_spdk *to)
{
    const uint64_t *notes = to->job->result->notes;
    const uint64_t overwritten = notes[CONVERT_OVERWRITTEN_ENTRIES] + notes[CONVERT_OVERWRITTEN_EVENTS];
    const uint64_t others = notes[CONVERT_UNRECORDED] + notes[CONVERT_LEFT_OUT];
    if (!to->threads.count && (overwritten || others) && !lcore_of(to, 0))
        return -ENOMEM;
    if (overwritten != to->attributed)
        to->lcores[0].counts[to->mark]++;
    return 0;
}

/* ---- between: where everything is placed ---- */

/* Gives lcores their numbers. A thread of an SPDK recording is an lcore and keeps its number. */
static unsigned number_lcores(struct to_spdk *to)
{
    unsigned most = 0;
    bool can_stay = true;
    for (unsigned i = 0; i < to->threads.count; i++)
        can_stay &= to->lcores[i].number < TO_LCORES;
    for (unsigned i = 0; i < to->threads.count; i++) {
        if (!can_stay)
            to->lcores[i].number = i;
        most = to->lcores[i].number > most ? to->lcores[i].number : most;
    }
    if (!can_stay)
        to->job->result->notes[CONVERT_THREADS] = to->threads.count;
    return to->threads.count ? most + 1 : 0;
}

static int write_history(struct to_spdk *to, struct to_lcore *lcore)
{
    struct spdk_history history = {
        .lcore = (int32_t)lcore->number,
        .num_entries = lcore->capacity,
        .num_tpoint_ids = TO_IDS,
        .next_entry = lcore->capacity,
    };
    memcpy(history.thread_name, lcore->name, sizeof history.thread_name);
    const int error = convert_write(to->job->file, &history, sizeof history, lcore->offset, to->job->why);
    return error ? error
                 : convert_write(to->job->file, lcore->counts, TO_IDS * sizeof *lcore->counts,
                                 lcore->offset + sizeof history, to->job->why);
}

static int place_histories(struct to_spdk *to, unsigned lcores, uint64_t *end)
{
    int error = 0;
    *end = to_spdk_head_bytes(to, lcores);
    for (unsigned i = 0; i < to->threads.count && !error; i++) {
        struct to_lcore *lcore = &to->lcores[i];
        lcore->offset = *end;
        lcore->last = 0;
        lcore->capacity = lcore->counts[to->mark] * slots_of(MARK_BYTES);
        for (size_t j = 0; j < to->job->model->tracepoint_room; j++)
            if (to->job->model->tracepoints[j])
                lcore->capacity += lcore->counts[to->tracepoints[j].id] * slots_of(to->tracepoints[j].bytes);
        *end += sizeof(struct spdk_history) + TO_IDS * sizeof *lcore->counts +
                lcore->capacity * sizeof(struct spdk_slot);
        if (!(lcore->buffer = malloc(BUFFERED * sizeof *lcore->buffer)))
            return -ENOMEM;
        error = write_history(to, lcore);
    }
    return error;
}

/* ---- the second reading: the events ---- */

static int flush(struct to_spdk *to, struct to_lcore *lcore)
{
    const uint64_t slots = lcore->offset + sizeof(struct spdk_history) + TO_IDS * sizeof *lcore->counts;
    const int error =
        convert_write(to->job->file, lcore->buffer, lcore->buffered * sizeof *lcore->buffer,
                      slots + (lcore->used - lcore->buffered) * sizeof *lcore->buffer, to->job->why);
    lcore->buffered = 0;
    return error;
}

static int changed(struct to_spdk *to)
{
    text_printf(to->job->why, "%s changed while it was read", recording_path(to->job->recording));
    return -ESTALE;
}

static int put_slot(struct to_spdk *to, struct to_lcore *lcore, const void *slot)
{
    if (lcore->used == lcore->capacity)
        return changed(to);
    memcpy(&lcore->buffer[lcore->buffered++], slot, sizeof *lcore->buffer);
    lcore->used++;
    return lcore->buffered == BUFFERED ? flush(to, lcore) : 0;
}

/* Writes an event, whose arguments follow one another without gaps. */
static int put_slots(struct to_spdk *to, struct to_lcore *lcore, struct spdk_slot *first,
                     const uint8_t *bytes, unsigned count)
{
    const unsigned inside = count < sizeof first->arguments ? count : sizeof first->arguments;
    memcpy(first->arguments, bytes, inside);
    int error = put_slot(to, lcore, first);
    for (unsigned at = inside; at < count && !error; at += SPDK_CONTINUATION_BYTES) {
        struct spdk_slot more = {.tsc = first->tsc, .id = SPDK_CONTINUATION};
        const unsigned left = count - at;
        memcpy((uint8_t *)&more + offsetof(struct spdk_slot, owner), bytes + at,
               left < SPDK_CONTINUATION_BYTES ? left : SPDK_CONTINUATION_BYTES);
        error = put_slot(to, lcore, &more);
    }
    lcore->last = first->tsc;
    return error;
}

static int put_mark(struct to_spdk *to, struct to_lcore *lcore, uint64_t time,
                    const uint64_t missing[SPDK_MARK_ARGUMENTS])
{
    struct spdk_slot slot = {.tsc = time, .id = to->mark};
    return put_slots(to, lcore, &slot, (const uint8_t *)missing, MARK_BYTES);
}

/* Writes a text into `room` bytes. The last one is a NUL if spoor declared the argument, and not SPDK's program. */
static void put_text(struct to_spdk *to, const char *text, uint32_t length, bool is_ended, uint8_t *field,
                     unsigned room)
{
    const unsigned most = is_ended ? room - 1 : room;
    const char *nul = memchr(text, 0, length);
    const uint32_t used = nul ? (uint32_t)(nul - text) : length;
    to->job->result->notes[CONVERT_STRINGS] += nul || used > most;
    memcpy(field, text, used < most ? used : most);
}

static void put_argument(struct to_spdk *to, const struct recording_event *event, unsigned index,
                         uint8_t *field, unsigned room)
{
    const struct recording_argument *argument = &event->tracepoint->arguments[index];
    const uint64_t word = event->words[index];
    char digits[32];
    double real;
    switch (argument->kind) {
    case RECORDING_STRING: {
        const struct recording_text text = recording_string(event, index);
        to->job->result->notes[CONVERT_NULLS] += text.is_null;
        if (!text.is_null)
            put_text(to, text.bytes, text.length, argument->type[0] != 0, field, room);
        break;
    }
    case RECORDING_REAL:
        memcpy(&real, &word, sizeof real);
        snprintf(digits, sizeof digits, "%.17g", real);
        put_text(to, digits, (uint32_t)strlen(digits), true, field, room);
        break;
    case RECORDING_UNSIGNED: to->job->result->notes[CONVERT_NEGATIVE] += word >> 63; /* fall through */
    default: memcpy(field, &word, room < sizeof word ? room : sizeof word);
    }
}

/* Writes the mark before an event: one that begins the lcore, one for a gap, or none. */
static int put_missing(struct to_spdk *to, struct to_lcore *lcore, uint64_t time, uint64_t lost)
{
    const bool begins = !lcore->last, tells_all = begins && lcore == to->lcores;
    const uint64_t *notes = to->job->result->notes;
    const uint64_t missing[SPDK_MARK_ARGUMENTS] = {lost, tells_all ? notes[CONVERT_UNRECORDED] : 0,
                                                   tells_all ? notes[CONVERT_LEFT_OUT] : 0};
    if (!begins && !lost)
        return 0;
    return put_mark(to, lcore, begins ? to->first : time > lcore->last + 1 ? time - 1 : time, missing);
}

static int put_event(struct to_spdk *to, const struct recording_event *event)
{
    const struct to_tracepoint *planned = &to->tracepoints[event->tracepoint->id];
    const uint32_t known = to->threads.count;
    const int64_t index = convert_thread(&to->threads, event->thread);
    if (index < 0 || index >= known)
        return index < 0 ? -ENOMEM : changed(to);
    struct to_lcore *lcore = &to->lcores[index];
    uint64_t time = event->stamp ? event->stamp : 1; /* 0 means that there is no event */
    if (time < lcore->last) {
        to->job->result->notes[CONVERT_TIMES]++;
        time = lcore->last;
    }
    uint8_t bytes[ARGUMENTS_BYTES];
    unsigned at = 0;
    memset(bytes, 0, planned->bytes);
    const int error = put_missing(to, lcore, time, event->lost);
    if (error)
        return error;
    for (unsigned i = 0; i < planned->count; i++) {
        put_argument(to, event, i, bytes + at, planned->sizes[i]);
        at += planned->sizes[i];
    }
    struct spdk_slot slot = {
        .tsc = time,
        .id = planned->id,
        .owner = to_spdk_owner(to, event),
        .size = event->size,
        .object = event->object,
    };
    return put_slots(to, lcore, &slot, bytes, at);
}

/* Writes what is missing behind all events, and what is still in buffers. */
static int put_rest(struct to_spdk *to)
{
    const uint64_t *notes = to->job->result->notes;
    const uint64_t missing[SPDK_MARK_ARGUMENTS] = {notes[CONVERT_OVERWRITTEN_ENTRIES] +
                                                   notes[CONVERT_OVERWRITTEN_EVENTS] - to->attributed};
    int error = 0;
    if (to->threads.count && !to->lcores[0].last)
        error = put_missing(to, &to->lcores[0], 0, 0);
    if (missing[0] && !error)
        error = put_mark(to, &to->lcores[0], to->lcores[0].last + 1, missing);
    for (unsigned i = 0; i < to->threads.count && !error; i++) {
        error = flush(to, &to->lcores[i]);
        if (!error && to->lcores[i].used != to->lcores[i].capacity)
            error = changed(to);
    }
    return error;
}

static int put_events(struct to_spdk *to)
{
    struct recording_event event;
    uint64_t count = 0;
    int got = 0;
    while (!*to->job->stop && (got = recording_next(to->job->recording, &event)) == 1) {
        got = count++ < to->job->result->events ? put_event(to, &event) : changed(to);
        if (got)
            return got;
    }
    return *to->job->stop ? -EINTR : got;
}

/* ---- both ---- */

/* Whether the second reading found the same declarations. It may not, if the file is changed meanwhile. */
static bool is_as_planned(const struct to_spdk *to, const struct recording_model *model)
{
    if (model->tracepoint_room != to->job->model->tracepoint_room)
        return false;
    for (size_t i = 0; i < model->tracepoint_room; i++) {
        const struct recording_tracepoint *one = to->job->model->tracepoints[i],
                                          *other = model->tracepoints[i];
        if (!one != !other || (one && one->argument_count != other->argument_count))
            return false;
        for (unsigned j = 0; one && j < one->argument_count; j++)
            if (one->arguments[j].kind != other->arguments[j].kind)
                return false;
    }
    return true;
}

static int put_all(struct to_spdk *to, struct recording *again)
{
    const struct convert_job *first = to->job;
    struct convert_job second = *first;
    second.recording = again;
    to->job = &second;
    int error = put_events(to);
    if (!error)
        error = put_rest(to);
    if (!error)
        error = convert_check_read(again, to->job->why);
    to->job = first;
    return error;
}

static int convert(struct to_spdk *to)
{
    const struct recording_options options = {.only_cpu = -1, .whole = true};
    struct recording *again;
    uint64_t end;
    int error = to_spdk_plan(to);
    if (!error)
        error = look(to);
    if (!error)
        error = convert_check_read(to->job->recording, to->job->why);
    if (error)
        return error;
    convert_count_missing(to->job->recording, to->job->result);
    if (!to->first)
        to->first = 1;
    error = look_at_rest(to);
    if (error)
        return error;
    to_spdk_plan_sizes(to);
    const unsigned lcores = number_lcores(to);
    to->job->result->notes[CONVERT_CLOCK] = recording_clock_is_known(to->job->recording);
    error = place_histories(to, lcores, &end);
    if (!error)
        error = recording_again(to->job->recording, &options, &again, to->job->why);
    if (error)
        return error;
    error = is_as_planned(to, recording_model(again)) ? put_all(to, again) : changed(to);
    recording_close(again);
    return error ? error : to_spdk_write_head(to, lcores, end);
}

int convert_to_spdk(const struct convert_job *job)
{
    struct to_spdk to = {.job = job};
    const int error = convert(&to);
    for (unsigned i = 0; i < to.threads.count && to.lcores; i++) {
        free(to.lcores[i].counts);
        free(to.lcores[i].buffer);
    }
    free(to.lcores);
    free(to.owners);
    free(to.tracepoints);
    convert_threads_free(&to.threads);
    return error;
}
