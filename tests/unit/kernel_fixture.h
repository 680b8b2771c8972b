/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of the kernel host: hand-written programs, an image of them, and a host that has created the
 * image's maps. The programs count their runs in the map @count. */
#ifndef SPOOR_TEST_KERNEL_FIXTURE_H
#define SPOOR_TEST_KERNEL_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernel/state.h"
#include "kernel/syscalls.h"

/* ---- hand-written programs ---- */

#define I(op, dst, src, o, i)                                                                                \
    ((struct bpf_insn){.code = (op), .dst_reg = (dst), .src_reg = (src), .off = (o), .imm = (i)})
#define MOV(dst, i) I(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, i)
#define COPY(dst, src) I(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define ADD(dst, i) I(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, i)
#define STORE(size, base, off, src) I(BPF_STX | BPF_MEM | (size), base, src, off, 0)
#define STORE_IMM(size, base, off, i) I(BPF_ST | BPF_MEM | (size), base, 0, off, i)
#define LOAD(size, dst, base, off) I(BPF_LDX | BPF_MEM | (size), dst, base, off, 0)
#define LOAD64(dst) I(BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, 0), I(0, 0, 0, 0, 0)
#define ATOMIC_ADD(base, off, src) I(BPF_STX | BPF_DW | 0xc0, base, src, off, 0)
#define HELPER(number) I(BPF_JMP | BPF_CALL, 0, 0, 0, number)
#define EXIT I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define COUNT_OF(x) (sizeof(x) / sizeof *(x))

enum { MAP_CONTROL, MAP_EVENTS, MAP_COUNT, MAP_HASH, MAP_PERCPU, MAP_CONSTANT, MAP_STORAGE, MAPS };
enum {
    PROGRAM_COUNT,
    PROGRAM_EVENT,
    PROGRAM_PROBE,
    PROGRAM_PROBE_SLEEPABLE,
    PROGRAM_TRACEPOINT,
    PROGRAM_PERF,
    PROGRAM_BAD,
    PROGRAM_KEYS,
    PROGRAM_KPROBE,
    PROGRAMS
};
enum { RING = 65536, KEYS = 3000 };

static const uint64_t constant = 0x1122334455667788;
static struct image_map maps[] = {
    [MAP_CONTROL] = {.name = "control",
                     .type = BPF_MAP_TYPE_ARRAY,
                     .key_size = 4,
                     .value_size = sizeof(struct image_control),
                     .max_entries = 1},
    [MAP_EVENTS] = {.name = "events",
                    .type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
                    .key_size = 4,
                    .value_size = RING,
                    .is_ring_per_cpu = true},
    [MAP_COUNT] =
        {.name = "@count", .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 16, .max_entries = 1},
    [MAP_HASH] =
        {.name = "@hash", .type = BPF_MAP_TYPE_HASH, .key_size = 8, .value_size = 8, .max_entries = 2 * KEYS},
    [MAP_PERCPU] = {.name = "@percpu",
                    .type = BPF_MAP_TYPE_PERCPU_HASH,
                    .key_size = 12,
                    .value_size = 12,
                    .max_entries = 64},
    [MAP_CONSTANT] = {.name = "constant",
                      .type = BPF_MAP_TYPE_ARRAY,
                      .key_size = 4,
                      .value_size = 8,
                      .max_entries = 1,
                      .flags = BPF_F_RDONLY_PROG,
                      .initial = &constant},
    [MAP_STORAGE] = {.name = "scratch", .type = BPF_MAP_TYPE_TASK_STORAGE, .key_size = 4, .value_size = 256},
};

