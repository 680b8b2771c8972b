/* SPDX-License-Identifier: BSD-3-Clause */
/* Merges recordings: each has its next event ready, and the one with the oldest goes on. There are few of them, so
 * the oldest is searched each time. */
#include "reader/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/vector.h"
#include "reader/find.h"

static const uint64_t CLOCK_MARGIN = 5000000; /* ns: by how much two clocks may differ */

enum { EVENTS = 64 };

struct stream {
    struct recording *recording;
    struct objects *objects; /* NULL: objects are not followed */
    struct replay_tracepoint *tracepoints;
    size_t tracepoint_room;
    struct recording_event events[EVENTS]; /* those that were at hand together */
    int event_count, next;                 /* index of the one after `event` */
    const struct recording_event *event;
    uint64_t time; /* time of the event */
    bool ready;    /* the event has not been handed out yet */
    int error;     /* of reading events, after which there are none; 0: none yet */
    bool is_lost;  /* replay_take_lost() has returned it */
    /* no event before this time will come; UINT64_MAX: none at all, or the recording's clock is its own */
    uint64_t settled;
};

struct replay {
    struct stream *streams;
    size_t count;
    struct replay_timer *timers;
    size_t timer_count, timer_room;
    struct object_step step;
};

static void settle(struct stream *stream)
{
    bool is_open = recording_is_live(stream->recording) && !recording_unrelated(stream->recording);
    const uint64_t now = clock_ns(CLOCK_BOOTTIME), late = recording_behind(stream->recording) + CLOCK_MARGIN;
    stream->settled = !is_open ? UINT64_MAX : now > late ? now - late : 0;
}

/* ---- opening ---- */

static int open_stream(struct stream *stream, const char *path, const struct recording_options *options,
                       struct text *why)
{
    int error = recording_open(path, options, &stream->recording, why);
    if (error)
        return error;
    stream->tracepoint_room = recording_model(stream->recording)->tracepoint_room;
    stream->tracepoints = calloc(stream->tracepoint_room + 1, sizeof *stream->tracepoints);
    settle(stream);
    return stream->tracepoints ? 0 : -ENOMEM;
}

/* Opens the newest recording of each process, or without any the newest of all, and appends them to `replay`. */
static int open_newest(struct replay *replay, const pid_t *pids, size_t count,
                       const struct recording_options *options, struct text *why)
{
    int error = 0;
    for (size_t i = 0; !error && (!i || i < count); i++) {
        const struct find_choice choice = {.pid = count ? (uint32_t)pids[i] : 0};
        char *newest = find_recording(&choice, why);
        error = newest ? open_stream(&replay->streams[replay->count++], newest, options, why) : -ENOENT;
        free(newest);
    }
    return error;
}

int replay_open(const char *const *paths, const pid_t *pids, size_t pid_count, bool apart,
                struct replay **out, struct text *why)
{
    struct replay *replay = calloc(1, sizeof *replay);
    size_t count = 0;
    int error = 0;
    if (!replay)
        return -ENOMEM;
    while (paths && paths[count])
        count++;
    const struct recording_options options = {
        .follow = true, .only_cpu = -1, .relate = apart || count + pid_count > 1, .apart = apart};
    replay->streams = calloc(count + pid_count + 1, sizeof *replay->streams);
    if (!replay->streams)
        error = -ENOMEM;
    else if (!count)
        error = open_newest(replay, pids, pid_count, &options, why);
    while (!error && replay->count < count) {
        struct stream *stream = &replay->streams[replay->count];
        error = open_stream(stream, paths[replay->count++], &options, why);
    }
    if (error) {
        replay_free(replay);
        return error;
    }
    *out = replay;
    return 0;
}

void replay_free(struct replay *replay)
{
    if (!replay)
        return;
    for (size_t i = 0; i < replay->count; i++) {
        struct stream *stream = &replay->streams[i];
        for (size_t k = 0; stream->tracepoints && k < stream->tracepoint_room; k++)
            free(stream->tracepoints[k].listeners);
        free(stream->tracepoints);
        objects_free(stream->objects);
        recording_close(stream->recording);
    }
    free(replay->streams);
    free(replay->timers);
    free(replay);
}

size_t replay_count(const struct replay *replay)
{
    return replay->count;
}

struct recording *replay_recording(const struct replay *replay, size_t index)
{
    return replay->streams[index].recording;
}

/* ---- who listens ---- */

int replay_listen(struct replay *replay, size_t recording, uint32_t tracepoint,
                  struct replay_listener listener)
{
    struct stream *stream = &replay->streams[recording];
    const struct recording_tracepoint *declared =
        tracepoint < stream->tracepoint_room ? recording_model(stream->recording)->tracepoints[tracepoint]
                                             : NULL;
    if (!declared)
        return -EINVAL;
    struct replay_tracepoint *heard = &stream->tracepoints[tracepoint];
    if (!vector_make_room(heard->listeners, heard->count, heard->room))
        return -ENOMEM;
    heard->listeners[heard->count++] = listener;
    heard->texts = declared->strings;
    for (unsigned i = 0; i < declared->argument_count; i++)
        if (declared->arguments[i].kind == RECORDING_REAL)
            heard->reals |= (uint16_t)(1u << i);
    return 0;
}

int replay_every(struct replay *replay, uint64_t period, uint32_t program)
{
    if (!vector_make_room(replay->timers, replay->timer_count, replay->timer_room))
        return -ENOMEM;
    replay->timers[replay->timer_count++] = (struct replay_timer){.period = period, .program = program};
    return 0;
}

