/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder by its public interface, seen with a minimal reader of its file. The ring under load:
 * tests/programs/recorder_stress.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <spoor/trace.h>
#include "recorder_reader.h"

enum io_type { IO_READ, IO_WRITE, IO_FLUSH = 7, IO_WRONG = -1 };
typedef void (*message_function)(void *context);

SPOOR_GROUP(bdev, "block devices");
SPOOR_GROUP(tcp, "TCP transport");
SPOOR_OWNER(bdev, 'b');
SPOOR_OWNER(connection, 't');
SPOOR_OBJECT(bdev_io, 'i');
SPOOR_OBJECT(tcp_request, 'r');
SPOOR_ENUM(io_type, SPOOR_VALUE(IO_READ), SPOOR_VALUE(IO_WRITE), SPOOR_VALUE(IO_FLUSH),
           SPOOR_VALUE(IO_WRONG));

SPOOR_TRACEPOINT(bdev, BDEV_IO_START, bdev_io, SPOOR_BEGINS, (enum io_type, type, io_type),
                 (const void *, ctx), (uint64_t, offset), (uint32_t, len));
SPOOR_TRACEPOINT(bdev, BDEV_IO_DONE, bdev_io, SPOOR_ENDS, (const void *, ctx));
SPOOR_TRACEPOINT(tcp, TCP_REQ_NEW, tcp_request, SPOOR_BEGINS);
SPOOR_TRACEPOINT(tcp, TCP_TEXT, none, SPOOR_USES, (const char *, text), (uint8_t, small), (char *, other));
SPOOR_TRACEPOINT(tcp, TCP_ALL, none, SPOOR_USES, (char, a), (int8_t, b), (uint16_t, c), (int32_t, d),
                 (long long, e), (bool, f), (float, g), (double, h), (message_function, i), (const int *, j),
                 (unsigned long, k), (enum io_type, l, io_type));
SPOOR_RELATION(BDEV_IO_START, ctx, tcp_request);
SPOOR_TRACEPOINT_HERE(BDEV_IO_START);
SPOOR_TRACEPOINT_HERE(BDEV_IO_DONE);
SPOOR_TRACEPOINT_HERE(TCP_REQ_NEW);
SPOOR_TRACEPOINT_HERE(TCP_TEXT);
SPOOR_TRACEPOINT_HERE(TCP_ALL);

static char directory[64];

static struct spoor_trace_options usual(const char *enable)
{
    return (struct spoor_trace_options){
        .size = sizeof(struct spoor_trace_options),
        .name = "unit",
        .enable = enable,
        .directory = directory,
        .ring_bytes = 16384,
        .flags = SPOOR_TRACE_REMOVE | SPOOR_TRACE_NO_ENVIRONMENT,
    };
}

static void open_usual(const char *enable)
{
    const struct spoor_trace_options options = usual(enable);
    if (spoor_trace_open(&options) != 0)
        fail_msg("%s", spoor_trace_error());
}

static struct recording_view look(void)
{
    struct recording_view view;
    assert_true(view_open(&view, spoor_trace_path()));
    return view;
}

static unsigned files_in_directory(void)
{
    unsigned files = 0;
    DIR *opened = opendir(directory);
    for (struct dirent *entry; (entry = readdir(opened)) != NULL;)
        files += entry->d_name[0] != '.';
    closedir(opened);
    return files;
}

/* ---- records, gathered ---- */

enum { GATHERED = 64 };
struct gathered {
    unsigned count;
    struct {
        uint64_t number;
        union {
            struct layout_record record;
            uint8_t bytes[LAYOUT_BLOCK_BYTES];
        };
    } records[GATHERED];
};

static void gather(void *context, uint64_t number, const struct layout_record *record)
{
    struct gathered *gathered = context;
    if (gathered->count == GATHERED) { /* the newest */
        memmove(&gathered->records[0], &gathered->records[1], sizeof gathered->records[0] * (GATHERED - 1));
        gathered->count--;
    }
    gathered->records[gathered->count].number = number;
    memcpy(gathered->records[gathered->count].bytes, record, layout_record_bytes(record->start));
    gathered->count++;
}

