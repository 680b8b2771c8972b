/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of src/remote: maps of several hosts as one, lines in order of time, and messages that are damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/wire.h"
#include "builtin/aggregation.h"
#include "builtin/all.h"
#include "chart/chart.h"
#include "history/history.h"
#include "remote/end.h"
#include "remote/merge.h"
#include "remote/protocol.h"

enum { SECOND = 1000000000 };

static const char *const hosts[] = {"a", "b\x1b[2J"};

struct screen {
    struct text out, said;
};

static void print(void *state, const char *bytes, size_t length)
{
    struct screen *screen = state;
    text_append(&screen->out, bytes, length);
}

static void warn(void *state, const char *text)
{
    struct screen *screen = state;
    text_add(&screen->said, text);
}

static struct merge_options options_of(struct screen *screen)
{
    return (struct merge_options){.hosts = hosts,
                                  .host_count = 2,
                                  .builtins = &builtin_table,
                                  .print = print,
                                  .warn = warn,
                                  .state = screen};
}

static const struct aggregation *aggregation(const char *name)
{
    for (size_t i = 0; i < builtin_table.count; i++)
        for (const struct builtin *builtin = builtin_table.families[i]; builtin->name; builtin++)
            if (builtin->aggregation && !strcmp(builtin->name, name))
                return builtin->aggregation;
    fail();
    return NULL;
}

static const struct type *make_type(struct arena *arena, const char *name, const struct type *target,
                                    int64_t step)
{
    struct type *type = (struct type *)type_aggregation(arena, aggregation(name), target);
    type->maximum = 10;
    type->step = step;
    return type;
}

/* Names of a host: what is a number there. */
static const char *name_of(void *owner, uint64_t index)
{
    return index == *(uint64_t *)owner ? "the\nname" : NULL;
}

enum when { RUNNING, AT_END, LAST };
static void put_by(struct printer printer, struct text *out, const struct map_snapshot *map, uint64_t known,
                   enum when when)
{
    const struct print_names names = {.owner = &known, .name = name_of};
    const struct portable_print how = {.time = SECOND, .is_end = when > RUNNING, .is_last = when == LAST};
    printer.names = &names;
    text_clear(out);
    portable_put(out, &printer, map, &how);
    assert_false(out->failed);
}

static void put(struct text *out, const struct map_snapshot *map, uint64_t known, enum when when)
{
    put_by((struct printer){0}, out, map, known, when);
}

/* One that was emptied before, at this time (0: it was not). */
static void put_emptied(struct text *out, const struct map_snapshot *map, uint64_t emptied)
{
    const struct printer printer = {0};
    const struct portable_print how = {.time = SECOND, .emptied = emptied};
    text_clear(out);
    portable_put(out, &printer, map, &how);
}

static void give(struct merge *merge, size_t host, const struct text *message)
{
    assert_int_equal(merge_map(merge, host, cursor_over(message->bytes, message->length), 0), 0);
}

static void shows(struct merge *merge, struct screen *screen, const char *expected)
{
    merge_over(merge, 0);
    merge_over(merge, 1);
    merge_finish(merge);
    assert_string_equal(text_string(&screen->out), expected);
    text_free(&screen->out);
    text_free(&screen->said);
    merge_free(merge);
}

/* ---- maps ---- */

static void maps_are_added_up(void **state)
{
    struct arena arena = {0};
    struct screen screen = {0};
    const struct merge_options options = options_of(&screen);
    struct merge *merge = merge_new(&options);
    struct text message = {0};
    jmp_buf nowhere;
    (void)state;
    assert_false(arena_guard(&arena, nowhere));
    /* A key with a name, which is another number on each host. */
    const struct type *key =
        type_tuple(&arena, (const struct type *const[]){type_probe_name(&arena, 0), &type_i64}, 2);
    uint64_t keys[2][2] = {{3, 7}, {9, 7}}, count = 5, largest[][2] = {{4, 1}, {UINT64_MAX, 1}};
    for (size_t host = 0; host < 2; host++) {
        const struct map_entry entry = {keys[host], &count};
        const struct map_snapshot map = {"@m", key, make_type(&arena, "count", &type_u64, 0), &entry, 1};
        put(&message, &map, keys[host][0], LAST);
        give(merge, host, &message);
    }
    for (size_t host = 0; host < 2; host++) {
        const struct map_entry entry = {NULL, largest[host]};
        const struct map_snapshot map = {"@x", NULL, make_type(&arena, "max", &type_i64, 0), &entry, 1};
        put(&message, &map, 0, LAST);
        give(merge, host, &message);
    }
    shows(merge, &screen, "\n\n@m[the\nname, 7]: 10\n@x: 4\n");
    text_free(&message);
    arena_free(&arena);
}

