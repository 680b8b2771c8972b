/* SPDX-License-Identifier: BSD-3-Clause */
/* See symbol_file.h.
 *
 * A mapping of a living process leads to its file itself. When the process has ended, only the path is left, in the
 * process's root (which may be gone), in those of its ancestors, or in this process's. A file that is found so is
 * used only if it is the one that was mapped. */
#include "sym/symbol_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/open_foreign.h"
#include "sym/elf/debug_file.h"
#include "sym/dwarf/lines.h"
#include "sym/process/mapped_file.h"
#include "sym/process/proc.h"

enum {
    FILES_MAX = 1024,     /* files that are open, each of which has a descriptor */
    FILES_MOST_IDLE = 64, /* files that were not used for IDLE seconds, and may have been deleted long ago */
    IDLE = 60,
    VDSO_LARGEST = 64 << 10,
    ANCESTORS_MAX = 8,
    TRIES_A_SECOND = 16, /* attempts to open a file that could not be opened */
};
#define BYTES_MAX ((size_t)256 << 20)
#define BYTES_MOST_IDLE ((size_t)32 << 20)
#define VDSO_DEVICE UINT64_MAX /* the device of no file; the inode is the size of the vDSO */

struct symbol_files {
    struct processes *processes;
    struct symbol_file *items[FILES_MAX];
    size_t count;
    uint64_t clock, keys;
    const char *const *given;
};

struct symbol_files *symbol_files_open(struct processes *processes)
{
    struct symbol_files *files = calloc(1, sizeof *files);
    if (files)
        files->processes = processes;
    return files;
}

void symbol_files_given(struct symbol_files *files, const char *const *paths)
{
    files->given = paths;
}

static void file_free(struct symbol_file *file)
{
    elf_file_close(file->elf);
    elf_file_close(file->debug);
    elf_file_close(file->data);
    free(file->bytes);
    free(file->data_bytes);
    free(file);
}

void symbol_files_close(struct symbol_files *files)
{
    for (size_t i = 0; files && i < files->count; i++)
        file_free(files->items[i]);
    free(files);
}

static size_t file_memory(const struct symbol_file *file)
{
    size_t bytes = sizeof *file;
    if (file->elf)
        bytes += elf_file_memory(file->elf);
    if (file->debug)
        bytes += elf_file_memory(file->debug);
    if (file->data)
        bytes += elf_file_memory(file->data) + elf_file_size(file->data);
    return bytes;
}

/* Makes room for one more file. Files grow when they are used, so the memory of all is added up. */
static void files_shrink(struct symbol_files *files)
{
    size_t bytes = 0;
    int64_t now = clock_seconds(CLOCK_MONOTONIC_COARSE);
    for (size_t i = 0; i < files->count; i++)
        bytes += file_memory(files->items[i]);
    while (files->count > FILES_MOST_IDLE || bytes > BYTES_MOST_IDLE) {
        size_t oldest = 0;
        for (size_t i = 1; i < files->count; i++)
            if (files->items[i]->used < files->items[oldest]->used)
                oldest = i;
        if (!files->count ||
            (files->count < FILES_MAX && bytes <= BYTES_MAX && files->items[oldest]->asked + IDLE > now))
            return;
        bytes -= file_memory(files->items[oldest]);
        file_free(files->items[oldest]);
        files->items[oldest] = files->items[--files->count];
    }
}

static struct symbol_file *file_place(struct symbol_files *files, uint64_t device, uint64_t inode,
                                      uint64_t generation)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->items[i]->device == device && files->items[i]->inode == inode &&
            files->items[i]->generation == generation) {
            files->items[i]->used = ++files->clock;
            files->items[i]->asked = clock_seconds(CLOCK_MONOTONIC_COARSE);
            return files->items[i];
        }
    files_shrink(files);
    struct symbol_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    *file = (struct symbol_file){.device = device,
                                 .inode = inode,
                                 .generation = generation,
                                 .key = ++files->keys,
                                 .used = ++files->clock,
                                 .asked = clock_seconds(CLOCK_MONOTONIC_COARSE),
                                 .given = files->given};
    files->items[files->count++] = file;
    return file;
}

/* ---- opening ---- */

/* Opens the vDSO, which has no file. This process's own is that of every process, unless a program is of another
 * kind (32 bits). */
static int vdso_open(pid_t pid, const struct code_mapping *mapping, struct symbol_file *file)
{
    char path[64];
    const uint8_t *own = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    struct code_mapping ours = {0};
    size_t size = mapping->end - mapping->start;
    if (size > VDSO_LARGEST)
        return -ENOEXEC;
    file->bytes = malloc(size);
    if (!file->bytes)
        return -ENOMEM;
    struct proc_maps maps;
    if (own && !proc_maps_read(getpid(), &maps)) {
        const struct proc_mapping *found = proc_maps_find(&maps, (uintptr_t)own);
        if (found)
            ours = (struct code_mapping){.start = found->start, .end = found->end};
        proc_maps_free(&maps);
    }
    if (ours.end - ours.start == size) {
        memcpy(file->bytes, own, size);
    } else {
        snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return -errno;
        ssize_t got = pread(fd, file->bytes, size, (off_t)mapping->start);
        close(fd);
        if (got != (ssize_t)size)
            return -EIO;
    }
    return elf_file_open_memory(file->bytes, size, &file->elf);
}

/* Whether a file has not been replaced since it was mapped. An inode's number is used again when its file is gone:
 * a file that was changed after it was mapped, or has another generation (where the file system has generations),
 * is another one. */
