/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the BTF reader on BTF made by hand, word by word; on the running kernel's; and on BTF that lies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/kernel/btf.h"

/* ---- a small writer of BTF ---- */

struct made {
    uint32_t words[512];
    size_t word_count;
    char strings[1024];
    size_t string_size;
    uint32_t string_base; /* for a module's BTF: the size of its base's strings */
    uint8_t bytes[4096] __attribute__((aligned(8)));
    size_t size;
};

static uint32_t text(struct made *made, const char *string)
{
    size_t at = made->string_size;
    memcpy(made->strings + at, string, strlen(string) + 1);
    made->string_size += strlen(string) + 1;
    return made->string_base + (uint32_t)at;
}

static void put(struct made *made, uint32_t word)
{
    made->words[made->word_count++] = word;
}

#define INFO(kind, count, flag) ((uint32_t)(flag) << 31 | (uint32_t)(kind) << 24 | (count))

static void record(struct made *made, const char *name, uint32_t info, uint32_t size_or_type)
{
    put(made, *name ? text(made, name) : 0);
    put(made, info);
    put(made, size_or_type);
}

static void member(struct made *made, const char *name, uint32_t type, uint32_t offset)
{
    put(made, *name ? text(made, name) : 0);
    put(made, type);
    put(made, offset);
}

static void finish(struct made *made)
{
    struct btf_header header = {.magic = BTF_MAGIC,
                                .version = 1,
                                .hdr_len = sizeof header,
                                .type_len = (uint32_t)made->word_count * 4,
                                .str_off = (uint32_t)made->word_count * 4,
                                .str_len = (uint32_t)made->string_size};
    memcpy(made->bytes, &header, sizeof header);
    memcpy(made->bytes + sizeof header, made->words, header.type_len);
    memcpy(made->bytes + sizeof header + header.type_len, made->strings, header.str_len);
    made->size = sizeof header + header.type_len + header.str_len;
}

enum {
    INT = 1,
    CHAR,
    SMALL,
    POINT,
    POINT_PTR,
    CHARS,
    COLOUR,
    BIG,
    OLD_BITS,
    UNION,
    ALIAS,
    CONST,
    PROTO,
    FUNC,
    SELF,
    BOOL
};

static void make(struct made *made)
{
    text(made, "");
    record(made, "int", INFO(BTF_KIND_INT, 0, 0), 4);
    put(made, BTF_INT_SIGNED << 24 | 32);
    record(made, "char", INFO(BTF_KIND_INT, 0, 0), 1);
    put(made, 8);
    record(made, "unsigned int", INFO(BTF_KIND_INT, 0, 0),
           4); /* SMALL is an int of 3 bits from bit 2 of an unsigned int */
    put(made, 2 << 16 | 3);
    record(made, "point", INFO(BTF_KIND_STRUCT, 6, 1), 32);
    member(made, "x", INT, 0);
    member(made, "low", INT, 5u << 24 | 32);
    member(made, "high", INT, 27u << 24 | 37);
    member(made, "next", POINT_PTR, 64);
    member(made, "", UNION, 128);
    member(made, "name", CHARS, 160); /* 12 bytes up to the end */
    record(made, "", INFO(BTF_KIND_PTR, 0, 0), POINT);
    record(made, "", INFO(BTF_KIND_ARRAY, 0, 0), 0);
    put(made, CHAR);
    put(made, INT);
    put(made, 12);
    record(made, "colour", INFO(BTF_KIND_ENUM, 2, 1), 4);
    put(made, text(made, "RED"));
    put(made, (uint32_t)-2);
    put(made, text(made, "GREEN"));
    put(made, 7);
    record(made, "big", INFO(BTF_KIND_ENUM64, 1, 0), 8);
    put(made, text(made, "HUGE_ONE"));
    put(made, 5);
    put(made, 1);
    record(made, "old_bits", INFO(BTF_KIND_STRUCT, 1, 0), 8);
    member(made, "bits", SMALL, 32);
    record(made, "", INFO(BTF_KIND_UNION, 2, 0), 4);
    member(made, "u_int", INT, 0);
    member(made, "u_char", CHAR, 0);
    record(made, "alias", INFO(BTF_KIND_TYPEDEF, 0, 0), CONST);
    record(made, "", INFO(BTF_KIND_CONST, 0, 0), POINT);
    record(made, "", INFO(BTF_KIND_FUNC_PROTO, 3, 0), INT);
    put(made, text(made, "p")), put(made, POINT_PTR);
    put(made, text(made, "n")), put(made, COLOUR);
    put(made, 0), put(made, 0);
    record(made, "draw", INFO(BTF_KIND_FUNC, 1, 0), PROTO);
    record(made, "self", INFO(BTF_KIND_TYPEDEF, 0, 0), SELF);
    record(made, "_Bool", INFO(BTF_KIND_INT, 0, 0), 1);
    put(made, BTF_INT_BOOL << 24 | 8);
    finish(made);
}

