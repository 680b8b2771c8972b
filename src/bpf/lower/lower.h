/* SPDX-License-Identifier: BSD-3-Clause */
/* Tree to IR: one program from one checked unit. This is also what builtins and probe kinds build code with.
 *
 * Scalars are IR values. Everything else is an address: struct memory. Temporaries are placed on the frame
 * while they are small and the frame has room, else in scratch memory, which is private to the running
 * program (per-CPU slot of the program; task storage where programs can be preempted).
 */
#ifndef SPOOR_BPF_LOWER_LOWER_H
#define SPOOR_BPF_LOWER_LOWER_H

#include "bpf/action.h"
#include "bpf/image.h"
#include "bpf/ir/ir.h"
#include "lang/check/check.h"

/* Memory that the program may read and write directly: base[offset]. */
struct memory {
    struct ir *base;
    int32_t offset;
};

/* Where the value of an expression goes. */
enum destination_kind {
    DESTINATION_VALUE,   /* nowhere yet: it is a scalar, which is returned */
    DESTINATION_NOTHING, /* nobody looks at it */
    DESTINATION_MEMORY,  /* to memory, in storage form */
    DESTINATION_RECORD, /* to memory, where a text is in its final place in a record: who writes it says how long it is */
};
struct destination {
    enum destination_kind kind;
    struct memory memory;
    /* Of a text in a record: */
    struct action_field *reader; /* it sees what went wrong, if it is told where that is counted; or NULL */
    struct ir *bytes;            /* set: the length that struct image_string holds; or NULL */
    struct ir_block *block;      /* set: the block in which that is known */
};
static inline bool destination_is_memory(const struct destination *destination)
{
    return destination->kind >= DESTINATION_MEMORY;
}
static inline struct destination destination_of(struct memory memory)
{
    return (struct destination){.kind = DESTINATION_MEMORY, .memory = memory};
}

/* Offsets of members of the kernel's structs, in bytes. */
struct task_offsets {
    uint32_t pid, tgid, group_leader, thread_pid, signal; /* in struct task_struct */
    uint32_t signal_live;                 /* in struct signal_struct: how many threads have not ended */
    uint32_t pid_level, pid_numbers;      /* in struct pid */
    uint32_t upid_number, upid_namespace; /* in struct upid */
};

/* Which processes' events count. With neither a number, a set nor a control group those of all. */
struct process_filter {
    uint32_t pid; /* only this process, by its number in the tracer's namespace; 0: not one alone */
    uint64_t namespace_device, namespace; /* the tracer's PID namespace; 0: the initial one */
    bool has_set;                         /* only processes in the image's map `processes` */
    bool follows;                         /* and processes that these start */
    bool has_command;                     /* probes in programs count for the command of -c only */
    uint64_t cgroup; /* only processes in the control group of this id or below it; 0: in any */
    /* The control group's distance from the root: one of cgroup_levels numbers from cgroup_level on. */
    uint32_t cgroup_level, cgroup_levels;
    const struct task_offsets *task; /* NULL: not known */
};

/* The texts that values of TYPE_PROBE_NAME are indexes of. Elements may be NULL. */
struct name_list {
    const char **items;
    size_t count, room;
    /* The names as a table for programs, which has one more row for numbers without a name; and the name of its
     * map. */
    const char *rows, *map;
    size_t row_count;
};
/* Returns the index of the text, which is added to the list if it is not in it. */
uint32_t name_list_index(struct arena *arena, struct name_list *names, const char *text);

struct lower_options {
    const struct features *features;
    struct process_filter filter;
    uint32_t max_strlen;
    uint32_t max_map_keys;   /* 4096 */
    bool is_for_kernel;      /* the kernel has limits that the VM does not have */
    uint32_t ring_bytes;     /* size of one ring: a power of two of pages */
    uint32_t frame_most;     /* temporaries of more bytes go to scratch memory; 0: the default */
    struct name_list *names; /* names of all variants, and texts that are stored where names are */
    /* The address ranges of the kernel's functions that call programs of tracepoints; NULL: they are not known. An array of
     * *slots words, a power of two: 0, begin and end of the first, of the second …, and UINT64_MAX for the rest. */
    const uint64_t *(*tracing_glue_ranges)(void *state, uint32_t *slots);
    void *tracing_glue_state;
    bool times_records;  /* each record has its time, even where there is only one ring */
    bool counts_lookups; /* with -k: RUNTIME_ERROR_LOOKUP is counted, by a counter that all CPUs share */
    int64_t wall_offset; /* added to the boot clock it gives the time since 1970, ns */
    const struct unwind_offsets *unwind; /* NULL: not known */
    const char *clock_map; /* for tests: the map of the script that is the clock of tseries(); or NULL */
    unsigned registers_for_tests;
};

