/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor report --names`: gives values of arguments the names that an enum of the program has for them. No
 * recording of SPDK's format says which enum an argument has, and the argument's name does not prove it, so the
 * user says it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report.h"
#include "sym/dwarf/dwarf.h"
#include "sym/process/proc.h"
#include "type/type.h"

struct names {
    struct recording *recording;
    const char *program; /* path */
    struct dwarf_file *dwarf;
    struct text *why;
};

static int by_value(const void *one, const void *other)
{
    const struct recording_enumerator *a = one, *b = other;
    return a->value < b->value ? -1 : a->value > b->value;
}

/* Finds the enum of a name, or for which a typedef of that name stands. */
static const struct type *find_enum(struct names *names, const char *name)
{
    struct text tag = {0};
    const struct type *type = NULL;
    text_printf(&tag, "enum %s", name);
    if (!tag.failed && strncmp(name, "enum ", 5))
        type = dwarf_file_type(names->dwarf, text_string(&tag), 0);
    text_free(&tag);
    if (!type)
        type = dwarf_file_type(names->dwarf, name, 0);
    if (type)
        type_complete(type);
    return type && type->kind == TYPE_ENUM && type->count ? type : NULL;
}

static int name_values(struct names *names, const char *tracepoint, const char *argument, const char *name)
{
    const struct type *type = find_enum(names, name);
    unsigned named = 0;
    if (!type) {
        text_printf(names->why, "%s declares no enum %s, as far as its debug information says",
                    names->program, name);
        return -ENOENT;
    }
    struct recording_enumerator *values = calloc(type->count, sizeof *values);
    if (!values)
        return -ENOMEM;
    for (uint32_t i = 0; i < type->count; i++)
        values[i] = (struct recording_enumerator){type->enumerators[i].value, type->enumerators[i].name};
    qsort(values, type->count, sizeof *values, by_value);
    const int error =
        recording_name_values(names->recording, tracepoint, argument, values, type->count, &named);
    free(values);
    if (!error && !named)
        text_printf(
            names->why,
            "%s has no tracepoint %s with a number %s: `spoor ctl show` lists tracepoints and arguments",
            recording_path(names->recording), tracepoint ? tracepoint : "at all", argument);
    return error ? error : named ? 0 : -ENOENT;
}

/* Reads [TRACEPOINT:]ARGUMENT=ENUM, separated by commas. Returns 0, or -errno with the reason. */
static int name_all(struct names *names, char *list)
{
    int error = 0;
    for (char *rest, *item = strtok_r(list, ",", &rest); item && !error; item = strtok_r(NULL, ",", &rest)) {
        char *colon = strchr(item, ':'), *equals = strchr(item, '=');
        char *argument = colon && colon < equals ? colon + 1 : item;
        if (!equals || equals == argument || !equals[1] || colon == item) {
            text_printf(names->why, "--names takes ARGUMENT=ENUM or TRACEPOINT:ARGUMENT=ENUM, not %s", item);
            return -EINVAL;
        }
        *equals = 0;
        if (argument != item)
            *colon = 0;
        error = name_values(names, argument != item ? item : NULL, argument, equals + 1);
    }
    return error;
}

static int open_program(struct names *names, const struct dwarf_options *options)
{
    const int error = dwarf_file_open(names->program, options, &names->dwarf);
    if (error == -ENOENT)
        text_printf(names->why, "%s has no debug information, in which an enum could be found",
                    names->program);
    else if (error)
        text_printf(names->why, "cannot read the debug information of %s: %s", names->program,
                    strerror(-error));
    return error;
}

/* Does the work in an arena, which jumps here if memory runs out. */
static int in_arena(struct names *names, struct arena *arena, char *list)
{
    const struct dwarf_options options = {.arena = arena};
    jmp_buf nowhere;
    if (arena_guard(arena, nowhere))
        return -ENOMEM;
    const int error = open_program(names, &options);
    return error ? error : name_all(names, list);
}

int report_names(struct report *report, pid_t pid, struct text *why)
{
    struct text program = {0}, list = {0};
    struct arena arena = {0};
    struct names names = {.recording = report->recording, .program = report->options->program, .why = why};
    int error = 0;
    if (!report->options->names)
        return 0;
    if (!names.program && pid && !(error = proc_program(pid, &program)))
        names.program = text_string(&program);
    text_add(&list, report->options->names);
    if (!names.program) {
        text_add(why, "--names needs the program that has the enum: -p PID while it runs, or --program FILE");
        error = error ? error : -EINVAL;
    } else {
        error = list.failed ? -ENOMEM : in_arena(&names, &arena, list.bytes);
    }
    dwarf_file_close(names.dwarf);
    arena_free(&arena);
    text_free(&program);
    text_free(&list);
    return error;
}
