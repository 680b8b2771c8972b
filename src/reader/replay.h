/* SPDX-License-Identifier: BSD-3-Clause */
/* Several recordings as one stream of events in order of time, with what is to be done at each: the programs that
 * listen to a tracepoint, and timers.
 *
 * Recordings of SPDK's format that are not related to the boot clock count their time from their own first event,
 * and are merged with others by that. The session runs the programs; probe/trace.c decides what they see of an
 * event. */
#ifndef SPOOR_READER_REPLAY_H
#define SPOOR_READER_REPLAY_H

#include "reader/objects.h"
#include "reader/reader.h"

struct replay;

struct replay_listener { /* a program and which of its sites the tracepoint is */
    uint32_t program, site;
};

struct replay_tracepoint { /* a tracepoint of one recording to which a program listens */
    struct replay_listener *listeners;
    uint32_t count, room;
    /* bit N is set if argument N is a string (texts), or a floating-point number (reals) */
    uint16_t texts, reals;
};

struct replay_timer {
    uint64_t period, next; /* ns; next 0: there was no event yet */
    uint32_t program;
};

struct replay_event {
    uint64_t time; /* ns */
    struct recording *recording;
    const struct replay_tracepoint *tracepoint;
    const struct recording_event *event;
    const struct object_step *step; /* NULL: objects are not followed */
};

/* Opens recordings; paths NULL or empty: the newest one of each of the processes, or without any the newest of all.
 * apart: processes without privileges read them, because this one has those that the kernel takes; their times must be
 * those of the boot clock then, as is necessary for several. Returns 0 or -errno with the reason. */
int replay_open(const char *const *paths, const pid_t *pids, size_t pid_count, bool apart,
                struct replay **out, struct text *why);
void replay_free(struct replay *replay);

size_t replay_count(const struct replay *replay);
struct recording *replay_recording(const struct replay *replay, size_t index);
/* Returns the time of the first event; 0: there is none yet. */
uint64_t replay_start(struct replay *replay);

int replay_listen(struct replay *replay, size_t recording, uint32_t tracepoint,
                  struct replay_listener listener);
int replay_every(struct replay *replay, uint64_t period, uint32_t program);
int replay_follow_objects(struct replay *replay);
bool replay_has_timers(const struct replay *replay);
/* Returns the timer that is due first, if it is not after `time`, and sets it to its next time; NULL: there is
 * none. */
const struct replay_timer *replay_due(struct replay *replay, uint64_t time, uint64_t *when);

/* Finds the next event to which a program listens. Returns 1; 0 if there are no more, or no more for now; else
 * -errno. */
int replay_next(struct replay *replay, struct replay_event *event);
/* Starts threads, with the rights of the caller, that copy what living programs record. Returns 0 or -errno. */
int replay_keep_up(struct replay *replay);
/* Looks for new events. Returns 1 if there is a program that lives, 0 if not, else -errno. */
int replay_refresh(struct replay *replay);
/* Returns the time up to which everything has been read from all recordings that are being written; UINT64_MAX:
 * none is. */
uint64_t replay_settled(const struct replay *replay);
/* Returns a time before which no event will be handed out any more; UINT64_MAX: there will be none at all. */
uint64_t replay_horizon(struct replay *replay);
bool replay_is_live(const struct replay *replay);
/* recording_may_leave() for all of them. */
void replay_may_leave(struct replay *replay, bool (*leaves)(void *state), void *state);
/* Returns a recording whose reader was lost (recording_is_lost()), each once; NULL: there is none any more. */
const struct recording *replay_take_lost(struct replay *replay);

#endif
