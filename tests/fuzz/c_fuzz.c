/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: C definitions. The input is a script, then headers, separated by lines of '%'; they are
 * included as h0, h1 … Every type that comes out is walked: its fields must lie inside of it. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/c/definitions.h"
#include "lang/parse/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct parts {
    const char *texts[8];
    size_t lengths[8];
    size_t count;
};

static int read_part(void *state, const char *path, const char **text, size_t *length)
{
    const struct parts *parts = state;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (name[0] != 'h' || name[1] < '0' || name[1] > '7' || name[2])
        return -ENOENT;
    size_t part = (size_t)(name[1] - '0') + 1;
    if (part >= parts->count)
        return -ENOENT;
    *text = parts->texts[part];
    *length = parts->lengths[part];
    return 0;
}

static void walk(const struct type *type, unsigned depth)
{
    if (!type || !depth)
        return;
    type_complete(type);
    if (type->kind == TYPE_STRUCT)
        for (uint32_t i = 0; i < type->count; i++) {
            const struct field *field = &type->fields[i];
            uint64_t bytes =
                field->bit_size ? (field->bit_offset + field->bit_size + 7u) / 8 : field->type->size;
            assert(field->offset + bytes <= type->size && field->bit_offset < 8 && field->bit_size <= 64);
            if (i < 100)
                walk(field->type, depth - 1);
        }
    else if (type->kind == TYPE_ARRAY)
        walk(type->target, depth - 1);
}

/* Looks up every word of the script as a type and as an enumerator. */
static void ask(struct c_definitions *definitions, const char *text, size_t length)
{
    static const char *const forms[] = {"", "struct ", "union ", "enum "};
    for (size_t at = 0, asked = 0; at < length && asked < 200; at++) {
        size_t end = at;
        while (end < length && end - at < 30 &&
               (text[end] == '_' || ((text[end] | 32) >= 'a' && (text[end] | 32) <= 'z')))
            end++;
        if (end == at)
            continue;
        asked++;
        for (size_t i = 0; i < 4; i++) {
            char name[64];
            int64_t value;
            size_t used = strlen(forms[i]);
            memcpy(name, forms[i], used);
            memcpy(name + used, text + at, end - at);
            name[used + end - at] = 0;
            walk(c_type(definitions, name), 8);
            c_enumerator(definitions, name, &value);
        }
        at = end;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    struct parts parts = {0};
    jmp_buf nowhere;
    char *memory[8] = {0};
    struct c_definitions *volatile opened = NULL;
    const char *rest = (const char *)data;
    for (size_t left = size; parts.count < 8;) {
        const char *mark = memmem(rest, left, "\n%\n", 3);
        size_t length = mark ? (size_t)(mark - rest) : left;
        /* exactly the text's size, so that every read too far is found */
        memory[parts.count] = malloc(length + 1);
        memcpy(memory[parts.count], rest, length);
        memory[parts.count][length] = 0;
        parts.texts[parts.count] = memory[parts.count];
        parts.lengths[parts.count++] = length;
        if (!mark)
            break;
        left -= length + 3;
        rest = mark + 3;
    }
    if (!arena_guard(&arena, nowhere)) {
        struct c_options options = {.arena = &arena,
                                    .diagnostics = &diagnostics,
                                    .have_btf = true,
                                    .state = &parts,
                                    .read = read_part};
        struct c_definitions *definitions = opened = c_open(&options);
        struct source source = {"fuzz", parts.texts[0], parts.lengths[0]};
        struct script *script = script_parse_with(&arena, &diagnostics, &source, NULL, definitions);
        struct text text = {0};
        if (!diagnostics.errors)
            script_print(&text, script);
        diagnostics_render(&text, &diagnostics, DIAGNOSTIC_ERROR, false);
        text_free(&text);
        ask(definitions, parts.texts[0], parts.lengths[0]);
    }
    c_close(opened);
    arena_free(&arena);
    for (size_t i = 0; i < 8; i++)
        free(memory[i]);
    return 0;
}
