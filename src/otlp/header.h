/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers that a receiver wants: those of --otlp-header, and those of the environment, which no list of processes shows. */
#ifndef SPOOR_OTLP_HEADER_H
#define SPOOR_OTLP_HEADER_H

#include "base/text.h"

#define HEADERS_VARIABLE "OTEL_EXPORTER_OTLP_HEADERS"
/* In its place, for spoor alone: a command that spoor starts does not get it. */
#define OWN_HEADERS_VARIABLE "SPOOR_OTLP_HEADERS"

struct header_receiver {
    int (*add)(void *context, const char *line); /* returns 0 or -errno; `line` is as libcurl wants it */
    void *context;
};

/* Hands out the headers NAME=VALUE of a NULL-terminated list, which may be NULL. Returns 0, or -errno with the reason. */
int headers_given(const char *const *headers, const struct header_receiver *receiver, struct text *why);
/* Hands out those of `list`, the value of the variable or NULL, as OpenTelemetry writes it: NAME=VALUE, separated by commas, bytes
 * of values as %XX; but for those whose name is among the ones that were given. The reason names the variable and no value:
 * it may be a secret. */
int headers_listed(const char *variable, const char *list, const char *const *given,
                   const struct header_receiver *receiver, struct text *why);
/* Does so with the variable of the environment that is set. */
int headers_of_environment(const char *const *given, const struct header_receiver *receiver,
                           struct text *why);

#endif
