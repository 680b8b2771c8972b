/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a map of a host: reads it, sums over the CPUs, hands it to print_map. */
#ifndef SPOOR_PRINT_SNAPSHOT_H
#define SPOOR_PRINT_SNAPSHOT_H

#include "bpf/host.h"
#include "print/map.h"

/* 0; -ENOMEM; or what the host said. At the end of a trace (is_last) a map without a key is passed over
 * if it is an aggregation that nothing was added to, or if the script emptied it and nothing but zeros came after.
 * Counts, sums and numbers that the script leaves alone print their 0. */
int snapshot_print(struct printer *printer, struct host *host, const struct image *image, size_t map,
                   uint64_t top, uint64_t divisor, bool is_last);
/* Hands out the map as it is now. Returns 0, -ENOMEM, or the host's error. */
typedef void snapshot_visitor(void *state, const struct map_snapshot *snapshot);
int snapshot_read(struct host *host, const struct image *image, size_t map, snapshot_visitor *visit,
                  void *state);
/* Visits the map's entries through map_snapshot_each(). Returns 0, -ENOMEM, or the host's error. */
int snapshot_each(struct host *host, const struct image *image, size_t map, uint64_t top, map_visitor *visit,
                  void *state);

#endif
