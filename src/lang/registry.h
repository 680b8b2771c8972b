/* SPDX-License-Identifier: BSD-3-Clause */
/* The shelf of builtins as the language sees it: a table of entries filled in src/builtin and handed in by
 * src/cmd. The checker reads names, parameters and result types here; lowering calls `lower`; the session
 * calls `act` when a record arrives. Nobody below src/builtin names a builtin. */
#ifndef SPOOR_LANG_REGISTRY_H
#define SPOOR_LANG_REGISTRY_H

#include "lang/ast.h"
#include "lang/context.h"

struct action;
struct event_handler;
struct checker;
struct lowering;
struct ir;
struct memory;

enum parameter_kind {
    PARAMETER_NONE,
    PARAMETER_INTEGER, /* integer, bool, enum, or an aggregation that reads as an integer */
    PARAMETER_POINTER, /* pointer, integer, or array (its address) */
    PARAMETER_STRING,
    PARAMETER_LITERAL_STRING,  /* a string constant (also a string parameter $N) */
    PARAMETER_LITERAL_INTEGER, /* an integer constant after folding */
    PARAMETER_MAP,             /* a whole map: @m */
    PARAMETER_WORD, /* a bare word that is not looked up (perf), or an integer constant: for kstack and ustack
                     */
    PARAMETER_ANY,  /* any value; a builtin that is not variadic also gets a whole map here: see
                       check_is_whole_map() */
    PARAMETER_BYTES,   /* anything that is in memory: a pointer, integer, string, array, struct or buffer */
    PARAMETER_OUT,     /* a scratch variable that the builtin assigns: not evaluated */
    PARAMETER_OUT_MAP, /* a whole map whose elements it assigns */
    PARAMETER_TEXT,    /* a pointer, integer or array (its address) where text is, or a string;
                          a parameter $N is its text: str($1) */
};

enum builtin_flags {
    BUILTIN_BARE = 1,           /* usable without parentheses: pid */
    BUILTIN_CALL = 2,           /* usable with parentheses: pid(), str(x) */
    BUILTIN_NUMBERED = 4,       /* name is a prefix, digits follow: arg0 */
    BUILTIN_UNSAFE = 8,         /* needs --unsafe */
    BUILTIN_AGGREGATION = 16,   /* only as the right side of an assignment to a map */
    BUILTIN_VARIADIC = 32,      /* the last parameter kind repeats */
    BUILTIN_NO_LOOP = 64,       /* refused inside loops: exit */
    BUILTIN_READS_MEMORY = 128, /* follows a pointer: makes programs sleepable where that helps */
    BUILTIN_USES_ARGS = 256,
    BUILTIN_USES_ARGUMENT = 512,
    BUILTIN_USES_RETVAL = 1024,
    BUILTIN_USES_CTX = 2048,
    BUILTIN_USES_SITE = 4096,
    BUILTIN_USES_REGISTERS = 8192,    /* what of the context it reads */
    BUILTIN_ENDS = 16384,             /* control does not come back: exit */
    BUILTIN_USES_KSTACK = 65536,      /* takes the kernel's stack */
    BUILTIN_USES_SYMBOLS = 131072,    /* of the probed program */
    BUILTIN_READS_KERNEL = 262144,    /* follows pointers of the kernel's own: no reason to sleep */
    BUILTIN_WRITES_SEQUENCE = 524288, /* can be written to whoever reads a pinned iterator */
    BUILTIN_UNWINDS = 1048576,        /* takes a user stack by call frame information */
    BUILTIN_RUNS_COMMAND = 2097152,   /* acting on it is somebody else's work and can take any time */
    BUILTIN_MAKES_FILES = 4194304,    /* acting on it makes files */
    BUILTIN_KEEPS_TEXT = 8388608,     /* of a literal it is that literal: str("x") */
    BUILTIN_VALUE_UNUSED_OK = 32768,  /* discarding the value draws no warning */
};

enum { BUILTIN_PARAMETERS = 6 };

struct builtin {
    const char *name;
    const char *synopsis; /* "str(pointer [, length])": for messages and help */
    unsigned flags;
    uint8_t least, most;                    /* number of arguments; most is ignored when variadic */
    uint8_t parameters[BUILTIN_PARAMETERS]; /* enum parameter_kind */
    const struct type *result;              /* fixed result type, or NULL: check gives it */
    /* After the parameters were checked. Returns the result type, or NULL after a diagnostic. May be NULL
     * when result is set. May set call.data. Called several times until types settle: must not accumulate. */
    const struct type *(*check)(struct checker *checker, struct node *node);
    /* A scalar result: returns the value, `into` is NULL. Anything else: writes the storage form to *into
     * (NULL: nobody wants it) and returns NULL. */
    struct ir *(*lower)(struct lowering *lowering, struct node *node, struct memory *into);
    /* Aggregations: @map[key] = this(). */
    void (*update)(struct lowering *lowering, struct node *map, struct node *node);
    /* What the reader does when a record of this action arrives, or NULL. */
    void (*handle)(struct event_handler *handler, const struct action *action, const uint8_t *record);
    int64_t data; /* of the family: a helper's number … */
};

struct builtin_table { /* families side by side; each array ends with name == NULL */
    const struct builtin *const *families;
    size_t count;
    const char *const
        *parts; /* of bpftrace's standard library, all of which is built in; NULL-terminated, or NULL */
};

/* By name: exact, or a numbered one (then *number is set). NULL: none. */
const struct builtin *builtin_find(const struct builtin_table *table, const char *name, uint32_t *number);
void builtin_suggest(const struct builtin_table *table, struct nearest *nearest, unsigned flags);

#endif
