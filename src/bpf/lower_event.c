/* SPDX-License-Identifier: BSD-3-Clause */
/* Events for the reader, and stacks.
 *
 * A record of constant size is reserved in the ring and filled there, but only after everything that can
 * fault, sleep or fail was evaluated: nothing is held reserved across that. A record with long strings is
 * built in scratch memory: fixed part first, then the strings, each read straight into its place behind the
 * one before, and sent at its true length. */
#include "bpf/lower_state.h"

#include <stdlib.h>
#include <string.h>

enum { NO_WAKEUP = 1 /* BPF_RB_NO_WAKEUP */, RECORD_HEADER = sizeof(struct image_record) };

static uint32_t round8(uint32_t bytes)
{
    return (bytes + 7) & ~7u;
}

/* ---- the action ---- */

static bool is_packed(const struct type *type)
{
    return type->kind == TYPE_STRING && type->size > PACKED_LEAST;
}

static const struct type *type_of(const struct event_field *field)
{
    return field->node ? field->node->type : field->type;
}

static struct action describe(struct lowering *l, struct node *call, const struct builtin *builtin,
                              const struct event_field *fields, uint32_t count)
{
    struct action action = {
        .builtin = builtin,
        .call = call,
        .fields = arena_array(l->arena, count, sizeof *action.fields),
        .field_count = count,
        .size = RECORD_HEADER,
        .probe = l->probe,
    };
    for (uint32_t i = 0; i < count; i++) {
        const struct type *type = type_of(&fields[i]);
        action.fields[i] =
            (struct action_field){.type = type, .offset = action.size, .is_packed = is_packed(type)};
        action.size += is_packed(type) ? (uint32_t)sizeof(struct image_string) : type_storage(type);
    }
    return action;
}

/* Unrolled code sends one action from several places. */
static uint32_t register_action(struct lowering *l, struct action action)
{
    struct action_table *table = l->actions;
    for (size_t i = table->count; i && table->items[i - 1].call == action.call; i--) {
        const struct action *known = &table->items[i - 1];
        if (known->builtin == action.builtin && known->field_count == action.field_count &&
            known->size == action.size && known->probe == action.probe)
            return (uint32_t)i - 1;
    }
    *arena_push(l->arena, table->items, table->count, table->room) = action;
    return (uint32_t)table->count - 1;
}

/* ---- rings ---- */

static void lost(struct lowering *l, struct node *call)
{
    lower_mishap(l, MISHAP_LOST, call->place, -1, NULL);
    ir_jump(&l->b, lower_statement_end(l));
}

static uint32_t ring_map(struct lowering *l, bool is_shared)
{
    int *index = is_shared ? &l->image->events_shared : &l->image->events;
    if (*index < 0) {
        struct image_map map = {.name = "events",
                                .type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
                                .key_size = 4,
                                .value_size = l->options->ring_bytes,
                                .max_entries = l->options->features->cpus,
                                .is_ring_per_cpu = true};
        if (is_shared)
            map = (struct image_map){
                .name = "events_shared", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = l->options->ring_bytes};
        *index = (int)l->image->map_count;
        *arena_push(l->arena, l->image->maps, l->image->map_count, l->image->map_room) = map;
    }
    return (uint32_t)*index;
}

static bool uses_shared_ring(const struct lowering *l)
{
    return l->is_sleepable && !l->options->features->ring_array_sleepable;
}

/* This CPU's ring. The event is lost where there is none. */
static struct ir *ring(struct lowering *l, struct node *call)
{
    struct ir_builder *b = &l->b;
    bool is_shared = uses_shared_ring(l);
    uint32_t map = ring_map(l, is_shared);
    if (is_shared)
        return ir_map(b, map);
    struct memory key = lower_temporary(l, 8, false);
    ir_store(b, key.base, key.offset, 4, ir_call(b, BPF_FUNC_get_smp_processor_id, 0));
    struct ir *ring = ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, map), lower_address(l, key));
    struct ir_block *none = lower_unlikely(l, ir_binary_constant(b, IR_EQ, ring, 0));
    struct ir_block *usual = b->block;
    ir_enter(b, none);
    lost(l, call);
    ir_enter(b, usual);
    return ring;
}

/* Several rings are merged by time; one needs none. */
static struct ir *record_time(struct lowering *l)
{
    const struct features *features = l->options->features;
    bool is_one = features->cpus == 1 && (features->ring_array_sleepable || !features->sleepable_uprobe);
    return is_one ? ir_constant(&l->b, 0) : lower_time(l);
}

