/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor convert`: writes a recording in the other format, as a new file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/recordings.h"
#include "cmd/stop.h"
#include "export/convert.h"

struct arguments {
    unsigned format; /* index of the word of --to */
    convert_function *convert;
    bool quiet;
    const char *from, *to;
};

static const struct option_row rows[] = {
    {0, "to", "spdk|spoor",
     "spdk: SPDK's trace file, as spdk_trace reads it, of a recording of spoor's, of what `spoor record` and "
     "`spoor ctl dump` made of a program of SPDK's, or of the memory of such a program; spoor: spoor's "
     "recording, of an "
     "SPDK trace file",
     OPTION_STORES(CHOICE, struct arguments, format)},
    {'q', NULL, NULL, "do not say what the format has no place for",
     OPTION_STORES(FLAG, struct arguments, quiet)},
    OPTION_ROW_HELP,
};

static volatile int stopped;

/* Reads the arguments. False: the command is over, with *status. */
static bool parse(struct arguments *arguments, int argc, char **argv, int *status)
{
    static convert_function *const functions[] = {convert_to_spdk, convert_to_spoor};
    struct command_arguments given;
    if (!command_line_parse(&convert_line, argc, argv, arguments, &given, status))
        return false;
    *status = 1;
    if (!command_line_has(&given, "--to"))
        command_line_fail(&convert_line, "to which format? --to spdk or --to spoor");
    else if (given.count < 2)
        command_line_fail(&convert_line, "two files are needed, IN and OUT");
    else if (given.count > 2)
        command_line_fail(&convert_line, "one recording at a time; what is '%s'", given.words[2]);
    else if (!strcmp(given.words[1], "-"))
        command_line_fail(&convert_line,
                          "OUT must be a file, for its parts are not written in their order; not '-'");
    else {
        arguments->convert = functions[arguments->format];
        arguments->from = given.words[0];
        arguments->to = given.words[1];
        *status = 0;
    }
    return !*status;
}

static void print_result(const struct convert_result *result)
{
    for (int i = 0; i < CONVERT_NOTES; i++) {
        bool is_alone;
        const char *text = convert_note_text((enum convert_note)i, &is_alone);
        if (!result->notes[i])
            continue;
        if (is_alone)
            command_print(stderr, "NOTE: %s\n", text);
        else
            command_print(stderr, "NOTE: %" PRIu64 " %s\n", result->notes[i], text);
    }
}

static int command_convert(int argc, char **argv)
{
    struct recording_options options = {.only_cpu = -1, .whole = true};
    struct arguments arguments = {0};
    struct convert_result result = {0};
    struct recording *recording = NULL;
    struct output output;
    struct text why = {0};
    int status;
    if (!parse(&arguments, argc, argv, &status))
        return status;
    options.relate = arguments.convert == convert_to_spoor;
    recordings_keep_privileges(PRIVILEGE_OPEN_FILES);
    int error = recording_open(arguments.from, &options, &recording, &why);
    if (!error && arguments.convert == convert_to_spoor && !recording_is_spdk(recording)) {
        text_printf(&why, "%s is a recording of spoor's already", arguments.from);
        error = -EINVAL;
    }
    stop_on_signals(&stopped);
    if (error) {
        recordings_fail(&why, error);
    } else if (output_open(&output, arguments.to, false)) {
        error = -EEXIST;
    } else {
        const struct convert_job job = {recording, recording_model(recording), output.file, &stopped, &result,
                                        &why};
        error = arguments.convert(&job);
        if (error && error != -EINTR)
            recordings_fail(&why, error);
        output_close(&output, !error);
        if (!error && !arguments.quiet)
            print_result(&result);
    }
    recording_close(recording);
    text_free(&why);
    return error != 0;
}

const struct command_line convert_line = {
    .name = "convert",
    .summary = "a recording in SPDK's format, or one of SPDK's in spoor's",
    .run = command_convert,
    .usage = "--to spdk|spoor [options] IN OUT",
    .about = "Writes a recording anew in another format: what spoor's programs recorded for SPDK's tools, "
             "what SPDK's\n"
             "recorded for spoor's. OUT must not exist.\n",
    COMMAND_ROWS(rows),
    .completes = COMPLETE_FILES,
};
