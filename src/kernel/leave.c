/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaves without waiting. Closing what is attached takes the kernel up to a tenth of a second for each perf event;
 * after Ctrl-C the prompt shall be back at once.
 *
 * A grandchild of this process, in a session of its own, with none of its descriptors but the attachments, holds
 * them while this process closes its own (which is quick then) and closes them afterwards. It has none of the
 * user's files open, so that a pipe from this process ends with it. Invariant: the grandchild closes nothing before
 * this process has closed everything, or the slow close would be this process's. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/state.h"
#include "sym/kernel/tracefs.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum {
    REMOVE_PATIENCE = 60000 /* ms */,
    SLICE_NS = 300000000, /* how long it closes before it pauses for as long, so that others can attach */
};

struct leaving {
    const struct kernel *kernel;
    int *fds; /* of all attachments; those that are closed at once come first */
    size_t count, at_once;
    int *kept; /* sorted: these and other descriptors that the grandchild needs */
    size_t kept_count;
    int directory; /* a descriptor of tracefs; -1: it is not needed */
};

static int fd_compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void leave_close_range(unsigned first, unsigned last)
{
    if (first > last)
        return;
    if (!syscall(SYS_close_range, first, last, 0))
        return;
    /* Before Linux 5.9, or forbidden by a sandbox. */
    long limit = sysconf(_SC_OPEN_MAX);
    for (unsigned fd = first; fd <= last && fd < (limit > 0 ? (unsigned long)limit : 1024); fd++)
        close((int)fd);
}

/* Closes every descriptor that is not kept. */
static void leave_close_others(const struct leaving *leaving)
{
    unsigned next = 0;
    for (size_t i = 0; i < leaving->kept_count; i++) {
        unsigned kept = (unsigned)leaving->kept[i];
        if (kept > next)
            leave_close_range(next, kept - 1);
        next = kept + 1;
    }
    leave_close_range(next, ~0U);
}

static void leave_unmap(const struct kernel *kernel)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (uint32_t i = 0; i < kernel->rings.count; i++) {
        const struct ring *ring = &kernel->rings.items[i];
        munmap(ring->consumer, page);
        munmap((void *)((uintptr_t)ring->data - page), page + 2 * (size_t)ring->size);
    }
    if (kernel->control)
        munmap(kernel->control, kernel->control_size);
}

