/* SPDX-License-Identifier: BSD-3-Clause */
/* Learns what processes map and fork while the trace runs, so that the first stack of a new process is whole: a program
 * that is interrupted, or that leaves the CPU, cannot ask the kernel for more than one mapping, and most processes do not
 * live long enough to be asked about. */
#include <string.h>

#include "session/unwind.h"

enum { RING_BYTES = 128 << 10 };

/* Whether what a process maps matters although none of its mappings is known yet. */
static bool is_wanted(const struct session *session, pid_t pid)
{
    const struct session_options *options = &session->options;
    return options->command ? pid == session->target.child.pid : !options->pid_count;
}

/* Puts a mapping in its place in the table of a process, and takes out those that it covers. False: there is no room. */
static bool insert(struct unwind_process *process, uint64_t start, const struct unwind_mapping *mapping)
{
    size_t count = 0, kept = 0, at = 0;
    while (count < UNWIND_MAPPINGS && process->starts[count] != UNWIND_NOWHERE)
        count++;
    for (size_t i = 0; i < count; i++) {
        if (process->starts[i] < start + mapping->size &&
            start < process->starts[i] + process->mappings[i].size)
            continue;
        process->starts[kept] = process->starts[i];
        process->mappings[kept++] = process->mappings[i];
        if (process->starts[i] < start)
            at = kept;
    }
    if (kept == UNWIND_MAPPINGS)
        return false;
    for (size_t i = kept++; i > at; i--) {
        process->starts[i] = process->starts[i - 1];
        process->mappings[i] = process->mappings[i - 1];
    }
    process->starts[at] = start;
    process->mappings[at] = *mapping;
    for (size_t i = kept; i < count; i++) {
        process->starts[i] = UNWIND_NOWHERE;
        process->mappings[i] = (struct unwind_mapping){0};
    }
    return true;
}

/* What is learned of one process after the other, before it is put into the map. */
struct following {
    struct session *session;
    uint64_t pid; /* 0: none */
    bool is_known, is_changed;
    struct unwind_process process;
};

static void put(struct following *following)
{
    const struct session *session = following->session;
    if (following->is_changed)
        session->host->operations->map_update(session->host, session->image.unwind_processes, &following->pid,
                                              &following->process);
    following->is_changed = false;
}

/* Makes a process the one of which is learned; returns whether anything is known of it. */
static bool choose(struct following *following, pid_t pid)
{
    const struct session *session = following->session;
    if (following->pid == (uint64_t)pid)
        return following->is_known;
    put(following);
    following->pid = (uint64_t)pid;
    following->is_known = !session->host->operations->map_lookup(
        session->host, session->image.unwind_processes, &following->pid, &following->process);
    return following->is_known;
}

/* Reads what a process has mapped now; what one that has ended has mapped besides is not looked at. */
static void look(struct following *following, pid_t pid)
{
    following->session->unwind->ended = unwind_look_at(following->session, pid) ? 0 : pid;
    following->pid = 0;
}

/* A new process has what its parent had. It may have mapped something of its own already, or have ended. */
static void follow_fork(struct following *following, const struct mapping_event *event)
{
    if (!choose(following, event->parent) && !is_wanted(following->session, event->parent))
        return;
    if (!choose(following, event->pid))
        look(following, event->pid);
}

static void follow(void *state, const struct mapping_event *event)
{
    struct following *following = state;
    struct session *session = following->session;
    if (event->parent) {
        follow_fork(following, event);
        return;
    }
    if (event->pid == session->unwind->ended)
        return;
    if (!choose(following, event->pid)) {
        if (is_wanted(session, event->pid))
            look(following, event->pid);
        return;
    }
    if (!event->inode)
        return;
    const struct unwind_key file = unwind_key_of(event->device, event->inode);
    const struct unwind_mapping mapping = {event->length, event->offset, event->inode, file.device};
    following->is_changed |= insert(&following->process, event->start, &mapping);
    unwind_add_mapping(session, event->pid,
                       &(struct proc_mapping){.start = event->start,
                                              .end = event->start + event->length,
                                              .offset = event->offset,
                                              .device = event->device,
                                              .inode = event->inode,
                                              .executable = true,
                                              .path = event->path},
                       file);
}

void unwind_follow(struct session *session)
{
    if (mappings_open(&session->unwind->mappings, RING_BYTES, true))
        session->unwind->mappings = NULL;
}

void unwind_follow_look(struct session *session)
{
    struct following following = {.session = session};
    if (!session->unwind || !session->unwind->mappings)
        return;
    mappings_consume(session->unwind->mappings, follow, &following);
    put(&following);
}

int unwind_descriptor(const struct session *session)
{
    return session->unwind && session->unwind->mappings ? mappings_descriptor(session->unwind->mappings) : -1;
}