static void what_has_no_rule_is_kept_apart(void **state)
{
    struct arena arena = {0};
    struct screen screen = {0};
    struct merge_options options = options_of(&screen);
    options.is_terminal = true;
    struct merge *merge = merge_new(&options);
    struct text message = {0};
    jmp_buf nowhere;
    (void)state;
    assert_false(arena_guard(&arena, nowhere));
    const struct type *text = type_string(&arena, 8);
    for (size_t host = 2; host-- > 0;) {
        const struct map_entry entry = {"k\0\0\0\0\0\0", "v\x1b\n\0\0\0\0"};
        const struct map_snapshot map = {"@t", text, text, &entry, 1};
        put(&message, &map, 0, LAST);
        give(merge, host, &message);
    }
    shows(merge, &screen, "\n\n@t[a, k]: v\\x1b\\x0a\n@t[b\\x1b[2J, k]: v\\x1b\\x0a\n");
    text_free(&message);
    arena_free(&arena);
}

static void maps_are_printed_as_the_script_wants(void **state)
{
    struct arena arena = {0};
    struct screen screen = {0};
    struct merge_options options = options_of(&screen);
    struct merge *merge = merge_new(&options);
    const struct printer printer = {
        .bcc_histograms = true, .histogram_title = "\x1b[2J us", .trunc_trailer = "~"};
    struct text message = {0};
    uint64_t count = 1;
    jmp_buf nowhere;
    (void)state;
    assert_false(arena_guard(&arena, nowhere));
    const struct type *histogram = make_type(&arena, "hist", &type_i64, 0);
    uint64_t *rows = arena_array(&arena, type_rows(histogram), sizeof *rows);
    rows[1] = 2;
    for (size_t host = 0; host < 2; host++) {
        const struct map_entry entry = {"whole..", &count}, all = {NULL, rows};
        const struct map_snapshot cut = {"@c", type_string(&arena, 4),
                                         make_type(&arena, "count", &type_u64, 0), &entry, 1};
        const struct map_snapshot map = {"@h", NULL, histogram, &all, 1};
        put_by(printer, &message, &cut, 0, LAST);
        give(merge, host, &message);
        put_by(printer, &message, &map, 0, LAST);
        give(merge, host, &message);
    }
    shows(merge, &screen,
          "\n\n@c[whol~]: 2\n"
          "     \\x1b[2J us          : count     distribution\n"
          "         0 -> 1          : 4        |****************************************|\n\n");
    text_free(&message);
    arena_free(&arena);
}

static void types_that_differ_are_told(void **state)
{
    struct arena arena = {0};
    struct screen screen = {0};
    const struct merge_options options = options_of(&screen);
    struct merge *merge = merge_new(&options);
    struct text message = {0};
    uint64_t key[2] = {1, 0}, count = 1;
    jmp_buf nowhere;
    (void)state;
    assert_false(arena_guard(&arena, nowhere));
    const struct type *types[] = {&type_i64, type_string(&arena, 16)};
    for (size_t host = 0; host < 2; host++) {
        const struct map_entry entry = {key, &count};
        const struct map_snapshot map = {"@m", types[host], make_type(&arena, "count", &type_u64, 0), &entry,
                                         1};
        put(&message, &map, 0, LAST);
        give(merge, host, &message);
    }
    assert_non_null(strstr(text_string(&screen.said), "WARNING: @m has not the same type"));
    shows(merge, &screen, "\n\n@m[\x01]: 1\n@m[1]: 1\n");
    text_free(&message);
    arena_free(&arena);
}

/* ---- who draws what is printed ---- */

struct drawing {
    struct text told; /* a line for each thing that was told */
};

/* No time that a host names is outside of the trace. */
static void see_time(uint64_t time)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    assert_true(time > SECOND); /* put() says that it is the first second of the machine */
    assert_true(time <= (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec);
}

