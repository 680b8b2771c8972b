/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what the recorder records: options, environment, the filter, definitions. */
#include "recorder_testing.h"

/* ---- enabling ---- */

static bool on(unsigned tracepoint)
{
    switch (tracepoint) {
    case 0: return SPOOR_RECORDING(BDEV_IO_START);
    case 1: return SPOOR_RECORDING(BDEV_IO_DONE);
    case 2: return SPOOR_RECORDING(TCP_REQ_NEW);
    case 3: return SPOOR_RECORDING(TCP_TEXT);
    default: return SPOOR_RECORDING(TCP_ALL);
    }
}

static void the_option_string_enables(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        unsigned mask;
    } cases[] = {
        {"", 0},         {"all", 31},
        {"bdev", 3},     {"bdev:*", 3},
        {"tcp", 28},     {"bdev:BDEV_IO_DONE", 2},
        {"bdev:0x2", 2}, {"bdev:1,tcp:6", 1 | 8 | 16},
        {"*:TCP_*", 28}, {" bdev , tcp:TCP_TEXT,", 3 | 8},
        {"tcp:010", 8}, /* decimal, as on the command line */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_usual(cases[i].what);
        for (unsigned tracepoint = 0; tracepoint < 5; tracepoint++)
            if (on(tracepoint) != (cases[i].mask >> tracepoint & 1))
                fail_msg("'%s': tracepoint %u", cases[i].what, tracepoint);
        spoor_trace_close();
    }
}

static void wrong_options_are_errors_that_name_them(void **state)
{
    (void)state;
    struct spoor_trace_options options;
#define WRONG(change_, error_, text_)                                                                        \
    do {                                                                                                     \
        options = usual(NULL);                                                                               \
        change_;                                                                                             \
        assert_int_equal(spoor_trace_open(&options), error_);                                                \
        if (strstr(spoor_trace_error(), text_) == NULL)                                                      \
            fail_msg("'%s' is not in '%s'", text_, spoor_trace_error());                                     \
        assert_null(spoor_trace_path());                                                                     \
        for (unsigned tracepoint_ = 0; tracepoint_ < 5; tracepoint_++)                                       \
            assert_false(on(tracepoint_));                                                                   \
        assert_int_equal(files_in_directory(), 0);                                                           \
    } while (0)
    WRONG(options.enable = "nvme", -EINVAL, "'nvme'");
    WRONG(options.enable = "bdev:NOTHING", -EINVAL, "'NOTHING'");
    WRONG(options.enable = "bdev:12x", -EINVAL, "'12x'");
    WRONG(options.enable = "all,bdev:99999999999999999999", -EINVAL, "mask");
    WRONG(options.enable = "help", -ECANCELED, "listed");
    WRONG(options.name = "a/b", -EINVAL, "'a/b'");
    WRONG(options.name = "", -EINVAL, "name");
    WRONG(options.ring_bytes = 5000, -EINVAL, "5000");
    WRONG(options.ring_bytes = (size_t)1 << 40, -EINVAL, "ring_bytes");
    WRONG(options.threads = 1000000, -EINVAL, "threads");
    WRONG(options.size = 3, -EINVAL, "size");
    WRONG(options.directory = "/nonexistent/directory", -ENOENT, "/nonexistent/directory");
    WRONG(options.dump_signal = SIGKILL, -EINVAL, "signal 9");
    WRONG(options.ring_bytes = 1 << 30; options.threads = 3072; options.owners = 70000, -EINVAL, "owners");
#undef WRONG
    assert_int_equal(spoor_trace_open(NULL), -EINVAL);
    open_usual(NULL);
    options = usual(NULL);
    assert_int_equal(spoor_trace_open(&options), -EALREADY);
    assert_non_null(strstr(spoor_trace_error(), spoor_trace_path()));
    assert_int_equal(spoor_trace_enable("nothing"), -EINVAL);
    spoor_trace_close();
    assert_int_equal(spoor_trace_enable("all"), -ENOENT);
    spoor_trace_close(); /* a second close does nothing */
}

