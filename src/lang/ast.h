/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of a script. The parser makes it, the checker puts types and resolutions into it, folding
 * replaces nodes by constants, lowering reads it. Each kind of node uses its own member of the union.
 *
 * Forms that are not obvious:
 *   a statement that is an expression, also an assignment or a step, is an EXPRESSION with that operand;
 *   `_ = e;` is an EXPRESSION whose unary.is_silent is set;
 *   `a ?: b` is a TERNARY whose yes is the very node condition: evaluate it once;
 *   `else if` is a `no` block that holds one IF;
 *   `@m[a, b]` and `@m[(a, b)]` are the same tree: the key is a TUPLE;
 *   `sizeof(x)` with a lone word that may be a type or a value has both cast.operand (a NAME) and cast.name;
 *   `-1` is a UNARY of an INTEGER until it is folded.
 * Depth is bounded (TREE_NESTING, TREE_CHAIN), so that going over a tree may recurse. */
#ifndef SPOOR_LANG_AST_H
#define SPOOR_LANG_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diagnostic.h"
#include "type/type.h"

struct builtin;
struct node;

/* The parser refuses what nests deeper; and more chained operators, postfixes and `else if`s than this in
 * one statement (its blocks included along the way down). */
enum { TREE_NESTING = 200, TREE_CHAIN = 1000 };

enum node_kind {
    /* expressions */
    NODE_INTEGER,   /* integer: also folded enum constants and sizeof */
    NODE_BOOL,      /* integer is 0 or 1 */
    NODE_STRING,    /* string */
    NODE_NAME,      /* name: a builtin without parentheses, or an enumerator */
    NODE_VARIABLE,  /* variable: $x */
    NODE_MAP,       /* map: @m, @m[key] */
    NODE_PARAMETER, /* integer: N of $N; 0 is $#. Folding makes it INTEGER or STRING */
    NODE_CALL,      /* call */
    NODE_UNARY,     /* unary: ! ~ - * & */
    NODE_BINARY,    /* binary */
    NODE_TERNARY,   /* ternary */
    NODE_ASSIGN,    /* assign: = and compound */
    NODE_STEP,      /* step: ++ -- before or after a variable or map */
    NODE_FIELD,     /* field: a.b, a->b, tuple.0 */
    NODE_INDEX,     /* binary.left[binary.right] */
    NODE_CAST,      /* cast */
    NODE_TUPLE,     /* list */
    NODE_SIZEOF,    /* cast: of a type, or of the operand */
    /* statements */
    NODE_EXPRESSION, /* unary.operand, value discarded */
    NODE_LET,        /* let */
    NODE_BLOCK,      /* list */
    NODE_IF,         /* ternary: condition, yes, no (blocks; no may be NULL) */
    NODE_WHILE,      /* loop: condition, body */
    NODE_FOR_RANGE,  /* loop: variable, from, to, body */
    NODE_FOR_MAP,    /* loop: variable, map, body */
    NODE_UNROLL,     /* loop: from = the count, body */
    NODE_BREAK,
    NODE_CONTINUE,
    NODE_RETURN,     /* unary.operand or NULL */
};

/* Operators of UNARY, BINARY, ASSIGN (OPERATOR_NONE: plain =) and STEP (ADD, SUB). */
enum operator {
    OPERATOR_NONE,
    OPERATOR_ADD, OPERATOR_SUB, OPERATOR_MUL, OPERATOR_DIV, OPERATOR_MOD,
    OPERATOR_AND, OPERATOR_OR, OPERATOR_XOR, OPERATOR_SHL, OPERATOR_SHR,
    OPERATOR_EQ, OPERATOR_NE, OPERATOR_LT, OPERATOR_LE, OPERATOR_GT, OPERATOR_GE,
    OPERATOR_LOGICAL_AND, OPERATOR_LOGICAL_OR,
    OPERATOR_NOT, OPERATOR_COMPLEMENT, OPERATOR_NEGATE, OPERATOR_DEREFERENCE, OPERATOR_ADDRESS,
};
const char *operator_text(enum operator op); /* "+", "<<=" without "=", "!" … */

/* A scratch variable, one per declaration. */
struct variable {
    const char *name;         /* with the $ */
    const struct type *type;  /* NULL until known */
    bool is_declared;         /* by let: the type may be fixed */
    bool type_fixed;
    struct place place;
    const void *scope;        /* of the checker */
    bool captured;            /* used inside a loop body that becomes a callback, and made outside of it */
    int32_t slot;             /* of lowering */
    void *lowered;            /* of lowering */
};