static void draw_map(void *state, struct printer *printer, const struct map_snapshot *map, size_t top,
                     uint64_t divisor)
{
    struct drawing *drawing = state;
    text_printf(&drawing->told, "%s, %zu keys, %zu of them, by %d%s\n", map->name, map->count, top,
                (int)divisor, printer->moment ? "" : ", at the end");
    if (printer->moment)
        see_time(printer->moment);
}

static void draw_emptied(void *state, const char *map, uint64_t moment)
{
    struct drawing *drawing = state;
    text_printf(&drawing->told, "%s emptied\n", map);
    see_time(moment);
}

static void draw_line(void *state, uint64_t time, const char *bytes, size_t length)
{
    struct drawing *drawing = state;
    text_add(&drawing->told, "line ");
    text_append(&drawing->told, bytes, length);
    see_time(time);
}

static void draw_passed(void *state, struct session *session, uint64_t time, bool is_end)
{
    struct drawing *drawing = state;
    text_add(&drawing->told, is_end ? "the end\n" : "the beginning\n");
    see_time(time);
    assert_null(session);
}

static void whoever_draws_is_told(void **state)
{
    struct arena arena = {0};
    struct screen screen = {0};
    struct drawing drawing = {0};
    const struct map_watcher watcher = {.state = &drawing, .printed = draw_map, .emptied = draw_emptied};
    const struct session_observer observer = {.state = &drawing, .printed = draw_line, .passed = draw_passed};
    struct merge_options options = options_of(&screen);
    struct text message = {0};
    uint64_t count = 5, key[2] = {0};
    jmp_buf nowhere;
    (void)state;
    options.watcher = &watcher;
    options.observer = &observer;
    struct merge *merge = merge_new(&options);
    assert_false(arena_guard(&arena, nowhere));
    merge_begin(merge);
    const struct type *value = make_type(&arena, "count", &type_u64, 0);
    const struct map_entry entry = {key, &count};
    const struct map_snapshot maps[] = {{"@m", NULL, value, &entry, 1}, {"@m", &type_i64, value, &entry, 1}};
    for (size_t host = 0; host < 2; host++) {
        put(&message, &maps[0], 0, RUNNING);
        give(merge, host, &message);
        assert_int_equal(merge_lines(merge, host, UINT64_MAX, false, "line\n", 5), 0);
        put_emptied(&message, &maps[1], host * 2 * SECOND);
        give(merge, host, &message);
        put(&message, &maps[0], 0, LAST);
        give(merge, host, &message);
    }
    shows(merge, &screen, "@m: 10\n@m[0]: 10\na: line\nb\x1b[2J: line\n\n\n@m: 10\n");
    assert_string_equal(text_string(&drawing.told),
                        "the beginning\n@m, 1 keys, 0 of them, by 0\n@m (type 2) emptied\n"
                        "@m (type 2), 1 keys, 0 of them, by 0\nline a: line\nline b\x1b[2J: line\n"
                        "the end\n@m, 1 keys, 0 of them, by 0, at the end\n");
    text_free(&drawing.told);
    text_free(&message);
    arena_free(&arena);
}

/* ---- lines ---- */

static void lines_are_in_order_of_time(void **state)
{
    struct screen screen = {0};
    struct merge_options options = options_of(&screen);
    options.is_terminal = false;
    struct merge *merge = merge_new(&options);
    (void)state;
    assert_int_equal(merge_lines(merge, 0, 30, false, "third\n", 6), 0);
    assert_int_equal(merge_lines(merge, 1, 10, false, "first\nsec", 9), 0);
    assert_int_equal(merge_lines(merge, 1, 20, false, "ond\nno end", 10), 0);
    merge_go_on(merge);
    assert_string_equal(text_string(&screen.out), ""); /* the other host may have older ones */
    merge_mark(merge, 0, 25);
    merge_mark(merge, 1, 15);
    merge_go_on(merge);
    assert_string_equal(text_string(&screen.out), "b\x1b[2J: first\n");
    shows(merge, &screen, "b\x1b[2J: first\nb\x1b[2J: second\nb\x1b[2J: no end\na: third\n");
}

