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
 *   `sizeof(x)` with a lone word that may be a type or a value has both cast.operand (a NAME) and cast.name,
 * and so have offsetof, typeof and typeinfo; `container_of(p, T, m)` is (T *)((int8 *)p - offsetof(T, m));
 *   `(a=1, b=2)` is a TUPLE with names;
 *   `-1` is a UNARY of an INTEGER until it is folded;
 *   `if (c) { a } else { b }` as a value is a TERNARY of two BLOCK_VALUEs;
 *   macros are gone once script_expand() was there: a call is a BLOCK_VALUE.
 * Depth is bounded (TREE_NESTING, TREE_CHAIN), so that going over a tree may recurse. */
#ifndef SPOOR_LANG_AST_H
#define SPOOR_LANG_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diagnostic.h"
#include "type/type.h"

struct builtin;
struct map_declaration;
struct node;
struct subprogram;

/* The parser refuses a tree that nests deeper than TREE_NESTING, and a statement with more than TREE_CHAIN
 * operators, postfixes and `else if`s in a row (counting those in its blocks). */
enum { TREE_NESTING = 200, TREE_CHAIN = 1000 };

enum node_kind {
    /* expressions */
    NODE_INTEGER,     /* integer: also folded enum constants and sizeof */
    NODE_BOOL,        /* integer is 0 or 1 */
    NODE_STRING,      /* string */
    NODE_NAME,        /* name: a builtin without parentheses, or an enumerator */
    NODE_VARIABLE,    /* variable: $x */
    NODE_MAP,         /* map: @m, @m[key] */
    NODE_PARAMETER,   /* integer: N of $N; 0 is $#. Folding makes it INTEGER or STRING */
    NODE_CALL,        /* call */
    NODE_UNARY,       /* unary: ! ~ - * & */
    NODE_BINARY,      /* binary */
    NODE_TERNARY,     /* ternary */
    NODE_ASSIGN,      /* assign: = and compound */
    NODE_STEP,        /* step: ++ -- before or after a variable or map */
    NODE_FIELD,       /* field: a.b, a->b, tuple.0 */
    NODE_INDEX,       /* binary.left[binary.right] */
    NODE_CAST,        /* cast */
    NODE_TUPLE,       /* list; names: the names of a record's elements */
    NODE_SIZEOF,      /* cast: of a type, or of the operand */
    NODE_OFFSETOF,    /* cast: as SIZEOF, with members */
    NODE_TYPEOF,      /* cast: as SIZEOF; only where a type may stand */
    NODE_TYPEINFO,    /* cast: as SIZEOF */
    NODE_COMPTIME,    /* unary.operand: must be known when the script is compiled */
    NODE_BLOCK_VALUE, /* list: statements; the last may be an expression, which is the value */
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
    NODE_RETURN, /* unary.operand or NULL */
};

/* Operators of UNARY, BINARY, ASSIGN (OPERATOR_NONE: plain =) and STEP (ADD, SUB). */
enum operator{
    OPERATOR_NONE,
    OPERATOR_ADD,
    OPERATOR_SUB,
    OPERATOR_MUL,
    OPERATOR_DIV,
    OPERATOR_MOD,
    OPERATOR_AND,
    OPERATOR_OR,
    OPERATOR_XOR,
    OPERATOR_SHL,
    OPERATOR_SHR,
    OPERATOR_EQ,
    OPERATOR_NE,
    OPERATOR_LT,
    OPERATOR_LE,
    OPERATOR_GT,
    OPERATOR_GE,
    OPERATOR_LOGICAL_AND,
    OPERATOR_LOGICAL_OR,
    OPERATOR_NOT,
    OPERATOR_COMPLEMENT,
    OPERATOR_NEGATE,
    OPERATOR_DEREFERENCE,
    OPERATOR_ADDRESS,
};
const char *operator_text(enum operator op); /* "+", "<<=" without "=", "!" … */

/* A scratch variable, one per declaration. */
struct variable {
    const char *name;        /* with the $ */
    const struct type *type; /* NULL until known */
    bool is_declared;        /* by let: the type may be fixed */
    bool type_fixed;
    struct span span;
    const void *scope;  /* the checker's mark for the scope in which it was declared */
    bool address_taken; /* lives in memory: &$x */
    bool captured;      /* used in a loop body that becomes a callback, and declared outside of it */
    int32_t slot;       /* of lowering */
    void *lowered;      /* of lowering */
};

/* A map of the script, one per name. */
struct map_symbol {
    const char *name;                          /* with the @ */
    const struct type *key;                    /* NULL: keyless, or not known yet */
    const struct type *value;                  /* NULL: not known yet */
    bool key_known;                            /* a use has shown whether it has a key */
    struct span first;                         /* first use, for messages */
    struct span key_span, value_span;          /* where key and value got their types */
    int index;                                 /* in the image; -1 before lowering */
    uint32_t max_entries;                      /* 0: the default */
    const struct map_declaration *declaration; /* let @name = …, or NULL */
    bool is_written;
    bool is_used;    /* an expression uses its values */
    bool is_deleted; /* delete() removes its keys */
};

struct node_list {
    struct node *first, *last; /* linked by next */
    uint32_t count;
};

/* A type as the script writes it: "uint64", "struct task_struct *", "int8[4]*", "typeof($x)". The checker resolves
 * it. */
