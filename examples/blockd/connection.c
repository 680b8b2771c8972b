/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets: bytes in, steps of the protocol, answers out. Input is read when it comes; answers leave at the
 * end of the thread's turn, several in one system call. Nothing here waits, and nothing that a client sends
 * makes more than its own connection end. */
#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "handshake.h"
#include "probes.h"
#include "request.h"
#include "request_trace.h"

SPOOR_TRACEPOINT_HERE(TCP_QP_CONNECT);
SPOOR_TRACEPOINT_HERE(TCP_QP_REFUSE);
SPOOR_TRACEPOINT_HERE(TCP_QP_DISCONNECT);

enum {
    HANDSHAKE_MILLISECONDS = 30000,
    LINGER_MILLISECONDS = 2000, /* after the last answer, until the client closes */
    LOOK_MILLISECONDS = 500,    /* between two looks at the deadlines */
    READ_BUDGET = 1 << 20,      /* bytes of one connection in one turn */
    PARTS = 64,
};

/* ---- work for the end of the turn ---- */

void connection_mark(struct connection *connection)
{
    if (connection->dirty || connection->closed)
        return;
    connection->dirty = true;
    TAILQ_INSERT_TAIL(&connection->group->dirty, connection, dirty_link);
}

void connection_set_deadline(struct connection *connection, unsigned milliseconds)
{
    struct poll_group *group = connection->group;
    if (connection->deadline)
        group->deadlines--;
    connection->deadline = milliseconds ? clock_milliseconds() + milliseconds : 0;
    if (connection->deadline)
        group->deadlines++;
}

bool connection_answering(const struct connection *connection)
{
    return connection->answer_sent < connection->answer_length;
}

void connection_answer(struct connection *connection, const void *bytes, size_t length)
{
    if (connection->closed)
        return;
    uint8_t *answer = realloc(connection->answer, connection->answer_length + length);
    if (!answer) {
        connection_close(connection);
        return;
    }
    memcpy(answer + connection->answer_length, bytes, length);
    connection->answer = answer;
    connection->answer_length += length;
    connection_mark(connection);
}

static void update_interest(struct connection *connection)
{
    uint32_t interest = 0;
    if (connection->closed)
        return;
    if (!connection->blocked && !connection->end_of_input)
        interest |= EPOLLIN;
    if (connection_answering(connection) || !TAILQ_EMPTY(&connection->replies))
        interest |= EPOLLOUT;
    if (interest != connection->interest)
        thread_rewatch(&connection->source, interest);
    connection->interest = interest;
}

/* ---- the end ---- */

static void connection_free(void *context)
{
    struct connection *connection = context;
    struct io_channel *channel = connection->channel;
    spoor_owner_unregister(connection->owner);
    atomic_fetch_sub(connection->count, 1);
    free(connection->answer);
    free(connection);
    put_io_channel(channel);
}

void connection_close(struct connection *connection)
{
    struct request *request;
    if (connection->closed)
        return;
    const int fd = connection->source.fd;
    connection_set_deadline(connection, 0);
    if (connection->dirty)
        TAILQ_REMOVE(&connection->group->dirty, connection, dirty_link);
    TAILQ_REMOVE(&connection->group->connections, connection, link);
    connection->closed = true;
    thread_unwatch(&connection->source);
    close(fd);
    SPOOR_RECORD(TCP_QP_DISCONNECT, connection->owner, connection);

    /* Requests at work return from the device later. One more is counted, so that releasing the last of the others
     * does not free the connection yet. */
    connection->requests++;
    if (connection->receiving)
        request_abandon(connection->receiving);
    while ((request = TAILQ_FIRST(&connection->replies)))
        request_abandon(request);
    if (connection->export) {
        struct request *next;
        for (request = TAILQ_FIRST(&connection->export->waiting); request; request = next) {
            next = TAILQ_NEXT(request, link);
            if (request->connection == connection)
                request_abandon(request);
        }
    }
    connection->export = NULL;
    connection_released(connection);
}

void connection_released(struct connection *connection)
{
    connection->requests--;
    if (!connection->closed)
        connection_mark(connection);
    else if (connection->requests == 0)
        thread_send_msg(thread_current(), connection_free, connection);
}

void connection_finish(struct connection *connection)
{
    connection->phase = PHASE_CLOSING;
    if (connection->receiving)
        request_abandon(connection->receiving);
    connection_mark(connection);
}

