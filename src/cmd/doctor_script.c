/* SPDX-License-Identifier: BSD-3-Clause */
/* What `spoor doctor` looks at in a script: it is compiled, for this kernel if the caller has the rights to ask it, and
 * attached to nothing. */
#include <errno.h>
#include <string.h>

#include "base/kernel_error.h"
#include "cmd/command.h"
#include "cmd/doctor.h"
#include "probe/kind.h"

struct script_thing {
    struct session *session;
    const struct diagnostics *said;
    bool *is_told; /* of each diagnostic: it belongs to a probe that was reported */
    bool has_points;
};

static void repeat_one(struct doctor *doctor, const struct diagnostic *item)
{
    const struct source *source = item->span.source;
    const enum doctor_mark mark = item->severity == DIAGNOSTIC_ERROR ? DOCTOR_PROBLEM : DOCTOR_WARNING;
    if (source) {
        const struct position at = source_position(source, item->span.begin);
        doctor_find(doctor, mark, "line %u, column %u: %s", at.line, at.column, item->message);
    } else {
        doctor_find(doctor, mark, "%s", item->message);
    }
    if (item->hint)
        doctor_advise(doctor, "%s", item->hint);
}

static bool is_inside(const struct span *inner, const struct span *outer)
{
    return inner->source && inner->source == outer->source && inner->begin >= outer->begin &&
           inner->end <= outer->end;
}

/* ---- its probes ---- */

struct point_look {
    struct doctor *doctor;
    struct script_thing *script;
};

/* Reports what was said about an attach point. False: nothing was. */
static bool repeat_about(struct doctor *doctor, struct script_thing *script, const struct attach_point *point)
{
    bool is_any = false;
    for (size_t i = 0; i < script->said->count; i++) {
        const struct diagnostic *item = &script->said->items[i];
        if (script->is_told[i] || !is_inside(&item->span, &point->span))
            continue;
        doctor_find(doctor, item->severity == DIAGNOSTIC_ERROR ? DOCTOR_PROBLEM : DOCTOR_WARNING, "%s: %s",
                    point->text, item->message);
        if (item->hint)
            doctor_advise(doctor, "%s", item->hint);
        script->is_told[i] = is_any = true;
    }
    return is_any;
}

/* Reports that the kernel lacks what a kind of probes needs. False: it has all of it, as far as is known. */
static bool find_lack(struct doctor *doctor, const struct session_point *point)
{
    struct text why = {0};
    bool is_missing = false;
    for (size_t i = 0; doctor->kernel && point->kind->needs && point->kind->needs[i] && !is_missing; i++)
        is_missing = kernel_lacks(doctor->kernel, point->kind->needs[i], &why);
    if (is_missing)
        doctor_find(doctor, DOCTOR_PROBLEM, "%s: %s", point->point->text, text_string(&why));
    text_free(&why);
    return is_missing;
}

static void look_at_point(void *state, const struct session_point *point)
{
    struct point_look *look = state;
    struct doctor *doctor = look->doctor;
    look->script->has_points = true;
    if (repeat_about(doctor, look->script, point->point) || (point->kind && find_lack(doctor, point)))
        return;
    if (point->sites)
        doctor_find(doctor, DOCTOR_OK, "%s: %zu place%s", point->point->text, point->sites,
                    point->sites == 1 ? "" : "s");
    else if (!look->script->said->errors)
        doctor_find(doctor, DOCTOR_WARNING, "%s: nothing matches it", point->point->text);
}

static void check_probes(struct doctor *doctor, void *thing)
{
    struct point_look look = {doctor, thing};
    session_each_point(look.script->session, look_at_point, &look);
}

/* ---- the rest ---- */

static void check_text(struct doctor *doctor, void *thing)
{
    const struct script_thing *script = thing;
    const size_t before = doctor->count;
    for (size_t i = 0; i < script->said->count; i++)
        if (!script->is_told[i])
            repeat_one(doctor, &script->said->items[i]);
    if (script->said->errors || doctor->count != before)
        return;
    doctor_find(doctor, DOCTOR_OK, "it compiles%s",
                doctor->kernel ? " for this kernel"
                               : "; whether this kernel takes it is not known without rights");
}

static const struct doctor_check script_checks[] = {
    {"probe", check_probes}, {"script", check_text}, {NULL, NULL}};

static void cannot_read(struct doctor *doctor, void *thing)
{
    const int *error = thing;
    doctor_find(doctor, DOCTOR_PROBLEM, "it cannot be read: %s", strerror(*error));
}

static void cannot_compile(struct doctor *doctor, void *thing)
{
    const int *error = thing;
    doctor_find(doctor, DOCTOR_PROBLEM, "it cannot be compiled: %s", kernel_error(*error));
}

static void examine_text(struct doctor *doctor, const char *name, const struct text *text)
{
    static const struct doctor_check failed[] = {{"script", cannot_compile}, {NULL, NULL}};
    struct session_options *options = &doctor->options->session;
    struct source source = {name, text_string(text), text->length};
    struct script_thing script = {0};
    options->check_only = !doctor->kernel;
    int error = command_compile(doctor->options, &source, &script.session);
    if (!script.session) {
        doctor_examine(doctor, name, failed, &error);
        return;
    }
    script.said = session_diagnostics(script.session);
    script.is_told = arena_array(&doctor->arena, script.said->count + 1, sizeof *script.is_told);
    doctor_examine(doctor, name, script_checks, &script);
    if (error && !script.said->errors)
        doctor_examine(doctor, name, failed, &error);
    session_close(script.session);
}

void doctor_script(struct doctor *doctor, const struct script_option *script)
{
    static const struct doctor_check unreadable[] = {{"script", cannot_read}, {NULL, NULL}};
    const char *name = script->file ? script->file : "-e";
    struct text text = {0};
    int error = 0;
    if (script->program)
        text_add(&text, script->program);
    else
        error = command_read_text(script->file, &text);
    if (error)
        doctor_examine(doctor, name, unreadable, &error);
    else if (!command_replace_markers(&text, &doctor->options->session))
        examine_text(doctor, name, &text);
    text_free(&text);
}
