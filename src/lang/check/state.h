/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to src/lang/check: what the parts of the checker share.
 *
 * Types only grow. Three phases make the outcome independent of the order of the script. In the first, literals say
 * nothing about a variable or map whose type is unknown otherwise, so that `$x = 0; $x = nsecs;` makes a uint64. In
 * the second they do. In the third, what was declared and never assigned becomes an int64. The last pass reports. */
#ifndef SPOOR_LANG_CHECK_STATE_H
#define SPOOR_LANG_CHECK_STATE_H

#include "lang/check/check.h"

enum { MAP_ENTRIES_MAX = 16 << 20 };

enum check_phase { PHASE_OPEN, PHASE_LITERALS, PHASE_DEFAULTS };

/* A type that is being found out: that of a variable, of a map's key or of a map's value. */
struct slot {
    const struct type **type;
    bool *number_pending; /* a literal number was assigned: only a number can be its type */
};

struct scratch {
    struct variable variable; /* first: node->variable.symbol points here */
    unsigned callbacks;       /* loop bodies around its declaration */
    bool number_pending;
};

struct map_state {
    struct map_symbol symbol; /* first: node->map.symbol points here */
    bool is_keyed;            /* valid if symbol.key_known is set; symbol.key may still be unknown */
    bool key_pending, value_pending;
    bool has_value_span;
};

struct check_state {
    enum check_phase phase;
    struct scratch **visible; /* in order of declaration; a scope is a range of them */
    size_t visible_count, visible_room;
    size_t scope_begin; /* index in `visible` of the first one of the innermost scope */
    unsigned callbacks; /* how many loop bodies, which become callbacks, are around the node */
    unsigned depth;
    struct subprogram *subprogram; /* the function whose body is checked; NULL: it is the unit's block */
    bool is_deciding;              /* in this pass what is `comptime` becomes a constant */
    bool has_decided;
    unsigned comptime;  /* how many `comptime` are around the node */
    bool is_unresolved; /* the reporting pass met a type that is still unknown */
    struct span unresolved;
};

/* check/expression.c. Functions that check a node return the type that they have put into it, NULL while it is
 * unknown or wrong. */
const struct type *check_expression(struct checker *checker, struct node *node);
/* An expression whose value is used: not type_none, and no aggregation that cannot be read. */
const struct type *check_value(struct checker *checker, struct node *node);
/* Checks a condition; `what` names it in messages: "if()". */
void check_condition(struct checker *checker, struct node *node, const char *what);
const struct type *check_string_type(struct checker *checker, const struct node *node, uint32_t capacity);
const struct type *check_pointer_type(struct checker *checker, const struct node *node,
                                      const struct type *target, enum address_space space);
bool check_is_literal_number(const struct node *node); /* one without a sign of its own: 5, but not -5 */

/* check/operator.c */
const struct type *check_unary(struct checker *checker, struct node *node);
const struct type *check_binary(struct checker *checker, struct node *node);
/* Returns the type of `left op right`; messages carry the span of `node`. */
const struct type *check_operation(struct checker *checker, struct node *node, enum operator op,
                                   struct node *left, struct node *right);

/* check/access.c */
const struct type *check_field(struct checker *checker, struct node *node);
const struct type *check_index(struct checker *checker, struct node *node);
const struct type *check_dereference(struct checker *checker, struct node *node);
const struct type *check_address(struct checker *checker, struct node *node);
/* Adds a hint about which field may be meant, after one of that name was not found. */
void check_hint_field(struct checker *checker, const struct type *object, const char *name);
enum address_space check_context_space(const struct checker *checker);

/* check/type.c */
const struct type *check_cast(struct checker *checker, struct node *node);
const struct type *check_sizeof(struct checker *checker, struct node *node);
const struct type *check_offsetof(struct checker *checker, struct node *node);
const struct type *check_typeof(struct checker *checker, struct node *node);
const struct type *check_typeinfo(struct checker *checker, struct node *node);
const struct type *check_comptime(struct checker *checker, struct node *node);
/* Whether expressions that depend on types become constants now, because types do not grow any more. */
bool check_folds_types(const struct checker *checker);

/* check/call.c */
const struct type *check_call(struct checker *checker, struct node *node);
const struct type *check_name(struct checker *checker, struct node *node);
bool check_is_aggregation_call(struct checker *checker, const struct node *node);
const struct type *check_aggregation_call(struct checker *checker, struct node *node);

/* check/store.c */
const struct type *check_variable(struct checker *checker, struct node *node);
/* checks a map whose value is read */
const struct type *check_map(struct checker *checker, struct node *node);
const struct type *check_map_argument(struct checker *checker, struct node *node, bool whole_only);
const struct type *check_assign(struct checker *checker, struct node *node);
const struct type *check_step(struct checker *checker, struct node *node);
void check_let(struct checker *checker, struct node *node);
struct scratch *check_declare(struct checker *checker, struct node *node);
void check_variable_grow(struct checker *checker, struct scratch *scratch, const struct type *type);
/* it is known, and no element of it waits for something else than a literal */
bool check_is_settled(const struct type *type);
struct map_state *check_map_symbol(struct checker *checker, struct node *node);
void check_declarations(struct checker *checker);
/* Returns the key under which tables have the map or function that is named at a span: where several scripts run
 * together, each has its own. */
const char *check_identity(struct checker *checker, const char *name, struct span span);
/* Puts a value into a table. If memory runs out, it leaves the work as an allocation from the arena does. */
void check_put(struct checker *checker, struct table *table, const char *name, void *value);
const char *check_where(struct checker *checker, struct span span); /* "script.bt:3:7" */

static inline unsigned check_script_of(const struct checker *checker, struct span span)
{
    return checker->script_of ? checker->script_of(checker->script_state, span.source) : 0;
}

/* check/subprogram.c */
struct subprogram *check_find_subprogram(struct checker *checker,
                                         const struct node *call); /* this unit's copy */
const struct type *check_subprogram_call(struct checker *checker, struct node *node,
                                         struct subprogram *subprogram);
void check_subprogram(struct checker *checker, struct subprogram *subprogram);
void check_subprograms(struct checker *checker);
void check_result(struct checker *checker, struct node *node);

/* check.c */
size_t check_scope_enter(struct checker *checker);
void check_scope_leave(struct checker *checker, size_t outer);
void check_block(struct checker *checker, struct node *block);
const struct type *check_block_value(struct checker *checker, struct node *block);
void check_unresolved(struct checker *checker, struct span span);
/* Whether a hint for the last error would be printed; else it need not be looked for. */
bool check_takes_hint(const struct checker *checker);

/* fold.c: folds one node whose children have been folded. */
void fold_node(struct checker *checker, struct node *node);
/* Makes a literal text that is used as a condition true, or false if it is empty. */
void fold_text_condition(struct node *node);
struct constant {
    uint64_t value;
    bool is_unsigned; /* a value above INT64_MAX, or of an unsigned type */
    uint32_t size;    /* bytes of its type; 0: it is a literal, which has none */
};
bool fold_constant(const struct node *node, struct constant *constant);
const struct type *fold_literal_type(const struct node *node); /* the type of a NODE_INTEGER */

/* Replaces a node in the tree by one of its children. */
void fold_to_child(struct node *node, const struct node *child);
/* Makes a node a constant in place; its span and its link in a list stay. */
void fold_to_integer(struct node *node, uint64_t value, bool is_unsigned, const struct type *as_enum);

#endif
