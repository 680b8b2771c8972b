/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/number.h"
#include "reader/control_format.h"
#include "reader/write_access.h"

int control_fail(struct text *why, const char *what, const char *path, int error)
{
    text_printf(why, "cannot %s %s: %s", what, path, strerror(-error));
    return error;
}

const struct recording *control_recording(const struct control *control)
{
    return control->recording;
}

int control_open(const char *path, struct control **result, struct text *why)
{
    const struct recording_options options = {.only_cpu = -1, .model_only = true};
    struct control *control = calloc(1, sizeof *control);
    *result = NULL;
    if (!control)
        return -ENOMEM;
    control->file = -1;
    const int error = recording_open(path, &options, &control->recording, why);
    if (error) {
        control_close(control);
        return error;
    }
    control->format = recording_is_spdk(control->recording) ? &control_format_spdk : &control_format_spoor;
    *result = control;
    return 0;
}

int control_open_steering(const char *path, pid_t pid, struct control **result, struct text *why)
{
    int error = control_open(path, result, why);
    if (error)
        return error;
    struct control *control = *result;
    control->file = write_access_open(control->recording, pid, why);
    error = control->file < 0 ? control->file : write_access_lock(control->file, path, why);
    if (error) {
        control_close(control);
        *result = NULL;
    }
    return error;
}

void control_close(struct control *control)
{
    if (!control)
        return;
    if (control->file >= 0)
        close(control->file);
    recording_close(control->recording);
    free(control);
}

int control_put(const struct control *control, const void *bytes, size_t length, uint64_t offset,
                struct text *why)
{
    const int error = write_access_put(control->file, bytes, length, offset);
    if (error == -ERANGE) {
        text_printf(why, "%s is damaged: it ends before the place to write to",
                    recording_path(control->recording));
        return error;
    }
    return error ? control_fail(why, "write", recording_path(control->recording), error) : 0;
}

/* ---- which tracepoints ---- */

struct selection {     /* an item of a list with commas */
    const char *group; /* pattern; NULL: all */
    const char *name;  /* pattern; NULL: all */
    bool has_mask;
    uint64_t mask;
};

static struct selection parse_selection(char *word)
{
    struct selection selection = {0};
    if (!strcmp(word, "all"))
        return selection;
    char *colon = strchr(word, ':');
    selection.group = word;
    if (!colon)
        return selection;
    *colon = 0;
    selection.name = colon + 1;
    selection.has_mask = number_parse(selection.name, &selection.mask);
    return selection;
}

/* Whether a pattern means a group. Groups of SPDK's format have numbers, too. */
static bool is_group(const struct control *control, const char *pattern, const struct recording_group *group)
{
    char number[16];
    if (glob_match(pattern, group->name))
        return true;
    snprintf(number, sizeof number, "%" PRIu32, group->id);
    return recording_is_spdk(control->recording) && !strcmp(pattern, number);
}

static bool is_selected(const struct control *control, const struct selection *selection,
                        const struct recording_tracepoint *tracepoint)
{
    if (selection->group && !is_group(control, selection->group, tracepoint->group))
        return false;
    if (selection->has_mask)
        return tracepoint->index < 64 && selection->mask >> tracepoint->index & 1;
    return !selection->name || glob_match(selection->name, tracepoint->name);
}

/* Marks the tracepoints that an item selects. False: there are none. */
static bool mark(const struct control *control, const struct selection *selection, uint8_t *marks)
{
    const struct recording_model *model = recording_model(control->recording);
    bool any = false;
    for (size_t id = 0; id < model->tracepoint_room && id < CONTROL_MARKS; id++) {
        const struct recording_tracepoint *tracepoint = model->tracepoints[id];
        if (!tracepoint || !is_selected(control, selection, tracepoint))
            continue;
        marks[id] = 1;
        any = true;
    }
    return any;
}

int control_enable(struct control *control, const char *what, bool on, struct text *why)
{
    char *words = strdup(what), *rest;
    uint8_t *marks = calloc(CONTROL_MARKS, 1);
    int error = words && marks ? 0 : -ENOMEM;
    bool any = false;
    for (char *word = error ? NULL : strtok_r(words, ", ", &rest); word && !error;
         word = strtok_r(NULL, ", ", &rest)) {
        const struct selection selection = parse_selection(word);
        any = true;
        if (!mark(control, &selection, marks)) {
            text_printf(why, "no tracepoint is called '%s%s%s' in %s; `spoor ctl show` lists them", word,
                        selection.name ? ":" : "", selection.name ? selection.name : "",
                        recording_path(control->recording));
            error = -ENOENT;
        }
    }
    if (!error && !any) {
        text_add(why, "which tracepoints? group, group:NAME, group:mask or all, separated by commas");
        error = -EINVAL;
    }
    if (!error)
        error = control->format->enable(control, marks, on, why);
    free(words);
    free(marks);
    return error;
}

bool control_is_enabled(struct control *control, const struct recording_tracepoint *tracepoint,
                        bool *is_filtered)
{
    return control->format->is_enabled(control, tracepoint, is_filtered);
}

int control_filter(struct control *control, const char *owners, const char *objects, struct text *why)
{
    return control->format->filter(control, owners, objects, why);
}

int control_clear(struct control *control, struct text *why)
{
    return control->format->clear(control, why);
}

int control_dump(struct control *control, uint64_t nanoseconds, const char *path, struct text *why)
{
    return control->format->dump(control, nanoseconds, path, why);
}
