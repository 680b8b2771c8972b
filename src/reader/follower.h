/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies what a living program records into memory before it is overwritten, for a reader that is slower now and
 * then, or waits for its own output.
 *
 * The copies come in pieces that are as in a drained file (drain.h): some slots of one lcore behind their struct
 * spdk_chunk, or blocks of one ring. When these have FOLLOWER_BYTES_MAX bytes, nothing is copied until half of
 * them are used, and then the newest of what is new, as much as there is room for. If the reader has used all that
 * it may use, copying goes on at once, because the newest events may still be incomplete. So a reader that cannot
 * keep up has few and large gaps, and everything between them.
 *
 * Copies are made in follower_take(), or, after follower_start(), by a thread all the time. */
#ifndef SPOOR_READER_FOLLOWER_H
#define SPOOR_READER_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { FOLLOWER_BYTES_MAX = 64 << 20 };

struct follower;
struct recording;

struct piece {
    struct piece *next;
    size_t bytes;
    _Alignas(8) uint8_t content[];
};

struct pieces { /* a list in the order in which they came */
    struct piece *first, *last;
};
void pieces_add(struct pieces *pieces, struct piece *piece);

/* Makes a follower of a recording, which must outlive it. Returns 0, or -errno with the reason. */
int follower_make(struct recording *recording, struct follower **result, struct text *why);
/* Starts a thread that copies from now on, with the rights that the caller has now. Returns 0 or -errno. */
int follower_start(struct follower *follower);
/* What the thread does, once, for who can have none: copies what is new. Returns how many milliseconds later it is to be
 * called again; -1: never. */
int follower_step(struct follower *follower);

struct follower_look {
    struct piece *pieces; /* new pieces, each of which the caller gives back with follower_drop() */
    uint64_t seen;        /* all that was recorded before this counter has been copied */
    bool has_ended;       /* the program has ended, and these are the last pieces */
};
/* Takes what has been copied. Returns 0 or -errno. */
int follower_take(struct follower *follower, struct follower_look *look);
void follower_drop(struct follower *follower, struct piece *piece);
/* follower_stop() ends the thread, before anything that it reads is freed. Both do nothing for NULL. */
void follower_stop(struct follower *follower);
void follower_free(struct follower *follower);

#endif
