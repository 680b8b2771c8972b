/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of lowering by what its programs do in the kernel, with small scripts whose results are known. What depends
 * on how a program may run is tested both as a program that cannot be preempted and as one that may sleep. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lower_testing.h"

static void run_all(struct testing *t)
{
    uint64_t words[WORDS];
    words_fill(words);
    for (size_t i = 0; i < t->image.program_count; i++)
        assert_int_equal(testing_run(t, i, words), 0);
}

static void start(struct testing *t, enum mode mode, const char *text)
{
    testing_init(t);
    compile_and_load(t, mode, text);
    run_all(t);
}

struct expected {
    const char *map;
    int64_t value;
};

/* Runs the script in every mode and compares its keyless maps. */
static void expect_maps(const char *text, const struct expected *expected)
{
    static struct testing t;
    for (enum mode mode = PLAIN; mode < MODES; mode++) {
        start(&t, mode, text);
        for (const struct expected *e = expected; e->map; e++) {
            int64_t value = testing_word(&t, e->map, NULL);
            if (value != e->value)
                fail_msg("mode %d: %s: %s is %lld, not %lld", mode, text, e->map, (long long)value,
                         (long long)e->value);
        }
        testing_end(&t);
    }
}

#define EXPECT(text, ...) expect_maps(text, (const struct expected[]){__VA_ARGS__, {0}})

/* ---- operators ---- */

static void operators(void **state)
{
    NEED_KERNEL();
    EXPECT("BEGIN { @a = arg0 / (arg1 - 3); @b = arg0 % (arg1 - 3); @c = arg0 / arg1; @d = arg0 % arg1; }",
           {"@a", 1}, {"@b", 1}, {"@c", -2}, {"@d", -1});
    EXPECT("BEGIN { @a = arg0 && arg1 == 3 || arg4; @b = !arg0; @c = arg1 == 3 ? arg0 : arg4; @d = ~arg1; }",
           {"@a", 1}, {"@b", 0}, {"@c", -7}, {"@d", -4});
    EXPECT("BEGIN { $x = 1; $x <<= 3; @a = $x; @x = 5; @x <<= 2; @y = @x++; @z = ++@x; $x--; @b = $x++; @c = "
           "--$x; }",
           {"@a", 8}, {"@x", 22}, {"@y", 20}, {"@z", 22}, {"@b", 7}, {"@c", 7});
    EXPECT("BEGIN { let $n : uint8 = 250; $n += 10; @a = $n; @b = arg5 > arg1; @c = arg2 > 5; @d = arg0 < "
           "arg1; }",
           {"@a", 4}, {"@b", 1}, {"@c", 1}, {"@d", 1});
    EXPECT("BEGIN { $p = arg11 + 1; @a = (uint64)$p - (uint64)arg11; @b = arg11 != 0; }",
           {"@a", sizeof(struct inner)}, {"@b", 1});
}

static void division_by_zero_is_counted(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    start(&t, PLAIN, "BEGIN { @a = arg0 / (arg1 - 3); }");
    assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_DIVIDE), 1);
    run_all(&t);
    assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_DIVIDE), 2);
    testing_end(&t);
}

/* ---- strings, tuples, structs ---- */

static void strings_compare_whole(void **state)
{
    NEED_KERNEL();
    EXPECT("BEGIN { @s = \"abc\"; @a = @s == \"abc\"; @b = @s == \"abcd\"; @c = @s == \"ab\"; @d = @s != "
           "\"abd\"; }",
           {"@a", 1}, {"@b", 0}, {"@c", 0}, {"@d", 1});
    EXPECT("BEGIN { $s = str(arg10); @a = $s == \"argument ten\"; @b = $s == \"argument\"; @c = $s == "
           "\"argument ten \";"
           " @d = \"argument ten\" == $s; @e = $s == comm; @f = $s != str(arg10); @g = $s == "
           "\"argument\\0ten\"; }",
           {"@a", 1}, {"@b", 0}, {"@c", 0}, {"@d", 1}, {"@e", 0}, {"@f", 0}, {"@g", 0});
    /* Strings longer than those that are compared word by word without a loop. */
    EXPECT("BEGIN { $x = str(arg11->string, 400); $y = str(arg11->string, 300); @a = $x == $y; @b = $x == "
           "str(arg10, 400);"
           " @c = str(arg11->string) == $x; }",
           {"@a", 1}, {"@b", 0}, {"@c", 1});
    EXPECT("BEGIN /str(arg10) == \"argument ten\"/ { @a = 1; } END /str(arg10) == \"x\"/ { @b = 1; }",
           {"@a", 1}, {"@b", 0});
}

