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
    uint64_t relation_since; /* stamps below are not related to the boot clock; 0: all are, or none is */
    uint64_t slot_count;     /* of all lcores: they do not overlap */
    struct run **runs;       /* of chunks: by the index of the lcore, SPDK_LCORES_MAX of them */
    bool has_origin;         /* times have something to count from */
    struct recording_tracepoint *tracepoints[65536];
    uint16_t sizes[65536]; /* of all arguments, bytes */
    uint16_t mark;         /* id of the tracepoint SPDK_MARK; SPDK_CONTINUATION: there is none */
};

/* The first word of a section's header, which is the number of its items; 0 if it is not there. */
uint16_t spdk_section_count(const struct recording *recording, int section, uint64_t *items);
int spdk_model_read(struct recording *recording);
int spdk_owners_read(struct recording *recording);

/* Which process writes it, as the file's name has it. 0: the name says another number; -1: it is no name of such a file. */
pid_t spdk_writer(const struct recording *recording);
/* NULL: a living program stamps with this machine's counter, which can be related to the boot clock. Else why not. */
const char *spdk_relation_refusal(const struct recording *recording);
/* Of a program that is followed: the first readings. Of a drained file: those that are in it. Afterwards
 * recording->unrelated says what came of it. 0 or -errno. */
int spdk_relation_open(struct recording *recording);
/* Followed: looks at both clocks if it is time to. 0 or -errno. */
int spdk_relation_go_on(struct recording *recording);
/* Of a drained file, when its slots are known: between which stamps times are right. *covered: what is shown begins no
 * earlier. 0 or -errno. */
int spdk_relation_settle(struct recording *recording, uint64_t newest, uint64_t *covered);

#endif
