/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks are taken with a helper, hashed, and stored once in a table under their hash, which is what values of the
 * script have. The verifier knows that get_stack() returns no more than it was allowed to: nothing else bounds the
 * loop over the frames. */
#include "bpf/lower/state.h"
#include "sym/machine/machine.h"

enum { STACK_ENTRIES = 1 << 17, STACK_ENTRIES_RESERVED = 8192 };
#define STACK_MULTIPLIER 0x9e3779b97f4a7c15u

static uint32_t stack_map(struct lowering *l)
{
    int *index = &l->image->stacks;
    if (*index < 0) {
        *index = (int)l->image->map_count;
        *arena_push(l->arena, l->image->maps, l->image->map_count, l->image->map_room) = (struct image_map){
            .name = "stacks",
            .type = BPF_MAP_TYPE_HASH,
            .key_size = 8,
            .value_size = sizeof(struct image_stack) + 8 + 8 * STACK_FRAMES_MAX,
            /* Memory is allocated as it is needed, or for few of them at once. */
            .max_entries = l->options->features->growing_maps ? STACK_ENTRIES : STACK_ENTRIES_RESERVED,
            .flags = l->options->features->growing_maps ? BPF_F_NO_PREALLOC : 0,
        };
    }
    return (uint32_t)*index;
}

/* Hashes the frames, one word in each iteration: those before `bytes`, and the one there if `inclusive`. The
 * verifier walks every iteration, and the time that is added to get_stack()'s own is small. The result is 0, which
 * means that there is no stack, as rarely as two stacks have one hash. */
static struct ir *hash_frames(struct lowering *l, struct memory frames, struct ir *bytes, struct ir *seed,
                              bool inclusive)
{
    struct ir_builder *b = &l->b;
    uint32_t position = ir_variable(b), mixed = ir_variable(b);
    struct ir_block *end = ir_label(b);
    struct ir *multiplier = ir_constant(b, (int64_t)STACK_MULTIPLIER);
    ir_write(b, position, ir_constant(b, 0));
    ir_write(b, mixed, seed);
    struct ir_block *loop = ir_loop(b);
    struct ir *at = ir_read(b, position);
    struct ir *word = ir_load(b, ir_binary(b, IR_ADD, frames.base, at), frames.offset, 8, false);
    struct ir *hash = ir_binary(b, IR_MUL, ir_binary(b, IR_XOR, ir_read(b, mixed), word), multiplier);
    struct ir *after = ir_binary_constant(b, IR_ADD, at, 8);
    ir_write(b, mixed, hash);
    ir_write(b, position, after);
    /* Old verifiers know how this ends only if the constant is the right operand. */
    ir_branch(b, ir_binary(b, inclusive ? IR_UGE : IR_UGT, bytes, after), loop, end);
    ir_loop_end(b, loop);
    ir_place(b, end);
    return hash;
}

/* Returns how many frames are always between the program and the event that called it: where the kernel calls
 * programs directly, they are the program and bpf_trace_run; other stacks begin at the event's own registers. */
static int64_t own_frames(const struct lowering *l)
{
    bool is_direct = l->context->program_type == BPF_PROG_TYPE_RAW_TRACEPOINT ||
                     l->context->program_type == BPF_PROG_TYPE_TRACING;
    return is_direct ? 2 + l->state->main->depth : 0;
}

/* Reads the caller of a function at its first instruction. The function has no frame there yet, and many never make
 * one, so that the walk would leave out the caller. The kernel handles this only if the first instruction pushes
 * the frame pointer, and only since 6.10. So the word that the call has put on the stack is stored in front of the
 * frames, and the reader puts it where it belongs. 0: it cannot be read. */
static void read_caller(struct lowering *l, struct memory to)
{
    struct ir_builder *b = &l->b;
    struct ir *stack = ir_load(b, lower_ctx(l), machine_register_stack(machine_here()).offset, 8, false);
    ir_call(b, BPF_FUNC_probe_read_user, 3, lower_address(l, to), ir_constant(b, 8), stack);
}

/* The kernel has up to three functions between an event and the program, depending on how it was compiled and how
 * many programs trace the event. They are recognised by their addresses and left out here: they would take the
 * place of frames that the script wants, and make two keys of one stack. */
enum { OWN_MAX = 3 };

static bool has_tracing_glue(const struct lowering *l)
{
    return l->context->program_type == BPF_PROG_TYPE_RAW_TRACEPOINT ||
           l->context->program_type == BPF_PROG_TYPE_TRACEPOINT ||
           (l->context->program_type == BPF_PROG_TYPE_TRACING &&
            l->context->expected_attach_type == BPF_TRACE_RAW_TP);
}

