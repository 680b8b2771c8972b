/* SPDX-License-Identifier: BSD-3-Clause */
/* Families of metrics (metrics/family.h) as messages Metric: counters are sums that only grow, summaries without a count
 * sums that may fall, the others have a counterpart of the same name; histograms whose rows are equally wide have explicit
 * bounds, all others are exponential ones. */
#ifndef SPOOR_OTLP_METRICS_H
#define SPOOR_OTLP_METRICS_H

#include "metrics/family.h"
#include "otlp/encode.h"
#include "otlp/otlp.h"

/* What struct metric_writer.state has to be. */
struct metric_encoder {
    struct encoder encoder; /* its text is the writer's */
    uint64_t time;          /* of all points: CLOCK_REALTIME, ns */
    uint64_t points;        /* that were written */
};

extern const struct metric_format metric_otlp;

/* Makes a whole request of metrics that were written: a message ExportMetricsServiceRequest. */
void metrics_request(struct encoder *encoder, const struct text *metrics, const struct otlp_service *service);

#endif
