/* SPDX-License-Identifier: BSD-3-Clause */
/* For the files that write a profile: what their formats share. */
#ifndef SPOOR_PROFILE_LOOK_H
#define SPOOR_PROFILE_LOOK_H

#include "print/xml.h"
#include "profile/tree.h"

/* Appends "12.3%", or "-" where the whole is 0. */
void look_percent(struct text *out, uint64_t part, uint64_t whole);
/* Appends the graph as an <svg> element, without its script and its style if it stands in a page that has them. */
int look_flame(const struct profile *profile, const struct profile_look *look, bool is_in_page,
               struct text *out);

/* How much is in a function itself, and how much in it and in what it calls; a recursive call counts once. */
struct look_function {
    uint32_t function;
    uint64_t self, total, old_self, old_total;
};
/* Makes the list, those with the largest share of their own first, which the caller frees. NULL: no memory. */
struct look_function *look_functions(const struct profile *profile);

#endif
