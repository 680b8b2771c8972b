/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks over user stacks by call frame information (unwind.h): a loop of the kernel, with one frame in each
 * iteration.
 *
 * The walk's state is in scratch memory, about which the verifier knows nothing, so that an iteration is verified
 * only once. Searches have no branches: the sign of a difference chooses. Where there is no row, a frame pointer is
 * followed as far as it is plausible. */
#include "bpf/lower/state.h"
#include "bpf/unwind.h"
#include "sym/dwarf/cfi.h"

enum { /* struct pt_regs of x86-64 */
       REGISTERS_BP = 32,
       REGISTERS_IP = 128,
       REGISTERS_CS = 136,
       REGISTERS_SP = 152,
       REGISTERS_BYTES = 168,
       USER_MODE = 3,
       FRAME_MAX = 1 << 20, /* how many bytes a frame may have if its frame pointer is to be plausible */
       PAGE_SHIFT = 12,
};

/* The tree in which the kernel keeps the mappings of a process (include/linux/maple_tree.h): the address of a node has
 * the node's type in its lower bits. */
enum {
    TREE_NODE_BYTES = UNWIND_STRUCT_BYTES,
    TREE_TYPE_SHIFT = 3,
    TREE_TYPE_MASK = 15,
    TREE_LEAF = 1,  /* maple_leaf_64: entries are mappings */
    TREE_INNER = 3, /* maple_arange_64: entries are nodes */
    TREE_PIVOTS_MAX = 15,
    TREE_STEPS = 24, /* three times as many as the tree of the most mappings is high */
};

struct walk {
    uint64_t ip, sp, bp;
    uint64_t back; /* 1: ip is a return address, and the call in front of it is meant */
    uint64_t count, end;
    uint64_t is_guess; /* not 0: a frame pointer was followed */
    /* The mapping that was found last: `size` addresses from `start` on, at this offset of the file. */
    uint64_t start, size, offset;
    uint64_t words[2];
    struct unwind_key key; /* the file of the mapping */
    struct unwind_request request;
    uint64_t mm;                        /* the memory of the process: its struct mm_struct */
    uint64_t entry;                     /* the entry of the tree that is looked at next; 0: its root */
    uint64_t node[TREE_NODE_BYTES / 8]; /* a node, or another struct of the kernel */
    uint8_t registers[REGISTERS_BYTES];
};

struct unwinding {
    int32_t walk, frames; /* offsets in scratch memory */
    struct span span;
};

#define AT(member) (int32_t) offsetof(struct walk, member)

static struct ir *base(struct lowering *l)
{
    return lower_shared_value(l, SHARED_SCRATCH);
}

/* Loads a member of the walk. It is volatile, because callbacks change the walk without the passes' knowledge. */
static struct ir *get_sized(struct lowering *l, const struct unwinding *u, int32_t member, unsigned size)
{
    struct ir *value = ir_load(&l->b, base(l), u->walk + member, size, false);
    value->is_volatile = true;
    return value;
}

static struct ir *get(struct lowering *l, const struct unwinding *u, int32_t member)
{
    return get_sized(l, u, member, 8);
}

static void set(struct lowering *l, const struct unwinding *u, int32_t member, struct ir *value)
{
    ir_store(&l->b, base(l), u->walk + member, 8, value);
}

static void set_constant(struct lowering *l, const struct unwinding *u, int32_t member, int64_t value)
{
    ir_store_constant(&l->b, base(l), u->walk + member, 8, value);
}

static struct ir *address(struct lowering *l, const struct unwinding *u, int32_t member)
{
    return ir_offset(&l->b, base(l), u->walk + member);
}

static const char blocks_name[] = "unwind_blocks", rows_name[] = "unwind_rows",
                  requests_name[] = "unwind_requests";

/* Makes the maps that all these programs share; the first one makes them. */
static void make_tables(struct lowering *l)
{
    uint32_t grows = l->options->features->growing_maps ? BPF_F_NO_PREALLOC : 0;
    struct image *image = l->image;
    if (image->unwinds)
        return;
    image->unwinds = true;
    image->unwind_blocks =
        lower_internal_map(l, &(struct image_map){.name = blocks_name,
                                                  .type = BPF_MAP_TYPE_HASH,
                                                  .key_size = sizeof(struct unwind_key),
                                                  .value_size = sizeof(struct unwind_block),
                                                  .max_entries = UNWIND_BLOCKS,
                                                  .flags = grows});
    image->unwind_rows = lower_internal_map(l, &(struct image_map){.name = rows_name,
                                                                   .type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
                                                                   .key_size = 4,
                                                                   .value_size = 4,
                                                                   .max_entries = UNWIND_CHUNKS,
                                                                   .inner_bytes = UNWIND_CHUNK_BYTES});
    image->unwind_requests =
        lower_internal_map(l, &(struct image_map){.name = requests_name,
                                                  .type = BPF_MAP_TYPE_HASH,
                                                  .key_size = sizeof(struct unwind_key),
                                                  .value_size = sizeof(struct unwind_request),
                                                  .max_entries = UNWIND_WISHES});
}