int replay_follow_objects(struct replay *replay)
{
    for (size_t i = 0; i < replay->count; i++) {
        struct stream *stream = &replay->streams[i];
        if (!stream->objects && !(stream->objects = objects_make(stream->recording)))
            return -ENOMEM;
    }
    return 0;
}

const struct replay_timer *replay_due(struct replay *replay, uint64_t time, uint64_t *when)
{
    struct replay_timer *first = NULL;
    for (size_t i = 0; i < replay->timer_count; i++) {
        struct replay_timer *timer = &replay->timers[i];
        if (!timer->next && __builtin_add_overflow(time, timer->period, &timer->next))
            timer->next = UINT64_MAX;
        if (timer->next <= time && (!first || timer->next < first->next))
            first = timer;
    }
    if (!first)
        return NULL;
    *when = first->next;
    if (__builtin_add_overflow(first->next, first->period, &first->next))
        first->next = UINT64_MAX;
    return first;
}

/* ---- events ---- */

static int look(struct stream *stream)
{
    if (stream->ready)
        return 1;
    if (stream->error)
        return stream->error;
    if (stream->next == stream->event_count) {
        int got = recording_next_few(stream->recording, stream->events, EVENTS);
        stream->event_count = stream->next = 0;
        if (got < 0)
            stream->error = got;
        if (got <= 0)
            return got;
        stream->event_count = got;
    }
    stream->event = &stream->events[stream->next++];
    stream->time = recording_time(stream->recording, stream->event->stamp);
    stream->ready = true;
    return 1;
}

/* Finds the stream whose event is next. NULL: there is none, or a living program may still bring an older one. */
static int choose(struct replay *replay, struct stream **out)
{
    struct stream *first = NULL;
    uint64_t settled = UINT64_MAX;
    for (size_t i = 0; i < replay->count; i++) {
        struct stream *stream = &replay->streams[i];
        int got = look(stream);
        if (got < 0)
            return got;
        if (!got && stream->settled < settled)
            settled = stream->settled;
        else if (got && (!first || stream->time < first->time))
            first = stream;
    }
    *out = first && first->time <= settled ? first : NULL;
    return 0;
}

uint64_t replay_start(struct replay *replay)
{
    struct stream *first = NULL;
    if (choose(replay, &first) || !first)
        return 0;
    return first->event->is_outside ? recording_start(first->recording) : first->time;
}

int replay_next(struct replay *replay, struct replay_event *event)
{
    for (;;) {
        struct stream *stream = NULL;
        int error = 0;
        if (replay->count == 1) {
            stream = &replay->streams[0];
            int got = look(stream);
            if (got != 1)
                return got;
        } else if ((error = choose(replay, &stream)) || !stream) {
            return error;
        }
        stream->ready = false;
        if (stream->objects && (error = objects_follow(stream->objects, stream->event, &replay->step)))
            return error;
        const uint32_t id = stream->event->tracepoint->id;
        if (id >= stream->tracepoint_room || stream->event->is_outside)
            continue; /* who was declared later has no listeners */
        const struct replay_tracepoint *tracepoint = &stream->tracepoints[id];
        if (!tracepoint->count)
            continue;
        *event = (struct replay_event){
            .time = stream->time,
            .recording = stream->recording,
            .tracepoint = tracepoint,
            .event = stream->event,
            .step = stream->objects ? &replay->step : NULL,
        };
        return 1;
    }
}

bool replay_has_timers(const struct replay *replay)
{
    return replay->timer_count > 0;
}

bool replay_is_live(const struct replay *replay)
{
    for (size_t i = 0; i < replay->count; i++)
        if (recording_is_live(replay->streams[i].recording))
            return true;
    return false;
}

void replay_may_leave(struct replay *replay, bool (*leaves)(void *state), void *state)
{
    for (size_t i = 0; i < replay->count; i++)
        recording_may_leave(replay->streams[i].recording, leaves, state);
}

const struct recording *replay_take_lost(struct replay *replay)
{
    for (size_t i = 0; i < replay->count; i++) {
        struct stream *stream = &replay->streams[i];
        if (!stream->is_lost && recording_is_lost(stream->recording)) {
            stream->is_lost = true;
            return stream->recording;
        }
    }
    return NULL;
}

int replay_keep_up(struct replay *replay)
{
    int error = 0;
    for (size_t i = 0; i < replay->count && !error; i++)
        error = recording_keep_up(replay->streams[i].recording);
    return error;
}

int replay_refresh(struct replay *replay)
{
    int lives = 0;
    for (size_t i = 0; i < replay->count; i++) {
        struct stream *stream = &replay->streams[i];
        if (!recording_is_live(stream->recording) || stream->ready || stream->next < stream->event_count)
            /* events that wait would be lost: the recording is refreshed when they have been handed out */
            continue;
        int got = recording_refresh(stream->recording);
        if (got < 0)
            return got;
        lives |= 1; /* also if the program has just ended: what the last look found is still to come */
        settle(stream);
    }
    return lives | replay_is_live(replay);
}

uint64_t replay_settled(const struct replay *replay)
{
    uint64_t settled = UINT64_MAX;
    for (size_t i = 0; i < replay->count; i++)
        if (replay->streams[i].settled < settled)
            settled = replay->streams[i].settled;
    return settled;
}

uint64_t replay_horizon(struct replay *replay)
{
    uint64_t horizon = UINT64_MAX;
    for (size_t i = 0; i < replay->count; i++) {
        struct stream *stream = &replay->streams[i];
        uint64_t next = look(stream) == 1 ? stream->time : stream->settled;
        if (next < horizon)
            horizon = next;
    }
    return horizon;
}
