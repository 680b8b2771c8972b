/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as BTF, such as a program carries; calls every function that reads it. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "sym/kernel/btf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t see_type(const struct type *type, unsigned depth)
{
    size_t sum = 0;
    if (!type || !depth)
        return 0;
    type_complete(type);
    if (type->kind == TYPE_ENUM)
        for (uint32_t i = 0; i < type->count; i++)
            sum += strlen(type->enumerators[i].name);
    if (type->kind == TYPE_STRUCT)
        for (uint32_t i = 0; i < type->count && i < 16; i++) {
            if (type->fields[i].offset > type->size)
                abort();
            sum += strlen(type->fields[i].name) + see_type(type->fields[i].type, depth - 1);
        }
    return sum + see_type(type->target, depth - 1);
}

static int see_name(void *state, const char *name, uint32_t id)
{
    *(size_t *)state += strlen(name) + id;
    return 0;
}

static size_t see_prototype(const struct btf_prototype *prototype)
{
    size_t sum = see_type(prototype->result, 3);
    for (uint32_t i = 0; i < prototype->count; i++)
        sum += strlen(prototype->parameters[i].name) + see_type(prototype->parameters[i].type, 3);
    return sum;
}

static void ask(struct btf_file *file)
{
    static const char *const names[] = {"struct outer", "union word", "enum mood", "int", "pair_t", "outer"};
    size_t sum = 0;
    int64_t value;
    struct btf_prototype prototype;
    struct text text = {0};
    for (uint32_t id = 0; id < btf_file_type_count(file) && id < 256; id++) {
        sum += see_type(btf_file_type_by_id(file, id), 4);
        btf_file_describe(file, id, &text);
        btf_file_define(file, id, &text);
        text_clear(&text);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        sum += see_type(btf_file_type(file, names[i]), 4);
    btf_file_enumerator(file, "CALM", &value);
    sum += btf_file_id(file, BTF_NAME_VARIABLE, "runqueues");
    btf_file_each_function(file, "*", see_name, &sum);
    btf_file_each_tracepoint(file, "*", see_name, &sum);
    btf_file_each_type(file, "*", see_name, &sum);
    if (!btf_file_function(file, "take", &prototype))
        sum += see_prototype(&prototype);
    if (!btf_file_tracepoint(file, "happened", &prototype))
        sum += see_prototype(&prototype);
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct btf_file *file = NULL;
    jmp_buf nowhere;
    /* The bytes are at the end of the allocation, so that a read of one byte too many is found. */
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    if (!arena_guard(&arena, nowhere) && !btf_file_open_memory(bytes, size, NULL, &arena, &file))
        ask(file);
    btf_file_close(file);
    arena_free(&arena);
    free(bytes);
    return 0;
}
