/* SPDX-License-Identifier: BSD-3-Clause */
/* What could stand in place of the last word of a command: made of the commands' tables, printed for the shells'
 * completions (completion.c). A line for each candidate, the whole word, behind a tab what it is. A line that begins with
 * a colon names what the shell itself knows to complete: ":files", ":directories", ":commands", ":users". */
#ifndef SPOOR_CMD_COMPLETE_H
#define SPOOR_CMD_COMPLETE_H

#include <stddef.h>

#include "base/text.h"
#include "cmd/command_line.h"

struct candidates {
    struct text out;
    const char *word; /* that is completed, as it was given */
    size_t kept;      /* bytes of it that stay: "--pid=", "12," */
};

/* A candidate, if what is completed begins it. Names that could command a terminal are not offered. */
void candidates_offer(struct candidates *candidates, const char *text, const char *what);
/* The words behind `spoor`, of which the last one is completed. */
void complete_words(struct candidates *candidates, int count, char **words);

/* complete_values.c: arguments of one kind. */
void complete_values(struct candidates *candidates, enum completion kind);
/* complete_probes.c: a tracepoint, "category:event" behind what stands before; a probe; the last word of a program, which is
 * a probe, a field behind "args.", a builtin, or a map or variable of the program. */
void complete_tracepoint(struct candidates *candidates, const char *before);
void complete_probe(struct candidates *candidates);
void complete_program(struct candidates *candidates);

#endif