static void tuples(void **state)
{
    NEED_KERNEL();
    EXPECT("BEGIN { $t = (arg0, \"x\", (1, comm)); @a = $t.0; @b = $t.1 == \"x\"; @c = $t.2.0; @d = $t.2.1 "
           "== comm;"
           " $u = (1, 2); $u = ($u.1, $u.0); @e = $u.0 * 10 + $u.1; @f = (1, \"ab\") == (1, \"ab\");"
           " @g = (1, \"ab\") == (arg1, \"ab\"); @t = (5, \"abc\"); @h = @t.0; @i = @t.1 == \"abc\"; }",
           {"@a", -7}, {"@b", 1}, {"@c", 1}, {"@d", 1}, {"@e", 21}, {"@f", 1}, {"@g", 0}, {"@h", 5},
           {"@i", 1});
}

static void structs_of_the_traced_program(void **state)
{
    NEED_KERNEL();
    EXPECT("BEGIN { @a = arg11->number; @b = arg11->low; @c = arg11->middle; @d = arg11->high; @e = "
           "arg11->list[1];"
           " @f = arg11->list[arg1]; @g = arg11->next->number; @h = arg11->text == \"hello inner\"; @i = "
           "arg11.next.number;"
           " @j = arg11->list[arg1 + 1]; @k = str(arg11->next->text) == \"second\"; @l = arg11[0].number; }",
           {"@a", -5}, {"@b", 5}, {"@c", -43}, {"@d", 0x2abcde}, {"@e", -2}, {"@f", -4}, {"@g", 77},
           {"@h", 1}, {"@i", 77}, {"@j", 0}, {"@k", 1}, {"@l", -5});
    EXPECT("BEGIN { $s = *arg11; @a = $s.number; @b = $s.middle; @c = $s.list[2]; @d = $s.list[arg1]; @e = "
           "$s.next->number; }",
           {"@a", -5}, {"@b", -43}, {"@c", 3}, {"@d", -4}, {"@e", 77});
    static struct testing t;
    start(&t, PLAIN, "BEGIN { @a = *(int64 *)0; @j = arg11->list[arg1 + 1]; }");
    assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_FAULT), 2);
    testing_end(&t);
}

/* ---- control flow ---- */

static void loops(void **state)
{
    NEED_KERNEL();
    EXPECT("BEGIN { $i = 0; while ($i < 10) { $i++; if ($i == 3) { continue; } if ($i == 7) { break; } @s += "
           "$i; } @i = $i; }",
           {"@s", 18}, {"@i", 7});
    EXPECT("BEGIN { for ($j : 2..arg1 + 4) { @t += $j; for ($k : 0..3) { @u += $k * $j; } } @n = 1; }",
           {"@t", 20}, {"@u", 60}, {"@n", 1});
    EXPECT("BEGIN { for ($j : 0..3) { for ($k : 0..3) { @u++; if ($k == 1 && $j == 1) { return; } } @v++; } "
           "@never = 1; }",
           {"@u", 5}, {"@v", 1}, {"@never", 0});
    EXPECT("BEGIN { for ($i : 5..arg1) { @never = 1; } for ($i : arg0..arg1) { @n++; @last = $i; } }",
           {"@never", 0}, {"@n", 10}, {"@last", 2});
    EXPECT("BEGIN { unroll(3) { @n++; $x = @n; } @x = 1; unroll(2) { for ($i : 0..2) { @m++; } } }",
           {"@n", 3}, {"@x", 1}, {"@m", 4});
    EXPECT("BEGIN { $t = (1, \"abc\"); for ($i : 0..2) { $t = ($t.0 + $i + 1, \"abcd\"); } @a = $t.0; @b = "
           "$t.1 == \"abcd\"; }",
           {"@a", 4}, {"@b", 1});
    EXPECT("BEGIN { if (arg0 > 0) { @a = 1; } else if (arg0 == -7) { @a = 2; } else { @a = 3; } if (arg1 == "
           "3) { return; } @b = 1; }",
           {"@a", 2}, {"@b", 0});
}

