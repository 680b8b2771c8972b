/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel host, against the running kernel: hand-written programs, maps, rings, attachments of this very
 * test. What needs root is skipped without; the merge of rings and the texts are tested on memory of ours. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel/state.h"
#include "kernel/syscalls.h"
#include "sym/tracefs.h"

/* ---- programs by hand ---- */

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
enum { PROGRAM_COUNT, PROGRAM_EVENT, PROGRAM_PROBE, PROGRAM_PROBE_SLEEPABLE, PROGRAM_TRACEPOINT,
       PROGRAM_PERF, PROGRAM_BAD, PROGRAM_KEYS, PROGRAMS };
enum { RING = 65536, KEYS = 3000 };

static const uint64_t constant = 0x1122334455667788;
static struct image_map maps[] = {
    [MAP_CONTROL] = {.name = "control", .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 64, .max_entries = 1},
    [MAP_EVENTS] = {.name = "events", .type = BPF_MAP_TYPE_ARRAY_OF_MAPS, .key_size = 4, .value_size = RING, .is_ring_per_cpu = true},
    [MAP_COUNT] = {.name = "@count", .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 16, .max_entries = 1},
    [MAP_HASH] = {.name = "@hash", .type = BPF_MAP_TYPE_HASH, .key_size = 8, .value_size = 8, .max_entries = 2 * KEYS},
    [MAP_PERCPU] = {.name = "@percpu", .type = BPF_MAP_TYPE_PERCPU_HASH, .key_size = 12, .value_size = 12, .max_entries = 64},
    [MAP_CONSTANT] = {.name = "constant", .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1, .flags = BPF_F_RDONLY_PROG, .initial = &constant},
    [MAP_STORAGE] = {.name = "scratch", .type = BPF_MAP_TYPE_TASK_STORAGE, .key_size = 4, .value_size = 256},
};

/* @count += 1 */
static struct bpf_insn count_code[] = {LOAD64(1), MOV(2, 1), ATOMIC_ADD(1, 0, 2), MOV(0, 0), EXIT};
static struct image_relocation count_relocations[] = {{0, RELOCATION_VALUE, MAP_COUNT}};
/* An event {time, 7, 24, cpu} in the ring of the CPU; @count[1] counts those that found no room. */
static struct bpf_insn event_code[] = {
    /*  0 */ HELPER(125), STORE(BPF_DW, 10, -24, 0), STORE_IMM(BPF_W, 10, -16, 7), STORE_IMM(BPF_W, 10, -12, 24),
    /*  4 */ HELPER(BPF_FUNC_get_smp_processor_id), STORE(BPF_DW, 10, -8, 0), STORE(BPF_W, 10, -28, 0),
    /*  7 */ LOAD64(1), COPY(2, 10), ADD(2, -28), HELPER(BPF_FUNC_map_lookup_elem),
    /* 12 */ I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 11, 0),
    /* 13 */ COPY(1, 0), COPY(2, 10), ADD(2, -24), MOV(3, 24), MOV(4, 1), HELPER(130),
    /* 19 */ I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4, 0), LOAD64(1), MOV(2, 1), ATOMIC_ADD(1, 8, 2),
    /* 24 */ MOV(0, 0), EXIT,
};
static struct image_relocation event_relocations[] = {{7, RELOCATION_MAP, MAP_EVENTS}, {20, RELOCATION_VALUE, MAP_COUNT}};
/* Reads where nothing may be read, in its third instruction. */
static struct bpf_insn bad_code[] = {MOV(0, 0), MOV(1, 0), LOAD(BPF_DW, 2, 1, 0), MOV(0, 0), EXIT};
/* @percpu[1, 2, cpu-independent] = 5 on this CPU */
static struct bpf_insn keys_code[] = {
    STORE_IMM(BPF_W, 10, -12, 1), STORE_IMM(BPF_W, 10, -8, 2), STORE_IMM(BPF_W, 10, -4, 3),
    STORE_IMM(BPF_W, 10, -24, 5), STORE_IMM(BPF_W, 10, -20, 6), STORE_IMM(BPF_W, 10, -16, 7),
    LOAD64(1), COPY(2, 10), ADD(2, -12), COPY(3, 10), ADD(3, -24), MOV(4, 0), HELPER(BPF_FUNC_map_update_elem),
    MOV(0, 0), EXIT,
};
static struct image_relocation keys_relocations[] = {{6, RELOCATION_MAP, MAP_PERCPU}};

static const char script[] = "begin {\n  @x = 1;\n  @y = *0;\n}\n";
static const struct source source = {"stdin", script, sizeof script - 1};
static struct image_line bad_lines[] = {{0, {&source, 10, 16}}, {2, {&source, 20, 27}}, {3, {&source, 28, 29}}};

#define PROGRAM(kind, code, relocs)                                                                          \
    .type = (kind), .instructions = (code), .count = COUNT_OF(code), .relocations = (relocs),                \
    .relocation_count = COUNT_OF(relocs)
static struct image_program programs[] = {
    [PROGRAM_COUNT] = {.name = "count", PROGRAM(BPF_PROG_TYPE_RAW_TRACEPOINT, count_code, count_relocations)},
    [PROGRAM_EVENT] = {.name = "event", PROGRAM(BPF_PROG_TYPE_RAW_TRACEPOINT, event_code, event_relocations)},
    [PROGRAM_PROBE] = {.name = "probe", PROGRAM(BPF_PROG_TYPE_KPROBE, count_code, count_relocations), .expected_attach_type = ATTACH_UPROBE_MULTI},
    [PROGRAM_PROBE_SLEEPABLE] = {.name = "sleepable", PROGRAM(BPF_PROG_TYPE_KPROBE, count_code, count_relocations), .expected_attach_type = ATTACH_UPROBE_MULTI, .sleepable = true},
    [PROGRAM_TRACEPOINT] = {.name = "tracepoint", PROGRAM(BPF_PROG_TYPE_TRACEPOINT, count_code, count_relocations)},
    [PROGRAM_PERF] = {.name = "perf", PROGRAM(BPF_PROG_TYPE_PERF_EVENT, count_code, count_relocations)},
    [PROGRAM_BAD] = {.name = "bad", .type = BPF_PROG_TYPE_RAW_TRACEPOINT, .instructions = bad_code, .count = COUNT_OF(bad_code), .lines = bad_lines, .line_count = COUNT_OF(bad_lines)},
    [PROGRAM_KEYS] = {.name = "keys", PROGRAM(BPF_PROG_TYPE_RAW_TRACEPOINT, keys_code, keys_relocations)},
};
static const struct image image = {
    .maps = maps, .map_count = MAPS, .programs = programs, .program_count = PROGRAMS,
    .control = MAP_CONTROL, .events = MAP_EVENTS, .stacks = -1,
};

