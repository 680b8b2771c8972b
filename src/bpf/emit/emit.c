/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes eBPF from selected functions with registers (machine.h).
 *
 * First the body of each block is written, with the moves that parameters, calls and phis need; then the blocks one
 * after the other, with jumps only where a block does not follow, and without blocks that have no code; then the
 * functions that the program reaches, and the distances of jumps and calls. Only limits of the frame and of jumps
 * can make this fail, and they are reported. */
#include "bpf/emit/state.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80
#endif

static struct item *put(struct emitter *e, uint8_t code, unsigned to, unsigned from, int32_t offset,
                        int32_t immediate)
{
    struct item *item = arena_push(e->arena, e->items, e->item_count, e->item_room);
    item->instruction = (struct bpf_insn){.code = code,
                                          .dst_reg = (uint8_t)(to & 15),
                                          .src_reg = (uint8_t)(from & 15),
                                          .off = (int16_t)offset,
                                          .imm = immediate};
    item->span = e->span;
    return item;
}

static struct item *put_wide(struct emitter *e, unsigned to, unsigned from, int64_t immediate)
{
    put(e, BPF_LD | BPF_IMM | BPF_DW, to, from, 0, (int32_t)immediate);
    put(e, 0, 0, 0, 0, (int32_t)((uint64_t)immediate >> 32));
    return &e->items[e->item_count - 2];
}

