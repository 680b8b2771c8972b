/* SPDX-License-Identifier: BSD-3-Clause */
/* A map that several hosts print, as one: what they have for one key is added up by the rule of its aggregation, as values of
 * several CPUs are. Values that have no such rule - a number that was assigned, a text - are kept apart, with the host as the
 * first key; with --per-host all are. */
#ifndef SPOOR_REMOTE_ROUND_H
#define SPOOR_REMOTE_ROUND_H

#include "remote/signature.h"

struct remote_round;

/* Makes a round for maps of a signature, which lives longer, that are printed as this one is. hosts: the names of the `count` hosts, each
 * of which has keys of its own, in this order, if the signature keeps them apart. Returns NULL if there is no memory. */
struct remote_round *round_new(const struct map_signature *signature, const struct portable_map *map,
                               const char *const *hosts, size_t count);
/* Whether maps of the signature belong to it. is_last: they are of those that are printed when all is over. */
bool round_fits(const struct remote_round *round, const struct map_signature *signature, bool is_last);
bool round_is_last(const struct remote_round *round);
const struct map_signature *round_signature(const struct remote_round *round);
/* Adds what a host has. Returns 0, -ENOMEM, or -EBADMSG if the map refers to texts that are not there. */
int round_add(struct remote_round *round, size_t host, const struct portable_map *map);
/* Prints the map. Before, calls the watchers (NULL: there are none): `emptied`, if it was emptied since it was printed last, and
 * `printed`. Returns 0 or -ENOMEM. */
int round_print(const struct remote_round *round, const struct printer *printer,
                const struct map_watcher *watchers);
void round_free(struct remote_round *round);

#endif