static void endless_loops_end(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    start(&t, PLAIN, "BEGIN { $i = 0; while (1) { $i++; } @i = $i; }");
    assert_int_equal(testing_word(&t, "@i", NULL), 1 << 23);
    assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_LOOP), 1);
    testing_end(&t);
    start(&t, OLD, "BEGIN { $i = 0; while (1) { $i++; } @i = $i; }");
    assert_int_equal(testing_word(&t, "@i", NULL), 1 << 16);
    assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_LOOP), 1);
    testing_end(&t);
}

static void loops_over_maps(void **state)
{
    NEED_KERNEL();
    EXPECT("BEGIN { @h[1] = count(); @h[2] = count(); @h[2] = count(); for ($kv : @h) { @s += $kv.0 * 100 + "
           "$kv.1; } }",
           {"@s", 303});
    EXPECT("BEGIN { @p[\"a\", 1] = \"x\"; @p[\"bb\", 2] = \"yy\"; for ($kv : @p) { @n++; @k += $kv.0.1;"
           " if ($kv.1 == \"yy\") { @y++; } if ($kv.0.0 == \"a\") { @z++; } } for ($kv : @p) { @once++; "
           "break; } }",
           {"@n", 2}, {"@k", 3}, {"@y", 1}, {"@z", 1}, {"@once", 1});
    static struct testing t;
    testing_init(&t);
    t.features.for_each_map = false;
    assert_false(testing_compile(&t, "BEGIN { @h[1] = 1; for ($kv : @h) { @s += $kv.0; } }"));
    assert_non_null(strstr(t.diagnostics.items[0].message, "5.13"));
    testing_end(&t);
}

/* ---- maps ---- */

static void maps(void **state)
{
    NEED_KERNEL();
    EXPECT(
        "BEGIN { @a[arg1, comm] = 5; @b = @a[3, comm]; @c = @a[4, comm]; @a[3, comm] += 2; @d = @a[3, comm];"
        " @e[1]++; @e[1]++; @f = @e[1]; @g[\"k\"] = 1; @h = @g[\"k\"]; delete(@g[\"k\"]); @i = @g[\"k\"]; "
        "@j[1] = -3;"
        " @j[1] *= 2; @k = @j[1]; }",
        {"@b", 5}, {"@c", 0}, {"@d", 7}, {"@f", 2}, {"@h", 1}, {"@i", 0}, {"@k", -6});
    EXPECT("BEGIN { @s[1] = \"abc\"; @a = @s[1] == \"abc\"; @b = @s[2] == \"\"; @s[1] = \"abcdefgh1\"; @c = "
           "@s[1] == \"abcdefgh1\"; }",
           {"@a", 1}, {"@b", 1}, {"@c", 1});
    EXPECT("BEGIN { @p[str(arg10)] = arg0; @a = @p[\"argument ten\"]; $k = str(arg10); @b = @p[$k]; }",
           {"@a", -7}, {"@b", -7});
}

