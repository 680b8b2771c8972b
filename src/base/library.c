/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

int library_load(const char *name, const struct library_symbol *symbols, size_t count, struct text *why)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    bool is_whole = library;
    for (size_t i = 0; is_whole && i < count; i++) {
        void *address = dlsym(library, symbols[i].name);
        is_whole = address;
        memcpy(symbols[i].into, &address, sizeof address);
    }
    if (is_whole)
        return 0;
    const char *reason = library ? "it is another version" : dlerror();
    text_add(why, reason ? reason : "it is not there");
    return -ENOENT;
}