/* Returns 8 if this frame is tracing glue, else 0. The table has where such code begins, at odd places, and where
 * it ends; the last entry that is not above the address is found bit by bit, without branches. All are addresses of
 * the kernel, so that the sign of a difference says which is larger. */
static struct ir *own_frame_bytes(struct lowering *l, const uint64_t *bounds, uint32_t slots,
                                  struct ir *frame)
{
    struct ir_builder *b = &l->b;
    struct ir *table = lower_constants(l, "tracing_glue", bounds, slots * (uint32_t)sizeof *bounds);
    struct ir *place = ir_constant(b, 0);
    for (int64_t step = slots / 2; step; step /= 2) {
        struct ir *bound = ir_load(b, ir_binary(b, IR_ADD, table, place), (int32_t)(8 * step), 8, false);
        struct ir *below =
            /* < 0: it is not above the frame */
            ir_binary_constant(b, IR_SUB, ir_binary(b, IR_SUB, bound, frame), 1);
        struct ir *bit = ir_binary_constant(b, IR_LSHR, below, 63);
        place = ir_binary(b, IR_ADD, place, ir_binary_constant(b, IR_MUL, bit, 8 * step));
    }
    return ir_binary_constant(b, IR_AND, place, 8);
}

/* Returns how many bytes at the beginning of the list are frames of tracing glue. */
static struct ir *own_bytes(struct lowering *l, struct memory list)
{
    struct ir_builder *b = &l->b;
    uint32_t slots = 0, skip = ir_variable(b);
    const uint64_t *bounds = l->options->tracing_glue_ranges(l->options->tracing_glue_state, &slots);
    struct ir_block *end = ir_label(b);
    ir_write(b, skip, ir_constant(b, 0));
    for (int i = 0; slots && i < OWN_MAX; i++) {
        struct ir *own =
            own_frame_bytes(l, bounds, slots, ir_load(b, list.base, list.offset + 8 * i, 8, false));
        ir_write(b, skip, ir_binary(b, IR_ADD, ir_read(b, skip), own));
        ir_jump_unless(b, own, end);
    }
    ir_place(b, end);
    return ir_read(b, skip);
}

/* A stack that was taken: its frames lie behind a struct image_stack, or behind that and its caller. */
struct taken_stack {
    struct memory record;
    struct ir *bytes, *kind; /* of the record; the caller is not among the bytes */
    uint32_t cut; /* tracing glue is removed, and then no more frames are kept; 0: they are as they are */
    bool has_caller, is_unwound;
};

static struct memory frames_of(struct memory record)
{
    return (struct memory){record.base, record.offset + (int32_t)sizeof(struct image_stack)};
}

/* Removes the frames of tracing glue, and leaves no more than the script wants. */
static void remove_own(struct lowering *l, struct taken_stack *stack, struct ir_block *none)
{
    struct ir_builder *b = &l->b;
    uint32_t size = ir_variable(b);
    struct ir *skip = own_bytes(l, frames_of(stack->record));
    struct ir *bytes = ir_binary(b, IR_SUB, stack->bytes, skip);
    ir_jump_unless(b, ir_binary_constant(b, IR_SGT, bytes, 0), none);
    ir_write(b, size, bytes);
    struct ir_if cut = ir_if(b, ir_binary_constant(b, IR_UGT, bytes, 8 * (int64_t)stack->cut));
    ir_write(b, size, ir_constant(b, 8 * (int64_t)stack->cut));
    ir_end_if(b, &cut);
    stack->record.base = ir_binary(b, IR_ADD, stack->record.base, skip);
    stack->bytes = ir_read(b, size);
}

