/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of files as processes have them mapped, stored once for all processes: a thousand processes that run one
 * program need its paths, sizes and offsets once. They count their references. Not safe for several threads. */
#ifndef SPOOR_SYM_PROCESS_SEGMENT_H
#define SPOOR_SYM_PROCESS_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file as processes have it mapped. */
struct module {
    uint64_t device, inode; /* as in /proc/PID/maps; inode 0: there is no file */
    uint64_t generation;    /* of the inode, which is used again for other files; 0: unknown */
    unsigned references;
    bool is_deleted;
    char path[]; /* as the process sees it; "" for memory without a file; "[vdso]" */
};

struct segment {
    struct module *module; /* NULL: the place is free */
    uint64_t offset, size; /* of the piece in the file */
    uint32_t references;
    uint32_t next; /* the next one with the same hash, or the next free one: number + 1 */
};

struct segments;
struct segments *segments_make(void); /* NULL: memory ran out */
void segments_free(struct segments *segments);

enum { SEGMENTS_MAX = 1 << 24 }; /* all numbers are smaller */
/* Finds or makes a segment, and adds a reference to it. `key` says which file it is of. False: memory ran out. */
bool segment_take(struct segments *segments, const struct module *key, const char *path, uint64_t offset,
                  uint64_t size, uint32_t *number);
const struct segment *segment_at(const struct segments *segments, uint32_t number);
void segment_hold(struct segments *segments, uint32_t number); /* adds a reference */
void segment_drop(struct segments *segments, uint32_t number);
/* removes a reference; callers add theirs to module->references */
void module_drop(struct segments *segments, struct module *module);

size_t segments_bytes(const struct segments *segments);

#endif