/* Each host prints a heading, a map, another heading and the map once more. */
static void headings_stay_above_their_maps(void **state)
{
    struct arena arena = {0};
    struct screen screen = {0};
    const struct merge_options options = options_of(&screen);
    struct merge *merge = merge_new(&options);
    struct text message = {0};
    uint64_t count = 1;
    jmp_buf nowhere;
    (void)state;
    assert_false(arena_guard(&arena, nowhere));
    const struct map_entry entry = {NULL, &count};
    const struct map_snapshot map = {"@m", NULL, make_type(&arena, "count", &type_u64, 0), &entry, 1};
    put(&message, &map, 0, AT_END);
    for (size_t host = 0; host < 2; host++) {
        assert_int_equal(merge_lines(merge, host, 50 - host, true, "one\n", 4), 0);
        give(merge, host, &message);
        assert_int_equal(merge_lines(merge, host, 60 - host, true, "two\n", 4), 0);
        give(merge, host, &message);
    }
    assert_string_equal(text_string(&screen.said), "");
    shows(merge, &screen, "a: one\nb\x1b[2J: one\n@m: 2\na: two\nb\x1b[2J: two\n@m: 2\n");
    text_free(&message);
    arena_free(&arena);
}

static void lines_of_json_are_json(void **state)
{
    struct screen screen = {0};
    struct merge_options options = options_of(&screen);
    options.json = true;
    struct merge *merge = merge_new(&options);
    (void)state;
    static const char lines[] = "{\"type\": \"printf\", \"data\": \"x\"}\n{}\n{\"forged\n\x1b[2J\n";
    assert_int_equal(merge_lines(merge, 0, 1, false, lines, sizeof lines - 1), 0);
    shows(merge, &screen,
          "{\"host\": \"a\", \"type\": \"printf\", \"data\": \"x\"}\n{\"host\": \"a\"}\n"
          "{\"host\": \"a\", \"type\": \"text\", \"data\": \"{\\\"forged\"}\n"
          "{\"host\": \"a\", \"type\": \"text\", \"data\": \"\\u001b[2J\"}\n");
}

/* ---- damage ---- */

/* Maps of many types, one after the other. */
static void put_some(struct arena *arena, struct text *out, unsigned which)
{
    static const struct enumerator enumerators[] = {{"zero", 0}, {"one", 1}};
    static uint64_t words[1 << 16];
    struct type *number = arena_new(arena, struct type), *quantile;
    *number =
        (struct type){.kind = TYPE_ENUM, .size = 4, .name = "e", .count = 2, .enumerators = enumerators};
    const struct type *const elements[] = {number, type_string(arena, 16), type_probe_name(arena, 0)};
    const struct type *tuple = type_tuple(arena, elements, 3);
    const struct type *key = NULL, *value = NULL;
    switch (which) {
    case 0: key = tuple, value = make_type(arena, "count", &type_u64, 0); break;
    case 1: value = make_type(arena, "lhist", &type_i64, 3); break;
    case 2: key = tuple, value = make_type(arena, "hist", &type_i64, 1); break;
    case 3: value = make_type(arena, "topk", type_string(arena, 16), 5); break;
    case 4: value = make_type(arena, "tseries", &type_i64, SECOND); break;
    case 5:
        quantile = (struct type *)make_type(arena, "quantile", &type_i64, 5);
        quantile->count = 1;
        quantile->enumerators = arena_new(arena, struct enumerator);
        *(struct enumerator *)quantile->enumerators = (struct enumerator){"p50", 500000};
        value = quantile;
        break;
    case 6: key = type_buffer(arena, 9), value = make_type(arena, "stats", &type_i64, 0); break;
    default: key = type_array(arena, number, 3), value = tuple;
    }
    const struct map_entry entry = {words, words};
    const struct map_snapshot map = {"@map", key, value, &entry, 1};
    words[0] = words[1] = words[2] = 1;
    put_by((struct printer){.bcc_histograms = which < 4, .histogram_title = "a title"}, out, &map, 1,
           which % 2 ? LAST : RUNNING);
}