/* @count += 1 */
static struct bpf_insn count_code[] = {LOAD64(1), MOV(2, 1), ATOMIC_ADD(1, 0, 2), MOV(0, 0), EXIT};
static struct image_relocation count_relocations[] = {{0, RELOCATION_VALUE, MAP_COUNT}};
/* Writes an event {time, 7, 24, cpu} to the CPU's ring; @count[1] counts the events that found no room. */
static struct bpf_insn event_code[] = {
    /*  0 */ HELPER(125),
    STORE(BPF_DW, 10, -24, 0),
    STORE_IMM(BPF_W, 10, -16, 7),
    STORE_IMM(BPF_W, 10, -12, 0),
    /*  4 */ HELPER(BPF_FUNC_get_smp_processor_id),
    STORE(BPF_DW, 10, -8, 0),
    STORE(BPF_W, 10, -28, 0),
    /*  7 */ LOAD64(1),
    COPY(2, 10),
    ADD(2, -28),
    HELPER(BPF_FUNC_map_lookup_elem),
    /* 12 */ I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 11, 0),
    /* 13 */ COPY(1, 0),
    COPY(2, 10),
    ADD(2, -24),
    MOV(3, 24),
    MOV(4, 1),
    HELPER(130),
    /* 19 */ I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4, 0),
    LOAD64(1),
    MOV(2, 1),
    ATOMIC_ADD(1, 8, 2),
    /* 24 */ MOV(0, 0),
    EXIT,
};
static struct image_relocation event_relocations[] = {{7, RELOCATION_MAP, MAP_EVENTS},
                                                      {20, RELOCATION_VALUE, MAP_COUNT}};
/* Reads from an address that may not be read, in its third instruction. */
static struct bpf_insn bad_code[] = {MOV(0, 0), MOV(1, 0), LOAD(BPF_DW, 2, 1, 0), MOV(0, 0), EXIT};
/* @percpu[1, 2, cpu-independent] = 5 on this CPU */
static struct bpf_insn keys_code[] = {
    STORE_IMM(BPF_W, 10, -12, 1),
    STORE_IMM(BPF_W, 10, -8, 2),
    STORE_IMM(BPF_W, 10, -4, 3),
    STORE_IMM(BPF_W, 10, -24, 5),
    STORE_IMM(BPF_W, 10, -20, 6),
    STORE_IMM(BPF_W, 10, -16, 7),
    LOAD64(1),
    COPY(2, 10),
    ADD(2, -12),
    COPY(3, 10),
    ADD(3, -24),
    MOV(4, 0),
    HELPER(BPF_FUNC_map_update_elem),
    MOV(0, 0),
    EXIT,
};
static struct image_relocation keys_relocations[] = {{6, RELOCATION_MAP, MAP_PERCPU}};

static const char script[] = "begin {\n  @x = 1;\n  @y = *0;\n}\n";
static const struct source source = {"stdin", script, sizeof script - 1};
static struct image_function bad_functions[] = {{.name = "bad", .parameters = 1}};
__attribute__((unused)) static struct image_line bad_lines[] = {
    {0, {&source, 10, 16}}, {2, {&source, 20, 27}}, {3, {&source, 28, 29}}};

#define PROGRAM(kind, code, relocs)                                                                          \
    .type = (kind), .instructions = (code), .count = COUNT_OF(code), .relocations = (relocs),                \
    .relocation_count = COUNT_OF(relocs)
static struct image_program programs[] = {
    [PROGRAM_COUNT] = {.name = "count", PROGRAM(BPF_PROG_TYPE_RAW_TRACEPOINT, count_code, count_relocations)},
    [PROGRAM_EVENT] = {.name = "event", PROGRAM(BPF_PROG_TYPE_RAW_TRACEPOINT, event_code, event_relocations)},
    [PROGRAM_PROBE] = {.name = "probe",
                       PROGRAM(BPF_PROG_TYPE_KPROBE, count_code, count_relocations),
                       .expected_attach_type = ATTACH_UPROBE_MULTI},
    [PROGRAM_PROBE_SLEEPABLE] = {.name = "sleepable",
                                 PROGRAM(BPF_PROG_TYPE_KPROBE, count_code, count_relocations),
                                 .expected_attach_type = ATTACH_UPROBE_MULTI,
                                 .sleepable = true},
    [PROGRAM_TRACEPOINT] = {.name = "tracepoint",
                            PROGRAM(BPF_PROG_TYPE_TRACEPOINT, count_code, count_relocations)},
    [PROGRAM_PERF] = {.name = "perf", PROGRAM(BPF_PROG_TYPE_PERF_EVENT, count_code, count_relocations)},
    [PROGRAM_BAD] = {.name = "bad",
                     .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
                     .instructions = bad_code,
                     .count = COUNT_OF(bad_code),
                     .lines = bad_lines,
                     .line_count = COUNT_OF(bad_lines),
                     .functions = bad_functions,
                     .function_count = COUNT_OF(bad_functions)},
    [PROGRAM_KPROBE] = {.name = "kprobe",
                        PROGRAM(BPF_PROG_TYPE_KPROBE, count_code, count_relocations),
                        .expected_attach_type = ATTACH_KPROBE_MULTI},
    [PROGRAM_KEYS] = {.name = "keys", PROGRAM(BPF_PROG_TYPE_RAW_TRACEPOINT, keys_code, keys_relocations)},
};
static const struct image image = {
    .maps = maps,
    .map_count = MAPS,
    .programs = programs,
    .program_count = PROGRAMS,
    .control = MAP_CONTROL,
    .events = MAP_EVENTS,
    .stacks = -1,
};

