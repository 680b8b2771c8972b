/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of what is attached, and the ways to attach that have one site: raw tracepoints, tracepoints by
 * perf, perf events on CPUs or processes.
 *
 * A link is closed before the perf event that it stands on. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "base/vector.h"
#include "kernel/state.h"
#include "kernel/syscalls.h"
#include "sym/kernel/tracefs.h"

enum { REMOVE_PATIENCE = 1000 }; /* ms */

struct attachment *attachment_new(struct kernel *kernel)
{
    if (!vector_make_room(kernel->attachments, kernel->attachment_count, kernel->attachment_room))
        return NULL;
    struct attachment *attachment = &kernel->attachments[kernel->attachment_count++];
    *attachment = (struct attachment){0};
    return attachment;
}

int attachment_add(struct attachment *attachment, int fd)
{
    if (!vector_make_room(attachment->fds, attachment->count, attachment->room)) {
        close(fd);
        return -ENOMEM;
    }
    attachment->fds[attachment->count++] = fd;
    return 0;
}

/* Those links that can be closed at once. */
static void detach_at_once(struct kernel *kernel, size_t first)
{
    int *fds = NULL;
    size_t count = 0, room = 0;
    for (size_t i = first; i < kernel->attachment_count; i++) {
        struct attachment *attachment = &kernel->attachments[i];
        while (attachment->closes_at_once && attachment->count && vector_make_room(fds, count, room))
            fds[count++] = attachment->fds[--attachment->count];
    }
    close_at_once(fds, count);
    free(fds);
}

void kernel_detach_from(struct kernel *kernel, size_t count)
{
    detach_at_once(kernel, count);
    attachment_close_from(kernel, count);
}

void attachment_close_from(struct kernel *kernel, size_t count)
{
    while (kernel->attachment_count > count) {
        struct attachment *attachment = &kernel->attachments[--kernel->attachment_count];
        for (size_t i = 0; i < attachment->count; i++)
            close(attachment->fds[i]);
        if (attachment->group)
            trace_events_remove(tracefs_directory(kernel->tracefs), attachment, REMOVE_PATIENCE);
        free(attachment->group);
        free(attachment->fds);
        free(attachment->description);
    }
}

void attachment_describe(struct attachment *attachment, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&text, format, arguments);
    va_end(arguments);
    free(attachment->description);
    attachment->description = text.bytes; /* belongs to the attachment from now on; NULL: out of memory */
}

const struct kernel_program *attach_program(struct kernel *kernel, const struct attach_request *request)
{
    if (request->program < kernel->program_count && kernel->programs[request->program].fd >= 0)
        return &kernel->programs[request->program];
    diagnose_error(request->diagnostics, request->span, "The program of %s is not loaded", request->name);
    return NULL;
}

int attach_progress(const struct attach_request *request, size_t done, size_t total)
{
    return request->progress && request->progress(request->state, done, total) ? -EINTR : 0;
}

int attach_to_event(struct attachment *attachment, const struct kernel_program *program, int event,
                    bool has_cookie, uint64_t cookie)
{
    int error = 0;
    if (has_cookie) {
        struct link_create link = {
            .program = (uint32_t)program->fd,
            .target = (uint32_t)event,
            .attach_type = BPF_PERF_EVENT,
        };
        link.perf_event.cookie = cookie;
        int fd = syscall_link_create(&link);
        error = fd < 0 ? fd : attachment_add(attachment, fd);
    } else if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program->fd)) {
        error = -errno;
    }
    if (!error && ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
        error = -errno;
    if (error) {
        close(event);
        return error;
    }
    return attachment_add(attachment, event);
}

int attach_raw(struct kernel *kernel, const struct kernel_program *program, const char *event,
               const char *description)
{
    struct attachment *attachment = attachment_new(kernel);
    if (!attachment)
        return -ENOMEM;
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.raw_tracepoint.name = (uintptr_t)event;
    attributes.raw_tracepoint.prog_fd = (uint32_t)program->fd;
    int fd = syscall_bpf(BPF_RAW_TRACEPOINT_OPEN, &attributes, sizeof attributes);
    int error = fd < 0 ? fd : attachment_add(attachment, fd);
    attachment_describe(attachment, "%s", description);
    if (error)
        kernel_detach_from(kernel, kernel->attachment_count - 1);
    return error;
}