/* A map of the script, one per name. */
struct map_symbol {
    const char *name;          /* with the @ */
    const struct type *key;    /* NULL: keyless, or not known yet */
    const struct type *value;  /* NULL: not known yet */
    bool key_known;            /* some use told whether it has a key */
    struct place first;        /* first use, for messages */
    struct place key_place, value_place; /* where key and value got their types */
    int index;                 /* in the image; -1 before lowering */
    uint32_t max_entries;      /* 0: the default */
    bool is_written, is_read;
};

struct node_list {
    struct node *first, *last; /* linked by next */
    uint32_t count;
};

/* A type as the script writes it: "uint64", "struct task_struct *", "int8[4]". Resolved by the checker. */
struct type_name {
    const char *name;       /* "uint64", "struct x", "x" */
    uint32_t pointers;      /* number of * after it */
    uint32_t array;         /* 0: none; [] alone: UINT32_MAX */
    struct place place;
};

struct node {
    enum node_kind kind;
    struct place place;
    const struct type *type; /* of an expression after checking; type_none for statements */
    struct node *next;       /* in a list */
    union {
        struct {
            uint64_t value;       /* two's complement */
            bool is_unsigned;     /* literal above INT64_MAX */
            const struct type *as_enum; /* an enumerator's type, or NULL */
        } integer;
        struct {
            const char *text; /* may hold NULs */
            size_t length;
        } string;
        struct {
            const char *name;
            const struct builtin *builtin; /* after checking, or NULL */
            uint32_t number;               /* N of argN */
        } name;
        struct {
            const char *name;
            struct variable *symbol;
        } variable;
        struct {
            const char *name;
            struct map_symbol *symbol;
            struct node *key; /* one expression; several keys are a TUPLE; NULL: none */
        } map;
        struct {
            const char *name;
            struct node_list arguments;
            const struct builtin *builtin;
            void *data; /* of the builtin: e.g. its parsed format */
        } call;
        struct {
            enum operator op;
            bool is_silent; /* EXPRESSION: `_ = operand;` */
            struct node *operand;
        } unary;
        struct {
            enum operator op;
            struct node *left, *right;
        } binary;
        struct {
            struct node *condition, *yes, *no;
        } ternary;
        struct {
            enum operator op;
            struct node *target, *value; /* target: VARIABLE or MAP */
        } assign;
        struct {
            enum operator op;
            bool is_prefix;
            struct node *target;
        } step;
        struct {
            struct node *object;
            const char *name;  /* field name, or NULL: tuple element */
            uint32_t element;
            struct field found; /* after checking */
        } field;
        struct {
            struct type_name name;
            struct node *operand;
            const struct type *target; /* after checking */
        } cast;
        struct {
            struct node *target; /* VARIABLE */
            bool has_type;
            struct type_name type_name;
            struct node *value;  /* or NULL */
        } let;
        struct node_list list;
        struct {
            struct node *variable; /* VARIABLE */
            struct node *from, *to;
            struct node *map;      /* NODE_MAP without key */
            struct node *condition;
            struct node *body;     /* BLOCK */
        } loop;
    };
};

struct attach_piece { /* text between colons; quotes removed, $N replaced */
    const char *text;
    struct place place;
    bool quoted;
};
struct attach_point { /* kind:piece:piece… */
    struct place place;
    const char *text; /* as written, for messages */
    struct attach_piece *pieces;
    size_t piece_count, piece_room;
    struct attach_point *next;
};

struct action_block {
    struct place place;
    struct attach_point *attach_points;
    struct node *predicate; /* or NULL */
    struct node *body;      /* BLOCK */
    struct action_block *next;
};

struct script {
    const struct source *source;
    struct action_block *blocks;
    size_t block_count;
};

struct node *node_new(struct arena *arena, enum node_kind kind, struct place place);
struct node *node_clone(struct arena *arena, const struct node *node); /* deep; resolutions are not copied */
void node_append(struct node_list *list, struct node *node);
/* Calls visit for the node and everything below it, parents first, until visit returns false for a node
 * (its children are then skipped). */
void node_walk(struct node *node, bool (*visit)(struct node *node, void *state), void *state);
/* -d ast, -d types: an indented tree, one node a line, with types when they are known. */
void script_print(struct text *out, const struct script *script);
void node_print(struct text *out, const struct node *node, unsigned indent);

#endif
