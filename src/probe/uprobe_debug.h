/* SPDX-License-Identifier: BSD-3-Clause */
/* What debug information adds to uprobe and uretprobe: arguments by name, typed results, functions that only
 * it knows, lines of source. */
#ifndef SPOOR_PROBE_UPROBE_DEBUG_H
#define SPOOR_PROBE_UPROBE_DEBUG_H

#include "probe/program.h"
#include "probe/user.h"

struct uprobe_detail {
    struct user_site user;
    /* The function that is meant where others are inlined into it; NULL: the innermost one. */
    const char *scope;
    /* A pattern found it: such functions return different types, so retval is the register. */
    bool is_one_of_many;
    /* The function's description, which is looked up once. */
    const struct dwarf_function **function;
};

/* The description of the function at a site; NULL: there is none. */
const struct dwarf_function *uprobe_function_of(struct probe_environment *environment,
                                                const struct uprobe_detail *site);
/* args, or retval of a typed function; what the block reads of them must be alike in a variant. */
void uprobe_debug_key(struct probe_environment *environment, const struct context_uses *uses,
                      const struct uprobe_detail *site, bool is_return, struct text *key);
void uprobe_debug_fill(struct probe_environment *environment, const struct context_uses *uses,
                       const struct uprobe_detail *site, bool is_return, struct probe_context *context);
/* "    int fd\n" for each parameter, or for the result. */
void uprobe_debug_list(struct dwarf_file *file, uint64_t address, bool is_return, struct text *details);

#endif