static void damage(struct text *message)
{
    for (int changes = rand() % 4 + 1; changes > 0; changes--) {
        static const uint64_t odd[] = {0, 1, 7, 8, 255, 1 << 20, UINT32_MAX, INT64_MAX, UINT64_MAX};
        const size_t at = (size_t)rand() % message->length, word = at & ~(size_t)7;
        if (rand() % 2)
            message->bytes[at] = (char)rand();
        else if (word + 8 <= message->length)
            memcpy(message->bytes + word, &odd[(size_t)rand() % (sizeof odd / sizeof *odd)], 8);
    }
    if (!(rand() % 8))
        text_truncate(message, (size_t)rand() % message->length);
}

static void damaged_maps_are_refused_or_printed(void **state)
{
    enum { TRIES = 4000, KINDS = 8, HEAD = 512 };
    struct arena arena = {0};
    jmp_buf nowhere;
    unsigned refused = 0, taken = 0;
    (void)state;
    srand(1);
    assert_false(arena_guard(&arena, nowhere));
    for (unsigned i = 0; i < TRIES; i++) {
        struct screen screen = {0};
        struct merge_options options = options_of(&screen);
        struct text message = {0}, exact = {0}, drawn = {0};
        struct chart chart;
        struct history history;
        options.json = i % 3 == 0;
        options.per_host = i % 5 == 0;
        chart_begin(&chart);
        history_begin(&history, "damage", options.json);
        chart.watcher.next = &history.watcher;
        options.watcher = &chart.watcher;
        options.observer = &history.observer;
        struct merge *merge = merge_new(&options);
        const struct arena_mark before = arena_mark(&arena);
        for (size_t host = 0; host < 2; host++) {
            put_some(&arena, &message, i % KINDS);
            struct text head = {0}; /* most of what can be wrong is at the beginning */
            text_append(&head, message.bytes, message.length < HEAD ? message.length : HEAD);
            if (host)
                damage(&head);
            text_append(&exact, head.bytes, head.length);
            if (head.length == HEAD)
                text_append(&exact, message.bytes + HEAD, message.length - HEAD);
            const int error = merge_map(merge, host, cursor_over(exact.bytes, exact.length), 0);
            assert_true(!error || error == -EBADMSG || error == -ENOMEM);
            assert_true(host || !error);
            *(error ? &refused : &taken) += 1;
            text_free(&head);
            text_free(&exact);
        }
        merge_over(merge, 0);
        merge_over(merge, 1);
        merge_finish(merge);
        if (i % 16 == 0) {
            assert_int_equal(chart_draw(&chart, "damage", &drawn), 0);
            assert_int_equal(history_write(&history, &drawn), 0);
        }
        merge_free(merge);
        chart_free(&chart);
        history_free(&history);
        text_free(&drawn);
        text_free(&screen.out);
        text_free(&screen.said);
        text_free(&message);
        arena_rewind(&arena, &before);
    }
    arena_free(&arena);
    assert_true(refused > TRIES / 4 && taken > TRIES);
}

/* What computes with these numbers relies on the checker of the language, which has not seen them. */
static void numbers_out_of_bounds_are_refused(void **state)
{
    static const struct {
        const char *map, *kind, *share;
        int64_t step, maximum;
        int error;
    } tries[] = {
        {"@s", "tseries", NULL, SECOND, 10, 0},
        {"@s", "tseries", NULL, 0, 10, -EBADMSG},
        {"@s", "tseries", NULL, SECOND, 0, -EBADMSG},
        {"@s", "tseries", NULL, SECOND, INT64_MAX, -EBADMSG},
        {"@t", "topk", NULL, 1000, 0, 0},
        {"@t", "topk", NULL, 0, 0, -EBADMSG},
        {"@t", "topk", NULL, 1001, 0, -EBADMSG},
        {"@h", "hist", NULL, -1, 0, -EBADMSG},
        {"@q", "quantile", "p50", 5, 0, 0},
        {"@q", "quantile", "p50\": \"", 5, 0, -EBADMSG},
        {"@q\nERROR", "quantile", "p50", 5, 0, -EBADMSG},
    };
    static uint64_t words[1 << 16];
    struct arena arena = {0};
    jmp_buf nowhere;
    (void)state;
    assert_false(arena_guard(&arena, nowhere));
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct screen screen = {0};
        const struct merge_options options = options_of(&screen);
        struct merge *merge = merge_new(&options);
        struct text message = {0};
        struct enumerator share = {tries[i].share, 500000};
        struct type *type = (struct type *)make_type(&arena, tries[i].kind, &type_i64, tries[i].step);
        type->maximum = tries[i].maximum;
        type->count = tries[i].share != NULL;
        type->enumerators = &share;
        const struct map_entry entry = {NULL, words};
        const struct map_snapshot map = {tries[i].map, NULL, type, &entry,
                                         tries[i].step > 0 && tries[i].step <= 1000};
        put(&message, &map, 0, LAST);
        assert_int_equal(merge_map(merge, 0, cursor_over(message.bytes, message.length), 0), tries[i].error);
        merge_free(merge);
        text_free(&message);
        text_free(&screen.out);
        text_free(&screen.said);
    }
    arena_free(&arena);
}

