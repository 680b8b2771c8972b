/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel is used by its own thread alone. What threads share about a device is one word of bits, under a lock
 * that is held for a few instructions: no thread waits for another's work. */
#include "channel.h"

#include <stdlib.h>

#include "channel_trace.h"

SPOOR_TRACEPOINT_HERE(THREAD_IOCH_GET);
SPOOR_TRACEPOINT_HERE(THREAD_IOCH_PUT);

struct io_channel {
    struct io_channel *next;
    struct io_device *device;
    uint32_t references;
    bool leaving; /* a message to destroy it is on its way */
    _Alignas(16) char context[];
};

struct io_channel_iter {
    struct io_device *device;
    io_channel_fn fn;
    void *context;
    io_channel_done_fn done;
    struct thread *origin;
    struct io_channel *channel;
    unsigned at; /* index of the thread */
    int status;
};

static uint64_t own_bit(void)
{
    return UINT64_C(1) << (thread_id(thread_current()) - 1);
}

void io_device_register(struct io_device *device)
{
    pthread_mutex_init(&device->lock, NULL);
    device->threads = 0;
    device->unregistering = false;
}

static void finish_unregister(void *context)
{
    struct io_device *device = context;
    pthread_mutex_destroy(&device->lock);
    device->unregistered(device->owner);
}

void io_device_unregister(struct io_device *device, thread_fn done)
{
    pthread_mutex_lock(&device->lock);
    device->unregistering = true;
    device->unregistered = done;
    device->unregistered_by = thread_current();
    const bool unused = device->threads == 0;
    pthread_mutex_unlock(&device->lock);
    if (unused)
        thread_send_msg(thread_current(), finish_unregister, device);
}

static struct io_channel *own_channel(const struct io_device *device)
{
    struct io_channel *channel = *thread_channels(thread_current());
    while (channel && channel->device != device)
        channel = channel->next;
    return channel;
}

struct io_channel *get_io_channel(struct io_device *device)
{
    struct io_channel *channel = own_channel(device);
    if (!channel) {
        channel = memory_get(sizeof *channel + device->context_size);
        channel->device = device;
        if (device->create(device->owner, channel->context) < 0) {
            free(channel);
            return NULL;
        }
        struct io_channel **list = thread_channels(thread_current());
        channel->next = *list;
        *list = channel;
        pthread_mutex_lock(&device->lock);
        device->threads |= own_bit();
        pthread_mutex_unlock(&device->lock);
    }
    channel->references++;
    SPOOR_RECORD(THREAD_IOCH_GET, SPOOR_NO_OWNER, 0, device->name, channel->references);
    return channel;
}

/* Destroys a channel a turn after its last reference was put: its last user may still be at work at that moment. */
static void destroy_channel(void *context)
{
    struct io_channel *channel = context;
    struct io_device *device = channel->device;
    channel->leaving = false;
    if (channel->references > 0) /* it is in use again */
        return;
    struct io_channel **link = thread_channels(thread_current());
    while (*link != channel)
        link = &(*link)->next;
    *link = channel->next;
    device->destroy(device->owner, channel->context);
    free(channel);
    pthread_mutex_lock(&device->lock);
    device->threads &= ~own_bit();
    const bool last = device->unregistering && device->threads == 0;
    pthread_mutex_unlock(&device->lock);
    if (last)
        thread_send_msg(device->unregistered_by, finish_unregister, device);
}

void put_io_channel(struct io_channel *channel)
{
    channel->references--;
    SPOOR_RECORD(THREAD_IOCH_PUT, SPOOR_NO_OWNER, 0, channel->device->name, channel->references);
    if (channel->references == 0 && !channel->leaving) {
        channel->leaving = true;
        thread_send_msg(thread_current(), destroy_channel, channel);
    }
}

void *io_channel_context(struct io_channel *channel)
{
    return channel->context;
}

/* ---- walks ---- */

static void call_channel(void *context);

static void call_completion(void *context)
{
    struct io_channel_iter *iter = context;
    iter->done(iter->context, iter->status);
    free(iter);
}

/* Goes to the next thread that has a channel, from index `from` on. */
static void walk(struct io_channel_iter *iter, unsigned from)
{
    struct io_device *device = iter->device;
    pthread_mutex_lock(&device->lock);
    const uint64_t threads = device->threads;
    pthread_mutex_unlock(&device->lock);
    if (iter->status == 0) {
        for (iter->at = from; iter->at < device->set->count; iter->at++) {
            if (threads >> iter->at & 1) {
                thread_send_msg(device->set->threads[iter->at], call_channel, iter);
                return;
            }
        }
    }
    thread_send_msg(iter->origin, call_completion, iter);
}

static void call_channel(void *context)
{
    struct io_channel_iter *iter = context;
    iter->channel = own_channel(iter->device);
    if (iter->channel)
        iter->fn(iter);
    else /* the channel has been destroyed meanwhile */
        walk(iter, iter->at + 1);
}

__attribute__((noinline)) void for_each_channel(struct io_device *device, io_channel_fn fn, void *context,
                                                io_channel_done_fn done)
{
    struct io_channel_iter *iter = memory_get(sizeof *iter);
    *iter = (struct io_channel_iter){
        .device = device, .fn = fn, .context = context, .done = done, .origin = thread_current()};
    walk(iter, 0);
}

void for_each_channel_continue(struct io_channel_iter *iter, int status)
{
    iter->status = status;
    walk(iter, iter->at + 1);
}

void *io_channel_iter_context(const struct io_channel_iter *iter)
{
    return iter->context;
}

struct io_channel *io_channel_iter_channel(const struct io_channel_iter *iter)
{
    return iter->channel;
}
