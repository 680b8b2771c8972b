/* SPDX-License-Identifier: BSD-3-Clause */
/* The spoor that hosts get which have none of this version: a static one, since nothing can be presumed there. */
#ifndef SPOOR_REMOTE_BINARY_H
#define SPOOR_REMOTE_BINARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct remote_binary {
    const uint8_t *bytes; /* NULL: there is none */
    size_t size;
    uint64_t hash;       /* of the bytes */
    const char *machine; /* as uname -m names it */
};

/* Opens a file; path NULL: the program that runs. Returns 0, or -errno with the reason in *why: -ENOEXEC if it is no static
 * program that a host could run. */
int remote_binary_open(const char *path, struct remote_binary *binary, struct text *why);
void remote_binary_close(struct remote_binary *binary);

#endif
