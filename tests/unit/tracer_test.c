/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of libspoortracer as a program uses it: this one watches itself and a child. What needs the kernel is
 * skipped where it may not be used. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spoor/probe.h>
#include <spoor/tracer.h>

struct inner {
    short a, b;
};
struct point {
    int x;
    unsigned flag : 3, rest : 5;
    char name[8];
    struct inner inner;
    int pair[2];
};

__attribute__((noinline)) int tracer_target(int number, const char *text, const struct point *point);
int tracer_target(int number, const char *text, const struct point *point)
{
    __asm__ volatile("" ::"r"(text), "r"(point) : "memory");
    SPOOR_PROBE(tracer_test, fired, number, text);
    return number * 2;
}

static const struct point point = {-7, 5, 17, "pointed", {-1, 2}, {30, 40}};
#define HERE "/proc/self/exe"

static void fire(int count)
{
    for (int i = 0; i < count; i++) {
        tracer_target(i, i % 2 ? "odd" : "even", &point);
        getpriority(PRIO_PROCESS, 0);
    }
}

/* ---- what the callbacks received ---- */

struct heard {
    char output[4096], report[4096], events[4096];
    bool takes;
};

static void append(char *to, const char *bytes, size_t length)
{
    size_t used = strlen(to), room = 4095 - used;
    length = length < room ? length : room;
    memcpy(to + used, bytes, length);
    to[used + length] = '\0';
}

static void on_output(void *state, const char *bytes, size_t length)
{
    append(((struct heard *)state)->output, bytes, length);
}

static void on_report(void *state, const char *text)
{
    append(((struct heard *)state)->report, text, strlen(text));
}

static bool on_event(void *state, const struct spoor_tracer_event *event)
{
    struct heard *heard = state;
    struct spoor_tracer_value value;
    char text[256];
    append(heard->events, text,
           (size_t)snprintf(text, sizeof text, "%s", spoor_tracer_event_function(event)));
    for (size_t i = 0; !spoor_tracer_event_value(event, i, &value); i++) {
        spoor_tracer_text(&value, text, sizeof text);
        append(heard->events, "|", 1);
        append(heard->events, text, strlen(text));
    }
    append(heard->events, "\n", 1);
    return heard->takes;
}

static struct spoor_tracer *open_tracer(struct heard *heard, const pid_t *pid, unsigned flags)
{
    struct spoor_tracer *tracer;
    const struct spoor_tracer_options options = {.size = sizeof options,
                                                 .name = "test",
                                                 .flags = flags,
                                                 .pids = pid,
                                                 .pid_count = pid != NULL,
                                                 .output = on_output,
                                                 .report = on_report,
                                                 .event = heard ? on_event : NULL,
                                                 .state = heard};
    assert_int_equal(spoor_tracer_open(&options, &tracer), 0);
    return tracer;
}

static void must(struct spoor_tracer *tracer, int answer)
{
    if (answer < 0)
        fail_msg("%d: %s", answer, spoor_tracer_error(tracer));
}

static void needs_kernel(void)
{
    struct spoor_tracer *tracer;
    assert_int_equal(spoor_tracer_open(NULL, &tracer), 0);
    int error = spoor_tracer_attach(tracer, "tracepoint:syscalls:sys_enter_getpriority", "@ = count();");
    error = error ? error : spoor_tracer_start(tracer);
    char why[512];
    snprintf(why, sizeof why, "%s", spoor_tracer_error(tracer));
    spoor_tracer_close(tracer);
    if (error) {
        print_message("[  SKIPPED ] the kernel cannot be asked: %s", why);
        skip();
    }
}

static void poll_for(struct spoor_tracer *tracer, const char *text, const char *wanted)
{
    for (int i = 0; i < 500 && !strstr(text, wanted); i++)
        must(tracer, spoor_tracer_poll(tracer, 20));
    if (!strstr(text, wanted))
        fail_msg("no '%s' in '%s'", wanted, text);
}

/* ---- without a kernel ---- */

