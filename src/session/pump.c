/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps reading events while handling them is slow.
 *
 * Naming an address can mean reading a large file, and meanwhile the rings would fill up. Where a script prints such names,
 * records are first copied from the rings into memory and handled from there, while a thread goes on copying. The same
 * thread reads which code processes map. Records that have to wait for events of recordings (live_replay.c) wait here,
 * too. Other scripts handle records where they lie in the rings.
 *
 * Invariant: the rings and the mappings are read with the lock held; `acting` is the main thread's alone. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "kernel/mappings.h"
#include "session/state.h"
#include "sym/process/process.h"

enum {
    PAUSE_NS = 2000000,
    MAPPINGS_BYTES = 512 << 10, /* of each CPU, for some thousand records */
    WAITING_MIN = 64 << 10,
    WAITING_KEPT = 1 << 20, /* a larger buffer is made small when its records were handled */
    /* then the rings fill up, and count what is lost. All of this is still printed at the end */
    WAITING_MAX = 8 << 20,
};

struct batch { /* records: the length of each, its bytes, and zeros up to a multiple of 8 */
    uint8_t *bytes;
    size_t size, room;
};

struct pump {
    struct session *session;
    struct mappings *mappings; /* NULL: the kernel does not report them */
    struct processes *processes;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_thread, is_acting, stops;
    struct batch waiting, acting;
    size_t at; /* offset of the next record in `acting` */
};

static int keep(void *state, const uint8_t *record, size_t length)
{
    struct batch *batch = state;
    size_t need = sizeof(uint64_t) + ((length + 7) & ~(size_t)7);
    if (need > batch->room - batch->size) {
        size_t room = batch->room;
        while (room - batch->size < need)
            room *= 2;
        uint8_t *grown = room <= WAITING_MAX ? realloc(batch->bytes, room) : NULL;
        if (!grown)
            return -ENOBUFS;
        batch->bytes = grown;
        batch->room = room;
    }
    uint64_t size = length;
    memcpy(batch->bytes + batch->size, &size, sizeof size);
    memcpy(batch->bytes + batch->size + sizeof size, record, length);
    batch->size += need;
    return 0;
}

static void hear(void *state, const struct mapping_event *event)
{
    static const char deleted[] = " (deleted)";
    struct pump *pump = state;
    if (event->parent) {
        process_forked(pump->processes, event->pid, event->parent, event->time);
        return;
    }
    struct code_mapping mapping = {event->start, event->start + event->length, event->offset, event->time,
                                   NULL};
    struct module module = {.device = event->device, .inode = event->inode, .generation = event->generation};
    char path[4096];
    size_t length = strnlen(event->path, sizeof path - 1), tail = sizeof deleted - 1;
    module.is_deleted = event->inode && length > tail && !memcmp(event->path + length - tail, deleted, tail);
    length -= module.is_deleted ? tail : 0;
    memcpy(path, event->path, length);
    path[length] = '\0';
    process_mapped(pump->processes, event->pid, &mapping, &module, path);
}

/* Called with the lock held. Reads mappings after records, because code that a record has addresses of was mapped
 * before. */
static int fill(struct pump *pump, bool drain)
{
    struct host *host = pump->session->host;
    int count = host->operations->consume(host, drain, keep, &pump->waiting);
    if (pump->mappings && mappings_consume(pump->mappings, hear, pump))
        processes_miss_events(pump->processes);
    return count;
}

static void *thread(void *state)
{
    struct pump *pump = state;
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    pthread_mutex_lock(&pump->lock);
    while (!pump->stops) {
        if (!pump->is_acting) {
            pthread_cond_wait(&pump->changed, &pump->lock);
            continue;
        }
        pthread_mutex_unlock(&pump->lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&pump->lock);
        if (pump->is_acting && !pump->stops)
            fill(pump, false);
    }
    pthread_mutex_unlock(&pump->lock);
    return NULL;
}

/* Gives both buffers their least size, which they keep: an exit() that is in the rings must be read without memory, too. */
static bool make_buffers(struct pump *pump)
{
    pump->waiting = (struct batch){.bytes = malloc(WAITING_MIN), .room = WAITING_MIN};
    pump->acting = (struct batch){.bytes = malloc(WAITING_MIN), .room = WAITING_MIN};
    if (pump->waiting.bytes && pump->acting.bytes)
        return true;
    free(pump->waiting.bytes);
    free(pump->acting.bytes);
    return false;
}

