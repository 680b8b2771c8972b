/* SPDX-License-Identifier: BSD-3-Clause */
/* What a living program records, copied into memory before it is overwritten, for a reader that is slower now and
 * then, or waits for its own output.
 *
 * The copies come in pieces that are as a drained file has them (drain.h): some slots of one lcore behind their
 * struct spdk_chunk, or blocks of one ring. When there are as many as FOLLOWER_BYTES_MAX says, nothing is copied
 * until half of them are used, and of what is new by then the newest, as much as there is room for; unless the reader
 * has used all that it may use, because the newest may still be incomplete. So a reader that cannot keep up has few and
 * large gaps, and all between them.
 *
 * Who follows copies when he asks, in follower_take, or, after follower_start, has a thread that copies all the time. */
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

struct pieces { /* in the order in which they came */
    struct piece *first, *last;
};
void pieces_add(struct pieces *pieces, struct piece *piece);

/* 0, or -errno with the reason. The recording must outlive the follower. */
int follower_make(struct recording *recording, struct follower **result, struct text *why);
/* From now on a thread copies. It has the rights that its maker has now. 0 or -errno. */
int follower_start(struct follower *follower);

struct follower_look {
    struct piece *pieces; /* new ones; each is to be given back by follower_drop */
    uint64_t seen;        /* counter: all that was recorded before was looked at */
    bool has_ended;       /* the program has, and these are the last pieces */
};
/* 0 or -errno. */
int follower_take(struct follower *follower, struct follower_look *look);
void follower_drop(struct follower *follower, struct piece *piece);
/* The thread, before anything that it reads goes. NULL does nothing, here and there. */
void follower_stop(struct follower *follower);
void follower_free(struct follower *follower);

#endif