/* What the units of a script have in common: what they are compiled with, and what they are compiled into. */
struct compilation {
    struct arena *arena; /* for what the image points to */
    struct diagnostics *diagnostics;
    const struct checker *checker;
    struct lower_options options;
    struct image *image;
    struct action_table *actions;
};

/* One unit, and how it is to be compiled. */
struct unit_request {
    const struct check_unit *unit;
    const char *program_name;
    /* Index of the variant's first probe name in options.names; names of its functions follow site_count later. */
    uint32_t name_base;
    /* Also a short block is divided into functions that are verified one by one; -E2BIG if it cannot be. */
    bool divides;
    /* Gets the IR after the passes, or before them (dump_raw); or NULL. */
    struct text *dump_ir;
    bool dump_raw;
};

struct lowering {
    struct ir_builder b;
    struct arena *arena;
    struct image *image;
    struct action_table *actions;
    struct diagnostics *diagnostics;
    const struct probe_context *context;
    const struct lower_options *options;
    const struct unit_request *request;
    const char *probe; /* text of the probe, for runtime errors and actions */
    struct cached_key {
        /* The node of a key whose value is in memory already, where uses of this node find it. */
        const struct node *key;
        struct memory memory;
    } held;
    bool is_sleepable;         /* the program may sleep */
    struct lower_state *state; /* private to lower*.c */
};

/* Compiles a unit and appends its program to the image (and maps that it needs). 0 or -errno with a diagnostic. */
int lower_unit(const struct compilation *compilation, const struct unit_request *request);

/* Sets the sizes that depend on all units. To be called after the last one. spare: how many runtime errors units that
 * come later may add. */
void lower_finish(struct image *image, uint32_t spare);
/* Adds maps of the script whose types units made known that came after lower_maps(). */
int lower_more_maps(const struct compilation *compilation);

/* Adds the internal maps, and the script's maps, whose types must be known. To be called before the first unit. */
int lower_maps(const struct compilation *compilation);

/* ---- for builtins and probe kinds ---- */

/* The value of a scalar expression, extended as its type says. An aggregation that reads as an integer
 * (count() map in an expression) is summed over CPUs. */
struct ir *lower_scalar(struct lowering *l, struct node *node);
/* The value as a condition: not 0 means true. The checker has reported what cannot be one. */
struct ir *lower_condition(struct lowering *l, struct node *node);
/* Writes an expression in storage form to memory, where there is room for type_storage(node->type) bytes. */
void lower_into(struct lowering *l, struct node *node, struct memory to);
/* As lower_into(), after a conversion to a wider type of the same kind: string[4] to string[64]. */
void lower_into_type(struct lowering *l, struct node *node, const struct type *type, struct memory to);
/* The same for a destination that is memory. */
void lower_to(struct lowering *l, struct node *node, const struct type *type, struct destination *to);
/* The memory in which an expression that is no scalar is in storage form: its own, which must not be written to, or a
 * temporary. */
struct memory lower_memory(struct lowering *l, struct node *node);
/* A temporary that lives until the end of the statement. Its content is 0 if `zeroed`, else anything. */
struct memory lower_temporary(struct lowering *l, uint32_t bytes, bool zeroed);
/* A temporary in scratch memory, where accesses need not be aligned as the verifier wants them on the frame. Its
 * content is anything. permanent: it lives as long as the program runs. */
struct memory lower_scratch(struct lowering *l, uint32_t bytes, bool permanent);

/* Lowers an expression or a statement for its effect, and frees its temporaries. */
void lower_statement(struct lowering *l, struct node *node);

/* The address that an argument of kind PARAMETER_POINTER stands for: the value of a pointer or an integer, the
 * address of an array or a struct. *space: the address space; SPACE_NONE: the address itself decides. */
struct ir *lower_pointer(struct lowering *l, struct node *node, enum address_space *space);

/* Reading memory of the traced system: of the kernel or of a process, as `space` says; SPACE_NONE: as the context
 * says. */
/* Reads `size` bytes. If that fails the destination becomes 0 and the runtime error is counted. */
void lower_read(struct lowering *l, struct memory to, uint32_t size, struct ir *address,
                enum address_space space, struct span span);
/* As lower_read(), with a size that is known only when the program runs. The caller has limited it to the room at
 * `to`, and made that 0. */
void lower_read_bounded(struct lowering *l, struct memory to, struct ir *size, struct ir *address,
                        enum address_space space, struct span span);