static void requests_are_taken_whole(void **state)
{
    static const char *const words[] = {"-e", "begin { }\n'$(x)'", ""}, *const names[] = {"script.bt"};
    const struct remote_request request = {words, 3, names, 1, true};
    struct text out = {0};
    struct cursor payload;
    enum remote_message message;
    size_t at = 0;
    (void)state;
    remote_put_request(&out, &request);
    for (size_t length = out.length, part = 0; part < length; part++) {
        out.length = part;
        assert_int_equal(remote_take(&out, &at, &message, &payload), 0);
        out.length = length;
    }
    assert_int_equal(remote_take(&out, &at, &message, &payload), 1);
    assert_int_equal(message, REMOTE_REQUEST);
    struct remote_request taken;
    assert_true(remote_take_request(&payload, &taken));
    assert_int_equal(taken.word_count, 3);
    assert_true(taken.is_terminal);
    assert_string_equal(taken.words[1], words[1]);
    assert_string_equal(taken.names[0], names[0]);
    free((void *)taken.words);
    free((void *)taken.names);
    const struct remote_head bad[] = {{REMOTE_MESSAGES, 0}, {REMOTE_MAP, UINT32_MAX}};
    for (size_t i = 0; i < 2; i++) {
        text_clear(&out);
        text_append(&out, (const char *)&bad[i], sizeof *bad);
        assert_int_equal(remote_take(&out, &(size_t){0}, &message, &payload), -EBADMSG);
    }
    text_free(&out);
}

/* ---- the other end ---- */

static volatile sig_atomic_t interrupts;

static void interrupted(int number)
{
    interrupts += number == SIGINT;
}

/* Whoever asks for the end while many probes are attached is heard, and so is the end of the connection. */
static void the_end_is_heard_while_probes_are_attached(void **state)
{
    struct remote_end end = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct session_options options = {0};
    struct text stop = {0};
    int in[2];
    (void)state;
    assert_int_equal(pipe(in), 0);
    end.in = in[0];
    end.out = open("/dev/null", O_WRONLY);
    signal(SIGINT, interrupted);
    remote_end_watch(&end, &options);
    options.progress(&end, 1, 3);
    assert_int_equal(interrupts, 0);
    remote_put(&stop, REMOTE_STOP, NULL);
    assert_int_equal(write(in[1], stop.bytes, stop.length), stop.length);
    options.progress(&end, 2, 3);
    assert_int_equal(interrupts, 1);
    assert_false(end.is_lost);
    close(in[1]);
    options.progress(&end, 3, 3);
    assert_int_equal(interrupts, 2);
    assert_true(end.is_lost);
    signal(SIGINT, SIG_DFL);
    text_free(&stop);
    text_free(&end.received);
    text_free(&end.sending);
    close(in[0]);
    close(end.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_added_up),
        cmocka_unit_test(what_has_no_rule_is_kept_apart),
        cmocka_unit_test(maps_are_printed_as_the_script_wants),
        cmocka_unit_test(types_that_differ_are_told),
        cmocka_unit_test(whoever_draws_is_told),
        cmocka_unit_test(lines_are_in_order_of_time),
        cmocka_unit_test(headings_stay_above_their_maps),
        cmocka_unit_test(lines_of_json_are_json),
        cmocka_unit_test(damaged_maps_are_refused_or_printed),
        cmocka_unit_test(numbers_out_of_bounds_are_refused),
        cmocka_unit_test(requests_are_taken_whole),
        cmocka_unit_test(the_end_is_heard_while_probes_are_attached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
