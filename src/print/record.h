/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes to the output besides maps: one record is the bytes of a text, or one line of JSON.
 *
 * A record without a printer is JSON only: in text mode its message is the diagnostics' business. */
#ifndef SPOOR_PRINT_RECORD_H
#define SPOOR_PRINT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "print/format.h"
#include "print/value.h"

/* Writes {"type": "printf", and the time if the printer has one. For lines of JSON that the caller continues. */
void record_begin(struct printer *printer, const char *kind);

/* Text that a script made: kind is "printf", "time", "cat", "join" or "syscall". Text: as it is, no newline
 * added. JSON: {"type": "printf", "data": "…"}. A text that failed makes the output fail. */
void record_text(struct printer *printer, const char *kind, const struct text *text);
/* Prints like record_text(), with foreign lines: on a terminal they cannot command it. */
void record_foreign_text(struct printer *printer, const char *kind, const struct text *text);
/* Adds a foreign word to a text that is going to be recorded. */
void record_foreign_name(const struct printer *printer, struct text *text, const char *name, size_t length);
/* Prints like record_text(), from a format and its arguments, without a copy in between. */
void record_format(struct printer *printer, const char *kind, const struct format *format,
                   const struct format_argument *arguments, size_t count);
/* print() of what is not a map: the value and a newline; {"type": "value", "data": …}. A hist or lhist is its
 * rows. */
void record_value(struct printer *printer, const struct type *type, const void *bytes, uint64_t divisor);

/* {"type": "attached_probes", "count": 1, "data": {"probes": 1}} */
void record_attached_probes(struct text *out, uint64_t count);
/* {"type": "lost_events", "count": 5, "data": {"events": 5, "probe": "…", "reason": "…"}} */
void record_lost_events(struct text *out, uint64_t count, const char *probe, const char *reason);

/* Something that went wrong at run time, or that the script said about itself: kind is "helper_error",
 * "runtime_error", "errorf" or "warnf". helper is NULL except for the first. */
struct record_problem {
    const char *kind;
    const char *message;
    const char *helper;
    int64_t return_code;
    const char *file;
    unsigned line, column;
    uint64_t count;    /* more than 1: how often it happened; */
    const char *probe; /* and where */
};
void record_problem(struct text *out, const struct record_problem *problem);

#endif
