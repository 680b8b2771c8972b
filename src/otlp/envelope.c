/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/envelope.h"

#include <unistd.h>

#include "otlp/attribute.h"

/* Fields of the messages Export…ServiceRequest, Resource…, Scope…, Resource and InstrumentationScope. */
enum { REQUEST_RESOURCES = 1, RESOURCE_SCOPES = 2 };
#define RESOURCE FIELD(1, "resource")
#define SCOPE FIELD(1, "scope")
#define SCOPE_NAME FIELD(1, "name")
#define SCOPE_VERSION FIELD(2, "version")

const struct envelope envelope_spans = {"resourceSpans", "scopeSpans", "spans"};
const struct envelope envelope_metrics = {"resourceMetrics", "scopeMetrics", "metrics"};
const struct envelope envelope_logs = {"resourceLogs", "scopeLogs", "logRecords"};

void envelope_resource(struct encoder *encoder, const struct otlp_service *service)
{
    char own[256] = "";
    const char *host = service->host ? service->host : own;
    const bool has_host = (service->host || !gethostname(own, sizeof own - 1)) && host[0];
    attribute_text(encoder, ENVELOPE_ATTRIBUTES, "service.name", service->name);
    if (service->group)
        attribute_text(encoder, ENVELOPE_ATTRIBUTES, "service.namespace", service->group);
    if (service->group && has_host)
        attribute_text(encoder, ENVELOPE_ATTRIBUTES, "service.instance.id", host);
    if (has_host)
        attribute_text(encoder, ENVELOPE_ATTRIBUTES, "host.name", host);
    attribute_text(encoder, ENVELOPE_ATTRIBUTES, "os.type", "linux");
}

void envelope_begin(struct encoder *encoder, const struct envelope *envelope, const struct text *resource)
{
    encode_open(encoder, ITEM(0));
    encode_list(encoder, envelope->resources);
    encode_open(encoder, ITEM(REQUEST_RESOURCES));
    encode_open(encoder, RESOURCE);
    encode_list(encoder, "attributes");
    encode_items(encoder, resource);
    encode_list_end(encoder);
    encode_close(encoder);
    encode_list(encoder, envelope->scopes);
    encode_open(encoder, ITEM(RESOURCE_SCOPES));
    encode_open(encoder, SCOPE);
    encode_text(encoder, SCOPE_NAME, "spoor");
    encode_text(encoder, SCOPE_VERSION, SPOOR_VERSION);
    encode_close(encoder);
    encode_list(encoder, envelope->items);
}

void envelope_end(struct encoder *encoder)
{
    for (int i = 0; i < 3; i++) {
        encode_list_end(encoder);
        encode_close(encoder);
    }
}
