/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of attaching and detaching against the running kernel, with every strategy, on this test program itself. */
#include "kernel_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "sym/kernel/btf.h"
#include "sym/kernel/tracefs.h"

/* ---- attaching ---- */

/* Skips where a task that died in the kernel holds the kernel's event lock: whatever takes the lock would hang. */
static void need_tracing(void)
{
    static int error = 1;
    struct tracefs *tracefs;
    if (error == 1 && !(error = tracefs_open(&tracefs)))
        tracefs_close(tracefs);
    if (error == -EDEADLK) {
        print_message("SKIPPED: %s\n", tracefs_problem(error));
        skip();
    }
}

/* Skips outside of a guest: many sites in one event of tracefs can crash a kernel (trace_events.c). */
static void need_own_machine(void)
{
    need_tracing();
    if (!getenv("SPOOR_GUEST")) {
        print_message("SKIPPED: needs a machine of its own: make check-kernels\n");
        skip();
    }
}

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

/* The program names its hook by a BTF type: the kernel attaches it there. */
static void test_tp_btf(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    struct btf_file *btf = NULL;
    struct btf_prototype hook;
    if (!f.host->features.tp_btf || btf_file_open(NULL, NULL, &f.arena, &btf)) {
        fixture_close(&f);
        skip();
    }
    assert_int_equal(btf_file_tracepoint(btf, "sys_enter", &hook), 0);
    btf_file_close(btf);
    struct image_program typed = programs[PROGRAM_COUNT];
    typed.type = BPF_PROG_TYPE_TRACING;
    typed.expected_attach_type = BPF_TRACE_RAW_TP;
    typed.attach_btf_id = hook.id;
    struct image one = image;
    one.programs = &typed;
    one.program_count = 1;
    int error = f.host->operations->load(f.host, &one, 0, &f.diagnostics);
    if (error)
        fixture_print(&f);
    assert_int_equal(error, 0);
    struct attach_request request = request_of(&f, 0);
    assert_int_equal(kernel_attach_raw_tracepoint(f.kernel, &request, "sys_enter"), 0);
    syscall(SYS_getppid);
    assert_true(counted(&f, 0) > 0);
    fixture_close(&f);
}

struct order {
    uint64_t last, count, backwards;
    unsigned cpus;
};

static int see_order(void *state, const uint8_t *record, size_t length)
{
    struct order *order = state;
    uint64_t time, cpu;
    assert_int_equal(length, 24);
    memcpy(&time, record, 8);
    memcpy(&cpu, record + 16, 8);
    order->backwards += time < order->last;
    order->last = time;
    order->count++;
    order->cpus |= 1U << cpu % 32;
    return 0;
}

/* All CPUs make system calls at the same time; the records arrive in order nevertheless. */
static void test_order(void **state)
{
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_EVENT);
    struct attach_request request = request_of(&f, PROGRAM_EVENT);
    assert_int_equal(kernel_attach_raw_tracepoint(f.kernel, &request, "sys_enter"), 0);
    pid_t children[8];
    size_t count = f.kernel->online_count < 8 ? f.kernel->online_count : 8;
    for (size_t i = 0; i < count; i++) {
        children[i] = fork();
        if (!children[i]) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            run_on(f.kernel->online[i]);
            for (;;) {
                for (int k = 0; k < 50; k++)
                    syscall(SYS_getppid);
                nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
            }
        }
    }
    struct order order = {0};
    for (double until = milliseconds() + 300; milliseconds() < until;) {
        assert_true(f.host->operations->consume(f.host, false, see_order, &order) >= 0);
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    printf("          %llu events, %llu lost, %llu backwards\n", (unsigned long long)order.count,
           (unsigned long long)counted(&f, 1), (unsigned long long)order.backwards);
    assert_true(order.count > 100);
    /* A child that was stopped for longer than the window, between reading the clock and writing the record, may be
     * late: that is noticed and counted. */
    assert_int_equal(order.backwards, f.host->operations->disorder(f.host));
    assert_true(order.backwards <= order.count / 1000);
    if (count > 1)
        assert_true(order.cpus & (order.cpus - 1));
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
    need_tracing();
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_TRACEPOINT);
    struct attach_request request = request_of(&f, PROGRAM_TRACEPOINT);
    assert_int_equal(kernel_attach_tracepoint(f.kernel, &request, event_id("syscalls", "sys_enter_tee")), 0);
    for (int i = 0; i < 10; i++)
        tee(-1, -1, 0, 0); /* a system call that no other process makes, for those of all are counted */
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
    struct perf_event_attr clock = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1000000};
    assert_int_equal(kernel_attach_perf_event(f.kernel, &request, &clock, -1), 0);
    for (double until = milliseconds() + 100; milliseconds() < until;)
        ;
    uint64_t all = counted(&f, 0);
    assert_true(all >= 20);
    clock.freq = 1;
    clock.sample_freq = 1U << 30;
    assert_int_equal(kernel_attach_perf_event(f.kernel, &request, &clock, -1), -EINVAL);
    clock.sample_freq = 99;
    assert_int_equal(kernel_attach_perf_event(f.kernel, &request, &clock, 0x3ffffff), -ESRCH);
    assert_int_equal(kernel_attach_perf_event(f.kernel, &request, &clock, getpid()), 0);
    struct text text = {0};
    kernel_describe_attachments(f.kernel, &text);
    assert_non_null(strstr(text_string(&text), "perf_event"));
    text_free(&text);
    fixture_close(&f);
}