static void put_move(struct emitter *e, unsigned to, unsigned from)
{
    if (to != from)
        put(e, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

static uint8_t size_code(unsigned size)
{
    return size == 1 ? BPF_B : size == 2 ? BPF_H : size == 4 ? BPF_W : BPF_DW;
}

static int32_t frame_offset(const struct ir *leaf)
{
    const struct ir *object = frame_object(leaf);
    return leaf == object ? object->offset : object->offset + leaf->offset;
}

static void put_leaf(struct emitter *e, unsigned to, const struct ir *leaf)
{
    struct item *item;
    switch (leaf->op) {
    case IR_CONSTANT:
        if (fits_immediate(leaf->immediate))
            put(e, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, (int32_t)leaf->immediate);
        else if ((uint64_t)leaf->immediate <= UINT32_MAX)
            put(e, BPF_ALU | BPF_MOV | BPF_K, to, 0, 0, (int32_t)leaf->immediate);
        else
            put_wide(e, to, 0, leaf->immediate);
        break;
    case IR_FRAME:
        put_move(e, to, REGISTER_FRAME);
        put(e, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, frame_offset(leaf));
        break;
    case IR_MAP:
        item = put_wide(e, to, 0, leaf->offset ? (int64_t)(leaf->offset - 1) << 32 : 0);
        item->kind = leaf->offset ? ITEM_RING : ITEM_MAP;
        item->map = (uint32_t)leaf->immediate;
        break;
    case IR_MAP_VALUE:
        item = put_wide(e, to, 0, (int64_t)leaf->offset << 32);
        item->kind = ITEM_MAP_VALUE;
        item->map = (uint32_t)leaf->immediate;
        break;
    case IR_FUNCTION:
        item = put_wide(e, to, BPF_PSEUDO_FUNC, 0);
        item->kind = ITEM_FUNCTION;
        item->callee = leaf->callee;
        break;
    default:
        assert(ir_is_reload(leaf));
        put(e, BPF_LDX | BPF_MEM | BPF_DW, to, REGISTER_FRAME, frame_offset(leaf->a) + leaf->offset, 0);
        break;
    }
}

/* Puts an operand into a given register. */
static void put_operand(struct emitter *e, unsigned to, const struct ir *value)
{
    if (value->block)
        put_move(e, to, register_of(e, value));
    else
        put_leaf(e, to, value);
}

/* Parallel moves */

enum { FROM_LEAF = 0x100, FROM_SLOT = 0x101 };
struct move {
    unsigned to, from; /* register, FROM_LEAF or FROM_SLOT */
    const struct ir *leaf;
};

static int32_t swap_slot(struct emitter *e)
{
    if (!e->swap_offset) {
        e->stack += 8;
        e->swap_offset = -(int32_t)e->stack;
    }
    return e->swap_offset;
}

static bool is_read(const struct move *moves, size_t count, unsigned reg)
{
    for (size_t i = 0; i < count; i++)
        if (moves[i].from == reg && moves[i].to != reg)
            return true;
    return false;
}

/* Writes parallel moves, at most one for each target. `spare`: a register that is no target and that is not read
 * any more when only circles are left; REGISTER_NONE: there is none, and a word of the frame is used. */
static void put_moves(struct emitter *e, struct move *moves, size_t count, unsigned spare)
{
    size_t pending = 0;
    /* Moves from leaves come first, in order, so that similar calls begin alike. */
    for (size_t i = 0; i < count; i++)
        if (moves[i].from == FROM_LEAF && !is_read(moves, count, moves[i].to)) {
            put_leaf(e, moves[i].to, moves[i].leaf);
            moves[i].from = moves[i].to;
        }
    for (size_t i = 0; i < count; i++)
        pending += moves[i].from < REGISTER_COUNT && moves[i].from != moves[i].to;
    while (pending) {
        bool progress = false;
        for (size_t i = 0; i < count; i++) {
            struct move *move = &moves[i];
            if (move->from == FROM_LEAF || move->from == move->to || is_read(moves, count, move->to))
                continue;
            if (move->from == FROM_SLOT)
                put(e, BPF_LDX | BPF_MEM | BPF_DW, move->to, REGISTER_FRAME, swap_slot(e), 0);
            else
                put_move(e, move->to, move->from);
            move->from = move->to;
            pending--;
            progress = true;
        }
        if (progress || !pending)
            continue;
        size_t first = 0; /* the first move of a circle: the content of its target is moved out of the way */
        while (moves[first].from >= REGISTER_COUNT || moves[first].from == moves[first].to)
            first++;
        unsigned saved = moves[first].to;
        if (spare < REGISTER_COUNT)
            put_move(e, spare, saved);
        else
            put(e, BPF_STX | BPF_MEM | BPF_DW, REGISTER_FRAME, saved, swap_slot(e), 0);
        for (size_t i = 0; i < count; i++)
            if (moves[i].from == saved && moves[i].to != saved)
                moves[i].from = spare < REGISTER_COUNT ? spare : (unsigned)FROM_SLOT;
    }
    for (size_t i = 0; i < count; i++)
        if (moves[i].from == FROM_LEAF)
            put_leaf(e, moves[i].to, moves[i].leaf);
}

static struct move move_of(const struct emitter *e, unsigned to, const struct ir *value)
{
    if (value->block)
        return (struct move){.to = to, .from = register_of(e, value)};
    return (struct move){.to = to, .from = FROM_LEAF, .leaf = value};
}

/* Parameters are taken from r1 on: first those that are spilled, then all others into their registers. */
static bool is_parameter(const struct ir *ir)
{
    return ir->op == IR_CONTEXT || ir->op == IR_PARAMETER;
}

static bool is_parameter_spill(const struct ir *ir)
{
    return ir->op == IR_STORE && !ir->b->block && is_parameter(ir->b);
}

static void put_parameters(struct emitter *e, const struct ir_block *entry)
{
    struct move moves[REGISTER_COUNT];
    size_t count = 0;
    for (const struct ir *ir = entry->first; ir; ir = ir->next) {
        if (is_parameter_spill(ir))
            put(e, BPF_STX | BPF_MEM | BPF_DW, REGISTER_FRAME, 1 + (unsigned)ir->b->immediate,
                frame_offset(ir->a), 0);
        unsigned reg = allocation_register(&e->allocation, ir);
        if (is_parameter(ir) && reg != REGISTER_NONE && count < REGISTER_COUNT)
            moves[count++] = (struct move){.to = reg, .from = 1 + (unsigned)ir->immediate};
    }
    put_moves(e, moves, count, REGISTER_NONE);
}

static void put_phis(struct emitter *e, const struct ir_block *from, const struct ir_block *to)
{
    struct move moves[REGISTER_COUNT];
    size_t count = 0, index = 0;
    while (index < to->predecessor_count && to->predecessors[index] != from)
        index++;
    for (const struct ir *phi = to->first; phi && phi->op == IR_PHI; phi = phi->next) {
        unsigned reg = allocation_register(&e->allocation, phi);
        if (reg == REGISTER_NONE) /* it is not read */
            continue;
        assert(count < REGISTER_COUNT);
        moves[count++] = move_of(e, reg, phi->arguments[index]);
    }
    if (count)
        put_moves(e, moves, count, allocation_free_on_edge(&e->allocation, from, to));
}

static void put_call(struct emitter *e, const struct ir *ir)
{
    struct move moves[5];
    for (uint32_t i = 0; i < ir->argument_count; i++)
        moves[i] = move_of(e, 1 + i, ir->arguments[i]);
    put_moves(e, moves, ir->argument_count, 0);
    if (ir->op == IR_CALL) {
        put(e, BPF_JMP | BPF_CALL, 0, ir->immediate >= KFUNC_copy_from_user_str ? BPF_PSEUDO_KFUNC_CALL : 0,
            0, (int32_t)ir->immediate);
    } else {
        struct item *item = put(e, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0);
        item->kind = ITEM_FUNCTION;
        item->callee = ir->callee;
    }
    unsigned reg = allocation_register(&e->allocation, ir);
    if (reg != REGISTER_NONE)
        put_move(e, reg, 0);
}

/* Arithmetic */

static const uint8_t binary_codes[] = {
    [IR_ADD] = BPF_ADD,  [IR_SUB] = BPF_SUB,  [IR_MUL] = BPF_MUL,   [IR_UDIV] = BPF_DIV, [IR_SDIV] = BPF_DIV,
    [IR_UMOD] = BPF_MOD, [IR_SMOD] = BPF_MOD, [IR_AND] = BPF_AND,   [IR_OR] = BPF_OR,    [IR_XOR] = BPF_XOR,
    [IR_SHL] = BPF_LSH,  [IR_LSHR] = BPF_RSH, [IR_ASHR] = BPF_ARSH,
};

static const uint8_t jump_codes[] = {
    [IR_AND] = BPF_JSET, [IR_EQ] = BPF_JEQ,   [IR_NE] = BPF_JNE,   [IR_ULT] = BPF_JLT,
    [IR_ULE] = BPF_JLE,  [IR_UGT] = BPF_JGT,  [IR_UGE] = BPF_JGE,  [IR_SLT] = BPF_JSLT,
    [IR_SLE] = BPF_JSLE, [IR_SGT] = BPF_JSGT, [IR_SGE] = BPF_JSGE,
};

static void put_binary(struct emitter *e, const struct ir *ir)
{
    unsigned to = register_of(e, ir);
    uint8_t code = (uint8_t)((ir->size == 4 ? BPF_ALU : BPF_ALU64) | binary_codes[ir->op]);
    int32_t is_signed = ir->op == IR_SDIV || ir->op == IR_SMOD;
    if (!ir->b->block) {
        put_operand(e, to, ir->a);
        put(e, code | BPF_K, to, 0, is_signed, (int32_t)ir->b->immediate);
        return;
    }
    unsigned second = register_of(e, ir->b);
    if (second == to && ir->a != ir->b) {
        assert(ir_is_commutative(ir->op) && ir->a->block);
        second = register_of(e, ir->a);
    } else {
        put_operand(e, to, ir->a);
        if (ir->a == ir->b)
            second = to;
    }
    put(e, code | BPF_X, to, second, is_signed, 0);
}

static void put_extend(struct emitter *e, const struct ir *ir)
{
    unsigned to = register_of(e, ir), from = to;
    if (ir->a->block)
        from = register_of(e, ir->a);
    else
        put_leaf(e, to, ir->a);
    int32_t bits = ir->size * 8;
    if (!ir->is_signed && ir->size == 4) {
        put(e, BPF_ALU | BPF_MOV | BPF_X, to, from, 0, 0);
    } else if (!ir->is_signed) {
        put_move(e, to, from);
        put(e, BPF_ALU64 | BPF_AND | BPF_K, to, 0, 0, (1 << bits) - 1);
    } else if (e->program->features->signed_division) {
        put(e, BPF_ALU64 | BPF_MOV | BPF_X, to, from, bits, 0);
    } else {
        put_move(e, to, from);
        put(e, BPF_ALU64 | BPF_LSH | BPF_K, to, 0, 0, 64 - bits);
        put(e, BPF_ALU64 | BPF_ARSH | BPF_K, to, 0, 0, 64 - bits);
    }
}

static struct bpf_insn jump_instruction(const struct emitter *e, enum ir_op op, const struct ir *ir)
{
    struct bpf_insn insn = {.code = (uint8_t)((ir->size == 4 ? BPF_JMP32 : BPF_JMP) | jump_codes[op]),
                            .dst_reg = (uint8_t)(register_of(e, ir->a) & 15)};
    if (ir->b->block) {
        insn.code |= BPF_X;
        insn.src_reg = (uint8_t)(register_of(e, ir->b) & 15);
    } else {
        insn.imm = (int32_t)ir->b->immediate;
    }
    return insn;
}

/* Memory */

static unsigned base_of(const struct emitter *e, const struct ir *ir, int32_t *offset)
{
    *offset = ir->offset;
    if (ir->a->block)
        return register_of(e, ir->a);
    *offset += frame_offset(ir->a);
    return REGISTER_FRAME;
}

static void put_access(struct emitter *e, const struct ir *ir)
{
    int32_t offset;
    unsigned base = base_of(e, ir, &offset), to;
    uint8_t size = size_code(ir->size);
    switch (ir->op) {
    case IR_LOAD:
        put(e, BPF_LDX | (ir->is_signed ? BPF_MEMSX : BPF_MEM) | size, register_of(e, ir), base, offset, 0);
        break;
    case IR_STORE:
        if (ir->b->block)
            put(e, BPF_STX | BPF_MEM | size, base, register_of(e, ir->b), offset, 0);
        else
            put(e, BPF_ST | BPF_MEM | size, base, 0, offset, (int32_t)ir->b->immediate);
        break;
    case IR_ATOMIC_ADD:
        put(e, BPF_STX | BPF_ATOMIC | size, base, register_of(e, ir->b), offset, BPF_ADD);
        break;
    case IR_ATOMIC_EXCHANGE:
        to = register_of(e, ir);
        put_operand(e, to, ir->b);
        put(e, BPF_STX | BPF_ATOMIC | size, base, to, offset, BPF_XCHG);
        break;
    default:
        /* On success the machine may not change r0, so that its upper half must already be that of the old value. */
        put_operand(e, 0, ir->b);
        if (ir->size == 4)
            put(e, BPF_ALU | BPF_MOV | BPF_X, 0, 0, 0, 0);
        put(e, BPF_STX | BPF_ATOMIC | size, base, register_of(e, ir->c), offset, BPF_CMPXCHG);
        put_move(e, register_of(e, ir), 0);
        break;
    }
}

static void put_instruction(struct emitter *e, const struct ir *ir)
{
    if (ir->span.source)
        e->span = ir->span;
    if (ir_is_leaf(ir)) {
        put_leaf(e, register_of(e, ir), ir);
    } else if (ir_is_binary(ir->op)) {
        put_binary(e, ir);
    } else if (ir_is_compare(ir->op)) {
        unsigned to = register_of(e, ir);
        struct bpf_insn jump = jump_instruction(e, ir->op, ir);
        put(e, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, 1);
        put(e, jump.code, jump.dst_reg, jump.src_reg, 1, jump.imm);
        put(e, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, 0);
    } else if (ir->op >= IR_LOAD && ir->op <= IR_ATOMIC_COMPARE) {
        put_access(e, ir);
    } else if (ir->op == IR_NEG) {
        put_operand(e, register_of(e, ir), ir->a);
        put(e, BPF_ALU64 | BPF_NEG, register_of(e, ir), 0, 0, 0);
    } else if (ir->op == IR_BSWAP) {
        put_operand(e, register_of(e, ir), ir->a);
        uint8_t swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? BPF_TO_BE : BPF_TO_LE;
        put(e, BPF_ALU | BPF_END | swap, register_of(e, ir), 0, 0, ir->size * 8);
    } else if (ir->op == IR_EXTEND) {
        put_extend(e, ir);
    } else if (ir->op == IR_CALL || ir->op == IR_CALL_LOCAL) {
        put_call(e, ir);
    } else if (ir->op == IR_RETURN) {
        put_operand(e, 0, ir->a);
    } else if (ir->op == IR_UNREACHABLE) {
        put(e, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
    } else if (ir->op == IR_JUMP) {
        put_phis(e, ir->block, ir->to[0]);
    }
}

/* Blocks */

static void put_bodies(struct emitter *e, const struct ir_function *function)
{
    e->items = NULL;
    e->item_count = e->item_room = 0;
    e->bodies = arena_array(e->arena, function->block_count, sizeof *e->bodies);
    for (const struct ir_block *block = function->first; block; block = block->next) {
        struct body *body = &e->bodies[block->number];
        body->begin = e->item_count;
        if (block == function->first)
            put_parameters(e, block);
        for (const struct ir *ir = block->first; ir; ir = ir->next)
            if (!is_parameter(ir) && !is_parameter_spill(ir))
                put_instruction(e, ir);
        body->end = e->item_count;
    }
    emit_early(e, function);
}

/* Returns where a jump to this block ends: blocks that only jump are left out. */
static const struct ir_block *destination(const struct emitter *e, const struct ir_block *block)
{
    const struct ir_function *function = block->function;
    const struct ir_block *first = block;
    for (uint32_t steps = 0; steps < function->block_count; steps++) {
        const struct body *body = &e->bodies[block->number];
        if (body->begin != body->end || block->last->op != IR_JUMP || block == function->first)
            return block;
        block = block->last->to[0];
    }
    return first; /* it is an endless loop without code, whose blocks stay */
}

static const struct ir_block *following(const struct emitter *e, const struct ir_block *block)
{
    for (block = block->next; block; block = block->next)
        if (destination(e, block) == block)
            return block;
    return NULL;
}

static struct item *put_code(struct emitter *e, struct item item)
{
    struct item *slot = arena_push(e->arena, e->code, e->code_count, e->code_room);
    *slot = item;
    return slot;
}

static void put_jump(struct emitter *e, struct bpf_insn insn, const struct ir_block *to, bool far)
{
    *arena_push(e->arena, e->fixups, e->fixup_count, e->fixup_room) =
        (struct fixup){.item = e->code_count, .to = to, .far = far};
    put_code(e, (struct item){.instruction = insn, .span = e->span});
}

static void put_always(struct emitter *e, const struct ir_block *to)
{
    struct bpf_insn insn = {.code = (uint8_t)((e->far ? BPF_JMP32 : BPF_JMP) | BPF_JA)};
    put_jump(e, insn, to, e->far);
}

static void put_branch(struct emitter *e, const struct ir *branch, const struct ir_block *next)
{
    const struct ir_block *yes = destination(e, branch->to[0]), *no = destination(e, branch->to[1]);
    enum ir_op op = (enum ir_op)branch->immediate;
    if (yes == no) {
        if (yes != next)
            put_always(e, yes);
        return;
    }
    if (e->far) {
        struct bpf_insn insn = jump_instruction(e, op, branch);
        insn.off = 1;
        put_code(e, (struct item){.instruction = insn, .span = e->span});
        put_always(e, no);
        put_always(e, yes);
        return;
    }
    if (yes == next && op != IR_AND) {
        put_jump(e, jump_instruction(e, ir_compare_negated(op), branch), no, false);
        return;
    }
    put_jump(e, jump_instruction(e, op, branch), yes, false);
    if (no != next)
        put_always(e, no);
}

/* Writes the blocks. Returns 0, or -E2BIG if a jump is too far. */
static int put_blocks(struct emitter *e, const struct ir_function *function)
{
    e->fixup_count = 0;
    for (const struct ir_block *block = function->first; block; block = block->next) {
        struct body *body = &e->bodies[block->number];
        body->placed = destination(e, block) == block;
        body->start = e->code_count;
        if (!body->placed)
            continue;
        for (size_t i = body->begin; i < body->end; i++)
            put_code(e, e->items[i]);
        if (block->last->span.source)
            e->span = block->last->span;
        const struct ir_block *next = following(e, block);
        if (block->last->op == IR_BRANCH) {
            put_branch(e, block->last, next);
        } else if (block->last->op == IR_JUMP) {
            const struct ir_block *to = destination(e, block->last->to[0]);
            if (to != next)
                put_always(e, to);
        } else {
            put_code(e, (struct item){.instruction.code = BPF_JMP | BPF_EXIT, .span = e->span});
        }
    }
    for (size_t i = 0; i < e->fixup_count; i++) {
        const struct fixup *fixup = &e->fixups[i];
        struct bpf_insn *insn = &e->code[fixup->item].instruction;
        int64_t distance = (int64_t)e->bodies[fixup->to->number].start - (int64_t)fixup->item - 1;
        if (fixup->far)
            insn->imm = (int32_t)distance;
        else if (distance != (int16_t)distance)
            return -E2BIG;
        else
            insn->off = (int16_t)distance;
    }
    return 0;
}

static struct emitted *emitted_find(struct emitter *e, const struct ir_function *function)
{
    for (size_t i = 0; i < e->function_count; i++)
        if (e->functions[i].function == function)
            return &e->functions[i];
    return NULL;
}

static void emitted_add(struct emitter *e, struct ir_function *function)
{
    if (!emitted_find(e, function))
        *arena_push(e->arena, e->functions, e->function_count, e->function_room) =
            (struct emitted){.function = function};
}

static int emit_function(struct emitter *e, size_t index)
{
    struct ir_function *function = e->functions[index].function;
    ir_select(function);
    int status = allocate_registers(function, e->registers_for_tests, &e->allocation);
    if (status) {
        diagnose_error(e->diagnostics, function->first->first->span,
                       "`%s` cannot be compiled with %u registers", function->name, e->registers_for_tests);
        return status;
    }
    e->stack = frame_layout(&e->allocation);
    e->swap_offset = 0;
    e->span = (struct span){0};
    put_bodies(e, function);
    e->functions[index].stack = e->stack;
    size_t start = e->functions[index].start = e->code_count;
    struct span span = e->span;
    e->far = false;
    status = put_blocks(e, function);
    if (status && e->program->features->signed_division) {
        e->code_count = start;
        e->span = span;
        e->far = true;
        status = put_blocks(e, function);
    }
    if (status) {
        diagnose_error(e->diagnostics, function->first->last->span,
                       "the program for this probe is too long: a jump spans more than 32767 instructions");
        diagnose_hint(e->diagnostics, "split the action block, or unroll less");
        return status;
    }
    for (size_t i = start; i < e->code_count; i++)
        if (e->code[i].callee)
            emitted_add(e, e->code[i].callee);
    return 0;
}

/* Calls among functions */

static uint32_t rounded_stack(uint32_t bytes)
{
    return bytes ? (bytes + 31) & ~31u : 32; /* rounded as the verifier does */
}

/* Finds the deepest chain of frames from each function. A function is done when all that it calls are. This does
 * not recurse, because a script may define any number of functions. */
static int find_chains(struct emitter *e)
{
    size_t *stack = arena_array(e->arena, 2 * e->function_count + 2, sizeof *stack), depth = 0;
    stack[depth++] = 0;
    while (depth) {
        struct emitted *top = &e->functions[stack[depth - 1]];
        size_t end = top == &e->functions[e->function_count - 1] ? e->code_count : top[1].start;
        bool waits = false;
        uint32_t deepest = 0, depth_below = 0;
        top->state = 1;
        for (size_t i = top->start; i < end && !waits; i++) {
            if (!e->code[i].callee)
                continue;
            struct emitted *callee = emitted_find(e, e->code[i].callee);
            if (callee->state == 1) {
                diagnose_error(e->diagnostics, e->code[i].span, "`%s` calls itself", callee->function->name);
                return -E2BIG;
            }
            if (callee->state == 0) {
                stack[depth++] = (size_t)(callee - e->functions);
                waits = true;
            } else {
                deepest = callee->chain > deepest ? callee->chain : deepest;
                depth_below = callee->depth > depth_below ? callee->depth : depth_below;
            }
        }
        if (waits)
            continue;
        top->chain = rounded_stack(top->stack) + deepest;
        top->depth = 1 + depth_below;
        top->state = 2;
        depth--;
    }
    return 0;
}

static int check_stack(struct emitter *e)
{
    for (size_t i = 0; i < e->function_count; i++)
        if (e->functions[i].stack > STACK_LIMIT) {
            const struct ir_function *function = e->functions[i].function;
            diagnose_error(e->diagnostics, function->first->last->span,
                           "the program for this probe needs %u bytes of stack; the kernel allows %d",
                           e->functions[i].stack, STACK_LIMIT);
            diagnose_hint(e->diagnostics, "use fewer variables at the same time, or smaller map keys");
            return -E2BIG;
        }
    int status = find_chains(e);
    if (status)
        return status;
    if (e->functions[0].chain > STACK_LIMIT) {
        diagnose_error(
            e->diagnostics, e->functions[0].function->first->last->span,
            "the program for this probe and its loops need %u bytes of stack; the kernel allows %d",
            e->functions[0].chain, STACK_LIMIT);
        diagnose_hint(e->diagnostics, "nest fewer loops, or use fewer variables at the same time");
        return -E2BIG;
    }
    return 0;
}

/* Many lookups of maps become calls of one function that looks up. The kernel puts code in the place of each lookup, of
 * map after map, and each time moves all of the program behind it: 8,000 take 17 s. In a function that is called
 * with different maps it leaves the call as it is. */
static void share_lookups(struct emitter *e)
{
    enum { FEW = 256, FRAMES_MAX = 8 };
    const struct bpf_insn lookup = {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem};
    const struct bpf_insn leave = {.code = BPF_JMP | BPF_EXIT};
    size_t found = 0;
    for (size_t i = 0; i < e->code_count; i++)
        found += !memcmp(&e->code[i].instruction, &lookup, sizeof lookup);
    if (found <= FEW || e->functions[0].chain + rounded_stack(0) > STACK_LIMIT ||
        e->functions[0].depth == FRAMES_MAX)
        return;
    struct ir_function *function = arena_new(e->arena, struct ir_function);
    function->name = "look_up";
    function->parameters = 2;
    for (size_t i = 0; i < e->code_count; i++) {
        struct item *item = &e->code[i];
        if (memcmp(&item->instruction, &lookup, sizeof lookup) != 0)
            continue;
        item->instruction.src_reg = BPF_PSEUDO_CALL;
        item->kind = ITEM_FUNCTION;
        item->callee = function;
    }
    emitted_add(e, function);
    e->functions[e->function_count - 1].start = e->code_count;
    put_code(e, (struct item){.instruction = lookup, .span = e->functions[0].function->first->first->span});
    put_code(e, (struct item){.instruction = leave});
    e->functions[0].chain += rounded_stack(0);
}

/* The image */

static bool same_span(struct span x, struct span y)
{
    return x.source == y.source && x.begin == y.begin && x.end == y.end;
}

static void fill_image(struct emitter *e, struct image_program *out)
{
    static const enum relocation_kind kinds[] = {
        [ITEM_MAP] = RELOCATION_MAP, [ITEM_MAP_VALUE] = RELOCATION_VALUE, [ITEM_RING] = RELOCATION_RING};
    size_t relocations = 0, lines = 0, next_function = 0;
    for (size_t i = 0; i < e->code_count; i++)
        relocations += e->code[i].kind != ITEM_PLAIN && e->code[i].kind != ITEM_FUNCTION;
    out->count = (uint32_t)e->code_count;
    out->instructions = arena_array(e->arena, e->code_count, sizeof *out->instructions);
    out->relocations = arena_array(e->arena, relocations, sizeof *out->relocations);
    out->lines = arena_array(e->arena, e->code_count, sizeof *out->lines);
    out->functions = arena_array(e->arena, e->function_count, sizeof *out->functions);
    out->function_count = (uint32_t)e->function_count;
    out->stack_bytes = e->functions[0].chain;
    relocations = 0;
    for (size_t i = 0; i < e->code_count; i++) {
        const struct item *item = &e->code[i];
        struct bpf_insn *insn = &out->instructions[i];
        *insn = item->instruction;
        if (item->kind == ITEM_FUNCTION)
            insn->imm = (int32_t)((int64_t)emitted_find(e, item->callee)->start - (int64_t)i - 1);
        else if (item->kind != ITEM_PLAIN)
            out->relocations[relocations++] = (struct image_relocation){
                .instruction = (uint32_t)i, .kind = kinds[item->kind], .map = item->map};
        bool starts = next_function < e->function_count && e->functions[next_function].start == i;
        if (starts) {
            out->functions[next_function] =
                (struct image_function){.instruction = (uint32_t)i,
                                        .name = e->functions[next_function].function->name,
                                        .parameters = e->functions[next_function].function->parameters,
                                        .is_global = e->functions[next_function].function->is_global,
                                        .takes_context = e->functions[next_function].function->is_global &&
                                                         e->functions[next_function].function->context};
            next_function++;
        }
        struct span span = item->span;
        /* A function begins at a known span if any of its code has one. */
        for (size_t k = i; starts && !span.source && k < e->code_count; k++)
            span = e->code[k].span;
        bool second_half = i && e->code[i - 1].instruction.code == (BPF_LD | BPF_IMM | BPF_DW);
        if (!span.source || second_half)
            continue;
        if (starts || !lines || !same_span(span, out->lines[lines - 1].span))
            out->lines[lines++] = (struct image_line){.instruction = (uint32_t)i, .span = span};
    }
    out->relocation_count = (uint32_t)relocations;
    out->line_count = (uint32_t)lines;
}

int ir_emit(struct ir_program *program, struct image_program *out, unsigned registers_for_tests,
            struct diagnostics *diagnostics)
{
    struct emitter e = {.arena = program->arena,
                        .program = program,
                        .diagnostics = diagnostics,
                        .registers_for_tests = registers_for_tests};
    emitted_add(&e, program->functions);
    for (size_t i = 0; i < e.function_count; i++) {
        int status = emit_function(&e, i);
        if (status)
            return status;
    }
    int status = check_stack(&e);
    if (status)
        return status;
    share_lookups(&e);
    fill_image(&e, out);
    return 0;
}