/* ---- what is where ---- */

/* Requests tables from user space for the key and the request, unless that was done before. */
static void request_tables(struct lowering *l, const struct unwinding *u)
{
    struct ir_builder *b = &l->b;
    struct ir_block *counted = ir_label(b), *end = ir_label(b);
    struct ir *failed =
        ir_call(b, BPF_FUNC_map_update_elem, 4, ir_map(b, l->image->unwind_requests), address(l, u, AT(key)),
                address(l, u, AT(request)), ir_constant(b, BPF_NOEXIST));
    ir_branch(b, failed, end, counted);
    ir_place(&l->b, counted);
    ir_atomic_add(b, lower_control(l), offsetof(struct image_control, unwind_requests), 8, ir_constant(b, 1));
    ir_place(b, end);
}

/* Reads memory of the kernel to a member of the walk; jumps to `failed` if it cannot. */
static void read_kernel(struct lowering *l, const struct unwinding *u, int32_t member, unsigned bytes,
                        struct ir *from, struct ir_block *failed)
{
    struct ir *result =
        ir_call(&l->b, BPF_FUNC_probe_read_kernel, 3, address(l, u, member), ir_constant(&l->b, bytes), from);
    ir_jump_unless(&l->b, ir_binary_constant(&l->b, IR_EQ, result, 0), failed);
}

/* Reads the word at an offset in a struct of the kernel; jumps to `failed` if it cannot, or if the word is 0. */
static struct ir *follow(struct lowering *l, const struct unwinding *u, struct ir *from, uint32_t offset,
                         struct ir_block *failed)
{
    read_kernel(l, u, AT(words[0]), 8, ir_binary_constant(&l->b, IR_ADD, from, offset), failed);
    struct ir *value = get(l, u, AT(words[0]));
    ir_jump_unless(&l->b, ir_binary_constant(&l->b, IR_NE, value, 0), failed);
    return value;
}

/* Returns -1 if x < y, else 0, for numbers below 1 << 63. */
static struct ir *is_below(struct lowering *l, struct ir *x, struct ir *y)
{
    return ir_binary_constant(&l->b, IR_ASHR, ir_binary(&l->b, IR_SUB, x, y), 63);
}

/* The entry of the node that was read, of this type, which has what is at pc. Its pivots are the last addresses of its
 * entries, in order; behind the last one that is used they are 0. */
static struct ir *choose_entry(struct lowering *l, const struct unwinding *u, struct ir *type, struct ir *pc)
{
    struct ir_builder *b = &l->b;
    const struct unwind_offsets *at = l->options->unwind;
    uint32_t pivots = ir_variable(b), slots = ir_variable(b);
    struct ir_block *inner = ir_label(b), *known = ir_label(b);
    ir_write(b, pivots, ir_constant(b, (at->range_slots - at->pivots) / 8));
    ir_write(b, slots, ir_constant(b, at->range_slots / 8));
    ir_jump_if(b, ir_binary_constant(b, IR_EQ, type, TREE_INNER), inner);
    ir_jump(b, known);
    ir_place(b, inner);
    ir_write(b, pivots, ir_constant(b, (at->inner_slots - at->pivots) / 8));
    ir_write(b, slots, ir_constant(b, at->inner_slots / 8));
    ir_place(b, known);
    struct ir *count = ir_read(b, pivots), *before = ir_binary_constant(b, IR_SUB, pc, 1);
    struct ir *chosen = ir_constant(b, 0);
    for (int64_t half = TREE_PIVOTS_MAX / 2 + 1; half; half /= 2) {
        struct ir *next =
            ir_binary_constant(b, IR_AND, ir_binary_constant(b, IR_ADD, chosen, half), TREE_PIVOTS_MAX);
        struct ir *place = ir_binary(b, IR_ADD, base(l), ir_binary_constant(b, IR_SHL, next, 3));
        struct ir *pivot = ir_load(b, place, u->walk + AT(node) + (int32_t)at->pivots - 8, 8, false);
        pivot->is_volatile = true;
        /* one less, so that 0 is the largest */
        struct ir *last = ir_binary_constant(b, IR_AND, ir_binary_constant(b, IR_SUB, pivot, 1), INT64_MAX);
        struct ir *inside = is_below(l, ir_binary_constant(b, IR_SUB, next, 1), count);
        struct ir *taken = ir_binary(b, IR_AND, inside, is_below(l, last, before));
        chosen = ir_binary(b, IR_ADD, chosen, ir_binary(b, IR_AND, ir_constant(b, half), taken));
    }
    struct ir *word = ir_binary_constant(b, IR_AND, ir_binary(b, IR_ADD, ir_read(b, slots), chosen),
                                         TREE_NODE_BYTES / 8 - 1);
    struct ir *place = ir_binary(b, IR_ADD, base(l), ir_binary_constant(b, IR_SHL, word, 3));
    struct ir *entry = ir_load(b, place, u->walk + AT(node), 8, false);
    entry->is_volatile = true;
    return entry;
}

