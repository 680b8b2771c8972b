/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads a library when something is asked for that needs it, so that nothing else pays for it. */
#ifndef SPOOR_BASE_LIBRARY_H
#define SPOOR_BASE_LIBRARY_H

#include <stddef.h>

#include "base/text.h"

struct library_symbol {
    const char *name;
    void *into; /* the pointer that gets the address of the function or of the data */
};

/* Loads a library and finds all of its symbols. It stays loaded. Returns 0, or -ENOENT with the reason in *why. */
int library_load(const char *name, const struct library_symbol *symbols, size_t count, struct text *why);

#endif