static struct gathered *gather_ring(const struct recording_view *view, uint64_t ring)
{
    static struct gathered gathered;
    gathered.count = 0;
    if (view_has_ring(view, ring))
        ring_walk(view, ring, gather, &gathered);
    return &gathered;
}

static struct gathered *gather_here(void)
{
    struct recording_view view = look();
    struct gathered *gathered = gather_ring(&view, 0);
    view_close(&view);
    return gathered;
}

static const char *string_argument(const struct layout_record *record, unsigned index)
{
    static char text[LAYOUT_BLOCK_BYTES];
    const uint64_t word = record->arguments[index];
    const uint32_t offset = (uint32_t)(word >> 16 & 0xffff), bytes = (uint32_t)(word & 0xffff);
    if (offset == 0)
        return NULL;
    assert_true(offset + bytes <= layout_record_bytes(record->start));
    memcpy(text, (const char *)record + offset, bytes);
    text[bytes] = '\0';
    return text;
}

static uint64_t string_length(const struct layout_record *record, unsigned index)
{
    return record->arguments[index] >> 32;
}

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
    assert_non_null(strstr(view_text(section, group->file), "recorder_test.c"));
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
    assert_memory_equal((const char *)record + 56, "Hello!\0\0", 8); /* nothing old behind it */
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
    assert_true(layout_record_bytes(record->start) <= LAYOUT_BLOCK_BYTES - LAYOUT_BLOCK_HEADER_BYTES - 8);
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
    for (int i = 0; i < 200; i++) { /* the first makes the ring, later ones open blocks */
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
    assert_int_equal(block->trailer, 1);
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
    spoor_trace_close(); /* again: nothing */
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
    options.enable = "tcp"; /* the program's own word counts more */
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
        if (strstr(error, words[i]) == NULL || strstr(error, "recorder_test.c") == NULL ||
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
    again.file = "another/path/to/recorder_test.c";
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
    spoor_module_register_v1(entries, entries + 2); /* it is loaded again: nothing new */
    assert_int_equal(late.id >> 16, id);
    const struct layout_section *section;
    assert_null(view_item(&view, LAYOUT_SECTION_TRACEPOINTS, 6, &section));
    assert_int_equal(spoor_trace_disable("late:LATE"), 0);
    assert_int_equal(*late.enabled, 0);
    view_close(&view);
    spoor_trace_close();
    spoor_module_unregister_v1(entries);
}

/* ---- owners ---- */

static unsigned owner_entries(const struct recording_view *view, uint32_t id)
{
    unsigned entries = 0;
    for (uint64_t i = 0; i < view_header(view)->owner_count; i++)
        entries += view_owner(view, i)->version != 0 && view_owner(view, i)->id == id;
    return entries;
}

static void owners_have_descriptions_that_change(void **state)
{
    (void)state;
    const uint32_t early = spoor_owner_register(&spoor_owner_bdev, "null0");
    open_usual("all");
    const uint32_t later = spoor_owner_register(&spoor_owner_connection, NULL);
    assert_true(early != SPOOR_NO_OWNER && later != SPOOR_NO_OWNER && early != later);
    spoor_owner_describe(early, "null0, busy");
    spoor_owner_describe(later, "10.0.0.1:4420");
    spoor_owner_unregister(later);
    spoor_owner_describe(later, "too late");
    spoor_owner_unregister(4711);
    struct recording_view view = look();
    const struct layout_owner *first = view_owner(&view, 0);
    assert_int_equal(first->id, early);
    assert_int_equal(first->type, 1);
    assert_int_equal(first->since, 0);
    assert_true(first->until != UINT64_MAX && first->version % 2 == 0);
    assert_memory_equal(first->description, "null0", first->description_bytes);
    assert_int_equal(owner_entries(&view, early), 2);
    assert_int_equal(owner_entries(&view, later), 2);
    const struct layout_owner *second = view_owner(&view, 2);
    assert_int_equal(second->id, early);
    assert_int_equal(second->since, first->until);
    assert_int_equal(second->until, UINT64_MAX);
    assert_memory_equal(second->description, "null0, busy", second->description_bytes);
    assert_int_equal(view_owner(&view, 1)->description_bytes, 0);
    view_close(&view);
    spoor_trace_close();

    open_usual("all"); /* those that live are in the next recording too */
    view = look();
    assert_int_equal(owner_entries(&view, early), 1);
    assert_int_equal(owner_entries(&view, later), 0);
    assert_memory_equal(view_owner(&view, 0)->description, "null0, busy", 11);
    view_close(&view);
    spoor_trace_close();
    spoor_owner_unregister(early);
}

static void a_full_table_of_owners_keeps_the_living(void **state)
{
    (void)state;
    struct spoor_trace_options options = usual("all");
    options.owners = 4;
    assert_int_equal(spoor_trace_open(&options), 0);
    uint32_t ids[6];
    for (unsigned i = 0; i < 3; i++)
        ids[i] = spoor_owner_register(&spoor_owner_bdev, "one");
    for (unsigned i = 0; i < 20; i++)
        spoor_owner_describe(ids[2],
                             i % 2 != 0 ? "odd" : "even"); /* takes the entry that ended longest ago */
    struct recording_view view = look();
    assert_int_equal(owner_entries(&view, ids[0]), 1);
    assert_int_equal(owner_entries(&view, ids[2]), 2);
    assert_int_equal(view_control(&view)->owners_lost, 0);
    for (unsigned i = 3; i < 6; i++)
        ids[i] = spoor_owner_register(&spoor_owner_bdev, "more");
    assert_true(ids[5] != SPOOR_NO_OWNER);
    assert_int_equal(view_control(&view)->owners_lost, 2);
    view_close(&view);
    spoor_trace_close();
    for (unsigned i = 0; i < 6; i++)
        spoor_owner_unregister(ids[i]);
}

/* ---- threads ---- */

static void *record_once(void *name)
{
    if (name != NULL)
        prctl(PR_SET_NAME, name);
    SPOOR_RECORD(TCP_REQ_NEW, 0, (uintptr_t)name);
    return NULL;
}

struct run {
    void *(*function)(void *);
    void *argument;
    pid_t tid;
};

static void *run(void *argument)
{
    struct run *here = argument;
    here->tid = gettid();
    return here->function(here->argument);
}

/* Until the kernel too has forgotten the thread, which is a moment after it was joined. */
static void run_thread(void *(*function)(void *), void *argument)
{
    struct run here = {function, argument, 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, &here), 0);
    pthread_join(thread, NULL);
    while (tgkill(getpid(), here.tid, 0) == 0)
        sched_yield();
}

