/* SPDX-License-Identifier: BSD-3-Clause */
/* Which spans leave the machine while a recording is being made and nobody knows what comes: those with an error, and those
 * that live longer than a percentile of the spans of their type that ended before. Lives are known to 1 in 64
 * (reader/latency.h). After SAMPLE_SPANS_MAX spans of a type its percentile is found anew, because a program's load changes. */
#ifndef SPOOR_OTLP_SAMPLE_H
#define SPOOR_OTLP_SAMPLE_H

#include "otlp/otlp.h"
#include "reader/latency.h"

enum { SAMPLE_TYPES_MAX = 256, SAMPLE_SPANS_MAX = 1 << 20 };

struct sample {
    uint32_t percentile; /* thousandths of one percent; 0: all spans leave */
    bool is_of_type;     /* only spans of `type` leave, and those with an error */
    int16_t type;
    uint64_t left_out; /* spans that did not */
    struct sampled {
        struct latency lives;
        uint64_t limit; /* ns: spans that live longer leave */
        uint64_t next;  /* after so many lives the limit is found again */
    } types[SAMPLE_TYPES_MAX];
};

/* Looks at a span that has ended. Returns 1 if it leaves, 0 if it does not, or -ENOMEM. */
int sample_see(struct sample *sample, const struct otlp_span *span);
void sample_free(struct sample *sample);

#endif
