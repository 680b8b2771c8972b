/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps one of several blocks that do the same and go on at the same place, such as those that count runtime
 * errors, and the ends of a program. It runs last, since merged code says less about where it came from.
 *
 * What two blocks use from outside is either the same value, made before both, or a constant or an address that
 * each has made for itself, which is made again. */
#include "bpf/opt/passes.h"

enum { TAIL_MAX = 24, SEARCHED = 256, SHORTEST = 4 };

static bool is_repeatable(const struct ir *ir)
{
    return ir->op == IR_CONSTANT || ir->op == IR_MAP || ir->op == IR_MAP_VALUE;
}

static bool same_leaf(const struct ir *x, const struct ir *y)
{
    return is_repeatable(x) && x->op == y->op && x->immediate == y->immediate && x->offset == y->offset;
}

/* Finds the instructions of a block without the leaves, which may be anywhere. Returns how many there are; 0: too
 * many. */
static unsigned shape_of(const struct ir_block *block, struct ir *shape[TAIL_MAX])
{
    unsigned count = 0;
    for (struct ir *ir = block->first; ir; ir = ir->next) {
        if (is_repeatable(ir))
            continue;
        if (count == TAIL_MAX)
            return 0;
        shape[count++] = ir;
    }
    return count;
}

static bool same_operand(const struct ir_block *x_block, const struct ir_block *y_block, struct ir *x,
                         struct ir *y)
{
    if (x == y)
        return (x->block != x_block && x->block != y_block) || is_repeatable(x);
    return same_leaf(x, y) ||
           (x->block == x_block && y->block == y_block && x->mark == y && x->op != IR_FRAME);
}

static size_t predecessor_index(const struct ir_block *block, const struct ir_block *from)
{
    size_t index = 0;
    while (block->predecessors[index] != from)
        index++;
    return index;
}

/* Whether phis of the common successors get the same from both blocks. */
static bool same_for_successors(const struct ir_block *x, const struct ir_block *y)
{
    struct ir_block *to[2];
    unsigned count = ir_successors(x, to);
    for (unsigned i = 0; i < count; i++) {
        size_t from_x = predecessor_index(to[i], x), from_y = predecessor_index(to[i], y);
        for (struct ir *phi = to[i]->first; phi && phi->op == IR_PHI; phi = phi->next)
            if (!same_operand(x, y, phi->arguments[from_x], phi->arguments[from_y]))
                return false;
    }
    return true;
}

static bool same_instruction(const struct ir *x, const struct ir *y)
{
    return x->op == y->op && x->size == y->size && x->is_signed == y->is_signed &&
           x->is_volatile == y->is_volatile && x->offset == y->offset && x->immediate == y->immediate &&
           x->callee == y->callee && x->to[0] == y->to[0] && x->to[1] == y->to[1];
}

static bool same_block(struct ir_block *x, struct ir_block *y)
{
    struct ir *xs[TAIL_MAX], *ys[TAIL_MAX];
    unsigned count = shape_of(x, xs);
    if (!count || count != shape_of(y, ys))
        return false;
    for (unsigned i = 0; i < count; i++)
        xs[i]->mark = NULL; /* from here on: the instruction that is the same in the other block */
    for (unsigned i = 0; i < count; i++) {
        unsigned operands = ir_operand_count(xs[i]);
        if (!same_instruction(xs[i], ys[i]) || operands != ir_operand_count(ys[i]))
            return false;
        for (unsigned k = 0; k < operands; k++)
            if (!same_operand(x, y, *ir_operand(xs[i], k), *ir_operand(ys[i], k)))
                return false;
        xs[i]->mark = ys[i];
    }
    return same_for_successors(x, y);
}

static bool is_candidate(const struct ir_block *block)
{
    return block != block->function->first && block->predecessor_count && block->first->op != IR_PHI &&
           (block->last->op == IR_JUMP ? block->last->to[0] != block : block->last->op == IR_RETURN);
}

/* Makes leaves in front of one of the blocks again in the one that stays; leaves that both use are in front of
 * both. twins: marks say which instruction of the other block each one equals. */
static void own_leaves(struct ir_block *block, bool twins)
{
    for (struct ir *ir = block->first; ir; ir = ir->next) {
        unsigned count = is_repeatable(ir) ? 0 : ir_operand_count(ir);
        for (unsigned k = 0; k < count; k++) {
            struct ir *leaf = *ir_operand(ir, k);
            if (leaf->block == block || !is_repeatable(leaf) || (twins && *ir_operand(ir->mark, k) == leaf))
                continue;
            struct ir *own = ir_new(block->function, leaf->op, ir->span);
            own->immediate = leaf->immediate;
            own->offset = leaf->offset;
            ir_insert_before(ir, own);
            *ir_operand(ir, k) = own;
        }
    }
}

