/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor ctl`: lists recordings, and steers those of running programs. */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/recordings.h"
#include "base/number.h"
#include "reader/control.h"
#include "reader/find.h"

struct arguments {
    struct find_choice choice;
    const char *file;
    const char *owners, *objects; /* of `filter` */
    bool only_reports;            /* of `clean` */
    int count;                    /* words behind the one that says what to do */
    char **words;
};

static const struct option_row rows[] = {
    OPTION_ROW_HEADING("Which recording (default: your newest):"),
    RECORDING_ROWS(struct arguments),
    OPTION_ROW_HEADING("Of single commands:"),
    {'n', "dry-run", NULL, "clean: only says what would be removed",
     OPTION_STORES(FLAG, struct arguments, only_reports), .word = "clean"},
    {0, "owner", "LIST", "filter: only what these owners do", OPTION_STORES(TEXT, struct arguments, owners),
     .word = "filter"},
    {0, "object", "LIST", "filter: only what is done to these objects",
     OPTION_STORES(TEXT, struct arguments, objects), .word = "filter"},
    OPTION_ROW_HELP,
};

static const struct option_rule rules[] = {RECORDING_RULES};

static int report(int error, const struct text *why)
{
    return error ? recordings_fail(why, error) : 0;
}

/* ---- all recordings ---- */

enum state { STATE_LIVE, STATE_ENDED, STATE_UNKNOWN, STATE_BROKEN };
static const char *const state_names[] = {"running", "ended", "unknown", "damaged"};

/* Finds out whether the program of a recording runs. SPDK's files with a shared memory id do not say whose they
 * are. */
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
    recordings_keep_privileges(0);
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
    recordings_keep_privileges(arguments->only_reports ? 0 : PRIVILEGE_REMOVE_FILES);
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
    /* names of threads are stored with the events */
    const int error = recording_again(recording, &all, &events, why);
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
    uint64_t nanoseconds = 0;
    if (arguments->count == 3 && !time_parse(arguments->words[1], NSEC_PER_SEC, &nanoseconds)) {
        text_printf(why, "a time is a number of seconds, or has a unit (200ms); not '%s'",
                    arguments->words[1]);
        return -EINVAL;
    }
    return control_dump(control, nanoseconds, arguments->words[arguments->count - 1], why);
}

static const struct command {
    struct command_word word;
    int (*on_all)(const struct arguments *arguments);
    int (*on_one)(struct control *control, const struct arguments *arguments, struct text *why);
    bool steers; /* it writes into the program's memory; other commands only read */
} commands[] = {
    {.word = {"list", "", "the recordings in /dev/shm and $SPOOR_TRACE_DIR, of running and ended programs",
              .max = 1},
     .on_all = list_all},
    {.word = {"clean", "[-n]", "removes those of ended programs", .max = 1}, .on_all = command_clean},
    {.word = {"show", "", "groups and tracepoints (+ on, f filtered, - off), threads, owners", .max = 1},
     .on_one = command_show},
    {.word = {"enable", "WHAT",
              "records these again: group, group:NAME, group:mask, all; separated by commas", .min = 2,
              .max = 2},
     .on_one = command_enable,
     .steers = true},
    {.word = {"disable", "WHAT", "records these no more", .min = 2, .max = 2},
     .on_one = command_disable,
     .steers = true},
    {.word = {"filter", "[options]",
              "records only what these owners do to these objects; without any: everything", .max = 1},
     .on_one = command_filter,
     .steers = true},
    {.word = {"clear", "", "forgets what was recorded so far", .max = 1},
     .on_one = command_clear,
     .steers = true},
    {.word = {"dump", "[TIME] FILE", "copies the newest TIME (5s, 200ms; default: everything) to a file",
              .min = 2, .max = 3, .completes = COMPLETE_FILES},
     .on_one = command_dump},
};
enum { COMMANDS = sizeof commands / sizeof *commands };
static const struct command_word *const words[] = {
    &commands[0].word, &commands[1].word, &commands[2].word,
    &commands[3].word, &commands[4].word, &commands[5].word,
    &commands[6].word, &commands[7].word, NULL,
};
_Static_assert(sizeof words / sizeof *words == COMMANDS + 1, "each command has its word");

static int run_on_one(const struct command *command, const struct arguments *arguments)
{
    struct text why = {0};
    struct control *control = NULL;
    int error;
    const bool opens_to_write = command->steers || command->on_one == command_dump;
    recordings_keep_privileges(opens_to_write ? PRIVILEGE_OPEN_FILES : 0);
    char *path = recordings_path(arguments->file, &arguments->choice, &why, &error);
    if (path)
        error = command->steers ? control_open_steering(path, (pid_t)arguments->choice.pid, &control, &why)
                                : control_open(path, &control, &why);
    if (command->steers) /* the file to which it writes is open */
        recordings_keep_privileges(0);
    if (!error)
        error = command->on_one(control, arguments, &why);
    const int status = report(error, &why);
    control_close(control);
    free(path);
    text_free(&why);
    return status;
}

static int command_ctl(int argc, char **argv)
{
    static char default_word[] = "list";
    static char *default_words[] = {default_word, NULL};
    struct arguments arguments = {0};
    struct command_arguments given;
    int status;
    if (!command_line_parse(&ctl_line, argc, argv, &arguments, &given, &status))
        return status;
    if (recordings_check(&ctl_line, arguments.file, &arguments.choice, true))
        return 1;
    arguments.count = given.count ? given.count : 1;
    arguments.words = given.count ? given.words : default_words;
    for (size_t i = 0; i < COMMANDS; i++) {
        const struct command *command = &commands[i];
        if (strcmp(command->word.name, arguments.words[0]))
            continue;
        if (arguments.count < command->word.min)
            return command_line_fail(&ctl_line, "something is missing after %s: %s", command->word.name,
                                     command->word.arguments);
        if (arguments.count > command->word.max)
            return command_line_fail(&ctl_line, "there is too much after %s: '%s'", command->word.name,
                                     arguments.words[command->word.max]);
        return command->on_all ? command->on_all(&arguments) : run_on_one(command, &arguments);
    }
    return command_line_unknown_word(&ctl_line, arguments.words[0]);
}

const struct command_line ctl_line = {
    .name = "ctl",
    .summary = "recordings of running programs: list, show, enable tracepoints, dump",
    .run = command_ctl,
    .usage = "[-p PID | -s NAME [-i ID] | -f FILE] COMMAND",
    .about = "Lists recordings, and steers those of running programs.\n",
    COMMAND_ROWS(rows),
    COMMAND_RULES(rules),
    .words = words,
};
