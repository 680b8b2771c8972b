/* SPDX-License-Identifier: BSD-3-Clause */
/* Tree to IR: one program from one checked unit. This is also what builtins and probe kinds build code with.
 *
 * Scalars are IR values. Everything else is an address: struct memory. Temporaries are placed on the frame
 * while they are small and the frame has room, else in scratch memory, which is private to the running
 * program (per-CPU slot of the program; task storage where programs can be preempted).
 */
#ifndef SPOOR_BPF_LOWER_H
#define SPOOR_BPF_LOWER_H

#include "bpf/action.h"
#include "bpf/image.h"
#include "bpf/ir.h"
#include "lang/check.h"

/* Memory of ours, readable and writable directly: base[offset]. */
struct memory {
    struct ir *base;
    int32_t offset;
};

/* Where members of the kernel's structs are. */
struct task_offsets {
    uint32_t pid, tgid, group_leader, thread_pid, signal; /* of task_struct */
    uint32_t signal_live;                                 /* of signal_struct: threads that have not ended */
    uint32_t pid_level, pid_numbers;                      /* of struct pid */
    uint32_t upid_number, upid_namespace;                 /* of struct upid */
};

/* Whose events count, besides pid_filter. */
struct process_filter {
    bool has_set;                         /* those of the processes in the image's map `processes`, */
    bool follows;                         /* and of what they start */
    bool has_command;                     /* -c: probes in programs are for the command's process */
    uint64_t cgroup;                      /* those in this control group or below it; 0: in any */
    uint32_t cgroup_level, cgroup_levels; /* how far below the root it is: at one of so many levels */
    const struct task_offsets *task;      /* NULL: not known */
};

/* What a TYPE_NAME is an index of. Elements may be NULL. */
struct name_list {
    const char **items;
    size_t count, room;
};
/* The index of that text, which becomes one of the list if it is not. */
uint32_t name_list_index(struct arena *arena, struct name_list *names, const char *text);

struct lower_options {
    const struct features *features;
    uint32_t pid_filter; /* 0: none */
    struct process_filter filter;
    uint32_t max_strlen;
    uint32_t max_map_keys;   /* 4096 */
    bool is_for_kernel;      /* which has limits that the other host has not */
    uint32_t ring_bytes;     /* of one ring, a power of two of pages */
    uint32_t name_base;      /* first index of the variant's probe names; functions follow after site_count */
    uint32_t frame_most;     /* larger temporaries go to scratch memory; 0: the default */
    struct name_list *names; /* of all variants, and texts that stand beside names */
    uint64_t pid_namespace_device, pid_namespace; /* of the tracer; 0: the initial one */
    /* Where the kernel's functions lie that call programs of tracepoints: NULL when nobody knows; else slots,
     * a power of two, of them: 0, the first begins, it ends, the next begins …, the rest UINT64_MAX. */
    const uint64_t *(*tracing_glue_ranges)(void *state, uint32_t *slots);
    void *tracing_glue_state;
    bool times_records;  /* each has its time, also where one ring is enough */
    bool counts_lookups; /* -k: RUNTIME_ERROR_LOOKUP is counted (a counter that all CPUs share is not free) */
    int64_t wall_offset; /* what makes the boot clock the time since 1970, ns */
    const struct unwind_offsets *unwind; /* NULL: not known */
    const char *clock_map;               /* tests: this map of the script is tseries' clock; or NULL */
    bool divides; /* short blocks, too, are divided into functions that are verified one by one, or -E2BIG */
    unsigned registers_for_tests;
};

struct lowering {
    struct ir_builder b;
    struct arena *arena;
    struct image *image;
    struct action_table *actions;
    struct diagnostics *diagnostics;
    const struct probe_context *context;
    const struct lower_options *options;
    const char *probe; /* text, for runtime errors and actions */
    struct cached_key {
        const struct node *key; /* its value is in memory already: uses of this node find it there */
        struct memory memory;
    } held;
    bool is_unused;            /* nobody wants the value of the builtin that is lowered: it asks this first */
    bool is_sleepable;         /* decided before lowering begins */
    struct lower_state *state; /* private to lower*.c */
};

/* Compiles a unit and appends its program to the image (and maps that it needs). 0 or -errno with a
 * diagnostic. `dump_ir` may be NULL; otherwise receives the IR after the passes (before, with dump_raw). */
