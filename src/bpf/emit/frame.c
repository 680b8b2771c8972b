/* SPDX-License-Identifier: BSD-3-Clause */
/* Places a function's frame objects and spill slots in its stack frame.
 *
 * An object is needed from its first access to its last, on every path; objects that are never needed at the same
 * time share bytes. An object whose address is used by anything but an access or a call is always needed. When each
 * word of 8 bytes is taken is stored as ranges of positions in the order of emission. */
#include "bpf/emit/machine.h"

#include <string.h>

#include "base/sorted.h"

struct word {
    struct live_range *ranges; /* sorted; they do not overlap */
    size_t count, room;
};

struct frame {
    struct arena *arena;
    struct ir_function *function;
    struct allocation *allocation;
    uint32_t *index; /* index of an object in allocation->objects + 1, by value number */
    bool *escapes;   /* by object: its address is used elsewhere */
    size_t columns;  /* how many 64-bit words a set of objects has */
    /* sets for each block: objects that are accessed on the way in, on the way out, inside */
    uint64_t *before, *after, *here;
    uint32_t *first, *last;    /* first and last access in the block in hand, by object */
    struct live_range *ranges; /* ranges of the object in hand */
    size_t range_count, range_room;
    struct word *words;
    size_t word_count, word_room;
};

static size_t object_index(struct frame *frame, struct ir *object)
{
    struct allocation *allocation = frame->allocation;
    if (!frame->index[object->number]) {
        *arena_push(frame->arena, allocation->objects, allocation->object_count, allocation->object_room) =
            object;
        frame->index[object->number] = (uint32_t)allocation->object_count;
    }
    return frame->index[object->number] - 1;
}

/* Whether an operand of an instruction is an access to the object that it names. */
static bool is_access_operand(const struct ir *ir, unsigned index)
{
    if (ir->op == IR_CALL)
        return true;
    return index == 0 && ir->op >= IR_LOAD && ir->op <= IR_ATOMIC_COMPARE;
}

static void find_objects(struct frame *frame)
{
    for (const struct ir_block *block = frame->function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            if (ir_is_reload(ir))
                object_index(frame, frame_object(ir->a));
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                struct ir *operand = *ir_operand(ir, k);
                if (operand->op == IR_FRAME && !operand->block)
                    object_index(frame, frame_object(operand));
                else if (ir_is_reload(operand))
                    object_index(frame, frame_object(operand->a));
            }
            if (ir->op == IR_FRAME)
                object_index(frame, frame_object(ir));
        }
}

static void access_at(struct frame *frame, const struct ir_block *block, struct ir *object, uint32_t position)
{
    size_t index = object_index(frame, object);
    uint64_t *here = &frame->here[block->number * frame->columns + index / 64];
    if (!(*here >> index % 64 & 1))
        frame->first[index] = position;
    *here |= (uint64_t)1 << index % 64;
    frame->last[index] = position;
}

static uint32_t walk_block(struct frame *frame, const struct ir_block *block, uint32_t position)
{
    for (struct ir *ir = block->first; ir; ir = ir->next, position++) {
        if (ir->op == IR_FRAME) /* its address is in a register, and may be used anywhere */
            frame->escapes[object_index(frame, frame_object(ir))] = true;
        unsigned count = ir_operand_count(ir);
        for (unsigned k = 0; k < count; k++) {
            struct ir *operand = *ir_operand(ir, k);
            if (operand->block)
                continue;
            if (ir_is_reload(operand) && ir->op != IR_PHI)
                access_at(frame, block, frame_object(operand->a), position);
            else if (operand->op == IR_FRAME && is_access_operand(ir, k))
                access_at(frame, block, frame_object(operand), position);
            else if (operand->op == IR_FRAME)
                frame->escapes[object_index(frame, frame_object(operand))] = true;
        }
    }
    /* Arguments of the successor's phis are read at the end of the block. */
    if (block->last->op == IR_JUMP)
        for (struct ir *phi = block->last->to[0]->first; phi && phi->op == IR_PHI; phi = phi->next)
            for (uint32_t i = 0; i < phi->argument_count; i++)
                if (phi->block->predecessors[i] == block && ir_is_reload(phi->arguments[i]))
                    access_at(frame, block, frame_object(phi->arguments[i]->a), position);
    return position + 1;
}

static bool merge(uint64_t *into, const uint64_t *x, const uint64_t *y, size_t columns)
{
    bool changed = false;
    for (size_t i = 0; i < columns; i++) {
        uint64_t merged = into[i] | x[i] | y[i];
        changed |= merged != into[i];
        into[i] = merged;
    }
    return changed;
}

static void solve(struct frame *frame, const struct flow *flow)
{
    size_t columns = frame->columns;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < flow->count; i++) {
            const struct ir_block *block = flow->order[i];
            for (size_t p = 0; p < block->predecessor_count; p++) {
                uint32_t from = block->predecessors[p]->number;
                again |= merge(&frame->before[block->number * columns], &frame->before[from * columns],
                               &frame->here[from * columns], columns);
            }
        }
        for (uint32_t i = flow->count; i-- > 0;) {
            struct ir_block *to[2];
            unsigned count = ir_successors(flow->order[i], to);
            for (unsigned k = 0; k < count; k++)
                again |= merge(&frame->after[flow->order[i]->number * columns],
                               &frame->after[to[k]->number * columns], &frame->here[to[k]->number * columns],
                               columns);
        }
    }
}

