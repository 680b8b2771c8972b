/* SPDX-License-Identifier: BSD-3-Clause */
/* Records and stacks as the reader finds them. Their content is not trusted. */
#include "bpf/action.h"

#include <string.h>

/* Returns what the program says about a packed string: its bytes, or an error. */
static int32_t said_bytes(const struct action_field *field, const uint8_t *record, size_t length)
{
    struct image_string string;
    if (field->offset + sizeof string > length)
        return 0;
    memcpy(&string, record + field->offset, sizeof string);
    return string.bytes;
}

/* Returns how many bytes of a packed string are in the record. */
static size_t text_bytes(const struct action_field *field, const uint8_t *record, size_t length)
{
    int32_t bytes = said_bytes(field, record, length);
    return bytes > 0 && (uint32_t)bytes <= field->type->size + 1 ? (size_t)bytes : 0;
}

const uint8_t *action_field(const struct action *action, uint32_t number, const uint8_t *record,
                            size_t length)
{
    static const uint8_t zeros[64], fault[64] = "<fault>";
    const struct action_field *field = &action->fields[number];
    if (field->constant)
        return field->constant;
    if (!field->is_packed)
        return field->offset + type_storage(field->type) <= length ? record + field->offset : zeros;
    if (said_bytes(field, record, length) < 0)
        return fault;
    size_t at = action->size, bytes = text_bytes(field, record, length);
    for (uint32_t i = 0; i < number; i++)
        if (action->fields[i].is_packed)
            at += (text_bytes(&action->fields[i], record, length) + 7) & ~(size_t)7;
    if (!bytes || at > length)
        return zeros;
    if (bytes > field->type->size)
        return field->type->size <= length - at ? record + at : zeros;
    return bytes <= length - at && !record[at + bytes - 1] ? record + at : zeros;
}

void action_count_runtime_errors(const struct action *action, const uint8_t *record, size_t length,
                                 struct image_control *control)
{
    for (uint32_t i = 0; i < action->field_count; i++) {
        const struct action_field *field = &action->fields[i];
        if (!field->is_packed)
            continue;
        int32_t bytes = said_bytes(field, record, length);
        int runtime_error = bytes < 0                                  ? field->fault
                            : (uint32_t)bytes == field->type->size + 1 ? field->truncated
                                                                       : -1;
        if (runtime_error >= 0 && control)
            __atomic_fetch_add(&control->runtime_errors[runtime_error], 1, __ATOMIC_RELAXED);
    }
}

size_t image_stack_frames(struct image_stack *stack, size_t size, const uint64_t **frames)
{
    size_t room = (size - sizeof *stack) / sizeof(uint64_t) - 1, count = stack->bytes / sizeof(uint64_t);
    count = count < room ? count : room;
    *frames = stack->frames;
    const uint32_t most = stack->kind & IMAGE_STACK_CALLER;
    if (!most)
        return count;
    uint64_t *list = stack->frames, caller = list[0];
    if (caller && count && (count < 2 || list[2] != caller)) {
        list[0] = list[1];
        list[1] = caller;
        return count < most ? count + 1 : count;
    }
    *frames = list + 1;
    return count;
}
