/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/whole.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

int whole_write(int fd, const void *bytes, size_t size, int patience_ms)
{
    for (const char *at = bytes; size;) {
        const ssize_t put = write(fd, at, size);
        if (put >= 0) {
            at += put;
            size -= (size_t)put;
        } else if (errno == EAGAIN) {
            if (poll(&(struct pollfd){fd, POLLOUT, 0}, 1, patience_ms) == 0)
                return -EAGAIN;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

int whole_write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
    for (const char *at = bytes; size;) {
        const ssize_t put = pwrite(fd, at, size, (off_t)offset);
        if (put < 0 && errno != EINTR)
            return -errno;
        if (put > 0) {
            at += put;
            size -= (size_t)put;
            offset += (uint64_t)put;
        }
    }
    return 0;
}

int whole_read(int fd, void *bytes, size_t size)
{
    for (char *at = bytes; size;) {
        const ssize_t got = read(fd, at, size);
        if (got == 0)
            return -ENODATA;
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        }
    }
    return 0;
}
