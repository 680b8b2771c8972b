/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the kernel host against the running kernel: features, maps, rings and refusals. What needs root is
 * skipped without it; the texts are tested on this process's memory, the merging of rings in ring_test.c. Attaching is tested
 * in attach_test.c. */
#include "kernel_fixture.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

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
        assert_int_equal(
            syscall_map_update(f->kernel->maps[MAP_HASH].fd, &key, &(uint64_t){key + 1}, BPF_ANY), 0);
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

/* Another process deletes and inserts all the time: the elements that stay must be seen exactly once. */
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
        prctl(PR_SET_PDEATHSIG, SIGKILL);
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
    uint32_t zero = 0; /* the map is frozen: even this process cannot change it */
    assert_int_equal(syscall_map_update(f.kernel->maps[MAP_CONSTANT].fd, &zero, &value, BPF_ANY), -EPERM);
    assert_non_null(f.host->operations->control(f.host));
    f.host->operations->control(f.host)->stop = 1;
    struct image_control control;
    assert_int_equal(f.host->operations->map_lookup(f.host, MAP_CONTROL, NULL, &control), 0);
    assert_int_equal(control.stop, 1);
    assert_int_equal(f.host->operations->run(f.host, PROGRAM_EVENT), -EINVAL); /* not loaded */
    assert_int_equal(f.host->operations->create_maps(f.host, &image, &f.diagnostics), -EALREADY);
    fixture_close(&f);
}

static void test_map_too_large(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open_bare(&f, NULL);
    struct image_map large[] = {maps[MAP_CONTROL],
                                maps[MAP_EVENTS],
                                {.name = "@large",
                                 .type = BPF_MAP_TYPE_HASH,
                                 .key_size = 8,
                                 .value_size = 1 << 30,
                                 .max_entries = 1 << 30}};
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
    /* A young record's order is not certain yet: it is not delivered before the window has passed. */
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
    /* Records also wrap around the end of the ring. */
    for (int round = 0; round < 10; round++) {
        run_on(f.kernel->online[0]);
        for (int i = 0; i < 700; i++)
            f.host->operations->run(f.host, PROGRAM_EVENT);
        assert_int_equal(f.host->operations->consume(f.host, true, see_event, &events), 700);
    }
    run_everywhere();
    fixture_close(&f);
}

/* Where there are many CPUs their rings begin small. One that fills to the half is replaced by a large one, and nothing is
 * lost meanwhile, nor out of order. */
static void test_rings_grow(void **state)
{
    (void)state;
    NEED_ROOT();
    enum { LARGE = 16, HALF = RING / 32 * 3 / 4, MANY = RING / 32 * LARGE * 3 / 4 };
    struct fixture f;
    fixture_open_bare(&f, NULL);
    struct image_map larger[MAPS];
    memcpy(larger, maps, sizeof larger);
    larger[MAP_EVENTS].value_size = RING * LARGE;
    struct image mine = image;
    mine.maps = larger;
    mine.map_count -= !f.host->features.task_storage;
    f.kernel->ring_budget = 1;
    assert_int_equal(f.host->operations->create_maps(f.host, &mine, &f.diagnostics), 0);
    load(&f, PROGRAM_EVENT);
    const struct rings *rings = &f.kernel->rings;
    const uint32_t before = rings->count;
    struct events events = {0};
    for (uint32_t i = 0; i < before; i++)
        assert_int_equal(rings->items[i].size, RING);
    run_on(f.kernel->online[0]);
    uint64_t runs = 0;
    for (; runs < HALF; runs++)
        assert_int_equal(f.host->operations->run(f.host, PROGRAM_EVENT), 0);
    assert_int_equal(f.host->operations->consume(f.host, true, see_event, &events), HALF);
    assert_int_equal(rings->count, before + 1);
    assert_int_equal(rings->items[before].size, RING * LARGE);
    for (int i = 0; i < 10000 && !*rings->items[before].producer; i++, runs++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_int_equal(f.host->operations->run(f.host, PROGRAM_EVENT), 0);
    }
    for (uint64_t end = runs + MANY; runs < end; runs++)
        f.host->operations->run(f.host, PROGRAM_EVENT);
    run_everywhere();
    f.host->operations->consume(f.host, true, see_event, &events);
    assert_int_equal(counted(&f, 1), 0);
    assert_int_equal(events.count, runs);
    assert_int_equal(events.disorder, 0);
    assert_int_equal(f.host->operations->disorder(f.host), 0);
    assert_int_equal(rings->count, before + 1);
    fixture_close(&f);
}

