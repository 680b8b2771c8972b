/* SPDX-License-Identifier: BSD-3-Clause */
/* Types, names, rules. The checker goes over all units until the types of maps and variables settle, then
 * once more to report; it also folds constants, so that literal parameters may be expressions.
 *
 * What lowering finds in a checked tree:
 *   node->type is the type of the expression's value. A NODE_MAP whose map aggregates has the integer type
 * that it reads as (its symbol->value tells the aggregation), except as argument of a builtin that takes
 * maps. A value may be narrower than the variable, map, tuple element or branch that it goes to: convert. A
 * char array in traced memory is a string: node->type is string[N], field.found.type the array. A field with
 * data_loc is a pointer to its first element: the address behind the location. Pointers have an address
 * space, unless neither their provider nor the probe knows one. Builtins' bare names are NODE_NAME with
 * name.builtin; enumerators, sizeof and parameters are INTEGER or STRING. Tuple elements are NODE_FIELD
 * without a name, also where the script wrote [1]. */
#ifndef SPOOR_LANG_CHECK_CHECK_H
#define SPOOR_LANG_CHECK_CHECK_H

#include "base/table.h"
#include "lang/ast.h"
#include "lang/context.h"
#include "lang/parse/parse.h"
#include "lang/registry.h"

/* One program to be: a copy of an action block with the context of its variant. */
struct check_unit {
    struct node *predicate, *body;
    const struct probe_context *context;
    const char *probe;              /* text for messages */
    uint32_t longest_name;          /* characters: of its probes, and their functions */
    struct subprogram *subprograms; /* copies of those that it calls: made while it is checked */
};

/* Where names of types and enumerators outside the script come from (kernel BTF, debug information). Both
 * return NULL for unknown. name is as written: "struct task_struct", "pid_t", "uint64" is not asked. */
struct type_provider {
    void *state;
    const struct type *(*type)(void *state, const char *name);
    const struct type *(*enumerator)(void *state, const char *name, int64_t *value);
    /* Why a name may be unknown: a header that was included and is not there; NULL: none. May be NULL. */
    const char *(*missing_header)(void *state);
    int (*kernel_address)(void *state, const char *symbol, uint64_t *address); /* 0 or -errno; may be NULL */
    /* Of a variable of the kernel; NULL: it is not described. May be NULL. */
    const struct type *(*kernel_variable)(void *state, const char *name);
    /* Is there such a function; may programs at such a probe call it. May be NULL. */
    bool (*kernel_function)(void *state, const char *name);
    bool (*kernel_function_allowed)(void *state, const char *name, const struct probe_context *context);
};

struct checker {
    struct arena *arena;
    struct diagnostics *diagnostics;
    const struct builtin_table *builtins;
    const struct type_provider *provider; /* or NULL */
    const struct parameters *parameters;
    bool is_unsafe;             /* --unsafe */
    bool has_command;           /* -c */
    uint32_t max_strlen;        /* capacity of str() and friends: 1024 */
    enum stack_mode stack_mode; /* of stacks without one */
    const struct map_declaration *declarations;
    struct subprogram *subprograms; /* of the script: copied for units that call them */
    /* Of several scripts that run together: whose text it is. Maps and functions belong to one. NULL: there
     * is one. */
    unsigned (*script_of)(void *state, const struct source *source);
    const struct table
        *left_out; /* names of maps that blocks assign to whose probes are all missing; or NULL */
    void *script_state;

    /* result: all maps of the script, in order of first use; map_table finds by name */
    struct map_symbol **maps;
    size_t map_count, map_room;
    struct table map_table;
    const char
        *without_types; /* hint where a name is unknown, if the kernel does not tell its own; or NULL */

    /* of the running pass; builtins' check callbacks may read them */
    struct check_unit *unit;
    bool is_reporting;         /* the last pass: diagnose; before, errors are kept back */
    bool changed;              /* some type grew in this pass */
    unsigned dead_branches;    /* of conditions that are constant: what around the node never runs */
    unsigned loop_depth;       /* loops around the node, `unroll` not counted */
    struct check_state *state; /* private to check*.c */
    struct table variables;    /* scratch variables that can be seen now, by name */
};

/* True when no error was diagnosed. Types are then in all nodes, symbols in variables and maps. */
bool check_units(struct checker *checker, struct check_unit *units, size_t count);
void checker_free(struct checker *checker); /* the table; the rest is the arena's */

/* Before there are units: what the block reads of its context. */
struct context_uses check_uses(struct arena *arena, const struct builtin_table *builtins,
                               const struct action_block *block);

/* For check callbacks. An error during a pass that does not report is dropped. */
void check_error(struct checker *checker, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_warning(struct checker *checker, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_hint(struct checker *checker, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct node *check_argument(const struct node *call, unsigned number); /* NULL: not given */
const char *check_literal(const struct node *node);                    /* text of NODE_STRING, else NULL */
/* The constant that an expression is, seen through casts and sizeof. False: it is none. */
bool check_constant(struct checker *checker, const struct node *node, int64_t *value);
/* An argument that stands for all of a map and not for one value: a NODE_MAP without key whose map is keyed.
 * Only arguments can be that; the type of such a node is type_none. */
bool check_is_whole_map(const struct node *node);
/* Checks an expression that a builtin made of its arguments; its type, NULL while that is unknown or wrong.
 */
const struct type *check_made(struct checker *checker, struct node *node);
/* Types a key that was given apart from its map, as in has_key(@m, key), and widens the map's key by it.
 * False after a diagnostic, also when the map has no key. */
bool check_map_key(struct checker *checker, struct map_symbol *map, struct node *key);
/* For builtins that are answered while the script is compiled: the call becomes that bool once no type grows
 * any more. */
const struct type *check_answer(struct checker *checker, struct node *call, bool answer);
/* Whether an operation works on signed values: when one operand is signed; a shift when its left one is.
 * Literals were given the sign of the other side. Pointers are unsigned. */
bool check_is_signed(const struct node *binary);
/* The integer type that an aggregation reads as; other types are themselves. NULL: it cannot be read. */
const struct type *check_readable(const struct type *type);
/* Resolves a type name as the script writes it; NULL after a diagnostic. */
const struct type *check_type_name(struct checker *checker, const struct type_name *name);

/* Constant folding of one expression, children first, in place: integers, bools, parameters, sizeof. */
void fold(struct checker *checker, struct node *node);

#endif
