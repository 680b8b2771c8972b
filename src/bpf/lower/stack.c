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

/* Removes the frames of tracing glue, and leaves no more than the script wants. Returns the bytes of the others,
 * and where they are in *list. */
static struct ir *without_own(struct lowering *l, struct memory *list, uint32_t most, struct ir *bytes,
                              struct ir_block *none)
{
    struct ir_builder *b = &l->b;
    uint32_t size = ir_variable(b);
    struct ir *skip = own_bytes(l, *list);
    bytes = ir_binary(b, IR_SUB, bytes, skip);
    ir_jump_unless(b, ir_binary_constant(b, IR_SGT, bytes, 0), none);
    ir_write(b, size, bytes);
    struct ir_if cut = ir_if(b, ir_binary_constant(b, IR_UGT, bytes, 8 * (int64_t)most));
    ir_write(b, size, ir_constant(b, 8 * (int64_t)most));
    ir_end_if(b, &cut);
    list->base = ir_binary(b, IR_ADD, list->base, skip);
    return ir_read(b, size);
}

struct ir *lower_stack(struct lowering *l, enum stack_method method, uint32_t frames, struct span span)
{
    struct ir_builder *b = &l->b;
    bool user = method != STACK_OF_KERNEL;
    uint32_t most = frames && frames < STACK_FRAMES_MAX ? frames : STACK_FRAMES_MAX, map = stack_map(l);
    /* The reader removes them from a stack that is as long as it can be. */
    bool drops_own =
        !user && most < STACK_FRAMES_MAX && l->options->tracing_glue_ranges && has_tracing_glue(l);
    /* Before Linux 5.18 frames that are skipped count as returned. */
    uint32_t asked = most + (drops_own ? OWN_MAX + (uint32_t)own_frames(l) : 0);
    bool has_caller =
        method == STACK_OF_USER && l->context->is_entry && most > 1 && machine_here() == MACHINE_X86_64;
    struct memory record =
        lower_scratch(l, sizeof(struct image_stack) + 8 + 8 * (STACK_FRAMES_MAX + OWN_MAX), false);
    struct memory list = {.base = record.base, .offset = record.offset + (int32_t)sizeof(struct image_stack)};
    struct memory walked = {.base = list.base, .offset = list.offset + (has_caller ? 8 : 0)};
    uint32_t id = ir_variable(b);
    struct ir_block *end = ir_label(b), *none = ir_label_unlikely(b);
    struct ir *bytes, *kind = ir_constant(b, has_caller ? most : 0);
    if (method == STACK_UNWOUND)
        bytes = lower_unwind(l, walked, most, span, none, &kind);
    else
        bytes = ir_call(b, BPF_FUNC_get_stack, 4, lower_ctx(l), lower_address(l, walked),
                        ir_constant(b, 8 * asked), ir_constant(b, user ? BPF_F_USER_STACK : own_frames(l)));
    ir_jump_unless(b, ir_binary_constant(b, IR_SGT, bytes, 0), none);
    if (has_caller)
        read_caller(l, list);
    if (drops_own) {
        bytes = without_own(l, &list, most, bytes, none);
        record =
            (struct memory){.base = list.base, .offset = list.offset - (int32_t)sizeof(struct image_stack)};
    }
    struct ir *seed = method == STACK_UNWOUND ? ir_binary(b, IR_XOR, bytes, kind) : bytes;
    struct ir *hash = hash_frames(l, list, bytes, seed, has_caller);
    struct memory key = lower_temporary(l, 8, false);
    ir_store(b, key.base, key.offset, 8, hash);
    ir_write(b, id, hash);
    struct ir *known = ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, map), lower_address(l, key));
    struct ir_block *fresh = lower_unlikely(l, ir_binary_constant(b, IR_EQ, known, 0));
    ir_jump(b, end);
    ir_place(b, fresh);
    ir_store(b, record.base, record.offset + (int32_t)offsetof(struct image_stack, bytes), 4, bytes);
    ir_store(b, record.base, record.offset + (int32_t)offsetof(struct image_stack, kind), 4, kind);
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
