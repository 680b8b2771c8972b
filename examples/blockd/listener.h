/* SPDX-License-Identifier: BSD-3-Clause */
/* Listening sockets, TCP and unix. They belong to the thread that opens them. */
#ifndef BLOCKD_LISTENER_H
#define BLOCKD_LISTENER_H

#include "thread.h"

/* Called for a new client. fd: its socket, not blocking. peer: its printable name. */
typedef void (*listener_fn)(void *context, int fd, const char *peer);

struct listener {
    struct source source;
    listener_fn accepted;
    void *context;
    char path[108];    /* path of a unix socket, which is removed with the listener */
    char address[128]; /* where it listens, with the port that the system chose if none was given */
};

/* Listens on a numeric address; port 0: any. Returns 0 or -errno. */
int listener_open_tcp(struct listener *listener, const char *address, unsigned port);
/* Listens on a unix socket. A socket at that path without a listener is replaced. Returns 0 or -errno. */
int listener_open_unix(struct listener *listener, const char *path);
/* Starts accepting clients; to be called in the thread that shall serve the listener. */
int listener_start(struct listener *listener, listener_fn accepted, void *context);
void listener_close(struct listener *listener);

#endif
