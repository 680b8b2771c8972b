/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns instructions into steps, one for each, so that distances stay what they are. Registers, targets of jumps
 * and functions, and the names of maps and helpers are checked here, once; the interpreter relies on it.
 *
 * An instruction that the interpreter does not know becomes a step that ends the program. A call of an unknown
 * helper, which asks for something that only a kernel has, is reported with its place in the script. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/ir/ir.h"
#include "vm/code.h"
#include "vm/state.h"

#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80
#endif

struct span vm_span(const struct image_program *program, uint32_t instruction)
{
    struct span span = {0};
    for (uint32_t i = 0; i < program->line_count && program->lines[i].instruction <= instruction; i++)
        span = program->lines[i].span;
    return span;
}

/* ---- the tables, by eBPF's operation ---- */

static const uint16_t arithmetic[16] = {
#define X(name, operation, result) [operation >> 4] = VM_##name##64K,
    VM_ARITHMETIC(X)
#undef X
};
static const uint16_t signed_arithmetic[16] = {
#define X(name, operation, result) [operation >> 4] = VM_##name##64K,
    VM_SIGNED_ARITHMETIC(X)
#undef X
};
static const uint16_t jumps[16] = {
#define X(name, operation, condition) [operation >> 4] = VM_##name##64K,
    VM_JUMPS(X)
#undef X
};
/* By the size bits of the instruction: W, H, B, DW. */
static const uint16_t loads[4] = {VM_LOAD32, VM_LOAD16, VM_LOAD8, VM_LOAD64};
static const uint16_t signed_loads[4] = {VM_LOADS32, VM_LOADS16, VM_LOADS8, VM_BAD};
static const uint16_t stores[4] = {VM_STORE32K, VM_STORE16K, VM_STORE8K, VM_STORE64K};

static uint16_t extension(int16_t bits)
{
    return bits == 8 ? VM_EXTEND8_64 : bits == 16 ? VM_EXTEND16_64 : bits == 32 ? VM_EXTEND32_64 : VM_BAD;
}

static uint16_t byte_order(const struct bpf_insn *insn, bool is_wide)
{
    bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    bool swaps = is_wide || ((insn->code & BPF_TO_BE) != 0) == is_little;
    switch (insn->imm) {
    case 16: return swaps ? VM_SWAP16 : VM_LOW16;
    case 32: return swaps ? VM_SWAP32 : VM_LOW32;
    case 64: return swaps ? VM_SWAP64 : VM_LOW64;
    default: return VM_BAD;
    }
}

static uint16_t decode_arithmetic(const struct bpf_insn *insn)
{
    unsigned is_narrow = BPF_CLASS(insn->code) == BPF_ALU, from_register = (insn->code & BPF_X) != 0;
    unsigned operation = BPF_OP(insn->code);
    if (operation == BPF_END)
        return byte_order(insn, !is_narrow);
    if (operation == BPF_NEG)
        return is_narrow ? VM_NEG32 : VM_NEG64;
    if (operation == BPF_MOV && from_register && insn->off) {
        uint16_t code = extension(insn->off);
        return code ? (uint16_t)(code + is_narrow) : VM_BAD;
    }
    uint16_t code = insn->off == 1 ? signed_arithmetic[operation >> 4]
                    : !insn->off   ? arithmetic[operation >> 4]
                                   : VM_BAD;
    return code ? (uint16_t)(code + 2 * is_narrow + from_register) : VM_BAD;
}

static bool is_wide(const struct bpf_insn *insn)
{
    return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

struct decoder {
    struct vm *vm;
    const struct image *image;
    const struct image_program *program;
    struct diagnostics *diagnostics;
    const bool *seconds; /* which instructions are the second half of a wide one */
    struct vm_step *steps;
    int error;
};

/* Whether an instruction may be jumped to or called. */
static bool is_target(const struct decoder *d, int64_t to)
{
    return to >= 0 && to < d->program->count && !d->seconds[to];
}

static void decode_jump(struct decoder *d, uint32_t at, struct vm_step *step)
{
    const struct bpf_insn *insn = &d->program->instructions[at];
    unsigned is_narrow = BPF_CLASS(insn->code) == BPF_JMP32, operation = BPF_OP(insn->code);
    bool is_always = operation == BPF_JA;
    int64_t distance = is_always && is_narrow ? insn->imm : insn->off;
    uint16_t code = is_always ? VM_JUMP
                    : jumps[operation >> 4]
                        ? (uint16_t)(jumps[operation >> 4] + 2 * is_narrow + ((insn->code & BPF_X) != 0))
                        : VM_BAD;
    if (code == VM_BAD || !is_target(d, at + 1 + distance))
        return;
    step->offset = (int32_t)(distance + 1);
    step->code = code;
}

static void refuse_call(const struct image_program *program, uint32_t at, const char *why,
                        struct diagnostics *diagnostics)
{
    const struct bpf_insn *insn = &program->instructions[at];
    const char *name = ir_helper_name(insn->imm);
    diagnose_error(diagnostics, vm_span(program, at), "This asks the kernel%s%s%s, and %s", name ? " (" : "",
                   name ? name : "", name ? ")" : "", why);
    diagnose_hint(diagnostics,
                  "in scripts over recordings there is only what was recorded: args, object, owner, "
                  "lifetime, since, tid, comm, nsecs");
}

int vm_check_calls(const struct image_program *program, const char *why, struct diagnostics *diagnostics)
{
    for (uint32_t i = 0; i < program->count; i++) {
        const struct bpf_insn *insn = &program->instructions[i];
        if (is_wide(insn)) {
            i++;
        } else if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg != BPF_PSEUDO_CALL &&
                   !vm_helper_find(insn->imm)) {
            refuse_call(program, i, why, diagnostics);
            return -EOPNOTSUPP;
        }
    }
    return 0;
}