static void aggregations(void **state)
{
    NEED_KERNEL();
    EXPECT("BEGIN { @a[1] = avg(5); @a[1] = avg(10); @b = max(-5); @b = max(-9); @c = @a[1]; @d = @b; @e = "
           "@b + 0 > -6;"
           " if (@a[1] > 6) { @g = 1; } @n = count(); @n = count(); @m = @n; @s = sum(arg0); @t = @s; }",
           {"@c", 7}, {"@d", -5}, {"@e", 1}, {"@g", 1}, {"@m", 2}, {"@t", -7});
    static struct testing t;
    for (enum mode mode = PLAIN; mode < MODES; mode++) {
        start(&t, mode,
              "BEGIN { @h = hist(arg1); @h = hist(arg1); @k[comm] = hist(arg1); @i[5] = hist(1); }");
        uint64_t rows[64 * 128] = {0}, sum = 0;
        assert_int_equal(testing_lookup(&t, "@h", NULL, rows), 0);
        for (unsigned cpu = 0; cpu < t.features.cpus; cpu++)
            sum += rows[cpu * (t.image.maps[testing_map(&t, "@h")].value_size / 8) + 3];
        assert_int_equal(sum, 2);
        uint64_t key[2] = {5, 1};
        assert_int_equal(testing_word(&t, "@i", key), 1);
        testing_end(&t);
    }
    /* The values of many CPUs are summed in a loop. */
    testing_init(&t);
    t.features.cpus = 33;
    compile_and_load(&t, PLAIN, "BEGIN { @n = count(); @m = @n; @b = max(4); @c = @b; }");
    run_all(&t);
    assert_int_equal(testing_word(&t, "@m", NULL), 1);
    assert_int_equal(testing_word(&t, "@c", NULL), 4);
    testing_end(&t);
    testing_init(&t);
    t.features.lookup_percpu = false;
    compile_and_load(&t, PLAIN, "BEGIN { @n = count(); @m = @n; }");
    assert_int_equal(t.diagnostics.count, 1);
    testing_end(&t);
}

static void a_full_map_is_counted(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    start(&t, PLAIN, "BEGIN { for ($i : 0..70) { @m[$i] = 1; @c[$i] = count(); @after++; } }");
    assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_MAP_FULL), 12);
    assert_int_equal(testing_word(&t, "@after", NULL), 70);
    const struct runtime_error *runtime_error = NULL;
    for (size_t i = 0; i < t.image.runtime_error_count; i++)
        if (t.image.runtime_errors[i].kind == RUNTIME_ERROR_MAP_FULL && !runtime_error)
            runtime_error = &t.image.runtime_errors[i];
    assert_non_null(runtime_error);
    assert_string_equal(t.image.maps[runtime_error->map].name, "@m");
    assert_string_equal(runtime_error->helper, "map_update_elem");
    testing_end(&t);
}

/* ---- events ---- */

static uint32_t record_length; /* length of the last record */

static const struct action *record_of(struct testing *t, uint8_t *record, uint32_t room)
{
    uint32_t length = record_length = testing_record(t, record, room);
    const struct image_record *header = (const void *)record;
    if (!length)
        return NULL;
    assert_true(length <= room);
    assert_true(header->action < t->actions.count);
    const struct action *action = &t->actions.items[header->action];
    action_count_runtime_errors(action, record, length, &t->read.control);
    return action;
}

static int64_t field_word(const struct action *action, unsigned field, const uint8_t *record)
{
    int64_t word;
    memcpy(&word, record + action->fields[field].offset, 8);
    return word;
}

static void assert_text(const struct action *action, unsigned field, const uint8_t *record, const char *text)
{
    const char *found = (const char *)action_field(action, field, record, record_length);
    size_t length = strlen(text), capacity = action->fields[field].type->size;
    assert_int_equal(strnlen(found, capacity < length + 1 ? capacity : length + 1), length);
    assert_memory_equal(found, text, length);
}

