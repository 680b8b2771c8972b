/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of SPDK's format share. See spdk.h for the format itself. */
#ifndef SPOOR_READER_SPDK_STATE_H
#define SPOOR_READER_SPDK_STATE_H

#include "reader/format.h"
#include "reader/spdk.h"

struct spdk_state {
    struct spdk_header header;
    bool is_stream; /* it is a drained file, with its slots in chunks */
    struct spdk_stream stream;
    uint64_t relation_since; /* smaller stamps are not related to the boot clock; 0: all are, or none is */
    uint64_t slot_count;     /* how many slots all lcores have together; they do not overlap */
    struct run **runs;       /* the runs of chunks, by the index of the lcore, SPDK_LCORES_MAX of them */
    bool has_origin;         /* the stamp from which times count is known */
    struct recording_tracepoint *tracepoints[65536];
    uint16_t sizes[65536]; /* bytes of all arguments */
    uint16_t mark;         /* id of the tracepoint SPDK_MARK; SPDK_CONTINUATION: there is none */
};

/* Returns the first word of a section's header, which is the number of its items; 0: there is no such section. */
uint16_t spdk_section_count(const struct recording *recording, int section, uint64_t *items);
int spdk_model_read(struct recording *recording);
int spdk_owners_read(struct recording *recording);

/* Returns the process that writes a recording, as the file's name says. 0: the name has another number; -1: it is
 * no name of such a file. */
pid_t spdk_writer(const struct recording *recording);
/* Returns NULL if a living program uses this machine's counter for its stamps, and the counter can be related to
 * the boot clock. Else returns why not. */
const char *spdk_relation_refusal(struct recording *recording);
/* Takes the first readings of a program that is followed, or those that are in a drained file. Afterwards
 * recording->unrelated says whether times are related. Returns 0 or -errno. */
int spdk_relation_open(struct recording *recording);
/* Of a recording that is followed: reads both clocks if it is time to. Returns 0 or -errno. */
int spdk_relation_go_on(struct recording *recording);
/* Of a drained file, when its slots are known: sets between which stamps times are right. *covered is raised to the
 * stamp before which nothing is shown. Returns 0 or -errno. */
int spdk_relation_settle(struct recording *recording, uint64_t newest, uint64_t *covered);

#endif