/* ---- uprobes on this test ---- */

#define TARGET(n)                                                                                            \
    __attribute__((noinline, used)) static void target_##n(void)                                             \
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

__attribute__((noinline, used)) static void target_locked(void)
{
#if defined(__x86_64__)
    static int word;
    __asm__ volatile("lock incl %0" : "+m"(word));
#endif
}

static char self[4096];

/* Returns the file offset of an address in this test program. */
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

static void try_strategy(const char *without, size_t count, size_t program, bool is_return,
                         const char *strategy)
{
    struct fixture f;
    struct uprobe_site sites[TARGETS];
    struct features features;
    assert_int_equal(features_probe(&features, (int[FEATURES]){0}), 0);
    if (programs[program].sleepable && !features.sleepable_uprobe)
        return;
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
    assert_non_null(strstr(text_string(&text), strategy));
    text_free(&text);
    double closing = milliseconds();
    fixture_close(&f);
    printf("          %-14s %2zu site%s%s: attached in %6.2f ms, closed in %7.2f ms\n", strategy, count,
           count == 1 ? " " : "s", is_return ? " (return)" : "", attached - start, milliseconds() - closing);
    assert_int_equal(semaphores[0], 0);
    assert_int_equal(semaphores[1], 0);
}

static size_t events_left_of(pid_t owner)
{
    struct tracefs *tracefs;
    struct text text = {0};
    size_t count = 0;
    char ours[64];
    assert_int_equal(tracefs_open(&tracefs), 0);
    tracefs_read(tracefs, "uprobe_events", &text);
    snprintf(ours, sizeof ours, "spoor_%d_", (int)owner);
    for (const char *at = text_string(&text); (at = strstr(at, ours)); at++)
        count++;
    text_free(&text);
    tracefs_close(tracefs);
    return count;
}

static size_t events_left(void)
{
    return events_left_of(getpid());
}

static void test_uprobe_multi(void **state)
{
    (void)state;
    NEED_ROOT();
    struct features features;
    assert_int_equal(features_probe(&features, (int[FEATURES]){0}), 0);
    if (!features.uprobe_multi) {
        print_message("SKIPPED: this kernel has no uprobe_multi\n");
        skip();
    }
    try_strategy(NULL, 1, PROGRAM_PROBE, false, "uprobe_multi");
    try_strategy(NULL, TARGETS, PROGRAM_PROBE, false, "uprobe_multi");
    try_strategy(NULL, TARGETS, PROGRAM_PROBE_SLEEPABLE, false, "uprobe_multi");
    try_strategy(NULL, TARGETS, PROGRAM_PROBE, true, "uprobe_multi");
}

static void test_uprobe_strategies(void **state)
{
    need_own_machine();
    (void)state;
    NEED_ROOT();
    struct features features;
    assert_int_equal(features_probe(&features, (int[FEATURES]){0}), 0);
    try_strategy("uprobe_multi", 1, PROGRAM_PROBE, false, "uprobe events");
    try_strategy("uprobe_multi,trace_events", 5, PROGRAM_PROBE, true, "uprobe events");
    try_strategy("uprobe_multi,trace_events,perf_link", 3, PROGRAM_PROBE_SLEEPABLE, false, "uprobe events");
    try_strategy("uprobe_multi", TARGETS, PROGRAM_PROBE, false,
                 features.attach_cookie ? "uprobe_events 25 sites" : "uprobe_events 50 sites");
    try_strategy("uprobe_multi,attach_cookie", TARGETS, PROGRAM_PROBE, false, "uprobe_events 50 sites");
    try_strategy("uprobe_multi,attach_cookie", TARGETS, PROGRAM_PROBE_SLEEPABLE, true,
                 "uprobe_events 50 sites");
    try_strategy("uprobe_multi,perf_link,probe_pmu", 1, PROGRAM_PROBE, false, "uprobe_events 1 site");
    assert_int_equal(events_left(), 0);
}

