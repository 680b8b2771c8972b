/* SPDX-License-Identifier: BSD-3-Clause */
/* Between control.c, which finds out which tracepoints, owners and objects are meant, and the formats, which know
 * where in a program's memory that is stored. */
#ifndef SPOOR_READER_CONTROL_FORMAT_H
#define SPOOR_READER_CONTROL_FORMAT_H

#include "reader/control.h"

enum { CONTROL_MARKS = 65536 }; /* one for each id that a tracepoint can have */

struct control_format {
    bool (*is_enabled)(const struct control *control, const struct recording_tracepoint *tracepoint,
                       bool *is_filtered);
    int (*enable)(const struct control *control, const uint8_t *marks, bool on, struct text *why);
    int (*filter)(const struct control *control, const char *owners, const char *objects, struct text *why);
    int (*clear)(const struct control *control, struct text *why);
    int (*dump)(const struct control *control, uint64_t nanoseconds, const char *path, struct text *why);
};

extern const struct control_format control_format_spoor, control_format_spdk;

struct control {
    struct recording *recording;
    const struct control_format *format;
    int file; /* open for writing; -1: the recording is only read */
};

/* writes the reason, and returns `error` */
int control_fail(struct text *why, const char *what, const char *path, int error);
int control_put(const struct control *control, const void *bytes, size_t length, uint64_t offset,
                struct text *why);

#endif