int lower_unit(struct arena *arena, struct image *image, struct action_table *actions,
               struct diagnostics *diagnostics, const struct checker *checker, const struct check_unit *unit,
               const struct lower_options *options, const char *program_name, struct text *dump_ir,
               bool dump_raw);

/* After the last unit: sizes that depend on all of them. spare: how many runtime errors units that come later may
 * add. */
void lower_finish(struct image *image, uint32_t spare);
/* The maps of the script that have got their types since lower_maps(), from units that came later. */
int lower_more_maps(struct arena *arena, struct image *image, struct diagnostics *diagnostics,
                    const struct checker *checker, const struct lower_options *options);

/* Before the first unit: the internal maps and the script's maps, types settled. */
int lower_maps(struct arena *arena, struct image *image, struct diagnostics *diagnostics,
               const struct checker *checker, const struct lower_options *options);

/* ---- for builtins and probe kinds ---- */

/* The value of a scalar expression, extended as its type says. An aggregation that reads as an integer
 * (count() map in an expression) is summed over CPUs. */
struct ir *lower_scalar(struct lowering *l, struct node *node);
/* As a condition: not 0. Strings and others are diagnosed by the checker. */
struct ir *lower_condition(struct lowering *l, struct node *node);
/* Any expression in storage form to memory; `to` has room for type_storage(node->type). */
void lower_into(struct lowering *l, struct node *node, struct memory to);
/* As lower_into, converting to a wider type of the same kind first (string[4] into string[64]). */
void lower_into_type(struct lowering *l, struct node *node, const struct type *type, struct memory to);
/* Where a non-scalar expression is in storage form; a temporary if it is nowhere. Read only. */
struct memory lower_memory(struct lowering *l, struct node *node);
/* Zeroed on request; lives until the end of the statement. */
struct memory lower_temporary(struct lowering *l, uint32_t bytes, bool zeroed);
/* As a temporary, never on the frame, where the verifier wants aligned accesses. Not zeroed. permanent: lives
 * as long as the program runs. */
struct memory lower_scratch(struct lowering *l, uint32_t bytes, bool permanent);

/* An expression or statement of which only the effect is wanted; gives its temporaries back. */
void lower_statement(struct lowering *l, struct node *node);

/* What an argument of kind PARAMETER_POINTER points to: the value of a pointer or an integer, the address of
 * an array or struct. *space: where it is; SPACE_NONE: the address tells. */
struct ir *lower_pointer(struct lowering *l, struct node *node, enum address_space *space);

/* Reading traced memory (kernel or user, as space says; SPACE_NONE: the context's). */
/* `size` bytes to `to`; on failure the destination is zero and the runtime error is counted. */
void lower_read(struct lowering *l, struct memory to, uint32_t size, struct ir *address,
                enum address_space space, struct span span);
/* The same with a size that is known only at run time; the caller has bounded it to the room at `to`, which
 * is zeroed. */
void lower_read_bounded(struct lowering *l, struct memory to, struct ir *size, struct ir *address,
                        enum address_space space, struct span span);
struct ir *lower_read_scalar(struct lowering *l, struct ir *address, const struct type *type,
                             enum address_space space, struct span span);
/* The address of a table of constants, which is a map of the image: one for each name (compared as a
 * pointer). bytes live as long as the image. */
struct ir *lower_constants(struct lowering *l, const char *name, const void *bytes, uint32_t size);
/* The value, or `most` where it is larger (as an unsigned number), in a way that every verifier understands. */
struct ir *lower_at_most(struct lowering *l, struct ir *value, uint32_t most);
/* Copies one of `rows` rows of such a table; the one behind them, which is there too, for any other number. */
void lower_table_row(struct lowering *l, const char *name, const void *bytes, uint32_t rows, uint32_t width,
                     struct ir *number, struct memory to);
enum lower_text {
    TEXT_PADDED = 1, /* the rest of the storage is made zero */
    TEXT_ENDLESS =
        2, /* what is read has no size of its own: one byte more than `capacity` may be looked at */
    TEXT_BOUNDED =
        4, /* a member of `capacity` characters, which may have no NUL: the storage has room for one */
};
/* A NUL-terminated string of at most `capacity` bytes.
 * Pages in what is not resident where the program can sleep. limit, or NULL: the script's own limit, NUL
 * included: text is cut at limit - 1 bytes and that is what was asked for. Without it a text of more than
 * `capacity` bytes fills all of them, without NUL: it counts as truncated. What cannot be read is counted and
 * becomes the text <fault>, in a record by the reader. */
