/* SPDX-License-Identifier: BSD-3-Clause */
/* Which traces leave the machine when only the slowest ones do. The recording is read twice: first each span is seen, then
 * those of the chosen traces are sent. A trace is chosen when one of its spans is among the slowest, or has an error, and
 * then it is chosen whole: its other spans ended earlier, or end later. */
#ifndef SPOOR_OTLP_CHOICE_H
#define SPOOR_OTLP_CHOICE_H

#include <stddef.h>

#include "base/table.h"
#include "otlp/otlp.h"

enum { CHOICE_ERRORS_MAX = 10000 };

struct choice {
    size_t most;
    int16_t type;           /* of the slowest objects: an index of the model; -1: any */
    struct chosen *slowest; /* the longest first */
    size_t count;
    struct table traces;      /* keys: those that are chosen */
    uint64_t errors_left_out; /* spans with errors beyond CHOICE_ERRORS_MAX traces */
};

/* Return 0 or -ENOMEM. */
int choice_make(struct choice *choice, size_t most, int16_t type);
int choice_see(struct choice *choice, const struct otlp_span *span);
int choice_end(struct choice *choice); /* when all were seen */
bool choice_has(const struct choice *choice, const struct otlp_span *span);
void choice_free(struct choice *choice);

#endif
