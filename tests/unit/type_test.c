/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of src/type: layout, equality, common types, members, names; types that point at themselves. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "builtin/aggregation.h"
#include "type/type.h"

static struct arena arena;

static int arena_teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static const struct type *tuple_of(const struct type *a, const struct type *b)
{
    const struct type *elements[] = {a, b};
    return type_tuple(&arena, elements, 2);
}

static void assert_text(const struct type *type, const char *expected)
{
    assert_string_equal(type_text(&arena, type), expected);
}

static void storage_is_a_multiple_of_eight(void **state)
{
    (void)state;
    static const struct {
        enum type_kind kind;
        uint32_t storage;
    } simple[] = {
        {TYPE_KSYM, 8},    {TYPE_USYM, 16},       {TYPE_KSTACK, 8},   {TYPE_USTACK, 16},
        {TYPE_INET, 24},   {TYPE_TIMESTAMP, 8},   {TYPE_USERNAME, 8}, {TYPE_PROBE_NAME, 8},
        {TYPE_MACADDR, 8}, {TYPE_CGROUP_PATH, 8},
    };
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        assert_int_equal(type_storage(type_simple(&arena, simple[i].kind)), simple[i].storage);
    static const uint32_t aggregations[] = {8, 8, 16, 16, 16, 16, 65 * 8};
    static const struct aggregation *const kinds[] = {
        &aggregation_kind_count, &aggregation_kind_sum,   &aggregation_kind_min, &aggregation_kind_max,
        &aggregation_kind_avg,   &aggregation_kind_stats, &aggregation_kind_hist};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct type *type = type_aggregation(&arena, kinds[i], &type_i64);
        assert_int_equal(type_storage(type), aggregations[i]);
        assert_true(type_is_per_cpu(type));
        assert_int_equal(type_reads_as_integer(type), kinds[i] != &aggregation_kind_hist);
    }
    assert_int_equal(type_storage(&type_none), 0);
    assert_int_equal(type_storage(&type_i8), 8);
    assert_int_equal(type_storage(&type_bool), 8);
    assert_int_equal(type_storage(type_string(&arena, 0)), 8);
    assert_int_equal(type_storage(type_string(&arena, 8)), 8);
    assert_int_equal(type_storage(type_string(&arena, 9)), 16);
    assert_int_equal(type_storage(type_buffer(&arena, 1)), 16);
    assert_int_equal(type_storage(type_array(&arena, &type_u8, 9)), 16);
    assert_int_equal(type_storage(tuple_of(&type_i8, type_string(&arena, 3))), 16);
    assert_int_equal(type_storage(type_tuple(&arena, NULL, 0)), 0);
}

static void tuples_place_fields_at_words(void **state)
{
    (void)state;
    const struct type *inner = tuple_of(&type_i8, type_string(&arena, 9));
    const struct type *outer = tuple_of(inner, &type_bool);
    assert_int_equal(inner->fields[1].offset, 8);
    assert_int_equal(outer->fields[1].offset, 24);
    assert_int_equal(outer->size, 32);
}

static void sizes_do_not_overflow(void **state)
{
    (void)state;
    const struct type *huge = type_array(&arena, &type_u64, UINT32_MAX);
    assert_true(huge->size >= UINT32_MAX - 8);
    assert_true(type_storage(huge) % 8 == 0 && type_storage(huge) > 1000);
    const struct type *pair = tuple_of(huge, huge);
    assert_true(type_storage(pair) > 1000);
    assert_true(type_storage(type_buffer(&arena, UINT32_MAX)) > 1000);
    struct type linear = {.kind = TYPE_AGGREGATION,
                          .aggregation = &aggregation_kind_lhist,
                          .minimum = INT64_MIN,
                          .maximum = INT64_MAX,
                          .step = 1};
    assert_true(type_storage(&linear) > 0);
}

