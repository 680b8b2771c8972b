/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors and warnings about a script: where, what, and what to do.
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

struct source {       /* the text of one script; it lives as long as the spans in it */
    const char *name; /* "stdin" for -e and -, else the path as given */
    const char *text; /* NUL-terminated */
    size_t length;
};

/* A piece of a source: the bytes from `begin` on, up to but without `end`. With a source of NULL it is nowhere. */
struct span {
    const struct source *source;
    uint32_t begin, end;
};

enum severity { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING };

struct diagnostic_context { /* another span that belongs to the diagnostic */
    struct span span;
    const char *message;
    struct diagnostic_context *next;
};

struct diagnostic_fix { /* a change of the text that takes the mistake away */
    struct span span;   /* what is replaced; an empty one: where something is put */
    const char *text;
};

struct diagnostic {
    enum severity severity;
    struct span span;
    const char *message;
    const char *hint;                 /* or NULL */
    const struct diagnostic_fix *fix; /* or NULL: none is known */
    struct diagnostic_context *contexts;
};

/* A source that was copied because a macro was called: spans in the expansion have `copy` as their source, and
 * `from` is the span of the call. */
struct source_copy {
    const struct source *copy;
    struct span from;
};

struct diagnostics {
    struct arena *arena;
    struct diagnostic *items;
    size_t count, room;
    size_t errors;     /* reported so far, with those that were not kept */
    size_t reports[2]; /* kept so far, by severity; they are limited, so that no script floods its user */
    bool is_open;      /* the latest report was kept, so that hints and contexts belong to the last item */
    struct source_copy *copies;
    size_t copy_count, copy_room;
};

/* Report an error or a warning. Of reports with the same span and message, which copies of a block make, one is
 * kept. Only a limited number of each severity is kept. What %s and %c insert, here and below, is taken for a name,
 * in which control characters are escaped. */
void diagnose_error(struct diagnostics *diagnostics, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diagnose_warning(struct diagnostics *diagnostics, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a hint to the latest report, if that was kept. */
void diagnose_hint(struct diagnostics *diagnostics, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a hint of several lines, and frees `lines`. */
void diagnose_hint_lines(struct diagnostics *diagnostics, struct text *lines);
/* Adds the change that takes the mistake away to the latest report, if that was kept. */
void diagnose_fix(struct diagnostics *diagnostics, struct span span, const char *text);
struct nearest;
/* Adds what may have been meant to the latest report: as the hint "did you mean 'BEST()'?", in which `behind` stands
 * for "()", and as a fix, where the report's span has the name once. */
void diagnose_nearest(struct diagnostics *diagnostics, const struct nearest *nearest, const char *behind);

/* Adds another span to the latest report; it is shown behind the report, with the same severity. */
void diagnose_context(struct diagnostics *diagnostics, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports all of `from` again. */
void diagnostics_repeat(struct diagnostics *diagnostics, const struct diagnostics *from, bool as_warnings);
/* Whether the latest report was kept: only then is it worth looking for a hint that takes long to find. */
bool diagnostics_are_open(const struct diagnostics *diagnostics);
/* Whether no further error will be kept, so that it is useless to look for more. */
bool diagnostics_are_full(const struct diagnostics *diagnostics);
/* Makes a copy of a source for an expansion: spans in the copy are shown together with `from`. */
const struct source *source_copy(struct diagnostics *diagnostics, const struct source *source,
                                 struct span from);

/* 1-based line and column of a byte offset. Tabs count as one column here. */
struct position {
    unsigned line, column;
};
struct position source_position(const struct source *source, uint32_t offset);
/* Whether a name stands alone at an offset, and is not a part of another one. */
bool source_has_name(const struct source *source, uint32_t offset, const char *name);

/* Speeds up many questions about one text: each search begins at the last position found. Zero-initialise it. */
struct source_cursor {
    const char *text; /* NULL: nothing was asked yet */
    uint32_t offset, line_begin;
    unsigned line;
};
struct position source_position_from(struct source_cursor *cursor, const struct source *source,
                                     uint32_t offset);

/* Returns the span from the beginning of the first span to the end of the last. */
struct span span_between(struct span first, struct span last);

/* Writes one diagnostic, or all of one severity. Colour: ANSI red and yellow around the severity word. */
void diagnostic_render(struct text *out, const struct diagnostic *diagnostic, bool colour);
void diagnostics_render(struct text *out, const struct diagnostics *diagnostics, enum severity severity,
                        bool colour);

/* Writes the spans of the macro calls that a span was expanded from, for messages that are no diagnostics. */
void diagnostics_render_origin(struct text *out, const struct diagnostics *diagnostics,
                               enum severity severity, struct span span, bool colour);

/* Finds the candidate nearest to `name` by edit distance, if near enough to be worth suggesting; else NULL. Pass
 * the candidates one by one; zero-initialise the struct with name set. */
struct nearest {
    const char *name;
    const char *best;
    unsigned distance;
};
void nearest_offer(struct nearest *nearest, const char *candidate);

#endif