/* ---- a host for each test ---- */

struct fixture {
    struct arena arena;
    jmp_buf nowhere;
    struct diagnostics diagnostics;
    struct kernel *kernel;
    struct host *host;
};

static bool is_root(void)
{
    if (!geteuid())
        return true;
    printf("          (skipped: needs root)\n");
    return false;
}
#define NEED_ROOT()                                                                                          \
    if (!is_root())                                                                                          \
    skip()

static void fixture_open(struct fixture *f, const char *without)
{
    memset(f, 0, sizeof *f);
    if (arena_guard(&f->arena, f->nowhere))
        fail_msg("out of memory");
    f->diagnostics.arena = &f->arena;
    struct kernel_options options = {.without = without};
    assert_int_equal(kernel_open(&options, &f->diagnostics, &f->kernel), 0);
    f->host = kernel_host(f->kernel);
    assert_int_equal(f->host->operations->create_maps(f->host, &image, &f->diagnostics), 0);
}

static void fixture_close(struct fixture *f)
{
    f->host->operations->close(f->host);
    arena_free(&f->arena);
}

static void fixture_print(struct fixture *f)
{
    struct text text = {0};
    diagnostics_render(&text, &f->diagnostics, DIAGNOSTIC_ERROR, false);
    printf("%s", text_string(&text));
    text_free(&text);
}

static void load(struct fixture *f, size_t program)
{
    int error = f->host->operations->load(f->host, &image, program, &f->diagnostics);
    if (error)
        fixture_print(f);
    assert_int_equal(error, 0);
}

static uint64_t counted(struct fixture *f, int which)
{
    uint64_t values[2] = {0};
    assert_int_equal(f->host->operations->map_lookup(f->host, MAP_COUNT, NULL, values), 0);
    return values[which];
}

static struct attach_request request_of(struct fixture *f, size_t program)
{
    return (struct attach_request){.program = program, .name = "probe:of:test", .diagnostics = &f->diagnostics};
}

static void run_on(unsigned cpu)
{
    unsigned long mask[16] = {0};
    mask[cpu / 64] = 1UL << cpu % 64;
    assert_true(syscall(SYS_sched_setaffinity, 0, sizeof mask, mask) >= 0);
}

static void run_everywhere(void)
{
    unsigned long mask[16];
    memset(mask, 0xff, sizeof mask);
    syscall(SYS_sched_setaffinity, 0, sizeof mask, mask);
}

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool diagnosed(struct fixture *f, const char *piece)
{
    for (size_t i = 0; i < f->diagnostics.count; i++)
        if (strstr(f->diagnostics.items[i].message, piece))
            return true;
    fixture_print(f);
    return false;
}

/* ---- opening, features ---- */

static void test_open(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    double before = milliseconds();
    fixture_open(&f, NULL);
    printf("          opened with maps in %.2f ms\n", milliseconds() - before);
    assert_true(f.host->features.ring_buffer);
    assert_true(f.host->features.cpus > 0);
    struct text text = {0};
    kernel_describe(f.kernel, &text);
    assert_non_null(strstr(text_string(&text), "uprobe_multi"));
    if (getenv("VERBOSE"))
        printf("%s", text.bytes);
    text_free(&text);
    fixture_close(&f);
}

static void test_without(void **state)
{
    (void)state;
    struct arena arena = {0};
    jmp_buf nowhere;
    if (arena_guard(&arena, nowhere))
        fail();
    struct diagnostics diagnostics = {.arena = &arena};
    struct features features = {.loop = true, .btf = true, .uprobe_multi = true};
    assert_int_equal(features_without(&features, "loop,uprobe_multi,", &diagnostics), 0);
    assert_false(features.loop || features.uprobe_multi);
    assert_true(features.btf);
    assert_int_equal(features_without(&features, "btf,uprobe_mulit", &diagnostics), -EINVAL);
    assert_non_null(strstr(diagnostics.items[0].message, "uprobe_mulit"));
    assert_non_null(strstr(diagnostics.items[0].hint, "uprobe_multi"));
    char *longer = malloc(5000);
    memset(longer, 'x', 4999);
    longer[4999] = 0;
    assert_int_equal(features_without(&features, longer, &diagnostics), -EINVAL);
    free(longer);
    arena_free(&arena);
}

