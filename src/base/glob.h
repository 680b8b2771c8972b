/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of names: `*`, `?`, `[abc]`, `[a-z]`, `[!a]`. They are not patterns of paths: `*` matches '/' and a
 * leading '.', too. Every pattern takes O(pattern * text). */
#ifndef SPOOR_SYM_GLOB_H
#define SPOOR_SYM_GLOB_H

#include <stdbool.h>

bool glob_has_wildcard(const char *pattern);
/* pattern NULL matches everything. A '[' that is never closed is an ordinary character. */
bool glob_match(const char *pattern, const char *text);

#endif