static bool overlaps(const struct word *word, const struct live_range *range)
{
    const size_t first = partition_point(word->count, i, word->ranges[i].end < range->begin);
    return first < word->count && word->ranges[first].begin <= range->end;
}

static bool is_word_free(const struct frame *frame, size_t word)
{
    for (size_t i = 0; word < frame->word_count && i < frame->range_count; i++)
        if (overlaps(&frame->words[word], &frame->ranges[i]))
            return false;
    return true;
}

static void place(struct frame *frame, struct ir *object)
{
    size_t size = (size_t)object->immediate / 8;
    size_t start = 0;
    for (size_t run = 0; run < size; run++)
        if (!is_word_free(frame, start + run)) {
            start += run + 1;
            run = (size_t)-1;
        }
    while (frame->word_count < start + size)
        arena_push(frame->arena, frame->words, frame->word_count, frame->word_room);
    for (size_t w = start; w < start + size; w++) {
        struct word *word = &frame->words[w];
        for (size_t i = 0; i < frame->range_count; i++) {
            arena_push(frame->arena, word->ranges, word->count, word->room);
            size_t k = word->count - 1;
            for (; k && word->ranges[k - 1].begin > frame->ranges[i].begin; k--)
                word->ranges[k] = word->ranges[k - 1];
            word->ranges[k] = frame->ranges[i];
        }
    }
    object->offset = -(int32_t)((start + size) * 8);
}

static void add_range(struct frame *frame, uint32_t begin, uint32_t end)
{
    if (frame->range_count && frame->ranges[frame->range_count - 1].end + 1 == begin)
        frame->ranges[frame->range_count - 1].end = end;
    else
        *arena_push(frame->arena, frame->ranges, frame->range_count, frame->range_room) =
            (struct live_range){.begin = begin, .end = end};
}

/* Inclusive ranges of accesses to one object; blocks in emission order. */
struct object_ranges {
    struct live_range *ranges;
    size_t count, room;
};

/* Finds the ranges of positions in which each object holds something; solve() has run. Returns the position after the last. */
static uint32_t find_ranges(struct frame *frame, struct object_ranges *found)
{
    uint32_t position = 0;
    for (const struct ir_block *block = frame->function->first; block; block = block->next) {
        uint32_t begin = position;
        position = walk_block(frame, block, begin);
        const size_t row = block->number * frame->columns;
        for (size_t column = 0; column < frame->columns; column++) {
            uint64_t through = frame->before[row + column] & frame->after[row + column];
            for (uint64_t set = through | frame->here[row + column]; set; set &= set - 1) {
                size_t object = column * 64 + (size_t)__builtin_ctzll(set);
                uint64_t bit = set & -set;
                struct live_range range = {.begin = begin, .end = position - 1};
                if (!(frame->before[row + column] & bit))
                    range.begin = frame->first[object];
                if (!(frame->after[row + column] & bit))
                    range.end = frame->last[object];
                *arena_push(frame->arena, found[object].ranges, found[object].count, found[object].room) =
                    range;
            }
        }
    }
    return position;
}

uint32_t frame_layout(struct allocation *allocation)
{
    struct ir_function *function = allocation->function;
    struct frame frame = {.arena = function->program->arena, .function = function, .allocation = allocation};
    allocation->object_count = 0;
    frame.index = arena_array(frame.arena, function->value_count, sizeof *frame.index);
    find_objects(&frame);
    size_t objects = allocation->object_count, blocks = function->block_count;
    for (size_t i = 0; i < objects; i++)
        if (allocation->objects[i]->immediate > STACK_LIMIT)
            return (uint32_t)allocation->objects[i]->immediate;
    if (!objects)
        return 0;
    frame.columns = (objects + 63) / 64;
    frame.escapes = arena_array(frame.arena, objects, sizeof *frame.escapes);
    frame.before = arena_array(frame.arena, blocks, frame.columns * sizeof *frame.before);
    frame.after = arena_array(frame.arena, blocks, frame.columns * sizeof *frame.after);
    frame.here = arena_array(frame.arena, blocks, frame.columns * sizeof *frame.here);
    frame.first = arena_array(frame.arena, objects, sizeof *frame.first);
    frame.last = arena_array(frame.arena, objects, sizeof *frame.last);
    struct object_ranges *found = arena_array(frame.arena, objects, sizeof *found);

    struct flow flow;
    flow_compute(frame.arena, function, &flow);
    for (const struct ir_block *block = function->first; block; block = block->next)
        walk_block(&frame, block, 0);
    solve(&frame, &flow);
    memset(frame.here, 0, blocks * frame.columns * sizeof *frame.here);
    uint32_t position = find_ranges(&frame, found);
    for (unsigned escaping = 2; escaping-- > 0;)
        for (size_t i = 0; i < objects; i++) {
            if (frame.escapes[i] != escaping)
                continue;
            frame.range_count = 0;
            if (escaping)
                add_range(&frame, 0, position);
            for (size_t k = 0; !escaping && k < found[i].count; k++)
                add_range(&frame, found[i].ranges[k].begin, found[i].ranges[k].end);
            place(&frame, allocation->objects[i]);
        }
    return (uint32_t)frame.word_count * 8;
}