static void options_are_checked(void **state)
{
    (void)state;
    struct {
        struct spoor_tracer_options known;
        char later[16];
    } large = {.known = {.size = sizeof large}};
    struct spoor_tracer *tracer;
    assert_int_equal(spoor_tracer_open(&large.known, &tracer), 0);
    spoor_tracer_close(tracer);
    large.later[5] = 1;
    assert_int_equal(spoor_tracer_open(&large.known, &tracer), -E2BIG);
    assert_null(tracer);
    assert_non_null(strstr(spoor_tracer_error(NULL), "newer libspoortracer"));
    struct spoor_tracer_options options = {.size = 4};
    assert_int_equal(spoor_tracer_open(&options, &tracer), -EINVAL);
    options = (struct spoor_tracer_options){.size = sizeof options, .flags = 1u << 31};
    assert_int_equal(spoor_tracer_open(&options, &tracer), -EINVAL);
    options = (struct spoor_tracer_options){.size = sizeof options, .pid_count = 1};
    assert_int_equal(spoor_tracer_open(&options, &tracer), -EINVAL);
    /* The options of an older library are smaller. */
    options = (struct spoor_tracer_options){.size = offsetof(struct spoor_tracer_options, output)};
    assert_int_equal(spoor_tracer_open(&options, &tracer), 0);
    assert_string_equal(spoor_tracer_error(NULL), "");
    spoor_tracer_close(tracer);
    spoor_tracer_close(NULL);
}

static void mistakes_have_a_place_and_a_remedy(void **state)
{
    (void)state;
    struct spoor_tracer *tracer = open_tracer(NULL, NULL, SPOOR_TRACER_CHECK_ONLY);
    must(tracer, spoor_tracer_add(tracer, "config = { max_strlen = 32 }"));
    must(tracer, spoor_tracer_attach(tracer, "begin", "@x = coumt();"));
    assert_int_equal(spoor_tracer_start(tracer), -EINVAL);
    assert_non_null(strstr(spoor_tracer_error(tracer), "test:2:"));
    assert_non_null(strstr(spoor_tracer_error(tracer), "HINT"));
    assert_int_equal(spoor_tracer_poll(tracer, 0), -EINVAL);
    assert_int_equal(spoor_tracer_stop(tracer), -EINVAL);
    int64_t value;
    assert_int_equal(spoor_tracer_read_integer(tracer, "@x", &value), -EINVAL);
    assert_true(spoor_tracer_is_over(tracer));
    assert_int_equal(spoor_tracer_descriptor(tracer), -1);
    assert_int_equal(spoor_tracer_add(tracer, "begin {}"), -EBUSY);
    spoor_tracer_close(tracer);
}

static void compiling_needs_no_kernel(void **state)
{
    (void)state;
    struct spoor_tracer *tracer = open_tracer(NULL, NULL, SPOOR_TRACER_CHECK_ONLY);
    assert_int_equal(spoor_tracer_attach(tracer, "  ", "exit();"), -EINVAL);
    must(tracer, spoor_tracer_attach(tracer, "begin", "@x = 1; // with a comment"));
    must(tracer, spoor_tracer_compile(tracer));
    assert_string_equal(spoor_tracer_map(tracer, 0), "@x");
    assert_null(spoor_tracer_map(tracer, 1));
    assert_int_equal(spoor_tracer_start(tracer), -EINVAL);
    assert_int_equal(spoor_tracer_compile(tracer), -EBUSY);
    spoor_tracer_close(tracer);
}

static void what_is_too_long_is_refused(void **state)
{
    (void)state;
    struct spoor_tracer *tracer = open_tracer(NULL, NULL, SPOOR_TRACER_CHECK_ONLY);
    size_t length = 3 << 20;
    char *script = malloc(length + 1);
    memset(script, ' ', length);
    script[length] = '\0';
    assert_int_equal(spoor_tracer_add(tracer, script), -E2BIG);
    free(script);
    spoor_tracer_close(tracer);
}

/* ---- with a kernel ---- */

