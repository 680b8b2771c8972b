/* SPDX-License-Identifier: BSD-3-Clause */
/* Families on their way from the processes that run scripts to the one that publishes them. They are written by
 * metric_relay, as by any format, and then written again in the format that a scraper wants. */
#ifndef SPOOR_METRICS_RELAY_H
#define SPOOR_METRICS_RELAY_H

#include "metrics/family.h"

extern const struct metric_format metric_relay;

/* What one process wrote. */
struct metric_part {
    const char
        *script; /* becomes the label `script` of families that have none; NULL: they stay as they are */
    const void *bytes; /* aligned to 8 */
    size_t size;
};

/* Writes the families of all parts in the order of their names, those of one name as one family. A part that is damaged ends
 * where it is, and a family that differs from one of its name is left out: *left_out counts both. Returns 0 or -ENOMEM. */
int metric_relay_write(const struct metric_part *parts, size_t count, struct metric_writer *writer,
                       size_t *left_out);

#endif