static void test_without_capabilities(void **state)
{
    (void)state;
    NEED_ROOT();
    pid_t child = fork();
    if (!child) {
        struct arena arena = {0};
        jmp_buf nowhere;
        if (arena_guard(&arena, nowhere) || setgid(65534) || setuid(65534))
            _exit(9);
        struct diagnostics diagnostics = {.arena = &arena};
        struct kernel *kernel;
        int error = kernel_open(NULL, &diagnostics, &kernel);
        bool named = diagnostics.count == 1 && strstr(diagnostics.items[0].message, "CAP_BPF") &&
                     strstr(diagnostics.items[0].message, "CAP_SYS_ADMIN");
        arena_free(&arena);
        _exit(error == -EPERM && named ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* ---- maps ---- */

struct seen {
    uint64_t keys, sum, values;
    bool keyless, stop;
};

static int see_hash(void *state, const uint8_t *key, const uint8_t *values)
{
    struct seen *seen = state;
    uint64_t number, value;
    memcpy(&number, key, 8);
    memcpy(&value, values, 8);
    seen->keys++;
    seen->sum += number;
    seen->values += value;
    return seen->stop ? -ECANCELED : 0;
}

static void fill_hash(struct fixture *f, uint64_t from, uint64_t to)
{
    for (uint64_t key = from; key < to; key++)
        assert_int_equal(syscall_map_update(f->kernel->maps[MAP_HASH].fd, &key, &(uint64_t){key + 1}, BPF_ANY), 0);
}

static void test_hash(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    const struct host_operations *op = f.host->operations;
    fill_hash(&f, 0, KEYS);
    struct seen seen = {0};
    assert_int_equal(op->map_each(f.host, MAP_HASH, see_hash, &seen), 0);
    assert_int_equal(seen.keys, KEYS);
    assert_int_equal(seen.sum, (uint64_t)KEYS * (KEYS - 1) / 2);
    assert_int_equal(seen.values, seen.sum + KEYS);

    seen = (struct seen){.stop = true};
    assert_int_equal(op->map_each(f.host, MAP_HASH, see_hash, &seen), -ECANCELED);
    assert_int_equal(seen.keys, 1);

    uint64_t key = 17, value;
    assert_int_equal(op->map_lookup(f.host, MAP_HASH, &key, &value), 0);
    assert_int_equal(value, 18);
    assert_int_equal(op->map_delete(f.host, MAP_HASH, &key), 0);
    assert_int_equal(op->map_lookup(f.host, MAP_HASH, &key, &value), -ENOENT);
    assert_int_equal(op->map_delete(f.host, MAP_HASH, &key), -ENOENT);

    assert_int_equal(op->map_zero(f.host, MAP_HASH), 0);
    seen = (struct seen){0};
    assert_int_equal(op->map_each(f.host, MAP_HASH, see_hash, &seen), 0);
    assert_int_equal(seen.keys, KEYS - 1);
    assert_int_equal(seen.values, 0);

    assert_int_equal(op->map_clear(f.host, MAP_HASH), 0);
    seen = (struct seen){0};
    assert_int_equal(op->map_each(f.host, MAP_HASH, see_hash, &seen), 0);
    assert_int_equal(seen.keys, 0);

    assert_int_equal(op->map_each(f.host, 99, see_hash, &seen), -EINVAL);
    assert_int_equal(op->map_each(f.host, MAP_EVENTS, see_hash, &seen), -EINVAL);
    fixture_close(&f);
}

/* Another process deletes and inserts all the time: what stays must be seen exactly once. */
static void test_hash_busy(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    fill_hash(&f, 0, KEYS);
    int fd = f.kernel->maps[MAP_HASH].fd;
    pid_t child = fork();
    if (!child) {
        for (uint64_t round = 0;; round++) {
            uint64_t key = KEYS + round % 1000;
            syscall_map_update(fd, &key, &(uint64_t){0}, BPF_ANY);
            key = KEYS + (round + 500) % 1000;
            syscall_map_delete(fd, &key);
        }
    }
    for (int i = 0; i < 20; i++) {
        struct seen seen = {0};
        assert_int_equal(f.host->operations->map_each(f.host, MAP_HASH, see_hash, &seen), 0);
        assert_true(seen.keys >= KEYS && seen.keys <= 2 * KEYS);
        assert_int_equal(f.host->operations->map_zero(f.host, MAP_HASH), 0);
    }
    assert_int_equal(f.host->operations->map_clear(f.host, MAP_HASH), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    fixture_close(&f);
}

static int see_percpu(void *state, const uint8_t *key, const uint8_t *values)
{
    struct seen *seen = state;
    uint32_t words[3];
    memcpy(words, key, sizeof words);
    assert_int_equal(words[0] * 100 + words[1] * 10 + words[2], 123);
    for (unsigned cpu = 0; cpu < seen->values; cpu++) {
        memcpy(words, values + (size_t)cpu * 16, sizeof words);
        seen->sum += words[0] * 100 + words[1] * 10 + words[2];
    }
    seen->keys++;
    return 0;
}

static int see_array(void *state, const uint8_t *key, const uint8_t *values)
{
    struct seen *seen = state;
    seen->keys++;
    seen->keyless = !key;
    memcpy(&seen->sum, values, 8);
    return 0;
}

static void test_percpu(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_KEYS);
    for (size_t i = 0; i < f.kernel->online_count; i++) {
        run_on(f.kernel->online[i]);
        assert_int_equal(f.host->operations->run(f.host, PROGRAM_KEYS), 0);
    }
    run_everywhere();
    struct seen seen = {.values = f.host->features.cpus};
    assert_int_equal(f.host->operations->map_each(f.host, MAP_PERCPU, see_percpu, &seen), 0);
    assert_int_equal(seen.keys, 1);
    assert_int_equal(seen.sum, 567 * f.kernel->online_count);
    assert_int_equal(f.host->operations->map_zero(f.host, MAP_PERCPU), 0);
    seen = (struct seen){.values = f.host->features.cpus};
    assert_int_equal(f.host->operations->map_each(f.host, MAP_PERCPU, see_percpu, &seen), 0);
    assert_int_equal(seen.keys, 1);
    assert_int_equal(seen.sum, 0);
    fixture_close(&f);
}

static void test_array_and_begin(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_COUNT);
    for (int i = 0; i < 5; i++)
        assert_int_equal(f.host->operations->run(f.host, PROGRAM_COUNT), 0);
    struct seen seen = {0};
    assert_int_equal(f.host->operations->map_each(f.host, MAP_COUNT, see_array, &seen), 0);
    assert_int_equal(seen.keys, 1);
    assert_true(seen.keyless);
    assert_int_equal(seen.sum, 5);
    assert_int_equal(f.host->operations->map_clear(f.host, MAP_COUNT), 0);
    assert_int_equal(counted(&f, 0), 0);
    uint64_t value = 0;
    assert_int_equal(f.host->operations->map_lookup(f.host, MAP_CONSTANT, NULL, &value), 0);
    assert_true(value == constant);
    uint32_t zero = 0; /* frozen: not even we can change it */
    assert_int_equal(syscall_map_update(f.kernel->maps[MAP_CONSTANT].fd, &zero, &value, BPF_ANY), -EPERM);
    assert_non_null(f.host->operations->control(f.host));
    f.host->operations->control(f.host)->stop = 1;
    uint64_t control[8];
    assert_int_equal(f.host->operations->map_lookup(f.host, MAP_CONTROL, NULL, control), 0);
    assert_int_equal((uint32_t)control[0], 1);
    assert_int_equal(f.host->operations->run(f.host, PROGRAM_EVENT), -EINVAL); /* not loaded */
    assert_int_equal(f.host->operations->create_maps(f.host, &image, &f.diagnostics), -EALREADY);
    fixture_close(&f);
}

static void test_map_too_large(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    memset(&f, 0, sizeof f);
    if (arena_guard(&f.arena, f.nowhere))
        fail();
    f.diagnostics.arena = &f.arena;
    assert_int_equal(kernel_open(NULL, &f.diagnostics, &f.kernel), 0);
    f.host = kernel_host(f.kernel);
    struct image_map large[] = {maps[MAP_CONTROL], maps[MAP_EVENTS],
                                {.name = "@large", .type = BPF_MAP_TYPE_HASH, .key_size = 8,
                                 .value_size = 1 << 30, .max_entries = 1 << 30}};
    struct image other = {.maps = large, .map_count = 3, .control = 0, .events = 1, .stacks = -1};
    assert_true(f.host->operations->create_maps(f.host, &other, &f.diagnostics) < 0);
    assert_true(diagnosed(&f, "@large"));
    assert_null(f.host->operations->control(f.host));
    fixture_close(&f);
}

/* ---- rings ---- */

struct events {
    uint64_t last, count, disorder, by_cpu[1024], stop_after;
};

static int see_event(void *state, const uint8_t *record, size_t length)
{
    struct events *events = state;
    const struct image_record *header = (const void *)record;
    assert_int_equal(length, 24);
    assert_int_equal(header->action, 7);
    assert_int_equal(header->length, 24);
    uint64_t cpu;
    memcpy(&cpu, record + 16, 8);
    assert_true(cpu < 1024);
    events->by_cpu[cpu]++;
    events->disorder += header->time < events->last;
    events->last = header->time;
    return ++events->count == events->stop_after ? -ECANCELED : 0;
}

static void test_rings(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_EVENT);
    enum { ROUNDS = 300 };
    for (int i = 0; i < ROUNDS; i++) {
        run_on(f.kernel->online[(size_t)i % f.kernel->online_count]);
        assert_int_equal(f.host->operations->run(f.host, PROGRAM_EVENT), 0);
    }
    run_everywhere();
    struct events events = {.stop_after = 10};
    assert_int_equal(f.host->operations->consume(f.host, true, see_event, &events), -ECANCELED);
    assert_int_equal(events.count, 10);
    events.stop_after = 0;
    assert_int_equal(f.host->operations->consume(f.host, true, see_event, &events), ROUNDS - 10);
    assert_int_equal(events.count, ROUNDS);
    assert_int_equal(events.disorder, 0);
    assert_int_equal(f.host->operations->disorder(f.host), 0);
    if (f.kernel->online_count > 1)
        assert_true(events.by_cpu[f.kernel->online[1]] >= ROUNDS / f.kernel->online_count);
    /* Too young to be sure of its order: not before the window has passed. */
    assert_int_equal(f.host->operations->run(f.host, PROGRAM_EVENT), 0);
    int early = f.host->operations->consume(f.host, false, see_event, &events);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    int late = f.host->operations->consume(f.host, false, see_event, &events);
    assert_int_equal(early + late, 1);
    assert_true(f.host->operations->descriptor(f.host) >= 0);
    fixture_close(&f);
}

static void test_lost(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_EVENT);
    run_on(f.kernel->online[0]);
    enum { RUNS = 3000, FIT = RING / 32 };
    for (int i = 0; i < RUNS; i++)
        assert_int_equal(f.host->operations->run(f.host, PROGRAM_EVENT), 0);
    run_everywhere();
    struct events events = {0};
    int count = f.host->operations->consume(f.host, true, see_event, &events);
    assert_int_equal(count + (int)counted(&f, 1), RUNS);
    assert_true(count >= FIT - 1 && count <= FIT);
    /* And round the corner. */
    for (int round = 0; round < 10; round++) {
        run_on(f.kernel->online[0]);
        for (int i = 0; i < 700; i++)
            f.host->operations->run(f.host, PROGRAM_EVENT);
        assert_int_equal(f.host->operations->consume(f.host, true, see_event, &events), 700);
    }
    run_everywhere();
    fixture_close(&f);
}

