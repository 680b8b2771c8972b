/* SPDX-License-Identifier: BSD-3-Clause */
/* Text to tree: lexer and recursive-descent parser. Never stops at the first error: it reports and goes on
 * at the next statement or action block. */
#ifndef SPOOR_LANG_PARSE_H
#define SPOOR_LANG_PARSE_H

#include "lang/ast.h"

/* Positional parameters $1…: also expanded inside attach points. */
struct parameters {
    const char *const *values;
    size_t count;
};

/* Always gives a tree; it is meaningful only if no error was diagnosed. Everything is made in arena and
 * refers to source. Hostile input: nesting is bounded (an error beyond 200 levels). */
struct script *script_parse(struct arena *arena, struct diagnostics *diagnostics, const struct source *source,
                            const struct parameters *parameters);

/* One attach point alone: for -l PATTERN and the one-liner commands. NULL after an error. */
struct attach_point *attach_point_parse(struct arena *arena, struct diagnostics *diagnostics,
                                        const struct source *source, const struct parameters *parameters);

#endif
