/* SPDX-License-Identifier: BSD-3-Clause */
/* What is around spans, metrics and log records in a request, which is the same for all but for its names. */
#ifndef SPOOR_OTLP_ENVELOPE_H
#define SPOOR_OTLP_ENVELOPE_H

#include "otlp/encode.h"
#include "otlp/otlp.h"

struct envelope {
    const char *resources, *scopes, *items; /* names of the lists */
};
extern const struct envelope envelope_spans, envelope_metrics, envelope_logs;

/* Numbers of fields: of the items in their scope, of attributes in the resource. */
enum { ENVELOPE_ITEMS = 2, ENVELOPE_ATTRIBUTES = 1 };

/* Writes the attributes that every resource has: the service, its host. */
void envelope_resource(struct encoder *encoder, const struct otlp_service *service);
/* Writes everything before the first item. resource: its attributes, encoded. */
void envelope_begin(struct encoder *encoder, const struct envelope *envelope, const struct text *resource);
void envelope_end(struct encoder *encoder);

#endif
