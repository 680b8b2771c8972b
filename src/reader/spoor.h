/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of spoor's own format share. See recorder/layout.h for the format itself. */
#ifndef SPOOR_READER_SPOOR_H
#define SPOOR_READER_SPOOR_H

#include "reader/format.h"
#include "recorder/layout.h"

enum {
    SPOOR_SECTIONS_MAX = 64 << 20, /* bytes; more is damage */
    SPOOR_OWNERS_MAX = 65536,
    SPOOR_ITEM_MAX = 4096,
    SPOOR_BLOCKS_MAX = 1 << 20, /* in one ring of a file with rings: 4 GiB */
};

struct spoor_place { /* of a block */
    uint64_t sequence;
    uint64_t offset;
    bool is_closed; /* of a file that nobody writes: all of it was written when it was copied */
    bool is_gone;   /* it was overwritten while it was copied */
};

struct spoor_ring {
    struct recording_source source;
    uint32_t index;             /* among the program's rings */
    uint64_t offset;            /* of its control page; 0: none, a stream */
    struct spoor_place *places; /* blocks to read, in ascending order of sequence */
    size_t place_count, place_room;
    struct pieces pieces;       /* of a program that is followed: of blocks, the newest may come again */
    size_t at;                  /* the next to load: place, or block of the first piece */
    struct layout_block *block; /* our copy */
    uint32_t read;              /* offset in the block of the next record; 0: no block */
    uint64_t last;              /* sequence of the newest block that was copied whole; 0: none yet */
    uint64_t number;            /* of the next record in the ring, as counted */
    uint64_t committed;         /* position below which all records were whole when it was read */
};

struct spoor_state {
    struct layout_header header;
    struct layout_control control;
    bool original;                             /* no copy of the file that the program wrote */
    uint64_t sections_used;                    /* bytes parsed so far */
    struct layout_block *spare;                /* the next copy goes here */
    struct spoor_ring **rings;                 /* by index; LAYOUT_MAX_RINGS of them */
    struct recording_tracepoint **tracepoints; /* by id, 65536 of them */
};

/* Sections from `sections_used` on into the model, again when more were appended. 0 or -errno. */
int spoor_model_read(struct recording *recording, struct text *why);
/* The table of owners, as it is now. */
int spoor_owners_read(struct recording *recording);

/* Copies the block with this sequence at an offset of the file. True: it was there, and what it holds now is
 * whole; what was not certainly whole is zeroed. committed: the ring's, read before; UINT64_MAX: all of it
 * is. Whether the block was overwritten meanwhile is the caller's to find out. */
bool spoor_block_read(const struct recording *recording, uint64_t offset, uint32_t ring, uint64_t sequence,
                      uint64_t committed, struct layout_block *block);
/* Is it that block, and its header possible? */
bool spoor_block_has_header(const struct layout_block *block, uint64_t sequence, uint32_t ring);
/* How many records a block holds; *end: offset behind the last. */
uint64_t spoor_block_records(const struct layout_block *block, uint32_t *end);

#endif
