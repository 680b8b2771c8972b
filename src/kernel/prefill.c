/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for the first elements of a map that grows (BPF_F_NO_PREALLOC).
 *
 * The kernel keeps for each CPU a few free elements of such a map, and gets more by an interrupt to itself when one is
 * taken. It begins with a single one where elements are large. A program that takes two at once where interrupts are off,
 * as a profile does for the stacks of the kernel and of the program, does not get the second. So on each CPU a program
 * takes an element and gives it back before anything is attached, and the kernel has gotten more. */
#include <string.h>
#include <unistd.h>

#include "kernel/instructions.h"
#include "kernel/state.h"
#include "kernel/syscalls.h"

enum { KEY_BYTES = 8, TEST_RUN_ON_CPU = 1 };

static int make_value(uint32_t size)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = BPF_MAP_TYPE_ARRAY;
    attributes.key_size = 4;
    attributes.value_size = size;
    attributes.max_entries = 1;
    return syscall_bpf(BPF_MAP_CREATE, &attributes, sizeof attributes);
}

/* A program that stores the value of an array, under a key that no stack has, and deletes it. */
static int load(int map, int value)
{
    static const char license[] = "GPL";
    const struct bpf_insn instructions[] = {
        INSTRUCTION(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -KEY_BYTES, 0),
        INSTRUCTION(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
        INSTRUCTION(0, 0, 0, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -KEY_BYTES),
        INSTRUCTION(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_3, BPF_PSEUDO_MAP_VALUE, 0, value),
        INSTRUCTION(0, 0, 0, 0, 0),
        MOVE_IMMEDIATE(BPF_REG_4, BPF_ANY),
        CALL(BPF_FUNC_map_update_elem),
        INSTRUCTION(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
        INSTRUCTION(0, 0, 0, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -KEY_BYTES),
        CALL(BPF_FUNC_map_delete_elem),
        MOVE_IMMEDIATE(BPF_REG_0, 0),
        EXIT(),
    };
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
    attributes.insns = (uintptr_t)instructions;
    attributes.insn_cnt = sizeof instructions / sizeof *instructions;
    attributes.license = (uintptr_t)license;
    return syscall_program_load(&attributes);
}

void prefill_map(const struct kernel *kernel, int map, uint32_t value_size)
{
    const int value = make_value(value_size);
    const int program = value >= 0 ? load(map, value) : -1;
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.test.prog_fd = (uint32_t)program;
    attributes.test.flags = TEST_RUN_ON_CPU;
    for (size_t i = 0; i < kernel->online_count && program >= 0; i++) {
        attributes.test.cpu = kernel->online[i];
        syscall_bpf(BPF_PROG_TEST_RUN, &attributes, sizeof attributes);
    }
    if (program >= 0)
        close(program);
    if (value >= 0)
        close(value);
}
