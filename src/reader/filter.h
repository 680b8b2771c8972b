/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which events are shown. An event must pass every kind of filter that is given; values of one kind are
 * alternatives. */
#ifndef SPOOR_READER_FILTER_H
#define SPOOR_READER_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/objects.h"
#include "reader/reader.h"

enum filter_kind {
    FILTER_THREAD,     /* name (with * and ?) or number */
    FILTER_GROUP,      /* name */
    FILTER_TRACEPOINT, /* name, or GROUP:NAME */
    FILTER_OWNER,      /* b2, a number, or a description */
    FILTER_OBJECT,     /* i429, or the recorded id (0x…); also what is related to it */
    FILTER_KINDS,
};

struct filter {
    struct {
        const char **values;
        size_t count, room;
    } kinds[FILTER_KINDS];
    uint64_t from, to;    /* ns since the start; to 0: no end */
    uint8_t *tracepoints; /* results by the tracepoint's id: 0 not known yet, 1 passes, 2 does not */
};

/* Adds values, separated by commas; the text must live as long as the filter. Returns 0 or -errno. */
int filter_add(struct filter *filter, enum filter_kind kind, char *values);
bool filter_is_empty(const struct filter *filter); /* everything passes */
bool filter_passes(struct filter *filter, const struct recording *recording,
                   const struct recording_event *event, const struct object_step *step);
/* Whether the time window is over, so that no later event can pass. */
bool filter_is_over(const struct filter *filter, const struct recording *recording,
                    const struct recording_event *event);
/* Whether events of a tracepoint can pass. */
bool filter_passes_tracepoint(const struct filter *filter, const struct recording_tracepoint *tracepoint);
/* Whether a value of FILTER_TRACEPOINT means a tracepoint, and whether a value is this number. */
bool filter_names_tracepoint(const char *value, const struct recording_tracepoint *tracepoint);
bool filter_names_number(const char *value, uint64_t number);
void filter_free(struct filter *filter);

#endif