void connection_refuse(struct connection *connection, const char *why)
{
    fprintf(stderr, "blockd: %s: %s; disconnected\n", connection->peer, why);
    SPOOR_RECORD(TCP_QP_REFUSE, connection->owner, connection, why);
    SPOOR_FIRE(blockd, refused, connection->peer, why);
    connection_finish(connection);
}

/* Ends a closing connection when everything was answered. The client may still be sending: its data is read and
 * dropped for a while, or the last answer would be lost on its way. */
static void settle(struct connection *connection)
{
    if (connection->closed || connection->phase != PHASE_CLOSING || connection->requests > 0 ||
        connection_answering(connection))
        return;
    if (connection->end_of_input) {
        connection_close(connection);
    } else if (!connection->shut) {
        connection->shut = true;
        shutdown(connection->source.fd, SHUT_WR);
        connection_set_deadline(connection, LINGER_MILLISECONDS);
    }
}

/* ---- input ---- */

static enum step step(struct connection *connection)
{
    switch (connection->phase) {
    case PHASE_FLAGS:
    case PHASE_OPTIONS: return handshake_step(connection);
    case PHASE_TRANSMISSION: return request_step(connection);
    case PHASE_CLOSING: break;
    }
    connection_take(connection, connection_available(connection));
    return STEP_NEEDS_INPUT;
}

static void advance(struct connection *connection)
{
    enum step result = STEP_AGAIN;
    while (!connection->closed && result == STEP_AGAIN)
        result = step(connection);
    connection->blocked = result == STEP_BLOCKED;
}

static void input_ended(struct connection *connection)
{
    connection->end_of_input = true;
    if (connection->phase < PHASE_TRANSMISSION)
        connection_close(connection);
    else if (connection->receiving || connection_available(connection) > 0)
        connection_refuse(connection, "it left within a request");
    else
        connection_finish(connection);
}