void lower_read_string(struct lowering *l, struct memory to, uint32_t capacity, struct ir *limit,
                       struct ir *address, enum address_space space, unsigned text, struct span span);

/* Maps of the script. Key in memory; NULL element address when missing (a branch is the caller's). */
struct memory lower_map_key(struct lowering *l, struct node *map); /* NODE_MAP; storage form */
struct ir *lower_map_lookup(struct lowering *l, struct map_symbol *map, struct memory key);
/* The map, as the argument of a helper. Where it has to be found first, this begins a new block. */
struct ir *lower_map_itself(struct lowering *l, const struct map_symbol *symbol);
/* The element, made with zeros if it is missing; code that follows runs with a valid address. When the map is
 * full the runtime error is counted and control goes to the end of the statement (lower_statement_end). */
struct ir *lower_map_element(struct lowering *l, struct map_symbol *map, struct memory key, struct span span);
/* The same with a histogram row appended to the key, which is one that lower_map_key() made: it has room. */
struct ir *lower_map_row(struct lowering *l, struct map_symbol *map, struct memory key, struct ir *row,
                         struct span span);
/* Whether another program, or this one for another task, may run on this CPU between two instructions. */
bool lower_is_preemptible(const struct lowering *l);
/* base[offset] += value, 8 bytes of a per-CPU value; atomic where the program can be preempted. */
void lower_add(struct lowering *l, struct ir *base, int32_t offset, struct ir *value);
/* A loop over all elements, or any early end: jump to the end of the current statement. */
struct ir_block *lower_statement_end(struct lowering *l);

/* Counts a runtime error at the node's place. */
void lower_runtime_error(struct lowering *l, enum runtime_error_kind kind, struct span span, int map,
                         const char *helper);

/* An event record for the reader: node's builtin is called with it. Fields are nodes, or values made before.
 */
struct event_field {
    struct node *node;       /* evaluated into the record; or NULL: */
    struct ir *value;        /* a scalar; or NULL: */
    struct memory memory;    /* storage form of `type` */
    const struct type *type; /* needed when node is NULL */
};
void lower_event(struct lowering *l, struct node *call, const struct builtin *builtin,
                 const struct event_field *fields, uint32_t count);
/* One with the texts that an array of pointers leads to, up to the first NULL, at most `most` of at most
 * `capacity` bytes. There are no fields; from the action's size to the record's end each text stands with its
 * NUL, padded to a multiple of 8. */
void lower_event_texts(struct lowering *l, struct node *call, struct ir *array, enum address_space space,
                       uint32_t most, uint32_t capacity);

/* Things computed once per run of the program and shared: */
struct ir *lower_time(struct lowering *l);     /* boot clock, ns */
struct ir *lower_pid_tgid(struct lowering *l); /* as the tracer's PID namespace sees them */
struct ir *lower_control(struct lowering *l);  /* address of struct image_control */
struct ir *lower_ctx(struct lowering *l);      /* the program's context, also inside loop bodies */
enum address_space lower_args_space(const struct lowering *l);   /* of args' fields that are no scalars */
struct ir *lower_event_word(struct lowering *l, size_t offset);  /* of struct image_event, 8 bytes */
struct ir *lower_return(struct lowering *l, struct node *value); /* leaves the program (also out of loops) */
/* Interns the current stack; returns its id, 0 when it could not be taken. */
enum stack_method { STACK_OF_KERNEL, STACK_OF_USER, STACK_UNWOUND };
struct ir *lower_stack(struct lowering *l, enum stack_method method, uint32_t frames, struct span span);

/* ---- loops for builtins ---- */

/* The first index from 0 for which test answers LOWER_FOUND, or -1; LOWER_STOP ends the search. test is built
 * into a function of its own: it sees values from around it only as `carried`, in the order in which they
 * were given. */
enum { LOWER_GO_ON, LOWER_FOUND, LOWER_STOP, LOWER_CARRIED = 4 };
typedef struct ir *lower_test(struct lowering *l, struct ir *index, struct ir *const *carried, void *state);
struct ir *lower_find(struct lowering *l, uint32_t iterations, struct ir *const *carried, unsigned count,
                      lower_test *test, void *state, struct span span);
/* How many elements a hash map has. */
struct ir *lower_map_length(struct lowering *l, struct map_symbol *map, struct span span);
/* How many frames the interned stack has. */
struct ir *lower_stack_length(struct lowering *l, struct ir *id);

#endif