int kernel_attach_raw_tracepoint(struct kernel *kernel, const struct attach_request *request,
                                 const char *event)
{
    const struct kernel_program *program = attach_program(kernel, request);
    if (!program)
        return -EINVAL;
    char description[160];
    snprintf(description, sizeof description, "raw_tracepoint %s", event);
    /* A program that was loaded for one hook by its BTF type needs no name. */
    int error =
        attach_raw(kernel, program, program->type == BPF_PROG_TYPE_TRACING ? NULL : event, description);
    if (error == -ENOENT) {
        diagnose_error(request->diagnostics, request->span, "%s: the kernel has no tracepoint '%s'",
                       request->name, event);
        diagnose_hint(request->diagnostics, "'spoor -l \"rawtracepoint:*\"' lists them.");
    } else if (error == -EPERM) {
        permission_explain(request->diagnostics, request->span, request->name);
    } else if (error == -EINVAL) {
        diagnose_error(request->diagnostics, request->span,
                       "%s: the program reads more arguments than the tracepoint has", request->name);
    } else if (error) {
        diagnose_error(request->diagnostics, request->span, "%s cannot be attached: %s", request->name,
                       tracefs_problem(error));
    }
    return error;
}

int kernel_attach_tracepoint(struct kernel *kernel, const struct attach_request *request, uint64_t event_id)
{
    const struct kernel_program *program = attach_program(kernel, request);
    if (!program)
        return -EINVAL;
    struct attachment *attachment = attachment_new(kernel);
    if (!attachment)
        return -ENOMEM;
    struct perf_event_attr event = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof event,
        .config = event_id,
        .sample_period = 1,
        .wakeup_events = 1,
        .disabled = 1,
    };
    /* The program runs wherever the tracepoint is passed, whichever CPU the event stands on. */
    int fd =
        trace_events_stuck(kernel) ? -EDEADLK : syscall_perf_event_open(&event, -1, (int)kernel->online[0]);
    int error = fd < 0 ? fd : attach_to_event(attachment, program, fd, false, 0);
    attachment_describe(attachment, "tracepoint %s", request->name);
    if (error == -EACCES && fd >= 0) {
        diagnose_error(request->diagnostics, request->span,
                       "%s: the program reads past the event's last field", request->name);
    } else if (error == -ENOENT || (error == -EINVAL && fd < 0)) {
        diagnose_error(request->diagnostics, request->span, "%s: the kernel has no such tracepoint",
                       request->name);
        diagnose_hint(request->diagnostics, "'spoor -l \"tracepoint:*\"' lists them.");
    } else if (error == -EPERM || error == -EACCES) {
        permission_explain(request->diagnostics, request->span, request->name);
    } else if (error == -EEXIST) {
        diagnose_error(request->diagnostics, request->span, "%s: the program is attached there already",
                       request->name);
    } else if (error == -E2BIG) {
        diagnose_error(request->diagnostics, request->span,
                       "%s: the kernel allows 64 programs at one tracepoint, and all are taken",
                       request->name);
    } else if (error) {
        diagnose_error(request->diagnostics, request->span, "%s cannot be attached: %s", request->name,
                       tracefs_problem(error));
    }
    return error;
}