static void equality_is_by_structure(void **state)
{
    (void)state;
    assert_true(type_equal(type_string(&arena, 16), type_string(&arena, 16)));
    assert_false(type_equal(type_string(&arena, 16), type_string(&arena, 17)));
    assert_false(type_equal(&type_u32, &type_i32));
    assert_true(type_equal(tuple_of(&type_i8, &type_bool), tuple_of(&type_i8, &type_bool)));
    assert_false(type_equal(tuple_of(&type_i8, &type_bool), tuple_of(&type_i8, &type_i8)));
    assert_true(
        type_equal(type_pointer(&arena, &type_i8, SPACE_USER), type_pointer(&arena, &type_i8, SPACE_USER)));
    assert_false(
        type_equal(type_pointer(&arena, &type_i8, SPACE_USER), type_pointer(&arena, &type_i8, SPACE_KERNEL)));
    struct type one = {.kind = TYPE_STRUCT, .name = "task_struct", .size = 8}, two = one, other = one;
    other.name = "file";
    assert_true(type_equal(&one, &two));
    assert_false(type_equal(&one, &other));
    struct type first = {.kind = TYPE_AGGREGATION,
                         .aggregation = &aggregation_kind_lhist,
                         .maximum = 10,
                         .step = 1},
                second = first;
    assert_true(type_equal(&first, &second));
    second.step = 2;
    assert_false(type_equal(&first, &second));
}

static void circular_types_end(void **state)
{
    (void)state;
    struct type a = {.kind = TYPE_POINTER, .size = 8}, b = a;
    a.target = &a;
    b.target = &b;
    assert_false(type_equal(&a, &b));
    assert_true(type_equal(&a, &a));
    assert_true(strlen(type_text(&arena, &a)) < 8192);

    /* An anonymous struct that contains itself twice. */
    struct type self = {.kind = TYPE_STRUCT, .size = 8, .count = 2}, twin = self;
    struct field fields[2] = {{.name = "", .type = &self}, {.name = "", .type = &self}};
    struct field twin_fields[2] = {{.name = "", .type = &twin}, {.name = "", .type = &twin}};
    self.fields = fields;
    twin.fields = twin_fields;
    assert_false(type_equal(&self, &twin));
    struct field found;
    assert_false(type_find_field(&self, "x", &found));

    struct type array = {.kind = TYPE_ARRAY, .size = 8, .count = 1};
    array.target = &array;
    assert_true(strlen(type_text(&arena, &array)) < 8192);
    const struct type *deep = &type_i8;
    for (int i = 0; i < 40; i++)
        deep = tuple_of(deep, deep);
    assert_true(strlen(type_text(&arena, deep)) < 65536);
}

static void common_integers(void **state)
{
    (void)state;
    static const struct {
        const struct type *a, *b, *common;
    } cases[] = {
        {&type_i8, &type_i32, &type_i32},     {&type_u8, &type_u32, &type_u32},
        {&type_i8, &type_u8, &type_i16},      {&type_i64, &type_u32, &type_i64},
        {&type_i32, &type_u32, &type_i64},    {&type_i8, &type_u64, &type_i64},
        {&type_bool, &type_i8, &type_i8},     {&type_bool, &type_u16, &type_u16},
        {&type_bool, &type_bool, &type_bool},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(type_equal(type_common(&arena, cases[i].a, cases[i].b), cases[i].common));
        assert_true(type_equal(type_common(&arena, cases[i].b, cases[i].a), cases[i].common));
    }
    assert_null(type_common(&arena, &type_i8, type_string(&arena, 4)));
    assert_null(type_common(&arena, &type_none, &type_i8));
    struct type color = {.kind = TYPE_ENUM, .size = 4, .name = "color"}, same = color, size = color;
    size.name = "size";
    assert_ptr_equal(type_common(&arena, &color, &same), &color);
    assert_int_equal(type_common(&arena, &color, &size)->kind, TYPE_INTEGER);
}