static bool is_same_since(int fd, const struct code_mapping *mapping)
{
    struct stat status;
    unsigned generation = 0;
    if (fstat(fd, &status))
        return false;
    if (mapping->module->generation && !ioctl(fd, FS_IOC_GETVERSION, &generation) &&
        generation != (uint32_t)mapping->module->generation)
        return false;
    const int64_t started = clock_ahead(CLOCK_REALTIME), changed = (int64_t)timespec_ns(&status.st_ctim);
    return changed <= started + (int64_t)mapping->since;
}

static int try_root(const char *root, const struct code_mapping *mapping, struct symbol_file *file)
{
    const struct module *module = mapping->module;
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s%s", root, module->path);
    int fd = foreign_open(path);
    if (fd < 0)
        return -ENOENT;
    int error = mapped_file_is(fd, module->device, module->inode) && is_same_since(fd, mapping)
                    ? elf_file_open_fd(fd, &file->elf)
                    : -ESTALE;
    close(fd);
    return error;
}

static int mapped_open(struct symbol_files *files, pid_t pid, const struct code_mapping *mapping,
                       struct symbol_file *file)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, mapping->start,
             mapping->end);
    int fd = foreign_open(path);
    if (fd >= 0) {
        int error = mapped_file_is(fd, mapping->module->device, mapping->module->inode)
                        ? elf_file_open_fd(fd, &file->elf)
                        : -ESTALE;
        close(fd);
        if (!error || error == -ENOMEM)
            return error;
    }
    if (mapping->module->is_deleted)
        return -ENOENT;
    for (int i = 0; pid > 0 && i < ANCESTORS_MAX; i++) {
        snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
        if (!try_root(path, mapping, file))
            return 0;
        pid = process_parent(files->processes, pid);
    }
    return try_root("", mapping, file);
}

static bool may_try(struct symbol_file *file)
{
    if (file->tried_since != file->asked)
        file->tries = 0;
    file->tried_since = file->asked;
    return file->tries++ < TRIES_A_SECOND;
}

struct symbol_file *symbol_file_mapped(struct symbol_files *files, pid_t pid,
                                       const struct code_mapping *mapping)
{
    const struct module *module = mapping->module;
    bool is_vdso = !module->inode && !strcmp(module->path, "[vdso]");
    if (!is_vdso && (!module->inode || module->path[0] != '/'))
        return NULL;
    struct symbol_file *file = is_vdso ? file_place(files, VDSO_DEVICE, mapping->end - mapping->start, 0)
                                       : file_place(files, module->device, module->inode, module->generation);
    if (!file)
        return NULL;
    if (!file->elf && may_try(file)) { /* another process may still have the file, if this one has not */
        free(file->bytes);
        file->bytes = NULL;
        if (is_vdso ? vdso_open(pid, mapping, file) : mapped_open(files, pid, mapping, file))
            file->elf = NULL;
    }
    return file->elf ? file : NULL;
}

struct symbol_file *symbol_file_named(struct symbol_files *files, const char *path, int *error)
{
    struct stat status;
    const int fd = foreign_open(path);
    *error = fd < 0 ? fd : fstat(fd, &status) ? -errno : 0;
    if (foreign_is_not_regular(*error))
        *error = -ENOEXEC;
    /* The device is written as in /proc/PID/maps, so that both ways of opening lead to one entry. */
    struct symbol_file *file =
        *error ? NULL
               : file_place(files, (uint64_t)major(status.st_dev) << 32 | minor(status.st_dev), status.st_ino,
                            0);
    if (!*error && !file)
        *error = -ENOMEM;
    else if (file && !file->elf && (*error = elf_file_open_fd(fd, &file->elf)))
        file->elf = NULL;
    if (fd >= 0)
        close(fd);
    return *error ? NULL : file;
}

/* ---- questions ---- */

static void seek(struct symbol_file *file, const char *path, pid_t pid)
{
    if (file->sought)
        return;
    file->sought = true;
    if (debug_file_open(file->elf, path, pid, file->given, &file->debug))
        file->debug = NULL;
    if (!file->debug && debug_data_open(file->elf, &file->data_bytes, &file->data))
        file->data = NULL;
}

bool symbol_file_nearest(struct symbol_file *file, const char *path, pid_t pid, uint64_t address,
                         struct elf_symbol *out)
{
    if (!elf_file_nearest(file->elf, address, out))
        return true;
    seek(file, path, pid);
    return (file->debug && !elf_file_nearest(file->debug, address, out)) ||
           (file->data && !elf_file_nearest(file->data, address, out));
}

int symbol_file_symbol(struct symbol_file *file, const char *path, const char *name, struct elf_symbol *out)
{
    int error = elf_file_symbol(file->elf, name, out);
    if (error != -ENOENT)
        return error;
    seek(file, path, 0);
    if (file->debug)
        error = elf_file_symbol(file->debug, name, out);
    if (error == -ENOENT && file->data)
        error = elf_file_symbol(file->data, name, out);
    return error;
}

const struct elf_file *symbol_file_lines(struct symbol_file *file, const char *path, pid_t pid)
{
    if (file->has_no_lines)
        return NULL;
    if (lines_in(file->elf))
        return file->elf;
    seek(file, path, pid);
    if (file->debug && lines_in(file->debug))
        return file->debug;
    file->has_no_lines = true;
    return NULL;
}
