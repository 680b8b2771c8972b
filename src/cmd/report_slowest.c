/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor report --slowest`: prints the objects with the longest lives, each with its whole story. The recording is
 * read twice. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/recordings.h"
#include "cmd/report.h"
#include "print/event.h"
#include "reader/story.h"

enum { LINES_MAX = 10000 };

struct chapter { /* one story while it is collected */
    struct text lines;
    struct event_printer printer;
    size_t line_count;
    uint64_t begun, ended; /* ns */
    uint64_t before;       /* ns: time of its previous event */
    char before_name[64];
    uint64_t longest; /* the longest step, ns */
    char longest_name[136];
    bool has_events;
};

struct visit_state {
    struct report *report;
    struct chapter *chapters;
    const struct recording_event *event;
    const struct object_step *step;
};

static double share(const struct chapter *chapter, uint64_t step)
{
    return chapter->ended > chapter->begun ? 100.0 * (double)step / (double)(chapter->ended - chapter->begun)
                                           : 0;
}

static int visit_story(void *context, size_t story)
{
    const struct visit_state *visit_state = context;
    struct chapter *chapter = &visit_state->chapters[story];
    const uint64_t now = recording_time(visit_state->report->recording, visit_state->event->stamp);
    const uint64_t step = chapter->has_events && now > chapter->before ? now - chapter->before : 0;
    if (step > chapter->longest) {
        chapter->longest = step;
        snprintf(chapter->longest_name, sizeof chapter->longest_name, "%s -> %.64s", chapter->before_name,
                 visit_state->event->tracepoint->name);
    }
    chapter->before = now;
    chapter->has_events = true;
    snprintf(chapter->before_name, sizeof chapter->before_name, "%s", visit_state->event->tracepoint->name);
    if (++chapter->line_count > LINES_MAX)
        return 0;
    text_printf(&chapter->lines, "%5.1f%% ", share(chapter, step));
    event_print(&chapter->printer, &chapter->lines, visit_state->event, visit_state->step);
    return chapter->lines.failed ? -ENOMEM : 0;
}

static void print_chapter(struct report *report, const struct object *object, const struct chapter *chapter,
                          size_t rank)
{
    const struct recording_model *model = recording_model(report->recording);
    const uint64_t life = chapter->ended - chapter->begun;
    const uint64_t start = recording_start(report->recording),
                   since = chapter->begun > start ? chapter->begun - start : 0;
    text_printf(&report->out, "%s#%zu ", rank ? "\n" : "", rank + 1);
    event_print_object(&report->out, model, object->type, object->number, object->id);
    text_printf(&report->out, " %s%slived %" PRIu64 ".%03u us, from %" PRIu64 ".%03u",
                model->objects[object->type].name, model->objects[object->type].name[0] ? " " : "",
                life / 1000, (unsigned)(life % 1000), since / 1000, (unsigned)(since % 1000));
    if (chapter->longest)
        text_printf(&report->out, "; longest step %s: %" PRIu64 ".%03u us (%.1f%%)", chapter->longest_name,
                    chapter->longest / 1000, (unsigned)(chapter->longest % 1000),
                    share(chapter, chapter->longest));
    text_char(&report->out, '\n');
    text_append(&report->out, text_string(&chapter->lines), chapter->lines.length);
    if (chapter->line_count > LINES_MAX)
        text_printf(&report->out, "… and %zu events more\n", chapter->line_count - LINES_MAX);
    report_flush(report, false);
}

int report_again(struct report *report)
{
    struct text why = {0};
    struct recording *again;
    const int file = dup(recording_file(report->recording));
    if (file < 0)
        return -errno;
    int error =
        recording_open_file(file, recording_path(report->recording), report->recording_options, &again, &why);
    text_free(&why);
    if (error)
        return error;
    if (recording_model(again)->object_count != recording_model(report->recording)->object_count) {
        recording_close(again); /* the types of the objects that were found are indexes into the model */
        return -ESTALE;
    }
    report->taken = report->read = 0;
    report_unread(report); /* reports what the first reading missed */
    recording_close(report->recording);
    report->recording = again;
    objects_free(report->objects);
    report->objects = objects_make(again);
    return report->objects ? 0 : -ENOMEM;
}

static int collect(struct report *report, struct stories *stories)
{
    struct recording_event event;
    struct object_step step;
    int got;
    while (!report_stop && (got = report_next(report, &event, &step)) == 1)
        stories_see(stories, &event, &step);
    stories_see_living(stories, report->objects);
    return report_stop ? -EINTR : got;
}

static int write_stories(struct report *report, struct stories *stories)
{
    struct recording_event event;
    struct object_step step;
    struct visit_state visit_state = {report, calloc(stories->count + 1, sizeof *visit_state.chapters),
                                      &event, &step};
    if (!visit_state.chapters)
        return -ENOMEM;
    int got = stories_begin(stories);
    uint64_t last = 0;
    for (size_t i = 0; i < stories->count; i++) {
        struct chapter *chapter = &visit_state.chapters[i];
        const struct object *object = &stories->objects[i];
        chapter->begun = recording_time(report->recording, object->begun);
        chapter->ended = recording_time(report->recording, object->last);
        last = object->last > last ? object->last : last;
        event_printer_init(&chapter->printer, report->recording);
        chapter->printer.origin = chapter->begun;
        chapter->printer.with_step = true;
        chapter->printer.with_counter = report->options->with_counter;
        chapter->printer.width = report->options->width > 20 ? report->options->width - 7 : 0;
    }
    while (!got && !report_stop && (got = report_next(report, &event, &step)) == 1)
        got = event.stamp > last ? 0 : stories_visit(stories, &event, &step, visit_story, &visit_state);
    for (size_t i = 0; i < stories->count; i++) {
        if (got >= 0)
            print_chapter(report, &stories->objects[i], &visit_state.chapters[i], i);
        text_free(&visit_state.chapters[i].lines);
    }
    free(visit_state.chapters);
    return got;
}

int report_slowest(struct report *report)
{
    struct stories stories = {0};
    int16_t type = -1;
    if (report->options->type && recordings_type(report->recording, report->options->type, &type))
        return 1;
    int got = stories_make(&stories, (size_t)report->options->slowest, type);
    if (!got)
        got = collect(report, &stories);
    report->shown = stories.count;
    if (!got && !stories.count && recording_counts(report->recording).events)
        fputs("NOTE: no object both begins and goes on in this recording\n", stderr);
    if (!got)
        got = report_again(report);
    if (!got)
        got = write_stories(report, &stories);
    report_progress_end(report);
    stories_free(&stories);
    if (got < 0 && got != -EINTR)
        command_print(stderr, "ERROR: cannot read %s: %s\n", recording_path(report->recording),
                      got == -ESTALE ? "somebody writes over it" : strerror(-got));
    return got < 0;
}