static void perf_event_explain(const struct attach_request *request, const struct perf_event_attr *attributes,
                               pid_t pid, int error)
{
    bool is_hardware = attributes->type != PERF_TYPE_SOFTWARE && attributes->type != PERF_TYPE_BREAKPOINT;
    if ((error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV) && is_hardware) {
        diagnose_error(request->diagnostics, request->span, "%s: this machine has no such hardware event",
                       request->name);
        diagnose_hint(request->diagnostics,
                      "Virtual machines often have no performance monitoring unit. Software "
                      "events work everywhere.");
    } else if (error == -EPERM || error == -EACCES) {
        permission_explain(request->diagnostics, request->span, request->name);
    } else if (error == -ESRCH) {
        diagnose_error(request->diagnostics, request->span, "%s: there is no process %d", request->name,
                       (int)pid);
    } else if (error == -ENOSPC && attributes->type == PERF_TYPE_BREAKPOINT) {
        diagnose_error(request->diagnostics, request->span, "%s: all hardware breakpoints are in use",
                       request->name);
    } else if (error == -EINVAL && attributes->type == PERF_TYPE_BREAKPOINT) {
        diagnose_error(request->diagnostics, request->span, "%s: the kernel refuses a breakpoint there",
                       request->name);
        diagnose_hint(
            request->diagnostics,
            "It allows none where kprobes are forbidden; without kprobes, its code cannot be watched at "
            "all, only data.");
    } else if (error == -EINVAL) {
        diagnose_error(request->diagnostics, request->span, "%s: the kernel refuses this rate or event",
                       request->name);
        diagnose_hint(request->diagnostics,
                      "/proc/sys/kernel/perf_event_max_sample_rate is the highest frequency.");
    } else if (error != -EINTR) {
        diagnose_error(request->diagnostics, request->span, "%s cannot be attached: %s", request->name,
                       tracefs_problem(error));
    }
}

/* One event that follows a thread, and the threads that it makes, over all CPUs; for every thread. */
static int perf_event_of_process(struct attachment *attachment, const struct kernel_program *program,
                                 struct perf_event_attr *attributes, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return -ESRCH;
    int error = 0;
    size_t opened = 0;
    attributes->inherit = 1;
    for (struct dirent *entry; !error && (entry = readdir(directory));) {
        uint64_t thread;
        if (!decimal_parse(entry->d_name, &thread))
            continue;
        int fd = syscall_perf_event_open(attributes, (pid_t)thread, -1);
        if (fd == -ESRCH) /* the process has ended meanwhile */
            continue;
        error = fd < 0 ? fd : attach_to_event(attachment, program, fd, false, 0);
        opened++;
    }
    closedir(directory);
    return error ? error : opened ? 0 : -ESRCH;
}

int kernel_attach_perf_event(struct kernel *kernel, const struct attach_request *request,
                             const struct perf_event_attr *attributes, pid_t pid)
{
    const struct kernel_program *program = attach_program(kernel, request);
    if (!program)
        return -EINVAL;
    struct attachment *attachment = attachment_new(kernel);
    if (!attachment)
        return -ENOMEM;
    struct perf_event_attr event = *attributes;
    attachment->watched = event.type == PERF_TYPE_BREAKPOINT ? event.bp_addr : 0;
    event.size = sizeof event;
    event.disabled = 1;
    int error = 0;
    if (pid > 0) {
        error = perf_event_of_process(attachment, program, &event, pid);
    } else {
        for (size_t i = 0; i < kernel->online_count && !error; i++) {
            int fd = syscall_perf_event_open(&event, -1, (int)kernel->online[i]);
            if (fd == -ENODEV && kernel->online_count > 1) /* the CPU went offline meanwhile */
                continue;
            error = fd < 0 ? fd : attach_to_event(attachment, program, fd, false, 0);
            if (!error)
                error = attach_progress(request, i + 1, kernel->online_count);
        }
        if (!error && !attachment->count)
            error = -ENODEV;
    }
    attachment_describe(attachment, "perf_event %s: %zu event%s", request->name, attachment->count,
                        attachment->count == 1 ? "" : "s");
    if (error)
        perf_event_explain(request, attributes, pid, error);
    return error;
}

int attach_unwatch(struct host *host, uint64_t address)
{
    struct kernel *kernel = kernel_of(host);
    int error = -ENOENT;
    for (size_t i = 0; i < kernel->attachment_count; i++) {
        struct attachment *attachment = &kernel->attachments[i];
        if (!attachment->watched || attachment->watched != address)
            continue;
        while (attachment->count)
            close(attachment->fds[--attachment->count]);
        error = 0;
    }
    return error;
}
