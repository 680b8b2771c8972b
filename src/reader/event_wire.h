/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of recording_wire.h's messages whose layout both halves share. */
#ifndef SPOOR_READER_EVENT_WIRE_H
#define SPOOR_READER_EVENT_WIRE_H

#include "reader/format.h"

enum { EVENT_BYTES_MAX = UINT16_MAX - 7 };

struct event_head { /* an event; its words follow, then its texts, and zeros up to a multiple of 8 */
    uint64_t stamp, object, lost;
    uint32_t owner, size, thread, source;
    uint32_t bytes; /* all of it */
    uint16_t tracepoint, is_outside;
    char thread_name[RECORDING_NAME];
};
_Static_assert(sizeof(struct event_head) == 64, "words are aligned");

static const size_t recording_numbers[] = {
    offsetof(struct recording, limit),      offsetof(struct recording, gap_end),
    offsetof(struct recording, start),      offsetof(struct recording, start_stamp),
    offsetof(struct recording, realtime),   offsetof(struct recording, related_from),
    offsetof(struct recording, related_to), offsetof(struct recording, related_error),
};

static const size_t recording_counted[] = {
    offsetof(struct recording_counts, overwritten), offsetof(struct recording_counts, older),
    offsetof(struct recording_counts, events),      offsetof(struct recording_counts, from),
    offsetof(struct recording_counts, to),          offsetof(struct recording_counts, lost),
    offsetof(struct recording_counts, lost_by[0]),  offsetof(struct recording_counts, lost_by[1]),
    offsetof(struct recording_counts, lost_by[2]),  offsetof(struct recording_counts, lost_by[3]),
    offsetof(struct recording_counts, owners_lost), offsetof(struct recording_counts, damaged),
    offsetof(struct recording_counts, unknown),     offsetof(struct recording_counts, done),
    offsetof(struct recording_counts, total),
};

#endif
