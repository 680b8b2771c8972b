/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/frames.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { PART = 64 << 10, KEPT = 1 << 20 };

struct head {
    uint32_t kind, size;
};

int frames_pair(struct frames *one, struct frames *other)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
        return -errno;
    *one = (struct frames){.fd = pair[0]};
    *other = (struct frames){.fd = pair[1]};
    return 0;
}

int frames_receive(struct frames *frames)
{
    for (;;) {
        if (!text_reserve(&frames->in, PART))
            return -ENOMEM;
        const ssize_t got = recv(frames->fd, frames->in.bytes + frames->in.length, PART, 0);
        if (got > 0)
            frames->in.length += (size_t)got;
        else if (!got)
            return -EPIPE;
        else if (errno != EINTR)
            return errno == EAGAIN ? 0 : -errno;
        if (frames->in.length - frames->read > FRAME_MAX + PART)
            return 0; /* what is here is read first */
    }
}

/* Forgets what was read, when that is most of what there is. */
static void tidy(struct frames *frames)
{
    if (frames->read == frames->in.length && frames->in.length > KEPT) {
        text_free(&frames->in);
        frames->read = 0;
    } else if (frames->read > frames->in.length / 2) {
        memmove(frames->in.bytes, frames->in.bytes + frames->read, frames->in.length - frames->read);
        text_truncate(&frames->in, frames->in.length - frames->read);
        frames->read = 0;
    }
}

int frames_next(struct frames *frames, enum frame_kind *kind, struct text *payload)
{
    struct head head;
    const size_t left = frames->in.length - frames->read;
    if (left < sizeof head)
        return 0;
    memcpy(&head, frames->in.bytes + frames->read, sizeof head);
    if (head.kind >= FRAME_KINDS || head.size > FRAME_MAX)
        return -EBADMSG;
    if (left - sizeof head < head.size)
        return 0;
    *kind = (enum frame_kind)head.kind;
    text_clear(payload);
    text_append(payload, frames->in.bytes + frames->read + sizeof head, head.size);
    frames->read += sizeof head + head.size;
    tidy(frames);
    return payload->failed ? -ENOMEM : 1;
}

void frames_send(struct frames *frames, enum frame_kind kind, const struct text *payload)
{
    const size_t size = payload ? payload->length : 0;
    if (size > FRAME_MAX || (payload && payload->failed)) {
        frames->out.failed = true;
        return;
    }
    const struct head head = {kind, (uint32_t)size};
    text_append(&frames->out, (const char *)&head, sizeof head);
    if (size)
        text_append(&frames->out, payload->bytes, size);
}

int frames_flush(struct frames *frames)
{
    size_t at = 0;
    int error = frames->out.failed ? -ENOMEM : 0;
    while (at < frames->out.length && !error) {
        const ssize_t sent = send(frames->fd, frames->out.bytes + at, frames->out.length - at, MSG_NOSIGNAL);
        if (sent > 0)
            at += (size_t)sent;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            error = -errno;
    }
    if (at && at < frames->out.length)
        memmove(frames->out.bytes, frames->out.bytes + at, frames->out.length - at);
    text_truncate(&frames->out, frames->out.length - at);
    if (!frames->out.length)
        text_free(&frames->out);
    return error;
}

int frames_flush_all(struct frames *frames, int milliseconds)
{
    const uint64_t deadline = clock_ms(CLOCK_MONOTONIC) + (uint64_t)milliseconds;
    for (;;) {
        const int error = frames_flush(frames);
        const uint64_t now = clock_ms(CLOCK_MONOTONIC);
        if (error || !frames_wait(frames))
            return error;
        if (now >= deadline)
            return -ETIMEDOUT;
        poll(&(struct pollfd){frames->fd, POLLOUT, 0}, 1, (int)(deadline - now));
    }
}

bool frames_wait(const struct frames *frames)
{
    return frames->out.length > 0 || frames->out.failed;
}

void frames_close(struct frames *frames)
{
    if (frames->fd >= 0)
        close(frames->fd);
    text_free(&frames->in);
    text_free(&frames->out);
    *frames = (struct frames){.fd = -1};
}
