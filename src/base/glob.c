/* SPDX-License-Identifier: BSD-3-Clause */
/* The classic walk with two positions: after a mismatch it goes back only to the last star, so that no pattern
 * takes exponential time. */
#include "base/glob.h"

#include <stddef.h>
#include <string.h>

bool glob_has_wildcard(const char *pattern)
{
    if (strpbrk(pattern, "*?"))
        return true;
    const char *open = strchr(pattern, '[');
    return open && open[1] && strchr(open + 2, ']');
}

/* Matches c against the set at pattern ("[...]"). *next is behind it; NULL when the set is never closed. */
static bool glob_set(const char *pattern, unsigned char c, const char **next)
{
    const char *at = pattern + 1;
    bool negated = *at == '!' || *at == '^', found = false;
    at += negated;
    const char *first = at;
    for (; *at && (*at != ']' || at == first); at++) {
        unsigned char low = *at, high = low;
        if (at[1] == '-' && at[2] && at[2] != ']') {
            high = at[2];
            at += 2;
        }
        found |= low <= c && c <= high;
    }
    *next = *at ? at + 1 : NULL;
    return found != negated;
}

bool glob_match(const char *pattern, const char *text)
{
    if (!pattern)
        return true;
    const char *star = NULL, *retry = NULL;
    while (*text) {
        const char *next;
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
            continue;
        }
        if (*pattern == '[') {
            bool in = glob_set(pattern, *text, &next);
            if (!next) {
                in = *text == '[';
                next = pattern + 1;
            }
            if (in) {
                pattern = next;
                text++;
                continue;
            }
        } else if (*pattern && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
            continue;
        }
        if (!star)
            return false;
        pattern = star;
        text = ++retry;
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
