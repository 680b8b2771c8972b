/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int copy_range(int from, int to, uint64_t offset, uint64_t bytes)
{
    enum { PART = 1 << 18 };
    char *part = malloc(PART);
    int error = part ? 0 : -ENOMEM;
    while (!error && bytes) {
        /* Holes are passed over, because they may be of any size at no cost to the owner of the file. */
        const off_t data = lseek(from, (off_t)offset, SEEK_DATA);
        const uint64_t hole = data > (off_t)offset ? (uint64_t)data - offset : 0;
        if ((data < 0 && errno == ENXIO) || hole >= bytes)
            break;
        offset += hole;
        bytes -= hole;
        const ssize_t got = pread(from, part, bytes < PART ? bytes : PART, (off_t)offset);
        if (got == 0)
            break;
        if (got < 0) {
            error = errno == EINTR ? 0 : -errno;
            continue;
        }
        for (ssize_t done = 0, now; done < got && !error; done += now) {
            now = pwrite(to, part + done, (size_t)(got - done), (off_t)offset + done);
            if (now < 0) {
                error = errno == EINTR ? 0 : -errno;
                now = 0;
            }
        }
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    free(part);
    return error;
}

int copy_file(int from, int to)
{
    struct stat status;
    int error = fstat(from, &status) ? -errno : 0;
    for (off_t at = 0; !error && at < status.st_size;) {
        const off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        const off_t begin = data < 0 ? at : data;
        off_t end = lseek(from, begin, SEEK_HOLE);
        if (end <= begin)
            end = status.st_size;
        error = copy_range(from, to, (uint64_t)begin, (uint64_t)(end - begin));
        at = end;
    }
    if (!error && ftruncate(to, status.st_size))
        error = -errno;
    return error;
}

int copy_to_memory(int from)
{
    const int to = memfd_create("recording", MFD_CLOEXEC);
    if (to < 0)
        return -errno;
    const int error = copy_file(from, to);
    if (!error)
        return to;
    close(to);
    return error;
}