/* A word of the struct of the kernel that was read last. */
static struct ir *member(struct lowering *l, const struct unwinding *u, uint32_t offset)
{
    return get(l, u, AT(node) + (int32_t)offset);
}

/* Takes what the kernel says of a mapping; jumps to `changed` if it is not the one at pc. A mapping of no file has no key, and
 * its size stays 0. */
static void take_mapping(struct lowering *l, const struct unwinding *u, struct ir *vma, struct ir *pc,
                         struct ir_block *changed, struct ir_block *end)
{
    struct ir_builder *b = &l->b;
    const struct unwind_offsets *at = l->options->unwind;
    read_kernel(l, u, AT(node), at->vma_bytes, vma, changed);
    struct ir *start = member(l, u, at->vm_start);
    struct ir *size = ir_binary(b, IR_SUB, member(l, u, at->vm_end), start);
    ir_jump_unless(b, ir_binary(b, IR_ULT, ir_binary(b, IR_SUB, pc, start), size), changed);
    ir_jump_unless(b, ir_binary(b, IR_EQ, member(l, u, at->vm_mm), get(l, u, AT(mm))), changed);
    set(l, u, AT(start), start);
    set(l, u, AT(offset), ir_binary_constant(b, IR_SHL, member(l, u, at->vm_pgoff), PAGE_SHIFT));
    struct ir *file = member(l, u, at->vm_file);
    ir_jump_unless(b, ir_binary_constant(b, IR_NE, file, 0), end);
    struct ir *inode = follow(l, u, file, at->file_inode, end);
    read_kernel(l, u, AT(node), at->inode_bytes, inode, end);
    set(l, u, AT(key.inode), member(l, u, at->inode_number));
    set_constant(l, u, AT(key.device), 0); /* the device, and the number of the block, which is 0 */
    read_kernel(l, u, AT(key.device), 4,
                ir_binary_constant(b, IR_ADD, member(l, u, at->inode_super), at->super_device), end);
    set(l, u, AT(size), size);
}

/* One step from the root of the tree to the mapping that has the address of the request. The search begins anew where it
 * finds nothing that fits: the tree may have been changed meanwhile, and before Linux 6.4 nodes are changed in place. */
static struct ir *descend(struct lowering *l, struct ir *index, struct ir *const *carried, void *state)
{
    struct ir_builder *b = &l->b;
    const struct unwinding *u = state;
    struct ir_block *root = ir_label(b), *known = ir_label(b), *leaf = ir_label(b), *inner = ir_label(b),
                    *again = ir_label(b), *stop = ir_label(b), *end = ir_label(b);
    uint32_t answer = ir_variable(b);
    (void)index, (void)carried;
    ir_branch(b, get(l, u, AT(entry)), known, root);
    ir_place(b, root);
    read_kernel(l, u, AT(entry), 8,
                ir_binary_constant(b, IR_ADD, get(l, u, AT(mm)), l->options->unwind->tree_root), stop);
    ir_place(b, known);
    struct ir *entry = get(l, u, AT(entry));
    read_kernel(l, u, AT(node), TREE_NODE_BYTES, ir_binary_constant(b, IR_AND, entry, -TREE_NODE_BYTES),
                again);
    struct ir *pc = get(l, u, AT(request.address));
    struct ir *type =
        ir_binary_constant(b, IR_AND, ir_binary_constant(b, IR_LSHR, entry, TREE_TYPE_SHIFT), TREE_TYPE_MASK);
    struct ir *below = choose_entry(l, u, type, pc);
    ir_branch(b, ir_binary_constant(b, IR_EQ, type, TREE_LEAF), leaf, inner);
    ir_place(b, inner);
    set(l, u, AT(entry), below);
    ir_write(b, answer, ir_constant(b, LOWER_GO_ON));
    ir_jump(b, end);
    ir_place(b, leaf);
    take_mapping(l, u, below, pc, again, stop);
    ir_jump(b, stop);
    ir_place(b, again);
    set_constant(l, u, AT(entry), 0);
    ir_write(b, answer, ir_constant(b, LOWER_GO_ON));
    ir_jump(b, end);
    ir_place(b, stop);
    ir_write(b, answer, ir_constant(b, LOWER_STOP));
    ir_place(b, end);
    return ir_read(b, answer);
}

