/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns over names: `*`, `?`, `[abc]`, `[a-z]`, `[!a]`. No path semantics: `*` matches '/' and a leading
 * '.', too. Runs in O(pattern * text) for every pattern. */
#ifndef SPOOR_SYM_GLOB_H
#define SPOOR_SYM_GLOB_H

#include <stdbool.h>

bool glob_has_wildcard(const char *pattern);
/* pattern NULL matches everything. A '[' that is never closed is an ordinary character. */
bool glob_match(const char *pattern, const char *text);

#endif
