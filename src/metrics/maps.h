/* SPDX-License-Identifier: BSD-3-Clause */
/* The maps of a running session as families of metrics: one family for each map whose values are numbers, one series for
 * each of its keys.
 *
 * Counters never go back: what a map has when the script empties it, by clear() or zero(), is kept and added to what comes
 * after. Such a series vanishes when its key has not come again for METRIC_STALE_S seconds, that of a key that was deleted
 * at the next reading. A key that comes again begins a new series, with another time of creation. Keys
 * with the same labels are one series, which goes on, with what was read of each, until all of them are deleted.
 *
 * The number of series is bounded. Keys beyond it are left out, and counted. */
#ifndef SPOOR_METRICS_MAPS_H
#define SPOOR_METRICS_MAPS_H

#include "base/table.h"
#include "metrics/family.h"
#include "session/session.h"

enum { METRIC_STALE_S = 300 };

struct metric_maps;

/* Makes the families of a session that was compiled. script: its name, of which the names are made. Names in `taken` are
 * not used, and the families' names are put there. Returns 0 or -ENOMEM. */
int metric_maps_make(struct session *session, const char *script, size_t series_max, struct table *taken,
                     struct metric_maps **result);
/* Whether this map is a family. */
bool metric_maps_has(const struct metric_maps *maps, const char *name, size_t length);
void metric_maps_free(struct metric_maps *maps);
/* Reads all maps and writes them. now: of the monotonic clock, ns. Returns 0, -ENOMEM, or what the host said. */
int metric_maps_write(struct metric_maps *maps, uint64_t now, struct metric_writer *writer);
/* To be called before the map of this name in the image is emptied. Returns 0 or an error: what the map counted is then
 * missing. */
int metric_maps_emptied(struct metric_maps *maps, uint64_t now, const char *name);

#endif
