/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and parses /proc/PID. A process may end between any two reads, and then the result is -ESRCH and nothing
 * else. */
#include "sym/process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/open_foreign.h"
#include "base/sorted.h"
#include "base/table.h"
#include "base/text.h"
#include "base/whole.h"

enum { FILE_LARGEST = 64 << 20 };

static int proc_error(int error)
{
    return error == ENOENT || error == ESRCH || error == ENOTDIR ? -ESRCH : -error;
}

static int proc_read(pid_t pid, const char *name, struct text *out)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return proc_error(errno);
    int error = whole_read_text(fd, FILE_LARGEST, out);
    close(fd);
    return error ? proc_error(-error) : 0;
}

/* ---- maps ---- */

static bool take_hexadecimal(const char **at, char behind, uint64_t *out)
{
    return number_take(at, NULL, 16, out) && *(*at)++ == behind;
}

/* Reads "start-end rwxp offset major:minor inode   path" in [line, end). The path is written to *names. */
static bool mapping_parse(const char *line, const char *end, char **names, struct proc_mapping *out)
{
    static const char deleted[] = " (deleted)";
    uint64_t major, minor;
    const char *at = line;
    if (!take_hexadecimal(&at, '-', &out->start) || !take_hexadecimal(&at, ' ', &out->end) || end - at < 6 ||
        at[4] != ' ' || out->end < out->start)
        return false;
    out->readable = at[0] == 'r';
    out->writable = at[1] == 'w';
    out->executable = at[2] == 'x';
    out->is_private = at[3] == 'p';
    at += 5;
    if (!take_hexadecimal(&at, ' ', &out->offset) || !take_hexadecimal(&at, ':', &major) ||
        !take_hexadecimal(&at, ' ', &minor))
        return false;
    out->device = major << 32 | (uint32_t)minor;
    number_take(&at, end, 10, &out->inode);
    while (at < end && *at == ' ')
        at++;
    /* The kernel writes a line feed in a path as \012. */
    char *path = *names, *to = path;
    while (at < end) {
        if (end - at >= 4 && !memcmp(at, "\\012", 4)) {
            *to++ = '\n';
            at += 4;
        } else {
            *to++ = *at++;
        }
    }
    size_t length = (size_t)(to - path), tail = sizeof deleted - 1;
    out->is_deleted = out->inode && length > tail && !memcmp(to - tail, deleted, tail);
    if (out->is_deleted)
        to -= tail;
    *to++ = '\0';
    out->path = path;
    *names = to;
    return true;
}

int proc_maps_parse(const char *text, struct proc_maps *out)
{
    *out = (struct proc_maps){0};
    size_t lines = 1, length = strlen(text);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    out->items = calloc(lines, sizeof *out->items);
    out->names = malloc(length + lines + 1);
    if (!out->items || !out->names) {
        proc_maps_free(out);
        return -ENOMEM;
    }
    char *names = out->names;
    for (const char *at = text; *at;) {
        const char *end = strchrnul(at, '\n');
        if (mapping_parse(at, end, &names, &out->items[out->count]))
            out->count++;
        at = *end ? end + 1 : end;
    }
    return 0;
}

int proc_maps_read(pid_t pid, struct proc_maps *out)
{
    struct text text = {0};
    *out = (struct proc_maps){0};
    int error = proc_read(pid, "maps", &text);
    /* The file of a process that has ended, and is not waited for yet, is empty. */
    if (!error)
        error = text.length ? proc_maps_parse(text_string(&text), out) : -ESRCH;
    text_free(&text);
    return error;
}

void proc_maps_free(struct proc_maps *maps)
{
    free(maps->items);
    free(maps->names);
    *maps = (struct proc_maps){0};
}

const struct proc_mapping *proc_maps_find(const struct proc_maps *maps, uint64_t address)
{
    const size_t behind = partition_point(maps->count, i, maps->items[i].start <= address);
    return behind && address < maps->items[behind - 1].end ? &maps->items[behind - 1] : NULL;
}

/* ---- a process ---- */

bool proc_exists(pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return pid > 0 && !access(path, F_OK);
}

