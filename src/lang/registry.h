/* SPDX-License-Identifier: BSD-3-Clause */
/* Builtins as the language sees them: a table that src/builtin fills and src/cmd hands in. The checker reads names,
 * parameters and result types, lowering calls `lower`, and the session calls `handle` when the record of an event
 * arrives. No folder below src/builtin names a builtin. */
#ifndef SPOOR_LANG_REGISTRY_H
#define SPOOR_LANG_REGISTRY_H

#include "lang/ast.h"
#include "lang/context.h"

struct action;
struct event_handler;
struct checker;
struct lowering;
struct ir;
struct destination;

enum parameter_kind {
    PARAMETER_NONE,
    PARAMETER_INTEGER, /* integer, bool, enum, or an aggregation that reads as an integer */
    PARAMETER_POINTER, /* pointer, integer, or array (its address) */
    PARAMETER_STRING,
    PARAMETER_LITERAL_STRING,  /* a string constant (also a string parameter $N) */
    PARAMETER_LITERAL_INTEGER, /* an integer constant after folding */
    PARAMETER_MAP,             /* a whole map: @m */
    PARAMETER_WORD, /* a bare word that is no name (perf), or an integer constant: kstack, ustack */
    /* Any value. A builtin that is not variadic may get a whole map here; see check_is_whole_map(). */
    PARAMETER_ANY,
    PARAMETER_BYTES,   /* anything that is in memory: a pointer, integer, string, array, struct or buffer */
    PARAMETER_OUT,     /* a scratch variable that the builtin assigns; it is not evaluated */
    PARAMETER_OUT_MAP, /* a whole map whose elements the builtin assigns */
    /* A string, or a pointer, integer or array at whose address a text is. A parameter $N is its text: str($1). */
    PARAMETER_TEXT,
};

enum builtin_flags {
    BUILTIN_BARE = 1 << 0,             /* it can be used without parentheses: pid */
    BUILTIN_CALL = 1 << 1,             /* it can be used with parentheses: pid(), str(x) */
    BUILTIN_NUMBERED = 1 << 2,         /* digits follow the name: arg0 */
    BUILTIN_UNSAFE = 1 << 3,           /* it needs --unsafe */
    BUILTIN_AGGREGATION = 1 << 4,      /* it stands only on the right side of an assignment to a map */
    BUILTIN_VARIADIC = 1 << 5,         /* the last kind of parameter repeats */
    BUILTIN_NO_LOOP = 1 << 6,          /* it is refused inside loops: exit() */
    BUILTIN_READS_MEMORY = 1 << 7,     /* it follows a pointer: makes programs sleepable where that helps */
    BUILTIN_USES_ARGS = 1 << 8,        /* it reads arguments of the event by name */
    BUILTIN_USES_ARGUMENT = 1 << 9,    /* it reads an argument by its number */
    BUILTIN_USES_RETVAL = 1 << 10,     /* it reads the return value */
    BUILTIN_USES_CTX = 1 << 11,        /* it reads the context itself */
    BUILTIN_USES_SITE = 1 << 12,       /* it asks at which site the program runs */
    BUILTIN_USES_REGISTERS = 1 << 13,  /* it reads registers */
    BUILTIN_ENDS = 1 << 14,            /* control does not come back: exit() */
    BUILTIN_VALUE_UNUSED_OK = 1 << 15, /* there is no warning if its value is not used */
    BUILTIN_USES_KSTACK = 1 << 16,     /* it takes the kernel's stack */
    BUILTIN_USES_SYMBOLS = 1 << 17,    /* it reads symbols of the probed program */
    BUILTIN_READS_KERNEL = 1 << 18,    /* it follows pointers of the kernel: no reason to be sleepable */
    BUILTIN_WRITES_SEQUENCE = 1 << 19, /* its output can go to the reader of a pinned iterator */
    BUILTIN_UNWINDS = 1 << 20,         /* it takes a user stack by call frame information */
    BUILTIN_RUNS_COMMAND = 1 << 21,    /* its handler runs a command, which can take any time */
    BUILTIN_MAKES_FILES = 1 << 22,     /* its handler makes files */
    BUILTIN_MAY_UNWIND = 1 << 23,      /* BUILTIN_UNWINDS if its first argument is UNWINDING_WORD */
};

#define UNWINDING_WORD "dwarf"

enum { BUILTIN_PARAMETERS = 6 };

struct builtin {
    const char *name;
    const char *synopsis; /* "str(pointer [, length])": for messages and help */
    unsigned flags;
    uint8_t least, most;                    /* number of arguments; `most` is ignored when it is variadic */
    uint8_t parameters[BUILTIN_PARAMETERS]; /* enum parameter_kind */
    const struct type *result;              /* the type of the result, or NULL if `check` returns it */
    /* Called after the parameters were checked. Returns the type of the result, or NULL after a diagnostic. It may set
     * call.data. It is called again until all types are settled, so it must not add up. NULL if `result` says all. */
    const struct type *(*check)(struct checker *checker, struct node *node);
    /* Makes the code. A scalar result is returned. Any other is written in storage form to the memory of *into, unless
     * nobody looks at it, and NULL is returned: see struct destination of bpf/lower/lower.h. */
    struct ir *(*lower)(struct lowering *lowering, struct node *node, struct destination *into);
    /* For aggregations: makes the code of @map[key] = NAME(…). */
    void (*update)(struct lowering *lowering, struct node *map, struct node *node);
    /* Called in user space when the record of an event with this action arrives. NULL if it makes no records. */
    void (*handle)(struct event_handler *handler, const struct action *action, const uint8_t *record);
    const struct aggregation *aggregation; /* with BUILTIN_AGGREGATION: the kind of the map's value */
    int64_t data;                          /* for the callbacks: the number of a helper and the like */
};

/* What something is called elsewhere. */
struct builtin_synonym {
    const char *name;
    const char *meant; /* the builtin that is its nearest */
    const char *hint;  /* what a message says; NULL: "did you mean 'MEANT'?" */
};

struct builtin_table {
    const struct builtin *const *families; /* `count` arrays, each of which ends with a name of NULL */
    size_t count;
    /* Names of the parts of bpftrace's standard library, which are all built in; NULL-terminated, or NULL. */
    const char *const *parts;
    const struct builtin_synonym *synonyms; /* the last one's name is NULL; or NULL */
};

/* Finds a builtin by its name; for one that is numbered *number is set. NULL if there is none. */
const struct builtin *builtin_find(const struct builtin_table *table, const char *name, uint32_t *number);
/* Offers the names of builtins that have one of the flags. */
void builtin_suggest(const struct builtin_table *table, struct nearest *nearest, unsigned flags);

#endif
