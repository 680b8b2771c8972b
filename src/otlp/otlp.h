/* SPDX-License-Identifier: BSD-3-Clause */
/* For what reads the OpenTelemetry protocol (OTLP): objects of recordings as spans, maps of scripts as metrics, what
 * scripts print as log records.
 *
 *   encode.h      one writer for both encodings, protocol buffers and JSON
 *   attribute.h   attributes, above all the arguments of events
 *   traceparent.h the trace of the application, from arguments of the program
 *   spans.h       events of a recording become spans
 *   batch.h       spans become requests of bounded size
 *   metrics.h     maps of a script, as the metrics that src/metrics makes of them
 *   logs.h        printed lines, in requests that wait
 *   envelope.h    what is around all of them in a request
 *   address.h     where they go
 *   sender.h      requests go to an address, and again when it has no time
 *   curl.h        libcurl; answer.h, what the receiver says
 *   sample.h      the spans that leave the machine while a recording is being made
 *   choice.h      the traces that leave the machine when only the slowest ones do */
#ifndef SPOOR_OTLP_OTLP_H
#define SPOOR_OTLP_OTLP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum { OTLP_TRACE_ID = 16 };

/* From whom requests come: what the resource is called. */
struct otlp_service {
    const char *name;
    const char *group; /* several on one host belong to it: each is an instance there; NULL: it is in none */
    const char *host;  /* its machine; NULL: this one */
};

struct otlp_span {
    uint8_t trace[OTLP_TRACE_ID];
    uint64_t id;
    uint64_t parent;     /* 0: it is a root */
    uint64_t start, end; /* CLOCK_REALTIME, ns */
    int16_t type;        /* of the object: an index in the recording's model */
    bool is_error;
    const char *name;
    const char *message; /* of an error; NULL: there is none */
    /* Encoded already: lists of attributes, events and links. */
    const struct text *attributes, *events, *links;
    uint64_t dropped_events, dropped_links;
};

#endif
