/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes stores whose bytes are written again before they are read: into frame objects, by the liveness of each
 * byte over the whole function; into other memory, where a helper fills the place right after.
 *
 * A frame object takes part if its address is used only by accesses and helpers. Bytes that a helper is not known
 * to fill count as read by it. */
#include "bpf/opt/passes.h"

enum { OBJECTS = 64, BYTES = 128, WINDOW = 12 };
typedef unsigned __int128 byte_set;

struct stores {
    struct ir *objects[OBJECTS];
    unsigned count;
    uint8_t *index; /* by value number: index of the object + 1; 0: none that takes part */
    uint32_t numbers;
};

struct place_in { /* a set of bytes of an object */
    unsigned object;
    byte_set bytes;
    bool known;
};

static struct ir *base_of(struct ir *address, int64_t *offset)
{
    while (address->op == IR_ADD && address->b->op == IR_CONSTANT) {
        *offset += address->b->immediate;
        address = address->a;
    }
    return address;
}

static byte_set bytes_at(int64_t offset, int64_t size)
{
    if (offset < 0 || size <= 0 || offset >= BYTES)
        return 0;
    if (offset + size > BYTES)
        size = BYTES - offset;
    return (size == BYTES ? ~(byte_set)0 : ((byte_set)1 << size) - 1) << offset;
}

static struct place_in place_of(const struct stores *stores, struct ir *address, int64_t offset, int64_t size)
{
    struct ir *base = base_of(address, &offset);
    if (base->op != IR_FRAME || base->number >= stores->numbers || !stores->index[base->number])
        return (struct place_in){0};
    return (struct place_in){stores->index[base->number] - 1u, bytes_at(offset, size), true};
}

static void find_objects(struct ir_function *function, struct stores *stores)
{
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next)
            if (ir->op == IR_FRAME && ir->immediate <= BYTES && stores->count < OBJECTS) {
                stores->objects[stores->count] = ir;
                stores->index[ir->number] = (uint8_t)++stores->count;
            }
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                int64_t offset = 0;
                struct ir *base = base_of(*ir_operand(ir, k), &offset);
                bool plain = (k == 0 && ir->op >= IR_LOAD && ir->op <= IR_ATOMIC_COMPARE) ||
                             ir->op == IR_CALL || ir->op == IR_CALL_LOCAL ||
                             (k == 0 && ir->op == IR_ADD && ir->b->op == IR_CONSTANT);
                if (base->op == IR_FRAME && !plain)
                    stores->index[base->number] = 0;
            }
        }
}

/* Returns the argument that a helper fills wholly, whether it succeeds or not, or -1. (Some kernels before 6.3 do
 * not fill what follows a task's name; those with v4 instructions are later.) */
static int filled_argument(const struct ir *call, int64_t *size)
{
    if (call->op != IR_CALL || call->argument_count < 2 || call->arguments[1]->op != IR_CONSTANT)
        return -1;
    switch (call->immediate) {
    case BPF_FUNC_probe_read:
    case BPF_FUNC_probe_read_kernel:
    case BPF_FUNC_probe_read_user:
    case BPF_FUNC_copy_from_user: *size = call->arguments[1]->immediate; return 0;
    case BPF_FUNC_get_current_comm:
        *size = call->arguments[1]->immediate;
        return call->block->function->program->features->signed_division ? 0 : -1;
    default: return -1;
    }
}

/* Goes backwards over one instruction. True: it is a store that is not needed. */
static bool step(const struct stores *stores, struct ir *ir, byte_set *live)
{
    struct place_in at;
    int64_t size = 0;
    switch (ir->op) {
    case IR_STORE:
        at = place_of(stores, ir->a, ir->offset, ir->size);
        if (!at.known)
            return false;
        if (!(live[at.object] & at.bytes))
            return true;
        live[at.object] &= ~at.bytes;
        return false;
    case IR_LOAD:
    case IR_ATOMIC_ADD:
    case IR_ATOMIC_EXCHANGE:
    case IR_ATOMIC_COMPARE:
        at = place_of(stores, ir->a, ir->offset, ir->size);
        if (at.known)
            live[at.object] |= at.bytes;
        return false;
    case IR_CALL:
    case IR_CALL_LOCAL: {
        int filled = filled_argument(ir, &size);
        if (filled >= 0) {
            at = place_of(stores, ir->arguments[filled], 0, size);
            if (at.known)
                live[at.object] &= ~at.bytes;
        }
        for (uint32_t i = 0; i < ir->argument_count; i++) {
            at = place_of(stores, ir->arguments[i], 0, BYTES);
            if (at.known && (int)i != filled)
                live[at.object] = ~(byte_set)0;
        }
        return false;
    }
    default: return false;
    }
}

static bool fills_after(struct ir *store, struct ir *call)
{
    int64_t size = 0, from = 0, at = store->offset;
    int filled = filled_argument(call, &size);
    if (filled < 0)
        return false;
    struct ir *base = base_of(call->arguments[filled], &from);
    return base == base_of(store->a, &at) && from <= at && at + store->size <= from + size;
}

/* Whether a helper fills the place of a store soon, and nothing between the two can read it. */
static bool is_filled_soon(struct ir *store)
{
    unsigned steps = 0;
    for (struct ir *ir = store->next; ir && steps++ < WINDOW; ir = ir->next) {
        if (ir->op == IR_CALL)
            return fills_after(store, ir);
        if (ir->op != IR_STORE && !ir_is_pure(ir))
            return false;
    }
    return false;
}

bool pass_stores(struct ir_function *function)
{
    struct arena *arena = function->program->arena;
    struct stores stores = {.numbers = function->value_count};
    stores.index = arena_array(arena, stores.numbers, sizeof *stores.index);
    find_objects(function, &stores);
    size_t blocks = function->block_count;
    struct ir_block **order = arena_array(arena, blocks, sizeof(struct ir_block *));
    size_t count = 0;
    for (struct ir_block *block = function->first; block; block = block->next)
        order[count++] = block;
    byte_set *live = arena_array(arena, blocks * stores.count, sizeof *live),
             now[OBJECTS]; /* live bytes, by block and object */
    bool any = false;
    for (bool changed = true, last = false; changed || !last;) {
        last = !changed; /* nothing changed in this round: what is dead now is dead */
        changed = false;
        for (size_t i = count; i-- > 0;) {
            struct ir_block *to[2];
            unsigned successors = ir_successors(order[i], to);
            for (unsigned k = 0; k < stores.count; k++) {
                now[k] = 0;
                for (unsigned s = 0; s < successors; s++)
                    now[k] |= live[to[s]->number * stores.count + k];
            }
            for (struct ir *previous, *ir = order[i]->last; ir; ir = previous) {
                previous = ir->previous;
                bool dead = step(&stores, ir, now) || (last && ir->op == IR_STORE && is_filled_soon(ir));
                if (dead && last) {
                    ir_remove(ir);
                    any = true;
                }
            }
            for (unsigned k = 0; k < stores.count; k++) {
                byte_set *before = &live[order[i]->number * stores.count + k];
                changed |= *before != now[k];
                *before = now[k];
            }
        }
        if (last)
            break;
    }
    return any;
}
