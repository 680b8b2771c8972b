/* SPDX-License-Identifier: BSD-3-Clause */
/* Hand-made images for the user-space host; shared by its tests and its fuzz target. */
#ifndef SPOOR_TESTS_VM_TESTING_H
#define SPOOR_TESTS_VM_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef VM_FUZZ
#include <assert.h>
#define assert_int_equal(a, b) assert((a) == (b))
#define assert_true(a) assert(a)
#else
#include <cmocka.h>
#endif

#include "vm/state.h"

struct vm_fixture {
    struct vm_options options; /* set before opening */
    struct arena arena;
    struct diagnostics diagnostics;
    struct image image;
    struct image_program program;
    struct vm *vm;
    struct host *host;
};

static jmp_buf vm_nowhere __attribute__((unused));

static inline int fixture_try(struct vm_fixture *f, struct image_map *maps, size_t count)
{
    struct vm_options options = f->options;
    memset(f, 0, sizeof *f);
    if (arena_guard(&f->arena, vm_nowhere))
        abort();
    if (options.budget > 1u << 20)
        options.budget = 0;
    f->diagnostics.arena = &f->arena;
    f->image.maps = maps;
    f->image.map_count = count;
    f->image.control = f->image.events = -1;
    f->image.programs = &f->program;
    f->image.program_count = 1;
    options.ring_bytes = 4096;
    assert_int_equal(vm_open(&options, &f->vm), 0);
    f->host = vm_host(f->vm);
    return f->host->operations->create_maps(f->host, &f->image, &f->diagnostics);
}

#define fixture_open(f, maps, count)                                                                         \
    do {                                                                                                     \
        assert_int_equal(fixture_try((f), (maps), (count)), 0);                                              \
    } while (0)

static inline int fixture_try_program(struct vm_fixture *f, const struct bpf_insn *code, uint32_t count,
                                      struct image_relocation *relocations, uint32_t relocation_count)
{
    f->program = (struct image_program){
        .name = "test",
        .instructions = (struct bpf_insn *)(uintptr_t)code,
        .count = count,
        .relocations = relocations,
        .relocation_count = relocation_count,
    };
    return f->host->operations->load(f->host, &f->image, 0, &f->diagnostics);
}

#define fixture_program(f, code, count, relocations, relocation_count)                                       \
    assert_int_equal(fixture_try_program((f), (code), (count), (relocations), (relocation_count)), 0)

static inline void fixture_close(struct vm_fixture *f)
{
    f->host->operations->close(f->host);
    arena_free(&f->arena);
    memset(f, 0, sizeof *f);
}

static inline int fixture_count_record(void *state, const uint8_t *record, size_t length)
{
    uint8_t sum = 0;
    for (size_t i = 0; i < length; i++) /* every byte must be readable */
        sum = (uint8_t)(sum + record[i]);
    *(volatile uint8_t *)state = sum;
    return 0;
}

/* Runs any instructions, with a hash, an array, a ring and a map of records to name. Returns whether they came to
 * an end. */
static inline bool fixture_run(const struct bpf_insn *code, uint32_t count,
                               struct image_relocation *relocations, uint32_t relocation_count)
{
    struct image_map maps[] = {
        {.name = "hash", .type = BPF_MAP_TYPE_HASH, .key_size = 8, .value_size = 8, .max_entries = 4},
        {.name = "array", .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 16, .max_entries = 2},
        {.name = "events",
         .type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
         .key_size = 4,
         .value_size = 4096,
         .is_ring_per_cpu = true},
        {.name = "lru", .type = BPF_MAP_TYPE_LRU_HASH, .key_size = 12, .value_size = 4, .max_entries = 3},
    };
    struct vm_fixture f = {.options.budget = 2000};
    uint8_t sum;
    fixture_open(&f, maps, 4);
    bool ended =
        !fixture_try_program(&f, code, count, relocations, relocation_count) && !vm_run(f.vm, 0, NULL);
    f.host->operations->consume(f.host, true, fixture_count_record, &sum);
    fixture_close(&f);
    return ended;
}

/* Runs a random program that is partly meaningful: known operations, registers that exist, addresses of maps, short
 * jumps. */
static inline bool fixture_run_random(uint64_t (*word)(void))
{
    static const int32_t helpers[] = {BPF_FUNC_map_lookup_elem,
                                      BPF_FUNC_map_update_elem,
                                      BPF_FUNC_map_delete_elem,
                                      BPF_FUNC_for_each_map_elem,
                                      BPF_FUNC_loop,
                                      BPF_FUNC_probe_read_kernel,
                                      BPF_FUNC_probe_read_user_str,
                                      BPF_FUNC_ringbuf_reserve,
                                      BPF_FUNC_ringbuf_submit,
                                      BPF_FUNC_ringbuf_output,
                                      BPF_FUNC_strncmp,
                                      BPF_FUNC_get_current_comm};
    struct bpf_insn code[40];
    struct image_relocation relocations[40];
    uint32_t relocation_count = 0, count = 8 + (uint32_t)(word() % 30);
    for (uint32_t i = 0; i < count; i++) {
        code[i] = (struct bpf_insn){.code = (uint8_t)word(),
                                    .dst_reg = (uint8_t)(word() % 11 & 15),
                                    .src_reg = (uint8_t)(word() % 11 & 15),
                                    .off = (int16_t)(word() % 4 ? word() % 64 - 32 : word()),
                                    .imm = (int32_t)(word() % 4 ? word() % 64 : word())};
        uint64_t form = word() % 8;
        if (form == 0) {
            code[i] = (struct bpf_insn){BPF_JMP | BPF_CALL, 0, 0, 0, helpers[word() % 12]};
        } else if (form == 1 && i + 1 < count) {
            code[i] = (struct bpf_insn){BPF_LD | BPF_IMM | BPF_DW, (uint8_t)(word() % 10 & 15), 0, 0, 0};
            relocations[relocation_count++] = (struct image_relocation){
                i, word() % 2 ? RELOCATION_MAP : RELOCATION_VALUE, (uint32_t)(word() % 5)};
            if (word() % 4 == 0) {
                relocation_count--;
                code[i].src_reg = BPF_PSEUDO_FUNC;
                code[i].imm = (int32_t)(word() % count) - (int32_t)i;
            }
            code[++i] = (struct bpf_insn){0};
        } else if (form == 2) {
            code[i] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, (uint8_t)(1 + word() % 5), 10, 0, 0};
        } else if (form == 3) {
            code[i] = (struct bpf_insn){BPF_ALU64 | BPF_ADD | BPF_K, (uint8_t)(1 + word() % 5), 0, 0,
                                        -(int32_t)(word() % 64)};
        } else if (form == 4) {
            code[i] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, (uint8_t)(word() % 6), 0, 0,
                                        (int32_t)(word() % 64)};
        }
    }
    code[count - 1] = (struct bpf_insn){BPF_JMP | BPF_EXIT, 0, 0, 0, 0};
    return fixture_run(code, count, relocations, relocation_count);
}

#endif
