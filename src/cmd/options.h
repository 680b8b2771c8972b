/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of `spoor [options] FILE | -e PROGRAM [parameters]`. */
#ifndef SPOOR_CMD_OPTIONS_H
#define SPOOR_CMD_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "cmd/command_line.h"
#include "cmd/on.h"
#include "cmd/otlp.h"
#include "session/session.h"

enum { OPTIONS_PIDS = 1024, OPTIONS_SCRIPTS = 64 };

struct options {
    struct script_option { /* -e, --script, in their order */
        /* One of them is NULL, or `file` is what messages call `program`. */
        const char *program, *file;
    } scripts[OPTIONS_SCRIPTS];
    size_t script_count;
    const char *file;    /* FILE or "-", if there are no `scripts` */
    bool lists;          /* -l */
    const char *pattern; /* of -l; NULL: everything */
    bool help, version, info, lists_tools;
    bool is_peer;          /* called by the name bpftrace */
    bool dry_run, formats; /* --dry-run, --fmt */
    const char *output;    /* -o */
    const char *picture;   /* --svg */
    const char *page;      /* --html */
    const char *metrics;   /* --openmetrics */
    uint64_t metrics_period, metrics_series;
    struct otlp_options otlp;
    struct on_options on;
    const struct metric_outlet
        *outlet;              /* where metrics go, for a command that publishes them itself; or NULL */
    pid_t pids[OPTIONS_PIDS]; /* of -p */
    /* Of a script that a command has written: from where on a part of it stands for which word of the command line,
     * in ascending order. Messages about it name the word. */
    const struct script_part {
        size_t begin;
        const char *word;
    } * parts;
    size_t part_count;
    /* Called when the trace is over and its maps can still be read, by commands that do more with them. session: NULL, if
     * the trace ran on other machines. Returns the exit status. NULL: nothing more is done. */
    int (*finish)(void *state, struct session *session);
    void *finish_state;
    /* Instead of running the sources; NULL: they are run. Returns the exit status. */
    int (*run)(struct options *options, const struct source *sources);
    struct session_options session;
};

/* Reads the command line. Returns 0, or 1 after a message on the error stream. */
int options_parse(struct options *options, int argc, char **argv);
/* For commands with options of their own: reads only the environment. */
int options_begin(struct options *options);
/* Reads "12" or "12,13" of -p. If the option is given again, it adds to the list. A number that comes twice counts once.
 * Returns 0, 1 after a message, or OPTION_WRONG. */
int options_add_pids(struct options *options, const struct option_value *given);
/* Does what -p PID does; 0: nothing. */
void options_process(struct options *options, pid_t pid);
/* Takes words for parameters of the script: those of the last `behind` ones that are --name or --name=value have names,
 * all others have numbers. */
void options_parameters(struct options *options, char **first, int count, int behind);
/* For rows of other commands, whose target begins with struct options: read -e, --script and --debuginfo. */
int options_add_program(void *target, const struct option_value *value);
int options_add_file(void *target, const struct option_value *value);
int options_add_debug_directories(void *target, const struct option_value *value);
/* For keeps_unknown: whether the first word is a tool, which may have options of its own. */
bool options_are_of_tool(const void *target, const char *first_word);
void options_help(FILE *out);
extern const struct command_line spoor_line;

#endif