/* Finds the mapping that has pc; its size is 0 if none is known. */
static void find_mapping(struct lowering *l, const struct unwinding *u, struct ir *pc)
{
    struct ir_builder *b = &l->b;
    struct ir_block *other = ir_label(b), *end = ir_label(b);
    struct ir *start = get(l, u, AT(start)), *size = get(l, u, AT(size));
    ir_branch(b, ir_binary(b, IR_ULT, ir_binary(b, IR_SUB, pc, start), size), end, other);
    ir_place(&l->b, other);
    set_constant(l, u, AT(size), 0);
    set_constant(l, u, AT(entry), 0);
    lower_find(l, TREE_STEPS, NULL, 0, descend, (void *)u, u->span);
    ir_place(b, end);
}

/* Returns the rule for a place in the key's file; 0, CFI_UNKNOWN, if there is none. */
static struct ir *find_rule(struct lowering *l, const struct unwinding *u, struct ir *pc)
{
    struct ir_builder *b = &l->b;
    struct ir_block *none = ir_label(b), *unmapped = ir_label(b), *end = ir_label(b);
    struct memory key = lower_temporary(l, 8, false);
    uint32_t rule = ir_variable(b);
    ir_write(b, rule, ir_constant(b, CFI_UNKNOWN));
    ir_jump_unless(&l->b, get(l, u, AT(size)), unmapped);
    struct ir *place =
        ir_binary(b, IR_ADD, ir_binary(b, IR_SUB, pc, get(l, u, AT(start))), get(l, u, AT(offset)));
    ir_jump_unless(&l->b, ir_binary_constant(b, IR_ULE, place, UINT32_MAX), unmapped);
    ir_store(b, base(l), u->walk + AT(key.block), 4,
             ir_binary_constant(b, IR_LSHR, place, UNWIND_BLOCK_SHIFT));
    struct ir *block =
        ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, l->image->unwind_blocks), address(l, u, AT(key)));
    ir_jump_unless(&l->b, ir_binary_constant(b, IR_NE, block, 0), none);
    struct ir *first = ir_load(b, block, offsetof(struct unwind_block, first), 4, false);
    struct ir *count = ir_load(b, block, offsetof(struct unwind_block, count), 4, false);
    ir_store(b, key.base, key.offset, 8, ir_load(b, block, offsetof(struct unwind_block, chunk), 4, false));
    struct ir *chunk =
        ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, l->image->unwind_rows), lower_address(l, key));
    ir_jump_unless(&l->b, ir_binary_constant(b, IR_NE, chunk, 0), none);
    ir_store_constant(b, key.base, key.offset, 8, 0);
    struct ir *rows = ir_call(b, BPF_FUNC_map_lookup_elem, 2, chunk, lower_address(l, key));
    ir_jump_unless(&l->b, ir_binary_constant(b, IR_NE, rows, 0), none);
    struct ir *at = ir_constant(b, 0);
    for (int64_t half = (UNWIND_BLOCK_ROWS + 1) / 2; half; half /= 2) {
        struct ir *next = ir_binary_constant(b, IR_ADD, at, half);
        struct ir *index =
            ir_binary_constant(b, IR_AND, ir_binary(b, IR_ADD, first, next), UNWIND_CHUNK_ROWS - 1);
        struct ir *row = ir_binary(b, IR_ADD, rows, ir_binary_constant(b, IR_SHL, index, 3));
        struct ir *below = is_below(l, place, ir_load(b, row, 0, 4, false));
        struct ir *inside = is_below(l, next, count);
        struct ir *taken = ir_binary(b, IR_AND, inside, ir_unary(b, IR_NOT, below));
        at = ir_binary(b, IR_ADD, at, ir_binary(b, IR_AND, ir_constant(b, half), taken));
    }
    struct ir *index = ir_binary_constant(b, IR_AND, ir_binary(b, IR_ADD, first, at), UNWIND_CHUNK_ROWS - 1);
    struct ir *row = ir_binary(b, IR_ADD, rows, ir_binary_constant(b, IR_SHL, index, 3));
    ir_write(b, rule, ir_load(b, row, 4, 4, false));
    ir_jump(b, end);
    ir_place(&l->b, none);
    ir_store_constant(b, base(l), u->walk + AT(key.block), 4, 0);
    request_tables(l, u);
    ir_place(b, unmapped);
    ir_place(b, end);
    return ir_read(b, rule);
}

