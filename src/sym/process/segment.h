/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of files as processes have them mapped, one for all processes: a thousand that run one program cost its
 * paths, sizes and offsets once. Counted by those that refer to them. Not for threads. */
#ifndef SPOOR_SYM_PROCESS_SEGMENT_H
#define SPOOR_SYM_PROCESS_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file as processes have it mapped. */
struct module {
    uint64_t device, inode; /* as in /proc/PID/maps; inode 0: no file */
    uint64_t generation;    /* of the inode, which is used again for other files; 0: unknown */
    unsigned references;
    bool is_deleted;
    char path[]; /* as the process sees it; "" for memory that is nobody's file; "[vdso]" */
};

struct segment {
    struct module *module; /* NULL: the place is free */
    uint64_t offset, size; /* in the file */
    uint32_t references;
    uint32_t next; /* of those with its hash, or of the free ones: number + 1 */
};

struct segments;
struct segments *segments_make(void); /* NULL: no memory */
void segments_free(struct segments *segments);

enum { SEGMENTS_MAX = 1 << 24 }; /* numbers are below it */
/* Refers to the segment. key says which file. False: no memory. */
bool segment_take(struct segments *segments, const struct module *key, const char *path, uint64_t offset,
                  uint64_t size, uint32_t *number);
const struct segment *segment_at(const struct segments *segments, uint32_t number);
void segment_hold(struct segments *segments, uint32_t number); /* once more */
void segment_drop(struct segments *segments, uint32_t number);
void module_drop(struct segments *segments, struct module *module); /* who refers to one counts by itself */

size_t segments_bytes(const struct segments *segments);

#endif
