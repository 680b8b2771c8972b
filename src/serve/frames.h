/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the processes of `spoor serve`, over a stream socket that never blocks. */
#ifndef SPOOR_SERVE_FRAMES_H
#define SPOOR_SERVE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum frame_kind {
    FRAME_READY,   /* to the supervisor: the script is attached; the publisher can be asked */
    FRAME_PAUSED,  /* to the supervisor: the guard has paused the script */
    FRAME_RESUMED, /* to the supervisor: the pause is over */
    FRAME_PING,    /* to a script, which answers with FRAME_PONG */
    FRAME_PONG,    /* to the supervisor: the script is alive */
    FRAME_QUESTION, /* from the publisher to the supervisor, and from there to scripts: asks for their metrics */
    FRAME_ANSWER, /* families (metrics/relay.h); to the publisher each part with its name before it */
    FRAME_KINDS
};

enum { FRAME_MAX = 64 << 20 }; /* bytes of a message */

struct frames {
    int fd;              /* -1: closed */
    struct text in, out; /* bytes received, and bytes that wait to be sent */
    size_t read;         /* how many bytes of `in` frames_next() has consumed */
};

/* Makes a pair of connected streams. Returns 0 or -errno. */
int frames_pair(struct frames *one, struct frames *other);
/* Appends what has arrived to `in`. Returns 0, -EPIPE if the other side is gone, or -errno. */
int frames_receive(struct frames *frames);
/* Takes the next message out of `in`. payload: gets its content, aligned to 8. Returns 1, 0 if it has not arrived as a whole, or
 * -EBADMSG. */
int frames_next(struct frames *frames, enum frame_kind *kind, struct text *payload);
/* Appends a message to `out`; payload NULL: it is empty. What cannot be added, because there is no memory or the message
 * is too long, is an error of the next frames_flush(). */
void frames_send(struct frames *frames, enum frame_kind kind, const struct text *payload);
/* Sends as much of `out` as the socket takes without waiting. Returns 0, or -errno: the other side is gone. */
int frames_flush(struct frames *frames);
/* Sends all of `out`. Returns 0, or -errno; after so many milliseconds -ETIMEDOUT. */
int frames_flush_all(struct frames *frames, int milliseconds);
bool frames_wait(const struct frames *frames); /* whether frames_flush() has something to do */
void frames_close(struct frames *frames);

#endif
