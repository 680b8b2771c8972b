/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles requests, from header to answer. A connection has as many under way as REQUESTS_MAX and BUFFERED_MAX
 * allow; then it is not read until some were answered, which does not affect other connections. */
#include "request.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bdev_trace.h"
#include "probes.h"
#include "request_trace.h"

SPOOR_TRACEPOINT_HERE(TCP_REQ_NEW);
SPOOR_TRACEPOINT_HERE(TCP_REQ_NEED_BUFFER);
SPOOR_TRACEPOINT_HERE(TCP_REQ_TX_H_TO_C);
SPOOR_TRACEPOINT_HERE(TCP_REQ_RDY_TO_EXECUTE);
SPOOR_TRACEPOINT_HERE(TCP_REQ_EXECUTED);
SPOOR_TRACEPOINT_HERE(TCP_REQ_RDY_TO_COMPLETE);
SPOOR_TRACEPOINT_HERE(TCP_REQ_TRANSFER_C2H);
SPOOR_TRACEPOINT_HERE(TCP_REQ_COMPLETED);

/* The block layer does not know that an I/O is done for a request: this layer declares it. */
SPOOR_RELATION(BDEV_IO_START, ctx, tcp_request);
SPOOR_RELATION(BDEV_IO_DONE, ctx, tcp_request);

enum { REQUESTS_MAX = 128, BUFFERED_MAX = NBD_LENGTH_MAX + (1 << 20) };

#define RECORD(name, request)                                                                                \
    SPOOR_RECORD(name, (request)->connection->owner, (request), (const void *)(request)->connection)

struct command {
    bool known;
    enum bdev_io_type type;
    uint16_t flags;
    /* ranged: has offset and length; sends: the client sends data; receives: it receives some */
    bool ranged, sends, receives;
    uint32_t beyond; /* the error for what lies outside of the export */
};

static const struct command commands[] = {
    [NBD_CMD_READ] = {true, BDEV_READ, NBD_CMD_FLAG_FUA, true, false, true, NBD_EINVAL},
    [NBD_CMD_WRITE] = {true, BDEV_WRITE, NBD_CMD_FLAG_FUA, true, true, false, NBD_ENOSPC},
    [NBD_CMD_FLUSH] = {true, BDEV_FLUSH, NBD_CMD_FLAG_FUA, false, false, false, 0},
    [NBD_CMD_TRIM] = {true, BDEV_TRIM, NBD_CMD_FLAG_FUA, true, false, false, NBD_ENOSPC},
    [NBD_CMD_WRITE_ZEROES] = {true, BDEV_WRITE_ZEROES, NBD_CMD_FLAG_FUA | NBD_CMD_FLAG_NO_HOLE, true, false,
                              false, NBD_ENOSPC},
};

static const struct command *request_command(const struct request *request)
{
    static const struct command unknown;
    return request->command < sizeof commands / sizeof commands[0] ? &commands[request->command] : &unknown;
}

/* ---- answers ---- */

void request_release(struct request *request)
{
    struct connection *connection = request->connection;
    RECORD(TCP_REQ_COMPLETED, request);
    if (request->data)
        connection->buffered -= request->length;
    free(request->data);
    free(request);
    connection_released(connection);
}

static void request_reply(struct request *request)
{
    struct connection *connection = request->connection;
    RECORD(TCP_REQ_RDY_TO_COMPLETE, request);
    request->reply = (struct nbd_reply){htobe32(NBD_SIMPLE_MAGIC), htobe32(request->error), request->handle};
    request->state = REQUEST_REPLYING;
    TAILQ_INSERT_TAIL(&connection->replies, request, link);
    connection_mark(connection);
}

static uint64_t reply_data_length(const struct request *request)
{
    return request_command(request)->receives && request->error == 0 ? request->length : 0;
}

unsigned request_reply_parts(struct request *request, struct iovec parts[2])
{
    const uint64_t head = sizeof request->reply, data = reply_data_length(request);
    unsigned count = 0;
    if (!request->sending)
        RECORD(TCP_REQ_TRANSFER_C2H, request);
    request->sending = true;
    if (request->sent < head)
        parts[count++] = (struct iovec){(char *)&request->reply + request->sent, head - request->sent};
    if (data > 0) {
        const uint64_t from = request->sent < head ? 0 : request->sent - head;
        parts[count++] = (struct iovec){(char *)request->data + from, data - from};
    }
    return count;
}

uint64_t request_reply_sent(struct request *request, uint64_t length)
{
    struct connection *connection = request->connection;
    const uint64_t left = sizeof request->reply + reply_data_length(request) - request->sent;
    if (length < left) {
        request->sent += length;
        return length;
    }
    SPOOR_FIRE(blockd, request_done, be64toh(request->handle), request->command, request->offset,
               request->length, request->error, request->export->export->name);
    TAILQ_REMOVE(&connection->replies, request, link);
    request_release(request);
    return left;
}

/* ---- execution ---- */

static uint32_t error_of_status(int status)
{
    switch (status) {
    case 0: return 0;
    case -ENOMEM: return NBD_ENOMEM;
    default: return NBD_EIO;
    }
}

static void request_executed(struct bdev_io *io, int status)
{
    struct request *request = (struct request *)((char *)io - offsetof(struct request, io));
    struct group_export *export = request->export;
    RECORD(TCP_REQ_EXECUTED, request);
    request->error = error_of_status(status);
    if (request->connection->closed)
        request_release(request);
    else
        request_reply(request);
    group_export_finished(export);
}

