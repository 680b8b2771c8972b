/* SPDX-License-Identifier: BSD-3-Clause */
/* From text to tree: lexer and recursive-descent parser. It never stops at the first error, but reports it and goes
 * on at the next statement or action block. */
#ifndef SPOOR_LANG_PARSE_PARSE_H
#define SPOOR_LANG_PARSE_PARSE_H

#include "lang/ast.h"

struct builtin_table;

/* Parameters of the script: positional ones, $1…, which are expanded inside of attach points, too, and named ones. */
struct parameters {
    const char *const *values;
    size_t count;
    const char *const *named; /* "--name=value", "--name" */
    size_t named_count;
    const char *tool; /* of a tool that runs by its name: what it does not look at is refused; else NULL */
};

/* Parses a script. Always returns a tree, which is meaningful only if no error was reported. It is made in the
 * arena and refers to the source. The input may be hostile: nesting is bounded (an error beyond 200 levels). */
struct script *script_parse(struct arena *arena, struct diagnostics *diagnostics, const struct source *source,
                            const struct parameters *parameters);

/* As script_parse(), with C definitions: what the script defines and includes is added to them, and macros are
 * expanded in predicates and blocks. */
struct c_definitions;
struct script *script_parse_with(struct arena *arena, struct diagnostics *diagnostics,
                                 const struct source *source, const struct parameters *parameters,
                                 struct c_definitions *definitions);

/* As script_parse_with(); what the script imports is handed to the importer. */
struct script *script_parse_importing(struct arena *arena, struct diagnostics *diagnostics,
                                      const struct source *source, const struct parameters *parameters,
                                      struct c_definitions *definitions, const struct importer *importer);

/* Parses a text that a script imports, and appends its parts to those of the script. */
void script_parse_more(struct arena *arena, struct diagnostics *diagnostics, struct script *script,
                       const struct source *source, const struct parameters *parameters);
/* False after an error: there are none */
bool script_has_probes(struct diagnostics *diagnostics, const struct script *script);

/* Puts the bodies of macros in the place of their calls (macro.c). To be called when all texts have been parsed. */
void script_expand(struct arena *arena, struct diagnostics *diagnostics, struct script *script,
                   const struct builtin_table *builtins);

/* Puts constants in the place of calls of getopt() (getopt.c). To be called after script_expand(). */
void script_take_options(struct arena *arena, struct diagnostics *diagnostics, struct script *script,
                         const struct parameters *parameters);

/* Parses one attach point alone, for -l PATTERN and the one-liner commands. NULL after an error. */
struct attach_point *attach_point_parse(struct arena *arena, struct diagnostics *diagnostics,
                                        const struct source *source, const struct parameters *parameters);

#endif
