/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds tracefs and lists its events. tracefs_format.c reads format files. */
#include "sym/kernel/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kernel_error.h"
#include "base/number.h"
#include "base/glob.h"
#include "base/text.h"
#include "base/whole.h"

#ifndef TRACEFS_MAGIC
#define TRACEFS_MAGIC 0x74726163
#endif
enum { FILE_LARGEST = 64 << 20 };

struct tracefs {
    int directory;
    struct { /* all events, read when they are first needed, because the kernel takes 20 ms for it */
        struct text text;
        char **names; /* "subsystem" NUL "event", sorted; NULL: not read yet */
        size_t count;
    } events;
};

/* Makes a mount that is attached nowhere and lives as long as its descriptor. Returns that, or -errno. */
static int tracefs_mount_detached(void)
{
    int context = fsopen("tracefs", FSOPEN_CLOEXEC);
    if (context < 0)
        return errno == ENODEV || errno == ENOSYS ? -ENOENT : -errno;
    int directory = -1, error = 0;
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) ||
        (directory = fsmount(context, FSMOUNT_CLOEXEC, 0)) < 0)
        error = -errno;
    close(context);
    return error ? error : directory;
}

static bool is_tracefs(int directory)
{
    struct statfs status;
    return !fstatfs(directory, &status) && status.f_type == TRACEFS_MAGIC;
}

/* Whether a file can be read for which the kernel takes the lock of its events. A child without descriptors of this
 * process tries it, so that neither this process nor a reader of its output waits for the child if it hangs. */
static bool tracefs_answers(int directory)
{
    enum { PATIENCE_MS = 10000 };
    int answer[2];
    if (pipe2(answer, O_CLOEXEC))
        return true;
    pid_t child = fork();
    if (child == 0) {
        char byte;
        int kept[] = {dup3(answer[1], 0, 0), dup3(directory, 1, 0)};
        syscall(SYS_close_range, 2, ~0U, 0);
        int events = openat(kept[1], "available_events", O_RDONLY | O_CLOEXEC);
        ssize_t got = events < 0 ? 0 : read(events, &byte, 1);
        _exit(write(kept[0], &got, 1) == 1 ? 0 : 1);
    }
    close(answer[1]);
    struct pollfd poller = {answer[0], POLLIN, 0};
    bool answers = child < 0 || poll(&poller, 1, PATIENCE_MS) != 0;
    close(answer[0]);
    if (child > 0)
        waitpid(child, NULL, answers ? 0 : WNOHANG);
    return answers;
}

const char *tracefs_problem(int error)
{
    return error == -EDEADLK ? "the kernel's tracing is stuck: a task that died inside it holds its lock"
                             : kernel_error(error);
}

const char *tracefs_remedy(int error)
{
    return error == -EDEADLK
               ? "dmesg shows what happened; only a reboot helps. uprobe and usdt by uprobe_multi, "
                 "rawtracepoint, profile, interval and software probes work without it"
           : error == -ENOENT ? "mount tracefs: mount -t tracefs tracefs /sys/kernel/tracing"
                              : "/sys/kernel/tracing is readable by root; run as root or make it readable";
}

int tracefs_open(struct tracefs **out)
{
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    int directory = -1, refused = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places && directory < 0; i++) {
        directory = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0) {
            if (errno == EACCES || errno == EPERM)
                refused = -errno;
        } else if (!is_tracefs(directory)) {
            close(directory);
            directory = -1;
        }
    }
    if (directory < 0)
        directory = tracefs_mount_detached();
    if (directory < 0)
        return refused ? refused : directory;
    int error = tracefs_answers(directory) ? tracefs_open_at(directory, out) : -EDEADLK;
    close(directory);
    return error;
}

int tracefs_open_at(int directory, struct tracefs **out)
{
    struct tracefs *tracefs = calloc(1, sizeof *tracefs);
    if (!tracefs)
        return -ENOMEM;
    tracefs->directory = fcntl(directory, F_DUPFD_CLOEXEC, 3);
    if (tracefs->directory < 0) {
        int error = -errno;
        free(tracefs);
        return error;
    }
    *out = tracefs;
    return 0;
}

void tracefs_close(struct tracefs *tracefs)
{
    if (!tracefs)
        return;
    close(tracefs->directory);
    text_free(&tracefs->events.text);
    free(tracefs->events.names);
    free(tracefs);
}

int tracefs_directory(const struct tracefs *tracefs)
{
    return tracefs->directory;
}

