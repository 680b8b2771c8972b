/* SPDX-License-Identifier: BSD-3-Clause */
/* blockd: a block server that speaks NBD, small but whole. It shows how a program carries probes
 * (spoor/probe.h) and a flight recorder (spoor/trace.h); states.bt and send_msg.bt beside it look at it.
 *
 * Layers, each knowing only those below: target (the whole), control, listener; connection with its two
 * protocols, handshake and request; export; bdev with its devices; channel; thread. */
#include <errno.h>
#include <stdio.h>

#include <spoor/trace.h>

#include "options.h"
#include "target.h"
#include "tell.h"

/* Begins a recording. If one was asked for and is not possible, that is an error; otherwise the server runs
 * without. */
static int begin_recording(const char *enable)
{
    const struct spoor_trace_options options = {.size = sizeof options,
                                                .name = "blockd",
                                                .enable = enable,
                                                .flags = enable ? SPOOR_TRACE_ANNOUNCE : 0};
    const int error = spoor_trace_open(&options);
    if (error && error != -ECANCELED)
        fprintf(stderr, "blockd: recorder: %s\n", spoor_trace_error());
    return error;
}

int main(int argc, char **argv)
{
    static struct options options;
    static struct target target;
    int error = options_parse(&options, argc, argv);
    if (error)
        return error < 0 ? 2 : 0;
    if (options.command)
        return tell(options.control, options.command) < 0 ? 1 : 0;
    error = begin_recording(options.trace);
    if (error == -ECANCELED)
        return 0;
    if (error && options.trace)
        return 1;
    error = target_run(&target, &options);
    spoor_trace_close();
    return error ? 1 : 0;
}
