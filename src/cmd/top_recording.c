/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor top --recording`: what a program records, while it does. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/recordings.h"
#include "cmd/report.h"
#include "cmd/stop.h"
#include "cmd/top.h"
#include "top/recording.h"
#include "top/terminal.h"

struct recorded { /* a recording that is followed */
    struct top_arguments *arguments;
    struct recording *recording;
    struct objects *objects;
    struct top_recording *top;
    struct top_view view;
    struct top_lines lines;
    struct output output;
    bool is_on_screen;
    bool has_caught_up; /* everything that was recorded before has been read */
    bool has_ended, was_refreshed;
    uint64_t overwritten; /* events, when it was told last */
};

static volatile int stop;

/* ---- reading ---- */

/* Reads what there is, for at most so long. Returns how many events, or -errno. */
static int read_events(struct recorded *recorded, uint64_t until)
{
    enum { LOOKS_AT_CLOCK = 256 };
    struct recording_event event;
    struct object_step step;
    int count = 0, got = 1;
    while (!stop && (got = recording_next(recorded->recording, &event)) == 1) {
        got = objects_follow(recorded->objects, &event, &step);
        if (!got && !event.is_outside)
            got = top_recording_add(recorded->top, &event, &step);
        if (got)
            return got;
        if (++count % LOOKS_AT_CLOCK == 0 && clock_ns(CLOCK_MONOTONIC) >= until)
            return count;
    }
    if (got == 0 && !recorded->has_caught_up) {
        recorded->has_caught_up = true;
        top_recording_forget_last(recorded->top);
    }
    return got < 0 ? got : count;
}

/* Says what is missing. */
static void report_lost(struct recorded *recorded)
{
    const struct recording_counts counts = recording_counts(recorded->recording);
    const uint64_t overwritten = counts.overwritten - counts.older;
    if (overwritten > recorded->overwritten)
        top_view_status(&recorded->view, true,
                        "%llu events were overwritten before they were read: a larger ring keeps more",
                        (unsigned long long)overwritten);
    else if (counts.lost > 0 && !recorded->view.status.length)
        top_view_status(&recorded->view, true, "%llu events could not be recorded by the program",
                        (unsigned long long)counts.lost);
    recorded->overwritten = overwritten;
}

static int feed_step(void *state, int wait_ms)
{
    struct recorded *recorded = state;
    const uint64_t until = clock_ns(CLOCK_MONOTONIC) + (uint64_t)wait_ms * NSEC_PER_MSEC;
    const int count = read_events(recorded, until);
    if (count)
        return count;
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    const struct timespec pause = timespec_of(now < until ? until - now : 0);
    const bool is_live = !recorded->has_ended && recording_is_live(recorded->recording);
    nanosleep(&pause, NULL);
    const int got = is_live ? recording_refresh(recorded->recording) : 0;
    if (got < 0)
        return got;
    recorded->has_ended |= !is_live;
    return 0;
}

static bool feed_is_over(void *state)
{
    const struct recorded *recorded = state;
    return stop || (!recorded->is_on_screen && recorded->has_ended && recorded->was_refreshed);
}

/* Seconds that a recording covers which was not read while it was written. */
static double covered_seconds(const struct recorded *recorded)
{
    const struct latency_table *table = top_recording_latencies(recorded->top);
    return table->events ? (double)(recording_time(recorded->recording, table->last) -
                                    recording_time(recorded->recording, table->first)) /
                               NSEC_PER_SEC
                         : 0;
}

static int feed_refresh(void *state, uint64_t now)
{
    struct recorded *recorded = state;
    if (recorded->has_ended && recorded->was_refreshed && recorded->is_on_screen)
        return 0; /* nothing changes any more */
    const bool is_whole = recorded->has_ended || !recorded->has_caught_up;
    top_recording_refresh(recorded->top, now, is_whole ? covered_seconds(recorded) : 0);
    recorded->was_refreshed = recorded->has_ended;
    if (recorded->has_ended)
        recorded->view.ended = "the program has ended";
    report_lost(recorded);
    return 0;
}

static struct top_table *feed_tables(void *state, size_t *count)
{
    const struct recorded *recorded = state;
    return top_recording_tables(recorded->top, count);
}

static int feed_save(void *state, struct text *out)
{
    const struct recorded *recorded = state;
    report_stats_json(out, recorded->recording, top_recording_latencies(recorded->top));
    return out->failed ? -ENOMEM : 0;
}

static int feed_write(void *state, const struct text *text)
{
    struct recorded *recorded = state;
    return output_write(&recorded->output, NULL, text_string(text), text->length);
}

/* ---- the command ---- */

static int run(struct recorded *recorded)
{
    const struct top_feed feed = {recorded,    feed_step, feed_is_over, feed_refresh,
                                  feed_tables, feed_save, feed_write};
    const uint64_t started = clock_ns(CLOCK_MONOTONIC);
    struct text text = {0};
    size_t count;
    struct top_table *tables = top_recording_tables(recorded->top, &count);
    const int taken = top_take_terminal(recorded->arguments);
    if (taken < 0)
        return -ENOENT;
    recorded->is_on_screen = taken;
    int error = top_view_begin(&recorded->view, tables, count, TOP_RECORDING_TABLES_MAX, &recorded->lines);
    recorded->view.current = count > TOP_RECORDING_TABLES ? TOP_RECORDING_TABLES : 0;
    if (!error)
        error = taken ? top_run_screen(&feed, &recorded->arguments->settings, &recorded->view)
                      : top_run_batch(&feed, &recorded->arguments->settings);
    terminal_end();
    if (!error && taken) { /* what was seen last stays on the terminal */
        tables = top_recording_tables(recorded->top, &count);
        top_batch_write(&text, &recorded->arguments->settings, tables, count, started,
                        clock_ns(CLOCK_MONOTONIC));
        error = feed_write(recorded, &text);
    }
    text_free(&text);
    return error;
}

static int open_recording(struct recorded *recorded, const char *word, struct text *why)
{
    static const struct recording_options options = {.follow = true, .only_cpu = -1};
    struct top_arguments *arguments = recorded->arguments;
    const bool is_file = word && !access(word, F_OK);
    int error;
    if (arguments->options.session.pid_count)
        arguments->choice.pid = (uint32_t)arguments->options.pids[0];
    if (word && !is_file)
        arguments->choice.name = word;
    char *path = recordings_path(is_file ? word : NULL, &arguments->choice, why, &error);
    if (path)
        error = recording_open(path, &options, &recorded->recording, why);
    free(path);
    if (!error)
        error = recording_keep_up(recorded->recording);
    if (!error && !(recorded->objects = objects_make(recorded->recording)))
        error = -ENOMEM;
    return error ? error : top_recording_make(recorded->recording, &recorded->top);
}

int top_recording(struct top_arguments *arguments, const char *word)
{
    struct recorded recorded = {.arguments = arguments};
    struct text why = {0};
    int status = 1;
    recordings_keep_privileges(PRIVILEGE_OPEN_FILES);
    int error = open_recording(&recorded, word, &why);
    if (error)
        recordings_fail(&why, error);
    else if (!output_open(&recorded.output, NULL, false)) {
        const struct recording_model *model = recording_model(recorded.recording);
        const char *path = recording_path(recorded.recording);
        recorded.view.title = model->name[0]       ? model->name
                              : strrchr(path, '/') ? strrchr(path, '/') + 1
                                                   : path;
        arguments->settings.title = recorded.view.title;
        stop_on_signals(&stop);
        error = run(&recorded);
        status = output_close(&recorded.output, true);
        if (error && error != -ENOENT && error != -EPIPE)
            command_print(stderr, "ERROR: cannot read %s: %s\n", recording_path(recorded.recording),
                          strerror(-error));
        status |= error && error != -EPIPE;
    }
    top_view_free(&recorded.view);
    top_lines_free(&recorded.lines);
    top_recording_free(recorded.top);
    objects_free(recorded.objects);
    recording_close(recorded.recording);
    text_free(&why);
    return status;
}