int proc_executable(pid_t pid, struct text *out)
{
    static const char deleted[] = " (deleted)";
    char path[64], target[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(path, target, sizeof target);
    if (length < 0)
        return proc_error(errno);
    size_t tail = sizeof deleted - 1, used = (size_t)length;
    if (used > tail && !memcmp(target + used - tail, deleted, tail))
        used -= tail;
    text_append(out, target, used);
    return out->failed ? -ENOMEM : 0;
}

int proc_comm(pid_t pid, struct text *out)
{
    size_t before = out->length;
    int error = proc_read(pid, "comm", out);
    if (!error && out->length > before && out->bytes[out->length - 1] == '\n')
        out->bytes[--out->length] = '\0';
    return error;
}

int proc_user(pid_t pid, uid_t *user)
{
    struct text text = {0};
    int error = proc_read(pid, "status", &text);
    /* "Uid:" is followed by four ids: real, effective, saved, of the file system. The name of the command, which is
     * above it, has no line feed. */
    const char *line = error ? NULL : strstr(text_string(&text), "\nUid:");
    unsigned real, effective;
    if (line && sscanf(line, "\nUid: %u %u", &real, &effective) == 2)
        *user = effective;
    else if (!error)
        error = -EBADMSG;
    text_free(&text);
    return error;
}

int proc_inner_pid(pid_t pid, pid_t *inner)
{
    struct text text = {0};
    int error = proc_read(pid, "status", &text);
    /* "NSpid:" is followed by its id in each namespace from this one on; a kernel without PID namespaces has no
     * such line. */
    const char *line = error ? NULL : strstr(text_string(&text), "\nNSpid:");
    const char *end = line ? strchr(line + 1, '\n') : NULL;
    *inner = pid;
    while (end && end > line && end[-1] >= '0' && end[-1] <= '9')
        end--;
    uint64_t number;
    if (end && number_take(&end, NULL, 10, &number) && number <= INT_MAX)
        *inner = (pid_t)number;
    text_free(&text);
    return error;
}

int proc_start_time(pid_t pid, uint64_t *ticks)
{
    struct text text = {0};
    int error = proc_read(pid, "stat", &text);
    /* The command's name may have blanks and parentheses: fields are counted from the last parenthesis on. This is
     * field 22. */
    const char *at = error ? NULL : strrchr(text_string(&text), ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at && at++)
        number_take(&at, NULL, 10, ticks);
    else if (!error)
        error = -EBADMSG;
    text_free(&text);
    return error;
}

int proc_program(pid_t pid, struct text *out)
{
    struct text seen = {0}, path = {0};
    char link[32];
    struct stat runs, named;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    int error = proc_executable(pid, &seen);
    if (!error)
        error = proc_path(pid, text_string(&seen), &path);
    int missing = error ? 0 : foreign_status(link, &runs);
    if (missing)
        error = proc_error(-missing);
    if (!error) {
        bool same = !foreign_status(text_string(&path), &named) && named.st_dev == runs.st_dev &&
                    named.st_ino == runs.st_ino;
        text_add(out, same ? text_string(&path) : link);
        error = out->failed ? -ENOMEM : 0;
    }
    text_free(&seen);
    text_free(&path);
    return error;
}

int proc_parent(pid_t pid, pid_t *parent)
{
    struct text text = {0};
    int error = proc_read(pid, "stat", &text);
    /* "12 (name) S 1 …": the name may have blanks and parentheses. */
    const char *at = error ? NULL : strrchr(text_string(&text), ')');
    if (at && strlen(at) > 4) {
        const bool is_dead = at[2] == 'Z' || at[2] == 'X';
        uint64_t number;
        at += 4;
        *parent = !is_dead && number_take(&at, NULL, 10, &number) ? (pid_t)number : 0;
    } else if (!error)
        error = -EBADMSG;
    text_free(&text);
    return error;
}

int proc_each(proc_visitor *visit, void *context)
{
    DIR *directory = opendir("/proc");
    if (!directory)
        return -errno;
    int result = 0;
    for (struct dirent *entry; !result && (entry = readdir(directory));) {
        uint64_t number;
        if (decimal_parse(entry->d_name, &number) && number > 0 && number <= INT_MAX)
            result = visit(context, (pid_t)number);
    }
    closedir(directory);
    return result;
}

int proc_identify(const char *path, struct proc_identity *out)
{
    struct stat status;
    struct statfs system;
    const int file = foreign_find_any(path);
    int error = file < 0 ? file : fstat(file, &status) || fstatfs(file, &system) ? -errno : 0;
    if (file >= 0)
        close(file);
    if (error)
        return error;
    *out = (struct proc_identity){{status.st_dev, status.st_ino, 0, 0}};
    /* A file of an overlay has the overlay's device, but the inode, size and time of the file below. */
    if (system.f_type == OVERLAYFS_SUPER_MAGIC)
        *out = (struct proc_identity){
            {OVERLAYFS_SUPER_MAGIC, status.st_ino, (uint64_t)status.st_size, timespec_ns(&status.st_mtim)}};
    return 0;
}

static bool is_file(const char *path, const struct stat *wanted)
{
    struct stat status;
    return !foreign_status(path, &status) && status.st_dev == wanted->st_dev &&
           status.st_ino == wanted->st_ino;
}

int proc_path(pid_t pid, const char *path, struct text *out)
{
    char link[32], target[PATH_MAX], rooted[PATH_MAX + 32];
    struct stat wanted;
    if (pid > 0 && *path == '/' && strlen(path) < PATH_MAX) {
        snprintf(rooted, sizeof rooted, "/proc/%d/root%s", (int)pid, path);
        int fd = foreign_find_any(rooted); /* links lead to places in the process's root, not in this one's */
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = fd < 0 ? -1 : readlink(link, target, sizeof target - 1);
        if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP) {
            path = rooted; /* a file of that name here is another one */
        } else if (fd >= 0 && !fstat(fd, &wanted) && !is_file(path, &wanted)) {
            /* The path without links has the same meaning here. */
            target[length < 0 ? 0 : length] = '\0';
            if (*target == '/' && !is_file(rooted, &wanted))
                snprintf(rooted, sizeof rooted, "/proc/%d/root%s", (int)pid, target);
            path = is_file(rooted, &wanted) || !is_file(target, &wanted) ? rooted : target;
        }
        if (fd >= 0)
            close(fd);
    }
    text_add(out, path);
    return out->failed ? -ENOMEM : 0;
}

