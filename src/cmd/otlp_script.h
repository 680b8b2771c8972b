/* SPDX-License-Identifier: BSD-3-Clause */
/* `--otlp` of scripts: their maps as metrics and their lines as log records, while the trace runs and never waits for the
 * receiver. */
#ifndef SPOOR_CMD_OTLP_SCRIPT_H
#define SPOOR_CMD_OTLP_SCRIPT_H

#include "cmd/options.h"
#include "metrics/metrics.h"

struct otlp_script;

#define OTLP_SCRIPT_PATIENCE_NS 5000000000ull /* without --otlp-wait */

/* Opens what --otlp names, has the session observed, and becomes the outlet of the options, before the one that they have.
 * Returns 0, or 1 after a message; *out: NULL if it was not given. */
int otlp_script_open(struct options *options, struct otlp_script **out);
/* Makes sure, before scripts are started that send to it, that --otlp names a receiver that can be sent to. Returns 0, or 1 after a message. */
int otlp_script_check(const struct otlp_options *options);
/* Sends what is wrong with the script. has_begun: it runs, or ran, all the same. `script` may be NULL. */
void otlp_script_diagnose(struct otlp_script *script, const struct options *options,
                          const struct diagnostics *diagnostics, bool has_begun);
/* When the trace is over: sends what is left. Returns the exit status, which is 1 if that did
 * not arrive and metrics go nowhere else. */
int otlp_script_close(struct otlp_script *script, int status);

#endif