static void receive(struct connection *connection)
{
    for (ssize_t budget = READ_BUDGET; budget > 0 && !connection->closed && !connection->blocked;) {
        void *place = NULL;
        size_t room = 0;
        const unsigned left = connection_available(connection);
        if (left == 0 && connection->phase == PHASE_TRANSMISSION)
            room = request_receive_place(connection, &place);
        const bool direct = room > 0;
        if (!direct) {
            memmove(connection->input, connection_peek(connection), left);
            connection->input_begin = 0;
            connection->input_end = left;
            place = connection->input + left;
            room = sizeof connection->input - left;
        }
        const ssize_t count = recv(connection->source.fd, place, room, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (count < 0) {
            connection_close(connection);
        } else if (count == 0) {
            input_ended(connection);
            break;
        } else {
            if (direct)
                connection->receiving->received += (uint32_t)count;
            else
                connection->input_end += (unsigned)count;
            budget -= count;
            advance(connection);
        }
    }
}

/* ---- output ---- */

/* Judges the result of a call that sends. Returns false when the socket takes no more; after other errors the
 * connection is closed. */
static bool sent(struct connection *connection, ssize_t *count)
{
    if (*count >= 0)
        return true;
    if (errno == EINTR) {
        *count = 0;
        return true;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        connection_close(connection);
    return false;
}

static void flush_answer(struct connection *connection)
{
    while (connection_answering(connection)) {
        ssize_t count = send(connection->source.fd, connection->answer + connection->answer_sent,
                             connection->answer_length - connection->answer_sent, MSG_NOSIGNAL);
        if (!sent(connection, &count))
            return;
        connection->answer_sent += (size_t)count;
    }
    free(connection->answer);
    connection->answer = NULL;
    connection->answer_length = connection->answer_sent = 0;
}

static void flush_replies(struct connection *connection)
{
    while (!connection->closed && !TAILQ_EMPTY(&connection->replies)) {
        struct iovec parts[PARTS];
        struct msghdr message = {.msg_iov = parts};
        struct request *request;
        TAILQ_FOREACH(request, &connection->replies, link)
        {
            if (message.msg_iovlen + 2 > PARTS)
                break;
            message.msg_iovlen += request_reply_parts(request, parts + message.msg_iovlen);
        }
        ssize_t count = sendmsg(connection->source.fd, &message, MSG_NOSIGNAL);
        if (!sent(connection, &count))
            return;
        while (count > 0)
            count -= (ssize_t)request_reply_sent(TAILQ_FIRST(&connection->replies), (uint64_t)count);
    }
}

static void flush(struct connection *connection)
{
    flush_answer(connection);
    if (!connection->closed && !connection_answering(connection))
        flush_replies(connection);
}

static void connection_ready(void *context, uint32_t events)
{
    struct connection *connection = context;
    if (events & EPOLLERR || (events & EPOLLHUP && (connection->blocked || connection->end_of_input))) {
        connection_close(connection);
        return;
    }
    if (events & (EPOLLIN | EPOLLHUP))
        receive(connection);
    if (!connection->closed)
        connection_mark(connection);
}

/* ---- the group ---- */

static void look_at_deadlines(struct poll_group *group)
{
    const uint64_t now = clock_milliseconds();
    struct connection *connection, *next;
    if (now - group->looked < LOOK_MILLISECONDS)
        return;
    group->looked = now;
    for (connection = TAILQ_FIRST(&group->connections); connection; connection = next) {
        next = TAILQ_NEXT(connection, link);
        if (!connection->deadline || connection->deadline > now)
            continue;
        if (connection->phase != PHASE_CLOSING)
            fprintf(stderr, "blockd: %s: the handshake took too long; disconnected\n", connection->peer);
        connection_close(connection);
    }
}

static int poll_group_poll(void *context)
{
    struct poll_group *group = context;
    struct connection *connection;
    while ((connection = TAILQ_FIRST(&group->dirty))) {
        flush(connection); /* a request that is released meanwhile finds the connection marked already */
        if (connection->closed)
            continue;
        TAILQ_REMOVE(&group->dirty, connection, dirty_link);
        connection->dirty = false;
        if (connection->blocked)
            advance(connection);
        settle(connection);
        update_interest(connection);
    }
    if (group->deadlines == 0)
        return -1;
    look_at_deadlines(group);
    return LOOK_MILLISECONDS;
}

int poll_group_create(void *owner, void *context)
{
    struct poll_group *group = context;
    (void)owner;
    TAILQ_INIT(&group->exports);
    TAILQ_INIT(&group->connections);
    TAILQ_INIT(&group->dirty);
    group->poller = poller_register(poll_group_poll, group);
    return 0;
}

void poll_group_destroy(void *owner, void *context)
{
    struct poll_group *group = context;
    (void)owner;
    poller_unregister(group->poller);
}

void poll_group_close_connections(struct poll_group *group)
{
    struct connection *connection;
    while ((connection = TAILQ_FIRST(&group->connections)))
        connection_close(connection);
}

/* ---- the beginning ---- */

static void connection_begin(void *context)
{
    struct connection *connection = context;
    const int on = 1;
    connection->channel = get_io_channel(connection->source.context);
    if (!connection->channel) {
        close(connection->source.fd);
        atomic_fetch_sub(connection->count, 1);
        free(connection);
        return;
    }
    connection->group = io_channel_context(connection->channel);
    connection->source.context = connection;
    connection->source.ready = connection_ready;
    connection->owner = spoor_owner_register(&spoor_owner_tcp_qpair, connection->peer);
    TAILQ_INIT(&connection->replies);
    TAILQ_INSERT_TAIL(&connection->group->connections, connection, link);
    SPOOR_RECORD(TCP_QP_CONNECT, connection->owner, connection, connection->peer);
    SPOOR_FIRE(blockd, connected, thread_id(thread_current()), connection->peer);
    /* On a unix socket this has no meaning and fails. */
    setsockopt(connection->source.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->interest = EPOLLIN;
    connection_set_deadline(connection, HANDSHAKE_MILLISECONDS);
    if (thread_watch(&connection->source, connection->interest) < 0)
        connection_close(connection);
    else
        handshake_greet(connection);
}

void connection_start(struct thread *thread, struct io_device *groups, int fd, const char *peer,
                      _Atomic unsigned *count)
{
    struct connection *connection = memory_get(sizeof *connection);
    connection->source.fd = fd;
    connection->source.context = groups; /* until the connection begins */
    connection->count = count;
    snprintf(connection->peer, sizeof connection->peer, "%s", peer);
    thread_send_msg(thread, connection_begin, connection);
}