/* ---- records of constant size ---- */

/* Things that can be written into reserved memory: they read nothing that can fault, and come to their end.
 */
static bool is_harmless(const struct node *node)
{
    const struct builtin *builtin = lower_builtin(node);
    if (node->kind == NODE_STRING || node->kind == NODE_VARIABLE)
        return true;
    if (!builtin || builtin->flags & (BUILTIN_READS_MEMORY | BUILTIN_USES_ARGS))
        return false;
    if (node->kind == NODE_CALL && node->call.arguments.count)
        return false;
    return node->type->kind == TYPE_STRING || node->type->kind == TYPE_NAME ||
           node->type->kind == TYPE_USERNAME;
}

/* Text at an address that may be 0; its length. */
static struct ir *read_text(struct lowering *l, const struct event_field *field, struct memory to,
                            struct place place)
{
    struct ir_builder *b = &l->b;
    uint32_t length = ir_variable(b);
    struct ir_block *read = ir_block_new(b), *none = ir_block_new(b), *end = ir_block_new(b);
    ir_branch(b, field->address, read, none);
    ir_seal(b, read);
    ir_seal(b, none);
    ir_enter(b, read);
    ir_write(b, length,
             lower_read_string(l, to, field->type->size, NULL, field->address, field->space, false, place));
    ir_jump(b, end);
    ir_enter(b, none);
    ir_store_constant(b, to.base, to.offset, 8, 0);
    ir_write(b, length, ir_constant(b, 0));
    ir_jump(b, end);
    ir_seal(b, end);
    ir_enter(b, end);
    return ir_read(b, length);
}

static void send_constant(struct lowering *l, struct node *call, const struct action *action, uint32_t number,
                          const struct event_field *fields)
{
    struct ir_builder *b = &l->b;
    uint32_t count = action->field_count;
    struct ir **values = arena_array(l->state->temporary, count, sizeof(struct ir *));
    struct memory *memories = arena_array(l->state->temporary, count, sizeof *memories);
    for (uint32_t i = 0; i < count; i++) {
        struct node *node = fields[i].node;
        if (!node) {
            if (fields[i].address) {
                memories[i] = lower_temporary(l, type_storage(action->fields[i].type), true);
                read_text(l, &fields[i], memories[i], call->place);
            }
            continue;
        }
        if (type_is_scalar(action->fields[i].type) || type_is_aggregation(action->fields[i].type))
            values[i] = lower_scalar(l, node);
        else if (!is_harmless(node))
            memories[i] = lower_memory(l, node);
    }
    struct ir *time = record_time(l);
    struct ir *here = ring(l, call);
    struct ir *record =
        ir_call(b, BPF_FUNC_ringbuf_reserve, 3, here, ir_constant(b, action->size), ir_constant(b, 0));
    struct ir_block *full = lower_unlikely(l, ir_binary_constant(b, IR_EQ, record, 0));
    ir_store(b, record, offsetof(struct image_record, time), 8, time);
    ir_store_constant(b, record, offsetof(struct image_record, action), 8,
                      (int64_t)((uint64_t)action->size << 32 | number));
    for (uint32_t i = 0; i < count; i++) {
        const struct action_field *field = &action->fields[i];
        struct memory to = {.base = record, .offset = (int32_t)field->offset};
        if (values[i] || fields[i].value)
            ir_store(b, to.base, to.offset, 8, values[i] ? values[i] : fields[i].value);
        else if (memories[i].base || !fields[i].node)
            lower_copy(l, to, memories[i].base ? memories[i] : fields[i].memory, type_storage(field->type));
        else
            lower_into_type(l, fields[i].node, field->type, to);
    }
    ir_call(b, BPF_FUNC_ringbuf_submit, 2, record, ir_constant(b, NO_WAKEUP));
    struct ir_block *end = ir_block_new(b);
    ir_jump(b, end);
    ir_enter(b, full);
    lost(l, call);
    ir_seal(b, end);
    ir_enter(b, end);
}

/* ---- records with packed strings ---- */