static void the_environment_enables(void **state)
{
    (void)state;
    setenv("SPOOR_TRACE", "bdev", 1);
    setenv("SPOOR_TRACE_DIR", directory, 1);
    struct spoor_trace_options options = {.size = sizeof options, .flags = SPOOR_TRACE_REMOVE};
    assert_int_equal(spoor_trace_open(&options), 0);
    assert_true(on(0));
    assert_false(on(2));
    assert_ptr_equal(strstr(spoor_trace_path(), directory), spoor_trace_path());
    assert_non_null(strstr(spoor_trace_path(), program_invocation_short_name));
    spoor_trace_close();
    options.enable = "tcp"; /* the program's own options win over the environment */
    assert_int_equal(spoor_trace_open(&options), 0);
    assert_false(on(0));
    assert_true(on(2));
    spoor_trace_close();
    unsetenv("SPOOR_TRACE");
    unsetenv("SPOOR_TRACE_DIR");
}

static void enabling_from_outside_is_one_byte(void **state)
{
    (void)state;
    open_usual(NULL);
    const int file = open(spoor_trace_path(), O_RDWR);
    struct recording_view view = look();
    const uint8_t one = LAYOUT_ENABLE_ON;
    const off_t at = (off_t)(view_header(&view)->enable_offset + view_tracepoint(&view, "TCP_TEXT"));
    assert_int_equal(pwrite(file, &one, 1, at), 1);
    assert_true(on(3));
    assert_false(on(2));
    close(file);
    view_close(&view);
    spoor_trace_close();
}

static void the_list_shows_masks(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    spoor_trace_list(stream);
    fclose(stream);
    assert_non_null(strstr(text, "bdev: block devices\n  BDEV_IO_START "));
    assert_non_null(strstr(text, "TCP_ALL                                  0x4\n"));
    free(text);
}

static void the_filter_passes_owners_and_objects(void **state)
{
    (void)state;
    open_usual("all");
    const uint32_t owners[] = {3, 5};
    const uint64_t objects[] = {100, 200};
    assert_int_equal(spoor_trace_filter(owners, 2, objects, 2), 0);
    for (uint32_t owner = 1; owner < 8; owner++)
        for (uint64_t object = 100; object <= 300; object += 100)
            SPOOR_RECORD(TCP_REQ_NEW, owner, object);
    assert_int_equal(gather_here()->count, 4);
    assert_int_equal(spoor_trace_filter(NULL, 0, objects, 1), 0);
    SPOOR_RECORD(TCP_REQ_NEW, 9, (uint64_t)100);
    SPOOR_RECORD(TCP_REQ_NEW, 9, (uint64_t)200);
    assert_int_equal(gather_here()->count, 5);
    assert_int_equal(spoor_trace_filter(NULL, 0, NULL, 0), 0);
    SPOOR_RECORD(TCP_REQ_NEW, 9, (uint64_t)200);
    assert_int_equal(gather_here()->count, 6);
    assert_int_equal(spoor_trace_filter(owners, 9, NULL, 0), -EINVAL);
    spoor_trace_close();
}

/* ---- definitions ---- */

