/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of block devices: "memory" keeps what is written, as long as the program runs; "null" forgets it
 * and reads as zeroes; "file" is a file of the device's name, where blockd was started. Its writes wait for
 * the disk, and all I/O of the thread with them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bdev.h"

static int null_open(struct bdev *bdev)
{
    (void)bdev;
    return 0;
}

static void null_close(struct bdev *bdev)
{
    (void)bdev;
}

static int null_execute(struct bdev *bdev, const struct bdev_io *io, uint64_t offset, uint32_t length,
                        void *data)
{
    (void)bdev, (void)offset;
    if (io->type == BDEV_READ)
        memset(data, 0, length);
    return 0;
}

static const struct bdev_kind null_kind = {"null", null_open, null_close, null_execute};

/* Maps the memory; pages are allocated when they are first written. */
static int memory_open(struct bdev *bdev)
{
    bdev->memory =
        mmap(NULL, bdev->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return bdev->memory == MAP_FAILED ? -errno : 0;
}

static void memory_close(struct bdev *bdev)
{
    munmap(bdev->memory, bdev->size);
}

/* Returns whole pages to the system; they read as zeroes from then on. */
static int memory_discard(char *begin, uint32_t length)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *first = (char *)(((uintptr_t)begin + page - 1) & ~(page - 1));
    char *end = begin + length, *last = (char *)((uintptr_t)end & ~(page - 1));
    if (first >= last) {
        memset(begin, 0, length);
        return 0;
    }
    memset(begin, 0, (size_t)(first - begin));
    memset(last, 0, (size_t)(end - last));
    return madvise(first, (size_t)(last - first), MADV_DONTNEED) < 0 ? -errno : 0;
}

static int memory_execute(struct bdev *bdev, const struct bdev_io *io, uint64_t offset, uint32_t length,
                          void *data)
{
    char *place = (char *)bdev->memory + offset;
    switch (io->type) {
    case BDEV_READ: memcpy(data, place, length); return 0;
    case BDEV_WRITE: memcpy(place, data, length); return 0;
    case BDEV_FLUSH: return 0;
    case BDEV_TRIM: return memory_discard(place, length);
    case BDEV_WRITE_ZEROES:
        if (!io->keep_space)
            return memory_discard(place, length);
        memset(place, 0, length);
        return 0;
    }
    return -ENOTSUP;
}

static const struct bdev_kind memory_kind = {"memory", memory_open, memory_close, memory_execute};

static int file_of(const struct bdev *bdev)
{
    return (int)(intptr_t)bdev->memory;
}

static int file_open(struct bdev *bdev)
{
    if (strchr(bdev->name, '/'))
        return -EINVAL;
    const int file = open(bdev->name, O_RDWR | O_CREAT | O_DSYNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return -errno;
    if (ftruncate(file, (off_t)bdev->size) < 0) {
        const int error = -errno;
        close(file);
        return error;
    }
    bdev->memory = (void *)(intptr_t)file;
    return 0;
}

static void file_close(struct bdev *bdev)
{
    close(file_of(bdev));
}

static int file_move(int file, const struct bdev_io *io, off_t at, uint32_t left, char *data)
{
    while (left > 0) {
        const ssize_t moved =
            io->type == BDEV_READ ? pread(file, data, left, at) : pwrite(file, data, left, at);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return moved < 0 ? -errno : -EIO;
        data += moved;
        at += moved;
        left -= (uint32_t)moved;
    }
    return 0;
}

static int file_execute(struct bdev *bdev, const struct bdev_io *io, uint64_t offset, uint32_t length,
                        void *data)
{
    const int file = file_of(bdev);
    int mode = FALLOC_FL_KEEP_SIZE;
    switch (io->type) {
    case BDEV_READ:
    case BDEV_WRITE: return file_move(file, io, (off_t)offset, length, data);
    case BDEV_FLUSH: return fdatasync(file) < 0 ? -errno : 0;
    case BDEV_TRIM: mode |= FALLOC_FL_PUNCH_HOLE; break;
    case BDEV_WRITE_ZEROES: mode |= io->keep_space ? FALLOC_FL_ZERO_RANGE : FALLOC_FL_PUNCH_HOLE; break;
    default: return -ENOTSUP;
    }
    return fallocate(file, mode, (off_t)offset, length) < 0 ? -errno : 0;
}

static const struct bdev_kind file_kind = {"file", file_open, file_close, file_execute};

const struct bdev_kind *const bdev_kinds[] = {&memory_kind, &null_kind, &file_kind, NULL};
