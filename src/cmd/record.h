/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor record --otlp`: the objects of a living recording as spans, as soon as they end. */
#ifndef SPOOR_CMD_RECORD_H
#define SPOOR_CMD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "cmd/otlp.h"

struct record_spans;

/* Opens a recording to read it while it is written, and what --otlp names. percentile: which spans are sent (otlp/sample.h),
 * type: of which type of objects, or NULL. Returns 0, 1 after a message, or -errno with the reason. */
int record_spans_open(const char *path, const struct otlp_options *options, uint32_t percentile,
                      const char *type, struct record_spans **out, struct text *why);
/* Keeps up with the program in a thread of its own, with the rights that the caller has now. Returns 0 or -errno. */
int record_spans_start(struct record_spans *spans);
bool record_spans_are_live(const struct record_spans *spans);
/* Sends what has ended, for a short time, and never waits for a receiver. Returns 1 if there is more to be sent at once, 0 if not,
 * or -errno: nothing more will be sent, and record_spans_close() reports it. */
int record_spans_run(struct record_spans *spans);
/* Sends what is left, until a signal asks for the end. has_ended: the program has, and not only its recording. Returns 0, or 1
 * after a message. */
int record_spans_close(struct record_spans *spans, bool has_ended);
/* Closes it when nothing was to be sent, without a word. Both do nothing for NULL. */
void record_spans_abandon(struct record_spans *spans);

#endif
