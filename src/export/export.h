/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording in the formats of other tools: Perfetto, the Common Trace Format, folded stacks.
 *
 *   perfetto.c  slices, tracks and arrows; proto.h: the encoding
 *   ctf.c       a directory of streams; ctf_metadata.c: the description of its events
 *   folded.c    lines for flame graphs
 *   living.c    the objects that are alive, for those that need to know
 *
 * A format is handed the events that are to be in it, in order of time, and writes as it goes: memory does
 * not grow with the number of events. What names say was made harmless by the reader; a format escapes what
 * its own syntax needs. */
#ifndef SPOOR_EXPORT_EXPORT_H
#define SPOOR_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "reader/objects.h"
#include "reader/reader.h"

struct export_sink { /* where the bytes go */
    void *context;
    /* Appends to a file of the directory; NULL: the only file. 0 or -errno. */
    int (*write)(void *context, const char *file, const void *bytes, size_t length);
};

struct export
{ /* one that is going on */
    const struct export_format *format;
    const struct recording *recording;
    struct export_sink sink;
    struct text out; /* of formats with one file: gathered, written when it is much */
    uint64_t last;   /* ns: no event is older than the one before it */
    void *state;     /* the format's */
};

struct export_event {
    const struct recording_event *event; /* lost: also before events that are not in the export */
    const struct object_step *step;
    uint64_t time; /* ns */
};

struct export_format {
    const char *name;
    bool is_directory, is_binary;
    /* 0 or -errno, all of them. */
    int (*begin)(struct export *export);
    int (*event)(struct export *export, const struct export_event *event);
    int (*end)(struct export *export);
    void (*free)(struct export *export); /* after any begin */
};

const struct export_format *export_format_find(const char *name); /* NULL: none */
const struct export_format *export_format_at(size_t index);       /* NULL: no more */

int export_begin(struct export *export, const struct export_format *format, const struct recording *recording,
                 const struct export_sink *sink);
int export_event(struct export *export, const struct recording_event *event, const struct object_step *step);
int export_end(struct export *export); /* what is still to be written */
void export_free(struct export *export);

/* "b02 null0", without what could end a line or a level: "" if the event has no owner. */
void export_owner_label(struct text *out, const struct recording *recording,
                        const struct recording_event *event);
/* A recorded string as a listing has it: "(null)", and ".." behind what was cut. */
void export_string(struct text *out, const struct recording_event *event, unsigned argument);
/* "bdev_io", or its letter where types have no names. */
void export_type_label(struct text *out, const struct recording_type *type);

extern const struct export_format export_perfetto, export_ctf, export_folded;

#endif
