/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections, and the poll group: everything that one thread has of the server. A connection belongs to its thread
 * from connection_start on. It splits its input into steps, whose meaning is in handshake.c and request.c. */
#ifndef BLOCKD_CONNECTION_H
#define BLOCKD_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "export.h"
#include "thread.h"

enum connection_phase {
    PHASE_FLAGS,        /* the client's flags are awaited */
    PHASE_OPTIONS,      /* the handshake's options */
    PHASE_TRANSMISSION, /* requests */
    PHASE_CLOSING,      /* answers are sent, then the connection ends; further input is dropped */
};

struct connection {
    struct source source;
    struct io_channel *channel; /* the thread's channel of the poll groups */
    struct poll_group *group;
    struct group_export *export;
    enum connection_phase phase;
    bool fixed, no_zeroes; /* the client's flags */
    bool closed, end_of_input, shut, dirty;
    bool blocked; /* nothing is read until answers were sent */
    uint32_t owner, interest;
    uint64_t deadline;       /* in milliseconds; 0: none */
    _Atomic unsigned *count; /* count of all connections */
    char peer[64];

    unsigned input_begin, input_end;
    uint8_t input[16384];
    struct request *receiving; /* the request whose data is being received */

    /* Answers to options. */
    uint8_t *answer;
    size_t answer_length, answer_sent;

    unsigned requests;
    uint64_t buffered; /* bytes that the requests hold */
    TAILQ_HEAD(, request) replies;

    TAILQ_ENTRY(connection) link, dirty_link;
};

TAILQ_HEAD(connection_list, connection);

struct poll_group {
    TAILQ_HEAD(, group_export) exports;
    struct connection_list connections;
    struct connection_list dirty; /* connections with something to send, or to go on with */
    struct poller *poller;
    unsigned deadlines; /* connections that have one */
    uint64_t looked;    /* when the deadlines were last checked */
};

/* Create and destroy poll groups, which are the channels of a device with these functions. */
int poll_group_create(void *owner, void *context);
void poll_group_destroy(void *owner, void *context);
void poll_group_close_connections(struct poll_group *group);

/* Makes a connection of an accepted socket; `groups` is the device above. The rest happens in `thread`. *count is
 * decremented when the connection has ended. */
void connection_start(struct thread *thread, struct io_device *groups, int fd, const char *peer,
                      _Atomic unsigned *count);

/* Result of a step of the protocol. */
enum step { STEP_AGAIN, STEP_NEEDS_INPUT, STEP_BLOCKED };

static inline unsigned connection_available(const struct connection *connection)
{
    return connection->input_end - connection->input_begin;
}
/* Returns the next bytes, without taking them. */
static inline const uint8_t *connection_peek(const struct connection *connection)
{
    return connection->input + connection->input_begin;
}
static inline void connection_take(struct connection *connection, unsigned length)
{
    connection->input_begin += length;
}

/* Adds an answer to an option; answers are sent in their order. */
void connection_answer(struct connection *connection, const void *bytes, size_t length);
bool connection_answering(const struct connection *connection);
/* Marks that something is to be sent, or that room was made: handled at the end of the turn. */
void connection_mark(struct connection *connection);
void connection_set_deadline(struct connection *connection, unsigned milliseconds);

/* Ends the connection after the rest is sent. */
void connection_finish(struct connection *connection);
/* Ends the connection in the same way, because the client made a mistake. */
void connection_refuse(struct connection *connection, const char *why);
/* Ends the connection at once. Its memory lasts until its last I/O is done, and until the turn is over. */
void connection_close(struct connection *connection);
/* Called when one of its requests was released. */
void connection_released(struct connection *connection);

#endif