/* ---- files ---- */

struct file_walk {
    struct table seen;
    proc_file_visitor *visit;
    void *context;
};

static int walk_mapping(struct file_walk *walk, pid_t pid, const struct proc_mapping *mapping)
{
    uint64_t key[2] = {mapping->device, mapping->inode};
    if (!mapping->executable || !mapping->inode || mapping->path[0] != '/' ||
        table_get(&walk->seen, key, sizeof key))
        return 0;
    struct text path = {0};
    int result = table_set(&walk->seen, key, sizeof key, walk);
    if (!result && mapping->is_deleted) {
        /* The file has been deleted, or another one is mounted over it; the mapping still leads to it. */
        text_printf(&path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, mapping->start, mapping->end);
        result = path.failed ? -ENOMEM : 0;
    } else if (!result) {
        result = proc_path(pid, mapping->path, &path);
    }
    if (!result)
        result = walk->visit(walk->context, pid, text_string(&path), mapping->path);
    text_free(&path);
    return result;
}

static int walk_maps(struct file_walk *walk, pid_t pid, const struct proc_maps *maps)
{
    struct text executable = {0};
    int result = 0;
    proc_executable(pid, &executable); /* after a failure it is empty, and the order stays as it is */
    for (int first = 1; first >= 0; first--)
        for (size_t i = 0; i < maps->count && !result; i++) {
            bool is_executable = !strcmp(maps->items[i].path, text_string(&executable));
            if (is_executable == first)
                result = walk_mapping(walk, pid, &maps->items[i]);
        }
    text_free(&executable);
    return result;
}

static int walk_process(void *state, pid_t pid)
{
    struct proc_maps maps;
    int result = proc_maps_read(pid, &maps);
    if (result == -ESRCH || result == -EACCES || result == -EPERM)
        return 0; /* it has ended, or must not be examined */
    if (!result)
        result = walk_maps(state, pid, &maps);
    proc_maps_free(&maps);
    return result;
}

int proc_each_file(pid_t pid, proc_file_visitor *visit, void *context)
{
    struct file_walk walk = {.visit = visit, .context = context};
    struct proc_maps maps = {0};
    int result = pid > 0 ? proc_maps_read(pid, &maps) : proc_each(walk_process, &walk);
    if (pid > 0 && !result)
        result = walk_maps(&walk, pid, &maps);
    proc_maps_free(&maps);
    table_free(&walk.seen);
    return result;
}