static int count_entries(void *state, const struct spoor_tracer_value *key,
                         const struct spoor_tracer_value *value)
{
    int64_t *total = state;
    char text[64];
    assert_int_equal(spoor_tracer_kind(key), SPOOR_TRACER_TUPLE);
    assert_int_equal(spoor_tracer_items(key), 2);
    struct spoor_tracer_value item;
    assert_int_equal(spoor_tracer_item(key, 0, &item), 0);
    assert_int_equal(spoor_tracer_kind(&item), SPOOR_TRACER_TEXT);
    size_t length;
    const char *bytes = spoor_tracer_bytes(&item, &length);
    assert_true(!strncmp(bytes, "odd", length) || !strncmp(bytes, "even", length));
    assert_int_equal(spoor_tracer_item(key, 1, &item), 0);
    assert_int_equal(spoor_tracer_integer(&item), 7);
    assert_int_equal(spoor_tracer_item(key, 2, &item), -ERANGE);
    assert_int_equal(spoor_tracer_type(value, text, sizeof text), strlen("count_t"));
    assert_string_equal(text, "count_t");
    *total += spoor_tracer_integer(value);
    return 0;
}

static int stops(void *state, const struct spoor_tracer_value *key, const struct spoor_tracer_value *value)
{
    (void)key, (void)value;
    ++*(int *)state;
    return 42;
}

static void uprobe_fills_typed_maps(void **state)
{
    (void)state;
    needs_kernel();
    struct heard heard = {0};
    const pid_t self = getpid();
    struct spoor_tracer *tracer = open_tracer(&heard, &self, 0);
    must(tracer, spoor_tracer_attach(tracer, "uprobe:" HERE ":tracer_target",
                                     "@n[str(arg1), 7] = count(); @last = (int32)arg0;"));
    must(tracer, spoor_tracer_start(tracer));
    fire(10);
    must(tracer, spoor_tracer_poll(tracer, 0));
    int64_t total = 0, value;
    int visits = 0;
    must(tracer, spoor_tracer_each(tracer, "@n", count_entries, &total));
    assert_int_equal(total, 10);
    assert_int_equal(spoor_tracer_each(tracer, "@n", stops, &visits), 42);
    assert_int_equal(visits, 1);
    must(tracer, spoor_tracer_read_integer(tracer, "@last", &value));
    assert_int_equal(value, 9);
    must(tracer, spoor_tracer_read_entry(tracer, "@n", "odd, 7", &value));
    assert_int_equal(value, 5);
    assert_int_equal(spoor_tracer_read_entry(tracer, "@n", "neither, 7", &value), -ENOENT);
    assert_non_null(strstr(spoor_tracer_error(tracer), "@n[neither, 7]"));
    assert_int_equal(spoor_tracer_read_integer(tracer, "@lost", &value), -ENOENT);
    assert_non_null(strstr(spoor_tracer_error(tracer), "did you mean @last?"));
    must(tracer, spoor_tracer_zero(tracer, "@n"));
    must(tracer, spoor_tracer_read_entry(tracer, "@n", "odd, 7", &value));
    assert_int_equal(value, 0);
    must(tracer, spoor_tracer_clear(tracer, "@n"));
    assert_int_equal(spoor_tracer_read_entry(tracer, "@n", "odd, 7", &value), -ENOENT);
    assert_string_equal(heard.output, "");
    assert_string_equal(heard.report, "");
    spoor_tracer_close(tracer); /* closes it while it is running */
}

