/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands, one file each; commands.c has them all. */
#ifndef SPOOR_CMD_COMMAND_H
#define SPOOR_CMD_COMMAND_H

#include "cmd/command_line.h"
#include "cmd/options.h"

extern const struct command_line report_line, record_line, convert_line, ctl_line, trace_line, count_line,
    argdist_line, list_line, completion_line, help_line;
/* NULL: no command is called so. */
const struct command_line *command_find(const char *name);
void command_list_all(FILE *out); /* a line each */
void command_each(void (*visit)(void *context, const char *name, const char *summary), void *context);
/* The menu: what one can begin with. */
void command_print_menu(void);
/* A hint on the error stream: what may have been meant by a word that is no command, no tool and no file. */
void command_guess(const char *word);

int command_script(struct options *options);                                    /* FILE, -, -e; also -l -e */
int command_list(struct options *options);                                      /* -l [PATTERN] */
int command_format(const struct options *options, const struct source *source); /* --fmt */
int command_info(struct options *options);                                      /* --info */

/* The probes that a pattern like "tracepoint:sched:*" stands for; verbose: with details, a line each. 0, what the visitor
 * stopped with, or -errno with what is wrong in the diagnostics. */
int command_each_probe(struct arena *arena, struct diagnostics *diagnostics, const char *pattern,
                       bool verbose, probe_visitor *visit, void *state);

/* peer.c: called bpftrace, spoor says of itself what bpftrace would. */
bool peer_is_called(int argc, char **argv);
void peer_version(void);
void peer_usage(FILE *out);
void peer_info(struct kernel *kernel);

/* All of a file, or of the standard input ("-"); 0 or errno. */
int command_read_text(const char *name, struct text *text);
/* __EXE__ and __PID__ (markers.c); 1 after a message. */
int command_replace_markers(struct text *text, const struct session_options *session);
/* A script's text, with the output that the options name; the exit status. */
int command_run(struct options *options, const char *name, const struct text *text);
/* The names of its probes, without running it; 1 after messages. */
int command_probes(struct options *options, const char *name, const struct text *text, probe_visitor *visit,
                   void *state);

/* All that commands print: nothing that others had a part in, such as names of symbols and files, can command
 * a terminal. As printf() does; what %s and %c bring ends no line there, and none in a message (stderr). */
void command_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Lines that are made already; on stderr: a message, which has colours. */
void command_write(FILE *out, const char *text);
/* The same on the error stream of a trace, which must go on: part after part, while somebody takes them
 * within so many milliseconds. False: nobody does, and the rest is lost. */
bool command_write_in_time(const char *text, int milliseconds);

/* Errors first, then warnings, on the error stream. */
void command_diagnose(const struct options *options, const struct diagnostics *diagnostics);

#endif
