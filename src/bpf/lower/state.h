/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of lowering, and included by no others.
 *
 * A program is one function, plus one for each loop body (callbacks). A callback finds what belongs to its
 * surroundings through the *area* of the function around it: memory in that function's frame that holds captured
 * variables and shared values; its address is the callback's last parameter, and its first word leads to the next
 * area outwards.
 *
 * Every function has a setup block that stays open while the body is lowered: what must dominate the body (the
 * scratch pointer, a shared value) is put there when it is first needed, so that programs pay only for what they
 * use. */
#ifndef SPOOR_BPF_LOWER_STATE_H
#define SPOOR_BPF_LOWER_STATE_H

#include "base/table.h"
#include "bpf/lower/lower.h"

enum {
    FRAME_TEMPORARY_MAX = 64, /* bytes; larger temporaries go to scratch memory */
    FRAME_RECORD_MAX = 128,   /* bytes; larger records are not made on the frame */
    COPY_INLINE_MAX = 128,    /* bytes; larger copies and fills call a helper */
    SCRATCH_MAX = 32000,      /* bytes; a little less than a value of a per-CPU map can have */
    SCRATCH_SLOTS = 4,
    PACKED_MIN = 32, /* strings of more bytes are packed into records */
    UNROLLED_CPUS = 4,
    UNROLLED_WORDS = 16,
    LOOP_MAX = 1 << 23,       /* the most iterations that bpf_loop() takes */
    LOOP_ARRAY_MAX = 1 << 16, /* iterations where a loop goes over the elements of an array */
    /* Iterations where the verifier walks each of them; the second of a loop inside of another. */
    LOOP_PLAIN_MAX = 1024,
    LOOP_PLAIN_INNER_MAX = 32,
    STACK_FRAMES_MAX = 127,
};

/* Values of the program that its callbacks may need, too. */
enum lower_shared { SHARED_CTX, SHARED_SCRATCH, SHARED_TIME, SHARED_COUNT };

struct frame_object {
    struct ir *address;
    uint32_t bytes;
    bool busy;
};

struct lower_function {
    struct lower_function *parent; /* NULL: the program itself, or a section */
    struct lower_function *caller; /* the function that calls a section; or NULL */
    struct ir_function *function;
    unsigned depth;
    struct ir_block *setup, *start; /* setup ends with a jump to start when the function is finished */
    struct ir *area;                /* address of the area; NULL: nothing is in it */
    uint32_t area_bytes;
    int32_t *free_slots; /* offsets in the area that are free again */
    size_t free_count, free_room;
    struct ir *outer; /* in callbacks: the address of the parent's area */
    struct ir *shared[SHARED_COUNT];
    int32_t shared_slot[SHARED_COUNT]; /* offsets in the area; -1: not there */
    struct frame_object *objects;
    size_t object_count, object_room;
    /* Indexes of the objects of the frame that are in use, in the order in which they were taken. */
    size_t *taken;
    size_t taken_count, taken_room;
    uint32_t frame_bytes;
    bool may_return; /* it is a callback that can end the program */
    /* The function of the script that this is; NULL: it is a callback, or the program. */
    const struct subprogram *subprogram;
    /* The builder of the parent, while this function is built. */
    int32_t returned_slot,
        result_slot;        /*offsets in its area, for a return inside of a loop; -1: there is none */
    bool leaves_subprogram; /*it is a callback that can end the function around it */
    struct ir_builder saved;
};

struct lower_statement {
    struct ir_block *end; /* NULL until code jumps there */
};

/* Which temporaries were in use at some time, so that all later ones can be freed. */
struct temporary_mark {
    struct lower_function *function;
    size_t taken;
    uint32_t scratch;
};

enum variable_kind { VARIABLE_VALUE, VARIABLE_SLOT, VARIABLE_FRAME, VARIABLE_SCRATCH };

struct lowered_variable {
    uint32_t program; /* the program that this is for, as an index in the image */
    struct lower_function *home;
    enum variable_kind kind;
    uint32_t number; /* VARIABLE_VALUE: the variable of the IR */
    /* VARIABLE_SLOT: offset in the area of its home; VARIABLE_SCRATCH: offset in scratch memory */
    int32_t offset;
    struct ir *frame; /* VARIABLE_FRAME: its address */
};

/* Each part of a program has setup and end of its own: what a later part acquires an earlier one's end does
 * not give back. */
enum lower_phase { PHASE_GATE, PHASE_PREDICATE, PHASE_BODY, PHASE_COUNT };

