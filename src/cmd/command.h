/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands, one file each; commands.c has them all. */
#ifndef SPOOR_CMD_COMMAND_H
#define SPOOR_CMD_COMMAND_H

#include "cmd/command_line.h"
#include "cmd/options.h"

extern const struct command_line report_line, record_line, convert_line, ctl_line, trace_line, count_line,
    argdist_line, list_line, profile_line, doctor_line, lsp_line, completion_line, help_line, top_line,
    serve_line;
/* Finds a command by its name; NULL: there is none. */
const struct command_line *command_find(const char *name);
void command_list_all(FILE *out); /* prints a line for each */
void command_each(void (*visit)(void *context, const char *name, const char *summary), void *context);
/* Prints the menu: what one can begin with. */
void command_print_menu(void);
/* Prints a hint on the error stream about what may have been meant by a word that is no command, no tool and no
 * file. */
void command_guess(const char *word);

int command_script(struct options *options);                                    /* FILE, -, -e; also -l -e */
int command_list(struct options *options);                                      /* -l [PATTERN] */
int command_format(const struct options *options, const struct source *source); /* --fmt */
int command_info(struct options *options);                                      /* --info */

/* Calls `visit` for the probes that a pattern like "tracepoint:sched:*" stands for; verbose: with details, a line
 * for each. Returns 0, what the visitor stopped with, or -errno with what is wrong in the diagnostics. */
int command_each_probe(struct arena *arena, struct diagnostics *diagnostics, const char *pattern,
                       bool verbose, probe_visitor *visit, void *state);

/* peer.c: under the name bpftrace, spoor answers questions about itself as bpftrace does. */
bool peer_is_called(int argc, char **argv);
void peer_version(void);
void peer_usage(FILE *out);
void peer_info(struct kernel *kernel);

/* Reads all of a file, or of standard input ("-"). Returns 0 or errno. */
int command_read_text(const char *name, struct text *text);
/* Replaces __EXE__ and __PID__ (markers.c). Returns 0, or 1 after a message. */
int command_replace_markers(struct text *text, const struct session_options *session);
/* Opens a session and compiles the source. Returns 0 or -errno; *session is set in any case but -ENOMEM. */
int command_compile(struct options *options, const struct source *source, struct session **session);
/* Runs a script's text, with the output that the options name. Returns the exit status. */
int command_run(struct options *options, const char *name, const struct text *text);
/* Visits the names of a script's probes, without running it. Returns 0, or 1 after messages. */
int command_probes(struct options *options, const char *name, const struct text *text, probe_visitor *visit,
                   void *state);

/* Prints as printf() does. Everything that commands print goes through this function, so that no name of a symbol
 * or a file can steer a terminal. What %s and %c insert ends no line there, and none in a message (stderr). */
void command_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints whole lines; on stderr they are a message, which has colours. */
void command_write(FILE *out, const char *text);
/* As command_write(), on the error stream of a trace that must go on: part by part, as long as the reader takes
 * each within so many milliseconds. False: it did not, and the rest is lost. */
bool command_write_in_time(const char *text, int milliseconds);

/* Prints diagnostics on the error stream, errors first, then warnings. */
void command_diagnose(const struct options *options, const struct diagnostics *diagnostics);

#endif
