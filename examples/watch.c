/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that watches itself: a script counts and times its function work() by uprobes, and counts in a map how
 * often each size was asked for. Twice a second the program reads the maps as values and prints them.
 *
 *   watch [ROUNDS]     as root */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <spoor/tracer.h>

#define SIZES 5

__attribute__((noinline)) static unsigned work(unsigned size)
{
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < size * 1000; i++)
        sum += i;
    return sum;
}

static const char script[] = "uprobe:/proc/self/exe:work { @begun[tid] = nsecs; @calls[arg0] = count(); }\n"
                             "uretprobe:/proc/self/exe:work /@begun[tid]/\n"
                             "{\n"
                             "    @microseconds = hist((nsecs - @begun[tid]) / 1000);\n"
                             "    delete(@begun, tid);\n"
                             "}\n";

static int print_calls(void *state, const struct spoor_tracer_value *key,
                       const struct spoor_tracer_value *value)
{
    int64_t *total = state;
    printf("  size %" PRId64 ": %" PRId64 " calls\n", spoor_tracer_integer(key), spoor_tracer_integer(value));
    *total += spoor_tracer_integer(value);
    return 0;
}

static int print_times(void *state, const struct spoor_tracer_value *key,
                       const struct spoor_tracer_value *value)
{
    (void)state, (void)key;
    struct spoor_tracer_row row;
    for (size_t i = 0; !spoor_tracer_row(value, i, &row); i++)
        printf("  %6" PRId64 " to %6" PRId64 " us: %" PRIu64 "\n", row.low, row.high, row.count);
    return 0;
}

static void on_report(void *state, const char *text)
{
    (void)state;
    fputs(text, stderr);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 4;
    struct spoor_tracer *tracer;
    const pid_t self = getpid();
    const struct spoor_tracer_options options = {
        .size = sizeof options, .name = "watch", .pids = &self, .pid_count = 1, .report = on_report};
    if (spoor_tracer_open(&options, &tracer)) {
        fputs(spoor_tracer_error(NULL), stderr);
        return 1;
    }
    int error = spoor_tracer_add(tracer, script);
    if (!error)
        error = spoor_tracer_start(tracer);
    for (long i = 0; !error && i < rounds; i++) {
        int64_t total = 0;
        for (unsigned call = 0; call < 50; call++)
            work(1 + call % SIZES);
        error = spoor_tracer_poll(tracer, 0);
        if (error < 0)
            break;
        printf("round %ld\n", i + 1);
        error = spoor_tracer_each(tracer, "@calls", print_calls, &total);
        if (!error)
            error = spoor_tracer_each(tracer, "@microseconds", print_times, NULL);
        printf("  %" PRId64 " calls so far\n", total);
    }
    if (error < 0)
        fputs(spoor_tracer_error(tracer), stderr);
    spoor_tracer_close(tracer);
    return error < 0;
}