/* Makes arguments for the successors' phis again in the block, if they are leaves. */
static void own_arguments(struct ir_block *block)
{
    struct ir_block *to[2];
    unsigned count = ir_successors(block, to);
    for (unsigned i = 0; i < count; i++) {
        size_t index = predecessor_index(to[i], block);
        for (struct ir *phi = to[i]->first; phi && phi->op == IR_PHI; phi = phi->next) {
            struct ir *leaf = phi->arguments[index];
            if (!is_repeatable(leaf) || leaf->block == block)
                continue;
            struct ir *own = ir_new(block->function, leaf->op, block->last->span);
            own->immediate = leaf->immediate;
            own->offset = leaf->offset;
            ir_insert_before(block->last, own);
            phi->arguments[index] = own;
        }
    }
}

/* Redirects all edges into `gone` to `stays`. */
static void merge(struct ir_block *stays, struct ir_block *gone)
{
    struct arena *arena = stays->function->program->arena;
    own_leaves(stays, true);
    own_arguments(stays);
    stays->unlikely &= gone->unlikely;
    for (size_t i = 0; i < gone->predecessor_count; i++) {
        struct ir_block *from = gone->predecessors[i];
        struct ir *last = from->last;
        if (last->op == IR_BRANCH &&
            (last->to[0] == stays || last->to[1] == stays || last->to[0] == last->to[1])) {
            /* both sides of a branch lead here: it becomes a jump, and its block is a predecessor already */
            last->op = IR_JUMP;
            last->a = NULL;
            last->to[0] = stays;
            last->to[1] = NULL;
            continue;
        }
        for (unsigned k = 0; k < 2; k++)
            if (last->to[k] == gone)
                last->to[k] = stays;
        *arena_push(arena, stays->predecessors, stays->predecessor_count, stays->predecessor_room) = from;
    }
    gone->predecessor_count = 0;
    if (gone->last->op == IR_JUMP)
        ir_edge_remove(gone, gone->last->to[0]);
    while (gone->first)
        ir_remove(gone->first);
    ir_append(gone, ir_new(gone->function, IR_UNREACHABLE, (struct span){0}));
}

static bool is_end(const struct ir_block *block)
{
    return block->last->op == IR_RETURN && block->last->a->op == IR_CONSTANT;
}

static bool is_end_alone(const struct ir_block *block)
{
    const struct ir *first = block->first;
    return is_end(block) && block != block->function->first && block->predecessor_count &&
           (first == block->last || (is_repeatable(first) && first->next == block->last));
}

/* Makes all blocks that end as a block which does nothing else go on there; the last one falls into it. */
static bool share_end(struct ir_function *function)
{
    struct ir_block *end = function->first;
    bool any = false;
    while (end && !is_end_alone(end))
        end = end->next;
    if (!end)
        return false;
    own_leaves(end, false);
    for (struct ir_block *block = function->first; block; block = block->next) {
        struct ir *last = block->last;
        if (block == end || !is_end(block) || last->a->immediate != end->last->a->immediate ||
            (block != function->first && !block->predecessor_count))
            continue;
        last->op = IR_JUMP;
        last->a = NULL;
        last->to[0] = end;
        end->unlikely &= block->unlikely;
        *arena_push(function->program->arena, end->predecessors, end->predecessor_count,
                    end->predecessor_room) = block;
        any = true;
    }
    return any;
}

/* ---- ends of blocks ---- */

struct suffix {
    struct ir *x[TAIL_MAX], *y[TAIL_MAX]; /* from the last one on, without leaves */
    unsigned count;
};

static struct ir *before(struct ir *ir)
{
    do
        ir = ir->previous;
    while (ir && is_repeatable(ir));
    return ir;
}

/* Whether operands from outside are the same, and those from inside correspond, in the first `count` pairs. */
static bool fits(const struct suffix *suffix, unsigned count)
{
    const struct ir_block *x = suffix->x[0]->block, *y = suffix->y[0]->block;
    for (unsigned i = 0; i < count; i++) {
        unsigned operands = ir_operand_count(suffix->x[i]);
        for (unsigned k = 0; k < operands; k++) {
            struct ir *a = *ir_operand(suffix->x[i], k), *b = *ir_operand(suffix->y[i], k);
            if (a == b ? (a->block != x && a->block != y) || is_repeatable(a) : same_leaf(a, b))
                continue;
            unsigned made = i + 1;
            while (made < count && suffix->x[made] != a)
                made++;
            if (made >= count || suffix->y[made] != b)
                return false;
        }
    }
    return true;
}

