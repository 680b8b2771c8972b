/* SPDX-License-Identifier: BSD-3-Clause */
/* Listening sockets, TCP and unix. They belong to the thread that opens them. */
#ifndef BLOCKD_LISTENER_H
#define BLOCKD_LISTENER_H

#include "thread.h"

/* fd: a new client's socket, not blocking. peer: how to call it. */
typedef void (*listener_fn)(void *context, int fd, const char *peer);

struct listener {
    struct source source;
    listener_fn accepted;
    void *context;
    char path[108];    /* of a unix socket, which is removed with the listener */
    char address[128]; /* where it listens: the port that was given, if any would do */
};

/* A numeric address; port 0: any. 0 or -errno. */
int listener_open_tcp(struct listener *listener, const char *address, unsigned port);
/* A socket at that path that nobody listens to is taken over. */
int listener_open_unix(struct listener *listener, const char *path);
/* In the thread that shall serve it. */
int listener_start(struct listener *listener, listener_fn accepted, void *context);
void listener_close(struct listener *listener);

#endif
