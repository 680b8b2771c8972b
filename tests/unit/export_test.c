/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the exports, on recordings made by hand: names that a format must not stumble over, relations that form
 * cycles, more objects than are kept, and a sink that takes no bytes. Whole recordings are exported by
 * tests/programs/export.sh. */
#include "reader_testing.h"

#include <errno.h>

#include "export/export.h"
#include "export/living.h"
#include "base/proto.h"

enum { NEW = 65, STEP, CHILD_NEW = 129, CHILD_STEP };

struct written { /* what a sink received */
    struct text metadata, rest;
    size_t left; /* bytes that it still takes */
};

static int take(void *context, const char *file, const void *bytes, size_t length)
{
    struct written *written = context;
    if (length > written->left)
        return -ENOSPC;
    written->left -= length;
    const bool is_about = file && (!strcmp(file, "metadata") || !strcmp(file, ".schema.json"));
    text_append(is_about ? &written->metadata : &written->rest, bytes, length);
    return 0;
}

static int run_rows(const struct spdk_file *file, const char *format, enum export_rows rows,
                    struct written *written)
{
    struct recording *recording;
    struct recording_event event;
    struct object_step step;
    struct text why = {0};
    struct export export;
    const struct export_sink sink = {written, take};
    assert_int_equal(reader_open_bytes(file, sizeof *file, "made", &recording, &why), 0);
    struct objects *objects = objects_make(recording);
    int error = export_begin(&export, export_format_find(format), recording,
                             &(struct export_choice){rows, NULL}, &sink);
    while (!error && recording_next(recording, &event) == 1) {
        assert_int_equal(objects_follow(objects, &event, &step), 0);
        error = export_event(&export, &event, &step);
    }
    export.objects = objects;
    if (!error)
        error = export_end(&export);
    export_free(&export);
    objects_free(objects);
    recording_close(recording);
    return error;
}

static int run(const struct spdk_file *file, const char *format, struct written *written)
{
    return run_rows(file, format, EXPORT_EVENTS, written);
}

static void release(struct written *written)
{
    text_free(&written->metadata);
    text_free(&written->rest);
}

/* Makes a recording of parents r and children i: each event of `i` names its `r`; with a cycle, the events of `r`
 * name an `i` too. */
static struct spdk_file *make_file(bool cycle)
{
    struct spdk_file *file = spdk_file_make(1000000000);
    spdk_add_types(file);
    static const struct {
        const char *name;
        uint16_t id;
        uint8_t type, is_new;
    } all[] = {{"NEW", NEW, 2, 1},
               {"STEP;x", STEP, 2, 0},
               {"CHILD_NEW", CHILD_NEW, 1, 1},
               {"CHILD_STEP", CHILD_STEP, 1, 0}};
    for (size_t i = 0; i < 4; i++) {
        struct spdk_tracepoint *tracepoint =
            spdk_add_tracepoint(file, all[i].name, all[i].id, all[i].type, all[i].type, all[i].is_new);
        spdk_add_argument(tracepoint, "ctx", 1, 8);
        if (all[i].type == 1 || cycle)
            tracepoint->relations[0].object_type = all[i].type == 1 ? 2 : 1;
    }
    return file;
}

static void record(struct spdk_file *file, uint64_t time, uint16_t id, uint64_t object, uint64_t related)
{
    spdk_record(file, 0, 1000 + time, id, 2, 0, object, &related, 8);
}

/* r lives from 0 to 100 and steps at 40. Its children live from 10 to 30, from 50 to 90 and from 60 to 70; in the
 * second stage of r they cover 40 of its 60. The time after an object's last event is not known. */
static void test_folded_time_is_taken_once(void **state)
{
    (void)state;
    struct spdk_file *file = make_file(false);
    struct written written = {.left = SIZE_MAX};
    record(file, 0, NEW, 1, 0);
    record(file, 10, CHILD_NEW, 11, 1);
    record(file, 30, CHILD_STEP, 11, 1);
    record(file, 40, STEP, 1, 0);
    record(file, 50, CHILD_NEW, 12, 1);
    record(file, 60, CHILD_NEW, 13, 1);
    record(file, 70, CHILD_STEP, 13, 1);
    record(file, 90, CHILD_STEP, 12, 1);
    record(file, 100, STEP, 1, 0);
    record(file, 200, NEW, 1, 0); /* another object with the same id */
    record(file, 205, STEP, 1, 0);
    assert_int_equal(run(file, "folded", &written), 0);
    assert_string_equal(text_string(&written.rest), "t02;r;NEW 25\n"
                                                    "t02;r;NEW;i;CHILD_NEW 20\n"
                                                    "t02;r;STEP:x 20\n"
                                                    "t02;r;STEP:x;i;CHILD_NEW 50\n");
    release(&written);
    free(file);
}

