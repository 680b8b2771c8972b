/* SPDX-License-Identifier: BSD-3-Clause */
/* What a script says about a map in a comment. */
#ifndef SPOOR_METRICS_HELP_H
#define SPOOR_METRICS_HELP_H

#include "base/text.h"

/* Appends the comment that belongs to the line with this offset, as one line: the one that stands directly above it, alone
 * in its lines, or else the one at its end. Appends nothing if there is none. */
void metric_help(struct text *out, const char *script, size_t length, size_t offset);

#endif