void request_submit(struct request *request)
{
    request->state = REQUEST_AT_WORK;
    request->export->at_work++;
    request->io = (struct bdev_io){.type = request_command(request)->type,
                                   .keep_space = request->flags & NBD_CMD_FLAG_NO_HOLE,
                                   .offset = request_command(request)->ranged ? request->offset : 0,
                                   .length = request_command(request)->ranged ? request->length : 0,
                                   .data = request->data,
                                   .from = request,
                                   .done = request_executed};
    bdev_submit(request->export->channel, &request->io);
}

static void request_execute(struct request *request)
{
    if (request->error) {
        request_reply(request);
        return;
    }
    RECORD(TCP_REQ_RDY_TO_EXECUTE, request);
    if (request->export->state == EXPORT_ACTIVE) {
        request_submit(request);
    } else {
        request->state = REQUEST_WAITING;
        TAILQ_INSERT_TAIL(&request->export->waiting, request, link);
    }
}

void request_abandon(struct request *request)
{
    struct connection *connection = request->connection;
    if (connection->receiving == request)
        connection->receiving = NULL;
    else if (request->state == REQUEST_WAITING)
        TAILQ_REMOVE(&request->export->waiting, request, link);
    else
        TAILQ_REMOVE(&connection->replies, request, link);
    request_release(request);
}

/* ---- headers ---- */

/* Returns what is wrong with a request, as an error of the protocol; 0: nothing. */
static uint32_t request_check(const struct request *request)
{
    const struct command *command = request_command(request);
    const uint64_t size = request->export->export->bdev->size;
    if (!command->known || request->flags & ~command->flags)
        return NBD_EINVAL;
    if (!command->ranged)
        return 0;
    if (request->length == 0 || ((command->sends || command->receives) && request->length > NBD_LENGTH_MAX))
        return NBD_EINVAL;
    return request->offset > size || request->length > size - request->offset ? command->beyond : 0;
}

/* Answers with the error, then ends the connection. */
static void request_refuse(struct request *request, const char *why)
{
    struct connection *connection = request->connection;
    request->error = NBD_EINVAL;
    request_reply(request);
    connection_refuse(connection, why);
}

/* Takes a header and sets what follows from it alone. */
static enum step header_step(struct connection *connection)
{
    struct nbd_request header;
    if (connection_available(connection) < sizeof header)
        return STEP_NEEDS_INPUT;
    if (connection->requests >= REQUESTS_MAX)
        return STEP_BLOCKED;
    memcpy(&header, connection_peek(connection), sizeof header);
    connection_take(connection, sizeof header);
    const bool good = header.magic == htobe32(NBD_REQUEST_MAGIC);
    if (good && be16toh(header.command) == NBD_CMD_DISC) {
        connection_finish(connection);
        return STEP_AGAIN;
    }

    struct request *request = memory_get(sizeof *request);
    request->connection = connection;
    request->export = connection->export;
    request->command = be16toh(header.command);
    request->flags = be16toh(header.flags);
    request->handle = header.handle; /* returned to the client unchanged */
    request->offset = be64toh(header.offset);
    request->length = be32toh(header.length);
    connection->requests++;
    RECORD(TCP_REQ_NEW, request);
    if (!good) {
        request_refuse(request, "what it sent is not a request of the protocol");
        return STEP_AGAIN;
    }
    const struct command *command = request_command(request);
    if (command->sends && request->length > NBD_LENGTH_MAX) {
        request_refuse(request, "it wants to write more at once than allowed");
        return STEP_AGAIN;
    }
    request->error = request_check(request);
    if (command->sends || (command->receives && !request->error)) {
        RECORD(TCP_REQ_NEED_BUFFER, request);
        connection->receiving = request;
    } else {
        request_execute(request);
    }
    return STEP_AGAIN;
}

/* ---- data ---- */

static enum step buffer_step(struct connection *connection)
{
    struct request *request = connection->receiving;
    const bool sends = request_command(request)->sends;
    if (!request->error) {
        if (connection->buffered > 0 && connection->buffered + request->length > BUFFERED_MAX)
            return STEP_BLOCKED;
        request->data = malloc(request->length);
        if (request->data)
            connection->buffered += request->length;
        else
            request->error = NBD_ENOMEM; /* the data sent with it is read and dropped */
    }
    if (sends) {
        RECORD(TCP_REQ_TX_H_TO_C, request);
        request->state = REQUEST_RECEIVING;
    } else {
        connection->receiving = NULL;
        request_execute(request);
    }
    return STEP_AGAIN;
}

static enum step data_step(struct connection *connection)
{
    struct request *request = connection->receiving;
    const uint32_t left = request->length - request->received, available = connection_available(connection);
    const uint32_t length = left < available ? left : available;
    if (request->data)
        memcpy((char *)request->data + request->received, connection_peek(connection), length);
    connection_take(connection, length);
    request->received += length;
    if (request->received < request->length)
        return STEP_NEEDS_INPUT;
    connection->receiving = NULL;
    request_execute(request);
    return STEP_AGAIN;
}

uint32_t request_receive_place(struct connection *connection, void **place)
{
    struct request *request = connection->receiving;
    if (!request || request->state != REQUEST_RECEIVING || !request->data)
        return 0;
    *place = (char *)request->data + request->received;
    return request->length - request->received;
}

enum step request_step(struct connection *connection)
{
    if (!connection->receiving)
        return header_step(connection);
    return connection->receiving->state == REQUEST_NEEDS_BUFFER ? buffer_step(connection)
                                                                : data_step(connection);
}
