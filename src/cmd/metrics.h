/* SPDX-License-Identifier: BSD-3-Clause */
/* `--openmetrics`: a script's maps as metrics. */
#ifndef SPOOR_CMD_METRICS_H
#define SPOOR_CMD_METRICS_H

#include "cmd/options.h"
#include "metrics/metrics.h"

/* Makes sure that metrics can be published, and has the session's maps watched. script: the name of the script's file; NULL:
 * it has none. `report` and its state get messages while the trace runs. Returns 0, or 1 after a message; *out: NULL if no
 * metrics are asked for. */
int command_metrics(struct options *options, const char *script,
                    void (*report)(void *state, const char *text), void *state, struct metrics **out);

#endif