/* The text of a string expression to `to`; its length. Builtins that read text say it themselves. */
static struct ir *pack_string(struct lowering *l, struct node *node, struct memory to, uint32_t capacity)
{
    struct ir_builder *b = &l->b;
    const struct builtin *builtin = lower_builtin(node);
    if (node->kind == NODE_STRING) {
        uint32_t length = (uint32_t)(node->string.length < capacity ? node->string.length : capacity);
        lower_into(l, node, to);
        return ir_constant(b, length);
    }
    if (node->kind == NODE_TERNARY) {
        uint32_t result = ir_variable(b);
        struct ir_block *yes = ir_block_new(b), *no = ir_block_new(b), *end = ir_block_new(b);
        lower_branch(l, node->ternary.condition, yes, no);
        ir_seal(b, yes);
        ir_seal(b, no);
        ir_enter(b, yes);
        ir_write(b, result, pack_string(l, node->ternary.yes, to, capacity));
        ir_jump(b, end);
        ir_enter(b, no);
        ir_write(b, result, pack_string(l, node->ternary.no, to, capacity));
        ir_jump(b, end);
        ir_seal(b, end);
        ir_enter(b, end);
        return ir_read(b, result);
    }
    if (builtin || lower_is_stored(node)) {
        struct packing packing = {.base = to.base, .offset = to.offset}, *outer = l->state->packing;
        l->state->packing = &packing;
        lower_into(l, node, to);
        l->state->packing = outer;
        if (packing.length && lower_dominates(l, packing.block))
            return packing.length;
        return lower_read_string(l, to, capacity, NULL, lower_address(l, to), SPACE_BPF, false, node->place);
    }
    struct memory from = lower_memory(l, node);
    return lower_read_string(l, to, capacity, NULL, lower_address(l, from), SPACE_BPF, false, node->place);
}

/* A string in a record has a NUL behind it, also when it fills its capacity. */
static uint32_t packed_room(uint32_t capacity)
{
    return round8(capacity + 1);
}

/* Where the next string goes: kept in the record's own length, and read back from there, so that the verifier
 * forgets how each string ended and need not walk the rest of the program for every combination. */
static struct ir *advance(struct lowering *l, struct node *call, struct memory record, struct ir *cursor,
                          struct ir *length, uint32_t most)
{
    struct ir_builder *b = &l->b;
    int32_t at = record.offset + (int32_t)offsetof(struct image_record, length);
    struct ir *rounded = ir_binary_constant(b, IR_AND, ir_binary_constant(b, IR_ADD, length, 8), -8);
    ir_store(b, record.base, at, 4, ir_binary(b, IR_ADD, cursor, rounded));
    struct ir *next = ir_load(b, record.base, at, 4, false);
    next->is_volatile = true;
    struct ir_block *beyond = lower_unlikely(l, ir_binary_constant(b, IR_UGT, next, most));
    struct ir_block *usual = b->block;
    ir_enter(b, beyond);
    lost(l, call); /* cannot be; the verifier wants to see it */
    ir_enter(b, usual);
    return next;
}

static void send_packed(struct lowering *l, struct node *call, const struct action *action, uint32_t number,
                        const struct event_field *fields)
{
    struct ir_builder *b = &l->b;
    uint32_t most = action->size;
    for (uint32_t i = 0; i < action->field_count; i++)
        if (action->fields[i].is_packed)
            most += packed_room(action->fields[i].type->size);
    struct memory record = lower_scratch(l, most, false);
    for (uint32_t i = 0; i < action->field_count; i++) {
        const struct action_field *field = &action->fields[i];
        struct memory to = {.base = record.base, .offset = record.offset + (int32_t)field->offset};
        if (field->is_packed)
            continue;
        if (fields[i].node)
            lower_into_type(l, fields[i].node, field->type, to);
        else if (fields[i].value)
            ir_store(b, to.base, to.offset, 8, fields[i].value);
        else if (fields[i].address) {
            lower_zero(l, to, type_storage(field->type));
            read_text(l, &fields[i], to, call->place);
        } else
            lower_copy(l, to, fields[i].memory, type_storage(field->type));
    }
    struct ir *cursor = ir_constant(b, action->size);
    uint32_t end = action->size;
    for (uint32_t i = 0; i < action->field_count; i++) {
        const struct action_field *field = &action->fields[i];
        if (!field->is_packed)
            continue;
        uint32_t capacity = field->type->size;
        bool is_first = cursor->op == IR_CONSTANT;
        struct memory to = {.base = is_first ? record.base : ir_binary(b, IR_ADD, record.base, cursor),
                            .offset = record.offset + (is_first ? (int32_t)cursor->immediate : 0)};
        struct ir *length;
        if (fields[i].node)
            length = pack_string(l, fields[i].node, to, capacity);
        else if (fields[i].address)
            length = read_text(l, &fields[i], to, call->place);
        else
            length = lower_read_string(l, to, capacity, NULL, lower_address(l, fields[i].memory), SPACE_BPF,
                                       false, call->place);
        int32_t string = record.offset + (int32_t)field->offset;
        ir_store(b, record.base, string + (int32_t)offsetof(struct image_string, offset), 4, cursor);
        ir_store(b, record.base, string + (int32_t)offsetof(struct image_string, length), 4, length);
        end += packed_room(capacity);
        cursor = advance(l, call, record, cursor, length, end);
    }
    ir_store(b, record.base, record.offset + (int32_t)offsetof(struct image_record, time), 8, record_time(l));
    ir_store_constant(b, record.base, record.offset + (int32_t)offsetof(struct image_record, action), 4,
                      number);
    struct ir *here = ring(l, call);
    struct ir *result = ir_call(b, BPF_FUNC_ringbuf_output, 4, here, lower_address(l, record), cursor,
                                ir_constant(b, NO_WAKEUP));
    struct ir_block *full = lower_unlikely(l, ir_binary_constant(b, IR_SLT, result, 0));
    struct ir_block *usual = b->block;
    ir_enter(b, full);
    lost(l, call);
    ir_enter(b, usual);
}