/* One ring for all CPUs, as sleepable programs get where they may not use an array of rings. Its records have no
 * times. */
static void test_single_ring(void **state)
{
    (void)state;
    NEED_ROOT();
    static struct bpf_insn code[] = {
        STORE_IMM(BPF_DW, 10, -24, 0),
        STORE_IMM(BPF_DW, 10, -16, 7),
        STORE_IMM(BPF_DW, 10, -8, 3),
        LOAD64(1),
        COPY(2, 10),
        ADD(2, -24),
        MOV(3, 24),
        MOV(4, 0),
        HELPER(130),
        MOV(0, 0),
        EXIT,
    };
    static struct image_relocation relocations[] = {{3, RELOCATION_MAP, 0}};
    struct image_map ring = {.name = "events", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = RING};
    struct image_program program = {.name = "one ring",
                                    PROGRAM(BPF_PROG_TYPE_RAW_TRACEPOINT, code, relocations)};
    struct image one = {.maps = &ring,
                        .map_count = 1,
                        .programs = &program,
                        .program_count = 1,
                        .control = -1,
                        .stacks = -1,
                        .events_shared = -1,
                        .events_own = -1};
    struct fixture f;
    fixture_open_bare(&f, NULL);
    assert_int_equal(f.host->operations->create_maps(f.host, &one, &f.diagnostics), 0);
    assert_int_equal(f.host->operations->load(f.host, &one, 0, &f.diagnostics), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(f.host->operations->run(f.host, 0), 0);
    /* The program asked for a wake-up, so the descriptor becomes readable. */
    struct pollfd ready = {.fd = f.host->operations->descriptor(f.host), .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 1000), 1);
    struct events events = {0};
    assert_int_equal(f.host->operations->consume(f.host, false, see_event, &events), 5);
    assert_int_equal(f.host->operations->consume(f.host, false, see_event, &events), 0);
    assert_int_equal(poll(&ready, 1, 0), 0);
    assert_int_equal(f.host->operations->disorder(f.host), 0);
    fixture_close(&f);
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
    assert_int_equal(f.diagnostics.items[0].span.begin, 20);
    assert_int_equal(source_position(&source, f.diagnostics.items[0].span.begin).line, 3);
    assert_true(diagnosed(&f, "invalid mem access"));
    assert_non_null(f.diagnostics.items[0].hint);
    assert_null(kernel_log(f.kernel, PROGRAM_BAD));
    fixture_close(&f);

    /* A log is kept on request, even when its first buffer was far too small, and contains the script's lines. */
    fixture_open_with(&f, &(struct kernel_options){.verbose = 1, .log_size = 128});
    load(&f, PROGRAM_COUNT);
    assert_non_null(strstr(kernel_log(f.kernel, PROGRAM_COUNT), "processed"));
    assert_true(f.host->operations->load(f.host, &image, PROGRAM_BAD, &f.diagnostics) < 0);
    assert_non_null(strstr(kernel_log(f.kernel, PROGRAM_BAD), "@y = *0"));
    assert_int_equal(f.diagnostics.items[0].span.begin, 20);
    assert_null(kernel_log(f.kernel, PROGRAMS));
    fixture_close(&f);
}

static void test_refusal_texts(void **state)
{
    (void)state;
    static const struct {
        const char *log, *message, *hint;
        uint32_t begin;
    } cases[] = {
        {"0: R1=ctx() R10=fp0\n; x @ stdin:2\n0: (b7) r0 = 0\n2: (79) r2 = *(u64 *)(r1 +0)\nR1 invalid mem "
         "access "
         "'scalar'\nprocessed 3 insns (limit 1000000)\n",
         "invalid mem access 'scalar'", "compiler", 20},
        {"back-edge from insn 4 to 3\nprocessed 0 insns\n", "back-edge", "unroll", 28},
        {"BPF program is too large. Processed 1000001 insn\nprocessed 1000001 insns\n", "too large", "loop",
         10},
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
            assert_int_equal(diagnostics.items[0].span.begin, cases[i].begin);
    }
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without),       cmocka_unit_test(test_refusal_texts),
        cmocka_unit_test(test_open),          cmocka_unit_test(test_without_capabilities),
        cmocka_unit_test(test_hash),          cmocka_unit_test(test_hash_busy),
        cmocka_unit_test(test_percpu),        cmocka_unit_test(test_array_and_begin),
        cmocka_unit_test(test_map_too_large), cmocka_unit_test(test_rings),
        cmocka_unit_test(test_lost),          cmocka_unit_test(test_rings_grow),
        cmocka_unit_test(test_single_ring),   cmocka_unit_test(test_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