enum scratch_kind { SCRATCH_CPU, SCRATCH_TASK, SCRATCH_SLOT };

/* What a slot of scratch memory begins with: whether it is taken, its number. */
enum { SLOT_TAKEN = 0, SLOT_NUMBER = 8, SLOT_BYTES = 16 };

/* A value of which each part of the program may make its own: the clock, where it was read. */
struct value_cache {
    struct ir *values[8];
    unsigned count;
};

struct lower_state {
    const struct checker *checker;
    const struct check_unit *unit;
    struct arena *temporary; /* memory for the lowering of this unit only */
    struct lower_function *main, *current;
    /* The end of the program where nothing has to be given back. */
    enum lower_phase phase,
        scratch_phase; /*the current phase, and the one in which scratch memory was acquired */
    struct ir_block *leave_early;
    struct ir_block *leave[PHASE_COUNT];
    struct lower_statement *statement;
    enum scratch_kind scratch_kind;
    uint32_t scratch_top, scratch_permanent, scratch_peak;
    bool scratch_overflowed;
    /* Offset in the program's area of the mark that a callback ended the program; -1: none does. */
    int32_t return_slot;
    /* Offset in scratch memory of the context's address, for sections that do not get the context; -1: they get it. */
    int32_t context_slot;
    const struct map_symbol *named[32]; /* maps that the program names although they are in maps of maps */
    unsigned named_count;
    struct lowered_call *calls;           /* the functions of the script that were lowered for this program */
    struct stack_function *stacks;        /* the functions that store stacks */
    const struct kept_stack *kept_stacks; /* those that lower_keep_stacks() took */
    struct value_cache times, rings;
    struct ir *stop;    /* the stop flag as it was read: 0 where the program goes on; or NULL */
    bool has_callbacks; /* loops: the clock is read once, before them, or their records would look older */
    /* Some loop is a `while`, has a range with a variable, or is left by `break` and the like. */
    bool variables_end_loops;
    uint32_t program_index;
    uint32_t statements; /* how many were lowered so far */
    uint32_t part_ends;  /* the number of the statement at which the part ends: see lower_forget() */
    struct lower_section *section; /* the section that is being lowered; or NULL */
    /* How many statements a section has; 0: the block is not divided. See lower/section.c. */
    uint32_t section_size;
    uint32_t *values; /* variables of the IR that hold VARIABLE_VALUE of the program, pointers excepted */
    size_t value_count, value_room;
    bool is_too_large, is_too_deep;
    bool has_scratch; /* some function uses scratch memory */
    bool avoid_stack; /* the second attempt: nothing is on the frame that can be in scratch memory */
    /* runtime errors of this program: from what is counted to its index in the image + 1 */
    struct table runtime_errors;
};

/* ---- lower.c: functions, areas, shared values, runtime errors, ends ---- */
/* The index of the counter that lower_runtime_error() raises, for code that raises it in another way. */
int lower_runtime_error_index(struct lowering *l, enum runtime_error_kind kind, struct span span, int map,
                              const char *helper);
void lower_enter_function(struct lowering *l, struct lower_function *function, const char *name,
                          uint8_t parameters);
/* Whether the kernel has a frame for one more function inside of the current one. */
bool lower_has_frame(const struct lowering *l);
/* Whether it has none. Then that was reported. */
bool lower_is_too_deep(struct lowering *l);
void lower_finish_function(struct lowering *l, struct lower_function *function);
/* Stores the address of the context for sections that do not get it. */
void lower_keep_context(struct lowering *l);
/* Takes all stacks of the block before its sections that do not get the context: these are verified on their own only if
 * they need none. It costs their time where the script would take them under a condition, or not at all. lower/stack.c */
void lower_keep_stacks(struct lowering *l);
struct ir *lower_shared_value(struct lowering *l, enum lower_shared which);
/* The value, as one of which the verifier knows nothing. Before Linux 6.7 it follows a callback through one
 * turn only: what it knows of the area before the loop it takes for true in every turn and after the loop,
 * and it removes the branches that contradict. Whatever a loop changes in an area must be put there by this.
 */
struct ir *lower_unknown(struct lowering *l, struct ir *value);
/* Hides a value that a loop changes from the verifier, as lower_unknown() does, where the kernel runs the loop.
 * Where the verifier walks the loop it needs what it knows, to see that the loop ends. */