/* Stores a stack, of more than 0 bytes. Returns its id. */
static struct ir *store_stack(struct lowering *l, struct taken_stack stack, struct span span)
{
    struct ir_builder *b = &l->b;
    uint32_t id = ir_variable(b), map = stack_map(l);
    struct ir_block *end = ir_label(b), *none = ir_label_unlikely(b);
    if (stack.cut)
        remove_own(l, &stack, none);
    const struct memory record = stack.record;
    struct ir *seed = stack.is_unwound ? ir_binary(b, IR_XOR, stack.bytes, stack.kind) : stack.bytes;
    struct ir *hash = hash_frames(l, frames_of(record), stack.bytes, seed, stack.has_caller);
    struct memory key = lower_temporary(l, 8, false);
    ir_store(b, key.base, key.offset, 8, hash);
    ir_write(b, id, hash);
    struct ir *known = ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, map), lower_address(l, key));
    struct ir_block *fresh = lower_unlikely(l, ir_binary_constant(b, IR_EQ, known, 0));
    ir_jump(b, end);
    ir_place(b, fresh);
    ir_store(b, record.base, record.offset + (int32_t)offsetof(struct image_stack, bytes), 4, stack.bytes);
    ir_store(b, record.base, record.offset + (int32_t)offsetof(struct image_stack, kind), 4, stack.kind);
    struct ir *result = ir_call(b, BPF_FUNC_map_update_elem, 4, ir_map(b, map), lower_address(l, key),
                                lower_address(l, record), ir_constant(b, BPF_NOEXIST));
    /* -EEXIST: another CPU was first. */
    ir_jump_unless(b, result, end);
    ir_jump_if(b, ir_binary_constant(b, IR_EQ, ir_extend(b, result, 4, true), -17), end);
    /* The stack's id stays different from others, and the stack is shown if it can be stored when it comes again. */
    lower_runtime_error(l, RUNTIME_ERROR_STACK, span, -1, "map_update_elem");
    ir_jump(b, end);
    ir_place(b, none);
    ir_write(b, id, ir_constant(b, 0));
    ir_place(b, end);
    return ir_read(b, id);
}

/* ---- one function for several stacks ---- */

enum {
    OWN_FRAMES_MAX = 2 + 8, /* see own_frames() */
    RECORD_BYTES = (int)sizeof(struct image_stack) + 8 + 8 * (STACK_FRAMES_MAX + OWN_MAX + OWN_FRAMES_MAX),
};

/* A function that stores a stack. In a block that is divided the verifier looks at it on its own, and so only once: it finds
 * the record in scratch memory, at a place that nothing else has. Elsewhere it is handed the record's address. */
struct stack_function {
    struct taken_stack of; /* the sort of stacks */
    struct ir_function *function;
    int32_t offset; /* of the record in scratch memory; -1: its address is the parameter */
    struct stack_function *next;
};

static bool is_stored_alike(const struct taken_stack *x, const struct taken_stack *y)
{
    return x->cut == y->cut && x->has_caller == y->has_caller && x->is_unwound == y->is_unwound;
}

/* What is known of a stack before it is taken. */
static struct taken_stack sort_of(const struct lowering *l, enum stack_method method, uint32_t most)
{
    return (struct taken_stack){
        /* The reader removes tracing glue from a stack that is as long as it can be. */
        .cut = method == STACK_OF_KERNEL && most < STACK_FRAMES_MAX && l->options->tracing_glue_ranges &&
                       has_tracing_glue(l)
                   ? most
                   : 0,
        .has_caller =
            method == STACK_OF_USER && l->context->is_entry && most > 1 && machine_here() == MACHINE_X86_64,
        .is_unwound = method == STACK_UNWOUND,
    };
}

static uint32_t frames_most(uint32_t frames)
{
    return frames && frames < STACK_FRAMES_MAX ? frames : STACK_FRAMES_MAX;
}

/* Whether a node is a stack, and how it is taken, unless it is unwound. */
static bool is_stack(struct node *node, enum stack_method *method)
{
    if (!lower_builtin(node) || !node->type ||
        (node->type->kind != TYPE_KSTACK && node->type->kind != TYPE_USTACK))
        return false;
    *method = node->type->kind == TYPE_USTACK ? STACK_OF_USER : STACK_OF_KERNEL;
    return true;
}

struct stack_count {
    const struct lowering *l;
    struct taken_stack of;
    unsigned count;
};

static bool visit_stack(struct node *node, void *state)
{
    struct stack_count *count = state;
    enum stack_method method;
    if (is_stack(node, &method)) {
        const struct taken_stack sort = sort_of(count->l, method, frames_most(node->type->stack_frames));
        count->count += is_stored_alike(&sort, &count->of);
    }
    /* What is unrolled is lowered as often as it runs. */
    if (node->kind == NODE_UNROLL) {
        const unsigned before = count->count;
        node_walk(node->loop.body, visit_stack, state);
        count->count += count->count - before;
        return false;
    }
    return count->count < 2;
}