struct type_name {
    const char *name; /* "uint64", "struct x", "x"; NULL with `of` */
    struct node *of;  /* a TYPEOF */
    /* from left to right. 0: a pointer; TYPE_NAME_OPEN: []; else an array of so many elements */
    const uint32_t *suffixes;
    uint32_t suffix_count;
    struct span span;
};
enum { TYPE_NAME_OPEN = INT32_MAX };
bool type_name_is_given(const struct type_name *name);
bool type_name_is_open(const struct type_name *name); /* ends in [] */

struct member_path {  /* the members that offsetof names: a.b[2] */
    const char *name; /* NULL: `element` is the index of an array's element */
    uint32_t element;
    struct member_path *next;
};

struct node {
    enum node_kind kind;
    struct span span;
    const struct type *type; /* type of an expression after checking; type_none for statements */
    struct node *next;       /* in a list */
    union {
        struct {
            uint64_t value;             /* two's complement */
            bool is_unsigned;           /* it was a literal above INT64_MAX */
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
            struct subprogram *subprogram; /* after checking: instead of a builtin, or NULL */
            void *data;                    /* kept by the builtin's callbacks, such as its parsed format */
        } call;
        struct {
            enum operator op;
            bool is_silent; /* EXPRESSION: `_ = operand;` */
            bool is_open;   /* EXPRESSION: the last of its block, without a semicolon */
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
            const char *name; /* field name, or NULL: tuple element */
            uint32_t element;
            struct field found; /* after checking */
        } field;
        struct {
            struct type_name name;
            struct node *operand;
            const struct type *target; /* after checking */
            const struct member_path *members;
            bool is_of_name; /* the script does not say it: the name of a probe becomes its text */
        } cast;
        struct {
            struct node *target; /* VARIABLE */
            bool has_type;
            struct type_name type_name;
            struct node *value; /* or NULL */
        } let;
        struct {
            struct node_list list;
            const char *const *names; /* names of a record's elements, or NULL */
        };
        struct {
            struct node *variable; /* VARIABLE */
            struct node *from, *to;
            struct node *map; /* NODE_MAP without key */
            struct node *condition;
            struct node *body; /* BLOCK */
        } loop;
    };
};

struct attach_piece { /* text between colons; quotes removed, $N replaced */
    const char *text;
    struct span span;
    bool quoted;
    uint32_t quoted_end; /* where in `text` the last quoted part ends */
};
struct attach_point { /* kind:piece:piece… */
    struct span span;
    const char *text; /* as written, for messages */
    struct attach_piece *pieces;
    size_t piece_count, piece_room;
    struct attach_point *next;
};

struct action_block {
    struct span span;
    struct attach_point *attach_points;
    struct node *predicate;               /* or NULL */
    struct node *body;                    /* BLOCK */
    const struct subprogram *subprograms; /* the script's functions, which the block may call */
    struct action_block *next;
};

/* key = value; of config = { … } */
struct setting {
    struct span span;
    const char *key, *value;
    struct setting *next;
};

struct import { /* import "path"; */
    struct span span;
    const char *path;
    struct import *next;
};

/* macro name(a, $b, @c) { … }: parameters are NAMEs, VARIABLEs and MAPs. */
struct macro {
    struct span span;
    const char *name;
    struct node_list parameters;
    struct node *body; /* BLOCK, or BLOCK_VALUE */
    bool was_expanded;
    struct macro *next;
};

/* fn name($a : type) : type { … }: each unit that calls it gets a copy. */
struct subprogram {
    struct span span; /* span of its head */
    const char *name;
    struct node_list parameters; /* LETs */
    struct type_name result;     /* not given: none */
    const struct type *type;     /* type of the result, after checking */
    struct node *body;           /* BLOCK */
    bool returns_value;          /* a return with a value was met */
    struct subprogram *next;
};

struct map_declaration { /* let @name = kind(entries); */
    struct span span;
    const char *name, *kind;
    uint64_t entries;
    struct map_declaration *next;
};

/* A definition of C, the #! line, or lines of the preprocessor with what they leave out: one piece of the
 * script's text.
 */
struct c_piece {
    uint32_t begin, end;
};

/* Parses an imported text as soon as the import is read, because its definitions count from there on. */
struct script;
struct importer {
    void (*import)(const struct importer *importer, struct script *script, const struct import *import);
};

struct c_definitions;
struct script {
    const struct source *source;
    struct c_definitions *definitions; /* C definitions; NULL: C is not understood in this script */
    struct c_piece *c_pieces; /* in the order in which they stand in `source`; imported texts have none */
    size_t c_piece_count, c_piece_room;
    struct action_block *blocks;
    size_t block_count;
    struct setting *settings;
    struct import *imports;
    const struct importer *importer; /* NULL: imports are only listed */
    struct macro *macros;
    struct subprogram *subprograms;
    struct map_declaration *declarations;
    bool takes_parameters; /* some place has a positional parameter, or $# */
    unsigned form_count;   /* how many forms there are: settings, imports, macros, functions, declarations */
};

bool node_is_expression(const struct node *node);

struct node *node_new(struct arena *arena, enum node_kind kind, struct span span);
/* a deep copy, without what the checker and lowering added */
struct node *node_clone(struct arena *arena, const struct node *node);
void node_append(struct node_list *list, struct node *node);
/* Calls visit for the node and everything below it, parents first, until visit returns false for a node
 * (its children are then skipped). */
void node_walk(struct node *node, bool (*visit)(struct node *node, void *state), void *state);
/* Whether the tree has more than so many levels. */
bool node_is_deeper(const struct node *node, unsigned levels);
/* -d ast, -d types: an indented tree, one node a line, with types when they are known. */
void script_print(struct text *out, const struct script *script);
void node_print(struct text *out, const struct node *node, unsigned indent);

#endif