struct ir *lower_captured(struct lowering *l, struct ir *value);
/* Reserves 8 bytes in the area of a function, which are 0 at its beginning. Returns their offset. */
int32_t lower_area_slot(struct lowering *l, struct lower_function *function);
/* Reserves 8 bytes in the area of the current function until lower_give_slot(). They hold anything at first. */
int32_t lower_take_slot(struct lowering *l);
void lower_give_slot(struct lowering *l, int32_t slot);
/* The address of an area, in the current function. */
struct ir *lower_area(struct lowering *l, struct lower_function *home);
bool lower_dominates(struct lowering *l, const struct ir_block *above);
/* One that was made on every way to here, or NULL; and one more, which it returns. */
struct ir *value_cache_find(struct lowering *l, const struct value_cache *known);
struct ir *value_cache_add(struct value_cache *known, struct ir *value);
/* Counts the event that is: RUNTIME_ERROR_LOST or RUNTIME_ERROR_SCRATCH. */
void lower_count_lost_event(struct lowering *l, enum runtime_error_kind kind);
void lower_leave(struct lowering *l); /* ends the program from here */
/* The condition of a branch whose other way is rare: enters the likely way, returns the unlikely block. */
struct ir_block *lower_unlikely(struct lowering *l, struct ir *condition);

/* ---- lower/memory.c ---- */
/* A map that is not of the script: one for each name (which is compared as a pointer). */
uint32_t lower_internal_map(struct lowering *l, const struct image_map *wanted);
/* Memory for a record of an event on the frame; false: there is none. */
bool lower_frame_record(struct lowering *l, uint32_t bytes, struct memory *record);
struct temporary_mark lower_mark(struct lowering *l);
void lower_release(struct lowering *l, struct temporary_mark mark);
struct ir *lower_address(struct lowering *l, struct memory memory);
/* Memory that is zero, and to be read only. */
struct memory lower_zeros(struct lowering *l, uint32_t bytes);
void lower_copy(struct lowering *l, struct memory to, struct memory from, uint32_t bytes);
void lower_zero(struct lowering *l, struct memory at, uint32_t bytes);
struct ir *lower_load_scalar(struct lowering *l, struct memory at, const struct type *type);
/* Goes to `no` when the two differ, falls through when they are equal. Types in storage form. */
void lower_compare(struct lowering *l, struct memory x, const struct type *x_type, struct memory y,
                   const struct type *y_type, const struct node *x_literal, const struct node *y_literal,
                   struct ir_block *no);
/* Returns a pointer to the program's own memory as a number that the verifier knows nothing of. */
struct ir *lower_pointer_number(struct lowering *l, struct ir *pointer);
enum address_space lower_space(const struct lowering *l, const struct type *pointer);

/* ---- lower/access.c: fields, elements, what pointers point to ---- */
struct location {   /* where a struct, array, tuple or string is */
    bool is_direct; /* the program's own memory, in `base` and `offset`; else an address in `space` */
    struct ir *base;
    int32_t offset;
    enum address_space space;
};
bool lower_is_stored(const struct node *node); /* FIELD, INDEX or * of a traced object */
struct location lower_location(struct lowering *l, struct node *node);
struct ir *lower_address_of(struct lowering *l, struct node *node); /* address of the operand of & */
struct ir *lower_access_scalar(struct lowering *l, struct node *node);
void lower_access_into(struct lowering *l, struct node *node, struct destination *to);

/* ---- lower/expression.c ---- */
void lower_branch(struct lowering *l, struct node *node, struct ir_block *yes, struct ir_block *no);
struct ir *lower_convert(struct lowering *l, struct ir *value, const struct type *from,
                         const struct type *to);
struct ir *lower_operate(struct lowering *l, enum operator op, bool is_signed, struct ir *x,
                         const struct type *x_type, struct ir *y, const struct type *y_type,
                         const struct type *result, struct span span);
void lower_convert_memory(struct lowering *l, struct memory from, const struct type *from_type,
                          struct memory to, const struct type *to_type);
const struct builtin *lower_builtin(const struct node *node);

/* ---- lower/variable.c: assignments and variables ---- */
struct ir *lower_variable_read(struct lowering *l, struct variable *variable);
void lower_variable_write(struct lowering *l, struct variable *variable, struct ir *value);
struct memory lower_variable_memory(struct lowering *l, struct variable *variable);
/* Whether nothing points to the variables that were made in the statements before `behind`, in scratch memory from `bottom`
 * on: they are forgotten. */
