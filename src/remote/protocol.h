/* SPDX-License-Identifier: BSD-3-Clause */
/* What `spoor --on` and the spoor on a host say to each other, over the standard streams of ssh. Both ends have the same version,
 * which the first message of each proves, so nothing here needs to be compatible with others.
 *
 * A message is a head and a payload of numbers, texts and arrays (base/wire.h):
 *
 *     to the host                       from the host
 *     REQUEST  what to run              HELLO     protocol, clocks
 *     PING     a number                 PONG      that number, clocks
 *     START    all hosts have compiled  COMPILED  the script can be started; or it cannot, and why
 *     STOP     end the trace            LINES     what the script printed, with its time
 *                                       REPORT    what is said beside the output
 *                                       MAP       a map that is printed (remote/portable.h)
 *                                       MARK      a time: all that is older has been sent; 0: only that it is alive
 *                                       END       exit status; nothing follows
 *
 * All times are those of the sender's boot clock. Whatever a host sends is untrusted. */
#ifndef SPOOR_REMOTE_PROTOCOL_H
#define SPOOR_REMOTE_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/text.h"

enum remote_message {
    REMOTE_REQUEST,
    REMOTE_PING,
    REMOTE_START,
    REMOTE_STOP,
    REMOTE_HELLO,
    REMOTE_PONG,
    REMOTE_COMPILED,
    REMOTE_LINES,
    REMOTE_REPORT,
    REMOTE_MAP,
    REMOTE_MARK,
    REMOTE_END,
    REMOTE_MESSAGES
};

#define REMOTE_PROTOCOL UINT64_C(0x33726f6f7073) /* "spoor3", raised whenever a message changes */
enum {
    REMOTE_PAYLOAD_MAX = 64 << 20, /* bytes */
    REMOTE_WORDS_MAX = 4096        /* of a request */
};

struct remote_head {
    uint32_t message, size;
};

/* Appends a message. payload NULL: it is empty. One that is too long, or that memory ran out for, makes `out` fail. */
void remote_put(struct text *out, enum remote_message message, const struct text *payload);
/* Takes the next message of `bytes`, which grow at their end, from *at on. payload: a cursor over its content, valid until the
 * bytes change. Returns 1, 0 if it is not here as a whole, or -EBADMSG. */
int remote_take(const struct text *bytes, size_t *at, enum remote_message *message, struct cursor *payload);

/* What a host is asked to run. */
struct remote_request {
    const char *const *words; /* the command line, without the name of the program */
    size_t word_count;
    const char *const *names; /* of the scripts, for messages */
    size_t name_count;
    bool is_terminal; /* what is printed goes to a terminal: strings must not command it */
};
void remote_put_request(struct text *out, const struct remote_request *request);
/* Takes a request, whose texts stay in the payload. Two NULL-terminated arrays are allocated, which live as long as the
 * process. False: it is none. */
bool remote_take_request(struct cursor *payload, struct remote_request *request);

/* The clocks of a machine at one moment. */
struct remote_clocks {
    uint64_t boot, real; /* ns */
};
void remote_put_clocks(struct text *out);
struct remote_clocks remote_take_clocks(struct cursor *payload);

#endif