/* ---- one frame ---- */

/* Reads words of the program's memory to walk.words; jumps to `failed` if it cannot. */
static void read_words(struct lowering *l, const struct unwinding *u, struct ir *from, unsigned count,
                       struct ir_block *failed)
{
    struct ir *result = ir_call(&l->b, BPF_FUNC_probe_read_user, 3, address(l, u, AT(words)),
                                ir_constant(&l->b, 8 * (int64_t)count), from);
    ir_jump_unless(&l->b, ir_binary_constant(&l->b, IR_EQ, result, 0), failed);
}

static struct ir *is_kind(struct lowering *l, struct ir *kind, enum cfi_kind which)
{
    return ir_binary_constant(&l->b, IR_EQ, kind, which);
}

/* Steps to the caller of code that no rule is known for, if the call that is waited for is followed by
 * `add $N, %rsp; ret`: its return address is N bytes above the stack pointer. So are the trampolines that CPython makes
 * for its functions, which have no frame pointer. Goes to `end` if it did, else on. */
static void step_by_instructions(struct lowering *l, const struct unwinding *u, struct ir_block *end)
{
    static const int64_t add_and_ret = 0xc300c48348, add_and_ret_mask = 0xff00ffffff;
    enum { IMMEDIATE_SHIFT = 24 };
    struct ir_builder *b = &l->b;
    struct ir_block *other = ir_label(b);
    read_words(l, u, get(l, u, AT(ip)), 1, other);
    struct ir *code = get(l, u, AT(words[0]));
    struct ir *masked = ir_binary(b, IR_AND, code, ir_constant(b, add_and_ret_mask));
    ir_jump_unless(&l->b, ir_binary(b, IR_EQ, masked, ir_constant(b, add_and_ret)), other);
    struct ir *bytes =
        ir_binary_constant(b, IR_AND, ir_binary_constant(b, IR_LSHR, code, IMMEDIATE_SHIFT), 0x7f);
    struct ir *at = ir_binary(b, IR_ADD, get(l, u, AT(sp)), bytes);
    read_words(l, u, at, 1, other);
    set(l, u, AT(ip), get(l, u, AT(words[0])));
    set(l, u, AT(sp), ir_binary_constant(b, IR_ADD, at, 8));
    ir_jump(b, end);
    ir_place(&l->b, other);
}

/* Steps to the caller by the frame pointer, which points to {the caller's frame pointer, the return address}. */
static void step_by_pointer(struct lowering *l, const struct unwinding *u, struct ir_block *stop)
{
    struct ir_builder *b = &l->b;
    struct ir *bp = get(l, u, AT(bp));
    set_constant(l, u, AT(end), UNWIND_NO_RULE);
    set_constant(l, u, AT(is_guess), UNWIND_BY_RULES);
    struct ir *distance = ir_binary(b, IR_SUB, bp, get(l, u, AT(sp)));
    ir_jump_unless(&l->b, ir_binary_constant(b, IR_ULT, distance, FRAME_MAX), stop);
    ir_jump_unless(&l->b, ir_binary_constant(b, IR_EQ, ir_binary_constant(b, IR_AND, bp, 7), 0), stop);
    read_words(l, u, bp, 2, stop);
    struct ir *ip = get(l, u, AT(words[1]));
    ir_jump_unless(&l->b, ip, stop);
    set(l, u, AT(ip), ip);
    set(l, u, AT(sp), ir_binary_constant(b, IR_ADD, bp, 16));
    set(l, u, AT(bp), get(l, u, AT(words[0])));
}

