/* SPDX-License-Identifier: BSD-3-Clause */
/* Where requests go. A receiver has an address for each kind of request, whose paths the specification names. */
#ifndef SPOOR_OTLP_ADDRESS_H
#define SPOOR_OTLP_ADDRESS_H

#include <stdbool.h>

#include "base/text.h"

#define ADDRESS_TRACES "/v1/traces"
#define ADDRESS_METRICS "/v1/metrics"
#define ADDRESS_LOGS "/v1/logs"

/* Whether a place of --otlp is an address; otherwise it is a file. */
bool address_is_url(const char *place);
/* Makes the address for requests of one kind from what the user gives, which gets this path if it has none. Returns 0,
 * -EINVAL with the reason, or -ENOMEM. */
int address_make(const char *given, const char *path, struct text *url, struct text *why);
/* Makes the address for log records of that for metrics. Returns false, with nothing in `url`, if that has another path
 * than ADDRESS_METRICS at its end: then nothing says where log records would go. */
bool address_of_logs(const char *metrics, struct text *url);

#endif
