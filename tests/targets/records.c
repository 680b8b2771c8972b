/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports each of COUNT numbers three times, some milliseconds apart: by a probe, to the kernel (getppid), and to
 * its recorder: records COUNT. It begins when a tracer has attached to the probe. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <spoor/probe.h>
#include <spoor/trace.h>

enum step_kind { STEP_EVEN, STEP_ODD };

SPOOR_PROBE_DECLARE(records, step, (int, n), (const char *, text));
SPOOR_GROUP(records, "steps");
SPOOR_OWNER(place, 'p');
SPOOR_OBJECT(step, 's');
SPOOR_ENUM(step_kind, SPOOR_VALUE(STEP_EVEN), SPOOR_VALUE(STEP_ODD));
SPOOR_TRACEPOINT(records, STEP_BEGIN, step, SPOOR_BEGINS, (int, n), (const char *, text));
SPOOR_TRACEPOINT(records, STEP_END, step, SPOOR_ENDS, (enum step_kind, kind, step_kind), (int, n));
SPOOR_TRACEPOINT_HERE(STEP_BEGIN);
SPOOR_TRACEPOINT_HERE(STEP_END);

static void apart(void)
{
    const struct timespec pause = {.tv_nsec = 3000000};
    nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
    static const char *const texts[] = {"zero", "one", "two", "three"};
    const int count = argc > 1 ? atoi(argv[1]) : 1;
    const struct spoor_trace_options options = {.size = sizeof options, .name = "records", .enable = "all"};
    if (spoor_trace_open(&options)) {
        fprintf(stderr, "%s\n", spoor_trace_error());
        return 1;
    }
    const unsigned owner = spoor_owner_register(&spoor_owner_place, "here");
    while (!SPOOR_LISTENED(records, step))
        apart();
    for (int n = 0; n < count; n++) {
        SPOOR_RECORD(STEP_BEGIN, owner, &options + n, n, texts[n % 4]);
        apart();
        SPOOR_FIRE(records, step, n, texts[n % 4]);
        apart();
        syscall(SYS_getppid);
        apart();
        SPOOR_RECORD(STEP_END, owner, &options + n, n % 2 ? STEP_ODD : STEP_EVEN, n);
        apart();
    }
    return 0;
}
