/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/metrics.h"

#include "cmd/command.h"

int command_metrics(struct options *options, const char *script,
                    void (*report)(void *state, const char *text), void *state, struct metrics **out)
{
    struct text why = {0}, hint = {0};
    *out = NULL;
    if (!options->metrics && !options->outlet)
        return 0;
    const struct metrics_options wanted = {
        .place = options->metrics,
        .outlet = options->outlet,
        .script = script,
        .period_ns = options->metrics_period,
        .series_max = options->metrics_series ? options->metrics_series : METRICS_SERIES_DEFAULT,
        .report = report,
        .state = state,
        .next = options->session.watcher,
    };
    const int error = metrics_open(&wanted, out, &why, &hint);
    if (error) {
        command_print(stderr, "ERROR: --openmetrics: %s\n",
                      why.failed || !why.length ? "there is not enough memory" : text_string(&why));
        if (hint.length)
            command_print(stderr, "HINT: %s\n", text_string(&hint));
        metrics_close(*out);
        *out = NULL;
    } else {
        options->session.watcher = metrics_watcher(*out);
        options->session.counts_time = options->session.makes_files = true;
    }
    text_free(&why);
    text_free(&hint);
    return error != 0;
}