/* Steps to what a signal interrupted. There the instruction itself is meant. */
static void step_over_signal(struct lowering *l, const struct unwinding *u, struct ir_block *stop)
{
    struct ir_builder *b = &l->b;
    struct ir *context = get(l, u, AT(sp));
    read_words(l, u, ir_binary_constant(b, IR_ADD, context, CFI_SIGNAL_BP), 1, stop);
    set(l, u, AT(bp), get(l, u, AT(words[0])));
    read_words(l, u, ir_binary_constant(b, IR_ADD, context, CFI_SIGNAL_SP), 2, stop);
    set(l, u, AT(sp), get(l, u, AT(words[0])));
    set(l, u, AT(ip), get(l, u, AT(words[1])));
    set_constant(l, u, AT(back), 0);
}

/* The registers of the frame that a rule steps from, and what the rule says of the caller's rbp. */
struct rule_frame {
    struct ir *sp, *bp, *saved;
};

/* The canonical frame address by the rule's register, offset and special cases. */
static struct ir *cfa_by_rule(struct lowering *l, const struct unwinding *u, const struct rule_frame *frame,
                              struct ir *offset, struct ir *kind, struct ir_block *stop)
{
    struct ir_builder *b = &l->b;
    uint32_t from = ir_variable(b), cfa_variable = ir_variable(b);
    /* the register from which the CFA is computed */
    struct ir_block *by_bp = ir_label(b), *is_load = ir_label(b), *by_sp = ir_label(b), *based = ir_label(b);
    ir_write(b, from, frame->sp);
    ir_branch(b, is_kind(l, kind, CFI_BP), by_bp, is_load);
    ir_place(&l->b, is_load);
    ir_branch(b, is_kind(l, kind, CFI_BP_LOAD), by_bp, by_sp);
    ir_place(&l->b, by_bp);
    ir_write(b, from, frame->bp);
    ir_jump(b, based);
    ir_place(&l->b, by_sp);
    ir_place(b, based);
    ir_write(b, cfa_variable, ir_binary(b, IR_ADD, ir_read(b, from), offset));
    /* special cases of the CFA */
    struct ir_block *plt = ir_label(b), *plt_late = ir_label(b), *not_plt = ir_label(b), *load = ir_label(b),
                    *eight = ir_label(b), *known = ir_label(b);
    ir_branch(b, is_kind(l, kind, CFI_PLT), plt, not_plt);
    ir_place(&l->b, plt);
    struct ir *within = ir_binary_constant(b, IR_AND, get(l, u, AT(ip)), 15);
    ir_branch(b, ir_binary(b, IR_UGE, within, frame->saved), plt_late, known);
    ir_place(&l->b, plt_late);
    ir_write(b, cfa_variable, ir_binary_constant(b, IR_ADD, ir_read(b, cfa_variable), 8));
    ir_jump(b, known);
    ir_place(&l->b, not_plt);
    ir_branch(b, ir_binary_constant(b, IR_UGE, kind, CFI_SP_LOAD), load, known);
    ir_place(&l->b, load);
    read_words(l, u, ir_read(b, cfa_variable), 1, stop);
    ir_write(b, cfa_variable, get(l, u, AT(words[0])));
    ir_branch(b, is_kind(l, kind, CFI_SP_LOAD_8), eight, known);
    ir_place(&l->b, eight);
    ir_write(b, cfa_variable, ir_binary_constant(b, IR_ADD, ir_read(b, cfa_variable), 8));
    ir_place(b, known);
    return ir_read(b, cfa_variable);
}

