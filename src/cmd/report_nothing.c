/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor report`: filters that name nothing in the recording, and why there is nothing to be shown. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/diagnostic.h"
#include "base/glob.h"
#include "base/number.h"
#include "cmd/command.h"
#include "cmd/report.h"
#include "reader/control.h"

/* How filters are called on the command line, and what they name. */
static const struct {
    const char *option, *what;
} kinds[FILTER_KINDS] = {
    [FILTER_THREAD] = {"--thread", "thread"},
    [FILTER_GROUP] = {"--group", "group"},
    [FILTER_TRACEPOINT] = {"--tracepoint", "tracepoint"},
    [FILTER_OWNER] = {"--owner", "owner"},
    [FILTER_OBJECT] = {"--object", "object"},
};

static int report_unknown(const struct report *report, enum filter_kind kind, const char *value,
                          const struct nearest *nearest)
{
    command_print(stderr, "ERROR: %s: %s has no %s '%s'\n", kinds[kind].option,
                  recording_path(report->recording), kinds[kind].what, value);
    if (nearest->best)
        command_print(stderr, "HINT: did you mean '%s'?\n", nearest->best);
    else
        command_print(stderr, "HINT: `spoor ctl -f %s show` lists what it has\n",
                      recording_path(report->recording));
    return 1;
}

static int check_group(const struct report *report, const char *value)
{
    const struct recording_model *model = recording_model(report->recording);
    struct nearest nearest = {.name = value};
    for (size_t i = 0; i < model->group_count; i++) {
        if (glob_match(value, model->groups[i].name))
            return 0;
        nearest_offer(&nearest, model->groups[i].name);
    }
    return report_unknown(report, FILTER_GROUP, value, &nearest);
}

static int check_tracepoint(const struct report *report, const char *value)
{
    const struct recording_model *model = recording_model(report->recording);
    const char *colon = strrchr(value, ':');
    struct nearest nearest = {.name = colon ? colon + 1 : value};
    for (size_t i = 0; i < model->tracepoint_room; i++) {
        if (!model->tracepoints[i])
            continue;
        if (filter_names_tracepoint(value, model->tracepoints[i]))
            return 0;
        nearest_offer(&nearest, model->tracepoints[i]->name);
    }
    return report_unknown(report, FILTER_TRACEPOINT, value, &nearest);
}

/* Checks that an object's name begins with the letter of a type. */
static int check_object(const struct report *report, const char *value)
{
    const struct recording_model *model = recording_model(report->recording);
    if (!strncmp(value, "0x", 2) || !strncmp(value, "0X", 2))
        return 0;
    for (size_t i = 0; i < model->object_count; i++)
        if (model->objects[i].letter == value[0])
            return 0;
    return report_unknown(report, FILTER_OBJECT, value, &(struct nearest){0});
}

/* Threads are known when all has been read. */
static int check_thread(const struct report *report, const char *value)
{
    struct recording_thread thread;
    struct nearest nearest = {.name = value};
    char best[sizeof thread.name] = "";
    for (size_t i = 0; recording_thread(report->recording, i, &thread); i++) {
        const char *before = nearest.best;
        if (glob_match(value, thread.name) || filter_names_number(value, thread.id))
            return 0;
        nearest_offer(&nearest, thread.name);
        if (nearest.best != before)
            nearest.best = strcpy(best, thread.name);
    }
    return report_unknown(report, FILTER_THREAD, value, &nearest);
}

/* Owners come and go: a description is known when all has been read, and a number may be of one without any. */
static int check_owner(const struct report *report, const char *value)
{
    struct recording_owner owner;
    struct nearest nearest = {.name = value};
    uint64_t number;
    if (number_parse(value, &number) || (*value && number_parse(value + 1, &number)))
        return 0;
    for (size_t i = 0; recording_owner_at(report->recording, i, &owner); i++) {
        if (owner.description_length && glob_match(value, owner.description))
            return 0;
        if (owner.description_length)
            nearest_offer(&nearest, owner.description);
    }
    return report_unknown(report, FILTER_OWNER, value, &nearest);
}

static int check_each(const struct report *report, enum filter_kind kind,
                      int (*check)(const struct report *report, const char *value))
{
    const struct filter *filter = &report->options->filter;
    int status = 0;
    for (size_t i = 0; i < filter->kinds[kind].count; i++)
        status |= check(report, filter->kinds[kind].values[i]);
    return status;
}

int report_check_filters(const struct report *report)
{
    if (report->options->follow) /* tracepoints come with the libraries that a program loads */
        return 0;
    return check_each(report, FILTER_GROUP, check_group) |
           check_each(report, FILTER_TRACEPOINT, check_tracepoint) |
           check_each(report, FILTER_OBJECT, check_object);
}

/* Says which tracepoints a recording without events has, and that they are off. */
static void explain_empty(const struct report *report)
{
    const struct recording_model *model = recording_model(report->recording);
    const char *path = recording_path(report->recording);
    struct control *control = NULL;
    struct text why = {0};
    size_t all = 0, on = 0;
    bool is_filtered;
    command_print(stderr, "NOTE: there are no events in %s", path);
    if (!control_open(path, &control, &why))
        for (size_t i = 0; i < model->tracepoint_room; i++)
            if (model->tracepoints[i]) {
                all++;
                on += control_is_enabled(control, model->tracepoints[i], &is_filtered);
            }
    text_free(&why);
    control_close(control);
    if (all && !on)
        command_print(
            stderr,
            ": none of its tracepoints is on\nHINT: `spoor ctl -f %s enable all` turns them on while the "
            "program runs, SPOOR_TRACE=all in its environment from its beginning",
            path);
    command_print(stderr, "\n");
}

int report_explain_nothing(const struct report *report)
{
    const struct filter *filter = &report->options->filter;
    const struct recording_counts counts = recording_counts(report->recording);
    if (report->shown || report->options->follow || report_stop || report->is_closed || report->has_failed)
        return 0;
    if (!counts.events) {
        explain_empty(report);
        return 0;
    }
    const int status =
        check_each(report, FILTER_THREAD, check_thread) | check_each(report, FILTER_OWNER, check_owner);
    if (status)
        return status;
    command_print(stderr, "NOTE: none of %" PRIu64 " events is shown:", counts.events);
    for (enum filter_kind kind = 0; kind < FILTER_KINDS; kind++)
        for (size_t i = 0; i < filter->kinds[kind].count; i++)
            command_print(stderr, " %s %s", kinds[kind].option, filter->kinds[kind].values[i]);
    command_print(stderr, "%s%s\n", filter->from ? " --from" : "", filter->to ? " --to" : "");
    return 0;
}