void lower_event(struct lowering *l, struct node *call, const struct builtin *builtin,
                 const struct event_field *fields, uint32_t count)
{
    struct action action = describe(l, call, builtin, fields, count);
    uint32_t number = register_action(l, action);
    bool has_packed = false;
    for (uint32_t i = 0; i < count; i++)
        has_packed |= action.fields[i].is_packed;
    (has_packed ? send_packed : send_constant)(l, call, &action, number, fields);
}

/* ---- stacks ---- */

enum { STACK_ENTRIES = 8192, STACK_LANES = 4 };
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
            .value_size = sizeof(struct image_stack) + 8 * STACK_FRAMES_MOST,
            .max_entries = STACK_ENTRIES,
        };
    }
    return (uint32_t)*index;
}

/* Four frames a turn, each in a lane of its own, so that the multiplications overlap. The words after the
 * last frame are zero. */
static struct ir *hash_frames(struct lowering *l, struct memory frames, struct ir *bytes)
{
    struct ir_builder *b = &l->b;
    uint32_t position = ir_variable(b), lanes[STACK_LANES];
    struct ir *multiplier = ir_constant(b, (int64_t)STACK_MULTIPLIER);
    ir_write(b, position, ir_constant(b, 0));
    for (unsigned i = 0; i < STACK_LANES; i++) {
        lanes[i] = ir_variable(b);
        ir_write(b, lanes[i], i ? ir_constant(b, i) : bytes);
    }
    struct ir_block *loop = ir_block_new(b), *body = ir_block_new(b), *end = ir_block_new(b);
    ir_jump(b, loop);
    ir_enter(b, loop);
    struct ir *at = ir_read(b, position);
    ir_branch(b, ir_binary(b, IR_ULT, at, bytes), body, end);
    ir_seal(b, body);
    ir_enter(b, body);
    struct ir *words = ir_binary(b, IR_ADD, frames.base, at);
    for (unsigned i = 0; i < STACK_LANES; i++) {
        struct ir *word = ir_load(b, words, frames.offset + 8 * (int32_t)i, 8, false);
        struct ir *mixed = ir_binary(b, IR_XOR, ir_read(b, lanes[i]), word);
        ir_write(b, lanes[i], ir_binary(b, IR_MUL, mixed, multiplier));
    }
    ir_write(b, position, ir_binary_constant(b, IR_ADD, at, 8 * STACK_LANES));
    ir_branch(b, ir_binary_constant(b, IR_ULT, at, 8 * (STACK_FRAMES_MOST - STACK_LANES + 1)), loop, end);
    ir_seal(b, loop);
    ir_seal(b, end);
    ir_enter(b, end);
    struct ir *hash = ir_read(b, lanes[0]);
    for (unsigned i = 1; i < STACK_LANES; i++) {
        struct ir *lane = ir_read(b, lanes[i]);
        hash = ir_binary(b, IR_XOR, hash, ir_binary_constant(b, IR_LSHR, hash, 32));
        hash = ir_binary(b, IR_ADD, ir_binary(b, IR_MUL, hash, multiplier), lane);
    }
    hash = ir_binary(b, IR_XOR, hash, ir_binary_constant(b, IR_LSHR, hash, 29));
    return ir_binary_constant(b, IR_OR, hash, 1); /* never 0, which says that there is no stack */
}

/* Frames between the program and the event that called it: where the kernel calls programs directly, they are
 * the program and bpf_trace_run; the others start at the event's own registers. */