bool tracefs_lists_functions(const struct tracefs *tracefs)
{
    int fd = openat(tracefs->directory, "available_filter_functions", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int tracefs_read(const struct tracefs *tracefs, const char *path, struct text *out)
{
    int fd = openat(tracefs->directory, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int error = whole_read_text(fd, FILE_LARGEST, out);
    close(fd);
    return error;
}

/* Whether a name from a script is that of a directory entry, and does not lead elsewhere. */
static bool name_is_plain(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

static int event_read(const struct tracefs *tracefs, const char *subsystem, const char *event,
                      const char *file, struct text *out)
{
    if (!name_is_plain(subsystem) || !name_is_plain(event))
        return -ENOENT;
    struct text path = {0};
    text_printf(&path, "events/%s/%s/%s", subsystem, event, file);
    int error = path.failed ? -ENOMEM : tracefs_read(tracefs, text_string(&path), out);
    text_free(&path);
    return error == -ENAMETOOLONG || error == -ENOTDIR ? -ENOENT : error;
}

int tracefs_event_id(const struct tracefs *tracefs, const char *subsystem, const char *event, uint32_t *id)
{
    struct text text = {0};
    int error = event_read(tracefs, subsystem, event, "id", &text);
    if (!error) {
        const char *at = text_string(&text);
        uint64_t value;
        if (!number_take(&at, NULL, 10, &value) || value > UINT32_MAX)
            error = -EBADMSG;
        *id = (uint32_t)value;
    }
    text_free(&text);
    return error;
}

int tracefs_event_type(const struct tracefs *tracefs, struct arena *arena, const struct tracefs_types *types,
                       const char *subsystem, const char *event, const struct type **out)
{
    struct text text = {0};
    int error = event_read(tracefs, subsystem, event, "format", &text);
    /* The parser may leave by the arena's guard, so that its input must be in the arena. */
    char *copy = NULL;
    if (!error && text.length)
        copy = strndup(text_string(&text), text.length);
    if (!error)
        error = text.length && !copy ? -ENOMEM : 0;
    text_free(&text);
    if (!error) {
        char *kept = arena_strdup(arena, copy ? copy : "");
        free(copy);
        error = tracefs_format_parse(arena, types, subsystem, event, kept, out);
    }
    return error;
}

/* ---- listing ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Divides the lines "subsystem:event" of the text, and sorts them. */
static int events_sort(struct tracefs *tracefs)
{
    char *text = tracefs->events.text.bytes, *rest = NULL;
    size_t lines = 1, count = 0;
    for (const char *at = text; at && (at = strchr(at, '\n')); at++)
        lines++;
    char **names = malloc(lines * sizeof *names);
    if (!names)
        return -ENOMEM;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        if (strchr(line, ':'))
            names[count++] = line;
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++)
        *strchr(names[i], ':') = '\0';
    tracefs->events.names = names;
    tracefs->events.count = count;
    return 0;
}

typedef int name_visitor(void *context, const char *name);

static int each_directory(int at, const char *path, name_visitor *visit, void *context)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
    DIR *directory = fdopendir(fd);
    if (!directory) {
        int error = -errno;
        close(fd);
        return error;
    }
    int result = 0;
    for (struct dirent *entry; !result && (entry = readdir(directory));)
        if (entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
            result = visit(context, entry->d_name);
    closedir(directory);
    return result;
}

struct listing {
    struct tracefs *tracefs;
    const char *subsystem;
};

static int listing_event(void *context, const char *event)
{
    struct listing *listing = context;
    struct text *lines = &listing->tracefs->events.text;
    text_printf(lines, "%s:%s\n", listing->subsystem, event);
    return lines->failed ? -ENOMEM : 0;
}

static int listing_subsystem(void *context, const char *subsystem)
{
    struct listing *listing = context;
    struct text path = {0};
    listing->subsystem = subsystem;
    text_printf(&path, "events/%s", subsystem);
    int error = path.failed
                    ? -ENOMEM
                    : each_directory(listing->tracefs->directory, text_string(&path), listing_event, listing);
    text_free(&path);
    return error;
}

static int events_read(struct tracefs *tracefs)
{
    /* One file lists all events; where it is missing, the directories do. Events of `ftrace` belong to the kernel's
     * own tracer and cannot be enabled: available_events leaves them out, and so does this. */
    struct text *lines = &tracefs->events.text;
    text_clear(lines);
    int error = tracefs_read(tracefs, "available_events", lines);
    if (error || !lines->length) {
        text_clear(lines);
        struct listing listing = {.tracefs = tracefs};
        error = each_directory(tracefs->directory, "events", listing_subsystem, &listing);
    }
    return error ? error : events_sort(tracefs);
}

int tracefs_each_event(struct tracefs *tracefs, const char *subsystem_pattern, const char *event_pattern,
                       tracefs_visitor *visit, void *context)
{
    int result = tracefs->events.names ? 0 : events_read(tracefs);
    for (size_t i = 0; i < tracefs->events.count && !result; i++) {
        const char *subsystem = tracefs->events.names[i], *event = subsystem + strlen(subsystem) + 1;
        if (glob_match(subsystem_pattern, subsystem) && glob_match(event_pattern, event))
            result = visit(context, subsystem, event);
    }
    return result;
}