static void made_by_hand(void **state)
{
    (void)state;
    static struct made made;
    struct arena arena = {0};
    struct btf_file *file;
    struct field field;
    make(&made);
    assert_int_equal(btf_file_open_memory(made.bytes, made.size, NULL, &arena, &file), 0);
    assert_int_equal(btf_file_type_count(file), BOOL + 1);

    const struct type *point = btf_file_type(file, "struct point");
    assert_non_null(point);
    assert_ptr_equal(point, btf_file_type(file, "point"));
    assert_ptr_equal(point, btf_file_type(file, "alias"));
    assert_null(btf_file_type(file, "union point"));
    assert_null(btf_file_type(file, "nothing"));
    assert_null(btf_file_type(file, ""));
    assert_int_equal(point->kind, TYPE_STRUCT);
    assert_int_equal(point->size, 32);
    type_complete(point);
    assert_int_equal(point->count, 6);
    assert_true(type_find_field(point, "low", &field));
    assert_int_equal(field.offset, 4);
    assert_int_equal(field.bit_offset, 0);
    assert_int_equal(field.bit_size, 5);
    assert_true(type_find_field(point, "high", &field));
    assert_int_equal(field.offset * 8 + field.bit_offset, 37);
    assert_int_equal(field.bit_size, 27);
    assert_true(type_find_field(point, "x", &field));
    assert_int_equal(field.bit_size, 0);
    assert_true(type_find_field(point, "u_char", &field)); /* a member of the anonymous union */
    assert_int_equal(field.offset, 16);
    assert_true(type_find_field(point, "next", &field));
    assert_int_equal(field.type->kind, TYPE_POINTER);
    assert_int_equal(field.type->space, SPACE_KERNEL);
    assert_ptr_equal(field.type->target, point);
    assert_true(type_find_field(point, "name", &field));
    assert_int_equal(field.type->kind, TYPE_ARRAY);
    assert_ptr_equal(field.type->target, &type_i8);
    assert_int_equal(field.type->count, 12);

    const struct type *old = btf_file_type(file, "struct old_bits");
    assert_true(type_find_field(old, "bits", &field));
    assert_int_equal(field.offset * 8 + field.bit_offset, 34);
    assert_int_equal(field.bit_size, 3);

    const struct type *colour = btf_file_type(file, "enum colour");
    assert_int_equal(colour->kind, TYPE_ENUM);
    assert_true(colour->is_signed);
    assert_string_equal(type_enumerator(colour, -2), "RED");
    int64_t value;
    assert_int_equal(btf_file_enumerator(file, "GREEN", &value), 0);
    assert_int_equal(value, 7);
    assert_int_equal(btf_file_enumerator(file, "HUGE_ONE", &value), 0);
    assert_true(value == 0x100000005);
    assert_int_equal(btf_file_enumerator(file, "BLUE", &value), -ENOENT);
    assert_ptr_equal(btf_file_type(file, "_Bool"), &type_bool);
    assert_ptr_equal(btf_file_type(file, "int"), &type_i32);
    assert_null(btf_file_type(file, "self"));

    struct btf_prototype draw;
    assert_int_equal(btf_file_function(file, "draw", &draw), 0);
    assert_int_equal(draw.id, FUNC);
    assert_int_equal(draw.count, 2);
    assert_true(draw.is_variadic);
    assert_string_equal(draw.parameters[1].name, "n");
    assert_ptr_equal(draw.parameters[1].type, colour);
    assert_ptr_equal(draw.result, &type_i32);
    assert_int_equal(btf_file_function(file, "paint", &draw), -ENOENT);
    assert_int_equal(btf_file_tracepoint(file, "paint", &draw), -ENOENT);

    /* A module's BTF continues the numbering of its base, in types and in strings. */
    static struct made module;
    struct btf_file *split;
    module.string_base = (uint32_t)made.string_size;
    text(&module, "");
    record(&module, "shape", INFO(BTF_KIND_STRUCT, 1, 0), 32);
    member(&module, "where", POINT, 0);
    finish(&module);
    assert_int_equal(btf_file_open_memory(module.bytes, module.size, file, &arena, &split), 0);
    assert_int_equal(btf_file_id(split, BTF_NAME_STRUCT, "shape"), BOOL + 1);
    assert_true(type_find_field(btf_file_type(split, "struct shape"), "where", &field));
    assert_ptr_equal(field.type, point);
    assert_ptr_equal(btf_file_type(split, "struct point"), point);
    btf_file_close(split);
    btf_file_close(file);
    arena_free(&arena);
}

