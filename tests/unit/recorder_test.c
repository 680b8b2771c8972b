/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the recorder's file and of what a record holds. */
#include "recorder_testing.h"

/* ---- the file ---- */

static void the_file_describes_itself_and_the_program(void **state)
{
    (void)state;
    open_usual(NULL);
    struct recording_view view = look();
    const struct layout_header *header = view_header(&view);
    char path[128];
    snprintf(path, sizeof path, "%s/unit.%d.spoor", directory, (int)getpid());
    assert_string_equal(spoor_trace_path(), path);
    assert_memory_equal(header->magic, LAYOUT_MAGIC, 8);
    assert_int_equal(header->version, LAYOUT_VERSION);
    assert_int_equal(header->byte_order, LAYOUT_BYTE_ORDER);
    assert_int_equal(header->header_bytes, sizeof *header);
    assert_int_equal(header->kind, LAYOUT_KIND_RINGS);
    assert_int_equal(header->pid, getpid());
    assert_true(header->start_ticks != 0);
    assert_int_equal(header->ring_bytes, 16384);
    assert_true(header->counter_hz > 1000000);
    assert_int_equal(header->opened.check, layout_clock_check(&header->opened));
    assert_true(header->rings_offset <= view.bytes);

    const struct layout_section *section;
    const struct layout_process *process = view_item(&view, LAYOUT_SECTION_PROCESS, 0, &section);
    assert_non_null(process);
    assert_string_equal(view_text(section, process->name), "unit");
    assert_non_null(strstr(view_text(section, process->executable), "recorder_test"));

    const struct layout_group *group = view_item(&view, LAYOUT_SECTION_GROUPS, 0, &section);
    assert_string_equal(view_text(section, group->name), "bdev");
    assert_string_equal(view_text(section, group->text), "block devices");
    assert_non_null(strstr(view_text(section, group->file), "recorder_testing.h"));
    const struct layout_object *object = view_item(&view, LAYOUT_SECTION_OBJECTS, 1, &section);
    assert_string_equal(view_text(section, object->name), "tcp_request");
    assert_int_equal(object->letter, 'r');
    const struct layout_owner_type *owner = view_item(&view, LAYOUT_SECTION_OWNER_TYPES, 0, &section);
    assert_string_equal(view_text(section, owner->name), "bdev");
    assert_int_equal(owner->letter, 'b');
    assert_null(view_item(&view, LAYOUT_SECTION_GROUPS, 2, &section));

    const struct layout_tracepoint *start = view_item(&view, LAYOUT_SECTION_TRACEPOINTS, 0, &section);
    assert_string_equal(view_text(section, start->name), "BDEV_IO_START");
    assert_int_equal(start->id, 1);
    assert_int_equal(start->group, 1);
    assert_int_equal(start->object, 1);
    assert_int_equal(start->life, LAYOUT_LIFE_BEGINS);
    assert_int_equal(start->argument_count, 4);
    const struct layout_tracepoint *text = view_item(&view, LAYOUT_SECTION_TRACEPOINTS, 3, &section);
    assert_string_equal(view_text(section, text->name), "TCP_TEXT");
    assert_int_equal(text->object, 0);
    assert_int_equal(text->index, 1);

    const struct layout_relation *relation = view_item(&view, LAYOUT_SECTION_RELATIONS, 0, &section);
    assert_int_equal(relation->tracepoint, start->id);
    assert_int_equal(relation->argument, 1);
    assert_int_equal(relation->object, 2);
    view_close(&view);
    spoor_trace_close();
    assert_int_equal(files_in_directory(), 0);
}

static void arguments_have_names_types_and_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *name, *type;
        uint8_t kind, size;
    } expected[] = {
        {"a", "char", (char)-1 < 0 ? LAYOUT_KIND_SIGNED : LAYOUT_KIND_UNSIGNED, 1},
        {"b", "int8_t", LAYOUT_KIND_SIGNED, 1},
        {"c", "uint16_t", LAYOUT_KIND_UNSIGNED, 2},
        {"d", "int32_t", LAYOUT_KIND_SIGNED, 4},
        {"e", "long long", LAYOUT_KIND_SIGNED, 8},
        {"f", "_Bool", LAYOUT_KIND_BOOL, 1},
        {"g", "float", LAYOUT_KIND_REAL, 4},
        {"h", "double", LAYOUT_KIND_REAL, 8},
        {"i", "message_function", LAYOUT_KIND_POINTER, 8},
        {"j", "const int *", LAYOUT_KIND_POINTER, 8},
        {"k", "unsigned long", LAYOUT_KIND_UNSIGNED, 8},
        {"l", "enum io_type", LAYOUT_KIND_SIGNED, 4},
    };
    open_usual(NULL);
    struct recording_view view = look();
    const uint32_t id = view_tracepoint(&view, "TCP_ALL");
    const struct layout_section *section;
    const struct layout_argument *argument;
    unsigned found = 0;
    uint32_t enumeration = 0;
    for (unsigned i = 0; (argument = view_item(&view, LAYOUT_SECTION_ARGUMENTS, i, &section)) != NULL; i++) {
        if (argument->tracepoint != id)
            continue;
        assert_int_equal(argument->index, found);
        assert_string_equal(view_text(section, argument->name), expected[found].name);
        assert_string_equal(view_text(section, argument->type), expected[found].type);
        assert_int_equal(argument->kind, expected[found].kind);
        assert_int_equal(argument->size, expected[found].size);
        enumeration = argument->enumeration;
        found++;
    }
    assert_int_equal(found, 12);
    assert_int_equal(enumeration, 1); /* shared with BDEV_IO_START */
    const struct layout_enumerator *value = view_item(&view, LAYOUT_SECTION_ENUMERATORS, 3, &section);
    assert_string_equal(view_text(section, value->name), "IO_WRONG");
    assert_int_equal(value->value, -1);
    assert_null(view_item(&view, LAYOUT_SECTION_ENUMERATORS, 4, &section));
    view_close(&view);
    spoor_trace_close();
}

