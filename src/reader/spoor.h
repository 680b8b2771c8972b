/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of spoor's own format share. See recorder/layout.h for the format itself. */
#ifndef SPOOR_READER_SPOOR_H
#define SPOOR_READER_SPOOR_H

#include "reader/format.h"
#include "recorder/layout.h"

enum {
    SPOOR_SECTIONS_MAX = 64 << 20, /* bytes; a larger number is damage */
    SPOOR_OWNERS_MAX = 65536,
    SPOOR_ITEM_MAX = 4096,
    SPOOR_BLOCKS_MAX = 1 << 19, /* in one ring of a file with rings: 2 GiB */
    SPOOR_VERSION_STATES = 2,   /* the version without a directory, whose rings are all of one size */
};

struct spoor_directory {         /* where the rings are; zeros: nothing was read yet */
    struct layout_place *places; /* by index of the ring */
    size_t count, room;
};

struct spoor_place { /* where a block is in the file */
    uint64_t sequence;
    uint64_t offset;
    /* all of it had been written when it was copied, in a file that is not written any more */
    bool is_closed;
    bool is_gone; /* it was overwritten while it was copied */
};

struct spoor_ring {
    struct recording_source source;
    uint32_t index;             /* index among the program's rings */
    struct layout_place place;  /* where it is; offset 0: nowhere, because the file is a stream */
    struct spoor_place *places; /* blocks to read, in ascending order of sequence */
    size_t place_count, place_room;
    /* of a program that is followed: pieces with blocks, of which the newest may come again */
    struct pieces pieces;
    size_t at; /* the next one to load: index in `places`, or of a block in the first piece */
    /* Memory for copies of blocks. Of a file these are the places from copied_from to copied_to, which is behind the
     * last. */
    struct layout_block *copies;
    size_t copied_from, copied_to;
    struct layout_block *block;     /* the copy that is being read */
    struct recording_thread thread; /* of the newest block that was good */
    uint32_t read;                  /* offset of the next record in the block; 0: there is no block */
    uint64_t last;                  /* sequence of the newest block that was copied whole; 0: none yet */
    uint64_t number;                /* number of the next record in the ring */
    uint64_t committed;             /* position before which all records were whole when it was read */
};

struct spoor_state {
    struct layout_header header;
    struct layout_control control;
    struct spoor_directory directory;          /* as it was when the file was opened */
    bool original;                             /* it is the file that the program wrote, and no copy */
    uint64_t sections_used;                    /* bytes parsed so far */
    size_t copies;                             /* how many blocks of a ring are copied together */
    struct spoor_ring **rings;                 /* by index; NULL: nothing was read of it yet */
    uint32_t ring_end, ring_room;              /* one more than the largest index; what there is room for */
    struct recording_tracepoint **tracepoints; /* by id, 65536 of them */
    uint16_t *record_bytes; /* the least that a record of each has; 0: it is not declared */
};

/* Reads sections from `sections_used` on into the model. Called again when more were appended. Returns 0 or
 * -errno. */
int spoor_model_read(struct recording *recording, struct text *why);
/* Reads the table of owners, as it is now. */
int spoor_owners_read(struct recording *recording);

static inline bool spoor_place_is_used(const struct layout_place *place)
{
    return place->state == LAYOUT_RING_USED || place->state == LAYOUT_RING_ENDED;
}

/* Whether a ring may have so many bytes of blocks. */
bool spoor_ring_bytes_valid(uint64_t bytes);
/* Reads where the rings of a file of kind LAYOUT_KIND_RINGS are now, of any version; impossible entries look as those
 * of rings that are being made. Returns 0; -EINVAL if rings overlap; -EIO; or -ENOMEM. */
int spoor_directory_read(const struct recording *recording, const struct layout_header *header,
                         struct spoor_directory *directory);
void spoor_directory_free(struct spoor_directory *directory);

/* Copies the block with this sequence number at an offset of the file. True: it was there, and what the copy has
 * now is whole; bytes that were not certainly whole are 0. committed: the ring's position, which was read before;
 * UINT64_MAX: all of the block is whole. The caller finds out whether the block was overwritten meanwhile. */
bool spoor_block_read(const struct recording *recording, uint64_t offset, uint32_t ring, uint64_t sequence,
                      uint64_t committed, struct layout_block *block);
/* Clears what is not certainly whole in a block of a file that is not written any more. False: nothing is. */
bool spoor_block_cut(struct layout_block *block, uint64_t committed);
/* Whether it is the block with this sequence number, with a header that is possible. */
bool spoor_block_has_header(const struct layout_block *block, uint64_t sequence, uint32_t ring);
/* Returns how many records a block has; *end: the offset behind the last. */
uint64_t spoor_block_records(const struct layout_block *block, uint32_t *end);

#endif