static void events_of_constant_size(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    uint8_t record[4096];
    for (enum mode mode = PLAIN; mode < MODES; mode++) {
        start(&t, mode, "BEGIN { emit(arg0, \"lit\", arg5, (arg1, \"x\"), str(arg10, 16)); }");
        const struct action *action = record_of(&t, record, sizeof record);
        assert_non_null(action);
        assert_string_equal(action->builtin->name, "emit");
        assert_string_equal(action->probe, "test");
        assert_int_equal(field_word(action, 0, record), -7);
        assert_text(action, 1, record, "lit");
        assert_int_equal(field_word(action, 2, record), 4000000000u);
        assert_int_equal(field_word(action, 3, record), 3);
        assert_text(action, 4, record, "argument ten");
        assert_true(((struct image_record *)record)->time != 0);
        assert_null(record_of(&t, record, sizeof record));
        testing_end(&t);
    }
}

/* A single ring, a ring chosen by branches and a ring that is looked up; records on the frame, reserved records,
 * and records in scratch memory. */
static void every_number_of_cpus_has_its_rings(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    uint8_t record[4096];
    /* possible CPUs, and those with rings: fewer where CPUs can come later, also than those of this machine */
    static const struct {
        unsigned cpus, rings;
    } numbers[] = {{1, 1}, {2, 2}, {4, 4}, {5, 5}, {33, 33}, {33, 1}, {33, 2}, {512, 5}, {512, 33}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (enum mode mode = PLAIN; mode < MODES; mode++) {
            testing_init(&t);
            t.features.cpus = numbers[i].cpus;
            t.features.rings = numbers[i].rings;
            compile_and_load(
                &t, mode,
                "BEGIN { emit(arg0); emit(arg1, (arg2, arg2, arg2, arg2, arg2, arg2, arg2, arg2), "
                "(arg2, arg2, arg2, arg2, arg2, arg2, arg2, arg2)); emit(str(arg10), arg3); }");
            run_all(&t);
            const struct action *action = record_of(&t, record, sizeof record);
            assert_non_null(action);
            assert_int_equal(field_word(action, 0, record), -7);
            action = record_of(&t, record, sizeof record);
            assert_non_null(action);
            assert_int_equal(field_word(action, 0, record), 3);
            assert_int_equal(record_length, sizeof(struct image_record) + 17 * 8);
            action = record_of(&t, record, sizeof record);
            assert_non_null(action);
            assert_text(action, 0, record, "argument ten");
            assert_int_equal(field_word(action, 1, record), 5);
            assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_LOST), 0);
            if (t.image.events >= 0)
                assert_int_equal(t.image.maps[t.image.events].max_entries, numbers[i].rings);
            testing_end(&t);
        }
}

static void events_with_packed_strings(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    uint8_t record[4096];
    for (enum mode mode = PLAIN; mode < MODES; mode++) {
        start(&t, mode,
              "BEGIN { $v = str(arg10); @m[1] = str(arg11->string); emit(str(arg10), arg1, "
              "str(arg11->string), $v, @m[1],"
              " arg1 == 3 ? str(arg11->string) : str(arg10), str(arg10, arg1), \"literal, longer than "
              "thirty-two bytes.\"); }");
        const struct action *action = record_of(&t, record, sizeof record);
        assert_non_null(action);
        assert_text(action, 0, record, "argument ten");
        assert_int_equal(field_word(action, 1, record), 3);
        assert_text(action, 2, record, long_text);
        assert_text(action, 3, record, "argument ten");
        assert_text(action, 4, record, long_text);
        assert_text(action, 5, record, long_text);
        assert_text(action, 6, record, "ar");
        assert_text(action, 7, record, "literal, longer than thirty-two bytes.");
        assert_true(record_length < 400);
        testing_end(&t);
    }
}

