/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of a recording become spans: each object is one, from its first event to its last, and its events are the
 * span's.
 *
 * A span's parent is the first object to which an event of its own says that it is related, or the span that the program
 * names (traceparent.h); other relations are links. A trace is a root and all below it. As soon as an object is the parent of
 * another one its own place is fixed, and what it is related to later becomes a link: so no span ever has to move to
 * another trace, and there are no circles.
 *
 * Ids are made of what the recording and the object are: the clock of the recording's program, its process, the type and
 * the recorded id of the object, and the counter when it began. So they are the same each time, in copies too, and others
 * after a restart.
 *
 * Memory is bounded: events of a span beyond SPANS_EVENTS_MAX, and those of all spans beyond SPANS_BYTES_MAX, are counted
 * and not kept; of very many objects that live, those without events for the longest time end. */
#ifndef SPOOR_OTLP_SPANS_H
#define SPOOR_OTLP_SPANS_H

#include "otlp/otlp.h"
#include "reader/objects.h"

enum { SPANS_EVENTS_MAX = 1024, SPANS_LINKS_MAX = 128, SPANS_BYTES_MAX = 256 << 20 };

struct otlp_spans;

/* Is given each span when it has ended. Returns 0 or -errno. */
typedef int span_sink(void *state, const struct otlp_span *span);

/* SPANS_BARE: without attributes, events and links, for who only looks at their times, traces and errors. */
enum spans_form { SPANS_PROTOBUF, SPANS_JSON, SPANS_BARE };

/* Makes the spans of a recording, whose time must be known (recording_realtime()). NULL: memory ran out. */
struct otlp_spans *spans_make(const struct recording *recording, enum spans_form form, span_sink *sink,
                              void *state);
void spans_free(struct otlp_spans *spans);
/* Follows one event. is_shown: it becomes an event of its span; a span without any is not handed out. Returns 0 or
 * -errno, of the sink too. */
int spans_event(struct otlp_spans *spans, const struct recording_event *event, const struct object_step *step,
                bool is_shown);
/* Ends all spans. */
int spans_end(struct otlp_spans *spans);

struct spans_counts {
    uint64_t alone;   /* events about no object */
    uint64_t dropped; /* events for which a span had no room, or that came when it had ended */
};
struct spans_counts spans_counts(const struct otlp_spans *spans);

#endif
