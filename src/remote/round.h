/* SPDX-License-Identifier: BSD-3-Clause */
/* A map that several hosts print, as one: what they have for one key is added up by the rule of its aggregation, as values of
 * several CPUs are. Values that have no such rule - a number that was assigned, a text - are kept apart, with the host as the
 * first key; with --per-host all are. */
#ifndef SPOOR_REMOTE_ROUND_H
#define SPOOR_REMOTE_ROUND_H

#include "remote/portable.h"

struct remote_round;

/* Makes a round for maps like that in the message, whose types are made anew. hosts: each of these `count` hosts has keys of
 * its own, in this order; NULL: they are added up. Returns NULL if there is no memory. */
struct remote_round *round_new(const struct builtin_table *builtins, struct cursor message,
                               const char *const *hosts, size_t count);
/* Whether a map belongs to it: name and types are the same. */
bool round_fits(const struct remote_round *round, const struct portable_map *map);
/* Whether it is of those that are printed when all is over. */
bool round_is_last(const struct remote_round *round);
bool round_is_called(const struct remote_round *round, const char *name);
/* Adds what a host has. Returns 0, -ENOMEM, or -EBADMSG if the map refers to texts that are not there. */
int round_add(struct remote_round *round, size_t host, const struct portable_map *map);
/* Prints it. Returns 0 or -ENOMEM. */
int round_print(const struct remote_round *round, struct printer *printer);
void round_free(struct remote_round *round);

#endif
