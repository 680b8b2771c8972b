/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: instructions for the user-space host. The input's first byte says how many relocations follow, of
 * three bytes each (instruction, kind, map); the rest is instructions. None may fault, and none run for ever. */
#define VM_FUZZ
#include "../unit/vm_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 64 };
    struct image_relocation relocations[MOST];
    if (!size)
        return 0;
    uint32_t count = data[0] % MOST;
    data++;
    size--;
    for (uint32_t i = 0; i < count; i++, data += 3, size -= 3) {
        if (size < 3)
            return 0;
        relocations[i] = (struct image_relocation){data[0], data[1] % 3, data[2] % 6};
    }
    uint32_t instructions = (uint32_t)(size / sizeof(struct bpf_insn));
    struct bpf_insn *code = malloc(instructions * sizeof *code + 1);
    if (!code)
        return 0;
    memcpy(code, data, instructions * sizeof *code);
    fixture_run(code, instructions, relocations, count);
    free(code);
    return 0;
}
