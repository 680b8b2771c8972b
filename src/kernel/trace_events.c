/* SPDX-License-Identifier: BSD-3-Clause */
/* Many sites under one event of tracefs: definitions of the same name in uprobe_events or kprobe_events share
 * one event, which takes one perf event and about the time of one site to close.
 *
 * The definitions belong to the machine, not to a process, so they carry our process id in their group's name
 * and are removed when the event is closed. What a process that was killed has left is removed by the next
 * one that comes here. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernel/state.h"
#include "kernel/syscalls.h"
#include "sym/tracefs.h"

enum { REMOVE_ATTEMPTS = 50 };
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

void trace_events_remove(int directory, const char *group, bool is_kprobe)
{
    char line[128];
    int length = snprintf(line, sizeof line, "-:%s/%s\n", group, event_name);
    /* Busy while the perf event is still being closed. */
    for (int i = 0; i < REMOVE_ATTEMPTS; i++) {
        if (trace_events_write(directory, is_kprobe, line, (size_t)length) != -EBUSY)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

/* Groups of processes that are gone. */
static void trace_events_sweep(int directory, bool is_kprobe, const char *definitions)
{
    char last[64] = "";
    for (const char *line = definitions; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *group = strchr(line, ':');
        long pid;
        int used = 0;
        if (!group || sscanf(group, ":spoor_%ld_%*u%n", &pid, &used) != 1 || !used || pid <= 0)
            continue;
        if (kill((pid_t)pid, 0) != -1 || errno != ESRCH)
            continue;
        char name[64];
        snprintf(name, sizeof name, "%.*s", used - 1, group + 1);
        if (strcmp(name, last)) {
            char removal[128];
            int length = snprintf(removal, sizeof removal, "-:%s/%s\n", name, event_name);
            trace_events_write(directory, is_kprobe, removal, (size_t)length);
        }
        memcpy(last, name, sizeof last);
    }
}

int trace_events_open(struct kernel *kernel)
{
    if (kernel->tracefs)
        return 0;
    int error = tracefs_open(&kernel->tracefs);
    if (error) {
        kernel->tracefs = NULL;
        return error;
    }
    for (int is_kprobe = 0; is_kprobe < 2; is_kprobe++) {
        struct text definitions = {0};
        if (!tracefs_read(kernel->tracefs, trace_events_file(is_kprobe), &definitions))
            trace_events_sweep(tracefs_directory(kernel->tracefs), is_kprobe, text_string(&definitions));
        text_free(&definitions);
    }
    return 0;
}

int trace_events_make(const struct site_ladder *ladder, struct attachment *attachment, const size_t *order,
                      size_t count, uint32_t *id, size_t *bad)
{
    struct kernel *kernel = ladder->kernel;
    *bad = count;
    int error = trace_events_open(kernel);
    if (error)
        return error;
    int directory = tracefs_directory(kernel->tracefs);
    char group[48];
    snprintf(group, sizeof group, "spoor_%d_%u", (int)getpid(), kernel->group_number++);
    int fd = openat(directory, trace_events_file(ladder->is_kprobe), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct text line = {0};
    bool made = false;
    for (size_t i = 0; i < count && !error; i++) {
        text_clear(&line);
        text_printf(&line, "%c:%s/%s ", ladder->is_return ? 'r' : 'p', group, event_name);
        ladder->spec(ladder, order[i], &line);
        text_char(&line, '\n');
        if (line.failed) {
            error = -ENOMEM;
        } else if (write(fd, line.bytes, line.length) < 0) {
            error = -errno;
            *bad = i;
        } else {
            made = true;
        }
        if (!error && i % 256 == 255)
            error = attach_progress(ladder->request, i, count);
    }
    close(fd);
    text_free(&line);
    if (!error)
        error = tracefs_event_id(kernel->tracefs, group, event_name, id);
    if (!error) {
        attachment->group = strdup(group);
        attachment->group_is_kprobe = ladder->is_kprobe;
        error = attachment->group ? 0 : -ENOMEM;
    }
    if (error && made)
        trace_events_remove(directory, group, ladder->is_kprobe);
    return error;
}