/* Whether the block takes stacks of a sort at several places. */
static bool takes_several(const struct lowering *l, const struct taken_stack *sort)
{
    struct stack_count count = {.l = l, .of = *sort};
    const struct check_unit *unit = l->state->unit;
    node_walk(unit->body, visit_stack, &count);
    for (const struct subprogram *called = unit->subprograms; called; called = called->next)
        node_walk(called->body, visit_stack, &count);
    return count.count > 1;
}

static struct stack_function *make_function(struct lowering *l, const struct taken_stack *sort)
{
    struct ir_builder *b = &l->b;
    struct stack_function *made = arena_new(l->state->temporary, struct stack_function);
    const bool is_global = l->state->section_size;
    *made = (struct stack_function){.of = *sort, .offset = -1, .next = l->state->stacks};
    if (is_global)
        made->offset = lower_scratch(l, RECORD_BYTES, true).offset;
    struct lower_section *apart = lower_begin_apart(l, "store_stack");
    struct taken_stack stack = *sort;
    if (is_global)
        stack.record = (struct memory){lower_shared_value(l, SHARED_SCRATCH), made->offset};
    else
        stack.record = (struct memory){ir_parameter(b, 0), 0};
    stack.bytes = ir_load(b, stack.record.base,
                          stack.record.offset + (int32_t)offsetof(struct image_stack, bytes), 4, false);
    stack.kind = ir_load(b, stack.record.base,
                         stack.record.offset + (int32_t)offsetof(struct image_stack, kind), 4, false);
    /* The verifier does not know what the caller knows of the number. */
    const int64_t most =
        8 * (int64_t)(sort->cut ? sort->cut + OWN_MAX + OWN_FRAMES_MAX : (uint32_t)STACK_FRAMES_MAX);
    struct ir_block *bad = ir_label_unlikely(b);
    ir_jump_if(b, ir_binary_constant(b, IR_UGT, stack.bytes, most), bad);
    /* Where several places share a counter, the place is the block. */
    ir_return(b, store_stack(l, stack, l->state->unit->body->span));
    ir_place(b, bad);
    ir_return(b, ir_constant(b, 0));
    made->function = lower_end_apart(l, apart, 0);
    made->function->is_global = is_global;
    return l->state->stacks = made;
}

/* The function that stores stacks of a sort; NULL: they are stored where they are taken. */
static const struct stack_function *find_function(struct lowering *l, const struct taken_stack *sort)
{
    const struct lower_state *s = l->state;
    if (s->phase != PHASE_BODY || s->avoid_stack || !lower_has_frame(l))
        return NULL;
    for (const struct stack_function *known = s->stacks; known; known = known->next)
        if (is_stored_alike(&known->of, sort))
            return known;
    return takes_several(l, sort) ? make_function(l, sort) : NULL;
}

static struct ir *store_by(struct lowering *l, const struct stack_function *by,
                           const struct taken_stack *stack)
{
    struct ir_builder *b = &l->b;
    const struct memory record = stack->record;
    ir_store(b, record.base, record.offset + (int32_t)offsetof(struct image_stack, bytes), 4, stack->bytes);
    ir_store(b, record.base, record.offset + (int32_t)offsetof(struct image_stack, kind), 4, stack->kind);
    return by->offset < 0 ? ir_call_local(b, by->function, 1, lower_address(l, record))
                          : lower_call_apart(l, by->function);
}

/* ---- stacks that are kept ---- */

struct kept_stack {
    enum stack_method method;
    uint32_t most;
    struct span span;
    int32_t offset; /* of its id in scratch memory */
    struct kept_stack *next;
};

static const struct kept_stack *find_kept(const struct kept_stack *kept, enum stack_method method,
                                          uint32_t most)
{
    while (kept && (kept->method != method || kept->most != most))
        kept = kept->next;
    return kept;
}

struct kept_search {
    struct lowering *l;
    struct kept_stack *found;
};

static bool visit_kept(struct node *node, void *state)
{
    struct kept_search *search = state;
    struct lowering *l = search->l;
    enum stack_method method;
    if (!is_stack(node, &method))
        return true;
    const uint32_t most = frames_most(node->type->stack_frames);
    if (find_kept(search->found, method, most))
        return true;
    struct kept_stack *kept = arena_new(l->state->temporary, struct kept_stack);
    *kept = (struct kept_stack){method, most, node->span, lower_scratch(l, 8, true).offset, search->found};
    search->found = kept;
    return true;
}