static void common_others(void **state)
{
    (void)state;
    const struct type *shorter = type_string(&arena, 4), *longer = type_string(&arena, 64);
    assert_ptr_equal(type_common(&arena, shorter, longer), longer);
    const struct type *tuple = type_common(&arena, tuple_of(&type_i8, longer), tuple_of(&type_u32, shorter));
    assert_text(tuple, "(int64,string[64])");
    assert_null(type_common(&arena, tuple_of(&type_i8, longer), tuple_of(longer, shorter)));

    const char *const names[] = {"a", "b"}, *const other_order[] = {"b", "a"};
    const struct type *const elements[] = {&type_i8, longer}, *const others[] = {shorter, &type_u32};
    const struct type *record = type_record(&arena, names, elements, 2);
    assert_true(type_is_record(record) && !type_is_record(tuple));
    assert_text(type_common(&arena, record, type_record(&arena, other_order, others, 2)),
                "(a=int64,b=string[64])");
    assert_null(type_common(&arena, record, tuple));
    assert_null(type_common(&arena, record, type_record(&arena, other_order, elements, 2)));
    assert_int_equal(type_element(record, type_record(&arena, other_order, others, 2), 0), 1);
    assert_int_equal(type_element(record, tuple, 0), -1);

    const struct type *nothing = type_pointer(&arena, &type_none, SPACE_NONE);
    const struct type *bytes = type_pointer(&arena, &type_i8, SPACE_USER);
    const struct type *words = type_pointer(&arena, &type_i64, SPACE_USER);
    const struct type *kernel = type_pointer(&arena, &type_i8, SPACE_KERNEL);
    assert_ptr_equal(type_common(&arena, nothing, bytes), bytes);
    assert_ptr_equal(type_common(&arena, bytes, nothing), bytes);
    assert_null(type_common(&arena, bytes, words));
    assert_int_equal(type_common(&arena, bytes, kernel)->space, SPACE_NONE);

    const struct type *sum = type_aggregation(&arena, &aggregation_kind_sum, &type_u64);
    const struct type *signed_sum = type_aggregation(&arena, &aggregation_kind_sum, &type_i8);
    assert_true(type_common(&arena, sum, signed_sum)->is_signed);
    assert_null(type_common(&arena, sum, type_aggregation(&arena, &aggregation_kind_count, NULL)));
}

static unsigned completions;
static struct field completed_fields[2];
static void complete(struct type *type, void *provider)
{
    completions++;
    completed_fields[0] = (struct field){.name = "first", .type = &type_i32};
    completed_fields[1] = (struct field){.name = provider, .type = &type_u64, .offset = 8};
    type->fields = completed_fields;
    type->count = 2;
}

static void members_are_found(void **state)
{
    (void)state;
    struct type lazy = {.kind = TYPE_STRUCT, .size = 16, .complete = complete, .provider = "second"};
    struct field outer_fields[] = {{.name = "a", .type = &type_u8},
                                   {.name = "", .type = &lazy, .offset = 24},
                                   {.name = "named", .type = &lazy, .offset = 40}};
    struct type outer = {.kind = TYPE_STRUCT, .size = 64, .fields = outer_fields, .count = 3};
    struct field found;
    assert_true(type_find_field(&outer, "second", &found));
    assert_int_equal(found.offset, 32);
    assert_ptr_equal(found.type, &type_u64);
    assert_true(type_find_field(&outer, "named", &found));
    assert_int_equal(found.offset, 40);
    assert_false(type_find_field(&outer, "third", &found));
    assert_false(type_find_field(&outer, "", &found));
    assert_false(type_find_field(&type_i8, "second", &found));
    assert_int_equal(completions, 1);
}

static void enumerators_have_names(void **state)
{
    (void)state;
    const struct enumerator values[] = {{"RED", 1}, {"NEGATIVE", -1}};
    struct type type = {.kind = TYPE_ENUM, .size = 4, .enumerators = values, .count = 2};
    assert_string_equal(type_enumerator(&type, -1), "NEGATIVE");
    assert_null(type_enumerator(&type, 2));
    assert_null(type_enumerator(&type_i8, 1));
}

static void types_have_names(void **state)
{
    (void)state;
    struct type task = {.kind = TYPE_STRUCT, .name = "task_struct"}, anonymous = {.kind = TYPE_STRUCT};
    struct type either = {.kind = TYPE_STRUCT, .name = "sigval", .is_union = true};
    struct type color = {.kind = TYPE_ENUM, .name = "color"};
    const struct type *pointer = type_pointer(&arena, &task, SPACE_KERNEL);
    assert_text(&type_u64, "uint64");
    assert_text(&type_i8, "int8");
    assert_text(&type_bool, "bool");
    assert_text(&type_none, "void");
    assert_text(type_string(&arena, 64), "string[64]");
    assert_text(type_buffer(&arena, 8), "buffer[8]");
    assert_text(pointer, "struct task_struct *");
    assert_text(type_pointer(&arena, pointer, SPACE_KERNEL), "struct task_struct **");
    assert_text(type_pointer(&arena, &type_none, SPACE_NONE), "void *");
    assert_text(type_pointer(&arena, NULL, SPACE_NONE), "void *");
    assert_text(&anonymous, "struct");
    assert_text(&either, "union sigval");
    assert_text(&color, "enum color");
    assert_text(type_array(&arena, &type_i32, 4), "int32[4]");
    assert_text(tuple_of(&type_i64, type_string(&arena, 16)), "(int64,string[16])");
    assert_text(type_aggregation(&arena, &aggregation_kind_count, NULL), "count_t");
    assert_text(type_aggregation(&arena, &aggregation_kind_lhist, &type_i64), "lhist_t");
    assert_text(type_simple(&arena, TYPE_USTACK), "ustack_t");
}