static void duplicates_are_errors_that_name_both_files(void **state)
{
    (void)state;
    static const struct spoor_group same_group = {"bdev", "something else", "elsewhere/other.h", 12};
    static const struct spoor_object same_letter = {"buffer", "elsewhere/other.h", 13, 'i'};
    static const struct spoor_object same_object = {"bdev_io", "elsewhere/other.h", 14, 'z'};
    static const struct spoor_owner_type same_owner_letter = {"volume", "elsewhere/other.h", 15, 'b'};
    static struct spoor_tracepoint second;
    static struct spoor_definition definition;
    definition = *spoor_tracepoint_BDEV_IO_DONE.definition;
    definition.file = "elsewhere/other.h";
    second.definition = &definition;
    static struct spoor_entry entries[][1] = {
        {{SPOOR_ENTRY_GROUP_, &same_group, NULL}},
        {{SPOOR_ENTRY_OBJECT_, &same_letter, NULL}},
        {{SPOOR_ENTRY_OBJECT_, &same_object, NULL}},
        {{SPOOR_ENTRY_OWNER_, &same_owner_letter, NULL}},
        {{SPOOR_ENTRY_TRACEPOINT_, &second, &definition}},
        {{SPOOR_ENTRY_TRACEPOINT_, &spoor_tracepoint_BDEV_IO_DONE, &definition}},
    };
    static const char *const words[] = {"'bdev'",         "'i'",           "'bdev_io'", "'b'",
                                        "'BDEV_IO_DONE'", "'BDEV_IO_DONE'"};
    const struct spoor_trace_options options = usual(NULL);
    for (unsigned i = 0; i < 6; i++) {
        spoor_module_register_v1(entries[i], entries[i] + 1);
        assert_int_equal(spoor_trace_open(&options), -EEXIST);
        const char *error = spoor_trace_error();
        if (strstr(error, words[i]) == NULL || strstr(error, "recorder_testing.h") == NULL ||
            strstr(error, "elsewhere/other.h") == NULL)
            fail_msg("%u: %s", i, error);
        spoor_module_unregister_v1(entries[i]);
    }
    open_usual("all");
    spoor_trace_close();
}

static void the_same_header_in_another_module_is_no_duplicate(void **state)
{
    (void)state;
    static struct spoor_object again;
    again = spoor_object_bdev_io;
    again.file = "another/path/to/recorder_testing.h";
    static struct spoor_entry entry[1];
    entry[0] = (struct spoor_entry){SPOOR_ENTRY_OBJECT_, &again, NULL};
    spoor_module_register_v1(entry, entry + 1);
    open_usual(NULL);
    spoor_trace_close();
    spoor_module_unregister_v1(entry);
}

static void a_module_may_come_while_it_records(void **state)
{
    (void)state;
    static const struct spoor_group group = {"late", "loaded later", "late.h", 1};
    static const struct spoor_argument arguments[] = {{"int", "n", spoor_enum_none, SPOOR_KIND_SIGNED_, 4},
                                                      {NULL, NULL, NULL, 0, 0}};
    static const struct spoor_definition definition = {
        "LATE", "late.h", &group, &spoor_object_none, arguments, 2, 1, SPOOR_USES, 0};
    static struct spoor_tracepoint late = {&spoor_zero_, &definition, 0};
    static struct spoor_entry entries[] = {{SPOOR_ENTRY_GROUP_, &group, NULL},
                                           {SPOOR_ENTRY_TRACEPOINT_, &late, &definition}};
    open_usual("all");
    spoor_module_register_v1(entries, entries + 2);
    assert_int_equal(*late.enabled, 1);
    struct recording_view view = look();
    const uint32_t id = view_tracepoint(&view, "LATE");
    assert_int_equal(id, 6);
    assert_int_equal(late.id >> 16, id);
    spoor_module_unregister_v1(entries);
    spoor_module_register_v1(entries, entries + 2); /* the module is loaded again: nothing is added */
    assert_int_equal(late.id >> 16, id);
    const struct layout_section *section;
    assert_null(view_item(&view, LAYOUT_SECTION_TRACEPOINTS, 6, &section));
    assert_int_equal(spoor_trace_disable("late:LATE"), 0);
    assert_int_equal(*late.enabled, 0);
    view_close(&view);
    spoor_trace_close();
    spoor_module_unregister_v1(entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_option_string_enables),
        TEST(wrong_options_are_errors_that_name_them),
        TEST(the_environment_enables),
        TEST(enabling_from_outside_is_one_byte),
        TEST(the_list_shows_masks),
        TEST(the_filter_passes_owners_and_objects),
        TEST(duplicates_are_errors_that_name_both_files),
        TEST(the_same_header_in_another_module_is_no_duplicate),
        TEST(a_module_may_come_while_it_records),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