static int check_point(void *state, const struct spoor_tracer_value *key,
                       const struct spoor_tracer_value *value)
{
    static const struct {
        const char *name, *text;
        enum spoor_tracer_kind kind;
    } expected[] = {
        {"x", "-7", SPOOR_TRACER_INTEGER},
        {"flag", "5", SPOOR_TRACER_INTEGER},
        {"rest", "17", SPOOR_TRACER_INTEGER},
        {"name", "pointed", SPOOR_TRACER_TEXT},
        {"inner", "{ .a = -1, .b = 2 }", SPOOR_TRACER_TUPLE},
        {"pair", "[30,40]", SPOOR_TRACER_TUPLE},
    };
    struct spoor_tracer_value item, deeper;
    char text[128];
    assert_null(key);
    assert_int_equal(spoor_tracer_items(value), 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(spoor_tracer_item(value, i, &item), 0);
        assert_string_equal(spoor_tracer_item_name(value, i), expected[i].name);
        assert_int_equal(spoor_tracer_kind(&item), expected[i].kind);
        assert_int_equal(spoor_tracer_text(&item, text, sizeof text), strlen(expected[i].text));
        assert_string_equal(text, expected[i].text);
        /* A copy of the value gives the same text. */
        struct spoor_tracer_value copy = item;
        memset(&item, 0, sizeof item);
        spoor_tracer_text(&copy, text, 3);
        assert_memory_equal(text, expected[i].text, strlen(text));
    }
    assert_int_equal(spoor_tracer_item(value, 4, &item), 0);
    assert_int_equal(spoor_tracer_item(&item, 0, &deeper), 0);
    assert_int_equal(spoor_tracer_integer(&deeper), -1);
    assert_int_equal(spoor_tracer_item(value, 5, &item), 0);
    assert_int_equal(spoor_tracer_item(&item, 1, &deeper), 0);
    assert_int_equal(spoor_tracer_integer(&deeper), 40);
    assert_string_equal(spoor_tracer_item_name(&item, 1), "");
    ++*(int *)state;
    return 0;
}

static void structs_have_members(void **state)
{
    (void)state;
    needs_kernel();
    struct spoor_tracer *tracer = open_tracer(NULL, NULL, 0);
    int seen = 0;
    must(tracer, spoor_tracer_attach(tracer, "uprobe:" HERE ":tracer_target", "@p = *(struct point *)arg2;"));
    must(tracer, spoor_tracer_start(tracer));
    fire(1);
    must(tracer, spoor_tracer_each(tracer, "@p", check_point, &seen));
    assert_int_equal(seen, 1);
    spoor_tracer_close(tracer);
}

static int check_rows(void *state, const struct spoor_tracer_value *key,
                      const struct spoor_tracer_value *value)
{
    struct spoor_tracer_row row;
    uint64_t total = 0;
    assert_int_equal(spoor_tracer_kind(value), SPOOR_TRACER_HISTOGRAM);
    for (size_t i = 0; i < spoor_tracer_rows(value); i++) {
        assert_int_equal(spoor_tracer_row(value, i, &row), 0);
        total += row.count;
        if (!key && row.low == 8) {
            assert_int_equal(row.high, 15);
            assert_int_equal(row.count, 8);
        }
    }
    assert_int_equal(spoor_tracer_row(value, spoor_tracer_rows(value), &row), -ERANGE);
    *(uint64_t *)state += total;
    assert_true(!key || spoor_tracer_kind(key) == SPOOR_TRACER_INTEGER);
    return 0;
}

static int check_stats(void *state, const struct spoor_tracer_value *key,
                       const struct spoor_tracer_value *value)
{
    struct spoor_tracer_stats stats;
    assert_null(key);
    assert_int_equal(spoor_tracer_stats(value, &stats), 0);
    assert_int_equal(stats.count, 16);
    assert_int_equal(stats.total, 120);
    assert_int_equal(stats.average, 7);
    ++*(int *)state;
    return 0;
}

static int check_series(void *state, const struct spoor_tracer_value *key,
                        const struct spoor_tracer_value *value)
{
    struct spoor_tracer_point at;
    assert_null(key);
    assert_int_equal(spoor_tracer_kind(value), SPOOR_TRACER_SERIES);
    assert_true(spoor_tracer_points(value) >= 1);
    int64_t total = 0;
    for (size_t i = 0; !spoor_tracer_point(value, i, &at); i++) {
        assert_int_equal(at.time % 1000000000, 0);
        assert_true(at.time > 1600000000ull * 1000000000);
        total += at.value;
    }
    char text[4096];
    assert_true(spoor_tracer_text(value, text, sizeof text) > 10);
    *(int64_t *)state = total;
    return 0;
}

static void append_text(void *state, const char *bytes, size_t length)
{
    append(state, bytes, length);
}