struct ir *lower_read_scalar(struct lowering *l, struct ir *address, const struct type *type,
                             enum address_space space, struct span span);
/* The address of a table of constants: a map of the image, one for each name, which is compared as a pointer. `bytes`
 * must live as long as the image. */
struct ir *lower_constants(struct lowering *l, const char *name, const void *bytes, uint32_t size);
/* The smaller of `value` and `most` as unsigned numbers, in a form from which every verifier learns the bound. */
struct ir *lower_at_most(struct lowering *l, struct ir *value, uint32_t most);
/* Copies the first `size` bytes of row `number` of a table of constants with rows + 1 rows; the last row stands for
 * every number that is too large. */
void lower_table_row(struct lowering *l, const char *name, const void *bytes, uint32_t rows, uint32_t width,
                     uint32_t size, struct ir *number, struct memory to);
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
void lower_read_string(struct lowering *l, struct destination *to, uint32_t capacity, struct ir *limit,
                       struct ir *address, enum address_space space, unsigned text, struct span span);

/* Maps of the script. Key in memory; NULL element address when missing (a branch is the caller's). */
struct memory lower_map_key(struct lowering *l, struct node *map); /* NODE_MAP; storage form */
struct ir *lower_map_lookup(struct lowering *l, struct map_symbol *map, struct memory key);
/* The map, as the argument of a helper. Where it has to be found first, this begins a new block. */
struct ir *lower_map_itself(struct lowering *l, const struct map_symbol *symbol);
/* The element, made with zeros if it is missing; code that follows runs with a valid address. When the map is
 * full the runtime error is counted and control goes to the end of the statement (lower_statement_end). */
struct ir *lower_map_element(struct lowering *l, struct map_symbol *map, struct memory key, struct span span);
/* As lower_map_element(), for the key with the number of a histogram's row appended. The key must come from
 * lower_map_key(), which left room for it. */
struct ir *lower_map_row(struct lowering *l, struct map_symbol *map, struct memory key, struct ir *row,
                         struct span span);
/* Whether another program, or this one for another task, may run on this CPU between two instructions. */
bool lower_is_preemptible(const struct lowering *l);
/* base[offset] += value, 8 bytes of a per-CPU value; atomic where the program can be preempted. */
void lower_add(struct lowering *l, struct ir *base, int32_t offset, struct ir *value);
/* The end of the current statement, for code that jumps there early. */
struct ir_block *lower_statement_end(struct lowering *l);

/* Counts a runtime error of the given span. map: the index of the map that it is about, or -1. helper: what failed,
 * or NULL. */
void lower_runtime_error(struct lowering *l, enum runtime_error_kind kind, struct span span, int map,
                         const char *helper);

/* An event record for the reader: node's builtin is called with it. Fields are nodes, or values made before.
 */
struct event_field {
    struct node *node;       /* is evaluated into the record; or NULL, and then */
    struct ir *value;        /* is a scalar; or NULL, and then */
    struct memory memory;    /* holds the storage form of `type` */
    const struct type *type; /* needed when node is NULL */
};
void lower_event(struct lowering *l, struct node *call, const struct builtin *builtin,
                 const struct event_field *fields, uint32_t count);
/* One with the texts that an array of pointers leads to, up to the first NULL, at most `most` of at most
 * `capacity` bytes. There are no fields; from the action's size to the record's end each text stands with its
 * NUL, padded to a multiple of 8. */
void lower_event_texts(struct lowering *l, struct node *call, struct ir *array, enum address_space space,
                       uint32_t most, uint32_t capacity);

/* Values that are computed once in each run of the program and shared: */
struct ir *lower_time(struct lowering *l);     /* time of the boot clock, ns */
struct ir *lower_pid_tgid(struct lowering *l); /* as seen in the tracer's PID namespace */
struct ir *lower_control(struct lowering *l);  /* address of struct image_control */
struct ir *lower_ctx(struct lowering *l);      /* the program's context, also inside loop bodies */
/* The same as an address in the kernel's memory, where it is read by helpers alone; and a word of it: sections that do not
 * get the context of a program have its address. */
struct ir *lower_ctx_address(struct lowering *l);
struct ir *lower_ctx_word(struct lowering *l, int32_t offset, const struct type *type);
/* Where fields of args lie that are no scalars. */
enum address_space lower_args_space(const struct lowering *l);
struct ir *lower_event_word(struct lowering *l, size_t offset); /* 8 bytes of struct image_event */
/* Ends the program, also from inside of loops. */
struct ir *lower_return(struct lowering *l, struct node *value);
/* Stores the current stack, once for all that are equal, and returns its id; 0: it could not be taken. */
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
