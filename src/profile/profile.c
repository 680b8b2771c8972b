/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps functions, frames and stacks once each. A string is the key of a table, which lives as long as the table. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

/* What tells one from another, as the key of a table: pointers to strings that are kept once are the strings. */
struct function_key {
    const char *name, *module;
    uint64_t language;
};
struct frame_key {
    const char *file;
    uint32_t function, line;
    uint64_t is_inlined;
};

/* Values of the tables are indexes, and NULL is no value. */
static void *from_index(size_t index)
{
    return (void *)(uintptr_t)(index + 1); // NOLINT(performance-no-int-to-ptr)
}

static bool to_index(const void *value, size_t *index)
{
    *index = (size_t)(uintptr_t)value - 1;
    return value;
}

static const char *keep_string(struct profile *profile, const char *string)
{
    const size_t length = string ? strlen(string) : 0;
    if (!length)
        return "";
    size_t index;
    if (!to_index(table_get(&profile->strings, string, length), &index)) {
        index = profile->strings.count;
        if (table_set(&profile->strings, string, length, from_index(index)))
            return NULL;
    }
    return profile->strings.entries[index].key;
}

static int keep_function(struct profile *profile, const struct profile_call *call, uint32_t *out)
{
    const struct profile_function function = {keep_string(profile, call->name),
                                              keep_string(profile, call->module), call->language};
    const struct function_key key = {function.name, function.module, function.language};
    size_t index;
    if (!function.name || !function.module)
        return -ENOMEM;
    if (!to_index(table_get(&profile->function_table, &key, sizeof key), &index)) {
        index = profile->function_count;
        if (!vector_make_room(profile->functions, profile->function_count, profile->function_room) ||
            table_set(&profile->function_table, &key, sizeof key, from_index(index)))
            return -ENOMEM;
        profile->functions[profile->function_count++] = function;
    }
    *out = (uint32_t)index;
    return 0;
}

static int keep_frame(struct profile *profile, const struct profile_call *call, uint32_t *out)
{
    struct profile_frame frame = {
        .file = keep_string(profile, call->file), .line = call->line, .is_inlined = call->is_inlined};
    size_t index;
    if (!frame.file || keep_function(profile, call, &frame.function))
        return -ENOMEM;
    const struct frame_key key = {frame.file, frame.function, frame.line, frame.is_inlined};
    if (!to_index(table_get(&profile->frame_table, &key, sizeof key), &index)) {
        index = profile->frame_count;
        if (!vector_make_room(profile->frames, profile->frame_count, profile->frame_room) ||
            table_set(&profile->frame_table, &key, sizeof key, from_index(index)))
            return -ENOMEM;
        profile->frames[profile->frame_count++] = frame;
    }
    *out = (uint32_t)index;
    return 0;
}

int profile_push(struct profile *profile, const struct profile_call *call)
{
    uint32_t frame;
    if (!vector_make_room(profile->building, profile->building_count, profile->building_room) ||
        keep_frame(profile, call, &frame))
        return -ENOMEM;
    profile->building[profile->building_count++] = frame;
    return 0;
}

static bool make_path_room(struct profile *profile, size_t more)
{
    while (profile->path_room - profile->path_length < more)
        if (!vector_make_room(profile->path, profile->path_room, profile->path_room))
            return false;
    return true;
}

static int keep_stack(struct profile *profile, size_t *out)
{
    const size_t count = profile->building_count, bytes = count * sizeof *profile->building;
    if (to_index(table_get(&profile->stack_table, profile->building, bytes), out))
        return 0;
    *out = profile->stack_count;
    if (!make_path_room(profile, count) ||
        !vector_make_room(profile->stacks, profile->stack_count, profile->stack_room) ||
        table_set(&profile->stack_table, profile->building, bytes, from_index(*out)))
        return -ENOMEM;
    if (count)
        memcpy(profile->path + profile->path_length, profile->building, bytes);
    profile->stacks[profile->stack_count++] =
        (struct profile_stack){.first = profile->path_length, .count = (uint32_t)count};
    profile->path_length += count;
    return 0;
}

int profile_add(struct profile *profile, uint64_t weight, bool is_old)
{
    size_t stack;
    const int error = keep_stack(profile, &stack);
    profile->building_count = 0;
    if (error)
        return error;
    if (is_old) {
        profile->stacks[stack].old += weight;
        profile->old_total += weight;
        profile->has_old = true;
    } else {
        profile->stacks[stack].weight += weight;
        profile->total += weight;
    }
    return 0;
}

void profile_free(struct profile *profile)
{
    table_free(&profile->strings);
    table_free(&profile->function_table);
    table_free(&profile->frame_table);
    table_free(&profile->stack_table);
    free(profile->functions);
    free(profile->frames);
    free(profile->path);
    free(profile->stacks);
    free(profile->building);
    *profile = (struct profile){0};
}
