/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the pieces of an attach point: numbers, durations, NAME+OFFSET, and the messages that all kinds
 * share. Piece 0 is the kind's name. */
#ifndef SPOOR_PROBE_POINT_H
#define SPOOR_PROBE_POINT_H

#include "probe/kind.h"

/* The text of piece n, NULL when it is missing or empty. */
const char *point_piece(const struct attach_point *point, size_t n);
/* The span of piece n; of the whole point if there is none. */
struct span point_span(const struct attach_point *point, size_t n);
/* "kind:piece:piece" with the kind's full name. */
const char *point_name(struct probe_environment *environment, const char *kind,
                       const struct attach_point *point);

/* Reads a number: decimal, 0x… or octal. False if it is none, or if something follows. */
bool point_number(const char *text, uint64_t *value);
/* A number with ns, us, ms, s, m, h or d behind it, or nothing (ns). False also on overflow. */
bool point_duration(const char *text, uint64_t *nanoseconds);
/* "name+16" is name and 16; a name alone has offset 0. A '+' without a number behind it belongs to the
 * name. The name is made in the arena. */
const char *point_split_offset(struct probe_environment *environment, const char *text, uint64_t *offset);
/* Whether piece n has wildcards and is not quoted. */
bool point_is_pattern(const struct attach_point *point, size_t n);
/* The pattern for glob_match that piece n means: quoted text matches only itself, NULL matches all. */
bool point_matches(const struct attach_point *point, size_t n, const char *text);

/* Whether the number of pieces after the kind is from `least` to `most`; if not, a diagnostic says what is wanted. */
bool point_count(struct probe_environment *environment, const struct probe_kind *kind,
                 const struct attach_point *point, size_t least, size_t most);
/* -ENOENT with "No matches for KIND REST." and, if something is near, a hint that names it. */
int point_no_match(struct probe_environment *environment, const struct probe_kind *kind,
                   const struct attach_point *point, const struct nearest *nearest);

#endif
