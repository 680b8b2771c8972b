/* SPDX-License-Identifier: BSD-3-Clause */
#include "sym/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sym/proc.h"

/* The numbers of a file as maps has them, which are not what stat says on every file system (btrfs,
 * overlays): we map it ourselves and look. */
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
    uint64_t device = 0, inode = 0, writable = 0; /* from its beginning up to there */
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
