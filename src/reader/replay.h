/* SPDX-License-Identifier: BSD-3-Clause */
/* Several recordings as one stream of events in order of time, and what is to be done at each: who wants to
 * hear of which tracepoint, and when time has passed.
 *
 * Recordings of SPDK's format that are not related to the boot clock count their time from their own first event; merged
 * with others they are as they are. Not here: what runs (the session's), what a program sees of an event (probe/trace.c). */
#ifndef SPOOR_READER_REPLAY_H
#define SPOOR_READER_REPLAY_H

#include "reader/objects.h"
#include "reader/reader.h"

struct replay;

struct replay_listener { /* a program and which of its sites the tracepoint is */
    uint32_t program, site;
};

struct replay_tracepoint { /* of one recording, as far as somebody listens */
    struct replay_listener *listeners;
    uint32_t count, room;
    uint16_t texts, reals; /* bit N: argument N */
};

struct replay_timer {
    uint64_t period, next; /* ns; next 0: time has not begun */
    uint32_t program;
};

struct replay_event {
    uint64_t time; /* ns */
    struct recording *recording;
    const struct replay_tracepoint *tracepoint;
    const struct recording_event *event;
    const struct object_step *step; /* NULL: objects are not followed */
};

/* paths NULL or empty: the newest recording of each of the processes; of none: the newest. relate: their times are to be
 * those of the boot clock, as they are to be of several. 0 or -errno with the reason. */
int replay_open(const char *const *paths, const pid_t *pids, size_t pid_count, bool relate,
                struct replay **out, struct text *why);
void replay_free(struct replay *replay);

size_t replay_count(const struct replay *replay);
struct recording *replay_recording(const struct replay *replay, size_t index);
/* The time of the first event; 0: there is none yet. */
uint64_t replay_start(struct replay *replay);

int replay_listen(struct replay *replay, size_t recording, uint32_t tracepoint,
                  struct replay_listener listener);
int replay_every(struct replay *replay, uint64_t period, uint32_t program);
int replay_follow_objects(struct replay *replay);
/* The timer that is due first, not after `time`; NULL: none. Then it is set to its next time. */
const struct replay_timer *replay_due(struct replay *replay, uint64_t time, uint64_t *when);

/* The next event that somebody listens to: 1; 0: no more, or no more for now; else -errno. */
int replay_next(struct replay *replay, struct replay_event *event);
/* From now on threads, with the rights that the caller has, copy what living programs record. 0 or -errno. */
int replay_keep_up(struct replay *replay);
/* Looks for what was recorded since. 1: there is a program that lives; 0: none; else -errno. */
int replay_refresh(struct replay *replay);
/* Up to here everything was seen of all recordings that are still written; UINT64_MAX: nobody writes. */
uint64_t replay_settled(const struct replay *replay);
/* No event that is older than this will be given; UINT64_MAX: none at all. */
uint64_t replay_horizon(struct replay *replay);
bool replay_is_live(const struct replay *replay);

#endif
