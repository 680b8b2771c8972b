/* SPDX-License-Identifier: BSD-3-Clause */
/* Text to tree: lexer and recursive-descent parser. Never stops at the first error: it reports and goes on
 * at the next statement or action block. */
#ifndef SPOOR_LANG_PARSE_PARSE_H
#define SPOOR_LANG_PARSE_PARSE_H

#include "lang/ast.h"

struct builtin_table;

/* Positional parameters $1…: also expanded inside attach points. And those with names. */
struct parameters {
    const char *const *values;
    size_t count;
    const char *const *named; /* "--name=value", "--name" */
    size_t named_count;
};

/* Always gives a tree; it is meaningful only if no error was diagnosed. Everything is made in arena and
 * refers to source. Hostile input: nesting is bounded (an error beyond 200 levels). */
struct script *script_parse(struct arena *arena, struct diagnostics *diagnostics, const struct source *source,
                            const struct parameters *parameters);

/* The same with C definitions: what the script defines and includes is added to them, and macros are expanded
 * in predicates and blocks. */
struct c_definitions;
struct script *script_parse_with(struct arena *arena, struct diagnostics *diagnostics,
                                 const struct source *source, const struct parameters *parameters,
                                 struct c_definitions *definitions);

/* The same, and what the script imports is handed to the importer. */
struct script *script_parse_importing(struct arena *arena, struct diagnostics *diagnostics,
                                      const struct source *source, const struct parameters *parameters,
                                      struct c_definitions *definitions, const struct importer *importer);

/* The same for a text that another one imports: its parts go behind those that are in the script. */
void script_parse_more(struct arena *arena, struct diagnostics *diagnostics, struct script *script,
                       const struct source *source, const struct parameters *parameters);
bool script_has_probes(struct diagnostics *diagnostics, const struct script *script); /* or an error */

/* After all texts were parsed: macros are put in the place of their calls (macro.c). */
void script_expand(struct arena *arena, struct diagnostics *diagnostics, struct script *script,
                   const struct builtin_table *builtins);

/* After that: calls of getopt() become constants (getopt.c). */
void script_take_options(struct arena *arena, struct diagnostics *diagnostics, struct script *script,
                         const struct parameters *parameters);

/* One attach point alone: for -l PATTERN and the one-liner commands. NULL after an error. */
struct attach_point *attach_point_parse(struct arena *arena, struct diagnostics *diagnostics,
                                        const struct source *source, const struct parameters *parameters);

#endif
