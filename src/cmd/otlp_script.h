/* SPDX-License-Identifier: BSD-3-Clause */
/* `--otlp` of scripts: their maps as metrics and their lines as log records, while the trace runs and never waits for the
 * receiver. */
#ifndef SPOOR_CMD_OTLP_SCRIPT_H
#define SPOOR_CMD_OTLP_SCRIPT_H

#include "cmd/options.h"
#include "metrics/metrics.h"

struct otlp_script;

/* Opens what --otlp names, and has the session observed. Returns 0, or 1 after a message; *out: NULL if it was not given. */
int otlp_script_open(struct options *options, struct otlp_script **out);
/* To whom metrics go; NULL: otlp_script is. */
const struct metric_outlet *otlp_script_outlet(const struct otlp_script *script);
/* When the trace is over: sends what is left. Returns the exit status, which is 1 if that did not arrive. */
int otlp_script_close(struct otlp_script *script, int status);

#endif
