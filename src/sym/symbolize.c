/* SPDX-License-Identifier: BSD-3-Clause */
/* Two bounded caches, the oldest used goes first: processes (their maps, now and before the last change), and
 * files (their symbols, and those of a separate debug file).
 *
 * An address is looked up in the maps that we have; when it is in none of them, they are read again, a few
 * times a second at most, so that a stack full of nonsense does not cost a read each. */
#include "sym/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <libiberty/demangle.h>

#include "base/text.h"
#include "sym/elf.h"
#include "sym/proc.h"

enum {
    PROCESSES_MAX = 256,
    FILES_MAX = 64,
    READS_A_SECOND = 8,
    VDSO_LARGEST = 64 << 10,
    MANGLED_MAX = 4096,
    DEMANGLED_MAX = 16 << 10,
};
#define VDSO_DEVICE UINT64_MAX /* no file has it; the inode is the size */

struct process {
    pid_t pid;
    uint64_t start_time;
    struct proc_maps maps, before;
    uint64_t used;
    time_t checked, reads_since;
    unsigned reads;
};

struct file {
    uint64_t device, inode;
    struct elf_file *elf;   /* NULL: it cannot be read */
    struct elf_file *debug; /* NULL: there is none */
    void *bytes;            /* of the vDSO */
    bool debug_sought;
    uint64_t used;
};

struct symbolizer {
    struct kallsyms *kallsyms;
    bool owns_kallsyms, demangle;
    struct process processes[PROCESSES_MAX];
    size_t process_count;
    struct file files[FILES_MAX];
    size_t file_count;
    uint64_t clock;
    char *demangled; /* the last answer's */
};

int symbolizer_open(struct kallsyms *kallsyms, struct symbolizer **out)
{
    struct symbolizer *symbolizer = calloc(1, sizeof *symbolizer);
    if (!symbolizer)
        return -ENOMEM;
    symbolizer->kallsyms = kallsyms;
    symbolizer->demangle = true;
    *out = symbolizer;
    return 0;
}

static void process_forget(struct process *process)
{
    proc_maps_free(&process->maps);
    proc_maps_free(&process->before);
    *process = (struct process){0};
}

static void file_forget(struct file *file)
{
    elf_file_close(file->elf);
    elf_file_close(file->debug);
    free(file->bytes);
    *file = (struct file){0};
}

void symbolizer_close(struct symbolizer *symbolizer)
{
    if (!symbolizer)
        return;
    for (size_t i = 0; i < symbolizer->process_count; i++)
        process_forget(&symbolizer->processes[i]);
    for (size_t i = 0; i < symbolizer->file_count; i++)
        file_forget(&symbolizer->files[i]);
    if (symbolizer->owns_kallsyms)
        kallsyms_close(symbolizer->kallsyms);
    free(symbolizer->demangled);
    free(symbolizer);
}

void symbolizer_demangle(struct symbolizer *symbolizer, bool demangle)
{
    symbolizer->demangle = demangle;
}

char *symbol_demangle(const char *name)
{
    if (strncmp(name, "_Z", 2) && strncmp(name, "_R", 2))
        return NULL;
    if (strnlen(name, MANGLED_MAX + 1) > MANGLED_MAX)
        return NULL;
    char *demangled = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    if (demangled && strnlen(demangled, DEMANGLED_MAX + 1) > DEMANGLED_MAX) {
        free(demangled);
        return NULL;
    }
    return demangled;
}

static const char *symbolizer_name(struct symbolizer *symbolizer, const char *name)
{
    free(symbolizer->demangled);
    symbolizer->demangled = symbolizer->demangle ? symbol_demangle(name) : NULL;
    return symbolizer->demangled ? symbolizer->demangled : name;
}

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

/* ---- processes ---- */

static bool maps_equal(const struct proc_maps *a, const struct proc_maps *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].start != b->items[i].start || a->items[i].end != b->items[i].end ||
            a->items[i].device != b->items[i].device || a->items[i].inode != b->items[i].inode ||
            a->items[i].offset != b->items[i].offset)
            return false;
    return true;
}

/* Reads the maps anew. What was known before stays for addresses that are in the new ones no more: a process
 * that called execve, or has unloaded a library. */
static int process_read(struct process *process)
{
    struct proc_maps maps;
    uint64_t start_time;
    int error = proc_start_time(process->pid, &start_time);
    if (!error)
        error = proc_maps_read(process->pid, &maps);
    if (error)
        return error;
    if (process->start_time != start_time) { /* another process under the same number */
        proc_maps_free(&process->maps);
        proc_maps_free(&process->before);
    }
    if (maps_equal(&maps, &process->maps)) {
        proc_maps_free(&maps);
    } else {
        proc_maps_free(&process->before);
        process->before = process->maps;
        process->maps = maps;
    }
    process->start_time = start_time;
    process->checked = seconds_now();
    return 0;
}