static void histogram_rows(void **state)
{
    (void)state;
    struct type type = {.kind = TYPE_AGGREGATION, .aggregation = &aggregation_kind_hist};
    assert_int_equal(type_rows(&type), 65);
    type.step = 5;
    assert_int_equal(type_rows(&type), ((64 - 5) << 5) + 1);
    type = (struct type){.kind = TYPE_AGGREGATION,
                         .aggregation = &aggregation_kind_lhist,
                         .minimum = 0,
                         .maximum = 100,
                         .step = 10};
    assert_int_equal(type_rows(&type), 12);
    type.step = 30;
    assert_int_equal(type_rows(&type), 6);
    type.step = 0;
    assert_int_equal(type_rows(&type), 2);
    type = (struct type){.kind = TYPE_AGGREGATION,
                         .aggregation = &aggregation_kind_lhist,
                         .minimum = INT64_MIN,
                         .maximum = INT64_MAX,
                         .step = INT64_MAX};
    assert_int_equal(type_rows(&type), 5);
}

static uint64_t flags_of(const int64_t *values, uint32_t count, uint32_t size)
{
    struct enumerator enumerators[8];
    for (uint32_t i = 0; i < count; i++)
        enumerators[i] = (struct enumerator){"x", values[i]};
    struct type type = {.kind = TYPE_ENUM, .size = size, .count = count, .enumerators = enumerators};
    return type_flags(&type);
}

static void some_enums_are_flags(void **state)
{
    (void)state;
    assert_int_equal(flags_of((int64_t[]){0, 1, 2, 4}, 4, 4), 7);
    assert_int_equal(flags_of((int64_t[]){1, 2, 4, 7}, 4, 4), 7);
    assert_int_equal(flags_of((int64_t[]){1, 2, 4, 8, 3}, 5, 4), 15);
    assert_int_equal(flags_of((int64_t[]){1, 2, 4, 3}, 4, 4), 0);
    assert_int_equal(flags_of((int64_t[]){0, 1, 2, 3, 4, 5}, 6, 4), 0);
    assert_int_equal(flags_of((int64_t[]){1, 2}, 2, 4), 0);
    assert_int_equal(flags_of((int64_t[]){1, 2, 4, 16 + 1}, 4, 4), 0);
    assert_int_equal(flags_of((int64_t[]){1, 2, INT32_MIN}, 3, 4), 0x80000003);
    assert_int_equal(flags_of((int64_t[]){1, 1, 1, 2}, 4, 4), 0);
    assert_int_equal(flags_of((int64_t[]){1, 2, INT64_MIN}, 3, 8), 0x8000000000000003);
    assert_int_equal(flags_of(NULL, 0, 4), 0);
    assert_int_equal(type_flags(&type_i32), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(storage_is_a_multiple_of_eight, arena_teardown),
        cmocka_unit_test_teardown(tuples_place_fields_at_words, arena_teardown),
        cmocka_unit_test_teardown(sizes_do_not_overflow, arena_teardown),
        cmocka_unit_test_teardown(equality_is_by_structure, arena_teardown),
        cmocka_unit_test_teardown(circular_types_end, arena_teardown),
        cmocka_unit_test_teardown(common_integers, arena_teardown),
        cmocka_unit_test_teardown(common_others, arena_teardown),
        cmocka_unit_test_teardown(members_are_found, arena_teardown),
        cmocka_unit_test_teardown(enumerators_have_names, arena_teardown),
        cmocka_unit_test_teardown(types_have_names, arena_teardown),
        cmocka_unit_test_teardown(histogram_rows, arena_teardown),
        cmocka_unit_test(some_enums_are_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