/* Rings in our own memory, with whatever in them. */
enum { FAKE = 4096, FAKES = 3 };
struct fakes {
    struct kernel kernel;
    struct ring rings[FAKES];
    unsigned long consumer[FAKES], producer[FAKES];
    uint8_t data[FAKES][2 * FAKE];
    uint64_t out[64];
    size_t count;
};

static void fakes_open(struct fakes *fakes, uint32_t count)
{
    memset(fakes, 0, sizeof *fakes);
    fakes->kernel.rings = (struct rings){.items = fakes->rings, .count = count};
    for (uint32_t i = 0; i < count; i++)
        fakes->rings[i] = (struct ring){.size = FAKE, .consumer = &fakes->consumer[i],
                                        .producer = &fakes->producer[i], .data = fakes->data[i]};
}

static uint32_t *fake_put(struct fakes *fakes, int ring, uint32_t header, uint64_t time)
{
    uint8_t *at = fakes->data[ring] + fakes->producer[ring];
    memcpy(at, &header, 4);
    memcpy(at + 8, &time, 8);
    fakes->producer[ring] += ((header & 0x3fffffff) + 15) & ~7UL;
    return (uint32_t *)(void *)at;
}

static int see_fake(void *state, const uint8_t *record, size_t length)
{
    struct fakes *fakes = state;
    (void)length;
    memcpy(&fakes->out[fakes->count++], record, 8);
    return 0;
}

static uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void test_merge(void **state)
{
    (void)state;
    static struct fakes fakes;
    fakes_open(&fakes, FAKES);
    static const uint64_t times[][4] = {{5, 7, 9, 30}, {6, 8, 20, 21}, {1, 22, 23, 24}};
    for (int ring = 0; ring < FAKES; ring++)
        for (int i = 0; i < 4; i++) {
            fake_put(&fakes, ring, 16, times[ring][i]);
            fake_put(&fakes, ring, 1U << 30 | 24, 2); /* discarded */
        }
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 12);
    for (size_t i = 1; i < 12; i++)
        assert_true(fakes.out[i - 1] <= fakes.out[i]);
    for (int ring = 0; ring < FAKES; ring++)
        assert_int_equal(fakes.consumer[ring], fakes.producer[ring]);
    assert_int_equal(fakes.kernel.rings.disorder, 0);
    fake_put(&fakes, 0, 16, 3);
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 1);
    assert_int_equal(fakes.kernel.rings.disorder, 1);
}

static void test_merge_waits(void **state)
{
    (void)state;
    static struct fakes fakes;
    fakes_open(&fakes, 2);
    uint64_t now = clock_now();
    /* Old enough: nothing older can come. Young: something may. */
    fake_put(&fakes, 0, 16, now - 1000000000);
    fake_put(&fakes, 0, 16, now + 1000000000);
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 1);
    /* The other ring shows something later: then the young one is sure, the later one not. */
    fake_put(&fakes, 1, 16, now + 1500000000);
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 1);
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 0);
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 1);
}

static void test_merge_busy(void **state)
{
    (void)state;
    static struct fakes fakes;
    fakes_open(&fakes, 2);
    uint64_t now = clock_now();
    uint32_t *busy = fake_put(&fakes, 0, 1U << 31 | 16, now);
    fake_put(&fakes, 0, 16, now + 1);
    fake_put(&fakes, 1, 16, now + 2);
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 0);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* the others wait for it … */
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 0);
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL); /* … but not for ever */
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 1);
    assert_int_equal(fakes.out[0], now + 2);
    *busy &= 0x7fffffff;
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 2);
    assert_int_equal(fakes.kernel.rings.disorder, 2);
    /* And a drain takes what it can at once. */
    fake_put(&fakes, 0, 1U << 31 | 16, now + 3);
    fake_put(&fakes, 1, 16, now + 4);
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 1);
}

static void test_ring_hostile(void **state)
{
    (void)state;
    static struct fakes fakes;
    fakes_open(&fakes, 1);
    fake_put(&fakes, 0, 3, 1);                 /* shorter than a record's head */
    fake_put(&fakes, 0, 16, 2);
    uint32_t *wrong = fake_put(&fakes, 0, 16, 3);
    *wrong = 0x3fffffff; /* longer than the ring */
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 2);
    assert_int_equal(fakes.out[0], 2);
}

/* ---- refusals ---- */

static void test_refusal(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    assert_true(f.host->operations->load(f.host, &image, PROGRAM_BAD, &f.diagnostics) < 0);
    assert_int_equal(f.diagnostics.count, 1);
    assert_int_equal(f.diagnostics.items[0].place.begin, 20);
    assert_int_equal(source_position(&source, f.diagnostics.items[0].place.begin).line, 3);
    assert_true(diagnosed(&f, "invalid mem access"));
    assert_non_null(f.diagnostics.items[0].hint);
    fixture_close(&f);
}

static void test_refusal_texts(void **state)
{
    (void)state;
    static const struct {
        const char *log, *message, *hint;
        uint32_t begin;
    } cases[] = {
        {"0: R1=ctx() R10=fp0\n; x @ stdin:2\n0: (b7) r0 = 0\n2: (79) r2 = *(u64 *)(r1 +0)\nR1 invalid mem access "
         "'scalar'\nprocessed 3 insns (limit 1000000)\n",
         "invalid mem access 'scalar'", "compiler", 20},
        {"back-edge from insn 4 to 3\nprocessed 0 insns\n", "back-edge", "unroll", 28},
        {"BPF program is too large. Processed 1000001 insn\nprocessed 1000001 insns\n", "too large", "loop", 10},
        {"1: (85) call bpf_loop#181\nunknown func bpf_loop#181\n", "unknown func", "--info", 10},
        {"1: (85) call x", NULL, NULL, 10},
        {"", NULL, NULL, 0},
        {"999999999999999999999: (", "999999", "", 0},
        {"\n\n:\n: \n12:", "12:", "", 0},
    };
    struct arena arena = {0};
    jmp_buf nowhere;
    if (arena_guard(&arena, nowhere))
        fail();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct diagnostics diagnostics = {.arena = &arena};
        refusal_explain(&diagnostics, &programs[PROGRAM_BAD], -EINVAL, cases[i].log);
        assert_int_equal(diagnostics.count, 1);
        if (cases[i].message)
            assert_non_null(strstr(diagnostics.items[0].message, cases[i].message));
        if (cases[i].hint)
            assert_non_null(strstr(diagnostics.items[0].hint, cases[i].hint));
        if (cases[i].begin)
            assert_int_equal(diagnostics.items[0].place.begin, cases[i].begin);
    }
    arena_free(&arena);
}

/* ---- attaching ---- */

static void test_raw_tracepoint(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_COUNT);
    struct attach_request request = request_of(&f, PROGRAM_COUNT);
    double before = milliseconds();
    assert_int_equal(kernel_attach_raw_tracepoint(f.kernel, &request, "sys_enter"), 0);
    double attached = milliseconds();
    getppid();
    assert_true(counted(&f, 0) > 0);
    printf("          raw tracepoint: attached in %.2f ms\n", attached - before);
    assert_int_equal(kernel_attached(f.kernel), 1);
    assert_int_equal(kernel_attach_raw_tracepoint(f.kernel, &request, "no_such_event"), -ENOENT);
    assert_true(diagnosed(&f, "no_such_event"));
    assert_int_equal(kernel_attached(f.kernel), 1);
    request.program = PROGRAM_EVENT;
    assert_int_equal(kernel_attach_raw_tracepoint(f.kernel, &request, "sys_enter"), -EINVAL);
    fixture_close(&f);
}