/* Runs only on request: 50 separate events take seconds to close, so this strategy is tried last. */
static void test_uprobe_slow_strategy(void **state)
{
    need_own_machine();
    (void)state;
    NEED_ROOT();
    if (!getenv("SLOW")) {
        printf("          (skipped: takes 6 s; set SLOW=1)\n");
        skip();
    }
    try_strategy("uprobe_multi,trace_events", TARGETS, PROGRAM_PROBE, false, "uprobe events");
}

static void test_uprobe_pid(void **state)
{
    need_own_machine();
    (void)state;
    NEED_ROOT();
    static const char *const strategies[] = {NULL, "uprobe_multi", "uprobe_multi,probe_pmu"};
    struct uprobe_site sites[TARGETS];
    sites_of_self(sites);
    for (size_t i = 0; i < COUNT_OF(strategies); i++) {
        struct fixture f;
        fixture_open(&f, strategies[i]);
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

/* A path that cannot be written in a line of tracefs. */
static void test_uprobe_path(void **state)
{
    need_own_machine();
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
    need_own_machine();
    (void)state;
    NEED_ROOT();
    static const char *const strategies[] = {NULL, "uprobe_multi", "uprobe_multi,attach_cookie",
                                             "uprobe_multi,trace_events"};
    for (size_t i = 0; i < COUNT_OF(strategies); i++) {
        struct fixture f;
        struct uprobe_site sites[TARGETS];
        sites_of_self(sites);
        fixture_open(&f, strategies[i]);
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
        assert_int_equal(kernel_attach_uprobes(f.kernel, &request, self, sites, count, false, 0),
                         -EOPNOTSUPP);
        assert_true(diagnosed(&f, "the locked one"));
#endif
        /* Two sites at one place with different semaphores: only the kernel refuses them. */
        sites[1].semaphore = file_offset((const void *)&semaphores[0]);
        sites[2] = sites[1];
        sites[2].semaphore = file_offset((const void *)&semaphores[1]);
        sites[2].name = "the other semaphore";
        int error = kernel_attach_uprobes(f.kernel, &request, self, sites, count, false, 0);
        assert_int_equal(error, -EINVAL);
        assert_true(diagnosed(&f, "the other semaphore"));

        kernel_detach_from(f.kernel, 0);
        call_targets(TARGETS);
        assert_int_equal(counted(&f, 0), 0);

        int calls = 0;
        request.progress = cancel;
        request.state = &calls;
        sites_of_self(sites);
        assert_int_equal(kernel_attach_uprobes(f.kernel, &request, self, sites, count, false, 0), -EINTR);
        assert_int_equal(calls, 1);
        assert_int_equal(kernel_attached(f.kernel), 0);
        assert_int_equal(kernel_attach_uprobes(f.kernel, &request, "/no/such/file", sites, 1, false, 0),
                         -ENOENT);
        assert_int_equal(kernel_attach_uprobes(f.kernel, &request, "/", sites, 1, false, 0), -EINVAL);
        fixture_close(&f);
    }
    assert_int_equal(events_left(), 0);
}

#if defined(__aarch64__)
#define SYSTEM_CALL(name) "__arm64_sys_" name
#else
#define SYSTEM_CALL(name) "__x64_sys_" name
#endif

static void try_kprobes(const char *without, size_t count, size_t program, bool is_return,
                        const char *strategy)
{
    static const struct kprobe_site sites[] = {{.symbol = SYSTEM_CALL("getppid"), .cookie = 1},
                                               {.symbol = SYSTEM_CALL("getuid"), .cookie = 1},
                                               {.symbol = SYSTEM_CALL("getgid"), .cookie = 2}};
    struct fixture f;
    fixture_open(&f, without);
    load(&f, program);
    struct attach_request request = request_of(&f, program);
    double start = milliseconds();
    int error = kernel_attach_kprobes(f.kernel, &request, sites, count, is_return);
    double attached = milliseconds();
    if (error)
        fixture_print(&f);
    assert_int_equal(error, 0);
    for (int i = 0; i < 10; i++) {
        syscall(SYS_getppid);
        syscall(SYS_getuid);
        syscall(SYS_getgid);
    }
    /* Other processes may make these calls, too. */
    assert_true(counted(&f, 0) >= 10 * count && counted(&f, 0) < 10 * count + 50);
    struct text text = {0};
    kernel_describe_attachments(f.kernel, &text);
    if (!strstr(text_string(&text), strategy))
        fail_msg("not %s: %s", strategy, text_string(&text));
    text_free(&text);
    double closing = milliseconds();
    fixture_close(&f);
    printf("          %s: attached in %.2f ms, closed in %.2f ms\n", strategy, attached - start,
           milliseconds() - closing);
}

static void test_kprobe(void **state)
{
    need_own_machine();
    (void)state;
    NEED_ROOT();
    struct fixture f;
    fixture_open(&f, NULL);
    load(&f, PROGRAM_PROBE);
    struct attach_request request = request_of(&f, PROGRAM_PROBE);
    struct kprobe_site sites[] = {{.symbol = SYSTEM_CALL("getppid")}, {.symbol = "spoor_no_such_function"}};
    assert_true(kernel_attach_kprobes(f.kernel, &request, sites, 2, false) < 0);
    assert_int_equal(f.diagnostics.errors, 1);
    kernel_detach_from(f.kernel, 0);
    if (!f.host->features.kprobe) {
        assert_true(diagnosed(&f, "no kprobes"));
        fixture_close(&f);
        return;
    }
    assert_true(diagnosed(&f, "spoor_no_such_function"));
    sites[0].offset = 1 << 30;
    assert_true(kernel_attach_kprobes(f.kernel, &request, sites, 1, false) < 0);
    assert_true(diagnosed(&f, "getppid+"));
    bool has_multi = f.host->features.kprobe_multi, has_link = f.host->features.perf_link;
    fixture_close(&f);
    if (has_multi) {
        try_kprobes(NULL, 3, PROGRAM_KPROBE, false, "kprobe_multi 3 sites");
        try_kprobes(NULL, 3, PROGRAM_KPROBE, true, "kprobe_multi 3 sites");
    }
    try_kprobes("kprobe_multi", 1, PROGRAM_KPROBE, false, "kprobe events 1 site");
    try_kprobes("kprobe_multi,trace_events", 3, PROGRAM_KPROBE, true,
                has_link ? "kprobe events 1 site" : "kprobe events 3");
    try_kprobes("kprobe_multi", 3, PROGRAM_KPROBE, false,
                has_link ? "kprobe_events 2 sites" : "kprobe_events 3");
    try_kprobes("kprobe_multi,attach_cookie", 3, PROGRAM_KPROBE, true, "kprobe_events 3 sites");
    try_kprobes("kprobe_multi,probe_pmu,perf_link", 1, PROGRAM_KPROBE, false, "kprobe_events 1 site");
}

/* ---- leaving ---- */

/* Returns whether a process closes what this test left. Those of earlier tests may be busy for minutes, but are
 * older. */
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
        found = read(fd, name, sizeof name - 1) > 0 && !strncmp(name, "spoor-leaving", 13) &&
                atoi(entry->d_name) > getpid();
        close(fd);
    }
    closedir(directory);
    return found;
}

