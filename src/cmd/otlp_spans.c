/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/otlp_spans.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cmd/command.h"
#include "otlp/address.h"

/* Checks that the times are those of a calendar. Returns 0, or 1 after a message. */
static int check_time(const struct recording *recording)
{
    if (recording_realtime(recording))
        return 0;
    const char *why = recording_unrelated(recording);
    command_print(stderr, "ERROR: %s does not say when it was, and spans have absolute times%s%s\n",
                  recording_path(recording), why ? ": " : "", why ? why : "");
    return 1;
}

int otlp_spans_open(struct otlp_spans_output *output, const struct recording *recording,
                    const struct otlp_options *options, const struct otlp_use *use)
{
    struct otlp_use complete = *use;
    complete.path = ADDRESS_TRACES;
    if (check_time(recording) || otlp_open(&output->target, options, &complete))
        return 1;
    if (!batch_init(&output->batch, recording, !output->target.sender))
        return 0;
    otlp_abandon(&output->target);
    fputs("ERROR: there is not enough memory\n", stderr);
    return 1;
}

enum spans_form otlp_spans_form(const struct otlp_spans_output *output)
{
    return output->target.sender ? SPANS_PROTOBUF : SPANS_JSON;
}

int otlp_spans_send(struct otlp_spans_output *output)
{
    struct batch *batch = &output->batch;
    if (!batch->count)
        return 0;
    int error = batch_finish(batch);
    if (!error)
        error = otlp_send(&output->target, &batch->out, batch->count);
    batch_reset(batch);
    return error;
}

int otlp_spans_close(struct otlp_spans_output *output, const struct recording *recording, int error,
                     bool is_whole, const struct spans_counts *counts)
{
    if (error < 0 && !output->target.file.error)
        command_print(stderr, "ERROR: cannot send %s: %s\n", recording_path(recording),
                      error == -ESTALE ? "somebody writes over it" : strerror(-error));
    const int closed = otlp_close(&output->target, "spans", error >= 0 && is_whole);
    if (counts->alone)
        command_print(stderr, "NOTE: %" PRIu64 " events are about no object and are in no span\n",
                      counts->alone);
    if (counts->dropped)
        command_print(stderr, "NOTE: %" PRIu64 " events are in no span: theirs has too many, or had ended\n",
                      counts->dropped);
    batch_free(&output->batch);
    return error < 0 || closed;
}

void otlp_spans_abandon(struct otlp_spans_output *output)
{
    otlp_abandon(&output->target);
    batch_free(&output->batch);
}
