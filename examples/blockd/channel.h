/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel is what a device keeps on each thread that uses it. A device is anything that many threads use: a block
 * device, the target with its poll groups. To do something to a device on every thread, a function is sent to each
 * of its channels. */
#ifndef BLOCKD_CHANNEL_H
#define BLOCKD_CHANNEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

struct io_channel;
struct io_channel_iter;

struct io_device {
    const char *name;
    struct thread_set *set;
    uint64_t context_size;                     /* size of what a channel holds for the device */
    int (*create)(void *owner, void *context); /* 0 or -errno */
    void (*destroy)(void *owner, void *context);
    void *owner;

    /* Private. */
    pthread_mutex_t lock;
    uint64_t threads; /* bit i: thread i + 1 has a channel */
    bool unregistering;
    struct thread *unregistered_by;
    thread_fn unregistered;
};

typedef void (*io_channel_fn)(struct io_channel_iter *iter);
typedef void (*io_channel_done_fn)(void *context, int status);

void io_device_register(struct io_device *device);

/* Calls done(device->owner) in the calling thread when the last channel is gone. */
void io_device_unregister(struct io_device *device, thread_fn done);

/* Returns the calling thread's channel, which is made at the first call; each get needs one put. NULL: it could not
 * be made. */
struct io_channel *get_io_channel(struct io_device *device);
void put_io_channel(struct io_channel *channel);
void *io_channel_context(struct io_channel *channel);

/* Calls fn in each thread that has a channel, one after another; fn, or something later, calls
 * for_each_channel_continue in the same thread. A status other than 0 ends the walk. done is called in the
 * calling thread. */
void for_each_channel(struct io_device *device, io_channel_fn fn, void *context, io_channel_done_fn done);
void for_each_channel_continue(struct io_channel_iter *iter, int status);
void *io_channel_iter_context(const struct io_channel_iter *iter);
struct io_channel *io_channel_iter_channel(const struct io_channel_iter *iter);

#endif
