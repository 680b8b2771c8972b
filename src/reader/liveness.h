/* SPDX-License-Identifier: BSD-3-Clause */
/* What this machine says of the process that writes a recording: by /proc, by the lock of the file, and by the file
 * system that it is on. What the recording itself says of that is read by the formats, which put both together.
 * A process without privileges cannot look, and is told (service.h). */
#ifndef SPOOR_READER_LIVENESS_H
#define SPOOR_READER_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct liveness_question {
    pid_t
        named; /* the writer's id in its own namespace, as the recording or its name says; 0: none is named */
    bool is_spdk; /* SPDK's programs live in memory, and spoor's hold the file's lock */
    bool
        is_clock; /* whether the counter can be related to the boot clock is asked, too, which takes longer */
};

struct liveness {
    bool is_locked;    /* the lock is held. The rest was not looked at then. */
    bool is_in_memory; /* the file is on a tmpfs */
    bool has_begun;    /* `begun` is known */
    int mapped;     /* how the writer shares the file's memory: enum mapped_file (sym/process), or -errno */
    uint64_t begun; /* when the writer began, in ticks since the machine did */
    /* Why this machine's counter cannot be related to the boot clock; NULL: it can, or that was not asked. */
    const char *refusal;
};

/* Looks. *writer: the process here, 0 as long as it is not known. */
struct liveness liveness_look(int file, const char *path, const struct liveness_question *question,
                              pid_t *writer);
struct recording;
/* As liveness_look(), with the recording's own file; or what the recording was told. */
struct liveness liveness_of(struct recording *recording, const struct liveness_question *question);

/* As a message (base/wire.h). liveness_take: the refusal stays in the message. */
struct cursor;
void liveness_put(struct text *out, const struct liveness *liveness);
void liveness_take(struct cursor *in, struct liveness *liveness);

#endif
