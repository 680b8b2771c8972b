/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/follower.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "reader/drain_format.h"
#include "reader/format.h"

enum {
    MILLISECOND = 1000000,
    /* how often it is checked whether the program lives, which takes a few ms of /proc */
    ASK_AFTER = 100 * MILLISECOND,
    IDLE_ROUNDS = 64,     /* rounds without anything new after which pauses are longer */
    SHARE_MIN = 16 << 10, /* bytes of each ring that a round may copy, however many rings there are */
};

struct follower {
    /* The first member: copy() is handed a pointer to it. Up to `lock`, everything is the thread's alone while
     * there is one. */
    struct drain drain;
    struct pieces copied;
    uint64_t asked; /* when it was last checked whether the program lives, ns */
    bool lives;
    bool is_full;
    unsigned idle; /* rounds without anything new */

    pthread_mutex_t lock; /* guards what follows */
    struct pieces ready;
    uint64_t seen;
    int error;
    bool has_ended, stops;
    size_t rings;   /* how many the program had when it was opened, or the reader knows, if these are more */
    bool is_wanted; /* the reader has nothing left that it may use, and waits */

    size_t bytes; /* of all pieces that exist; accessed atomically */
    pthread_t thread;
    bool has_thread;
};

void pieces_add(struct pieces *pieces, struct piece *piece)
{
    piece->next = NULL;
    *(pieces->first ? &pieces->last->next : &pieces->first) = piece;
    pieces->last = piece;
}

static int copy(struct drain *drain, const void *bytes, size_t length)
{
    struct follower *follower = (struct follower *)drain;
    struct piece *piece = malloc(sizeof *piece + length);
    if (!piece)
        return -ENOMEM;
    piece->bytes = length;
    memcpy(piece->content, bytes, length);
    __atomic_fetch_add(&follower->bytes, length, __ATOMIC_RELAXED);
    pieces_add(&follower->copied, piece);
    return 0;
}

void follower_drop(struct follower *follower, struct piece *piece)
{
    __atomic_fetch_sub(&follower->bytes, piece->bytes, __ATOMIC_RELAXED);
    free(piece);
}

static void drop_all(struct follower *follower, struct pieces *pieces)
{
    for (struct piece *piece = pieces->first, *next; piece; piece = next) {
        next = piece->next;
        follower_drop(follower, piece);
    }
    *pieces = (struct pieces){0};
}

static void hand_over(struct follower *follower)
{
    struct pieces *ready = &follower->ready, *copied = &follower->copied;
    if (copied->first) {
        *(ready->first ? &ready->last->next : &ready->first) = copied->first;
        ready->last = copied->last;
    }
    *copied = (struct pieces){0};
}

/* Copies what is new. The pieces are handed over when the round is complete, so that no event is cut between
 * rounds. Returns 1: another round should come at once; 0; or -errno. */
static int look(struct follower *follower, size_t rings)
{
    struct recording *recording = follower->drain.source;
    struct text ignored = {0};
    const uint64_t time = clock_ns(CLOCK_MONOTONIC);
    const size_t share = FOLLOWER_BYTES_MAX / 2 / (rings + 1);
    if (!follower->has_thread || time - follower->asked > ASK_AFTER) {
        follower->lives = recording->format->is_live(recording);
        follower->asked = time;
    }
    follower->drain.share = share > SHARE_MIN ? share : SHARE_MIN;
    const uint64_t seen = recording_counter_now(); /* the counter is read before the rings */
    const int result =
        follower->drain.format->round(&follower->drain, follower->lives ? DRAIN_NEW : DRAIN_LAST, &ignored);
    text_free(&ignored);
    pthread_mutex_lock(&follower->lock);
    hand_over(follower);
    follower->seen = seen;
    follower->is_wanted = false;
    follower->error = result < 0 ? result : 0;
    follower->has_ended = !follower->lives;
    pthread_mutex_unlock(&follower->lock);
    return result;
}

static void pause_thread(unsigned milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * MILLISECOND}, NULL);
}

int follower_step(struct follower *follower)
{
    pthread_mutex_lock(&follower->lock);
    const bool over = follower->stops || follower->has_ended || follower->error;
    const size_t rings = follower->rings;
    const bool is_wanted = follower->is_wanted;
    pthread_mutex_unlock(&follower->lock);
    if (over)
        return -1;
    const size_t bytes = __atomic_load_n(&follower->bytes, __ATOMIC_RELAXED);
    follower->is_full =
        !is_wanted && bytes > (follower->is_full ? FOLLOWER_BYTES_MAX / 2 : FOLLOWER_BYTES_MAX);
    const uint64_t given = follower->drain.written;
    const int result = follower->is_full ? 0 : look(follower, rings);
    follower->idle = follower->is_full || follower->drain.written != given ? 0 : follower->idle + 1;
    return result ? 0 : follower->idle < IDLE_ROUNDS ? 1 : 4;
}

static void *keep_up(void *context)
{
    struct follower *follower = context;
    for (int pause; (pause = follower_step(follower)) >= 0;)
        if (pause)
            pause_thread((unsigned)pause);
    return NULL;
}

int follower_start(struct follower *follower)
{
    if (follower->has_thread)
        return 0;
    follower->has_thread = true; /* set before, because the thread reads it */
    const int error = thread_start(&follower->thread, keep_up, follower);
    if (error)
        follower->has_thread = false;
    return error;
}

int follower_take(struct follower *follower, struct follower_look *taken)
{
    const size_t rings = follower->drain.source->source_count;
    if (!follower->has_thread && !follower->has_ended)
        look(follower, follower->rings);
    pthread_mutex_lock(&follower->lock);
    *taken = (struct follower_look){follower->ready.first, follower->seen, follower->has_ended};
    follower->ready = (struct pieces){0};
    follower->rings = rings > follower->rings ? rings : follower->rings;
    follower->is_wanted = true;
    const int error = follower->error;
    pthread_mutex_unlock(&follower->lock);
    return error;
}

int follower_make(struct recording *recording, struct follower **result, struct text *why)
{
    struct follower *follower = calloc(1, sizeof *follower);
    *result = follower;
    if (!follower)
        return -ENOMEM;
    pthread_mutex_init(&follower->lock, NULL);
    follower->rings = recording->format->rings(recording);
    follower->drain.source = recording;
    follower->drain.append = copy;
    follower->drain.file = -1;
    follower->drain.format = recording_is_spdk(recording) ? &drain_format_spdk : &drain_format_spoor;
    return follower->drain.format->open(&follower->drain, why);
}

void follower_stop(struct follower *follower)
{
    if (!follower || !follower->has_thread)
        return;
    pthread_mutex_lock(&follower->lock);
    follower->stops = true;
    pthread_mutex_unlock(&follower->lock);
    pthread_join(follower->thread, NULL);
    follower->has_thread = false;
}

void follower_free(struct follower *follower)
{
    if (!follower)
        return;
    drop_all(follower, &follower->copied);
    drop_all(follower, &follower->ready);
    follower->drain.format->close(&follower->drain);
    pthread_mutex_destroy(&follower->lock);
    free(follower);
}
