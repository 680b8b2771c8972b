/* SPDX-License-Identifier: BSD-3-Clause */
/* Block devices: the lower layer. The submitter of an I/O is called back when it is done, in the same thread, and
 * never before bdev_submit has returned. A device is a table of functions; the kinds of devices are in device.c. */
#ifndef BLOCKD_BDEV_H
#define BLOCKD_BDEV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "channel.h"

enum bdev_io_type { BDEV_READ, BDEV_WRITE, BDEV_FLUSH, BDEV_TRIM, BDEV_WRITE_ZEROES };

struct bdev_io {
    enum bdev_io_type type;
    bool keep_space; /* BDEV_WRITE_ZEROES: the space stays allocated */
    uint64_t offset; /* in bytes; within the device */
    uint32_t length;
    void *data;       /* read, write: `length` bytes */
    const void *from; /* the request that it is done for, for the recorder */
    void (*done)(struct bdev_io *io, int status);

    /* Private. */
    struct bdev_channel *channel;
    uint32_t position;
    STAILQ_ENTRY(bdev_io) link;
};

struct bdev;
struct bdev_kind {
    const char *name;
    int (*open)(struct bdev *bdev); /* 0 or -errno */
    void (*close)(struct bdev *bdev);
    /* Does a part of the I/O: `length` bytes at `offset`, from or to `data`. Returns 0 or -errno. */
    int (*execute)(struct bdev *bdev, const struct bdev_io *io, uint64_t offset, uint32_t length, void *data);
};

struct bdev {
    char name[256];
    const struct bdev_kind *kind;
    uint64_t size; /* in bytes */
    uint32_t owner;
    void *memory; /* used by the kind: memory or a descriptor */
    struct io_device device;
    thread_fn closed;
    void *closed_context;
};

extern const struct bdev_kind *const bdev_kinds[]; /* ends with NULL */
const struct bdev_kind *bdev_find_kind(const char *name);

/* Makes and opens a device. Returns 0 or -errno. */
int bdev_open(struct bdev **bdev, const struct bdev_kind *kind, const char *name, uint64_t size,
              struct thread_set *set);
/* Closes and frees the device once no thread has a channel of it any more; then calls closed(context) in this
 * thread. */
void bdev_close(struct bdev *bdev, thread_fn closed, void *context);

/* Starts an I/O; `channel` comes from get_io_channel(&bdev->device). */
void bdev_submit(struct io_channel *channel, struct bdev_io *io);

#endif