int pump_start(struct session *session, struct processes *processes)
{
    if (session->pump)
        return 0;
    struct pump *pump = calloc(1, sizeof *pump);
    if (!pump || !make_buffers(pump)) {
        free(pump);
        return -ENOMEM;
    }
    pump->session = session;
    pump->processes = processes;
    pthread_mutex_init(&pump->lock, NULL);
    pthread_cond_init(&pump->changed, NULL);
    if (processes && !mappings_open(&pump->mappings, MAPPINGS_BYTES, false))
        processes_follow_events(processes);
    session->pump = pump;
    return 0;
}

void pump_run(struct session *session)
{
    struct pump *pump = session->pump;
    if (pump && !pump->has_thread)
        pump->has_thread = !thread_start(&pump->thread, thread, pump);
}

void pump_stop(struct session *session)
{
    struct pump *pump = session->pump;
    if (!pump)
        return;
    pthread_mutex_lock(&pump->lock);
    pump->stops = true;
    pthread_cond_signal(&pump->changed);
    pthread_mutex_unlock(&pump->lock);
    if (pump->has_thread)
        pthread_join(pump->thread, NULL);
    mappings_close(pump->mappings);
    free(pump->waiting.bytes);
    free(pump->acting.bytes);
    pthread_mutex_destroy(&pump->lock);
    pthread_cond_destroy(&pump->changed);
    free(pump);
    session->pump = NULL;
}

static void set_acting(struct pump *pump, bool is_acting)
{
    pump->is_acting = is_acting;
    pthread_cond_signal(&pump->changed);
}

/* Whether there is a record to hand over, of the time `until` or before. */
static bool is_due(const struct pump *pump, uint64_t until)
{
    struct image_record header;
    if (pump->at == pump->acting.size)
        return false;
    memcpy(&header, pump->acting.bytes + pump->at + sizeof(uint64_t),
           sizeof header); /* every record has a header */
    return header.time <= until;
}

bool pump_is_due(const struct session *session, uint64_t until)
{
    const struct pump *pump = session->pump;
    return pump->at == pump->acting.size ? pump->waiting.size != 0 : is_due(pump, until);
}

/* As consume() of struct host: hands over the records that are there, up to the time `until`. Returns their number,
 * or what a handler returned that was not 0. */
int pump_consume(struct session *session, enum pump_mode mode, uint64_t until, host_record *record,
                 void *state)
{
    struct pump *pump = session->pump;
    bool drain = mode == PUMP_DRAIN, fills = mode != PUMP_KEPT;
    int total = 0, answer = 0;
    for (;;) {
        pthread_mutex_lock(&pump->lock);
        if (fills) {
            int error = fill(pump, drain);
            fills = drain && error == -ENOBUFS; /* the rest, when there is room again */
            if (error < 0 && error != -ENOBUFS)
                answer = error;
        }
        if (pump->at == pump->acting.size && pump->waiting.size) {
            struct batch done = pump->acting;
            uint8_t *less = done.room > WAITING_KEPT ? realloc(done.bytes, WAITING_MIN) : NULL;
            if (less)
                done = (struct batch){.bytes = less, .room = WAITING_MIN};
            pump->acting = pump->waiting;
            pump->waiting = (struct batch){.bytes = done.bytes, .room = done.room};
            pump->at = 0;
        }
        bool any = is_due(pump, until) && !answer;
        set_acting(pump, any);
        pthread_mutex_unlock(&pump->lock);
        if (!any) {
            if (fills)
                session->out.failed = true; /* there is no memory for even one record */
            return answer ? answer : total;
        }
        while (is_due(pump, until) && !answer) {
            uint64_t length;
            const uint8_t *at = pump->acting.bytes + pump->at;
            memcpy(&length, at, sizeof length);
            pump->at += sizeof length + ((length + 7) & ~(uint64_t)7);
            answer = record(state, at + sizeof length, length);
            total += !answer;
        }
        if ((!drain && until == UINT64_MAX) || answer) {
            pthread_mutex_lock(&pump->lock);
            set_acting(pump, false);
            pthread_mutex_unlock(&pump->lock);
            return answer ? answer : total;
        }
    }
}
