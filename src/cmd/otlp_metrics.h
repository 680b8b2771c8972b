/* SPDX-License-Identifier: BSD-3-Clause */
/* `--otlp` of scripts: their maps as metrics, which wait until there is room for them. */
#ifndef SPOOR_CMD_OTLP_METRICS_H
#define SPOOR_CMD_OTLP_METRICS_H

#include "cmd/otlp.h"
#include "metrics/family.h"
#include "otlp/otlp.h"

struct otlp_metrics {
    struct otlp_target *target; /* the caller's */
    struct otlp_service service;
    struct text pending; /* a request that was not sent yet */
    uint64_t points;     /* in it */
    uint64_t lost;       /* points that were lost before the newest request was sent */
};

/* Keeps what `source` writes, in the place of what was not sent yet. A file gets it at once. Returns 0 or -errno. */
int otlp_metrics_publish(struct otlp_metrics *metrics, int (*source)(void *of, struct metric_writer *writer),
                         void *of);
/* Sends what is kept if there is room for it. Returns 0 or -errno. */
int otlp_metrics_send(struct otlp_metrics *metrics);
/* Reports what did not arrive at a receiver. Returns whether the newest metrics did. */
bool otlp_metrics_end(const struct otlp_metrics *metrics);
void otlp_metrics_free(struct otlp_metrics *metrics);

#endif