static int64_t own_frames(const struct lowering *l)
{
    bool is_direct = l->context->program_type == BPF_PROG_TYPE_RAW_TRACEPOINT ||
                     l->context->program_type == BPF_PROG_TYPE_TRACING;
    return is_direct ? 2 : 0;
}

struct ir *lower_stack(struct lowering *l, bool user, uint32_t frames, struct place place)
{
    struct ir_builder *b = &l->b;
    uint32_t most = frames && frames < STACK_FRAMES_MOST ? frames : STACK_FRAMES_MOST, map = stack_map(l);
    int32_t head = sizeof(struct image_stack);
    /* Behind the frames: zeros up to a whole turn of the hash. */
    struct memory stack = lower_scratch(l, (uint32_t)head + 8 * (STACK_FRAMES_MOST + STACK_LANES), false);
    struct memory list = {.base = stack.base, .offset = stack.offset + head};
    uint32_t id = ir_variable(b);
    struct ir_block *end = ir_block_new(b), *taken = ir_block_new(b);
    ir_write(b, id, ir_constant(b, 0));
    struct ir *bytes =
        ir_call(b, BPF_FUNC_get_stack, 4, lower_ctx(l), lower_address(l, list), ir_constant(b, 8 * most),
                ir_constant(b, user ? BPF_F_USER_STACK : own_frames(l)));
    ir_branch(b, ir_binary_constant(b, IR_SGT, bytes, 0), taken, end);
    ir_seal(b, taken);
    ir_enter(b, taken);
    struct ir_block *inside = ir_block_new(b);
    ir_branch(b, ir_binary_constant(b, IR_ULE, bytes, 8 * STACK_FRAMES_MOST), inside, end);
    ir_seal(b, inside);
    ir_enter(b, inside);
    struct ir *after = ir_binary(b, IR_ADD, list.base, bytes);
    for (int32_t i = 0; i < STACK_LANES - 1; i++)
        ir_store_constant(b, after, list.offset + 8 * i, 8, 0);
    struct ir *hash = hash_frames(l, list, bytes);
    struct memory key = lower_temporary(l, 8, false);
    ir_store(b, key.base, key.offset, 8, hash);
    ir_write(b, id, hash);
    struct ir *known = ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, map), lower_address(l, key));
    struct ir_block *fresh = lower_unlikely(l, ir_binary_constant(b, IR_EQ, known, 0));
    ir_jump(b, end);
    ir_enter(b, fresh);
    ir_store(b, stack.base, stack.offset + (int32_t)offsetof(struct image_stack, bytes), 4, bytes);
    ir_store_constant(b, stack.base, stack.offset + (int32_t)offsetof(struct image_stack, kind), 4, !user);
    struct ir *result = ir_call(b, BPF_FUNC_map_update_elem, 4, ir_map(b, map), lower_address(l, key),
                                lower_address(l, stack), ir_constant(b, BPF_NOEXIST));
    /* -EEXIST: another CPU was first. */
    struct ir_block *refused = ir_block_new(b), *full = ir_block_new(b);
    ir_branch(b, result, refused, end);
    ir_seal(b, refused);
    ir_enter(b, refused);
    ir_branch(b, ir_binary_constant(b, IR_EQ, ir_extend(b, result, 4, true), -17), end, full);
    ir_seal(b, full);
    ir_enter(b, full);
    lower_mishap(l, MISHAP_STACK, place, -1, "map_update_elem");
    ir_write(b, id, ir_constant(b, 0));
    ir_jump(b, end);
    ir_seal(b, end);
    ir_enter(b, end);
    return ir_read(b, id);
}

struct ir *lower_stack_length(struct lowering *l, struct ir *id)
{
    struct ir_builder *b = &l->b;
    struct memory key = lower_temporary(l, 8, false);
    uint32_t length = ir_variable(b), map = stack_map(l);
    struct ir_block *found = ir_block_new(b), *end = ir_block_new(b);
    ir_store(b, key.base, key.offset, 8, id);
    ir_write(b, length, ir_constant(b, 0));
    struct ir *stack = ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, map), lower_address(l, key));
    ir_branch(b, ir_binary_constant(b, IR_NE, stack, 0), found, end);
    ir_seal(b, found);
    ir_enter(b, found);
    struct ir *bytes = ir_load(b, stack, offsetof(struct image_stack, bytes), 4, false);
    ir_write(b, length, ir_binary_constant(b, IR_LSHR, bytes, 3));
    ir_jump(b, end);
    ir_seal(b, end);
    ir_enter(b, end);
    return ir_read(b, length);
}
