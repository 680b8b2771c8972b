/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: the upper layer. Each lives from its header to the last byte of its answer:
 * new, needs a buffer, gets its data (writes), ready, executed by the block device, answered. */
#ifndef BLOCKD_REQUEST_H
#define BLOCKD_REQUEST_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "bdev.h"
#include "connection.h"
#include "nbd.h"

enum request_state {
    REQUEST_NEEDS_BUFFER,
    REQUEST_RECEIVING,
    REQUEST_WAITING,
    REQUEST_AT_WORK,
    REQUEST_REPLYING
};

struct request {
    struct connection *connection;
    struct group_export *export;
    enum request_state state;
    enum nbd_command command;
    uint16_t flags;
    uint32_t length, received;
    uint64_t handle, offset;
    uint32_t error; /* an error of the protocol; 0: none */
    void *data;     /* NULL: the data that the client sends is dropped */
    struct bdev_io io;
    struct nbd_reply reply;
    bool sending;  /* the answer was given to the socket, at least in part */
    uint64_t sent; /* how many bytes of the answer were sent */
    TAILQ_ENTRY(request) link;
};

/* The next step of a connection in transmission. */
enum step request_step(struct connection *connection);
/* Sets *place to where the data that the client sends now belongs. Returns how much is expected, 0: none can be
 * stored. */
uint32_t request_receive_place(struct connection *connection, void **place);

/* Gives the request to the block device, once the export is active. */
void request_submit(struct request *request);

/* Describes the unsent part of the answer in up to two pieces. Returns their number. */
unsigned request_reply_parts(struct request *request, struct iovec parts[2]);
/* Called when up to `length` bytes of the answer were sent. Returns how many belonged to this answer; the request
 * is released with the last byte. */
uint64_t request_reply_sent(struct request *request, uint64_t length);

/* For a connection that ends: releases the request unless it is at work. */
void request_abandon(struct request *request);
void request_release(struct request *request);

#endif
