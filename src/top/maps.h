/* SPDX-License-Identifier: BSD-3-Clause */
/* A source of tables: the maps of a session that runs.
 *
 * Each map is a table; maps without keys whose values are single numbers share one. Maps come in the order in which they
 * matter: aggregations first, those last that the script clears at its end without having printed them, because they are its
 * notes.
 *
 * A script that clears a map every few seconds, as many tools do, would leave nothing to see most of the time: of such a map the
 * last whole period is shown, from one clear() to the next, as it was just before the map was emptied. */
#ifndef SPOOR_TOP_MAPS_H
#define SPOOR_TOP_MAPS_H

#include "session/session.h"
#include "top/table.h"

struct top_maps;

/* Makes the tables of a session that has begun. Returns 0 or -ENOMEM. */
int top_maps_make(struct session *session, uint64_t now, struct top_maps **result);
void top_maps_free(struct top_maps *maps);
/* Reads all maps. Returns 0, or what the host or memory said. */
int top_maps_refresh(struct top_maps *maps, uint64_t now);
struct top_table *top_maps_tables(const struct top_maps *maps, size_t *count);

/* For session_options.watch: a record that empties a map is seen before it does, and print() of a whole map is left out. */
bool top_maps_watch(struct top_maps *maps, const struct action *action, uint64_t now);

/* Appends all maps as `-f json` prints them at the end. Returns 0 or an error. */
int top_maps_save(struct top_maps *maps, struct text *out);

#endif