bool lower_end_scope(struct lowering *l, struct node *first, const struct node *behind, uint32_t bottom);
/* Gives the variables that a statement assigns their memory, but for those that belong to blocks and loops in it. */
void lower_declare(struct lowering *l, struct node *statement);
struct ir *lower_assign(struct lowering *l, struct node *node, bool wanted);
struct ir *lower_step(struct lowering *l, struct node *node, bool wanted);

/* ---- lower/map.c ---- */
struct ir *lower_map_read(struct lowering *l, struct node *map);
bool lower_map_branch(struct lowering *l, struct node *map, struct ir_block *yes, struct ir_block *no);
/* A scalar in the value of an element, read where it is; 0 when there is no such element. */
typedef struct ir *lower_member(struct lowering *l, struct node *member, struct location location);
struct ir *lower_map_member(struct lowering *l, struct node *map, lower_member *read, struct node *member,
                            int32_t offset);
void lower_map_read_into(struct lowering *l, struct node *map, struct memory to);
struct ir *lower_map_sum(struct lowering *l, struct map_symbol *map, struct ir *key, struct span span);
/* key: made already; or NULL. */
void lower_map_write(struct lowering *l, struct node *map, struct ir *value, struct memory memory,
                     const struct memory *key);

/* The verifier follows what a condition taught it of a value as far as the value is used: in a long row of
 * conditions on one value each leaves a way of its own to the end. So a long program has parts: at the end of
 * one nothing is known of what goes on in the next. */
void lower_forget(struct lowering *l);

/* ---- lower/statement.c ---- */
void lower_statements(struct lowering *l, const struct node_list *list);
void lower_discard(struct lowering *l, struct node *node);
void lower_discard_block(struct lowering *l, struct node *node); /* lower/expression.c */

/* One of the list, with what there is to do at the borders between them. */
void lower_one_of_many(struct lowering *l, struct node *node);

/* ---- lower/section.c ---- */
/* How many statements a section of this program has; 0: it needs none. */
uint32_t lower_section_size(const struct check_unit *unit, bool is_small);
/* Whether the statements here belong into sections. */
bool lower_is_divided(const struct lowering *l);
/* A function that is in no other one, between these two: what is shared is shared within it. Its parameters are the context
 * and the number of its slot of scratch memory, as far as it uses them. Where it finds no scratch memory it returns `leaves`. */
struct lower_section *lower_begin_apart(struct lowering *l, const char *name);
struct ir_function *lower_end_apart(struct lowering *l, struct lower_section *section, int64_t leaves);
struct ir *lower_call_apart(struct lowering *l, struct ir_function *function);
/* In such a function: the number of the slot that the program has taken. */
struct ir *lower_section_slot(struct lowering *l);
void lower_in_sections(struct lowering *l, const struct node_list *list);
void lower_return_from_section(struct lowering *l, struct ir *result); /* of a function of the script */
void lower_leave_iteration_from_section(struct lowering *l, bool is_break);
void lower_iterations_in_sections(struct lowering *l, struct node *body, uint64_t iterations);

/* ---- lower/call.c ---- */
bool lower_forget_variable(struct node *node, void *state);   /* where it was in another copy of the body */
struct ir *lower_call(struct lowering *l, struct node *node); /* of a function of the script */
/* The function of the script that the current place is in, or the section of one, which stands for it; or
 * NULL. */
struct lower_function *lower_enclosing(const struct lowering *l);
void lower_return_result(struct lowering *l, struct ir *result); /* from it, with that value */
bool lower_return_from_subprogram(struct lowering *l, struct node *value);
void lower_pass_on_result(struct lowering *l, const struct lower_function *callback);

/* ---- lower/unwind.c ---- */
/* Up to `most` frames of the user stack, by call frame information, to scratch memory; how many bytes, more
 * than 0. kind: of the stack's record. Else goes to `none`. */
struct ir *lower_unwind(struct lowering *l, struct memory frames, uint32_t most, struct span span,
                        struct ir_block *none, struct ir **kind);

/* ---- lower/loop.c ---- */
/* A callback is built between these two. Its own statements' temporaries go on above ours. */
struct lower_function *lower_callback_begin(struct lowering *l, struct lower_statement *statement,
                                            const char *name, uint8_t parameters);
void lower_callback_end(struct lowering *l, struct lower_function *callback,
                        struct lower_statement *statement, struct lower_statement *outer);
/* After a call of what can end the program. */
void lower_pass_on_return(struct lowering *l, const struct lower_function *callee);
void lower_loop_statement(struct lowering *l, struct node *node);
/* Whether the kernel runs loops, by calling back, or the verifier walks them. */
bool lower_kernel_loops(const struct lowering *l);

#endif
