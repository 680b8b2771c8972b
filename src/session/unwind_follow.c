/* SPDX-License-Identifier: BSD-3-Clause */
/* Learns which files processes map while the trace runs, so that their rows are there before a program asks for them: most
 * processes do not live long enough to be asked which file they had mapped. */
#include "session/unwind.h"

enum { RING_BYTES = 128 << 10 };

/* Whether what a process maps matters: with -p only what these processes map. A command starts others, which are seen, too. */
static bool is_wanted(const struct session *session, pid_t pid)
{
    const struct session_options *options = &session->options;
    for (size_t i = 0; i < options->pid_count; i++)
        if (options->pids[i] == pid)
            return true;
    return !options->pid_count || options->follows;
}

static void follow(void *state, const struct mapping_event *event)
{
    struct session *session = state;
    if (event->parent || !event->inode || !is_wanted(session, event->pid))
        return;
    unwind_add_mapping(session, event->pid,
                       &(struct proc_mapping){.start = event->start,
                                              .end = event->start + event->length,
                                              .offset = event->offset,
                                              .device = event->device,
                                              .inode = event->inode,
                                              .executable = true,
                                              .path = event->path},
                       unwind_key_of(event->device, event->inode));
}

void unwind_follow(struct session *session)
{
    if (mappings_open(&session->unwind->mappings, RING_BYTES, true))
        session->unwind->mappings = NULL;
}

void unwind_follow_look(struct session *session)
{
    if (session->unwind && session->unwind->mappings)
        mappings_consume(session->unwind->mappings, follow, session);
}

int unwind_descriptor(const struct session *session)
{
    return session->unwind && session->unwind->mappings ? mappings_descriptor(session->unwind->mappings) : -1;
}
