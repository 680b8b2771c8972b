/* SPDX-License-Identifier: BSD-3-Clause */
/* Where metrics go, as the option names it: a file, or an address at which they can be read over HTTP. */
#ifndef SPOOR_METRICS_ADDRESS_H
#define SPOOR_METRICS_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/text.h"

struct metric_address {
    struct sockaddr_storage socket;
    socklen_t size;   /* 0: it is a file */
    const char *path; /* of the file, or of the socket; NULL: it has none */
};

/* Reads ":9435" (this machine alone), "HOST:9435", where the host is a number, "[::1]:9435", "unix:PATH", or a FILE, which
 * has a slash or ends in .prom. Returns 0, or -EINVAL with the reason. */
int metric_address_read(const char *place, struct metric_address *address, struct text *why);
/* Opens a socket that listens at the address. A socket in a file that nobody listens at any more is replaced. Returns the
 * descriptor or -errno. */
int metric_address_listen(const struct metric_address *address);

#endif
