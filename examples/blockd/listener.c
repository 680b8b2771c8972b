/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128, ACCEPTS_MAX = 16 };

static void describe(char *text, size_t size, const struct sockaddr *address, socklen_t length)
{
    char host[64], port[16];
    if (getnameinfo(address, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) ==
        0)
        snprintf(text, size, address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    else
        snprintf(text, size, "somewhere");
}

static int listen_at(struct listener *listener, const struct sockaddr *address, socklen_t length)
{
    const int on = 1;
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address, length) < 0 || listen(fd, BACKLOG) < 0) {
        const int error = -errno;
        close(fd);
        return error;
    }
    listener->source.fd = fd;
    return 0;
}

int listener_open_tcp(struct listener *listener, const char *address, unsigned port)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    char service[16];
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(address, service, &hints, &found) != 0)
        return -EINVAL;
    const int error = listen_at(listener, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (!error && getsockname(listener->source.fd, (struct sockaddr *)&own, &length) == 0)
        describe(listener->address, sizeof listener->address, (struct sockaddr *)&own, length);
    return error;
}

/* Returns whether the path holds a socket without a listener. */
static bool abandoned(const struct sockaddr_un *address)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
                         errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return refused;
}

int listener_open_unix(struct listener *listener, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int error = listen_at(listener, (struct sockaddr *)&address, sizeof address);
    if (error == -EADDRINUSE && abandoned(&address) && unlink(path) == 0)
        error = listen_at(listener, (struct sockaddr *)&address, sizeof address);
    if (error)
        return error;
    strcpy(listener->path, path);
    snprintf(listener->address, sizeof listener->address, "unix:%s", path);
    return 0;
}

static void listener_ready(void *context, uint32_t events)
{
    struct listener *listener = context;
    (void)events;
    for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
        struct sockaddr_storage address;
        socklen_t length = sizeof address;
        const int fd =
            accept4(listener->source.fd, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            /* The system has no descriptor or memory for it now; the client waits in the backlog. */
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
                usleep(10000);
            return;
        }
        char peer[sizeof listener->address];
        if (address.ss_family == AF_UNIX)
            snprintf(peer, sizeof peer, "unix:%d", fd);
        else
            describe(peer, sizeof peer, (struct sockaddr *)&address, length);
        listener->accepted(listener->context, fd, peer);
    }
}

int listener_start(struct listener *listener, listener_fn accepted, void *context)
{
    listener->accepted = accepted;
    listener->context = context;
    listener->source.ready = listener_ready;
    listener->source.context = listener;
    return thread_watch(&listener->source, EPOLLIN);
}

void listener_close(struct listener *listener)
{
    const int fd = listener->source.fd;
    if (fd < 0)
        return;
    thread_unwatch(&listener->source);
    close(fd);
    if (listener->path[0])
        unlink(listener->path);
}
