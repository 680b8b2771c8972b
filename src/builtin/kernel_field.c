/* SPDX-License-Identifier: BSD-3-Clause */
/* See kernel_field.h. */
#include "builtin/kernel_field.h"

#include <string.h>

static bool offset_of(struct checker *checker, const struct kernel_field *field, uint32_t *offset)
{
    const struct type_provider *provider = checker->provider;
    const struct type *type = provider ? provider->type(provider->state, field->type) : NULL;
    const char *path = field->path;
    for (*offset = 0; *path;) {
        size_t length = strcspn(path, ".");
        struct field found;
        if (type)
            type_complete(type);
        if (!type || !type_find_field(type, arena_printf(checker->arena, "%.*s", (int)length, path), &found))
            return false;
        *offset += found.offset;
        type = found.type;
        path += length + (path[length] == '.');
    }
    return true;
}

const uint32_t *kernel_field_offsets(struct checker *checker, const struct node *node, const char *builtin,
                                     const struct kernel_field *fields, size_t count)
{
    uint32_t *offsets = arena_array(checker->arena, count, sizeof *offsets);
    for (size_t i = 0; i < count; i++)
        if (!offset_of(checker, &fields[i], &offsets[i])) {
            check_error(checker, node->span, "%s needs to know where '%s' is in '%s', and cannot find out",
                        builtin, fields[i].path, fields[i].type);
            check_hint(checker, "it is read from the kernel's type information, /sys/kernel/btf/vmlinux");
            return NULL;
        }
    return offsets;
}

struct ir *kernel_field_word(struct lowering *l, struct ir *address, uint32_t offset, const struct type *type,
                             struct span span)
{
    return lower_read_scalar(l, ir_binary_constant(&l->b, IR_ADD, address, offset), type, SPACE_KERNEL, span);
}