void lower_keep_stacks(struct lowering *l)
{
    struct lower_state *s = l->state;
    struct kept_search search = {.l = l};
    node_walk(s->unit->body, visit_kept, &search);
    for (const struct subprogram *called = s->unit->subprograms; called; called = called->next)
        node_walk(called->body, visit_kept, &search);
    for (const struct kept_stack *kept = search.found; kept; kept = kept->next) {
        struct temporary_mark mark = lower_mark(l);
        struct ir *id = lower_stack(l, kept->method, kept->most, kept->span);
        ir_store(&l->b, lower_shared_value(l, SHARED_SCRATCH), kept->offset, 8, id);
        lower_release(l, mark);
    }
    s->kept_stacks = search.found;
}

struct ir *lower_stack(struct lowering *l, enum stack_method method, uint32_t frames, struct span span)
{
    struct ir_builder *b = &l->b;
    const uint32_t most = frames_most(frames);
    const struct kept_stack *kept = find_kept(l->state->kept_stacks, method, most);
    if (kept)
        return ir_load(b, lower_shared_value(l, SHARED_SCRATCH), kept->offset, 8, false);
    struct taken_stack stack = sort_of(l, method, most);
    const struct stack_function *by = find_function(l, &stack);
    stack.record = by && by->offset >= 0 ? (struct memory){lower_shared_value(l, SHARED_SCRATCH), by->offset}
                                         : lower_scratch(l, RECORD_BYTES, false);
    stack.kind = ir_constant(b, stack.has_caller ? most : 0);
    const struct memory list = frames_of(stack.record);
    const struct memory walked = {list.base, list.offset + (stack.has_caller ? 8 : 0)};
    uint32_t id = ir_variable(b);
    struct ir_block *end = ir_label(b), *none = ir_label_unlikely(b);
    /* Before Linux 5.18 frames that are skipped count as returned. */
    const uint32_t asked = most + (stack.cut ? OWN_MAX + (uint32_t)own_frames(l) : 0);
    if (method == STACK_UNWOUND)
        stack.bytes = lower_unwind(l, walked, most, span, none, &stack.kind);
    else
        stack.bytes = ir_call(b, BPF_FUNC_get_stack, 4, lower_ctx(l), lower_address(l, walked),
                              ir_constant(b, 8 * asked),
                              ir_constant(b, method == STACK_OF_USER ? BPF_F_USER_STACK : own_frames(l)));
    ir_jump_unless(b, ir_binary_constant(b, IR_SGT, stack.bytes, 0), none);
    if (stack.has_caller)
        read_caller(l, list);
    ir_write(b, id, by ? store_by(l, by, &stack) : store_stack(l, stack, span));
    ir_jump(b, end);
    ir_place(b, none);
    ir_write(b, id, ir_constant(b, 0));
    ir_place(b, end);
    return ir_read(b, id);
}

/* Returns the length of a stack, as image_stack_frames() counts it. */
struct ir *lower_stack_length(struct lowering *l, struct ir *id)
{
    struct ir_builder *b = &l->b;
    struct memory key = lower_temporary(l, 8, false);
    uint32_t length = ir_variable(b), map = stack_map(l);
    struct ir_block *end = ir_label(b);
    ir_store(b, key.base, key.offset, 8, id);
    ir_write(b, length, ir_constant(b, 0));
    struct ir *stack = ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, map), lower_address(l, key));
    ir_jump_unless(b, ir_binary_constant(b, IR_NE, stack, 0), end);
    struct ir *bytes = ir_load(b, stack, offsetof(struct image_stack, bytes), 4, false);
    struct ir *count = ir_binary_constant(b, IR_LSHR, bytes, 3);
    ir_write(b, length, count);
    struct ir *most = ir_binary_constant(
        b, IR_AND, ir_load(b, stack, offsetof(struct image_stack, kind), 4, false), IMAGE_STACK_CALLER);
    struct ir *caller = ir_load(b, stack, offsetof(struct image_stack, frames), 8, false);
    struct ir *second = ir_load(b, stack, offsetof(struct image_stack, frames) + 16, 8, false);
    struct ir *const adds[] = {
        ir_binary(b, IR_UGT, most, count),
        ir_binary_constant(b, IR_NE, caller, 0),
        ir_binary(b, IR_OR, ir_binary_constant(b, IR_ULT, count, 2), ir_binary(b, IR_NE, second, caller)),
    };
    for (size_t i = 0; i < sizeof adds / sizeof *adds; i++) {
        ir_jump_unless(b, adds[i], end);
    }
    ir_write(b, length, ir_binary_constant(b, IR_ADD, count, 1));
    ir_place(b, end);
    return ir_read(b, length);
}
