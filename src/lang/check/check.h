/* SPDX-License-Identifier: BSD-3-Clause */
/* Types, names, rules. The checker goes over all units until the types of maps and variables settle, then once more
 * to report. It also folds constants, so that literal parameters may be expressions.
 *
 * In a checked tree lowering finds:
 * - node->type is the type of the expression's value.
 * - A NODE_MAP of an aggregation has the integer type that it reads as (symbol->value is the aggregation), except
 *   as the argument of a builtin that takes maps.
 * - A value may be narrower than the variable, map, tuple element or branch that it goes to: lowering converts it.
 * - A char array in traced memory is a string: node->type is string[N], field.found.type the array.
 * - A field with data_loc is a pointer to its first element: the address behind the location.
 * - Pointers have an address space, unless neither their provider nor the probe knows one.
 * - Bare names of builtins are NODE_NAME with name.builtin; enumerators, sizeof and parameters are INTEGER or
 *   STRING.
 * - Elements of tuples are NODE_FIELD without a name, even where the script wrote [1]. */
#ifndef SPOOR_LANG_CHECK_CHECK_H
#define SPOOR_LANG_CHECK_CHECK_H

#include "base/table.h"
#include "lang/ast.h"
#include "lang/context.h"
#include "lang/parse/parse.h"
#include "lang/registry.h"

/* What becomes one program: a copy of an action block with the context of its variant. */
struct check_unit {
    struct node *predicate, *body;
    const struct probe_context *context;
    const char *probe;              /* text for messages */
    struct subprogram *subprograms; /* copies of the functions that it calls, made while it is checked */
};

/* Where types and enumerators come from that the script does not define: the kernel's BTF, debug information.
 * type() and enumerator() return NULL if the name is unknown. It is given as written: "struct task_struct",
 * "pid_t"; the language's own words, such as "uint64", are not looked up. */
struct type_provider {
    void *state;
    const struct type *(*type)(void *state, const char *name);
    const struct type *(*enumerator)(void *state, const char *name, int64_t *value);
    /* Returns a header that was included and is missing, which may be why a name is unknown; NULL: there is none.
     * May be NULL. */
    const char *(*missing_header)(void *state);
    int (*kernel_address)(void *state, const char *symbol, uint64_t *address); /* 0 or -errno; may be NULL */
    /* Returns the type of a variable of the kernel; NULL: it is not described. May be NULL. */
    const struct type *(*kernel_variable)(void *state, const char *name);
    /* Whether the kernel has a function of that name, and whether programs at such a probe may call it. May be
     * NULL. */
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
    uint32_t name_bytes;        /* size of the longest name of a probe or a function, with its NUL */
    enum stack_mode stack_mode; /* the mode of stacks for which the script gives none */
    const struct map_declaration *declarations;
    struct subprogram *subprograms; /* the script's functions, which are copied for units that call them */
    /* Returns the number of the script to which a source belongs, when several run together: maps and functions
     * belong to one script. NULL: there is only one. */
    unsigned (*script_of)(void *state, const struct source *source);
    /* Names of maps that blocks assign to whose probes are all missing; or NULL. */
    const struct table *left_out;
    void *script_state;

    /* The result: all maps of the script, in the order of their first use. map_table finds them by name. */
    struct map_symbol **maps;
    size_t map_count, map_room;
    struct table map_table;
    const char
        *without_types; /* hint where a name is unknown, if the kernel does not tell its own; or NULL */

    /* State of the running pass, which check callbacks of builtins may read: */
    struct check_unit *unit;
    bool is_reporting; /* this is the last pass; before it, diagnostics are dropped */
    bool changed;      /* some type grew in this pass */
    /* how many branches are around the node that never run, because their condition is constant */
    unsigned dead_branches;
    unsigned loop_depth;       /* loops around the node, `unroll` not counted */
    struct check_state *state; /* private to src/lang/check */
    struct table variables;    /* the scratch variables that are in scope, by name */
};

/* Checks units. True if no error was reported: then all nodes have types, and variables and maps have symbols. */
bool check_units(struct checker *checker, struct check_unit *units, size_t count);
void checker_free(struct checker *checker); /* frees the tables; everything else belongs to the arena */

/* Returns what a block reads of its context. Called before there are units. */
struct context_uses check_uses(struct arena *arena, const struct builtin_table *builtins,
                               const struct action_block *block);

/* For check callbacks. An error during a pass that does not report is dropped. */
void check_error(struct checker *checker, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_warning(struct checker *checker, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_hint(struct checker *checker, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds what may have been meant to the latest report; see diagnose_nearest(). */
void check_nearest(struct checker *checker, const struct nearest *nearest, const char *behind);
struct node *check_argument(const struct node *call, unsigned number); /* NULL if it was not given */
const char *check_literal(const struct node *node);                    /* text of NODE_STRING, else NULL */
/* Evaluates an expression that is a constant, also through casts and sizeof. False: it is none. */
bool check_constant(struct checker *checker, const struct node *node, int64_t *value);
/* Replaces the name of a probe or a function, which is a number until it is printed, by its text. False: the node is no
 * such name. */
bool check_name_as_text(struct checker *checker, struct node *node);
/* Whether an argument is a whole map and not one value of it: a NODE_MAP without a key whose map has keys. Only
 * arguments can be that; the type of such a node is type_none. */
bool check_is_whole_map(const struct node *node);
/* Checks an expression that a builtin made of its arguments. Returns its type; NULL while that is unknown or
 * wrong. */
const struct type *check_made(struct checker *checker, struct node *node);
/* Checks a key that is given apart from its map, as in has_key(@m, key), and widens the map's key by it. False
 * after a diagnostic, also if the map has no key. */
bool check_map_key(struct checker *checker, struct map_symbol *map, struct node *key);
/* For builtins whose result is known while the script is compiled: the call becomes that bool once types do not
 * grow any more. */
const struct type *check_answer(struct checker *checker, struct node *call, bool answer);
/* Whether an operation works on signed values: it does if one operand is signed, a shift if its left one is.
 * Literals have been given the sign of the other side. Pointers are unsigned. */
bool check_is_signed(const struct node *binary);
/* Returns the integer type that an aggregation reads as, or any other type itself. NULL: it cannot be read. */
const struct type *check_readable(const struct type *type);
/* Resolves the name of a type as the script writes it; NULL after a diagnostic. */
const struct type *check_type_name(struct checker *checker, const struct type_name *name);

/* Folds the constants of one expression in place, children first: integers, bools, parameters, sizeof. */
void fold(struct checker *checker, struct node *node);

#endif
