/* SPDX-License-Identifier: BSD-3-Clause */
/* See perf_map.h. */
#include "sym/process/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/create.h"
#include "base/number.h"
#include "base/sorted.h"
#include "sym/tables.h"

enum { FILE_MAX = 64 << 20, ENTRIES_MAX = 1 << 20, NAME_BYTES_MAX = 1024 };

struct entry {
    uint64_t start, end;
    uint64_t reach; /* the largest end of this entry and of all before it in the order */
    uint32_t name, line;
};

struct perf_map {
    struct entry *entries; /* sorted by start, then by line */
    size_t count;
    char *names;
    size_t size;
};

static bool take_number(const char **at, const char *end, uint64_t *out)
{
    if (end - *at > 2 && **at == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X'))
        *at += 2;
    return number_take(at, end, 16, out) && *at < end && *(*at)++ == ' ';
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return (left->line > right->line) - (left->line < right->line);
}

static int perf_map_make(char *text, size_t size, struct perf_map **out)
{
    size_t lines = 0, count = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    if (lines > ENTRIES_MAX)
        lines = ENTRIES_MAX;
    struct perf_map *map = malloc(sizeof *map);
    struct entry *entries = malloc((lines + 1) * sizeof *entries);
    if (!map || !entries) {
        free(map);
        free(entries);
        return -ENOMEM;
    }
    /* A last line that does not end is still being written. */
    for (char *line = text, *end; count < lines && (end = memchr(line, '\n', size - (size_t)(line - text)));
         line = end + 1) {
        const char *at = line;
        uint64_t start, length;
        *end = '\0';
        if (!take_number(&at, end, &start) || !take_number(&at, end, &length) || !length ||
            start + length < start || at == end)
            continue;
        if (end - at > NAME_BYTES_MAX)
            text[at - text + NAME_BYTES_MAX] = '\0';
        entries[count] = (struct entry){start, start + length, 0, (uint32_t)(at - text), (uint32_t)count};
        count++;
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; i++)
        entries[i].reach = i && entries[i - 1].reach > entries[i].end ? entries[i - 1].reach : entries[i].end;
    *map = (struct perf_map){entries, count, text, size};
    *out = map;
    return 0;
}

int perf_map_parse(const char *text, size_t size, struct perf_map **out)
{
    char *copy = size <= FILE_MAX ? malloc(size + 1) : NULL;
    if (!copy)
        return size <= FILE_MAX ? -ENOMEM : -EFBIG;
    memcpy(copy, text, size);
    copy[size] = '\0';
    int error = perf_map_make(copy, size, out);
    if (error)
        free(copy);
    return error;
}

void perf_map_close(struct perf_map *map)
{
    if (!map)
        return;
    free(map->entries);
    free(map->names);
    free(map);
}

const char *perf_map_find(const struct perf_map *map, uint64_t address, uint64_t *start)
{
    enum { STEPS = 4096 };
    const size_t behind = partition_point(map->count, i, map->entries[i].start <= address);
    const struct entry *best = NULL;
    for (size_t i = behind, steps = 0; i-- > 0 && map->entries[i].reach > address && steps < STEPS; steps++)
        if (map->entries[i].end > address && (!best || map->entries[i].line > best->line))
            best = &map->entries[i];
    if (!best)
        return NULL;
    *start = best->start;
    return map->names + best->name;
}

size_t perf_map_bytes(const struct perf_map *map)
{
    return sizeof *map + map->count * sizeof *map->entries + map->size;
}

/* ---- the file ---- */

/* Returns the number behind a tabulator. */
static uint32_t take_decimal(const char *text)
{
    uint64_t number;
    text += *text == '\t';
    return number_take(&text, NULL, 10, &number) && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* Returns the pid that the process has in its own namespace, the last one of NSpid, and its user. */
static pid_t own_number(pid_t pid, uid_t *user)
{
    char path[64], line[512];
    pid_t number = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        char *last = strrchr(line, '\t');
        if (last && !strncmp(line, "NSpid:", 6))
            number = (pid_t)take_decimal(last);
        else if (!strncmp(line, "Uid:", 4))
            *user = (uid_t)take_decimal(line + 4);
    }
    if (status)
        fclose(status);
    return number;
}

/* Opens a file within a process's root. No link in its file system leads outside of it. */
static int open_within(int root, const char *name)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, root, name, &how, sizeof how);
    return fd < 0 ? -errno : fd;
}

