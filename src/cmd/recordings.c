/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/recordings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "base/number.h"

/* Checks a shared memory id, and removes zeros in front of it, which names of files do not have. */
int recordings_check_id(void *target, const struct option_value *value)
{
    const char **id = (const char **)((char *)target + value->row->offset);
    uint64_t number;
    if (!decimal_parse(value->text, &number) || number > INT32_MAX)
        return OPTION_WRONG;
    while (**id == '0' && (*id)[1])
        ++*id;
    return 0;
}

int recordings_check(const struct command_line *line, const char *file, const struct find_choice *choice,
                     bool may_confirm)
{
    const char *const option = choice->name                  ? "-s"
                               : choice->id                  ? "-i"
                               : choice->pid && !may_confirm ? "-p"
                                                             : NULL;
    return file && option
               ? command_line_fail(line, "the file is named already, which does not go with %s", option)
               : 0;
}

char *recordings_path(const char *file, const struct find_choice *choice, struct text *why, int *error)
{
    char *path = file ? strdup(file) : find_recording(choice, why);
    *error = path ? 0 : why->length ? -ENOENT : -ENOMEM;
    return path;
}

int recordings_fail(const struct text *why, int error)
{
    if (why->length)
        command_print(stderr, "ERROR: %s\n", text_string(why));
    else if (why->failed || error == -ENOMEM)
        fputs("ERROR: there is not enough memory\n", stderr);
    else
        command_print(stderr, "ERROR: the recording: %s\n", strerror(-error));
    return 1;
}

void recordings_keep_privileges(unsigned uses)
{
    const int error = privilege_keep(uses);
    if (error)
        command_print(stderr, "WARNING: privileges that are not needed cannot be given up: %s\n",
                      strerror(-error));
}

void recordings_report_relation(const struct recording *recording)
{
    struct text note = {0};
    recording_describe_relation(recording, &note);
    command_print(stderr, "NOTE: %s\n", text_string(&note));
    text_free(&note);
}

int recordings_type(const struct recording *recording, const char *name, int16_t *type)
{
    const struct recording_model *model = recording_model(recording);
    for (size_t i = 0; i < model->object_count; i++)
        if (!strcmp(model->objects[i].name, name) || (model->objects[i].letter == name[0] && !name[1])) {
            *type = (int16_t)i;
            return 0;
        }
    command_print(stderr, "ERROR: no type of objects is called '%s'; there are:", name);
    for (size_t i = 0; i < model->object_count; i++)
        command_print(stderr, " %c%s%s", model->objects[i].letter, model->objects[i].name[0] ? "=" : "",
                      model->objects[i].name);
    command_print(stderr, "\n");
    return 1;
}