static void rings_are_kept_after_their_threads_and_then_reused(void **state)
{
    (void)state;
    struct spoor_trace_options options = usual("all");
    options.kept = 2;
    assert_int_equal(spoor_trace_open(&options), 0);
    static char names[][8] = {"first", "second", "third", "fourth", "fifth"};
    for (unsigned i = 0; i < 5; i++)
        run_thread(record_once, names[i]);
    struct recording_view view = look();
    assert_true(view_has_ring(&view, 2));
    assert_false(view_has_ring(&view, 3));
    /* two are kept: the fourth thread took the ring of the first, the fifth that of the second; old records
     * are still there */
    assert_string_equal(view_ring(&view, 0)->thread, "fourth");
    assert_int_equal(view_ring(&view, 0)->tenants, 2);
    assert_string_equal(view_ring(&view, 1)->thread, "fifth");
    assert_string_equal(view_ring(&view, 2)->thread, "third");
    assert_string_equal(view_blocks(&view, 0)[1].thread, "first");
    assert_string_equal(view_blocks(&view, 0)[2].thread, "fourth");
    struct gathered *all = gather_ring(&view, 0);
    assert_int_equal(all->count, 2);
    assert_int_equal(all->records[1].number, 1);
    view_close(&view);
    spoor_trace_close();
}

