/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/text.h"

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

int whole_read_text(int fd, size_t most, struct text *out)
{
    enum { ROOM = 16 << 10 };
    const size_t before = out->length;
    while (out->length - before <= most) {
        if (!text_reserve(out, ROOM))
            return -ENOMEM;
        const ssize_t got = read(fd, out->bytes + out->length, out->room - out->length - 1);
        if (got < 0 && errno != EINTR)
            return -errno;
        out->length += got > 0 ? (size_t)got : 0;
        out->bytes[out->length] = 0;
        if (got == 0)
            return 0;
    }
    return -EFBIG;
}

ssize_t whole_read_short(const char *path, char *buffer, size_t size)
{
    buffer[0] = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t length = 0;
    ssize_t got = 0;
    while (length + 1 < size &&
           ((got = read(fd, buffer + length, size - 1 - length)) > 0 || (got < 0 && errno == EINTR)))
        length += got > 0 ? (size_t)got : 0;
    const int error = got < 0 ? -errno : 0;
    close(fd);
    buffer[error ? 0 : length] = 0;
    return error ? error : (ssize_t)length;
}