/* ---- the kernel's ---- */

static int count_names(void *context, const char *name, uint32_t id)
{
    ++*(size_t *)context;
    return *name && id ? 0 : -1;
}

static void of_the_kernel(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct btf_file *file;
    struct field field;
    struct btf_prototype hook;
    if (access("/sys/kernel/btf/vmlinux", R_OK)) {
        print_message("SKIP: this kernel has no readable BTF\n");
        skip();
    }
    assert_int_equal(btf_file_open(NULL, NULL, &arena, &file), 0);
    const struct type *task = btf_file_type(file, "struct task_struct");
    assert_non_null(task);
    assert_int_equal(arena.total < 64 << 10, true); /* only the types that were asked for are read */
    assert_true(type_find_field(task, "comm", &field));
    assert_int_equal(field.type->size, 16);
    assert_ptr_equal(field.type->target, &type_i8);
    assert_true(type_find_field(task, "real_parent", &field));
    assert_ptr_equal(field.type->target, task);
    assert_true(type_find_field(task, "pid", &field));
    assert_int_equal(type_storage(field.type), 8);
    assert_true(type_find_field(task, "sched_reset_on_fork", &field));
    assert_int_equal(field.bit_size, 1);
    assert_int_equal(btf_file_tracepoint(file, "sched_switch", &hook), 0);
    assert_true(hook.count >= 3);
    assert_string_equal(hook.parameters[1].name, "prev");
    assert_ptr_equal(hook.parameters[1].type->target, task);
    size_t functions = 0, hooks = 0, types = 0;
    assert_int_equal(btf_file_each_function(file, "vfs_*", count_names, &functions), 0);
    assert_int_equal(btf_file_each_tracepoint(file, "sched_*", count_names, &hooks), 0);
    assert_int_equal(btf_file_each_type(file, "struct task_*", count_names, &types), 0);
    assert_true(functions > 10 && hooks > 10 && types > 3);
    /* Every type can be built, inspected and written as a definition. */
    struct text definition = {0};
    for (uint32_t id = 0; id < btf_file_type_count(file); id++) {
        text_clear(&definition);
        btf_file_define(file, id, &definition);
        assert_true(!definition.length || !strcmp(text_string(&definition) + definition.length - 3, "};\n"));
        const struct type *type = btf_file_type_by_id(file, id);
        if (type)
            type_complete(type);
    }
    text_clear(&definition);
    btf_file_define(file, btf_file_id(file, BTF_NAME_STRUCT, "file_operations"), &definition);
    assert_non_null(
        strstr(text_string(&definition), "\tssize_t (*read)(struct file *, char *, size_t, loff_t *);\n"));
    text_free(&definition);
    btf_file_close(file);
    arena_free(&arena);
}