static uint32_t event_id(const char *subsystem, const char *event)
{
    struct tracefs *tracefs;
    uint32_t id = 0;
    assert_int_equal(tracefs_open(&tracefs), 0);
    tracefs_event_id(tracefs, subsystem, event, &id);
    tracefs_close(tracefs);
    return id; /* 0: this kernel does not have it */
}

static void test_tracepoint(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_TRACEPOINT);
    struct attach_request request = request_of(&f, PROGRAM_TRACEPOINT);
    assert_int_equal(
        kernel_attach_tracepoint(f.kernel, &request, event_id("syscalls", "sys_enter_getppid")), 0);
    for (int i = 0; i < 10; i++)
        getppid();
    assert_int_equal(counted(&f, 0), 10);
    assert_true(kernel_attach_tracepoint(f.kernel, &request, 1 << 30) < 0);
    assert_true(diagnosed(&f, "no such tracepoint"));
    fixture_close(&f);
}

static void test_perf_event(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_PERF);
    struct attach_request request = request_of(&f, PROGRAM_PERF);
    struct perf_event_attr clock = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
                                    .sample_period = 1000000};
    assert_int_equal(kernel_attach_perf_event(f.kernel, &request, &clock, -1, -1), 0);
    for (double until = milliseconds() + 100; milliseconds() < until;)
        ;
    uint64_t all = counted(&f, 0);
    assert_true(all >= 20);
    clock.freq = 1;
    clock.sample_freq = 1U << 30;
    assert_int_equal(kernel_attach_perf_event(f.kernel, &request, &clock, -1, -1), -EINVAL);
    clock.sample_freq = 99;
    assert_int_equal(kernel_attach_perf_event(f.kernel, &request, &clock, 0x3ffffff, -1), -ESRCH);
    assert_int_equal(kernel_attach_perf_event(f.kernel, &request, &clock, getpid(), -1), 0);
    struct text text = {0};
    kernel_describe_attachments(f.kernel, &text);
    assert_non_null(strstr(text_string(&text), "perf_event"));
    text_free(&text);
    fixture_close(&f);
}

/* ---- uprobes on this test ---- */

#define TARGET(n)                                                                                            \
    __attribute__((noinline, noclone, used)) static void target_##n(void)                                    \
    {                                                                                                        \
        __asm__ volatile("nop; nop" ::"i"(n) : "memory");                                                    \
    }
#define TEN(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define FIFTY(X) TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5)
FIFTY(TARGET)
#define NAME(n) target_##n,
static void (*const targets[])(void) = {FIFTY(NAME)};
enum { TARGETS = COUNT_OF(targets) };
__attribute__((section(".spoor_test"), used)) static volatile uint16_t semaphores[2] = {0, 0};

__attribute__((noinline, noclone, used)) static void target_locked(void)
{
#if defined(__x86_64__)
    static int word;
    __asm__ volatile("lock incl %0" : "+m"(word));
#endif
}

static char self[4096];

/* Where an address of ours is in our file. */
static uint64_t file_offset(const void *address)
{
    FILE *maps_file = fopen("/proc/self/maps", "r");
    char line[4600];
    uint64_t answer = 0;
    while (fgets(line, sizeof line, maps_file)) {
        unsigned long start, end, offset;
        if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && (uintptr_t)address >= start &&
            (uintptr_t)address < end)
            answer = (uintptr_t)address - start + offset;
    }
    fclose(maps_file);
    assert_true(answer > 0);
    return answer;
}

static void sites_of_self(struct uprobe_site sites[TARGETS])
{
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = 0;
    for (size_t i = 0; i < TARGETS; i++)
        sites[i] = (struct uprobe_site){.offset = file_offset((const void *)(uintptr_t)targets[i]),
                                        .cookie = i / 25};
}

static void call_targets(size_t count)
{
    for (size_t i = 0; i < count; i++)
        targets[i]();
}

static void try_rung(const char *without, size_t count, size_t program, bool is_return, const char *rung)
{
    struct fixture f;
    struct uprobe_site sites[TARGETS];
    sites_of_self(sites);
    sites[0].semaphore = file_offset((const void *)&semaphores[0]);
    if (count > 1)
        sites[1].semaphore = file_offset((const void *)&semaphores[1]);
    fixture_open(&f, without);
    load(&f, program);
    struct attach_request request = request_of(&f, program);
    double start = milliseconds();
    int error = kernel_attach_uprobes(f.kernel, &request, self, sites, count, is_return, 0);
    double attached = milliseconds();
    if (error)
        fixture_print(&f);
    assert_int_equal(error, 0);
    assert_int_equal(semaphores[0], 1);
    assert_int_equal(semaphores[1], count > 1);
    call_targets(TARGETS);
    assert_int_equal(counted(&f, 0), count);
    struct text text = {0};
    kernel_describe_attachments(f.kernel, &text);
    assert_non_null(strstr(text_string(&text), rung));
    text_free(&text);
    double closing = milliseconds();
    fixture_close(&f);
    printf("          %-14s %2zu site%s%s: attached in %6.2f ms, closed in %7.2f ms\n", rung, count,
           count == 1 ? " " : "s", is_return ? " (return)" : "", attached - start, milliseconds() - closing);
    assert_int_equal(semaphores[0], 0);
    assert_int_equal(semaphores[1], 0);
}

static size_t events_left(void)
{
    struct tracefs *tracefs;
    struct text text = {0};
    size_t count = 0;
    char ours[64];
    assert_int_equal(tracefs_open(&tracefs), 0);
    tracefs_read(tracefs, "uprobe_events", &text);
    snprintf(ours, sizeof ours, "spoor_%d_", (int)getpid());
    for (const char *at = text_string(&text); (at = strstr(at, ours)); at++)
        count++;
    text_free(&text);
    tracefs_close(tracefs);
    return count;
}

