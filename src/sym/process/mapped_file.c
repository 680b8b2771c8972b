/* SPDX-License-Identifier: BSD-3-Clause */
#include "sym/process/mapped_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "sym/process/proc.h"

/* Finds device and inode of a file as /proc/PID/maps writes them, which is not what stat says on every file system
 * (btrfs, overlays): this process maps it and reads its own maps. */
static bool own_numbers(int file, uint64_t *device, uint64_t *inode)
{
    struct proc_maps maps;
    void *at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, file, 0);
    const struct proc_mapping *found = NULL;
    if (at == MAP_FAILED)
        return false;
    if (!proc_maps_read(getpid(), &maps)) {
        found = proc_maps_find(&maps, (uintptr_t)at);
        if (found) {
            *device = found->device;
            *inode = found->inode;
        }
        proc_maps_free(&maps);
    }
    munmap(at, 1);
    return found != NULL;
}

static uint64_t device_of(const struct stat *status)
{
    return (uint64_t)major(status->st_dev) << 32 | minor(status->st_dev);
}

bool mapped_file_is(int file, uint64_t device, uint64_t inode)
{
    struct stat status;
    uint64_t own_device, own_inode;
    if (fstat(file, &status) || !S_ISREG(status.st_mode))
        return false;
    return (device_of(&status) == device && status.st_ino == inode) ||
           (own_numbers(file, &own_device, &own_inode) && own_device == device && own_inode == inode);
}

int mapped_file_shared(int file, pid_t pid)
{
    struct proc_maps maps;
    struct stat status;
    uint64_t device = 0, inode = 0, writable = 0; /* how much of it is writable, from its beginning on */
    int result = proc_maps_read(pid, &maps);
    if (result)
        return result;
    const bool is_known = !fstat(file, &status) && own_numbers(file, &device, &inode);
    for (size_t i = 0; i < maps.count && is_known; i++) {
        const struct proc_mapping *mapping = &maps.items[i];
        const uint64_t end = mapping->offset + (mapping->end - mapping->start);
        if (mapping->is_private || mapping->device != device || mapping->inode != inode)
            continue;
        result = MAPPED_SHARED;
        if (mapping->writable && mapping->offset <= writable && end > writable)
            writable = end;
    }
    proc_maps_free(&maps);
    return result == MAPPED_SHARED && writable >= (uint64_t)status.st_size ? MAPPED_WRITABLE : result;
}

/* ---- by the id in a recording ---- */

struct search {
    int file;
    pid_t named, found;
    int hidden; /* why a process with this id must not be examined */
};

static int look_at(void *context, pid_t pid)
{
    struct search *search = context;
    pid_t inner;
    if (proc_inner_pid(pid, &inner) || inner == pid || inner != search->named)
        return 0;
    const int shared = mapped_file_shared(search->file, pid);
    if (shared < 0 && shared != -ESRCH)
        search->hidden = shared;
    if (shared > MAPPED_NOT)
        search->found = pid;
    return shared > MAPPED_NOT ? shared : 0;
}

int mapped_file_written(int file, const char *path, pid_t named, pid_t *writer)
{
    pid_t by_path = 0;
    const pid_t known = __atomic_load_n(writer, __ATOMIC_RELAXED);
    const int shared = mapped_file_shared(file, known ? known : named);
    struct search search = {.file = file, .named = named};
    if (shared > MAPPED_NOT || known)
        return shared;
    /* Another process may have the same id here. The one that is meant is in the path, or is searched among all. */
    int nested = foreign_root_length(path, &by_path) ? look_at(&search, by_path) : 0;
    if (nested <= MAPPED_NOT)
        nested = proc_each(look_at, &search);
    if (nested > MAPPED_NOT)
        __atomic_store_n(writer, search.found, __ATOMIC_RELAXED);
    return nested > MAPPED_NOT ? nested : search.hidden ? search.hidden : shared;
}
