/* SPDX-License-Identifier: BSD-3-Clause */
/* `--otlp` of scripts: their maps as metrics, while the trace runs and never waits for it. */
#ifndef SPOOR_CMD_OTLP_METRICS_H
#define SPOOR_CMD_OTLP_METRICS_H

#include "cmd/options.h"
#include "metrics/metrics.h"

struct otlp_metrics;

/* Opens what --otlp names. Returns 0, or 1 after a message; *out: NULL if it was not given. */
int otlp_metrics_open(struct options *options, struct otlp_metrics **out);
/* To whom metrics go; NULL: otlp_metrics is. */
const struct metric_outlet *otlp_metrics_outlet(const struct otlp_metrics *sending);
/* When the trace is over: sends what is left. Returns the exit status, which is 1 if that did not arrive. */
int otlp_metrics_close(struct otlp_metrics *sending, int status);

#endif
