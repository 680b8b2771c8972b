/* SPDX-License-Identifier: BSD-3-Clause */
/* Many sites under one event of tracefs: definitions of the same name in uprobe_events or kprobe_events share
 * one event, which takes one perf event and about the time of one site to close.
 *
 * Invariant: a definition is removed only when the perf event on it is gone, in every process. The kernel
 * does not guard this: it answers EBUSY for an event with a single site, but of an event with several it
 * frees those that are still registered, and crashes at the next hit (5.10 to 6.18). Closing our descriptor
 * is not enough to know, because a process that we forked holds it, too, until it calls exec. So a pipe is
 * held as well (eof_fd): its writing ends (hold_fds) are inherited and closed with the perf event's descriptor, one with a number
 * below it and one above, because the kernel promises no order; when its reading end shows the end of the
 * file, no relative of ours has the event any more. A stranger may: who asks for a link of BPF by its number,
 * as bpftool does, holds the event with it. So the kernel itself is asked as well: it does not let tracefs
 * switch on an event of uprobes that perf has. (It has no such question for kprobes, and needs none: what is
 * still registered there keeps its definition.) For the same reason nothing is done about the events of
 * other processes that were killed: their definitions stay, and do nothing. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernel/state.h"
#include "kernel/syscalls.h"
#include "sym/kernel/tracefs.h"

/* Calls of a function that have not returned yet: of more the kernel forgets the return. Left to itself it follows one or two
 * for each CPU, which as many sleeping readers use up. It takes memory for all of them at once, so many sites get less. */
enum { REMOVE_ATTEMPTS = 50, RETURNS_MAX = 1024, RETURNS_MIN = 64 };
static const char event_name[] = "sites";

static const char *trace_events_file(bool is_kprobe)
{
    return is_kprobe ? "kprobe_events" : "uprobe_events";
}

static int trace_events_write(int directory, bool is_kprobe, const char *line, size_t length)
{
    int fd = openat(directory, trace_events_file(is_kprobe), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t written = write(fd, line, length);
    int error = written < 0 ? -errno : 0;
    close(fd);
    return error;
}

/* Waits, `patience` ms at most, until this process and its descendants have closed the perf event. Whether they have. */
static bool trace_events_is_closed(int eof_fd, int patience)
{
    struct pollfd poll_eof = {.fd = eof_fd, .events = POLLIN};
    int answer;
    do
        answer = poll(&poll_eof, 1, patience);
    while (answer < 0 && errno == EINTR);
    return answer == 1 && (poll_eof.revents & POLLHUP);
}

/* Neither tracefs ("echo 1 > enable" in the directory of all events does that to ours as well) nor perf has
 * the event on. */
static bool trace_events_is_unused(int directory, const struct attachment *attachment)
{
    char path[128], state[2] = "";
    snprintf(path, sizeof path, "events/%s/%s/enable", attachment->group, event_name);
    int fd = openat(directory, path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    bool is_free = attachment->group_is_kprobe || write(fd, "1", 1) == 1;
    bool is_off = write(fd, "0", 1) == 1 && pread(fd, state, 1, 0) == 1 && state[0] == '0';
    close(fd);
    return is_free && is_off;
}

void trace_events_remove(int directory, const struct attachment *attachment, int patience)
{
    char line[128];
    int length = snprintf(line, sizeof line, "-:%s/%s\n", attachment->group, event_name);
    for (int i = 0; i < 2; i++)
        if (attachment->hold_fds[i] >= 0)
            close(attachment->hold_fds[i]);
    /* A failed removal is tried again: no other process will remove it. */
    bool is_closed = trace_events_is_closed(attachment->eof_fd, patience);
    for (int i = 0; is_closed && i < REMOVE_ATTEMPTS; i++) {
        if (i)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        if (!trace_events_is_unused(directory, attachment))
            continue;
        int error = trace_events_write(directory, attachment->group_is_kprobe, line, (size_t)length);
        if (!error || error == -ENOENT)
            break;
    }
    close(attachment->eof_fd);
}

int trace_events_open(struct kernel *kernel)
{
    if (kernel->tracefs || kernel->tracefs_error)
        return kernel->tracefs_error;
    kernel->tracefs_error = tracefs_open(&kernel->tracefs);
    if (kernel->tracefs_error)
        kernel->tracefs = NULL;
    return kernel->tracefs_error;
}

/* Before the event is opened: the group is the attachment's from here on. */
static int trace_events_claim(struct attachment *attachment, const char *group, bool is_kprobe)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    attachment->group = strdup(group);
    if (!attachment->group) {
        close(ends[0]);
        close(ends[1]);
        return -ENOMEM;
    }
    attachment->group_is_kprobe = is_kprobe;
    attachment->eof_fd = ends[0];
    attachment->hold_fds[0] = ends[1];
    attachment->hold_fds[1] = -1;
    return 0;
}

int trace_events_hold(struct attachment *attachment)
{
    int highest = attachment->hold_fds[0];
    for (size_t i = 0; i < attachment->count; i++)
        if (attachment->fds[i] > highest)
            highest = attachment->fds[i];
    attachment->hold_fds[1] = fcntl(attachment->hold_fds[0], F_DUPFD_CLOEXEC, highest + 1);
    return attachment->hold_fds[1] < 0 ? -errno : 0;
}

/* How many calls of each of so many functions are followed to their return at once. */
static size_t trace_events_returns(size_t count)
{
    size_t share = RETURNS_MAX / count;
    return share > RETURNS_MIN ? share : RETURNS_MIN;
}

bool trace_events_stuck(struct kernel *kernel)
{
    return trace_events_open(kernel) == -EDEADLK;
}

int trace_events_make(const struct attach_strategy *strategy, struct attachment *attachment,
                      const size_t *order, size_t count, uint32_t *id, size_t *bad)
{
    struct kernel *kernel = strategy->kernel;
    *bad = count;
    int error = trace_events_open(kernel);
    if (error)
        return error;
    int directory = tracefs_directory(kernel->tracefs);
    char group[48];
    snprintf(group, sizeof group, "spoor_%d_%u", (int)getpid(), kernel->group_number++);
    /* The pipe first, so that its number is below all that follow. On failure the caller drops the
     * attachment, and the definitions with it. */
    error = trace_events_claim(attachment, group, strategy->is_kprobe);
    if (error)
        return error;
    int fd = openat(directory, trace_events_file(strategy->is_kprobe), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct text line = {0};
    for (size_t i = 0; i < count && !error; i++) {
        text_clear(&line);
        if (strategy->is_return && strategy->is_kprobe)
            text_printf(&line, "r%zu:%s/%s ", trace_events_returns(count), group, event_name);
        else
            text_printf(&line, "%c:%s/%s ", strategy->is_return ? 'r' : 'p', group, event_name);
        strategy->spec(strategy, order[i], &line);
        text_char(&line, '\n');
        if (line.failed) {
            error = -ENOMEM;
        } else if (write(fd, line.bytes, line.length) < 0) {
            error = -errno;
            *bad = i;
        }
        if (!error && i % 256 == 255)
            error = attach_progress(strategy->request, i, count);
    }
    close(fd);
    text_free(&line);
    return error ? error : tracefs_event_id(kernel->tracefs, group, event_name, id);
}
