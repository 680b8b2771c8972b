/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor ctl`: which recordings there are, and steering those of running programs. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/recordings.h"
#include "reader/control.h"
#include "reader/filter.h"
#include "reader/find.h"

static const char help[] =
    "Usage: spoor ctl [-p PID | -s NAME [-i ID] | -f FILE] COMMAND\n"
    "Commands on all recordings:\n"
    "  list                          those in /dev/shm and $SPOOR_TRACE_DIR, of running and ended programs\n"
    "  clean [-n]                    removes those of ended programs; -n: only says which\n"
    "Commands on one recording (default: the newest):\n"
    "  show                          groups and tracepoints (+ on, f filtered, - off), threads, owners\n"
    "  enable WHAT, disable WHAT     WHAT: group, group:NAME, group:mask, all; separated by commas\n"
    "  filter [--owner LIST] [--object LIST]\n"
    "                                records only what these owners do to these objects; without any: "
    "everything\n"
    "  clear                         forgets what was recorded so far\n"
    "  dump [TIME] FILE              copies the newest TIME (5s, 200ms; default: everything) to a file\n";

struct arguments {
    struct find_choice choice;
    const char *file;
    const char *owners, *objects; /* of filter */
    bool only_reports;            /* of clean */
    int count;                    /* words after the command */
    char **words;
};

static int report_error(const char *what, const char *value)
{
    command_print(stderr, "ERROR: %s%s%s\nHINT: spoor ctl -h lists the commands\n", what, value ? " " : "",
                  value ? value : "");
    return 1;
}

static int report(int error, const struct text *why)
{
    return error ? recordings_fail(why, error) : 0;
}

/* ---- all recordings ---- */

enum state { STATE_LIVE, STATE_ENDED, STATE_UNKNOWN, STATE_BROKEN };
static const char *const state_names[] = {"running", "ended", "unknown", "damaged"};

/* Whose program it is, and whether that runs. SPDK's files by shared memory id do not say. */
static enum state find_state(const struct find_entry *entry, unsigned *rings)
{
    const struct recording_options options = {.only_cpu = -1, .model_only = true};
    struct recording *recording;
    struct text why = {0};
    enum state state = STATE_BROKEN;
    *rings = 0;
    if (!recording_open(entry->path, &options, &recording, &why)) {
        state = entry->is_spdk && !entry->pid  ? STATE_UNKNOWN
                : recording_is_live(recording) ? STATE_LIVE
                                               : STATE_ENDED;
        *rings = recording_counts(recording).sources;
        recording_close(recording);
    }
    text_free(&why);
    return state;
}

static void print_owner(uid_t owner)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    if (!getpwuid_r(owner, &entry, buffer, sizeof buffer, &found) && found)
        command_print(stdout, " %-10s", found->pw_name);
    else
        command_print(stdout, " %-10ld", (long)owner);
}

static int list_all(const struct arguments *arguments)
{
    recordings_only_read(false);
    struct find_list list;
    (void)arguments;
    const int error = find_recordings(&list);
    if (list.count)
        command_print(stdout, "%-16s %8s %-8s %-10s %9s %-6s %7s %s\n", "NAME", "PID", "STATE", "USER",
                      "SIZE", "FORMAT", "THREADS", "FILE");
    for (size_t i = 0; i < list.count; i++) {
        const struct find_entry *entry = &list.items[i];
        unsigned rings;
        const enum state state = find_state(entry, &rings);
        char pid[16] = "-";
        if (entry->pid)
            snprintf(pid, sizeof pid, "%" PRIu32, entry->pid);
        command_print(stdout, "%-16s %8s %-8s", entry->name, pid, state_names[state]);
        print_owner(entry->owner);
        command_print(stdout, " %6.1f MB %-6s %7u %s\n", (double)entry->allocated / 1e6,
                      entry->is_spdk ? "SPDK" : "spoor", rings, entry->path);
    }
    if (!list.count && !error)
        command_print(stdout, "no recordings\n");
    find_free(&list);
    return report(error, &(struct text){0});
}

static int command_clean(const struct arguments *arguments)
{
    struct find_list list;
    int error = find_recordings(&list);
    uint64_t bytes = 0;
    unsigned removed = 0;
    for (size_t i = 0; i < list.count; i++) {
        unsigned rings;
        if (find_state(&list.items[i], &rings) != STATE_ENDED)
            continue;
        if (!arguments->only_reports && unlink(list.items[i].path)) {
            command_print(stderr, "ERROR: cannot remove %s: %s\n", list.items[i].path, strerror(errno));
            error = error ? error : -errno;
            continue;
        }
        command_print(stdout, "%s %s\n", arguments->only_reports ? "would remove" : "removed",
                      list.items[i].path);
        bytes += list.items[i].allocated;
        removed++;
    }
    command_print(stdout, "%u recording%s of ended programs, %.1f MB\n", removed, removed == 1 ? "" : "s",
                  (double)bytes / 1e6);
    find_free(&list);
    return error != 0;
}

/* ---- one recording ---- */

static void show_tracepoints(struct control *control)
{
    const struct recording_model *model = recording_model(control_recording(control));
    for (size_t i = 0; i < model->group_count; i++) {
        command_print(stdout, "%s%s%s\n", model->groups[i].name, model->groups[i].text[0] ? ": " : "",
                      model->groups[i].text);
        for (size_t j = 0; j < model->tracepoint_room; j++) {
            const struct recording_tracepoint *tracepoint = model->tracepoints[j];
            if (!tracepoint || tracepoint->group->id != model->groups[i].id)
                continue;
            bool is_filtered;
            const bool is_on = control_is_enabled(control, tracepoint, &is_filtered);
            command_print(stdout, "  %c %-32s", is_on ? is_filtered ? 'f' : '+' : '-', tracepoint->name);
            if (tracepoint->index < 64)
                command_print(stdout, " %#-10" PRIx64, (uint64_t)1 << tracepoint->index);
            for (unsigned k = 0; k < tracepoint->argument_count; k++)
                command_print(stdout, "%s%s%s%s", k ? ", " : " ", tracepoint->arguments[k].type,
                              tracepoint->arguments[k].type[0] ? " " : "", tracepoint->arguments[k].name);
            command_print(stdout, "\n");
        }
    }
}

static void show_threads(const struct recording *recording)
{
    struct recording_thread thread;
    for (size_t i = 0; recording_thread(recording, i, &thread); i++)
        command_print(stdout, "%sthread %" PRIu32 " %s\n", i ? "" : "\n", thread.id, thread.name);
}

static int command_show(struct control *control, const struct arguments *arguments, struct text *why)
{
    const struct recording_options all = {.only_cpu = -1, .whole = true};
    const struct recording *recording = control_recording(control);
    struct recording_owner owner;
    struct recording *events;
    (void)arguments;
    const int error = recording_again(recording, &all, &events, why); /* names of threads stand with these */
    if (error)
        return error;
    command_print(stdout, "%s%s%s\n", recording_path(recording),
                  recording_model(recording)->command[0] ? ": " : "", recording_model(recording)->command);
    show_tracepoints(control);
    show_threads(events);
    recording_close(events);
    for (size_t i = 0, shown = 0; recording_owner_at(recording, i, &owner); i++)
        if (owner.until == UINT64_MAX)
            command_print(stdout, "%sowner %c%02" PRIu32 " %s\n", shown++ ? "" : "\n",
                          owner.letter ? owner.letter : '?', owner.id, owner.description);
    return 0;
}

static int command_enable(struct control *control, const struct arguments *arguments, struct text *why)
{
    return control_enable(control, arguments->words[1], true, why);
}

static int command_disable(struct control *control, const struct arguments *arguments, struct text *why)
{
    return control_enable(control, arguments->words[1], false, why);
}

static int command_filter(struct control *control, const struct arguments *arguments, struct text *why)
{
    return control_filter(control, arguments->owners, arguments->objects, why);
}

static int command_clear(struct control *control, const struct arguments *arguments, struct text *why)
{
    (void)arguments;
    return control_clear(control, why);
}

static int command_dump(struct control *control, const struct arguments *arguments, struct text *why)
{
    uint64_t nanoseconds = 0, seconds;
    if (arguments->count == 3) { /* a bare number is seconds here */
        if (recordings_number(arguments->words[1], UINT64_MAX / 1000000000, &seconds)) {
            nanoseconds = seconds * 1000000000;
        } else if (!filter_parse_time(arguments->words[1], &nanoseconds)) {
            text_printf(why, "a time is a number of seconds, or has a unit (200ms); not '%s'",
                        arguments->words[1]);
            return -EINVAL;
        }
    }
    return control_dump(control, nanoseconds, arguments->words[arguments->count - 1], why);
}

static const struct command {
    const char *name;
    int least, most; /* words, its own included */
    int (*on_all)(const struct arguments *arguments);
    int (*on_one)(struct control *control, const struct arguments *arguments, struct text *why);
    bool steers; /* it writes into the program's memory; the others only read */
} commands[] = {
    {"list", 1, 1, list_all, NULL, false},          {"clean", 1, 1, command_clean, NULL, false},
    {"show", 1, 1, NULL, command_show, false},      {"enable", 2, 2, NULL, command_enable, true},
    {"disable", 2, 2, NULL, command_disable, true}, {"filter", 1, 1, NULL, command_filter, true},
    {"clear", 1, 1, NULL, command_clear, true},     {"dump", 2, 3, NULL, command_dump, false},
};

static int run_on_one(const struct command *command, const struct arguments *arguments)
{
    struct text why = {0};
    struct control *control = NULL;
    int error;
    if (!command->steers)
        recordings_only_read(command->on_one == command_dump);
    char *path = recordings_path(arguments->file, &arguments->choice, &why, &error);
    if (path)
        error = command->steers ? control_open_steering(path, (pid_t)arguments->choice.pid, &control, &why)
                                : control_open(path, &control, &why);
    if (!error)
        error = command->on_one(control, arguments, &why);
    const int status = report(error, &why);
    control_close(control);
    free(path);
    text_free(&why);
    return status;
}

int command_ctl(int argc, char **argv)
{
    static char *id; /* -i, which the choice has too */
    static const struct option names[] = {
        {"owner", 1, NULL, 'O'},
        {"object", 1, NULL, 'J'},
        {"help", 0, NULL, 'h'},
        {0},
    };
    struct arguments arguments = {0};
    uint64_t number;
    int letter;
    while ((letter = command_option(argc, argv, "p:s:i:f:nh", names)) != -1)
        switch (letter) {
        case 'p':
            if (!recordings_number(optarg, INT32_MAX, &number) || !number)
                return report_error("-p takes the id of a process, not", optarg);
            arguments.choice.pid = (uint32_t)number;
            break;
        case 's': arguments.choice.name = optarg; break;
        case 'i':
            free(id);
            if (!(arguments.choice.id = id = recordings_id("ctl", optarg)))
                return 1;
            break;
        case 'f': arguments.file = optarg; break;
        case 'O': arguments.owners = optarg; break;
        case 'J': arguments.objects = optarg; break;
        case 'n': arguments.only_reports = true; break;
        case 'h': fputs(help, stdout); return 0;
        default: fputs("HINT: spoor ctl -h lists the commands\n", stderr); return 1;
        }
    if (recordings_check("ctl", arguments.file, &arguments.choice, true))
        return 1;
    static char word[] = "list";
    static char *default_words[] = {word, NULL};
    arguments.count = argc - optind;
    arguments.words = argv + optind;
    if (!arguments.count) {
        arguments.count = 1;
        arguments.words = default_words;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const struct command *command = &commands[i];
        if (strcmp(command->name, arguments.words[0]))
            continue;
        if (arguments.count < command->least || arguments.count > command->most)
            return report_error(arguments.count < command->least ? "something is missing after"
                                                                 : "there is too much after",
                                command->name);
        if ((arguments.owners || arguments.objects) && command->on_one != command_filter)
            return report_error("--owner and --object go with filter, not with", command->name);
        return command->on_all ? command->on_all(&arguments) : run_on_one(command, &arguments);
    }
    return report_error("there is no command", arguments.words[0]);
}
