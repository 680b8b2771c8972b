/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace of the application to which an object belongs, as its program said in arguments of an event: a text
 * `traceparent` as W3C's Trace Context has it, or the numbers `trace_id_high`, `trace_id_low` and `parent_span_id`. */
#ifndef SPOOR_OTLP_TRACEPARENT_H
#define SPOOR_OTLP_TRACEPARENT_H

#include "otlp/otlp.h"
#include "reader/reader.h"

struct traceparent {
    uint8_t trace[OTLP_TRACE_ID];
    uint64_t span;
};

/* Returns whether the event says so. Ids that are 0, and texts that are no traceparent, say nothing. */
bool traceparent_of(const struct recording_event *event, struct traceparent *parent);
/* Reads "00-<32 digits>-<16 digits>-<2 digits>", and what later versions put behind it. */
bool traceparent_read(const char *text, size_t length, struct traceparent *parent);

#endif
