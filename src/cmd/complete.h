/* SPDX-License-Identifier: BSD-3-Clause */
/* Candidates for the last word of a command, made of the commands' tables and printed for the shells' completions
 * (completion.c). Each has a line: the whole word, and behind a tab what it is. A line that begins with a colon
 * names what the shell itself completes: ":files", ":directories", ":commands", ":users". */
#ifndef SPOOR_CMD_COMPLETE_H
#define SPOOR_CMD_COMPLETE_H

#include <stddef.h>

#include "base/text.h"
#include "cmd/command_line.h"

enum candidate_kind { CANDIDATE_WORD, CANDIDATE_PROBE, CANDIDATE_FIELD, CANDIDATE_BUILTIN, CANDIDATE_NAME };

struct candidates {
    struct text out;
    const char *word;         /* the word that is completed, as it was typed */
    size_t kept;              /* how many bytes of it are not completed: "--pid=", "12," */
    enum candidate_kind kind; /* of those that are offered now */
    /* Gets each candidate, without the bytes that are kept, instead of `out`; or NULL. */
    void (*take)(struct candidates *candidates, const char *text, const char *what);
};

/* Adds a candidate, if it begins with what is completed. Names that could steer a terminal are not offered. */
void candidates_offer(struct candidates *candidates, const char *text, const char *what);
/* Completes the last of the words behind `spoor`. */
void complete_words(struct candidates *candidates, int count, char **words);

/* complete_values.c: offers arguments of one kind. */
void complete_values(struct candidates *candidates, enum completion kind);
/* complete_probes.c: offer a tracepoint, "category:event" behind the text `before`; a probe; the last word of a
 * program, which is a probe, a field behind "args.", a builtin, or a map or variable of the program. */
void complete_tracepoint(struct candidates *candidates, const char *before);
void complete_probe(struct candidates *candidates);
void complete_program(struct candidates *candidates);
/* The same for a program that is not within a shell's quotes. */
void complete_script(struct candidates *candidates);

#endif