static void truncated_and_unreadable_text(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    uint8_t record[4096];
    for (enum mode mode = PLAIN; mode < MODES; mode++) {
        start(&t, mode,
              "BEGIN { emit(str(arg11->string, 40), str(arg11->string, 48), str(arg11->string, 47), str(0)); "
              "emit(str(arg10, 4)); }");
        const struct action *action = record_of(&t, record, sizeof record);
        assert_non_null(action);
        assert_text(action, 0, record, "a string far away, longer than thirty-tw"); /* 40 of 47: truncated */
        assert_text(action, 1, record, long_text);                                  /* fits with its NUL */
        assert_text(action, 2, record, long_text); /* full: the reader sees length == capacity */
        assert_text(action, 3, record, "<fault>");
        action = record_of(&t, record, sizeof record);
        assert_non_null(action);
        assert_memory_equal(record + action->fields[0].offset, "argu\0\0\0\0", 8);
        assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_TRUNCATED), 3);
        assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_FAULT), 1);
        testing_end(&t);
    }
}

/* Whatever bytes a record holds, each field is found inside of it, and a string in it has an end. */
static void senseless_records(void **state)
{
    (void)state;
    enum { ROUNDS = 20000, MOST = 160 };
    static const uint32_t capacities[] = {40, 33, 64};
    struct type types[3];
    struct action_field fields[3];
    struct action action = {.fields = fields, .field_count = 3, .size = sizeof(struct image_record) + 24};
    for (uint32_t i = 0; i < 3; i++) {
        types[i] = (struct type){.kind = TYPE_STRING, .size = capacities[i]};
        fields[i] = (struct action_field){.type = &types[i],
                                          .offset = (uint32_t)sizeof(struct image_record) + 8 * i,
                                          .is_packed = true,
                                          .fault = -1,
                                          .truncated = -1};
    }
    srand(1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t length = sizeof(struct image_record) + (size_t)rand() % (MOST - sizeof(struct image_record));
        uint8_t *record = malloc(length);
        assert_non_null(record);
        for (size_t i = 0; i < length; i++)
            record[i] = rand() % 4 ? 'x' : 0;
        for (uint32_t i = 0; i < 3; i++) {
            struct image_string string = {.bytes = rand() % 90 - 10};
            if (fields[i].offset + sizeof string <= length)
                memcpy(record + fields[i].offset, &string, sizeof string);
        }
        for (uint32_t i = 0; i < 3; i++) {
            const uint8_t *found = action_field(&action, i, record, length);
            size_t used = strnlen((const char *)found, capacities[i]);
            bool is_inside = (uintptr_t)found - (uintptr_t)record < length;
            assert_true(!is_inside || (size_t)(found - record) + used <= length);
            assert_true(is_inside || !used || !strcmp((const char *)found, "<fault>"));
        }
        action_count_runtime_errors(&action, record, length, NULL);
        free(record);
    }
}

/* The text lies in a page of a file that was never touched: only a program that may sleep can read it. */
static void text_is_paged_in(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    long page = sysconf(_SC_PAGESIZE);
    for (enum mode mode = PLAIN; mode <= SLEEPING_WITH_SLOTS; mode++) {
        char path[] = "/tmp/lower_test.XXXXXX";
        int file = mkstemp(path);
        assert_true(file >= 0);
        unlink(path);
        assert_int_equal(ftruncate(file, 3 * page), 0);
        assert_int_equal(pwrite(file, "first half and second half", 27, page - 10), 27);
        char *text = mmap(NULL, (size_t)(3 * page), PROT_READ, MAP_PRIVATE, file, 0);
        assert_true(text != MAP_FAILED);
        madvise(text, (size_t)(3 * page), MADV_RANDOM);
        testing_init(&t);
        compile_and_load(
            &t, mode,
            "BEGIN { @a = str(arg10) == \"first half and second half\"; @b = *(uint8 *)(arg10 + 4096); }");
        uint64_t words[WORDS];
        words_fill(words);
        words[10] = (uintptr_t)(text + page - 10);
        assert_int_equal(testing_run(&t, 0, words), 0);
        assert_int_equal(testing_word(&t, "@a", NULL), mode != PLAIN);
        assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_FAULT), mode == PLAIN ? 2 : 0);
        testing_end(&t);
        munmap(text, (size_t)(3 * page));
        close(file);
    }
}

