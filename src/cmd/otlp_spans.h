/* SPDX-License-Identifier: BSD-3-Clause */
/* `--otlp` of report and record: spans in requests. */
#ifndef SPOOR_CMD_OTLP_SPANS_H
#define SPOOR_CMD_OTLP_SPANS_H

#include "cmd/otlp.h"
#include "otlp/batch.h"
#include "otlp/spans.h"

struct otlp_spans_output {
    struct otlp_target target;
    struct batch batch; /* the request that is being made */
};

/* Opens what the options name for the spans of a recording, whose times must be those of a calendar. The path of `use` is set
 * here. Returns 0, or 1 after a message. */
int otlp_spans_open(struct otlp_spans_output *output, const struct recording *recording,
                    const struct otlp_options *options, const struct otlp_use *use);
/* The form in which spans are made for it. */
enum spans_form otlp_spans_form(const struct otlp_spans_output *output);
/* Sends what the batch has, and waits for room. Returns 0 or -errno. */
int otlp_spans_send(struct otlp_spans_output *output);
/* Waits for what is under way, closes, and reports how many spans arrived, and what is in none. error: what went wrong
 * before, -errno, which is reported, too; 0: nothing. is_whole: the recording was read to its end. Returns 0, or 1 after a
 * message. */
int otlp_spans_close(struct otlp_spans_output *output, const struct recording *recording, int error,
                     bool is_whole, const struct spans_counts *counts);
/* Closes it when nothing was to be sent, without a word. */
void otlp_spans_abandon(struct otlp_spans_output *output);

#endif
