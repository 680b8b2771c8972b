/* SPDX-License-Identifier: BSD-3-Clause */
/* Exports a recording to the formats of other tools, Perfetto, the Common Trace Format, folded stacks, tables; and to a
 * page.
 *
 *   perfetto.c  slices, tracks and arrows; proto.h: the encoding
 *   ctf.c       a directory of streams; ctf_metadata.c: the description of its events
 *   folded.c    lines for flame graphs
 *   html        a page for a browser (html/page.h)
 *   table.c     rows for column stores, as CSV and as lines of JSON (table.h)
 *   living.c    the objects that are alive, for formats that need them
 *
 * A format is handed the events that are exported, in order of time, and writes them at once, so that memory does not
 * grow with their number. The reader has removed from names what could steer a terminal; a format escapes what its
 * own syntax needs. */
#ifndef SPOOR_EXPORT_EXPORT_H
#define SPOOR_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "reader/filter.h"
#include "reader/json_lines.h"
#include "reader/objects.h"
#include "reader/reader.h"

struct export_sink { /* where the bytes go */
    void *context;
    /* Appends to a file of the directory; NULL: the only file; or to the one beside it, by the end of its name. 0 or
     * -errno. */
    int (*write)(void *context, const char *file, const void *bytes, size_t length);
};

struct export_choice { /* what is exported, for tables */
    enum export_rows { EXPORT_EVENTS, EXPORT_OBJECTS } rows;
    const struct filter *filter; /* which events there will be; NULL: all */
};

struct export
{ /* an export while it is made */
    const struct export_format *format;
    const struct recording *recording;
    struct export_choice choice;
    const struct objects *objects; /* set before export_end() */
    const char *notes;             /* the same: what is missing, a sentence a line; NULL: nothing */
    struct export_sink sink;
    struct text out; /* for formats with one file: the text that has not been written yet */
    uint64_t last;   /* time of the newest event, ns, which never goes back */
    void *state;     /* the format's */
};

struct export_event {
    /* its `lost` also counts what was missing before events that are left out */
    const struct recording_event *event;
    const struct object_step *step;
    uint64_t time; /* ns */
};

struct export_format {
    const char *name;
    const char *opens; /* what opens it: a sentence with %s for the path, which may come twice */
    bool is_directory;
    bool is_unseen; /* not for a terminal: it is binary, or line breaks in it may be of foreign texts */
    /* All of these return 0 or -errno. */
    int (*begin)(struct export *export);
    int (*event)(struct export *export, const struct export_event *event);
    int (*line)(struct export *export, const struct json_line *line); /* NULL: lines cannot be merged */
    int (*end)(struct export *export);
    void (*free)(struct export *export); /* called after every begin(), also after one that failed */
    const char *beside;                  /* the end of the name of a file beside it; NULL: there is none */
    bool has_rows;                       /* it is a table: see struct export_choice */
};

const struct export_format *export_format_find(const char *name); /* NULL: there is none */
const struct export_format *export_format_at(size_t index);       /* NULL: there are no more */

int export_begin(struct export *export, const struct export_format *format, const struct recording *recording,
                 const struct export_choice *choice, const struct export_sink *sink);
int export_event(struct export *export, const struct recording_event *event, const struct object_step *step);
/* Adds a line of another output, in order of time. The format must have them. */
int export_line(struct export *export, const struct json_line *line);
int export_end(struct export *export); /* writes the rest */
void export_free(struct export *export);

/* Writes "b02 null0", without characters that could end a line or a level; nothing if the event has no owner. */
void export_owner_label(struct text *out, const struct recording *recording,
                        const struct recording_event *event);
/* Writes a recorded string as a listing does: "(null)", and ".." behind one that was cut. */
void export_string(struct text *out, const struct recording_event *event, unsigned argument);
/* Writes "bdev_io", or the letter of a type without a name. */
void export_type_label(struct text *out, const struct recording_type *type);

extern const struct export_format export_perfetto, export_ctf, export_folded, export_html, export_csv,
    export_ndjson;

#endif
