/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues of block devices. Each thread has one per device, and works on it at the end of its turn: a
 * slice of each I/O, so that a large one does not hold up those behind it. */
#include "bdev.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bdev_trace.h"

SPOOR_TRACEPOINT_HERE(BDEV_IO_START);
SPOOR_TRACEPOINT_HERE(BDEV_IO_DONE);

enum { SLICE = 1 << 20 };

struct bdev_channel {
    struct bdev *bdev;
    struct poller *poller;
    STAILQ_HEAD(, bdev_io) queue;
};

static void io_complete(struct bdev_io *io, int status)
{
    SPOOR_RECORD(BDEV_IO_DONE, io->channel->bdev->owner, io, io->from);
    io->done(io, status);
}

/* Does one slice of an I/O. Returns whether there is more to do. */
static bool io_advance(struct bdev *bdev, struct bdev_io *io, int *status)
{
    const uint32_t left = io->length - io->position, length = left < SLICE ? left : SLICE;
    *status = bdev->kind->execute(bdev, io, io->offset + io->position, length,
                                  io->data ? (char *)io->data + io->position : NULL);
    io->position += length;
    return *status == 0 && io->position < io->length;
}

static int channel_poll(void *context)
{
    struct bdev_channel *channel = context;
    STAILQ_HEAD(, bdev_io) now = STAILQ_HEAD_INITIALIZER(now);
    struct bdev_io *io;
    int status;
    STAILQ_CONCAT(&now, &channel->queue);
    while ((io = STAILQ_FIRST(&now))) {
        STAILQ_REMOVE_HEAD(&now, link);
        if (io_advance(channel->bdev, io, &status)) {
            STAILQ_INSERT_TAIL(&channel->queue, io, link);
            thread_poll_again();
        } else {
            io_complete(io, status);
        }
    }
    return -1;
}

static int channel_create(void *owner, void *context)
{
    struct bdev_channel *channel = context;
    channel->bdev = owner;
    channel->poller = poller_register(channel_poll, channel);
    STAILQ_INIT(&channel->queue);
    return 0;
}

static void channel_destroy(void *owner, void *context)
{
    struct bdev_channel *channel = context;
    (void)owner;
    poller_unregister(channel->poller);
}

void bdev_submit(struct io_channel *io_channel, struct bdev_io *io)
{
    struct bdev_channel *channel = io_channel_context(io_channel);
    io->channel = channel;
    io->position = 0;
    SPOOR_RECORD(BDEV_IO_START, channel->bdev->owner, io, io->type, io->from, io->offset, io->length);
    STAILQ_INSERT_TAIL(&channel->queue, io, link);
    thread_poll_again();
}

const struct bdev_kind *bdev_find_kind(const char *name)
{
    const struct bdev_kind *const *kind = bdev_kinds;
    while (*kind && strcmp((*kind)->name, name) != 0)
        kind++;
    return *kind;
}

int bdev_open(struct bdev **result, const struct bdev_kind *kind, const char *name, uint64_t size,
              struct thread_set *set)
{
    struct bdev *bdev = memory_get(sizeof *bdev);
    snprintf(bdev->name, sizeof bdev->name, "%s", name);
    bdev->kind = kind;
    bdev->size = size;
    const int error = kind->open(bdev);
    if (error) {
        free(bdev);
        return error;
    }
    bdev->owner = spoor_owner_register(&spoor_owner_bdev, name);
    bdev->device = (struct io_device){.name = bdev->name,
                                      .set = set,
                                      .context_size = sizeof(struct bdev_channel),
                                      .create = channel_create,
                                      .destroy = channel_destroy,
                                      .owner = bdev};
    io_device_register(&bdev->device);
    *result = bdev;
    return 0;
}

static void bdev_finish_close(void *context)
{
    struct bdev *bdev = context;
    const thread_fn closed = bdev->closed;
    void *closed_context = bdev->closed_context;
    bdev->kind->close(bdev);
    spoor_owner_unregister(bdev->owner);
    free(bdev);
    closed(closed_context);
}

void bdev_close(struct bdev *bdev, thread_fn closed, void *context)
{
    bdev->closed = closed;
    bdev->closed_context = context;
    io_device_unregister(&bdev->device, bdev_finish_close);
}