static void test_circles_end(void **state)
{
    (void)state;
    static const char *const names[] = {"folded", "perfetto", "ctf", "csv", "ndjson"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct spdk_file *file = make_file(true);
        struct written written = {.left = SIZE_MAX};
        for (uint64_t time = 0; time < 1000; time += 2) {
            record(file, time, time ? STEP : NEW, 1, 11);
            record(file, time + 1, time ? CHILD_STEP : CHILD_NEW, 11, 1);
        }
        assert_int_equal(run(file, names[i], &written), 0);
        assert_true(written.rest.length > 0 && written.rest.length < 500000);
        release(&written);
        free(file);
    }
}

static void test_names_in_metadata(void **state)
{
    (void)state;
    struct spdk_file *file = spdk_file_make(1000000000);
    struct written written = {.left = SIZE_MAX};
    spdk_add_types(file);
    struct spdk_tracepoint *tracepoint = spdk_add_tracepoint(file, "A\"; }; \\ \xff", NEW, 1, 1, 1);
    static const char *const names[] = {"event", "a b", "a_b", "a-b", "", "9", "\"}"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        spdk_add_argument(tracepoint, names[i], i % 2 ? 1 : 0, 8);
    record(file, 0, NEW, 1, 0);
    assert_int_equal(run(file, "ctf", &written), 0);
    const char *text = text_string(&written.metadata);
    assert_non_null(strstr(text, "A\\\"; }; \\\\ ?\";"));
    assert_non_null(strstr(text,
                           "\t\ts64 _event;\n\t\tpointer _a_b;\n\t\ts64 _a_b__2;\n\t\tpointer _a_b__3;\n"
                           "\t\ts64 _;\n\t\tpointer _9;\n\t\ts64 ___;\n"));
    release(&written);
    free(file);
}

static void test_a_sink_that_is_full(void **state)
{
    (void)state;
    static const char *const names[] = {"folded", "perfetto", "ctf", "csv", "ndjson"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct spdk_file *file = make_file(false);
        for (uint64_t time = 0; time < 1000; time++)
            record(file, time, time ? STEP : NEW, 1, 0);
        struct written all = {.left = SIZE_MAX};
        assert_int_equal(run(file, names[i], &all), 0);
        const size_t whole = SIZE_MAX - all.left;
        release(&all);
        const size_t rooms[] = {0, whole / 2, whole - 1};
        for (size_t j = 0; j < 3; j++) {
            struct written written = {.left = rooms[j]};
            assert_int_equal(run(file, names[i], &written), -ENOSPC);
            release(&written);
        }
        free(file);
    }
}

/* As the folded stacks above: r, its child, and another r with the same id. No event says that they end. */
static void test_a_row_for_each_object(void **state)
{
    (void)state;
    struct spdk_file *file = make_file(false);
    struct written written = {.left = SIZE_MAX};
    record(file, 0, NEW, 1, 0);
    record(file, 10, CHILD_NEW, 11, 1);
    record(file, 30, CHILD_STEP, 11, 1);
    record(file, 40, STEP, 1, 0);
    record(file, 55, STEP, 1, 0);
    record(file, 200, NEW, 1, 0);
    record(file, 205, STEP, 1, 0);
    assert_int_equal(run_rows(file, "ndjson", EXPORT_OBJECTS, &written), 0);
    const char *text = text_string(&written.rest);
    assert_non_null(strstr(text,
                           "\"object_type\":\"r\",\"object_number\":0,\"object_id\":1,\"begins\":true,"
                           "\"ends\":true,\"life_ns\":55,\"seen_ns\":55,\"events\":3,\"size\":0,"
                           "\"at_NEW_ns\":0,\"step_NEW_ns\":40,\"at_STEP;x_ns\":40,\"step_STEP;x_ns\":15,"));
    assert_non_null(strstr(text, "\"object_number\":0,\"object_id\":11,\"parent_type\":\"r\","
                                 "\"parent_number\":0,\"parent_id\":1,\"begins\":true,"));
    assert_non_null(
        strstr(text, "\"object_number\":1,\"object_id\":1,\"begins\":true,\"ends\":true,\"life_ns\":5,"));
    assert_non_null(strstr(text_string(&written.metadata), "\"count\": 3,"));
    release(&written);
    free(file);
}

static void test_names_in_a_table(void **state)
{
    (void)state;
    struct spdk_file *file = spdk_file_make(1000000000);
    struct written written = {.left = SIZE_MAX};
    spdk_add_types(file);
    struct spdk_tracepoint *tracepoint = spdk_add_tracepoint(file, "A\",\xff", NEW, 1, 1, 1);
    static const char *const names[] = {"size", "Size", "a,b", "", "size", "\"`"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        spdk_add_argument(tracepoint, names[i], 0, 8);
    record(file, 0, NEW, 1, 0);
    assert_int_equal(run(file, "csv", &written), 0);
    assert_non_null(
        strstr(text_string(&written.rest),
               "\"arg_size\",\"arg_Size_2\",\"arg_a,b\",\"arg_\",\"arg_size_3\",\"arg_\"\"`\"\n"));
    assert_non_null(strstr(text_string(&written.metadata), "`arg_\\\"\\\\`` Nullable(Int64)"));
    release(&written);
    free(file);
}

/* When the table is full, the object without an event for the longest time is removed. */
static void test_living_is_bounded(void **state)
{
    (void)state;
    struct living_table table = {0};
    for (uint64_t id = 0; id < LIVING_MAX + 1000; id++) {
        struct living *surplus = living_surplus(&table);
        assert_int_equal(surplus != NULL, id >= LIVING_MAX);
        if (surplus) {
            assert_true(surplus->id == id - LIVING_MAX + 1); /* not object 0, which is used each time */
            living_remove(&table, surplus);
        }
        assert_int_equal(living_add(&table, malloc(sizeof(struct living)), (int16_t)(id % 2), id), 0);
        struct living *first = living_find(&table, 0, 0);
        assert_non_null(first);
        living_touch(&table, first);
        assert_null(living_find(&table, 1, 0));
    }
    assert_int_equal(table.count, LIVING_MAX);
    assert_null(living_find(&table, 1, 1));
    assert_non_null(living_find(&table, 1, LIVING_MAX + 1));
    living_free(&table);
    assert_null(living_find(&table, 0, 0));
}

static void test_encoding(void **state)
{
    (void)state;
    struct text out = {0};
    proto_number(&out, 1, 150);
    proto_signed(&out, 2, -1);
    proto_fixed(&out, 16, 1);
    proto_string(&out, 3,
                 "a\xff"
                 "b\xc3\xbc\xc3",
                 6);
    static const char expected[] = "\x08\x96\x01"
                                   "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                   "\x81\x01\x01\0\0\0\0\0\0\0"
                                   "\x1a\x06"
                                   "a?b\xc3\xbc?";
    assert_int_equal(out.length, sizeof expected - 1);
    assert_memory_equal(out.bytes, expected, out.length);
    for (size_t length = 126; length < 130; length++) { /* where a length begins to take two bytes */
        text_clear(&out);
        const size_t outer = proto_open(&out, 1), inner = proto_open(&out, 2);
        text_fill(&out, 'x', length);
        proto_close(&out, inner);
        proto_close(&out, outer);
        const size_t size = length < 128 ? 2 : 3;
        assert_int_equal(out.length, length + size + (length + size < 128 ? 2 : 3));
        assert_int_equal((unsigned char)out.bytes[out.length - length], 'x');
        assert_int_equal((unsigned char)out.bytes[out.length - length - size], 2 << 3 | 2);
    }
    text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folded_time_is_taken_once), cmocka_unit_test(test_circles_end),
        cmocka_unit_test(test_names_in_metadata),         cmocka_unit_test(test_a_sink_that_is_full),
        cmocka_unit_test(test_a_row_for_each_object),     cmocka_unit_test(test_names_in_a_table),
        cmocka_unit_test(test_living_is_bounded),         cmocka_unit_test(test_encoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