static void decode_call(struct decoder *d, uint32_t at, struct vm_step *step)
{
    const struct bpf_insn *insn = &d->program->instructions[at];
    if (insn->src_reg == BPF_PSEUDO_CALL) {
        if (is_target(d, (int64_t)at + 1 + insn->imm)) {
            step->offset = insn->imm + 1;
            step->code = VM_CALL;
        }
        return;
    }
    vm_helper *helper = vm_helper_find(insn->imm); /* kfuncs have numbers of their own */
    if (helper) {
        step->immediate = (int64_t)(uintptr_t)helper;
        step->code = VM_HELPER;
        return;
    }
    refuse_call(d->program, at, "no kernel runs this script", d->diagnostics);
    d->error = -EOPNOTSUPP;
}

static const struct image_relocation *find_relocation(const struct image_program *program, uint32_t at)
{
    for (uint32_t i = 0; i < program->relocation_count; i++)
        if (program->relocations[i].instruction == at && program->relocations[i].kind != RELOCATION_FUNCTION)
            return &program->relocations[i];
    return NULL;
}

static void decode_wide(struct decoder *d, uint32_t at, struct vm_step *step)
{
    const struct bpf_insn *insn = &d->program->instructions[at];
    if (at + 1 >= d->program->count)
        return;
    uint64_t value = (uint32_t)insn->imm | (uint64_t)(uint32_t)insn[1].imm << 32;
    const struct image_relocation *relocation = find_relocation(d->program, at);
    if (relocation) {
        if (relocation->map >= d->vm->map_count)
            return;
        const struct vm_map *map = &d->vm->maps[relocation->map];
        value = relocation->kind == RELOCATION_VALUE
                    ? (uint64_t)(uintptr_t)map->elements + (uint32_t)insn[1].imm
                    : VM_HANDLE_MAP | relocation->map; /* there is one ring */
    } else if (insn->src_reg == BPF_PSEUDO_FUNC) {
        int64_t target = (int64_t)at + 1 + insn->imm;
        if (!is_target(d, target))
            return;
        value = VM_HANDLE_CODE | (uint64_t)target;
    } else if (insn->src_reg) {
        return;
    }
    step->immediate = (int64_t)value;
    step->code = VM_WIDE;
}

static void decode_memory(struct vm_step *step, const struct bpf_insn *insn)
{
    unsigned size = insn->code >> 3 & 3, mode = BPF_MODE(insn->code), kind = BPF_CLASS(insn->code);
    step->offset = insn->off;
    if (kind == BPF_LDX)
        step->code = mode == BPF_MEM ? loads[size] : mode == BPF_MEMSX ? signed_loads[size] : VM_BAD;
    else if (mode == BPF_MEM)
        step->code = (uint16_t)(stores[size] + (kind == BPF_STX));
    else if (mode == BPF_ATOMIC && kind == BPF_STX && (size == 0 || size == 3))
        step->code = size ? VM_ATOMIC64 : VM_ATOMIC32;
}

static void decode_one(struct decoder *d, uint32_t at)
{
    const struct bpf_insn *insn = &d->program->instructions[at];
    struct vm_step *step = &d->steps[at];
    if (insn->dst_reg >= VM_REGISTERS || insn->src_reg >= VM_REGISTERS)
        return;
    *step =
        (struct vm_step){.code = VM_BAD, .to = insn->dst_reg, .from = insn->src_reg, .immediate = insn->imm};
    switch (BPF_CLASS(insn->code)) {
    case BPF_ALU:
    case BPF_ALU64: step->code = decode_arithmetic(insn); break;
    case BPF_LDX:
    case BPF_ST:
    case BPF_STX: decode_memory(step, insn); break;
    case BPF_LD:
        if (is_wide(insn))
            decode_wide(d, at, step);
        break;
    default:
        if (insn->code == (BPF_JMP | BPF_EXIT))
            step->code = VM_EXIT;
        else if (insn->code == (BPF_JMP | BPF_CALL))
            decode_call(d, at, step);
        else
            decode_jump(d, at, step);
    }
    /* Programs may read r10, the address of their frame, and not write it. */
    bool writes = (BPF_CLASS(insn->code) == BPF_ALU || BPF_CLASS(insn->code) == BPF_ALU64 ||
                   BPF_CLASS(insn->code) == BPF_LDX || BPF_CLASS(insn->code) == BPF_LD ||
                   BPF_MODE(insn->code) == BPF_ATOMIC);
    if (writes && BPF_CLASS(insn->code) != BPF_JMP && BPF_CLASS(insn->code) != BPF_JMP32 &&
        insn->dst_reg == BPF_REG_10 && BPF_CLASS(insn->code) != BPF_STX)
        step->code = VM_BAD;
}

int vm_decode(struct vm *vm, const struct image *image, const struct image_program *program,
              struct vm_program *out, struct diagnostics *diagnostics)
{
    bool *seconds = calloc(program->count + 1, sizeof *seconds);
    struct decoder d = {vm, image, program, diagnostics, seconds, NULL, 0};
    d.steps = calloc((size_t)program->count + 1, sizeof *d.steps); /* one more, which stays VM_BAD */
    if (!seconds || !d.steps) {
        free(seconds);
        free(d.steps);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i + 1 < program->count; i++)
        if (is_wide(&program->instructions[i]))
            seconds[++i] = true;
    for (uint32_t i = 0; i < program->count; i++)
        if (!seconds[i])
            decode_one(&d, i);
    free(seconds);
    if (d.error) {
        free(d.steps);
        return d.error;
    }
    vm_join(d.steps, program->count);
    *out = (struct vm_program){d.steps, program->count, program};
    return 0;
}