static void lost_events_are_counted(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    start(
        &t, PLAIN,
        "BEGIN { for ($i : 0..3000) { emit($i, arg0, arg1, arg2); } for ($i : 0..3) { emit(str(arg10)); } }");
    uint64_t lost = testing_runtime_errors(&t, RUNTIME_ERROR_LOST);
    assert_true(lost > 1000 && lost < 3003);
    testing_end(&t);
}

static void text_at_addresses(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    static const char *const expected[] = {"one", "", "eight ..", "sixteen letters.", "seventeen letter"};
    uint8_t record[4096];
    for (enum mode mode = PLAIN; mode < MODES; mode++) {
        start(&t, mode, "BEGIN { texts(16); texts(2); }");
        for (int most = 5; most >= 2; most -= 3) {
            const struct action *action = record_of(&t, record, sizeof record);
            assert_non_null(action);
            size_t at = action->size;
            for (int i = 0; i < most; i++) {
                assert_string_equal((const char *)record + at, expected[i]);
                at += strlen(expected[i]) / 8 * 8 + 8;
            }
            assert_int_equal(record_length, at);
        }
        assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_FAULT), 0);
        assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_TRUNCATED), 2);
        testing_end(&t);
    }
}

/* ---- leaving, filters, stacks ---- */

static void exit_ends_the_program(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    uint8_t record[4096];
    for (enum mode mode = PLAIN; mode < MODES; mode++) {
        start(&t, mode, "BEGIN { @s = str(arg11->string, 200); @a = 1; if (arg1 == 3) { exit(); } @b = 1; }");
        assert_int_equal(testing_word(&t, "@a", NULL), 1);
        assert_int_equal(testing_word(&t, "@b", NULL), 0);
        const struct action *action = record_of(&t, record, sizeof record);
        assert_string_equal(action->builtin->name, "exit");
        /* The slot of scratch memory was released: the script runs more often than there are slots. */
        for (unsigned i = 0; i < 8; i++)
            run_all(&t);
        assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_SCRATCH), 0);
        testing_end(&t);
    }
}

static void busy_scratch_drops_the_event(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    start(&t, SLEEPING_WITH_SLOTS, "BEGIN { @s = str(arg11->string, 200); @n++; }");
    const struct image_map *map = &t.image.maps[t.image.scratch_slots];
    size_t size = (size_t)((map->value_size + 7) & ~7u) * t.features.cpus;
    uint64_t *values = calloc(1, size);
    for (unsigned cpu = 0; cpu < t.features.cpus; cpu++)
        values[cpu * ((map->value_size + 7) / 8)] = 1;
    for (uint32_t slot = 0; slot < map->max_entries; slot++) {
        union bpf_attr attr = {.map_fd = (uint32_t)t.maps[t.image.scratch_slots],
                               .key = (uintptr_t)&slot,
                               .value = (uintptr_t)values};
        assert_int_equal(testing_bpf(BPF_MAP_UPDATE_ELEM, &attr), 0);
    }
    run_all(&t);
    assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_SCRATCH), 1);
    assert_int_equal(testing_word(&t, "@n", NULL), 1);
    free(values);
    testing_end(&t);
}

static void stopping_and_pid_filter(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    start(&t, PLAIN, "BEGIN { @n++; }");
    uint32_t zero = 0;
    _Alignas(struct image_control) char control[4096] = {0};
    ((struct image_control *)control)->stop = 1;
    union bpf_attr attr = {
        .map_fd = (uint32_t)t.maps[t.image.control], .key = (uintptr_t)&zero, .value = (uintptr_t)control};
    assert_int_equal(testing_bpf(BPF_MAP_UPDATE_ELEM, &attr), 0);
    run_all(&t);
    assert_int_equal(testing_word(&t, "@n", NULL), 1);
    testing_end(&t);
    for (int other = 0; other < 2; other++) {
        testing_init(&t);
        t.options.filter.pid = (uint32_t)getpid() + (uint32_t)other;
        compile_and_load(&t, PLAIN, "BEGIN { @n++; }");
        run_all(&t);
        assert_int_equal(testing_word(&t, "@n", NULL), !other);
        testing_end(&t);
    }
}

