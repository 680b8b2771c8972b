/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel symbols. All are read at the first look-up, and again when an address is in no known symbol of a module
 * that was loaded since (at most once a second). Where the kernel hides addresses (kptr_restrict) only names are
 * known, and look-ups of addresses return -EPERM. */
#ifndef SPOOR_SYM_KERNEL_KALLSYMS_H
#define SPOOR_SYM_KERNEL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/kernel/tracefs.h"

struct kallsyms;

struct kernel_symbol {
    const char *name;         /* valid as long as kallsyms */
    const char *module;       /* "" for the kernel itself */
    uint64_t address, offset; /* the symbol's beginning, and how far behind it the address is */
};

/* Opens kernel symbols; path NULL: /proc/kallsyms. Nothing is read yet. */
int kallsyms_open(const char *path, struct kallsyms **out);
void kallsyms_close(struct kallsyms *kallsyms);

/* Finds the symbol of an address: a text symbol if one is near, else data. Returns 0; -ENOENT: it is in none;
 * -EPERM: addresses are hidden. */
int kallsyms_resolve(struct kallsyms *kallsyms, uint64_t address, struct kernel_symbol *out);
/* Finds the address of a name, or of module:name to choose among several. */
int kallsyms_address(struct kallsyms *kallsyms, const char *name, uint64_t *address);

/* Finds the address ranges of functions whose names begin with one of the prefixes (NULL at its end): from, to,
 * from, to …, ascending, with neighbours joined. The caller frees *bounds. */
int kallsyms_ranges(struct kallsyms *kallsyms, const char *const *prefixes, uint64_t **bounds, size_t *count);

/* Calls `visit` for functions that can be probed: those in available_filter_functions if tracefs (may be NULL) can
 * be read, else every text symbol. They are sorted by name, with each (name, module) once; module is "" for the
 * kernel itself. An answer that is not 0 ends the walk. */
/* is_shared: other functions of the kernel, or of this module, have the same name. */
typedef int kallsyms_visitor(void *context, const char *name, const char *module, bool is_shared);
int kallsyms_each_function(struct kallsyms *kallsyms, const struct tracefs *tracefs, const char *pattern,
                           kallsyms_visitor *visit, void *context);
/* Whether the last walk came from available_filter_functions, so that every name can really be probed. */
bool kallsyms_is_exact(const struct kallsyms *kallsyms);

#endif