static void find_suffix(struct suffix *suffix, struct ir_block *x, struct ir_block *y)
{
    struct ir *a = x->last, *b = y->last;
    suffix->count = 0;
    for (; a && b && suffix->count < TAIL_MAX && same_instruction(a, b); a = before(a), b = before(b)) {
        if (a->op == IR_PHI || a->op == IR_FRAME || ir_operand_count(a) != ir_operand_count(b))
            break;
        suffix->x[suffix->count] = a;
        suffix->y[suffix->count++] = b;
    }
    while (suffix->count >= SHORTEST && !fits(suffix, suffix->count))
        suffix->count--;
}

/* Whether all successors come later, so that no loop gets a second entry. */
static bool leads_forward(const struct ir_block *block)
{
    struct ir_block *to[2];
    unsigned count = ir_successors(block, to);
    for (unsigned i = 0; i < count; i++)
        if (to[i]->number <= block->number)
            return false;
    return count;
}

static void jump_to(struct ir_block *from, struct ir_block *to)
{
    struct ir *jump = ir_new(from->function, IR_JUMP, from->last ? from->last->span : to->last->span);
    jump->to[0] = to;
    ir_append(from, jump);
    *arena_push(from->function->program->arena, to->predecessors, to->predecessor_count,
                to->predecessor_room) = from;
}

/* Moves the common end of two blocks to a new block, in which both go on. */
static void share_suffix(const struct suffix *suffix)
{
    struct ir_block *x = suffix->x[0]->block, *y = suffix->y[0]->block, *to[2];
    struct ir_block *shared = ir_block_append(x->function);
    unsigned successors = ir_successors(x, to);
    shared->sealed = true;
    shared->unlikely = x->unlikely && y->unlikely;
    for (unsigned i = 0; i < successors; i++) {
        ir_edge_remove(y, to[i]);
        to[i]->predecessors[predecessor_index(to[i], x)] = shared;
    }
    for (unsigned i = suffix->count; i-- > 0;) {
        ir_remove(suffix->y[i]);
        ir_remove(suffix->x[i]);
        ir_append(shared, suffix->x[i]);
    }
    own_leaves(shared, true);
    own_arguments(shared);
    jump_to(x, shared);
    jump_to(y, shared);
}

static bool share_suffixes(struct ir_function *function)
{
    uint32_t count = function->block_count;
    bool any = false;
    for (struct ir_block *x = function->first; x; x = x->next) {
        unsigned searched = 0;
        if (x->number >= count || !leads_forward(x))
            continue;
        for (struct ir_block *y = x->next; y && searched++ < SEARCHED; y = y->next) {
            struct suffix suffix;
            if (y->number >= count || !same_instruction(x->last, y->last) || !leads_forward(y))
                continue;
            find_suffix(&suffix, x, y);
            for (struct ir *ir = x->first; ir; ir = ir->next)
                ir->mark = NULL;
            for (unsigned i = 0; i < suffix.count; i++)
                suffix.x[i]->mark = suffix.y[i];
            if (suffix.count < SHORTEST || !same_for_successors(x, y))
                continue;
            share_suffix(&suffix);
            any = true;
            break; /* x has another end now */
        }
    }
    return any;
}

/* Returns a number that is equal for equal blocks; 0: the block is no candidate. */
static uint32_t signature(struct ir_block *block)
{
    struct ir *shape[TAIL_MAX];
    unsigned count = is_candidate(block) ? shape_of(block, shape) : 0;
    uint64_t hash = count;
    for (unsigned i = 0; i < count; i++) {
        uint64_t word =
            (uint64_t)shape[i]->op << 32 ^ (uint64_t)shape[i]->immediate ^ (uint64_t)shape[i]->offset << 16;
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    if (count && block->last->op == IR_JUMP)
        hash = (hash ^ block->last->to[0]->number) * 0x9e3779b97f4a7c15u;
    return count ? (uint32_t)(hash >> 32) | 1 : 0;
}

bool pass_tails(struct ir_function *function)
{
    bool any = share_end(function);
    uint32_t *signatures = arena_array(function->program->arena, function->block_count, sizeof *signatures);
    for (struct ir_block *block = function->first; block; block = block->next)
        signatures[block->number] = signature(block);
    for (struct ir_block *x = function->first; x; x = x->next) {
        unsigned searched = 0;
        uint32_t wanted = signatures[x->number];
        for (struct ir_block *y = wanted ? x->next : NULL; y && searched++ < SEARCHED; y = y->next)
            if (signatures[y->number] == wanted && is_candidate(x) && is_candidate(y) && same_block(x, y)) {
                merge(x, y);
                any = true;
            }
    }
    return any || share_suffixes(function);
}