static void aggregations_are_read(void **state)
{
    (void)state;
    needs_kernel();
    struct spoor_tracer *tracer = open_tracer(NULL, NULL, 0);
    uint64_t rows = 0;
    int64_t sum = 0;
    int stats = 0;
    char text[4096] = "";
    must(tracer, spoor_tracer_attach(tracer, "uprobe:" HERE ":tracer_target",
                                     "@h = hist(arg0); @k[arg0 & 1] = lhist(arg0, 0, 16, 4);"
                                     "@s = stats((int32)arg0); @t = tseries((int32)arg0, 1s, 20, \"sum\");"));
    must(tracer, spoor_tracer_start(tracer));
    fire(16);
    must(tracer, spoor_tracer_each(tracer, "@h", check_rows, &rows));
    must(tracer, spoor_tracer_each(tracer, "@k", check_rows, &rows));
    assert_int_equal(rows, 32);
    must(tracer, spoor_tracer_each(tracer, "@s", check_stats, &stats));
    assert_int_equal(stats, 1);
    must(tracer, spoor_tracer_each(tracer, "@t", check_series, &sum));
    assert_int_equal(sum, 120);
    must(tracer, spoor_tracer_print(tracer, "@h", 0, 0, append_text, text));
    assert_non_null(strstr(text, "@h:\n"));
    assert_non_null(strstr(text, "[8, 16)                8 |@@"));
    spoor_tracer_close(tracer);
}

static void events_have_values(void **state)
{
    (void)state;
    needs_kernel();
    struct heard heard = {0};
    struct spoor_tracer *tracer = open_tracer(&heard, NULL, 0);
    must(tracer, spoor_tracer_add(tracer, "begin { printf(\"begun\\n\"); }"));
    must(tracer, spoor_tracer_attach(tracer, "uprobe:" HERE ":tracer_target",
                                     "printf(\"%d=%s\\n\", arg0, str(arg1)); print((arg0, comm));"));
    must(tracer, spoor_tracer_attach(tracer, "end", "printf(\"ended\\n\"); exit(3);"));
    must(tracer, spoor_tracer_start(tracer));
    assert_string_equal(heard.output, "begun\n");
    fire(2);
    poll_for(tracer, heard.output, "(1, ");
    assert_non_null(strstr(heard.output, "0=even\n"));
    assert_non_null(strstr(heard.events, "printf\nprintf|0|even\nprint|(0, "));
    heard.takes = true;
    heard.output[0] = '\0';
    fire(1);
    must(tracer, spoor_tracer_poll(tracer, 1000));
    heard.takes = false;
    assert_int_equal(spoor_tracer_stop(tracer), 3);
    assert_string_equal(heard.output, "ended\n");
    assert_int_equal(spoor_tracer_stop(tracer), -EINVAL);
    spoor_tracer_close(tracer);
}

static void exit_ends_it(void **state)
{
    (void)state;
    needs_kernel();
    struct heard heard = {0};
    struct spoor_tracer *tracer = open_tracer(&heard, NULL, SPOOR_TRACER_PRINT_MAPS);
    must(tracer, spoor_tracer_attach(tracer, "uprobe:" HERE ":tracer_target", "@a = count(); exit();"));
    must(tracer, spoor_tracer_start(tracer));
    assert_false(spoor_tracer_is_over(tracer));
    fire(1);
    for (int i = 0; i < 500 && !spoor_tracer_is_over(tracer); i++)
        must(tracer, spoor_tracer_poll(tracer, 20));
    assert_true(spoor_tracer_is_over(tracer));
    assert_int_equal(spoor_tracer_stop(tracer), 0);
    assert_non_null(strstr(heard.output, "@a: 1\n"));
    int64_t value;
    /* values can be read until the tracer is closed */
    must(tracer, spoor_tracer_read_integer(tracer, "@a", &value));
    assert_int_equal(value, 1);
    spoor_tracer_close(tracer);
}

