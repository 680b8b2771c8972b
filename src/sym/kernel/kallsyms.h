/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel symbols. Read whole at the first question, and again when an address lies in no known symbol of a
 * module loaded since (at most once a second). Where the kernel hides addresses (kptr_restrict) names are
 * known and addresses are not: then resolve and address answer -EPERM. */
#ifndef SPOOR_SYM_KERNEL_KALLSYMS_H
#define SPOOR_SYM_KERNEL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/kernel/tracefs.h"

struct kallsyms;

struct kernel_symbol {
    const char *name;         /* lives as long as kallsyms */
    const char *module;       /* "" for the kernel itself */
    uint64_t address, offset; /* the symbol's start; how far behind it the question was */
};

/* path NULL: /proc/kallsyms. Reads nothing yet. */
int kallsyms_open(const char *path, struct kallsyms **out);
void kallsyms_close(struct kallsyms *kallsyms);

/* 0; -ENOENT: in no symbol; -EPERM: addresses are hidden. Text symbols first, data only where no text is
 * near. */
int kallsyms_resolve(struct kallsyms *kallsyms, uint64_t address, struct kernel_symbol *out);
/* name, or module:name to choose. */
int kallsyms_address(struct kallsyms *kallsyms, const char *name, uint64_t *address);

/* Where the functions lie whose names begin with one of prefixes (NULL at its end): from, to, from, to …,
 * ascending; neighbours are one. *bounds is the caller's. */
int kallsyms_ranges(struct kallsyms *kallsyms, const char *const *prefixes, uint64_t **bounds, size_t *count);

/* Functions that can be probed: from available_filter_functions when tracefs (may be NULL) lets us read it,
 * else every text symbol. Sorted by name, each (name, module) once. Non-zero stops. module is "" for the
 * kernel. */
/* is_shared: other functions of this owner have the name, too. */
typedef int kallsyms_visitor(void *context, const char *name, const char *module, bool is_shared);
int kallsyms_each_function(struct kallsyms *kallsyms, const struct tracefs *tracefs, const char *pattern,
                           kallsyms_visitor *visit, void *context);
/* True: the last walk came from available_filter_functions, so every name can really be probed. */
bool kallsyms_is_exact(const struct kallsyms *kallsyms);

#endif