static void test_leave(void **state)
{
    need_own_machine();
    (void)state;
    NEED_ROOT();
    struct fixture f;
    struct uprobe_site sites[TARGETS];
    sites_of_self(sites);
    for (size_t i = 0; i < TARGETS; i++)
        sites[i].semaphore = file_offset((const void *)&semaphores[i % 2]);
    static const char *const events[] = {"getppid", "getpid",  "gettid",  "getuid", "geteuid",
                                         "getgid",  "getegid", "getpgid", "getsid", "umask",
                                         "sync",    "chroot",  "uselib",  "mkdir",  "rmdir",
                                         "link",    "symlink", "rename",  "flock",  "pause"};
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
    int pipes[2]; /* as in the user's `spoor | less`: the pipe ends when this process ends */
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
    /* Pauses between slices of closing let others attach: in a slow guest the whole takes half a minute. */
    while (is_leaving() && milliseconds() < start + 90000)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    printf("          all gone after %.0f ms\n", milliseconds() - start);
    assert_false(is_leaving());
    assert_int_equal(semaphores[0], 0);
    assert_int_equal(semaphores[1], 0);
    assert_int_equal(events_left(), 0);
}

/* While another process holds this test's descriptors, the definitions must stay: the kernel would free what is
 * still registered. */
static void test_removal_waits(void **state)
{
    need_own_machine();
    (void)state;
    NEED_ROOT();
    struct fixture f;
    struct uprobe_site sites[TARGETS];
    sites_of_self(sites);
    fixture_open(&f, "uprobe_multi,attach_cookie");
    load(&f, PROGRAM_PROBE);
    struct attach_request request = request_of(&f, PROGRAM_PROBE);
    assert_int_equal(kernel_attach_uprobes(f.kernel, &request, self, sites, TARGETS, false, 0), 0);
    pid_t child = fork();
    if (!child) {
        for (double until = milliseconds() + 400; milliseconds() < until;) {
            call_targets(TARGETS);
            if (!events_left_of(getppid()))
                _exit(1);
        }
        _exit(0);
    }
    double start = milliseconds();
    fixture_close(&f);
    assert_true(milliseconds() - start > 300);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(events_left(), 0);
}

