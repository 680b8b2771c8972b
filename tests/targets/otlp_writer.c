/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose objects are spans of every kind: below others, below a span of its application, with links, with errors,
 * without an end. Prints the path of its recording. */
#include <stdio.h>

#include <spoor/trace.h>

SPOOR_GROUP(work, "work");
SPOOR_OBJECT(request, 'r');
SPOOR_OBJECT(step, 's');
SPOOR_OBJECT(job, 'j');
SPOOR_OBJECT(both, 'b');
enum problem { PROBLEM_NONE = 0, PROBLEM_DISK_FULL = 7 };
SPOOR_ENUM(problem, SPOOR_VALUE(PROBLEM_NONE), SPOOR_VALUE(PROBLEM_DISK_FULL));
SPOOR_TRACEPOINT(work, REQUEST_NEW, request, SPOOR_BEGINS, (const char *, traceparent), (uint64_t, big));
SPOOR_TRACEPOINT(work, REQUEST_DONE, request, SPOOR_ENDS, (enum problem, error, problem), (double, load));
SPOOR_TRACEPOINT(work, STEP_NEW, step, SPOOR_BEGINS, (const void *, of));
SPOOR_TRACEPOINT(work, STEP_JOINS, step, SPOOR_USES, (const void *, joined), (_Bool, willing));
SPOOR_TRACEPOINT(work, STEP_DONE, step, SPOOR_ENDS, (const char *, error));
SPOOR_TRACEPOINT(work, JOB_NEW, job, SPOOR_BEGINS, (uint64_t, trace_id_high), (uint64_t, trace_id_low),
                 (uint64_t, parent_span_id));
SPOOR_TRACEPOINT(work, JOB_DONE, job, SPOOR_ENDS, (int8_t, small));
SPOOR_TRACEPOINT(work, BOTH_NEW, both, SPOOR_BEGINS, (int, first));
SPOOR_TRACEPOINT(work, BOTH_MEETS, both, SPOOR_USES, (const void *, other));
SPOOR_TRACEPOINT(work, NOTE_ABOUT, none, SPOOR_USES, (const void *, about), (const char *, text));
SPOOR_TRACEPOINT(work, NOTE, none, SPOOR_USES, (const char *, text));
SPOOR_RELATION(STEP_NEW, of, request);
SPOOR_RELATION(STEP_JOINS, joined, step);
SPOOR_RELATION(BOTH_MEETS, other, both);
SPOOR_RELATION(NOTE_ABOUT, about, request);
SPOOR_TRACEPOINT_HERE(REQUEST_NEW);
SPOOR_TRACEPOINT_HERE(REQUEST_DONE);
SPOOR_TRACEPOINT_HERE(STEP_NEW);
SPOOR_TRACEPOINT_HERE(STEP_JOINS);
SPOOR_TRACEPOINT_HERE(STEP_DONE);
SPOOR_TRACEPOINT_HERE(JOB_NEW);
SPOOR_TRACEPOINT_HERE(JOB_DONE);
SPOOR_TRACEPOINT_HERE(BOTH_NEW);
SPOOR_TRACEPOINT_HERE(BOTH_MEETS);
SPOOR_TRACEPOINT_HERE(NOTE_ABOUT);
SPOOR_TRACEPOINT_HERE(NOTE);

int main(void)
{
    const struct spoor_trace_options options = {
        .size = sizeof options, .name = "otlp_writer", .enable = "all"};
    char objects[16];
    if (spoor_trace_open(&options)) {
        fprintf(stderr, "%s\n", spoor_trace_error());
        return 1;
    }
    puts(spoor_trace_path());
    void *request = &objects[0], *step = &objects[1], *other = &objects[2], *plain = &objects[3];
    SPOOR_RECORD(REQUEST_NEW, SPOOR_NO_OWNER, request,
                 "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", UINT64_MAX);
    SPOOR_RECORD(STEP_NEW, SPOOR_NO_OWNER, step, request);
    SPOOR_RECORD(STEP_NEW, SPOOR_NO_OWNER, other, request);
    SPOOR_RECORD(STEP_JOINS, SPOOR_NO_OWNER, other, step, 1);
    SPOOR_RECORD(NOTE_ABOUT, SPOOR_NO_OWNER, 0, request, "half\tway \xff");
    SPOOR_RECORD(STEP_DONE, SPOOR_NO_OWNER, step, "");
    SPOOR_RECORD(STEP_DONE, SPOOR_NO_OWNER, other, "it \"broke\"");
    SPOOR_RECORD(REQUEST_DONE, SPOOR_NO_OWNER, request, PROBLEM_DISK_FULL, 0.5);
    /* What is no traceparent is an argument like others. */
    SPOOR_RECORD(REQUEST_NEW, SPOOR_NO_OWNER, plain,
                 "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", 1);
    SPOOR_RECORD(REQUEST_DONE, SPOOR_NO_OWNER, plain, PROBLEM_NONE, 1e300);
    SPOOR_RECORD(JOB_NEW, SPOOR_NO_OWNER, &objects[4], 0x0102030405060708, 0x090a0b0c0d0e0f10,
                 0x1112131415161718);
    SPOOR_RECORD(JOB_DONE, SPOOR_NO_OWNER, &objects[4], -3);
    /* Two that name each other: the second one to do so only links. They never end. */
    SPOOR_RECORD(BOTH_NEW, SPOOR_NO_OWNER, &objects[5], 1);
    SPOOR_RECORD(BOTH_NEW, SPOOR_NO_OWNER, &objects[6], 2);
    SPOOR_RECORD(BOTH_MEETS, SPOOR_NO_OWNER, &objects[5], &objects[6]);
    SPOOR_RECORD(BOTH_MEETS, SPOOR_NO_OWNER, &objects[6], &objects[5]);
    SPOOR_RECORD(NOTE, SPOOR_NO_OWNER, 0, "alone");
    return 0;
}