static void test_uprobe_rungs(void **state)
{
    (void)state;
    NEED_ROOT();
    struct features features;
    assert_int_equal(features_probe(&features), 0);
    if (features.uprobe_multi) {
        try_rung(NULL, 1, PROGRAM_PROBE, false, "uprobe_multi");
        try_rung(NULL, TARGETS, PROGRAM_PROBE, false, "uprobe_multi");
        try_rung(NULL, TARGETS, PROGRAM_PROBE_SLEEPABLE, false, "uprobe_multi");
        try_rung(NULL, TARGETS, PROGRAM_PROBE, true, "uprobe_multi");
    }
    try_rung("uprobe_multi", 1, PROGRAM_PROBE, false, "uprobe events");
    try_rung("uprobe_multi,trace_events", 5, PROGRAM_PROBE, true, "uprobe events");
    try_rung("uprobe_multi,trace_events,perf_link", 3, PROGRAM_PROBE_SLEEPABLE, false, "uprobe events");
    try_rung("uprobe_multi", TARGETS, PROGRAM_PROBE, false, "uprobe_events 25 sites");
    try_rung("uprobe_multi,attach_cookie", TARGETS, PROGRAM_PROBE, false, "uprobe_events 50 sites");
    try_rung("uprobe_multi,attach_cookie", TARGETS, PROGRAM_PROBE_SLEEPABLE, true, "uprobe_events 50 sites");
    try_rung("uprobe_multi,perf_link,probe_pmu", 1, PROGRAM_PROBE, false, "uprobe_events 1 site");
    assert_int_equal(events_left(), 0);
}

/* 50 separate events take seconds to close: that is why the rung is the last. Only on request. */
static void test_uprobe_slow_rung(void **state)
{
    (void)state;
    NEED_ROOT();
    if (!getenv("SLOW")) {
        printf("          (skipped: takes 6 s; set SLOW=1)\n");
        skip();
    }
    try_rung("uprobe_multi,trace_events", TARGETS, PROGRAM_PROBE, false, "uprobe events");
}

static void test_uprobe_pid(void **state)
{
    (void)state;
    NEED_ROOT();
    static const char *const rungs[] = {NULL, "uprobe_multi", "uprobe_multi,probe_pmu"};
    struct uprobe_site sites[TARGETS];
    sites_of_self(sites);
    for (size_t i = 0; i < COUNT_OF(rungs); i++) {
        struct fixture f;
        fixture_open(&f, rungs[i]);
        load(&f, PROGRAM_PROBE);
        int go[2];
        assert_int_equal(pipe(go), 0);
        pid_t child = fork();
        if (!child) {
            char byte;
            if (read(go[0], &byte, 1) == 1)
                call_targets(7);
            _exit(0);
        }
        struct attach_request request = request_of(&f, PROGRAM_PROBE);
        int error = kernel_attach_uprobes(f.kernel, &request, self, sites, 20, false, child);
        if (error)
            fixture_print(&f);
        assert_int_equal(error, 0);
        call_targets(TARGETS);
        assert_int_equal(counted(&f, 0), 0);
        assert_int_equal(write(go[1], "x", 1), 1);
        waitpid(child, NULL, 0);
        assert_int_equal(counted(&f, 0), 7);
        error = kernel_attach_uprobes(f.kernel, &request, self, sites, 1, false, 0x3ffffff);
        assert_int_equal(error, -ESRCH);
        assert_true(diagnosed(&f, "no process"));
        close(go[0]);
        close(go[1]);
        fixture_close(&f);
    }
    assert_int_equal(events_left(), 0);
}

/* A path that cannot stand in a line of tracefs. */
static void test_uprobe_path(void **state)
{
    (void)state;
    NEED_ROOT();
    struct uprobe_site sites[TARGETS];
    sites_of_self(sites);
    char name[64];
    snprintf(name, sizeof name, "/tmp/a b:c#%d\"", (int)getpid());
    unlink(name);
    if (link(self, name) && symlink(self, name))
        fail();
    struct fixture f;
    fixture_open(&f, "uprobe_multi,probe_pmu");
    load(&f, PROGRAM_PROBE);
    struct attach_request request = request_of(&f, PROGRAM_PROBE);
    int error = kernel_attach_uprobes(f.kernel, &request, name, sites, 3, false, 0);
    if (error)
        fixture_print(&f);
    unlink(name);
    assert_int_equal(error, 0);
    call_targets(3);
    assert_int_equal(counted(&f, 0), 3);
    fixture_close(&f);
}

static int cancel(void *state, size_t done, size_t total)
{
    (void)done;
    (void)total;
    ++*(int *)state;
    return 1;
}

static void test_uprobe_bad(void **state)
{
    (void)state;
    NEED_ROOT();
    static const char *const rungs[] = {NULL, "uprobe_multi", "uprobe_multi,attach_cookie",
                                        "uprobe_multi,trace_events"};
    for (size_t i = 0; i < COUNT_OF(rungs); i++) {
        struct fixture f;
        struct uprobe_site sites[TARGETS];
        sites_of_self(sites);
        fixture_open(&f, rungs[i]);
        load(&f, PROGRAM_PROBE);
        struct attach_request request = request_of(&f, PROGRAM_PROBE);
        size_t count = i == 3 ? 3 : 6;

        sites[2].name = "beyond the end";
        sites[2].offset = 1UL << 40;
        assert_int_equal(kernel_attach_uprobes(f.kernel, &request, self, sites, count, false, 0), -EINVAL);
        assert_true(diagnosed(&f, "beyond the end"));
#if defined(__x86_64__)
        sites[2].name = "the locked one";
        const uint8_t *code = (const uint8_t *)(uintptr_t)target_locked;
        while (*code != 0xf0)
            code++;
        sites[2].offset = file_offset(code);
        assert_int_equal(kernel_attach_uprobes(f.kernel, &request, self, sites, count, false, 0), -EOPNOTSUPP);
        assert_true(diagnosed(&f, "the locked one"));
#endif
        /* What only the kernel knows: one place, two semaphores. */
        sites[1].semaphore = file_offset((const void *)&semaphores[0]);
        sites[2] = sites[1];
        sites[2].semaphore = file_offset((const void *)&semaphores[1]);
        sites[2].name = "the other semaphore";
        int error = kernel_attach_uprobes(f.kernel, &request, self, sites, count, false, 0);
        assert_int_equal(error, -EINVAL);
        assert_true(diagnosed(&f, "the other semaphore"));

        assert_int_equal(kernel_attached(f.kernel), 0);
        call_targets(TARGETS);
        assert_int_equal(counted(&f, 0), 0);

        int calls = 0;
        request.progress = cancel;
        request.state = &calls;
        sites_of_self(sites);
        if (i == 0 || i == 3) {
            assert_int_equal(kernel_attach_uprobes(f.kernel, &request, self, sites, count, false, 0), -EINTR);
            assert_int_equal(calls, 1);
            assert_int_equal(kernel_attached(f.kernel), 0);
        }
        assert_int_equal(kernel_attach_uprobes(f.kernel, &request, "/no/such/file", sites, 1, false, 0), -ENOENT);
        assert_int_equal(kernel_attach_uprobes(f.kernel, &request, "/", sites, 1, false, 0), -EINVAL);
        fixture_close(&f);
    }
    assert_int_equal(events_left(), 0);
}