static void tracepoint_of_a_child(void **state)
{
    (void)state;
    needs_kernel();
    int go[2];
    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    if (!child) {
        char byte;
        close(go[1]);
        if (read(go[0], &byte, 1) == 1)
            fire(3);
        _exit(0);
    }
    close(go[0]);
    struct spoor_tracer *tracer = open_tracer(NULL, &child, 0);
    must(tracer,
         spoor_tracer_attach(tracer, "tracepoint:syscalls:sys_enter_getpriority", "@calls = count();"));
    must(tracer, spoor_tracer_attach(tracer, "usdt:" HERE ":tracer_test:fired",
                                     "@fired[str(arg1)] = sum((int32)arg0);"));
    must(tracer, spoor_tracer_start(tracer));
    fire(5); /* a call by this process, which does not count */
    assert_int_equal(write(go[1], "", 1), 1);
    for (int i = 0; i < 500 && !spoor_tracer_is_over(tracer); i++)
        must(tracer, spoor_tracer_poll(tracer, 20));
    assert_true(spoor_tracer_is_over(tracer)); /* it ends with the child */
    int64_t value;
    must(tracer, spoor_tracer_read_integer(tracer, "@calls", &value));
    assert_int_equal(value, 3);
    must(tracer, spoor_tracer_read_entry(tracer, "@fired", "even", &value));
    assert_int_equal(value, 2);
    spoor_tracer_close(tracer);
    close(go[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void missing_probes_are_named(void **state)
{
    (void)state;
    needs_kernel();
    struct spoor_tracer *tracer = open_tracer(NULL, NULL, 0);
    must(tracer, spoor_tracer_attach(tracer, "uprobe:" HERE ":no_such_function", "@ = count();"));
    assert_true(spoor_tracer_start(tracer) < 0);
    assert_non_null(strstr(spoor_tracer_error(tracer), "test:1:"));
    assert_non_null(strstr(spoor_tracer_error(tracer), "no_such_function"));
    spoor_tracer_close(tracer);
}

static bool calls_back(void *state, const struct spoor_tracer_event *event)
{
    struct spoor_tracer *tracer = *(struct spoor_tracer **)state;
    int64_t value;
    (void)event;
    assert_int_equal(spoor_tracer_poll(tracer, 0), -EBUSY);
    assert_int_equal(spoor_tracer_stop(tracer), -EBUSY);
    assert_int_equal(spoor_tracer_read_integer(tracer, "@n", &value), 0);
    *(struct spoor_tracer **)state = NULL;
    return true;
}

static void callbacks_may_read_maps_only(void **state)
{
    (void)state;
    needs_kernel();
    struct spoor_tracer *tracer, *seen;
    const struct spoor_tracer_options options = {.size = sizeof options, .event = calls_back, .state = &seen};
    assert_int_equal(spoor_tracer_open(&options, &tracer), 0);
    seen = tracer;
    must(tracer,
         spoor_tracer_attach(tracer, "uprobe:" HERE ":tracer_target", "@n = count(); printf(\"x\");"));
    must(tracer, spoor_tracer_start(tracer));
    fire(1);
    for (int i = 0; i < 500 && seen; i++)
        must(tracer, spoor_tracer_poll(tracer, 20));
    assert_null(seen);
    spoor_tracer_close(tracer);
}

/* ---- what stays behind in the program ---- */

static void *trace_in_a_thread(void *state)
{
    int *failures = state;
    for (int round = 0; round < 5; round++) {
        struct spoor_tracer *tracer;
        char script[128];
        int64_t value = 0;
        snprintf(script, sizeof script, "uprobe:" HERE ":tracer_target /tid == %d/ { @n = count(); }",
                 gettid());
        if (spoor_tracer_open(NULL, &tracer) || spoor_tracer_add(tracer, script) ||
            spoor_tracer_start(tracer)) {
            ++*failures;
            spoor_tracer_close(tracer);
            break;
        }
        fire(20);
        *failures += spoor_tracer_poll(tracer, 0) < 0;
        *failures += spoor_tracer_read_integer(tracer, "@n", &value) || value != 20;
        *failures += spoor_tracer_stop(tracer) != 0;
        spoor_tracer_close(tracer);
    }
    return NULL;
}

static void tracers_do_not_disturb_each_other(void **state)
{
    (void)state;
    needs_kernel();
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    int failures[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, trace_in_a_thread, &failures[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failures[i], 0);
    }
}

static void on_signal(int number)
{
    (void)number;
}

static void round_of_everything(void)
{
    struct heard heard = {0};
    struct spoor_tracer *tracer = open_tracer(&heard, NULL, 0);
    must(tracer, spoor_tracer_add(tracer, "begin { printf(\"hello\\n\"); }"));
    must(tracer, spoor_tracer_attach(tracer, "uprobe:" HERE ":tracer_target",
                                     "@[ustack(3)] = count(); printf(\"%s\\n\", usym(reg(\"ip\")));"));
    must(tracer,
         spoor_tracer_attach(tracer, "tracepoint:syscalls:sys_enter_getpriority", "@calls = count();"));
    must(tracer, spoor_tracer_attach(tracer, "usdt:" HERE ":tracer_test:fired", "@h = hist(arg0);"));
    must(tracer, spoor_tracer_start(tracer));
    fire(2);
    poll_for(tracer, heard.output, "tracer_target");
    char text[4096] = "";
    must(tracer, spoor_tracer_print(tracer, "@", 0, 0, append_text, text));
    assert_non_null(strstr(text, "tracer_target"));
    assert_int_equal(spoor_tracer_stop(tracer), 0);
    spoor_tracer_close(tracer);
}

static void signals_and_streams_are_left_alone(void **state)
{
    (void)state;
    needs_kernel();
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGCHLD};
    struct sigaction ours = {.sa_handler = on_signal}, before[6], found;
    sigset_t mask, after;
    char name[] = "/tmp/spoor-streams.XXXXXX";
    int file = mkstemp(name), streams[2] = {dup(1), dup(2)};
    unlink(name);
    for (int i = 0; i < 6; i++)
        sigaction(numbers[i], &ours, &before[i]);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    fflush(NULL);
    dup2(file, 1), dup2(file, 2);
    round_of_everything();
    struct spoor_tracer *tracer = open_tracer(NULL, NULL, 0);
    spoor_tracer_add(tracer, "begin { mistake(); }");
    spoor_tracer_start(tracer);
    spoor_tracer_close(tracer);
    fflush(NULL);
    dup2(streams[0], 1), dup2(streams[1], 2);
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < 65; i++)
        assert_int_equal(sigismember(&mask, i), sigismember(&after, i));
    for (int i = 0; i < 6; i++) {
        sigaction(numbers[i], &before[i], &found);
        assert_ptr_equal(found.sa_handler, on_signal);
    }
    close(file), close(streams[0]), close(streams[1]);
}

static size_t open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static size_t mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    size_t count = 0;
    for (int c; (c = fgetc(maps)) != EOF;)
        count += c == '\n';
    fclose(maps);
    return count;
}

