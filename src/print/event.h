/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of a recording as lines of text, in the columns that SPDK's users know, and as JSON.
 *
 * Made for speed: millions of lines per second. Where a width is given, a line that is longer goes on in the
 * next one, indented; else columns are as wide as in SPDK. Nothing that was recorded can steer a terminal. */
#ifndef SPOOR_PRINT_EVENT_H
#define SPOOR_PRINT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "reader/json_lines.h"
#include "reader/objects.h"
#include "reader/reader.h"

struct event_printer {
    const struct recording *recording;
    unsigned width;    /* columns of the terminal; 0: no limit */
    bool with_counter; /* also shows ticks of the counter since the start */
    bool with_step;    /* also shows the time since the event before */
    uint64_t origin;   /* the time that shown times count from, ns */
    /* Widths of columns, in characters. */
    unsigned number_width, owner_width, name_width;
    uint64_t before; /* when the event before it happened, ns */
    bool begun;
};

/* The rest of the struct may be changed afterwards. */
void event_printer_init(struct event_printer *printer, const struct recording *recording);
void event_print(struct event_printer *printer, struct text *out, const struct recording_event *event,
                 const struct object_step *step);

/* A line of another output, marked, with its time in the same column. */
void event_print_line(struct event_printer *printer, struct text *out, const struct json_line *line);

/* "i429"; "i@7ffb7d48b110" when its beginning is not in the recording. */
void event_print_object(struct text *out, const struct recording_model *model, int16_t type, uint64_t number,
                        uint64_t id);
/* "b02"; nothing if there is no owner. */
void event_print_owner(struct text *out, const struct recording *recording,
                       const struct recording_event *event);

/* The JSON document that SPDK's reader writes: a head, entries with commas between them, a tail. */
void event_json_head(struct text *out, const struct recording *recording);
void event_json(struct text *out, const struct recording *recording, const struct recording_event *event,
                const struct object_step *step, bool is_first);
void event_json_line(struct text *out, const struct json_line *line, bool is_first);
void event_json_tail(struct text *out, const struct recording *recording);

#endif