/* Takes the links that are newer than *last, as bpftool does, and sets *last to the newest of all. A process that
 * opens links by their ids keeps them alive, and their perf events with them. */
static size_t take_links(uint32_t *last, int *fds, size_t most)
{
    size_t count = 0;
    union bpf_attr attr = {.start_id = *last};
    while (!syscall(SYS_bpf, BPF_LINK_GET_NEXT_ID, &attr, sizeof attr)) {
        *last = attr.next_id;
        attr = (union bpf_attr){.link_id = *last};
        int fd = count < most ? (int)syscall(SYS_bpf, BPF_LINK_GET_FD_BY_ID, &attr, sizeof attr) : -1;
        if (fd >= 0)
            fds[count++] = fd;
        attr = (union bpf_attr){.start_id = *last};
    }
    return count;
}

/* An unrelated process, as far as descriptors go: it was started before the event was opened and inherits nothing. */
static void stranger(int begin, int tell)
{
    int fds[64];
    char byte;
    uint32_t last = 0;
    take_links(&last, NULL, 0);
    if (write(tell, "x", 1) != 1 || read(begin, &byte, 1) != 1)
        _exit(1);
    size_t count = take_links(&last, fds, COUNT_OF(fds));
    if (!count || write(tell, "x", 1) != 1)
        _exit(2);
    for (double until = milliseconds() + 200; milliseconds() < until;) {
        call_targets(TARGETS);
        if (!events_left_of(getppid()))
            _exit(3);
    }
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    call_targets(TARGETS);
    _exit(0);
}

/* An unknown process holds the link: the definitions must stay until it ends. */
static void test_removal_waits_for_strangers(void **state)
{
    need_own_machine();
    (void)state;
    NEED_ROOT();
    struct features features;
    assert_int_equal(features_probe(&features, (int[FEATURES]){0}), 0);
    if (!features.perf_link || !features.attach_cookie) {
        print_message("SKIPPED: this kernel has no links with cookies\n");
        skip();
    }
    int begin[2], tell[2], status;
    char byte;
    assert_int_equal(pipe(begin), 0);
    assert_int_equal(pipe(tell), 0);
    pid_t child = fork();
    if (!child)
        stranger(begin[0], tell[1]);
    assert_int_equal(read(tell[0], &byte, 1), 1);
    struct fixture f;
    struct uprobe_site sites[TARGETS];
    sites_of_self(sites);
    fixture_open(&f, "uprobe_multi");
    load(&f, PROGRAM_PROBE);
    struct attach_request request = request_of(&f, PROGRAM_PROBE);
    assert_int_equal(kernel_attach_uprobes(f.kernel, &request, self, sites, TARGETS, false, 0), 0);
    assert_int_equal(write(begin[1], "x", 1), 1);
    assert_int_equal(read(tell[0], &byte, 1), 1);
    fixture_close(&f);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    call_targets(TARGETS);
    assert_int_equal(events_left(), 0);
    for (int i = 0; i < 2; i++) {
        close(begin[i]);
        close(tell[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_raw_tracepoint),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_tp_btf),
        cmocka_unit_test(test_tracepoint),
        cmocka_unit_test(test_perf_event),
        cmocka_unit_test(test_uprobe_multi),
        cmocka_unit_test(test_uprobe_strategies),
        cmocka_unit_test(test_uprobe_slow_strategy),
        cmocka_unit_test(test_uprobe_pid),
        cmocka_unit_test(test_uprobe_path),
        cmocka_unit_test(test_uprobe_bad),
        cmocka_unit_test(test_kprobe),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_removal_waits),
        cmocka_unit_test(test_removal_waits_for_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
