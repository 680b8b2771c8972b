/* SPDX-License-Identifier: BSD-3-Clause */
/* Spans as requests of bounded size: messages ExportTraceServiceRequest. */
#ifndef SPOOR_OTLP_BATCH_H
#define SPOOR_OTLP_BATCH_H

#include "otlp/encode.h"
#include "otlp/otlp.h"
#include "reader/reader.h"

enum { BATCH_SPANS_MAX = 512, BATCH_BYTES_MAX = 1 << 20 };

struct batch {
    struct encoder encoder;
    struct text out;
    struct text resource; /* its attributes, encoded */
    unsigned count;       /* spans in `out` */
};

/* Begins with what the recording says of its program. Returns 0 or -ENOMEM. */
int batch_init(struct batch *batch, const struct recording *recording, bool is_json);
void batch_free(struct batch *batch);
void batch_add(struct batch *batch, const struct otlp_span *span);
/* Whether it should be finished and sent before more is added. */
bool batch_is_full(const struct batch *batch);
/* Ends the request: `out` is whole. Returns 0 or -ENOMEM. batch_reset() begins the next one. */
int batch_finish(struct batch *batch);
void batch_reset(struct batch *batch);

#endif