static void leave_signals(void)
{
    for (int number = 1; number < 64; number++)
        signal(number, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The others one after the other: a close waits while it holds the lock of all the kernel's events, so that several at
 * once end no sooner. Who attaches something takes that lock several times, and each time behind a close: so
 * there are pauses. */
static void leave_close_slowly(const struct leaving *leaving)
{
    close_at_once(leaving->fds, leaving->at_once);
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    for (size_t i = leaving->at_once; i < leaving->count; i++) {
        close(leaving->fds[i]);
        uint64_t took = clock_ns(CLOCK_MONOTONIC) - begin;
        if (took < SLICE_NS)
            continue;
        const struct timespec pause = timespec_of(took);
        nanosleep(&pause, NULL);
        begin = clock_ns(CLOCK_MONOTONIC);
    }
}

static void leave_child(const struct leaving *leaving, int parent_gone)
{
    setsid();
    leave_signals();
    prctl(PR_SET_NAME, "spoor-leaving");
    if (chdir("/"))
        return; /* cannot happen; if it did, everything would be closed when this process exits */
    leave_unmap(leaving->kernel);
    leave_close_others(leaving);
    char byte;
    while (read(parent_gone, &byte, 1) < 0 && errno == EINTR)
        ;
    leave_close_slowly(leaving);
    for (size_t i = 0; i < leaving->kernel->attachment_count; i++)
        if (leaving->kernel->attachments[i].group)
            trace_events_remove(leaving->directory, &leaving->kernel->attachments[i], REMOVE_PATIENCE);
}

static int leave_prepare(struct leaving *leaving, const struct kernel *kernel, int parent_gone)
{
    *leaving = (struct leaving){.kernel = kernel, .directory = -1};
    for (size_t i = 0; i < kernel->attachment_count; i++)
        leaving->count += kernel->attachments[i].count;
    leaving->fds = calloc(leaving->count + 1, sizeof(int));
    leaving->kept = calloc(leaving->count + 3 * kernel->attachment_count + 2, sizeof(int));
    if (!leaving->fds || !leaving->kept)
        return -ENOMEM;
    size_t at = 0;
    for (int at_once = 1; at_once >= 0; at_once--) {
        for (size_t i = 0; i < kernel->attachment_count; i++)
            for (size_t k = 0;
                 kernel->attachments[i].closes_at_once == at_once && k < kernel->attachments[i].count; k++)
                leaving->fds[at++] = kernel->attachments[i].fds[k];
        if (at_once)
            leaving->at_once = at;
    }
    memcpy(leaving->kept, leaving->fds, leaving->count * sizeof(int));
    leaving->kept_count = leaving->count;
    leaving->kept[leaving->kept_count++] = parent_gone;
    for (size_t i = 0; i < kernel->attachment_count; i++) {
        const struct attachment *attachment = &kernel->attachments[i];
        const int own[] = {attachment->eof_fd, attachment->hold_fds[0], attachment->hold_fds[1]};
        for (size_t k = 0; attachment->group && k < 3; k++)
            if (own[k] >= 0)
                leaving->kept[leaving->kept_count++] = own[k];
    }
    if (kernel->tracefs) {
        leaving->directory = tracefs_directory(kernel->tracefs);
        leaving->kept[leaving->kept_count++] = leaving->directory;
    }
    qsort(leaving->kept, leaving->kept_count, sizeof(int), fd_compare);
    return 0;
}

/* 0 when a grandchild holds the descriptors. */
static int leave_hand_over(const struct kernel *kernel, int pipes[2])
{
    struct leaving leaving;
    int error = leave_prepare(&leaving, kernel, pipes[0]);
    pid_t child = error ? -1 : fork();
    if (child == 0) {
        /* Forks twice, so that no process has to wait for the one that does the work. */
        pid_t grandchild = fork();
        if (grandchild == 0) {
            leave_child(&leaving, pipes[0]);
            _exit(0);
        }
        _exit(grandchild < 0 ? 1 : 0);
    }
    if (child > 0) {
        int status;
        pid_t answer;
        while ((answer = waitpid(child, &status, 0)) < 0 && errno == EINTR)
            ;
        /* Another thread may have waited for it, or SIGCHLD is ignored: then it counts as done. */
        error = answer == child && (!WIFEXITED(status) || WEXITSTATUS(status)) ? -EAGAIN : 0;
    } else if (!error) {
        error = -EAGAIN;
    }
    free(leaving.fds);
    free(leaving.kept);
    return error;
}

/* Closes the descriptors of this process, which is quick: the grandchild still has them. */
static void leave_forget(struct kernel *kernel)
{
    for (size_t i = 0; i < kernel->attachment_count; i++) {
        struct attachment *attachment = &kernel->attachments[i];
        if (!attachment->group)
            continue;
        close(attachment->eof_fd);
        for (int k = 0; k < 2; k++)
            if (attachment->hold_fds[k] >= 0 && attachment_add(attachment, attachment->hold_fds[k]))
                attachment->hold_fds[k] = -1; /* attachment_add() closed it */
        free(attachment->group);
        attachment->group = NULL;
    }
    attachment_close_from(kernel, 0);
}

void kernel_leave(struct kernel *kernel)
{
    int pipes[2];
    if (!kernel->attachment_count)
        return;
    if (pipe2(pipes, O_CLOEXEC)) {
        kernel_detach_from(kernel, 0);
        return;
    }
    bool handed_over = !leave_hand_over(kernel, pipes);
    close(pipes[0]);
    if (handed_over)
        leave_forget(kernel);
    else
        kernel_detach_from(kernel, 0);
    close(pipes[1]); /* the grandchild begins */
}
