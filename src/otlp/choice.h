/* SPDX-License-Identifier: BSD-3-Clause */
/* Which traces leave the machine when only the slowest ones do. The recording is read several times: first each span is seen,
 * then those of the chosen traces are sent. A trace is chosen when one of its spans is among the slowest, or has an error, and
 * then it is chosen whole: its other spans ended earlier, or end later.
 *
 * The slowest are a number of objects, or of each type those above a percentile of their lives. How many these are is counted
 * before: then choice_count() gets each span once, in a reading of its own. */
#ifndef SPOOR_OTLP_CHOICE_H
#define SPOOR_OTLP_CHOICE_H

#include <stddef.h>

#include "base/table.h"
#include "otlp/otlp.h"

enum {
    CHOICE_ERRORS_MAX = 10000,
    CHOICE_OBJECTS_MAX = 500000, /* of a type, above a percentile */
    CHOICE_TYPES_MAX = 256,
    PERCENTILE_ALL = 100000, /* percentiles are thousandths of one percent */
};

struct choice {
    uint32_t percentile; /* 0: it is a number of objects */
    int16_t type;        /* of the slowest objects: an index of the model; -1: any */
    struct slowest {
        uint64_t all; /* objects that were counted */
        size_t most, count, room;
        struct chosen *heap;     /* the shortest life first */
    } slowest[CHOICE_TYPES_MAX]; /* by type if there is a percentile, or one for all */
    struct table traces;         /* keys: those that are chosen */
    uint64_t errors_left_out;    /* spans with errors beyond CHOICE_ERRORS_MAX traces */
    uint64_t objects_left_out;   /* beyond CHOICE_OBJECTS_MAX */
};

/* Begins with a number of objects, or with a percentile. */
void choice_make(struct choice *choice, size_t most, int16_t type);
void choice_make_percentile(struct choice *choice, uint32_t percentile, int16_t type);
void choice_count(struct choice *choice, const struct otlp_span *span);
void choice_counted(struct choice *choice); /* when all were counted */
/* Return 0 or -ENOMEM. */
int choice_see(struct choice *choice, const struct otlp_span *span);
int choice_end(struct choice *choice); /* when all were seen */
bool choice_has(const struct choice *choice, const struct otlp_span *span);
void choice_free(struct choice *choice);

#endif
