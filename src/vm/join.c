/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps that nearly every program has one after the other become one.
 *
 * The first of such a sequence is changed, in its code and in what its own code did not use, and goes on
 * behind the last. The others stay what they are, for who jumps to them. What a sequence does is what its
 * steps do. */
#include "vm/code.h"
#include "vm/state.h"

/* The address of something at a distance from a register: r2 = r10; r2 += -8. */
static bool is_address(const struct vm_step *step)
{
    return step[0].code == VM_MOV64X && step[1].code == VM_ADD64K && step[0].to == step[1].to;
}

static bool is_lookup(const struct vm_step *step)
{
    return step->code == VM_HELPER &&
           (vm_helper *)(uintptr_t)step->immediate == vm_helper_find(BPF_FUNC_map_lookup_elem);
}

/* A map and the address of a key: r1 = map; r2 = r10; r2 += -8. */
static void join_wide(struct vm_step *step)
{
    if (!is_address(step + 2) || step[2].from == step->to || step[2].to == step->to)
        return;
    step->code = VM_WIDE_ADDRESS; /* the other register's number stands in the third step */
    step->from = step[2].from;
    step->offset = (int32_t)step[3].immediate;
}

/* r0 = *(u64 *)(r1 +56), and then either stored elsewhere or added to and stored back. */
static void join_load(struct vm_step *step)
{
    const struct vm_step *next = step + 1;
    if (next->code == VM_STORE64X && next->from == step->to) {
        step->code = VM_COPY64;
        step->immediate = (int64_t)next->to << 32 | (uint32_t)next->offset;
    } else if (next[0].code == VM_ADD64K && next[0].to == step->to && next[1].code == VM_STORE64X &&
               next[1].from == step->to && next[1].to == step->from && next[1].offset == step->offset &&
               step->from != step->to) {
        step->code = VM_ADD_MEMORY64;
        step->immediate = next[0].immediate;
    }
}

void vm_join(struct vm_step *steps, uint32_t count)
{
    enum { JOINED_MAX = 4 };
    /* From the first step to the last, so that the steps behind one are unchanged when it is looked at. */
    for (uint32_t i = 0; i + JOINED_MAX <= count; i++) {
        struct vm_step *step = &steps[i];
        switch (step->code) {
        case VM_WIDE: join_wide(step); break;
        case VM_LOAD64: join_load(step); break;
        case VM_MOV64X:
            if (is_address(step)) {
                step->code = VM_ADDRESS;
                step->immediate = step[1].immediate;
            }
            break;
        default: break;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        if (is_lookup(&steps[i]))
            steps[i].code = VM_LOOKUP;
    for (uint32_t i = 0; i + 1 < count; i++)
        if (steps[i].code == VM_MOV64K && steps[i].to == BPF_REG_0 && steps[i + 1].code == VM_EXIT)
            steps[i].code = VM_RETURN;
}