static int process_get(struct symbolizer *symbolizer, pid_t pid, struct process **out)
{
    struct process *oldest = symbolizer->processes;
    for (size_t i = 0; i < symbolizer->process_count; i++) {
        struct process *process = &symbolizer->processes[i];
        if (process->used < oldest->used)
            oldest = process;
        if (process->pid != pid)
            continue;
        process->used = ++symbolizer->clock;
        uint64_t start_time;
        time_t now = seconds_now();
        /* The number may have gone to another process; one look a second tells. */
        if (process->checked != now && !proc_start_time(pid, &start_time) &&
            start_time != process->start_time)
            process_read(process);
        process->checked = now;
        *out = process;
        return 0;
    }
    struct process fresh = {.pid = pid};
    int error = process_read(&fresh);
    if (error)
        return error;
    if (symbolizer->process_count < PROCESSES_MAX)
        oldest = &symbolizer->processes[symbolizer->process_count++];
    else
        process_forget(oldest);
    fresh.used = ++symbolizer->clock;
    *oldest = fresh;
    *out = oldest;
    return 0;
}

static bool process_may_read(struct process *process)
{
    time_t now = seconds_now();
    if (process->reads_since != now) {
        process->reads_since = now;
        process->reads = 0;
    }
    return process->reads++ < READS_A_SECOND;
}

static const struct proc_mapping *process_find(struct process *process, uint64_t address)
{
    const struct proc_mapping *mapping = proc_maps_find(&process->maps, address);
    if ((!mapping || !mapping->executable) && process_may_read(process) && !process_read(process))
        mapping = proc_maps_find(&process->maps, address);
    return mapping ? mapping : proc_maps_find(&process->before, address);
}

int symbolizer_remember(struct symbolizer *symbolizer, pid_t pid)
{
    struct process *process;
    return process_get(symbolizer, pid, &process);
}

/* ---- files ---- */

/* The vDSO has no file: it is copied from the process. */
static int vdso_open(pid_t pid, const struct proc_mapping *mapping, struct file *file)
{
    char path[64];
    size_t size = mapping->end - mapping->start;
    if (size > VDSO_LARGEST)
        return -ENOEXEC;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    file->bytes = malloc(size);
    int error = file->bytes ? 0 : -ENOMEM;
    if (!error && pread(fd, file->bytes, size, (off_t)mapping->start) != (ssize_t)size)
        error = -EIO;
    close(fd);
    return error ? error : elf_file_open_memory(file->bytes, size, &file->elf);
}

/* The mapping itself leads to its file, whatever happened to the name; where we may not follow it, and when
 * the process has ended, the name must do. */
static int mapped_open(pid_t pid, const struct proc_mapping *mapping, struct file *file)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, mapping->start,
             mapping->end);
    int error = elf_file_open(path, &file->elf);
    if (!error || error == -ENOMEM || mapping->is_deleted)
        return error;
    struct text named = {0};
    error = proc_path(pid, mapping->path, &named);
    if (!error)
        error = elf_file_open(text_string(&named), &file->elf);
    text_free(&named);
    return error;
}

static struct file *file_place(struct symbolizer *symbolizer, uint64_t device, uint64_t inode, bool *is_new)
{
    struct file *oldest = symbolizer->files;
    for (size_t i = 0; i < symbolizer->file_count; i++) {
        struct file *file = &symbolizer->files[i];
        if (file->device == device && file->inode == inode) {
            file->used = ++symbolizer->clock;
            *is_new = false;
            return file;
        }
        if (file->used < oldest->used)
            oldest = file;
    }
    if (symbolizer->file_count < FILES_MAX)
        oldest = &symbolizer->files[symbolizer->file_count++];
    else
        file_forget(oldest);
    *oldest = (struct file){.device = device, .inode = inode, .used = ++symbolizer->clock};
    *is_new = true;
    return oldest;
}

static struct file *file_of_mapping(struct symbolizer *symbolizer, pid_t pid,
                                    const struct proc_mapping *mapping)
{
    bool is_vdso = !mapping->inode && !strcmp(mapping->path, "[vdso]"), is_new;
    if (!is_vdso && (!mapping->inode || mapping->path[0] != '/'))
        return NULL;
    struct file *file = is_vdso ? file_place(symbolizer, VDSO_DEVICE, mapping->end - mapping->start, &is_new)
                                : file_place(symbolizer, mapping->device, mapping->inode, &is_new);
    if (is_new || (is_vdso && !file->elf)) {
        free(file->bytes);
        file->bytes = NULL;
        if (is_vdso ? vdso_open(pid, mapping, file) : mapped_open(pid, mapping, file))
            file->elf = NULL;
    }
    return file->elf ? file : NULL;
}

static struct elf_file *file_debug(struct file *file)
{
    size_t size;
    const uint8_t *id = elf_file_build_id(file->elf, &size);
    if (file->debug_sought || !id || size < 2)
        return file->debug;
    file->debug_sought = true;
    char path[256];
    int length = snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%02x/", id[0]);
    for (size_t i = 1; i < size; i++)
        length += snprintf(path + length, sizeof path - (size_t)length, "%02x", id[i]);
    snprintf(path + length, sizeof path - (size_t)length, ".debug");
    if (elf_file_open(path, &file->debug))
        file->debug = NULL;
    return file->debug;
}

