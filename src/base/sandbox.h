/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks up a process of spoor that reads foreign files. Should a malicious file take it over, there is nothing to
 * gain: the process has only the descriptors that it was given, memory, and a way to answer. */
#ifndef SPOOR_BASE_SANDBOX_H
#define SPOOR_BASE_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether we are built with a sanitizer, which takes more memory and a few more system calls. */
#if defined(__SANITIZE_ADDRESS__)
#define SANDBOX_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANDBOX_IS_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_IS_SANITIZED
#define SANDBOX_IS_SANITIZED 0
#endif

struct sandbox {
    pid_t parent;    /* the process that made it */
    uint64_t memory; /* limit of its address space, bytes; 0: none */
    bool outlives;   /* it does not end with the thread that made it */
    bool may_open;   /* it may open files for reading, as this user and group: */
    uid_t user;
    gid_t group;
};

/* To be called in a process that was just forked and has one thread. From then on the process
 *
 *   - ends when the thread that made it ends, unless `outlives` is set; signals of the terminal do not end it;
 *   - has no capabilities, and a user and group that nobody else has, or the given ones with `may_open`;
 *   - can gain no rights;
 *   - can make no system calls but those that reading from descriptors takes: it opens and changes no file, runs no
 *     program, makes no process, socket or executable memory.
 *
 * None of this can be undone. Returns 0, or -errno if something could not be given up: end the process then. */
int sandbox_enter(const struct sandbox *options);

#endif
