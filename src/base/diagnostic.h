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

struct span { /* bytes begin (inclusive) to end (exclusive) of a source; source NULL: nowhere */
    const struct source *source;
    uint32_t begin, end;
};

enum severity { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING };

struct diagnostic_context { /* another place that belongs to it */
    struct span span;
    const char *message;
    struct diagnostic_context *next;
};

struct diagnostic {
    enum severity severity;
    struct span span;
    const char *message;
    const char *hint; /* or NULL */
    struct diagnostic_context *contexts;
};

/* Text that stands for a copy of itself, made where a macro was called: places in the copy have `copy` as
 * their source. */
struct source_copy {
    const struct source *copy;
    struct span from;
};

struct diagnostics {
    struct arena *arena;
    struct diagnostic *items;
    size_t count, room;
    size_t errors;     /* also those that were not kept */
    size_t reports[2]; /* kept so far, by severity: a bound keeps a hopeless script from flooding the user */
    bool is_open;      /* the latest report was kept: hints and contexts belong to the newest item */
    struct source_copy *copies;
    size_t copy_count, copy_room;
};

/* Reports. Of reports with the same place and message, as copies of a block make them, one is kept, and of
 * each severity as many as somebody may want to read. */
void diagnose_error(struct diagnostics *diagnostics, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diagnose_warning(struct diagnostics *diagnostics, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* In all of these what %s and %c bring is a name, which ends no line. */
/* A hint for the latest report; nothing if that was not kept. */
void diagnose_hint(struct diagnostics *diagnostics, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Lines that we made; nothing is left of the text. */
void diagnose_hint_lines(struct diagnostics *diagnostics, struct text *lines);

/* Another place that belongs to the latest report, shown behind it with its severity. */
void diagnose_context(struct diagnostics *diagnostics, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports once more what was reported elsewhere. */
void diagnostics_repeat(struct diagnostics *diagnostics, const struct diagnostics *from, bool as_warnings);
/* Whether the latest report was kept: only then is it worth looking for a hint that takes long to find. */
bool diagnostics_are_open(const struct diagnostics *diagnostics);
/* No further error will be kept: there is no use in looking for more. */
bool diagnostics_are_full(const struct diagnostics *diagnostics);
/* A copy of a source whose places are shown together with the place that they were expanded from. */
const struct source *source_copy(struct diagnostics *diagnostics, const struct source *source,
                                 struct span from);

/* 1-based line and column of a byte offset. Tabs count as one column here. */
struct position {
    unsigned line, column;
};
struct position source_position(const struct source *source, uint32_t offset);

/* For many questions about one text: the way from the place before is gone, and not from the beginning. */
struct source_cursor {
    const char *text; /* NULL: no place yet */
    uint32_t offset, line_begin;
    unsigned line;
};
struct position source_position_from(struct source_cursor *cursor, const struct source *source,
                                     uint32_t offset);

struct span span_between(struct span first, struct span last);

/* Writes one diagnostic, or all of one severity. Colour: ANSI red and yellow around the severity word. */
void diagnostic_render(struct text *out, const struct diagnostic *diagnostic, bool colour);
void diagnostics_render(struct text *out, const struct diagnostics *diagnostics, enum severity severity,
                        bool colour);

/* The places that a place was expanded from, for what is told of it later than in a report. */
void diagnostics_render_origin(struct text *out, const struct diagnostics *diagnostics,
                               enum severity severity, struct span span, bool colour);

/* The candidate nearest to name by edit distance, if near enough to be worth suggesting; else NULL. Feed it
 * the candidates one by one; zero-initialise the struct with name set. */
struct nearest {
    const char *name;
    const char *best;
    unsigned distance;
};
void nearest_offer(struct nearest *nearest, const char *candidate);

#endif