static int read_all(int fd, size_t size, char **out)
{
    char *text = malloc(size + 1);
    size_t done = 0;
    if (!text)
        return -ENOMEM;
    while (done < size) {
        ssize_t got = pread(fd, text + done, size - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    text[done] = '\0';
    *out = text;
    return (int)done;
}

int perf_map_serve(void *state, struct apart_question *question, struct text *answer)
{
    struct perf_map *map;
    struct stat status;
    char *text;
    (void)state;
    if (fstat(question->fd, &status))
        return -errno;
    if (status.st_size > FILE_MAX)
        return -EFBIG;
    int size = read_all(question->fd, (size_t)status.st_size, &text);
    int error = size < 0 ? size : perf_map_make(text, (size_t)size, &map);
    if (error) {
        if (size >= 0)
            free(text);
        return error;
    }
    wire_put_bytes(answer, map->entries, map->count * sizeof *map->entries);
    wire_put_bytes(answer, map->names, map->size + 1);
    perf_map_close(map);
    return 0;
}

static int take_map(struct cursor *in, struct perf_map **out)
{
    struct perf_map *map = calloc(1, sizeof *map);
    size_t count, size;
    const struct entry *entries = wire_take_array(in, sizeof *entries, &count);
    const char *names = wire_take_bytes(in, &size);
    bool is_good = entries && names && size && !names[size - 1];
    for (size_t i = 0; i < count && is_good; i++)
        is_good = entries[i].name < size;
    if (map && is_good) {
        map->entries = malloc(count * sizeof *entries + 1);
        map->names = malloc(size);
    }
    if (!map || !map->entries || !map->names) {
        perf_map_close(map);
        return is_good ? -ENOMEM : -EBADMSG;
    }
    memcpy(map->entries, entries, count * sizeof *entries);
    memcpy(map->names, names, size);
    map->count = count;
    map->size = size - 1;
    *out = map;
    return 0;
}

static int ask(int fd, struct perf_map **out)
{
    struct apart_answer answer;
    int error = tables_ask(TABLES_MAP, NULL, fd, &answer);
    if (!error)
        error = take_map(&answer.in, out);
    apart_answer_free(&answer);
    return error;
}

/* Opens the map of a process that runs, and finds its user. */
static int open_running(pid_t pid, uid_t *user)
{
    char path[64], name[64];
    const pid_t number = own_number(pid, user);
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    const int root = number ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (root < 0)
        return -ESRCH;
    snprintf(name, sizeof name, "tmp/perf-%d.map", (int)number);
    const int fd = open_within(root, name);
    close(root);
    return fd < 0 ? -ENOENT : fd;
}

/* Opens the map that a process has left which has ended. Where it was and whose it was is not known any more: it is
 * taken from this process's /tmp, if it is of the user who traces. */
static int open_ended(pid_t pid, uid_t *user)
{
    char path[64];
    unsigned uid, gid;
    *user = create_invoker(&uid, &gid) ? uid : geteuid();
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)pid);
    const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int fd = root < 0 ? -1 : open_within(root, path + 1);
    if (root >= 0)
        close(root);
    return fd < 0 ? -ENOENT : fd;
}

int perf_map_read(pid_t pid, struct perf_map **out)
{
    struct stat status;
    uid_t user = 0;
    int error, fd = open_running(pid, &user);
    if (fd == -ESRCH)
        fd = open_ended(pid, &user);
    if (fd < 0)
        return -ENOENT;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode))
        error = -ENOENT;
    else if (status.st_uid != user && status.st_uid != 0)
        error = -EPERM;
    else if (status.st_size > FILE_MAX)
        error = -EFBIG;
    else
        error = ask(fd, out);
    close(fd);
    return error;
}