static void nothing_leaks(void **state)
{
    (void)state;
    needs_kernel();
    for (int i = 0; i < 5; i++)
        round_of_everything();
    size_t descriptors = open_descriptors(), maps = mappings(), bytes = mallinfo2().uordblks;
    for (int i = 0; i < 100; i++)
        round_of_everything();
    assert_int_equal(open_descriptors(), descriptors);
    print_message("100 rounds: %zd mappings more, %zd bytes more\n", (ssize_t)(mappings() - maps),
                  (ssize_t)(mallinfo2().uordblks - bytes));
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer maps memory of its own */
    assert_true(mappings() <= maps + 4);
#endif
    assert_true(mallinfo2().uordblks <= bytes + 4096);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        fail_msg("a child was left behind");
}

/* What malloc caches for the next call would count as used: the cache is switched off. */
int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv("GLIBC_TUNABLES") && !setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1))
        execv("/proc/self/exe", argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(mistakes_have_a_place_and_a_remedy),
        cmocka_unit_test(compiling_needs_no_kernel),
        cmocka_unit_test(what_is_too_long_is_refused),
        cmocka_unit_test(uprobe_fills_typed_maps),
        cmocka_unit_test(structs_have_members),
        cmocka_unit_test(aggregations_are_read),
        cmocka_unit_test(events_have_values),
        cmocka_unit_test(exit_ends_it),
        cmocka_unit_test(tracepoint_of_a_child),
        cmocka_unit_test(missing_probes_are_named),
        cmocka_unit_test(callbacks_may_read_maps_only),
        cmocka_unit_test(tracers_do_not_disturb_each_other),
        cmocka_unit_test(signals_and_streams_are_left_alone),
        cmocka_unit_test(nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
