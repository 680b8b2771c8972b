/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/find.h"

#include <dirent.h>
#include <fcntl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "sym/proc.h"

/* All of `text` up to `end` as a decimal number that is a pid; 0: it is none. */
static uint32_t parse_pid(const char *text, const char *end)
{
    uint64_t pid = 0;
    for (const char *c = text; c < end; c++) {
        if (*c < '0' || *c > '9' || pid > INT32_MAX)
            return 0;
        pid = pid * 10 + (uint64_t)(*c - '0');
    }
    return pid <= INT32_MAX ? (uint32_t)pid : 0;
}

/* Is it called like a recording? */
static bool parse_name(const char *file, struct find_entry *entry)
{
    const size_t length = strlen(file), suffix = strlen(".spoor");
    const char *end;
    if (length > suffix && !strcmp(file + length - suffix, ".spoor")) {
        const char *last = file + length - suffix, *dot = last;
        while (dot > file && *--dot != '.')
            ;
        if (*dot != '.' || !(entry->pid = parse_pid(dot + 1, last)))
            return false;
        end = dot;
    } else {
        end = strstr(file, "_trace.");
        for (const char *next = end; next; next = strstr(next + 1, "_trace."))
            end = next;
        if (!end)
            return false;
        const char *id = end + strlen("_trace.");
        entry->is_spdk = true;
        if (!strncmp(id, "pid", 3))
            entry->pid = parse_pid(id + 3, file + length);
        else
            snprintf(entry->id, sizeof entry->id, "%s", id);
        if (!entry->pid && !entry->id[0])
            return false;
    }
    if (end == file || (size_t)(end - file) >= sizeof entry->name)
        return false;
    memcpy(entry->name, file, (size_t)(end - file));
    entry->name[end - file] = 0;
    return true;
}

static int newest_first(const void *one, const void *other)
{
    const struct find_entry *a = one, *b = other;
    if (a->changed.tv_sec != b->changed.tv_sec)
        return a->changed.tv_sec > b->changed.tv_sec ? -1 : 1;
    if (a->changed.tv_nsec != b->changed.tv_nsec)
        return a->changed.tv_nsec > b->changed.tv_nsec ? -1 : 1;
    return strcmp(a->path, b->path);
}

static int look_in(struct find_list *list, const char *directory)
{
    DIR *stream = opendir(directory);
    if (!stream)
        return 0;
    int error = 0;
    for (const struct dirent *item; !error && (item = readdir(stream));) {
        struct find_entry entry = {0};
        struct stat status;
        if (!parse_name(item->d_name, &entry) ||
            fstatat(dirfd(stream), item->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
            continue;
        entry.owner = status.st_uid;
        entry.changed = status.st_mtim;
        entry.bytes = (uint64_t)status.st_size;
        entry.allocated = (uint64_t)status.st_blocks * 512;
        if (list->count == list->room) {
            const size_t room = list->room ? list->room * 2 : 16;
            struct find_entry *grown = realloc(list->items, room * sizeof *grown);
            if (!grown) {
                error = -ENOMEM;
                break;
            }
            list->items = grown;
            list->room = room;
        }
        if (asprintf(&entry.path, "%s/%s", directory, item->d_name) < 0) {
            error = -ENOMEM;
            break;
        }
        list->items[list->count++] = entry;
    }
    closedir(stream);
    return error;
}

int find_recordings(struct find_list *list)
{
    const char *other = getenv("SPOOR_TRACE_DIR");
    *list = (struct find_list){0};
    int error = look_in(list, "/dev/shm");
    if (!error && other && *other && strcmp(other, "/dev/shm"))
        error = look_in(list, other);
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, newest_first);
    return error;
}

void find_free(struct find_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
    *list = (struct find_list){0};
}

static bool is_chosen(const struct find_choice *choice, const struct find_entry *entry)
{
    return !(choice->name && strcmp(choice->name, entry->name)) &&
           !(choice->pid && choice->pid != entry->pid) && !(choice->id && strcmp(choice->id, entry->id));
}

static char *path_if_readable(const char *path)
{
    const int file = foreign_open(path);
    if (file < 0)
        return NULL;
    close(file);
    return strdup(path);
}

/* What a running process has mapped is found wherever it lies. A file with SPDK's shared memory id in its
 * name does not say whose it is; here it is known. NULL: nothing. */
static char *find_mapped(const struct find_choice *choice)
{
    struct proc_maps maps;
    char *path = NULL;
    if (proc_maps_read((pid_t)choice->pid, &maps))
        return NULL;
    for (size_t i = 0; i < maps.count && !path; i++) {
        const struct proc_mapping *mapping = &maps.items[i];
        const char *file = strrchr(mapping->path, '/');
        struct find_entry entry = {0};
        struct text opened = {0};
        if (mapping->is_deleted || !file || !parse_name(file + 1, &entry))
            continue;
        if (!entry.pid)
            entry.pid = choice->pid;
        if (is_chosen(choice, &entry) && !proc_path((pid_t)choice->pid, mapping->path, &opened))
            path = path_if_readable(text_string(&opened));
        text_free(&opened);
    }
    proc_maps_free(&maps);
    return path;
}

/* What is no name of a program, but of its file. */
static void tell_of_name(const char *name, struct text *why)
{
    struct find_entry entry = {0};
    const char *file = name ? strrchr(name, '/') : NULL;
    if (file)
        text_printf(why, "; %s is a path: -f takes those", name);
    else if (name && parse_name(name, &entry))
        text_printf(why, "; %s is a file: its program is %s", name, entry.name);
}

char *find_recording(const struct find_choice *choice, struct text *why)
{
    struct find_list list;
    char *path = NULL;
    const int error = find_recordings(&list);
    for (size_t i = 0; i < list.count && !path; i++) {
        if (is_chosen(choice, &list.items[i]))
            path = strdup(list.items[i].path);
    }
    if (!path && choice->pid)
        path = find_mapped(choice);
    if (!path && error) {
        text_printf(why, "cannot look for recordings: %s", strerror(-error));
    } else if (!path) {
        text_add(why, "no recording");
        if (choice->name)
            text_printf(why, " named %s", choice->name);
        if (choice->pid)
            text_printf(why, " of process %" PRIu32, choice->pid);
        if (choice->id)
            text_printf(why, " with id %s", choice->id);
        text_add(why, list.count ? " in /dev/shm; `spoor ctl list` shows what is there" : " in /dev/shm");
        if (getenv("SPOOR_TRACE_DIR"))
            text_printf(why, ", nor in %s", getenv("SPOOR_TRACE_DIR"));
        tell_of_name(choice->name, why);
    }
    find_free(&list);
    return path;
}
