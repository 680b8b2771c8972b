/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor convert`: a recording in the other format, as a new file. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/recordings.h"
#include "export/convert.h"

static const char help[] =
    "Usage: spoor convert --to spdk|spoor [options] IN OUT\n"
    "Writes a recording anew in another format: what spoor's programs recorded for SPDK's tools, what SPDK's "
    "recorded "
    "for spoor's.\n\n"
    "  --to spdk          SPDK's trace file, as spdk_trace reads it: of a recording of spoor's, of what "
    "`spoor "
    "record` and\n"
    "                     `spoor ctl dump` made of a program of SPDK's, or of the memory of such a program\n"
    "  --to spoor         spoor's recording, of an SPDK trace file\n"
    "  -q                 do not say what the format has no place for\n"
    "  -h                 this\n\n"
    "OUT must not exist.\n";

struct arguments {
    const char *format;
    convert_function *convert;
    bool quiet;
    const char *from, *to;
};

static volatile int stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static int report_error(const char *what, const char *value)
{
    return command_report_error("convert", what, value);
}

static int parse(struct arguments *arguments, int argc, char **argv)
{
    static const struct option names[] = {
        {"to", 1, NULL, 't'},
        {"help", 0, NULL, 'h'},
        {0},
    };
    int letter;
    while ((letter = command_option(argc, argv, "qh", names)) != -1)
        switch (letter) {
        case 't': arguments->format = optarg; break;
        case 'q': arguments->quiet = true; break;
        case 'h': fputs(help, stdout); exit(0);
        default: fputs("HINT: spoor convert -h lists the options\n", stderr); return 1;
        }
    if (!arguments->format)
        return report_error("to which format? --to spdk or --to spoor", NULL);
    arguments->convert = !strcmp(arguments->format, "spdk")    ? convert_to_spdk
                         : !strcmp(arguments->format, "spoor") ? convert_to_spoor
                                                               : NULL;
    if (!arguments->convert)
        return report_error("--to takes spdk or spoor, not", arguments->format);
    if (argc - optind != 2)
        return argc - optind < 2 ? report_error("two files are needed, IN and OUT", NULL)
                                 : report_error("one recording at a time; what is", argv[optind + 2]);
    arguments->from = argv[optind];
    arguments->to = argv[optind + 1];
    if (!strcmp(arguments->to, "-"))
        return report_error("OUT must be a file, for its parts are not written in their order; not", "-");
    return 0;
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

int command_convert(int argc, char **argv)
{
    struct recording_options options = {.only_cpu = -1, .whole = true};
    struct arguments arguments = {0};
    struct convert_result result = {0};
    struct recording *recording = NULL;
    struct output output;
    struct text why = {0};
    if (parse(&arguments, argc, argv))
        return 1;
    options.relate = arguments.convert == convert_to_spoor;
    recordings_only_read(true);
    int error = recording_open(arguments.from, &options, &recording, &why);
    if (!error && arguments.convert == convert_to_spoor && !recording_is_spdk(recording)) {
        text_printf(&why, "%s is a recording of spoor's already", arguments.from);
        error = -EINVAL;
    }
    const struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
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
