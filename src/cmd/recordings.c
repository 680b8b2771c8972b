/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/recordings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/privilege.h"
#include "cmd/command.h"

bool recordings_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *number = strtoull(text, &end, text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10);
    return !errno && !*end && *number <= most;
}

bool recordings_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    char digits[24];
    const size_t length = strlen(text);
    const char *unit = length ? strchr(units, text[length - 1]) : NULL;
    if (!length || length >= sizeof digits)
        return false;
    memcpy(digits, text, length + 1);
    if (unit && *unit)
        digits[length - 1] = 0;
    const unsigned shift = unit && *unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (!recordings_number(digits, UINT64_MAX >> shift, bytes) || !*bytes)
        return false;
    *bytes <<= shift;
    return true;
}

char *recordings_id(const char *command, const char *text)
{
    uint64_t number;
    char *id = NULL;
    if (text[strspn(text, "0123456789")] || !recordings_number(text, INT32_MAX, &number))
        command_report_error(command, "-i takes a shared memory id, a number from 0 on, not", text);
    else if (asprintf(&id, "%" PRIu64, number) < 0)
        id = NULL;
    return id;
}

int recordings_check(const char *command, const char *file, const struct find_choice *choice,
                     bool may_confirm)
{
    const char *const option = choice->name                  ? "-s"
                               : choice->id                  ? "-i"
                               : choice->pid && !may_confirm ? "-p"
                                                             : NULL;
    if (file && option)
        return command_report_error(command, "the file is named already, which does not go with", option);
    if (choice->id && choice->pid)
        return command_report_error(
            command,
            "-i and -p each say which recording of a program: give one of them, as with "
            "SPDK's reader",
            NULL);
    return 0;
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

void recordings_only_read(bool makes_files)
{
    const int error = privilege_keep_reading(makes_files);
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
