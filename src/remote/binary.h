/* SPDX-License-Identifier: BSD-3-Clause */
/* The spoors that hosts get which have none of this version: static ones, since nothing can be presumed there, one for each
 * architecture. */
#ifndef SPOOR_REMOTE_BINARY_H
#define SPOOR_REMOTE_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct remote_binary {
    const uint8_t *bytes; /* NULL: there is none */
    size_t size;
    uint64_t hash;       /* of the bytes */
    const char *machine; /* the architecture, as uname -m names it */
};

enum { REMOTE_MACHINES = 2 }; /* architectures that spoor is made for */

struct remote_binaries {
    struct remote_binary of[REMOTE_MACHINES]; /* in any order; the unused ones are the last */
    size_t count;
    const char *own_machine; /* the architecture of the program that runs */
    struct text no_own;      /* why that cannot be copied; empty if it can, or a file takes its place */
};

/* Opens files, each of another architecture (NULL-terminated; or NULL: none), and the program that runs if none of them is of its
 * architecture. Returns 0, also if the program that runs cannot be copied, or -errno with the reason in *why, which names the file:
 * -ENOEXEC if it is no static program that a host could run. To be closed in any case. */
int remote_binaries_open(const char *const *paths, struct remote_binaries *binaries, struct text *why);
void remote_binaries_close(struct remote_binaries *binaries);
/* Returns the one for an architecture, as uname -m names it, or NULL. */
const struct remote_binary *remote_binary_for(const struct remote_binaries *binaries, const char *machine);
/* Whether spoor is made for that architecture. */
bool remote_machine_is_known(const char *machine);

#endif
