/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording in messages (base/wire.h), from the process that reads it (service.h) to the one that uses it (ask.h). The
 * latter has a struct recording, too, which is filled from them, and trusts nothing: what it takes is bounded, refers only
 * to what is there, and is such as a format could have made. */
#ifndef SPOOR_READER_RECORDING_WIRE_H
#define SPOOR_READER_RECORDING_WIRE_H

#include "base/wire.h"
#include "reader/format.h"

/* ---- in the process that reads ---- */

struct recording_sent { /* what has gone over already */
    bool has_begun;
    uint64_t model_changes, gaps;
    struct text owners;
    struct timeline_point *points;
    size_t point_count, point_room;
};

/* Puts what is known of a recording now, as far as it has changed. */
void recording_put_state(struct text *out, const struct recording *recording, struct recording_sent *sent);
/* Puts events that were handed out together. */
void recording_put_events(struct text *out, const struct recording *recording,
                          const struct recording_event *events, size_t count, struct recording_sent *sent);
void recording_put_counts(struct text *out, const struct recording *recording);
void recording_sent_free(struct recording_sent *sent);

/* ---- in the one that uses it ---- */

/* Each takes what the function of the same name has put, and returns 0, -ENOMEM, or -EBADMSG, where the recording may
 * have been changed by half. */
int recording_take_state(struct cursor *in, struct recording *recording);
int recording_take_counts(struct cursor *in, struct recording *recording);
/* Takes the beginning of events that were handed out together; *count: how many follow. */
int recording_take_together(struct cursor *in, struct recording *recording, size_t *count);
/* Takes the next of them, whose words and bytes stay in the message, which is changed where it is wrong. */
int recording_take_event(struct cursor *in, const struct recording *recording, struct recording_event *event);

#endif
