/* SPDX-License-Identifier: BSD-3-Clause */
/* The child of a fork gets a recording of its own when it first records or calls a function of trace.h that needs
 * one: most children only exec.
 *
 * The child's recording begins with what the parent had at the time of the fork (tracepoints, which of them are
 * enabled, filter, owners), but not with its rings. What the parent added to its file after the fork is left out
 * again. */
#include "recorder/state.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void before_fork(void)
{
    recorder_lock();
}

static void in_parent(void)
{
    recorder_unlock();
}

/* In the child: gives up the parent's file, so that the child does not keep it locked, and the parent's rings, so
 * that nothing more is written into them. */
static void in_child(void)
{
    if (recorder.generation != 0 && !recorder.forked) {
        file_close(&recorder.recording);
        recorder.forked_at = spoor_counter_();
        __atomic_store_n(&recorder.forked, 1, __ATOMIC_RELEASE);
    }
    ring_forget();
    recorder_unlock();
}

int inherit_prepare(void)
{
    static bool prepared;
    if (prepared)
        return 0;
    const int error = pthread_atfork(before_fork, in_parent, in_child);
    prepared = error == 0;
    return -error;
}

static void inherit_owners(const struct layout_header *header)
{
    uint8_t *table = (uint8_t *)header + header->owners_offset;
    const uint32_t next = owner_next();
    for (uint64_t i = 0; i < header->owner_count; i++) {
        struct layout_owner *owner = (struct layout_owner *)(table + i * header->owner_bytes);
        if (owner->version % 2 != 0 || owner->id >= next || owner->since > recorder.forked_at)
            memset(owner, 0, sizeof *owner);
        else if (owner->until != UINT64_MAX && owner->until > recorder.forked_at)
            owner->until = UINT64_MAX;
    }
}

static void inherit_control(struct layout_control *control, const struct layout_control *parent,
                            uint64_t rings_offset)
{
    memset(control, 0, sizeof *control);
    control->sections_used = recorder.sections_used;
    control->rings_end = rings_offset;
    control->filter = parent->filter;
}

int inherit_open(void)
{
    struct recording *recording = &recorder.recording;
    const struct recording parent = *recording;
    const struct layout_header *from = parent.header;
    const char *step;
    struct recording own = {0};
    const int error = file_create(&own, &recorder.settings, from->directory_offset, from->rings_offset,
                                  parent.mapped, &step);
    if (error != 0)
        return error;

    struct layout_header *header = own.header;
    memcpy((uint8_t *)header + sizeof header->magic, (const uint8_t *)from + sizeof header->magic,
           sizeof *header - sizeof header->magic);
    header->pid = (uint32_t)getpid();
    header->parent_pid = from->pid;
    header->start_ticks = file_start_ticks();
    header->device = own.device;
    header->inode = own.inode;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    header->realtime = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    header->opened = clock_read();
    inherit_control(own.control, parent.control, from->rings_offset);
    memcpy(own.memory + from->enable_offset, parent.memory + from->enable_offset,
           from->directory_offset - from->enable_offset);
    inherit_owners(header);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(header->magic, LAYOUT_MAGIC, sizeof header->magic);

    *recording = own;
    recorder.last_clock = header->opened.counter;
    directory_begin();
    __atomic_store_n(&recorder.generation, ++recorder.generations, __ATOMIC_RELEASE);
    registry_point(recorder.registry, own.memory + header->enable_offset);
    __atomic_store_n(&recorder.forked, 0, __ATOMIC_RELEASE);
    file_retire(parent.memory, parent.mapped);
    return 0;
}
