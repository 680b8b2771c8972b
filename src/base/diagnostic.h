/* SPDX-License-Identifier: BSD-3-Clause */
/* What we say to the user about a script: where, what, and what to do.
 *
 * A diagnostic is collected, not printed: several are reported per run, errors first, then warnings, each
 * with FILE:LINE:COLUMNS, the source line and a marker. Only src/cmd prints. Form and texts follow
 * section 12 of the language's reference. */
#ifndef SPOOR_BASE_DIAGNOSTIC_H
#define SPOOR_BASE_DIAGNOSTIC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

struct source {       /* one script text; lives as long as the places in it */
    const char *name; /* "stdin" for -e and -, else the path as given */
    const char *text; /* NUL-terminated */
    size_t length;
};

struct place { /* bytes begin (inclusive) to end (exclusive) of a source; source NULL: nowhere */
    const struct source *source;
    uint32_t begin, end;
};

enum severity { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING };

struct diagnostic {
    enum severity severity;
    struct place place;
    const char *message;
    const char *hint; /* or NULL */
};

struct diagnostics {
    struct arena *arena;
    struct diagnostic *items;
    size_t count, room;
    size_t errors;
};

/* Reports; more than one report with the same place and message is kept once. */
void diagnose_error(struct diagnostics *diagnostics, struct place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diagnose_warning(struct diagnostics *diagnostics, struct place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A hint for the newest diagnostic. */
void diagnose_hint(struct diagnostics *diagnostics, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* 1-based line and column of a byte offset. Tabs count as one column here. */
struct position {
    unsigned line, column;
};
struct position source_position(const struct source *source, uint32_t offset);

struct place place_between(struct place first, struct place last);

/* Writes one diagnostic, or all of one severity. Colour: ANSI red and yellow around the severity word. */
void diagnostic_render(struct text *out, const struct diagnostic *diagnostic, bool colour);
void diagnostics_render(struct text *out, const struct diagnostics *diagnostics, enum severity severity,
                        bool colour);

/* The candidate nearest to name by edit distance, if near enough to be worth suggesting; else NULL. Feed it
 * the candidates one by one; zero-initialise the struct with name set. */
struct nearest {
    const char *name;
    const char *best;
    unsigned distance;
};
void nearest_offer(struct nearest *nearest, const char *candidate);

#endif
