/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose requests wait for each other: two devices, each with a queue of DEPTH requests, which are queued one
 * after the other, sent by twos, and done in the reverse order. The first request of all is done last.
 *
 *   queue ROUNDS DEPTH
 *
 * Prints the path of its recording. */
#include <stdio.h>
#include <stdlib.h>

#include <spoor/trace.h>

SPOOR_GROUP(queue, "requests of devices");
SPOOR_OWNER(device, 'd');
SPOOR_OBJECT(request, 'q');
SPOOR_TRACEPOINT(queue, REQUEST_QUEUED, request, SPOOR_BEGINS, (uint32_t, place));
SPOOR_TRACEPOINT(queue, REQUEST_SENT, request, SPOOR_USES, (uint32_t, place));
SPOOR_TRACEPOINT(queue, REQUEST_DONE, request, SPOOR_ENDS, (uint32_t, place));
SPOOR_TRACEPOINT_HERE(REQUEST_QUEUED);
SPOOR_TRACEPOINT_HERE(REQUEST_SENT);
SPOOR_TRACEPOINT_HERE(REQUEST_DONE);

enum { DEVICES = 2, DEPTH_MAX = 64 };

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: queue ROUNDS DEPTH\n", stderr);
        return 2;
    }
    const unsigned rounds = (unsigned)strtoul(argv[1], NULL, 10),
                   depth = (unsigned)strtoul(argv[2], NULL, 10) % DEPTH_MAX;
    const struct spoor_trace_options options = {
        .size = sizeof options, .name = "queue", .enable = "all", .ring_bytes = 16 << 20};
    if (spoor_trace_open(&options)) {
        fprintf(stderr, "%s\n", spoor_trace_error());
        return 1;
    }
    static char requests[DEVICES][DEPTH_MAX], first;
    const uint32_t devices[DEVICES] = {spoor_owner_register(&spoor_owner_device, "disk0"),
                                       spoor_owner_register(&spoor_owner_device, "disk1")};
    SPOOR_RECORD(REQUEST_QUEUED, devices[0], &first, DEPTH_MAX);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < depth; i++) {
            for (unsigned on = 0; on < DEVICES; on++)
                SPOOR_RECORD(REQUEST_QUEUED, devices[on], &requests[on][i], i);
            for (unsigned on = 0; i % 2 && on < DEVICES; on++)
                SPOOR_RECORD(REQUEST_SENT, devices[on], &requests[on][i / 2], i / 2);
        }
        for (unsigned i = depth; i-- > 0;)
            for (unsigned on = 0; on < DEVICES; on++)
                SPOOR_RECORD(REQUEST_DONE, devices[on], &requests[on][i], i);
    }
    SPOOR_RECORD(REQUEST_DONE, devices[0], &first, DEPTH_MAX);
    puts(spoor_trace_path());
    return 0;
}