/* ---- a host for each test ---- */

struct fixture {
    struct arena arena;
    jmp_buf nowhere;
    struct diagnostics diagnostics;
    struct kernel *kernel;
    struct host *host;
};

__attribute__((unused)) static bool is_root(void)
{
    if (!geteuid())
        return true;
    printf("          (skipped: needs root)\n");
    return false;
}
#define NEED_ROOT()                                                                                          \
    if (!is_root())                                                                                          \
    skip()

static void fixture_print(struct fixture *f)
{
    struct text text = {0};
    diagnostics_render(&text, &f->diagnostics, DIAGNOSTIC_ERROR, false);
    printf("%s", text_string(&text));
    text_free(&text);
}

__attribute__((unused)) /* Opens the host without creating the maps. */
static void
fixture_open_bare(struct fixture *f, const struct kernel_options *options)
{
    memset(f, 0, sizeof *f);
    if (arena_guard(&f->arena, f->nowhere))
        fail_msg("out of memory");
    f->diagnostics.arena = &f->arena;
    assert_int_equal(kernel_open(options, &f->diagnostics, &f->kernel), 0);
    f->host = kernel_host(f->kernel);
}

static void fixture_open_with(struct fixture *f, const struct kernel_options *options)
{
    fixture_open_bare(f, options);
    struct image mine = image;
    /* leaves out the last map, which is the task storage */
    mine.map_count -= !f->host->features.task_storage;
    int error = f->host->operations->create_maps(f->host, &mine, &f->diagnostics);
    if (error)
        fixture_print(f);
    assert_int_equal(error, 0);
}

__attribute__((unused)) static void fixture_open(struct fixture *f, const char *without)
{
    fixture_open_with(f, &(struct kernel_options){.without = without});
}

__attribute__((unused)) static void fixture_close(struct fixture *f)
{
    f->host->operations->close(f->host);
    arena_free(&f->arena);
}

__attribute__((unused)) static void load(struct fixture *f, size_t program)
{
    int error = f->host->operations->load(f->host, &image, program, &f->diagnostics);
    if (error)
        fixture_print(f);
    assert_int_equal(error, 0);
}

__attribute__((unused)) static uint64_t counted(struct fixture *f, int which)
{
    uint64_t values[2] = {0};
    assert_int_equal(f->host->operations->map_lookup(f->host, MAP_COUNT, NULL, values), 0);
    return values[which];
}

__attribute__((unused)) static struct attach_request request_of(struct fixture *f, size_t program)
{
    return (struct attach_request){
        .program = program, .name = "probe:of:test", .diagnostics = &f->diagnostics};
}

__attribute__((unused)) static void run_on(unsigned cpu)
{
    unsigned long mask[16] = {0};
    mask[cpu / 64] = 1UL << cpu % 64;
    assert_true(syscall(SYS_sched_setaffinity, 0, sizeof mask, mask) >= 0);
}

__attribute__((unused)) static void run_everywhere(void)
{
    unsigned long mask[16];
    memset(mask, 0xff, sizeof mask);
    syscall(SYS_sched_setaffinity, 0, sizeof mask, mask);
}

__attribute__((unused)) static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

__attribute__((unused)) static bool diagnosed(struct fixture *f, const char *piece)
{
    for (size_t i = 0; i < f->diagnostics.count; i++)
        if (strstr(f->diagnostics.items[i].message, piece))
            return true;
    fixture_print(f);
    return false;
}

#endif