/* ---- hostile ---- */

static void ask_everything(const void *bytes, size_t size)
{
    struct arena arena = {0};
    struct btf_file *file;
    struct btf_prototype prototype;
    struct field field;
    int64_t value;
    size_t count = 0;
    if (btf_file_open_memory(bytes, size, NULL, &arena, &file))
        return;
    for (uint32_t id = 0; id < btf_file_type_count(file) + 2; id++) {
        const struct type *type = btf_file_type_by_id(file, id);
        struct text described = {0};
        btf_file_describe(file, id, &described);
        btf_file_define(file, id, &described);
        text_clear(&described);
        if (!type) {
            text_free(&described);
            continue;
        }
        type_complete(type);
        type_find_field(type, "u_char", &field);
        type_describe(&described, type);
        text_free(&described);
    }
    btf_file_function(file, "draw", &prototype);
    btf_file_enumerator(file, "nothing", &value);
    btf_file_each_function(file, "*", count_names, &count);
    btf_file_each_type(file, "*", count_names, &count);
    btf_file_close(file);
    arena_free(&arena);
}

static void scribbled(void **state)
{
    (void)state;
    static const uint32_t values[] = {0,          1,          4,          16,
                                      0x7fffffff, 0x80000000, UINT32_MAX, INFO(BTF_KIND_STRUCT, 65535, 1)};
    static struct made made;
    make(&made);
    uint32_t *copy = malloc(made.size + 4);
    assert_non_null(copy);
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (size_t at = 0; at + 4 <= made.size; at += 4) {
            memcpy(copy, made.bytes, made.size);
            memcpy((char *)copy + at, &values[v], 4);
            ask_everything(copy, made.size);
        }
    for (uint32_t id = 0; id < BOOL + 2; id++) /* every field of every record refers to every type in turn */
        for (size_t at = sizeof(struct btf_header); at + 4 <= made.size; at += 4) {
            memcpy(copy, made.bytes, made.size);
            memcpy((char *)copy + at, &id, 4);
            ask_everything(copy, made.size);
        }
    free(copy);
    for (size_t cut = 0; cut < made.size; cut++) {
        void *exact = malloc(cut ? cut : 1);
        memcpy(exact, made.bytes, cut);
        ask_everything(exact, cut);
        free(exact);
    }
}

/* A struct of two structs of two structs and so on: its members are followed only as deep as the caller asks. */
static void deep_nesting(void **state)
{
    (void)state;
    static struct made made;
    text(&made, "");
    record(&made, "int", INFO(BTF_KIND_INT, 0, 0), 4);
    put(&made, BTF_INT_SIGNED << 24 | 32);
    for (uint32_t i = 2; i < 40; i++) {
        record(&made, "", INFO(BTF_KIND_ARRAY, 0, 0), 0);
        put(&made, i - 1);
        put(&made, 1);
        put(&made, 2);
    }
    finish(&made);
    ask_everything(made.bytes, made.size);
    struct arena arena = {0};
    struct btf_file *file;
    assert_int_equal(btf_file_open_memory(made.bytes, made.size, NULL, &arena, &file), 0);
    assert_non_null(btf_file_type_by_id(file, 20));
    assert_null(btf_file_type_by_id(file, 39)); /* larger than 4 GB */
    btf_file_close(file);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_by_hand),
        cmocka_unit_test(of_the_kernel),
        cmocka_unit_test(scribbled),
        cmocka_unit_test(deep_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
