/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/open_foreign.h"
#include "base/trusted_path.h"
#include "base/vector.h"
#include "base/whole.h"

enum { LARGEST_FILE = 2 << 20, SUFFIX = 3 };

static bool is_script(const char *name)
{
    return *name != '.' && glob_match("*.bt", name);
}

static int read_text(const char *path, struct text *text, struct text *why)
{
    const int file = trusted_find(path, why);
    if (file < 0)
        return file;
    int error = foreign_check(file, 0, NULL);
    const int descriptor = error ? error : foreign_reopen(file, O_RDONLY);
    close(file);
    if (descriptor < 0)
        return descriptor;
    error = whole_read_text(descriptor, LARGEST_FILE, text);
    close(descriptor);
    return error;
}

static int add(struct script_files *files, const char *directory, const char *name)
{
    struct text path = {0}, why = {0};
    if (files->count == DIRECTORY_SCRIPTS_MAX)
        return -E2BIG;
    if (!vector_make_room(files->items, files->count, files->room))
        return -ENOMEM;
    struct script_file *file = &files->items[files->count++];
    text_printf(&path, "%s/%s", directory, name);
    *file = (struct script_file){.name = strndup(name, strlen(name) - SUFFIX), .path = path.bytes};
    if (!file->name || path.failed)
        return -ENOMEM;
    const int error = read_text(file->path, &file->text, &why);
    if (error == -ENOMEM || file->text.failed)
        return -ENOMEM;
    if (error && !(file->why = strdup(why.length ? text_string(&why) : strerror(-error))))
        return -ENOMEM;
    text_free(&why);
    return 0;
}

static int by_name(const void *one, const void *other)
{
    return strcmp(((const struct script_file *)one)->name, ((const struct script_file *)other)->name);
}

/* Tells of the option for whoever has mounted the directory read-only, because others may write to it. */
static void add_hint(const char *path, struct text *why)
{
    struct statvfs system;
    const int directory = foreign_open_directory(path);
    if (directory >= 0 && !fstatvfs(directory, &system) && system.f_flag & ST_RDONLY)
        text_add(why, "; --trust-read-only takes what is mounted read-only");
    if (directory >= 0)
        close(directory);
}

int directory_read(const char *path, struct script_files *out, struct text *why)
{
    *out = (struct script_files){0};
    const int found = trusted_find(path, why);
    if (found == -EPERM)
        add_hint(path, why);
    const int descriptor = found < 0 ? found : openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = descriptor < 0 && found >= 0 ? -errno : descriptor < 0 ? descriptor : 0;
    DIR *directory = error ? NULL : fdopendir(descriptor);
    if (found >= 0)
        close(found);
    if (!error && !directory)
        error = -ENOMEM;
    for (struct dirent *entry; !error && (entry = readdir(directory));)
        if (is_script(entry->d_name))
            error = add(out, path, entry->d_name);
    if (directory)
        closedir(directory);
    if (error == -E2BIG)
        text_printf(why, "it has more than %d scripts", DIRECTORY_SCRIPTS_MAX);
    else if (error && !why->length)
        text_add(why, strerror(-error));
    if (!error && out->count)
        qsort(out->items, out->count, sizeof *out->items, by_name);
    return error;
}

void directory_free(struct script_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].name);
        free(files->items[i].path);
        free(files->items[i].why);
        text_free(&files->items[i].text);
    }
    free(files->items);
    *files = (struct script_files){0};
}

static int add_watch(int watch, const char *path)
{
    enum {
        EVENTS = IN_CLOSE_WRITE | IN_MOVE | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF,
    };
    return inotify_add_watch(watch, path, EVENTS) < 0 ? -errno : 0;
}

int directory_watch(const char *path)
{
    const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    const int error = watch < 0 ? -errno : add_watch(watch, path);
    if (!error)
        return watch;
    if (watch >= 0)
        close(watch);
    return error;
}

void directory_watch_again(int watch, const char *path)
{
    add_watch(watch, path);
}

void directory_forget(int watch)
{
    char events[4096];
    while (read(watch, events, sizeof events) > 0)
        ;
}
