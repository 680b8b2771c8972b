/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/batch.h"

#include <errno.h>
#include <string.h>

#include "otlp/attribute.h"
#include "otlp/envelope.h"

/* Fields of the messages Span and Status. */
#define SPAN_TRACE FIELD(1, "traceId")
#define SPAN_ID FIELD(2, "spanId")
#define SPAN_PARENT FIELD(4, "parentSpanId")
#define SPAN_NAME FIELD(5, "name")
#define SPAN_KIND FIELD(6, "kind")
#define SPAN_START FIELD(7, "startTimeUnixNano")
#define SPAN_END FIELD(8, "endTimeUnixNano")
#define SPAN_DROPPED_EVENTS FIELD(12, "droppedEventsCount")
#define SPAN_DROPPED_LINKS FIELD(14, "droppedLinksCount")
#define SPAN_STATUS FIELD(15, "status")
#define STATUS_MESSAGE FIELD(2, "message")
#define STATUS_CODE FIELD(3, "code")
enum { KIND_INTERNAL = 1, STATUS_ERROR = 2 };

int batch_init(struct batch *batch, const struct recording *recording, bool is_json)
{
    const struct recording_model *model = recording_model(recording);
    *batch = (struct batch){.encoder = {.is_json = is_json}};
    struct encoder encoder = {.out = &batch->resource, .is_json = is_json};
    const struct otlp_service service = {.name = model->name[0] ? model->name : "unknown_service",
                                         .host = model->host[0] ? model->host : NULL};
    envelope_resource(&encoder, &service);
    if (model->pid)
        attribute_unsigned(&encoder, ENVELOPE_ATTRIBUTES, "process.pid", model->pid);
    if (model->command[0])
        attribute_text(&encoder, ENVELOPE_ATTRIBUTES, "process.command_line", model->command);
    return batch->resource.failed ? -ENOMEM : 0;
}

void batch_free(struct batch *batch)
{
    text_free(&batch->out);
    text_free(&batch->resource);
}

int batch_finish(struct batch *batch)
{
    envelope_end(&batch->encoder);
    return batch->out.failed ? -ENOMEM : 0;
}

void batch_reset(struct batch *batch)
{
    text_clear(&batch->out);
    batch->count = 0;
}

bool batch_is_full(const struct batch *batch)
{
    return batch->count >= BATCH_SPANS_MAX || batch->out.length >= BATCH_BYTES_MAX;
}

static void put_list(struct encoder *encoder, const char *name, const struct text *items)
{
    encode_list(encoder, name);
    encode_items(encoder, items);
    encode_list_end(encoder);
}

static uint32_t clamp(uint64_t count)
{
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

void batch_add(struct batch *batch, const struct otlp_span *span)
{
    struct encoder *encoder = &batch->encoder;
    encoder->out = &batch->out;
    if (!batch->count++)
        envelope_begin(encoder, &envelope_spans, &batch->resource);
    encode_open(encoder, ITEM(ENVELOPE_ITEMS));
    encode_id(encoder, SPAN_TRACE, span->trace, sizeof span->trace);
    encode_span(encoder, SPAN_ID, span->id);
    if (span->parent)
        encode_span(encoder, SPAN_PARENT, span->parent);
    encode_text(encoder, SPAN_NAME, span->name);
    encode_small(encoder, SPAN_KIND, KIND_INTERNAL);
    encode_fixed(encoder, SPAN_START, span->start);
    encode_fixed(encoder, SPAN_END, span->end);
    put_list(encoder, "attributes", span->attributes);
    put_list(encoder, "events", span->events);
    put_list(encoder, "links", span->links);
    if (span->dropped_events)
        encode_small(encoder, SPAN_DROPPED_EVENTS, clamp(span->dropped_events));
    if (span->dropped_links)
        encode_small(encoder, SPAN_DROPPED_LINKS, clamp(span->dropped_links));
    if (span->is_error) {
        encode_open(encoder, SPAN_STATUS);
        if (span->message)
            encode_text(encoder, STATUS_MESSAGE, span->message);
        encode_small(encoder, STATUS_CODE, STATUS_ERROR);
        encode_close(encoder);
    }
    encode_close(encoder);
}