static pthread_barrier_t barrier;

static void *record_and_wait(void *argument)
{
    (void)argument;
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void threads_without_a_ring_count_their_records(void **state)
{
    (void)state;
    struct spoor_trace_options options = usual("all");
    options.threads = 2;
    assert_int_equal(spoor_trace_open(&options), 0);
    pthread_barrier_init(&barrier, NULL, 3);
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, record_and_wait, NULL);
    struct recording_view view = look();
    while (!view_has_ring(&view, 1))
        sched_yield();
    for (unsigned i = 0; i < 100; i++)
        SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_int_equal(spoor_trace_lost(), 100);
    assert_int_equal(view_control(&view)->lost[LAYOUT_LOST_LIMIT], 100);
    assert_int_equal(spoor_trace_thread("main"), -EAGAIN);
    pthread_barrier_wait(&barrier);
    const pid_t tid = (pid_t)view_ring(&view, 0)->tid;
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    while (tgkill(getpid(), tid, 0) == 0)
        sched_yield();
    assert_int_equal(spoor_trace_thread("main"), 0); /* now there is one */
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_int_equal(spoor_trace_lost(), 100);
    pthread_barrier_destroy(&barrier);
    view_close(&view);
    spoor_trace_close();
}

static void a_program_that_closes_everything_is_not_harmed(void **state)
{
    (void)state;
    open_usual("all");
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    struct recording_view view = look();
    char other[128];
    snprintf(other, sizeof other, "%s/other", directory);
    for (int file = 3; file < 64; file++) { /* our descriptor's number now belongs to another file */
        char link[64], target[PATH_MAX] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        if (readlink(link, target, sizeof target - 1) > 0 && strcmp(target, spoor_trace_path()) == 0) {
            const int theirs = open(other, O_RDWR | O_CREAT, 0600);
            dup2(theirs, file);
            close(theirs);
        }
    }
    run_thread(record_once, NULL);
    assert_int_equal(view_control(&view)->lost[LAYOUT_LOST_SPACE], 1);
    struct stat status;
    assert_int_equal(stat(other, &status), 0);
    assert_int_equal(status.st_size, 0);
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0); /* a ring that is there stays */
    assert_int_equal(gather_ring(&view, 0)->count, 2);
    view_close(&view);
    spoor_trace_close();
    unlink(other);
}