static void test_kprobe(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_PROBE);
    struct attach_request request = request_of(&f, PROGRAM_PROBE);
    struct kprobe_site site = {.symbol = "spoor_no_such_function"};
    assert_true(kernel_attach_kprobes(f.kernel, &request, &site, 1, false) < 0);
    assert_true(f.diagnostics.errors == 1);
    if (!f.host->features.kprobe)
        assert_true(diagnosed(&f, "no kprobes"));
    fixture_close(&f);
}

/* ---- leaving ---- */

static bool is_leaving(void)
{
    DIR *directory = opendir("/proc");
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(directory));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
        int fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        found = read(fd, name, sizeof name - 1) > 0 && !strncmp(name, "spoor-leaving", 13);
        close(fd);
    }
    closedir(directory);
    return found;
}

static void test_leave(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    struct uprobe_site sites[TARGETS];
    sites_of_self(sites);
    for (size_t i = 0; i < TARGETS; i++)
        sites[i].semaphore = file_offset((const void *)&semaphores[i % 2]);
    static const char *const events[] = {"getppid", "getpid", "gettid", "getuid", "geteuid", "getgid", "getegid",
                                         "getpgid", "getsid", "umask", "sync", "chroot", "uselib", "mkdir", "rmdir",
                                         "link", "symlink", "rename", "flock", "pause"};
    fixture_open(&f, "uprobe_multi");
    load(&f, PROGRAM_PROBE);
    load(&f, PROGRAM_TRACEPOINT);
    struct attach_request request = request_of(&f, PROGRAM_TRACEPOINT);
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        char name[64];
        snprintf(name, sizeof name, "sys_enter_%s", events[i]);
        uint32_t id = event_id("syscalls", name);
        if (id)
            assert_int_equal(kernel_attach_tracepoint(f.kernel, &request, id), 0);
    }
    request.program = PROGRAM_PROBE;
    assert_int_equal(kernel_attach_uprobes(f.kernel, &request, self, sites, TARGETS, false, 0), 0);
    assert_true(events_left() > 0);
    int pipes[2]; /* as the user's `spoor | less`: ends when we end */
    assert_int_equal(pipe(pipes), 0);
    double start = milliseconds();
    kernel_leave(f.kernel);
    double left = milliseconds();
    assert_int_equal(kernel_attached(f.kernel), 0);
    fixture_close(&f);
    printf("          20 tracepoints and 50 uprobes: left in %.2f ms, closed in %.2f ms\n", left - start,
           milliseconds() - left);
    close(pipes[1]);
    char byte;
    start = milliseconds();
    assert_int_equal(read(pipes[0], &byte, 1), 0);
    assert_true(milliseconds() - start < 500);
    close(pipes[0]);
    while (is_leaving() && milliseconds() < start + 20000)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    printf("          all gone after %.0f ms\n", milliseconds() - start);
    assert_false(is_leaving());
    assert_int_equal(semaphores[0], 0);
    assert_int_equal(semaphores[1], 0);
    assert_int_equal(events_left(), 0);
}

/* What a killed process leaves is removed by the next. */
static void test_sweep(void **state)
{
    (void)state;
    NEED_ROOT();
    struct uprobe_site sites[TARGETS];
    sites_of_self(sites);
    pid_t child = fork();
    if (!child) {
        struct fixture f;
        fixture_open(&f, "uprobe_multi");
        load(&f, PROGRAM_PROBE);
        struct attach_request request = request_of(&f, PROGRAM_PROBE);
        kernel_attach_uprobes(f.kernel, &request, self, sites, 5, false, 0);
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
    char group[64];
    snprintf(group, sizeof group, "spoor_%d_", (int)child);
    struct fixture f;
    fixture_open(&f, "uprobe_multi");
    assert_int_equal(trace_events_open(f.kernel), 0);
    struct text text = {0};
    assert_int_equal(tracefs_read(f.kernel->tracefs, "uprobe_events", &text), 0);
    assert_null(strstr(text_string(&text), group));
    text_free(&text);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_waits),
        cmocka_unit_test(test_merge_busy),
        cmocka_unit_test(test_ring_hostile),
        cmocka_unit_test(test_refusal_texts),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_without_capabilities),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_hash_busy),
        cmocka_unit_test(test_percpu),
        cmocka_unit_test(test_array_and_begin),
        cmocka_unit_test(test_map_too_large),
        cmocka_unit_test(test_rings),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_raw_tracepoint),
        cmocka_unit_test(test_tracepoint),
        cmocka_unit_test(test_perf_event),
        cmocka_unit_test(test_uprobe_rungs),
        cmocka_unit_test(test_uprobe_slow_rung),
        cmocka_unit_test(test_uprobe_pid),
        cmocka_unit_test(test_uprobe_path),
        cmocka_unit_test(test_uprobe_bad),
        cmocka_unit_test(test_kprobe),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