static void stacks_are_interned(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    for (enum mode mode = PLAIN; mode < MODES; mode++) {
        start(&t, mode, "BEGIN { @a = kernel_stack(); @b = user_stack(); @n++; }");
        int64_t id = testing_word(&t, "@a", NULL);
        assert_true(id != 0);
        uint64_t stack[256] = {0};
        assert_int_equal(testing_lookup(&t, "stacks", &id, stack), 0);
        const struct image_stack *head = (const void *)stack;
        assert_int_equal(head->kind, 0);
        assert_true(head->bytes >= 8 && head->bytes <= 8 * 127 && head->bytes % 8 == 0);
        assert_true(head->frames[0] > UINT64_MAX / 2);
        run_all(&t);
        assert_int_equal(testing_word(&t, "@a", NULL), id); /* the same stack has the same id */
        assert_int_equal(testing_runtime_errors(&t, RUNTIME_ERROR_STACK), 0);
        testing_end(&t);
    }
}

/* ---- limits ---- */

static void too_much_memory_is_an_error(void **state)
{
    (void)state;
    static struct testing t;
    testing_init(&t);
    t.options.max_strlen = 20000;
    assert_false(testing_compile(&t, "BEGIN { emit(str(arg10), str(arg10)); }"));
    assert_non_null(strstr(t.diagnostics.items[0].message, "memory at once"));
    assert_non_null(t.diagnostics.items[0].hint);
    testing_end(&t);
}

static void long_expressions_fit_the_frame(void **state)
{
    NEED_KERNEL();
    struct text text = {0};
    text_add(&text, "BEGIN { @m[1] = 1; @s = ");
    for (unsigned i = 0; i < 60; i++)
        text_printf(&text, "@m[%u] + ", i % 3);
    text_add(&text, "0; }");
    EXPECT(text_string(&text), {"@s", 20});
    text_free(&text);
}

static void two_programs_share_what_they_should(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    start(&t, PLAIN,
          "BEGIN { @s = str(arg10, 200); @n++; emit(1); } END { @s = str(arg10, 200); @n++; emit(2); }");
    assert_int_equal(t.image.program_count, 2);
    assert_int_equal(testing_word(&t, "@n", NULL), 2);
    assert_int_equal(t.actions.count, 2);
    assert_int_equal(t.image.maps[t.image.scratch_cpu].max_entries, 2);
    testing_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators),
        cmocka_unit_test(division_by_zero_is_counted),
        cmocka_unit_test(strings_compare_whole),
        cmocka_unit_test(tuples),
        cmocka_unit_test(structs_of_the_traced_program),
        cmocka_unit_test(loops),
        cmocka_unit_test(endless_loops_end),
        cmocka_unit_test(loops_over_maps),
        cmocka_unit_test(maps),
        cmocka_unit_test(aggregations),
        cmocka_unit_test(a_full_map_is_counted),
        cmocka_unit_test(events_of_constant_size),
        cmocka_unit_test(every_number_of_cpus_has_its_rings),
        cmocka_unit_test(events_with_packed_strings),
        cmocka_unit_test(senseless_records),
        cmocka_unit_test(truncated_and_unreadable_text),
        cmocka_unit_test(text_at_addresses),
        cmocka_unit_test(text_is_paged_in),
        cmocka_unit_test(lost_events_are_counted),
        cmocka_unit_test(exit_ends_the_program),
        cmocka_unit_test(busy_scratch_drops_the_event),
        cmocka_unit_test(stopping_and_pid_filter),
        cmocka_unit_test(stacks_are_interned),
        cmocka_unit_test(too_much_memory_is_an_error),
        cmocka_unit_test(long_expressions_fit_the_frame),
        cmocka_unit_test(two_programs_share_what_they_should),
    };
    testing_find_kernel();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