static void no_space_is_an_error_at_open_and_lost_records_later(void **state)
{
    (void)state;
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct spoor_trace_options options = usual("all");
    assert_int_equal(spoor_trace_open(&options), -EFBIG); /* and no SIGXFSZ */
    assert_int_equal(files_in_directory(), 0);
    setrlimit(RLIMIT_FSIZE, &before);
    open_usual("all");
    setrlimit(RLIMIT_FSIZE, &limit);
    run_thread(record_once, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(spoor_trace_lost(), 1);
    spoor_trace_close();
}

static int stage;

static void *record_in_two_recordings(void *argument)
{
    (void)argument;
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    __atomic_store_n(&stage, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != 2)
        sched_yield();
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    return NULL;
}

static void a_second_recording_gets_its_own_rings(void **state)
{
    (void)state;
    open_usual("all");
    pthread_t thread;
    stage = 0;
    pthread_create(&thread, NULL, record_in_two_recordings, NULL);
    while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != 1)
        sched_yield();
    spoor_trace_close();
    open_usual("all");
    __atomic_store_n(&stage, 2, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    assert_int_equal(gather_here()->count, 1);
    assert_int_equal(spoor_trace_lost(), 0);
    spoor_trace_close();
}

/* ---- signals, fork, kill ---- */

static void record_in_handler(int number)
{
    (void)number;
    for (unsigned i = 0; i < 5; i++)
        SPOOR_RECORD(TCP_REQ_NEW, 1, (uint64_t)i);
}

static void a_signal_handler_may_be_the_first_to_record(void **state)
{
    (void)state;
    open_usual("all");
    signal(SIGUSR1, record_in_handler);
    raise(SIGUSR1);
    SPOOR_RECORD(TCP_REQ_NEW, 2, 0);
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(gather_here()->count, 6);
    spoor_trace_close();
}

static int child_status(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void a_child_has_its_own_recording(void **state)
{
    (void)state;
    open_usual("bdev");
    const uint32_t owner = spoor_owner_register(&spoor_owner_bdev, "of the parent");
    SPOOR_RECORD(BDEV_IO_DONE, owner, 0, NULL);
    int ready[2], go[2];
    assert_int_equal(pipe(ready) | pipe(go), 0);
    const pid_t child = fork();
    if (child == 0) {
        char byte;
        SPOOR_RECORD(BDEV_IO_DONE, owner, (uint64_t)1, NULL);
        SPOOR_RECORD(BDEV_IO_DONE, owner, (uint64_t)2, NULL);
        SPOOR_RECORD(TCP_REQ_NEW, owner, 0);
        const uint32_t own = spoor_owner_register(&spoor_owner_bdev, "of the child");
        int bad = own == owner || spoor_trace_path() == NULL || spoor_trace_lost() != 0;
        if (write(ready[1], "x", 1) != 1 || read(go[0], &byte, 1) != 1)
            bad = 1;
        spoor_trace_close();
        _exit(bad);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    SPOOR_RECORD(BDEV_IO_DONE, owner, (uint64_t)3, NULL);
    char path[128];
    snprintf(path, sizeof path, "%s/unit.%d.spoor", directory, (int)child);
    struct recording_view theirs, ours = look();
    assert_true(view_open(&theirs, path));
    assert_memory_equal(view_header(&theirs)->magic, LAYOUT_MAGIC, 8);
    assert_int_equal(view_header(&theirs)->pid, child);
    assert_int_equal(view_header(&theirs)->parent_pid, getpid());
    assert_int_equal(owner_entries(&theirs, owner), 1);
    assert_int_equal(owner_entries(&theirs, owner + 1), 1);
    assert_int_equal(owner_entries(&ours, owner + 1), 0);
    struct gathered *all = gather_ring(&theirs, 0);
    assert_int_equal(all->count, 2);
    assert_int_equal(all->records[1].record.object, 2);
    all = gather_ring(&ours, 0);
    assert_int_equal(all->count, 2);
    assert_int_equal(all->records[1].record.object, 3);
    const int file = open(path, O_RDONLY);
    assert_int_equal(flock(file, LOCK_SH | LOCK_NB), -1);
    close(file);
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(child_status(child), 0);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
    view_close(&theirs);
    view_close(&ours);
    spoor_trace_close();
    spoor_owner_unregister(owner);
    assert_int_equal(files_in_directory(), 0);
}

static void a_child_that_records_nothing_leaves_nothing(void **state)
{
    (void)state;
    open_usual("all");
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(child_status(child), 0);
    assert_int_equal(files_in_directory(), 1);
    const pid_t closing = fork();
    if (closing == 0) {
        spoor_trace_close(); /* not the parent's */
        SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
        _exit(0);
    }
    assert_int_equal(child_status(closing), 0);
    assert_int_equal(files_in_directory(), 1);
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_int_equal(gather_here()->count, 1);
    spoor_trace_close();
}

static void the_recording_survives_sigkill(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        open_usual("all");
        for (uint64_t i = 0; i < 10; i++)
            SPOOR_RECORD(TCP_REQ_NEW, 0, i);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(child_status(child), 1000 + SIGKILL);
    char path[128];
    snprintf(path, sizeof path, "%s/unit.%d.spoor", directory, (int)child);
    struct recording_view view;
    assert_true(view_open(&view, path));
    assert_int_equal(gather_ring(&view, 0)->count, 10);
    view_close(&view);
    unlink(path);
}

/* ---- dumps ---- */

static unsigned records_in(const char *path)
{
    struct recording_view view;
    assert_true(view_open(&view, path));
    assert_memory_equal(view_header(&view)->magic, LAYOUT_MAGIC, 8);
    assert_true(view_tracepoint(&view, "TCP_REQ_NEW") != 0);
    unsigned count = 0;
    struct gathered *all = gather_ring(&view, 0);
    for (unsigned i = 0; i < all->count; i++)
        count += all->records[i].record.stamp >= view_control(&view)->from;
    view_close(&view);
    return count;
}

static void a_dump_is_a_recording(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/dump", directory);
    assert_int_equal(spoor_trace_dump(path, 0), -ENOENT);
    open_usual("all");
    for (uint64_t i = 0; i < 10; i++)
        SPOOR_RECORD(TCP_REQ_NEW, 0, i);
    assert_int_equal(spoor_trace_dump(path, 0), 0);
    assert_int_equal(records_in(path), 10);
    assert_int_equal(spoor_trace_dump(path, 0), -EEXIST);
    unlink(path);
    usleep(1100000);
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_int_equal(spoor_trace_dump(path, 1), 0);
    assert_int_equal(records_in(path), 1);
    unlink(path);
    assert_int_equal(spoor_trace_dump("/nonexistent/file", 1), -ENOENT);
    spoor_trace_close();
}

static void a_signal_makes_a_dump(void **state)
{
    (void)state;
    struct spoor_trace_options options = usual("all");
    char prefix[128], path[160];
    snprintf(prefix, sizeof prefix, "%s/dumped", directory);
    options.dump_path = prefix;
    options.dump_signal = SIGUSR2;
    assert_int_equal(spoor_trace_open(&options), 0);
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    raise(SIGUSR2);
    raise(SIGUSR2);
    for (int i = 1; i <= 2; i++) {
        snprintf(path, sizeof path, "%s.%d.%d.spoor", prefix, (int)getpid(), i);
        assert_int_equal(records_in(path), 1);
        unlink(path);
    }
    spoor_trace_close();
    struct sigaction action;
    sigaction(SIGUSR2, NULL, &action);
    assert_ptr_equal(action.sa_handler, SIG_DFL);
}

/* A failed test must not fail those after it. */
static int close_recording(void **state)
{
    (void)state;
    spoor_trace_close();
    return 0;
}

#define TEST(name_) cmocka_unit_test_teardown(name_, close_recording)

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
        TEST(the_option_string_enables),
        TEST(wrong_options_are_errors_that_name_them),
        TEST(the_environment_enables),
        TEST(enabling_from_outside_is_one_byte),
        TEST(the_list_shows_masks),
        TEST(the_filter_passes_owners_and_objects),
        TEST(duplicates_are_errors_that_name_both_files),
        TEST(the_same_header_in_another_module_is_no_duplicate),
        TEST(a_module_may_come_while_it_records),
        TEST(owners_have_descriptions_that_change),
        TEST(a_full_table_of_owners_keeps_the_living),
        TEST(rings_are_kept_after_their_threads_and_then_reused),
        TEST(threads_without_a_ring_count_their_records),
        TEST(a_program_that_closes_everything_is_not_harmed),
        TEST(no_space_is_an_error_at_open_and_lost_records_later),
        TEST(a_second_recording_gets_its_own_rings),
        TEST(a_signal_handler_may_be_the_first_to_record),
        TEST(a_child_has_its_own_recording),
        TEST(a_child_that_records_nothing_leaves_nothing),
        TEST(the_recording_survives_sigkill),
        TEST(a_dump_is_a_recording),
        TEST(a_signal_makes_a_dump),
    };
    snprintf(directory, sizeof directory, "/dev/shm/spoor-unit-XXXXXX");
    if (mkdtemp(directory) == NULL)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(directory);
    return failed;
}
