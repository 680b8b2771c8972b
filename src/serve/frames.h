/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the processes of `spoor serve`, over a stream socket that never blocks. */
#ifndef SPOOR_SERVE_FRAMES_H
#define SPOOR_SERVE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum frame_kind {
    FRAME_READY,    /* to the supervisor: the script is attached; the publisher can be asked */
    FRAME_PAUSED,   /* to the supervisor: the script's probes do nothing now */
    FRAME_RESUMED,  /* to the supervisor: and now they do again */
    FRAME_PING,     /* to a script: is it alive? */
    FRAME_PONG,     /* to the supervisor: it is */
    FRAME_QUESTION, /* to the supervisor and from there to scripts: what is counted? */
    FRAME_ANSWER,   /* families (metrics/relay.h); to the publisher each part with its name before it */
    FRAME_KINDS
};

enum { FRAME_MAX = 64 << 20 }; /* bytes of a message */

struct frames {
    int fd;              /* -1: closed */
    struct text in, out; /* what came and was not read, and what waits to be sent */
    size_t read;         /* bytes of `in` that were read */
};

/* Makes a pair of connected streams. Returns 0 or -errno. */
int frames_pair(struct frames *one, struct frames *other);
/* Takes what has arrived. Returns 0, -EPIPE if the other side is gone, or -errno. */
int frames_receive(struct frames *frames);
/* Reads the next message, if it is there as a whole. payload: gets its content, aligned to 8. Returns 1, 0, or -EBADMSG. */
int frames_next(struct frames *frames, enum frame_kind *kind, struct text *payload);
/* Adds a message to those that wait; payload NULL: it is empty. What cannot be added, because there is no memory or the message
 * is too long, is an error of the next frames_flush(). */
void frames_send(struct frames *frames, enum frame_kind kind, const struct text *payload);
/* Sends what can be sent now. Returns 0, or -errno: the other side is gone. */
int frames_flush(struct frames *frames);
/* Sends all that waits, within so many milliseconds. Returns 0 or -errno. */
int frames_flush_all(struct frames *frames, int milliseconds);
bool frames_wait(const struct frames *frames); /* whether frames_flush() has something to do */
void frames_close(struct frames *frames);

#endif