/* The caller's rbp by the rule. */
static struct ir *bp_by_rule(struct lowering *l, const struct unwinding *u, const struct rule_frame *frame,
                             struct ir *cfa, struct ir *kind, struct ir_block *stop)
{
    struct ir_builder *b = &l->b;
    struct ir *saved = frame->saved, *bp = frame->bp;
    uint32_t bp_variable = ir_variable(b);
    struct ir_block *is_saved = ir_label(b), *other = ir_label(b), *below = ir_label(b), *at_bp = ir_label(b),
                    *lost = ir_label(b), *got = ir_label(b), *differs = ir_label(b);
    ir_write(b, bp_variable, bp);
    ir_branch(b, is_kind(l, kind, CFI_PLT), got, other);
    ir_place(&l->b, other);
    ir_branch(b, ir_binary_constant(b, IR_EQ, saved, CFI_BP_SAME), got, is_saved);
    ir_place(&l->b, is_saved);
    ir_branch(b, ir_binary_constant(b, IR_ULE, saved, CFI_BP_MAX), below, differs);
    ir_place(&l->b, below);
    read_words(l, u, ir_binary(b, IR_SUB, cfa, ir_binary_constant(b, IR_SHL, saved, 3)), 1, stop);
    ir_write(b, bp_variable, get(l, u, AT(words[0])));
    ir_jump(b, got);
    ir_place(&l->b, differs);
    ir_branch(b, ir_binary_constant(b, IR_EQ, saved, CFI_BP_AT_BP), at_bp, lost);
    ir_place(&l->b, at_bp);
    read_words(l, u, bp, 1, stop);
    ir_write(b, bp_variable, get(l, u, AT(words[0])));
    ir_jump(b, got);
    ir_place(&l->b, lost);
    ir_write(b, bp_variable, ir_constant(b, 0));
    ir_place(b, got);
    return ir_read(b, bp_variable);
}

static void step_by_rule(struct lowering *l, const struct unwinding *u, struct ir *rule, struct ir *kind,
                         struct ir_block *stop)
{
    struct ir_builder *b = &l->b;
    struct rule_frame frame = {.sp = get(l, u, AT(sp)), .bp = get(l, u, AT(bp))};
    struct ir *offset = ir_binary_constant(
        b, IR_SHL, ir_extend(b, ir_binary_constant(b, IR_LSHR, rule, CFI_OFFSET_SHIFT), 2, true), 3);
    frame.saved = ir_binary_constant(b, IR_AND, ir_binary_constant(b, IR_LSHR, rule, CFI_KIND_BITS),
                                     (1 << CFI_BP_BITS) - 1);
    struct ir *cfa = cfa_by_rule(l, u, &frame, offset, kind, stop);
    ir_jump_unless(&l->b, ir_binary(b, IR_UGT, cfa, frame.sp),
                   stop); /* the caller's stack pointer is larger */
    struct ir *caller_bp = bp_by_rule(l, u, &frame, cfa, kind, stop);
    read_words(l, u, ir_binary_constant(b, IR_SUB, cfa, 8), 1, stop);
    struct ir *ip = get(l, u, AT(words[0]));
    set(l, u, AT(ip), ip);
    set(l, u, AT(sp), cfa);
    set(l, u, AT(bp), caller_bp);
}

static struct ir *step(struct lowering *l, struct ir *index, struct ir *const *carried, void *state)
{
    struct ir_builder *b = &l->b;
    const struct unwinding *u = state;
    struct ir_block *stop = ir_label(b), *rest = ir_label(b), *end = ir_label(b);
    uint32_t answer = ir_variable(b);
    (void)index, (void)carried;
    struct ir *ip = get(l, u, AT(ip));
    ir_write(b, answer, ir_constant(b, LOWER_STOP));
    set_constant(l, u, AT(end), UNWIND_WHOLE);
    ir_jump_unless(&l->b, ip, stop); /* the outermost function returns to 0 */
    /* The index is not used here: older verifiers forget its bounds when it is kept on the stack. */
    struct ir *count = ir_binary_constant(b, IR_AND, get(l, u, AT(count)), STACK_FRAMES_MAX);
    struct ir *slot = ir_binary(b, IR_ADD, base(l), ir_binary_constant(b, IR_SHL, count, 3));
    ir_store(b, slot, u->frames, 8, ip);
    set(l, u, AT(count), ir_binary_constant(b, IR_ADD, count, 1));
    struct ir *pc = ir_binary(b, IR_SUB, ip, get(l, u, AT(back)));
    set(l, u, AT(request.address), pc);
    find_mapping(l, u, pc);
    struct ir *rule = find_rule(l, u, pc);
    struct ir *kind = ir_binary_constant(b, IR_AND, rule, (1 << CFI_KIND_BITS) - 1);
    ir_jump_unless(&l->b, ir_binary_constant(b, IR_NE, kind, CFI_END), stop);
    set_constant(l, u, AT(back), 1);
    struct ir_block *by_rule = ir_label(b), *by_pointer = ir_label(b), *has_rule = ir_label(b),
                    *signal = ir_label(b);
    ir_branch(b, is_kind(l, kind, CFI_UNKNOWN), by_pointer, has_rule);
    ir_place(&l->b, by_pointer);
    step_by_instructions(l, u, rest);
    step_by_pointer(l, u, stop);
    ir_jump(b, rest);
    ir_place(&l->b, has_rule);
    set_constant(l, u, AT(end), UNWIND_NO_MEMORY);
    ir_branch(b, is_kind(l, kind, CFI_SIGNAL), signal, by_rule);
    ir_place(&l->b, signal);
    step_over_signal(l, u, stop);
    ir_jump(b, rest);
    ir_place(&l->b, by_rule);
    step_by_rule(l, u, rule, kind, stop);
    ir_place(b, rest);
    set_constant(l, u, AT(end), UNWIND_WHOLE);
    ir_write(b, answer, ir_constant(b, LOWER_GO_ON));
    ir_jump(b, end);
    ir_place(&l->b, stop);
    ir_place(b, end);
    return ir_read(b, answer);
}