static bool file_nearest(struct file *file, uint64_t address, struct elf_symbol *out)
{
    if (!elf_file_nearest(file->elf, address, out))
        return true;
    struct elf_file *debug = file_debug(file);
    return debug && !elf_file_nearest(debug, address, out);
}

/* ---- questions ---- */

int symbolizer_user(struct symbolizer *symbolizer, pid_t pid, uint64_t address, struct symbolized *out)
{
    struct process *process;
    *out = (struct symbolized){0};
    int error = process_get(symbolizer, pid, &process);
    if (error)
        return error == -ENOMEM ? error : -ENOENT;
    const struct proc_mapping *mapping = process_find(process, address);
    if (!mapping)
        return -ENOENT;
    if (mapping->path[0]) {
        out->module = mapping->path;
        out->offset = address - mapping->start + mapping->offset;
    }
    struct file *file = file_of_mapping(symbolizer, pid, mapping);
    struct elf_symbol symbol;
    if (!file)
        return -ENOENT;
    out->build_id = elf_file_build_id(file->elf, &out->build_id_size);
    if (elf_file_code_address(file->elf, address - mapping->start + mapping->offset, &out->module_address))
        return -ENOENT;
    out->offset = out->module_address;
    if (!file_nearest(file, out->module_address, &symbol))
        return -ENOENT;
    out->function = symbolizer_name(symbolizer, symbol.name);
    out->offset = out->module_address - symbol.address;
    return 0;
}

int symbolizer_kernel(struct symbolizer *symbolizer, uint64_t address, struct symbolized *out)
{
    *out = (struct symbolized){0};
    if (!symbolizer->kallsyms) {
        int error = kallsyms_open(NULL, &symbolizer->kallsyms);
        if (error)
            return error;
        symbolizer->owns_kallsyms = true;
    }
    struct kernel_symbol symbol;
    int error = kallsyms_resolve(symbolizer->kallsyms, address, &symbol);
    if (error)
        return error == -ENOMEM ? error : -ENOENT;
    out->function = symbolizer_name(symbolizer, symbol.name);
    out->module = symbol.module;
    out->offset = symbol.offset;
    return 0;
}

static struct file *file_of_path(struct symbolizer *symbolizer, const char *path, int *error)
{
    struct stat status;
    bool is_new;
    *error = stat(path, &status) ? -errno : 0;
    if (*error)
        return NULL;
    /* As maps writes devices, so that both ways lead to one entry. */
    uint64_t device = (uint64_t)major(status.st_dev) << 32 | minor(status.st_dev);
    struct file *file = file_place(symbolizer, device, status.st_ino, &is_new);
    if (is_new || !file->elf)
        *error = elf_file_open(path, &file->elf);
    if (*error)
        file->elf = NULL;
    return *error ? NULL : file;
}

/* The process's mapping of the file's code, by the path that it knows or by the file itself. */
static const struct proc_mapping *process_mapping(struct process *process, const char *path)
{
    struct stat status, mapped;
    if (stat(path, &status))
        return NULL;
    for (size_t i = 0; i < process->maps.count; i++) {
        const struct proc_mapping *mapping = &process->maps.items[i];
        if (!mapping->executable || mapping->inode != status.st_ino)
            continue;
        char name[PATH_MAX + 32];
        if (!strcmp(mapping->path, path))
            return mapping;
        snprintf(name, sizeof name, "/proc/%d/root%s", (int)process->pid, mapping->path);
        if (!stat(name, &mapped) && mapped.st_dev == status.st_dev && mapped.st_ino == status.st_ino)
            return mapping;
    }
    return NULL;
}

int symbolizer_bias(struct symbolizer *symbolizer, const char *path, pid_t pid, uint64_t *bias)
{
    struct process *process;
    int error = process_get(symbolizer, pid, &process);
    if (error)
        return error;
    const struct proc_mapping *mapping = process_mapping(process, path);
    if (!mapping && process_may_read(process) && !process_read(process))
        mapping = process_mapping(process, path);
    if (!mapping)
        return -ESRCH;
    struct file *file = file_of_path(symbolizer, path, &error);
    uint64_t address;
    if (!file)
        return error;
    error = elf_file_code_address(file->elf, mapping->offset, &address);
    if (!error)
        *bias = mapping->start - address;
    return error;
}

int symbolizer_address(struct symbolizer *symbolizer, const char *path, pid_t pid, const char *name,
                       uint64_t *address, uint64_t *size)
{
    struct elf_symbol symbol;
    uint64_t bias = 0;
    int error;
    struct file *file = file_of_path(symbolizer, path, &error);
    if (!file)
        return error;
    error = elf_file_symbol(file->elf, name, &symbol);
    if (error == -ENOENT && file_debug(file))
        error = elf_file_symbol(file->debug, name, &symbol);
    if (!error && pid > 0)
        error = symbolizer_bias(symbolizer, path, pid, &bias);
    if (error)
        return error;
    *address = symbol.address + bias;
    if (size)
        *size = symbol.size;
    return 0;
}