static void the_file_is_locked_by_its_writer(void **state)
{
    (void)state;
    open_usual(NULL);
    const int file = open(spoor_trace_path(), O_RDONLY);
    assert_int_equal(flock(file, LOCK_SH | LOCK_NB), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    spoor_trace_close();
    assert_int_equal(flock(file, LOCK_SH | LOCK_NB), 0);
    close(file);
}

static void a_file_that_a_dead_process_left_is_replaced(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/unit.%d.spoor", directory, (int)getpid());
    close(open(path, O_WRONLY | O_CREAT, 0600));
    open_usual(NULL);
    spoor_trace_close();

    const int held = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(held, LOCK_EX), 0);
    const struct spoor_trace_options options = usual(NULL);
    assert_int_equal(spoor_trace_open(&options), -EEXIST);
    assert_non_null(strstr(spoor_trace_error(), path));
    close(held);
    unlink(path);

    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(spoor_trace_open(&options), -EEXIST);
    unlink(path);
}

/* ---- records ---- */

static void records_hold_what_was_given(void **state)
{
    (void)state;
    open_usual("all");
    int thing, context;
    SPOOR_RECORD(BDEV_IO_START, 7, &thing, IO_WRITE, &context, 12048, 2);
    SPOOR_RECORD_SIZED(TCP_REQ_NEW, 4096, SPOOR_NO_OWNER, (uint64_t)520);
    SPOOR_RECORD(TCP_ALL, 1, 0, 'x', -2, 65535, INT32_MIN, -5, true, 1.5f, -2.25, (message_function)0x1234,
                 &thing, ~0ul, IO_WRONG);
    struct gathered *all = gather_here();
    assert_int_equal(all->count, 3);
    const struct layout_record *record = &all->records[0].record;
    assert_int_equal(layout_record_id(record->start), 1);
    assert_int_equal(layout_record_bytes(record->start), 64);
    assert_int_equal(record->object, (uintptr_t)&thing);
    assert_int_equal(record->owner, 7);
    assert_int_equal(record->size, 0);
    assert_int_equal(record->arguments[0], IO_WRITE);
    assert_int_equal(record->arguments[1], (uintptr_t)&context);
    assert_int_equal(record->arguments[2], 12048);
    assert_int_equal(record->arguments[3], 2);
    record = &all->records[1].record;
    assert_int_equal(layout_record_bytes(record->start), 32);
    assert_int_equal(record->object, 520);
    assert_int_equal(record->size, 4096);
    assert_true(record->stamp >= all->records[0].record.stamp);
    record = &all->records[2].record;
    const uint64_t *words = record->arguments;
    double real;
    assert_int_equal(words[0], 'x');
    assert_int_equal(words[1], -2);
    assert_int_equal(words[2], 65535);
    assert_int_equal(words[3], (int64_t)INT32_MIN);
    assert_int_equal(words[4], -5);
    assert_int_equal(words[5], 1);
    memcpy(&real, &words[6], 8);
    assert_true(real == 1.5);
    memcpy(&real, &words[7], 8);
    assert_true(real == -2.25);
    assert_int_equal(words[8], 0x1234);
    assert_int_equal(words[9], (uintptr_t)&thing);
    assert_int_equal(words[10], ~0ul);
    assert_int_equal(words[11], -1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(all->records[i].number, i);
    spoor_trace_close();
}

static void strings_are_recorded_at_their_length(void **state)
{
    (void)state;
    static char huge[10000];
    memset(huge, 'h', sizeof huge - 1);
    open_usual("tcp");
    char other[] = "12345678";
    SPOOR_RECORD(TCP_TEXT, 0, 0, "Hello!", 3, other);
    SPOOR_RECORD(TCP_TEXT, 0, 0, NULL, 4, NULL);
    SPOOR_RECORD(TCP_TEXT, 0, 0, "", 5, huge);
    SPOOR_RECORD(TCP_TEXT, 0, 0, huge, 6, huge);
    struct gathered *all = gather_here();
    assert_int_equal(all->count, 4);
    const struct layout_record *record = &all->records[0].record;
    assert_string_equal(string_argument(record, 0), "Hello!");
    assert_int_equal(record->arguments[1], 3);
    assert_string_equal(string_argument(record, 2), "12345678");
    assert_int_equal(layout_record_bytes(record->start), 32 + 24 + 16);
    assert_memory_equal((const char *)record + 56, "Hello!\0\0", 8); /* nothing of an older record follows */
    record = &all->records[1].record;
    assert_null(string_argument(record, 0));
    assert_int_equal(record->arguments[1], 4);
    record = &all->records[2].record;
    assert_string_equal(string_argument(record, 0), "");
    assert_int_equal(string_length(record, 2), 9999);
    assert_true(strlen(string_argument(record, 2)) > 1900);
    record = &all->records[3].record;
    assert_int_equal(record->arguments[1], 6);
    assert_int_equal(string_length(record, 0), 9999);
    assert_true(layout_record_bytes(record->start) <= LAYOUT_BLOCK_BYTES - LAYOUT_BLOCK_HEADER_BYTES);
    spoor_trace_close();
}

static unsigned evaluated;

static uint64_t evaluate(void)
{
    return ++evaluated;
}

static void arguments_are_evaluated_once_and_only_when_on(void **state)
{
    (void)state;
    evaluated = 0;
    SPOOR_RECORD(BDEV_IO_START, 0, evaluate(), IO_READ, NULL, evaluate(), 0);
    open_usual("tcp");
    SPOOR_RECORD(BDEV_IO_START, 0, evaluate(), IO_READ, NULL, evaluate(), 0);
    assert_int_equal(evaluated, 0);
    assert_false(SPOOR_RECORDING(BDEV_IO_START));
    assert_int_equal(spoor_trace_enable("bdev"), 0);
    assert_true(SPOOR_RECORDING(BDEV_IO_START));
    SPOOR_RECORD(BDEV_IO_START, 0, evaluate(), IO_READ, NULL, evaluate(), 0);
    assert_int_equal(evaluated, 2);
    spoor_trace_close();
    SPOOR_RECORD(BDEV_IO_START, 0, evaluate(), IO_READ, NULL, evaluate(), 0);
    assert_int_equal(evaluated, 2);
}

static void what_is_overwritten_is_known(void **state)
{
    (void)state;
    open_usual("all");
    enum { MANY = 5000 };
    for (uint64_t i = 0; i < MANY; i++)
        SPOOR_RECORD(BDEV_IO_START, 0, i, IO_READ, NULL, i, 0);
    struct recording_view view = look();
    struct gathered *all = gather_ring(&view, 0);
    assert_int_equal(all->count, GATHERED);
    for (unsigned i = 0; i < GATHERED; i++) {
        assert_int_equal(all->records[i].number, MANY - GATHERED + i);
        assert_int_equal(all->records[i].record.arguments[2], MANY - GATHERED + i);
    }
    const struct layout_ring *ring = view_ring(&view, 0);
    assert_int_equal(ring_number(ring), MANY);
    assert_int_equal(ring->reserved, ring->committed);
    view_close(&view);
    spoor_trace_close();
}

static void errno_is_preserved(void **state)
{
    (void)state;
    open_usual("all");
    for (int i = 0; i < 200; i++) { /* the first record creates the ring, later ones open blocks */
        errno = 4711;
        SPOOR_RECORD(BDEV_IO_DONE, 0, 0, NULL);
        assert_int_equal(errno, 4711);
    }
    spoor_trace_close();
}

static void blocks_carry_thread_and_clock(void **state)
{
    (void)state;
    char name[16];
    prctl(PR_GET_NAME, name);
    open_usual("all");
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    struct recording_view view = look();
    const struct layout_block *block = &view_blocks(&view, 0)[1];
    assert_int_equal(block->sequence, 1);
    assert_int_equal(block[1].opened_before, 1);
    assert_int_equal(block->number, 0);
    assert_int_equal(block->tid, gettid());
    assert_string_equal(block->thread, name);
    assert_int_equal(block->clock.check, layout_clock_check(&block->clock));
    assert_true(block->clock.counter >= view_header(&view)->opened.counter);
    assert_true(block->clock.monotonic >= view_header(&view)->opened.monotonic);
    assert_true(gather_ring(&view, 0)->records[0].record.stamp >= block->counter);
    view_close(&view);
    spoor_trace_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_file_describes_itself_and_the_program),
        TEST(arguments_have_names_types_and_kinds),
        TEST(the_file_is_locked_by_its_writer),
        TEST(a_file_that_a_dead_process_left_is_replaced),
        TEST(records_hold_what_was_given),
        TEST(strings_are_recorded_at_their_length),
        TEST(arguments_are_evaluated_once_and_only_when_on),
        TEST(what_is_overwritten_is_known),
        TEST(errno_is_preserved),
        TEST(blocks_carry_thread_and_clock),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