/* ---- the walk ---- */

/* Begins the walk where the program was in user space: at the registers with which it was interrupted there, else
 * at those that the kernel saved when it was entered. Jumps to `none` for a task of the kernel. */
static void begin(struct lowering *l, const struct unwinding *u, struct ir_block *none)
{
    struct ir_builder *b = &l->b;
    struct ir_block *of_task = ir_label(b), *of_context = ir_label(b), *end = ir_label(b);
    static const struct {
        int32_t from, to;
    } registers[] = {{REGISTERS_IP, AT(ip)}, {REGISTERS_SP, AT(sp)}, {REGISTERS_BP, AT(bp)}};
    enum { REGISTERS = sizeof registers / sizeof *registers };
    if (l->context->has_registers || l->context->program_type == BPF_PROG_TYPE_PERF_EVENT) {
        struct ir *mode = ir_load(b, lower_ctx(l), REGISTERS_CS, 8, false);
        ir_branch(b, ir_binary_constant(b, IR_AND, mode, USER_MODE), of_context, of_task);
        ir_place(&l->b, of_context);
        for (int i = 0; i < REGISTERS; i++)
            set(l, u, registers[i].to, ir_load(b, lower_ctx(l), registers[i].from, 8, false));
        ir_jump(b, end);
        ir_place(&l->b, of_task);
    }
    struct ir *kept = ir_call(b, BPF_FUNC_task_pt_regs, 1, ir_call(b, BPF_FUNC_get_current_task_btf, 0));
    struct ir *failed = ir_call(b, BPF_FUNC_probe_read_kernel, 3, address(l, u, AT(registers)),
                                ir_constant(b, REGISTERS_BYTES), kept);
    ir_jump_unless(&l->b, ir_binary_constant(b, IR_EQ, failed, 0), none);
    ir_jump_unless(&l->b, ir_binary_constant(b, IR_AND, get(l, u, AT(registers) + REGISTERS_CS), USER_MODE),
                   none);
    for (int i = 0; i < REGISTERS; i++)
        set(l, u, registers[i].to, get(l, u, AT(registers) + registers[i].from));
    ir_place(b, end);
}

struct ir *lower_unwind(struct lowering *l, struct memory frames, uint32_t most, struct span span,
                        struct ir_block *none, struct ir **kind)
{
    struct ir_builder *b = &l->b;
    struct memory walk = lower_scratch(l, sizeof(struct walk), false);
    struct unwinding u = {.walk = walk.offset, .frames = frames.offset, .span = span};
    make_tables(l);
    begin(l, &u, none);
    static const int32_t zeros[] = {AT(back),  AT(count), AT(end),    AT(is_guess),
                                    AT(start), AT(size),  AT(key) + 8};
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
        set_constant(l, &u, zeros[i], 0);
    struct ir *pid = ir_binary_constant(b, IR_LSHR, lower_pid_tgid(l), 32);
    set(l, &u, AT(request.pid), pid);
    struct ir *task = ir_call(b, BPF_FUNC_get_current_task, 0);
    set(l, &u, AT(mm), follow(l, &u, task, l->options->unwind->task_mm, none));
    lower_find(l, most, NULL, 0, step, &u, span);
    struct ir *count = get(l, &u, AT(count));
    ir_jump_unless(&l->b, count, none);
    ir_jump_unless(&l->b, ir_binary_constant(b, IR_ULE, count, most), none);
    *kind = ir_binary(b, IR_OR, ir_binary_constant(b, IR_SHL, get(l, &u, AT(end)), UNWIND_END_SHIFT),
                      ir_binary_constant(b, IR_XOR, get(l, &u, AT(is_guess)), UNWIND_BY_RULES));
    return ir_binary_constant(b, IR_SHL, count, 3);
}
