/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of SPDK's format share. See spdk.h for the format itself. */
#ifndef SPOOR_READER_SPDK_STATE_H
#define SPOOR_READER_SPDK_STATE_H

#include "reader/format.h"
#include "reader/spdk.h"

struct spdk_state {
    struct spdk_header header;
    bool is_stream; /* drained: slots come in chunks */
    struct spdk_stream stream;
    uint64_t slot_count; /* of all lcores: they do not overlap */
    struct run **runs;   /* of chunks: by the index of the lcore, SPDK_LCORES_MOST of them */
    bool has_origin;     /* times have something to count from */
    struct recording_tracepoint *tracepoints[65536];
    uint16_t sizes[65536]; /* of all arguments, bytes */
    uint16_t mark;         /* id of the tracepoint SPDK_MARK; SPDK_CONTINUATION: there is none */
};

/* The first word of a section's header, which is the number of its items; 0 if it is not there. */
uint16_t spdk_section_count(const struct recording *recording, int section, uint64_t *items);
int spdk_model_read(struct recording *recording);
int spdk_owners_read(struct recording *recording);

#endif
