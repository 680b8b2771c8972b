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

#include "base/number.h"
#include "base/open_foreign.h"
#include "base/vector.h"
#include "sym/process/proc.h"

/* Reads all of the text up to `end` as a decimal pid; 0: it is none. */
static uint32_t parse_pid(const char *text, const char *end)
{
    uint64_t pid;
    return number_take(&text, end, 10, &pid) && text == end && pid <= INT32_MAX ? (uint32_t)pid : 0;
}

/* Whether a file has the name of a recording. Fills in what the name says. */
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
        if (!vector_make_room(list->items, list->count, list->room)) {
            error = -ENOMEM;
            break;
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

/* The search through what a process has mapped. */
struct mapped_search {
    const struct find_choice *choice;
    pid_t inner; /* its pid in its own namespace, which names of files have */
    char *path;  /* path of the newest recording that fits; NULL: none yet */
    struct timespec changed;
    int error; /* why one that fits, or all mappings, cannot be read */
    char *unread;
};

/* Whether a mapping is of a file that is wanted. A name with SPDK's shared memory id does not say whose it is, but
 * a mapping does. */
static bool is_chosen_mapping(const struct mapped_search *mapped, const struct proc_mapping *mapping)
{
    const char *file = strrchr(mapping->path, '/');
    struct find_entry entry = {0};
    if (mapping->is_deleted || !file || !parse_name(file + 1, &entry) ||
        (entry.pid && entry.pid != (uint32_t)mapped->inner))
        return false;
    entry.pid = mapped->choice->pid;
    return is_chosen(mapped->choice, &entry);
}

static void look_at_mapping(struct mapped_search *mapped, const struct proc_mapping *mapping)
{
    struct text opened = {0};
    struct stat status;
    if (proc_path((pid_t)mapped->choice->pid, mapping->path, &opened))
        return;
    const char *path = text_string(&opened);
    const int file = foreign_open(path);
    const bool is_open = file >= 0 && !fstat(file, &status);
    if (file >= 0)
        close(file);
    if (is_open && (!mapped->path || status.st_mtim.tv_sec > mapped->changed.tv_sec ||
                    (status.st_mtim.tv_sec == mapped->changed.tv_sec &&
                     status.st_mtim.tv_nsec > mapped->changed.tv_nsec))) {
        free(mapped->path);
        mapped->path = strdup(path);
        mapped->changed = status.st_mtim;
    } else if (file < 0 && !mapped->unread) {
        mapped->error = file;
        mapped->unread = strdup(path);
    }
    text_free(&opened);
}

/* Finds what a running process has mapped, wherever the file is and whatever namespaces the process is in. */
static void find_mapped(struct mapped_search *mapped)
{
    struct proc_maps maps;
    mapped->inner = (pid_t)mapped->choice->pid;
    mapped->error = proc_inner_pid((pid_t)mapped->choice->pid, &mapped->inner);
    if (!mapped->error)
        mapped->error = proc_maps_read((pid_t)mapped->choice->pid, &maps);
    if (mapped->error)
        return;
    for (size_t i = 0; i < maps.count; i++)
        if (is_chosen_mapping(mapped, &maps.items[i]))
            look_at_mapping(mapped, &maps.items[i]);
    proc_maps_free(&maps);
}

/* Adds why nothing was found for a process, as far as that is known. */
static void explain_process(const struct mapped_search *mapped, struct text *why)
{
    const bool is_refused = mapped->error == -EACCES || mapped->error == -EPERM;
    if (mapped->error == -ESRCH)
        text_add(why, "; there is no such process");
    else if (mapped->unread)
        text_printf(why, "; it records to %s, which cannot be opened: %s", mapped->unread,
                    strerror(-mapped->error));
    else if (mapped->error)
        text_printf(why, "; what it has mapped cannot be looked at: %s", strerror(-mapped->error));
    if (is_refused)
        text_add(why, " (that is for its user, or for root)");
}

/* Adds that a given name is a path or that of a file, and not that of a program. */
static void explain_name(const char *name, struct text *why)
{
    struct find_entry entry = {0};
    const char *file = name ? strrchr(name, '/') : NULL;
    if (file)
        text_printf(why, "; %s is a path: -f takes those", name);
    else if (name && parse_name(name, &entry))
        text_printf(why, "; %s is a file: its program is %s", name, entry.name);
}

/* Whether a recording is the caller's own, or, as root, that of the user who called sudo. */
static bool is_own(const struct find_entry *entry)
{
    const char *caller = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
    uint64_t user;
    return entry->owner == geteuid() || (caller && decimal_parse(caller, &user) && entry->owner == user);
}

char *find_recording(const struct find_choice *choice, struct text *why)
{
    struct find_list list;
    char *path = NULL;
    const int error = find_recordings(&list);
    struct mapped_search mapped = {.choice = choice};
    if (choice->pid)
        find_mapped(&mapped);
    path = mapped.path;
    /* The name of a file has a pid of the writer's namespace, which means another process here if the namespaces
     * differ. */
    const bool is_named_here = !choice->pid || mapped.inner == (pid_t)choice->pid;
    const bool is_any = !choice->name && !choice->pid && !choice->id;
    /* The newest one of somebody else, who may have made it for us to read. */
    const struct find_entry *other = NULL;
    for (size_t i = 0; i < list.count && !path && is_named_here; i++) {
        if (!is_chosen(choice, &list.items[i]))
            continue;
        if (is_any && !is_own(&list.items[i]))
            other = other ? other : &list.items[i];
        else
            path = strdup(list.items[i].path);
    }
    if (!path && error) {
        text_printf(why, "cannot look for recordings: %s", strerror(-error));
    } else if (!path && other) {
        text_printf(why, "no recording is your own; the newest belongs to user %ld: -f %s",
                    (long)other->owner, other->path);
        text_printf(why, " or -s %s takes it", other->name);
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
        explain_name(choice->name, why);
        if (choice->pid)
            explain_process(&mapped, why);
    }
    free(mapped.unread);
    find_free(&list);
    return path;
}
