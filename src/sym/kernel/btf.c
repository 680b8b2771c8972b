/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, checking and indexing BTF. btf_types.c makes types of it.
 *
 * One pass over the type section checks that every record is inside of it and notes where it begins; code behind
 * that may read a record without checking its end again. References between types and into strings are checked when
 * they are followed. */
#include "sym/kernel/btf_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/glob.h"
#include "base/text.h"
#include "base/whole.h"

enum { BTF_LARGEST = 512 << 20 };

/* Bytes that follow the record of a type: a fixed number, and some for each element. */
static const struct {
    uint8_t fixed, element;
    bool known;
} btf_tail[] = {
    [BTF_KIND_INT] = {4, 0, true},        [BTF_KIND_PTR] = {0, 0, true},
    [BTF_KIND_ARRAY] = {12, 0, true},     [BTF_KIND_STRUCT] = {0, 12, true},
    [BTF_KIND_UNION] = {0, 12, true},     [BTF_KIND_ENUM] = {0, 8, true},
    [BTF_KIND_FWD] = {0, 0, true},        [BTF_KIND_TYPEDEF] = {0, 0, true},
    [BTF_KIND_VOLATILE] = {0, 0, true},   [BTF_KIND_CONST] = {0, 0, true},
    [BTF_KIND_RESTRICT] = {0, 0, true},   [BTF_KIND_FUNC] = {0, 0, true},
    [BTF_KIND_FUNC_PROTO] = {0, 8, true}, [BTF_KIND_VAR] = {4, 0, true},
    [BTF_KIND_DATASEC] = {0, 12, true},   [BTF_KIND_FLOAT] = {0, 0, true},
    [BTF_KIND_DECL_TAG] = {4, 0, true},   [BTF_KIND_TYPE_TAG] = {0, 0, true},
    [BTF_KIND_ENUM64] = {0, 12, true},
};

const struct btf_type *btf_record(const struct btf_file *file, uint32_t id)
{
    for (; file; file = file->base) {
        if (id && id >= file->first_id && id - file->first_id < file->count)
            return (const void *)(file->types + file->offsets[id - file->first_id]);
        if (id >= file->first_id)
            return NULL;
    }
    return NULL;
}

const char *btf_string(const struct btf_file *file, uint32_t offset)
{
    for (; file; file = file->base) {
        if (offset >= file->first_string && offset - file->first_string < file->strings_size)
            return file->strings + (offset - file->first_string);
        if (offset >= file->first_string)
            return "";
    }
    return "";
}

static int btf_sections(struct btf_file *file)
{
    struct btf_header header;
    if (file->size < sizeof header)
        return -EBADMSG;
    memcpy(&header, file->bytes, sizeof header);
    if (header.magic != BTF_MAGIC || header.version != 1 || header.hdr_len < sizeof header ||
        header.hdr_len > file->size)
        return -EBADMSG;
    uint64_t room = file->size - header.hdr_len;
    if (header.type_off % 4 || header.hdr_len % 4 || header.type_off > room ||
        header.type_len > room - header.type_off || header.str_off > room ||
        header.str_len > room - header.str_off || !header.str_len)
        return -EBADMSG;
    file->types = file->bytes + header.hdr_len + header.type_off;
    file->types_size = header.type_len;
    file->strings = (const char *)file->bytes + header.hdr_len + header.str_off;
    file->strings_size = header.str_len;
    if (file->strings[file->strings_size - 1])
        return -EBADMSG;
    file->first_id = file->base ? btf_file_type_count(file->base) : 1;
    file->first_string = file->base ? file->base->first_string + file->base->strings_size : 0;
    return 0;
}

static int btf_walk(struct btf_file *file)
{
    struct cursor records = cursor_over(file->types, file->types_size);
    while (cursor_left(&records)) {
        file->offsets[file->count] = (uint32_t)(records.at - file->types);
        const struct btf_type *type = cursor_take_bytes(&records, sizeof *type);
        unsigned kind = type ? BTF_INFO_KIND(type->info) : 0;
        if (kind >= sizeof btf_tail / sizeof *btf_tail || !btf_tail[kind].known)
            return -EBADMSG; /* its length is unknown, so that nothing behind it can be found */
        cursor_skip(&records, btf_tail[kind].fixed + btf_tail[kind].element * BTF_INFO_VLEN(type->info));
        if (records.is_bad)
            return -EBADMSG;
        file->enums_have_sign |=
            kind == BTF_KIND_ENUM64 || (kind == BTF_KIND_ENUM && BTF_INFO_KFLAG(type->info));
        file->count++;
    }
    return 0;
}

static int btf_start(struct btf_file *file)
{
    int error = btf_sections(file);
    if (error)
        return error;
    /* There is room for as many records as there can be; memory that is never touched costs nothing. */
    file->offsets = malloc((file->types_size / sizeof(struct btf_type) + 1) * sizeof *file->offsets);
    if (!file->offsets)
        return -ENOMEM;
    error = btf_walk(file);
    if (error)
        return error;
    file->made = calloc(file->count + 1, sizeof *file->made);
    return file->made ? 0 : -ENOMEM;
}

int btf_file_open_memory(const void *bytes, size_t size, struct btf_file *base, struct arena *arena,
                         struct btf_file **out)
{
    if ((uintptr_t)bytes % 4 || size > BTF_LARGEST)
        return -EBADMSG;
    struct btf_file *file = calloc(1, sizeof *file);
    if (!file)
        return -ENOMEM;
    file->bytes = bytes;
    file->size = size;
    file->base = base;
    file->arena = arena;
    file->space = SPACE_KERNEL;
    int error = btf_start(file);
    if (error) {
        btf_file_close(file);
        return error;
    }
    *out = file;
    return 0;
}

static int btf_read_all(int fd, void **out, size_t *size)
{
    struct text text = {0};
    int error = whole_read_text(fd, BTF_LARGEST, &text);
    if (error) {
        text_free(&text);
        return error;
    }
    *out = text.bytes;
    *size = text.length;
    return 0;
}

int btf_file_open(const char *path, struct btf_file *base, struct arena *arena, struct btf_file **out)
{
    static const char vmlinux[] = "/sys/kernel/btf/vmlinux";
    int fd = open(path ? path : vmlinux, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* Only the kernel's own file is mapped, because a file of another user could shrink while it is read. Kernels
     * from 6.16 on can map it, and a mapping costs no memory. */
    struct stat status;
    void *bytes = MAP_FAILED;
    size_t size = 0;
    bool mapped = false;
    int error = fstat(fd, &status) ? -errno : 0;
    if (!error && !path && status.st_size > 0) {
        size = (size_t)status.st_size;
        bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        mapped = bytes != MAP_FAILED;
    }
    if (!error && !mapped)
        error = btf_read_all(fd, &bytes, &size);
    close(fd);
    if (error)
        return error;
    error = btf_file_open_memory(bytes, size, base, arena, out);
    if (!error) {
        (*out)->owned = mapped ? BTF_MAPPED : BTF_ALLOCATED;
        return 0;
    }
    if (mapped)
        munmap(bytes, size);
    else
        free(bytes);
    return error;
}

void btf_file_set_space(struct btf_file *file, enum address_space space)
{
    file->space = space;
}

void btf_file_close(struct btf_file *file)
{
    if (!file)
        return;
    if (file->owned == BTF_MAPPED)
        munmap((void *)file->bytes, file->size);
    else if (file->owned == BTF_ALLOCATED)
        free((void *)file->bytes);
    free(file->offsets);
    free(file->made);
    free(file->names[0].slots);
    free(file->names[1].slots);
    free(file);
}

uint32_t btf_file_type_count(const struct btf_file *file)
{
    return file->first_id + file->count;
}

/* ---- names ---- */

static const uint8_t btf_name_kinds[] = {
    [BTF_KIND_STRUCT] = 1 + BTF_NAME_STRUCT,   [BTF_KIND_UNION] = 1 + BTF_NAME_UNION,
    [BTF_KIND_ENUM] = 1 + BTF_NAME_ENUM,       [BTF_KIND_ENUM64] = 1 + BTF_NAME_ENUM,
    [BTF_KIND_TYPEDEF] = 1 + BTF_NAME_TYPEDEF, [BTF_KIND_FUNC] = 1 + BTF_NAME_FUNCTION,
    [BTF_KIND_INT] = 1 + BTF_NAME_INTEGER,     [BTF_KIND_VAR] = 1 + BTF_NAME_VARIABLE,
};

/* Returns 1 + enum btf_name; 0: types of this kind are not found by name. */
static unsigned btf_name_kind(const struct btf_type *type)
{
    unsigned kind = BTF_INFO_KIND(type->info);
    return kind < sizeof btf_name_kinds ? btf_name_kinds[kind] : 0;
}

/* Hashes eight bytes in each step: a kernel's names are 2 MB, and hashing them is most of the cost of a first
 * look-up. */
static uint32_t btf_hash(const char *name, unsigned kind)
{
    size_t length = strlen(name);
    uint64_t hash = 0x9e3779b97f4a7c15u * (kind + length + 1), word;
    for (; length >= 8; length -= 8, name += 8) {
        memcpy(&word, name, 8);
        hash = (hash ^ word) * 0x9fb21c651e98df25u;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, name, length);
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    return (uint32_t)(hash >> 32);
}

/* Returns the index of a kind of names. Functions have one of their own, because they are more than all other names
 * together, and few scripts need both. */
static struct btf_names *btf_names_of(struct btf_file *file, unsigned kind)
{
    return &file->names[kind == 1 + BTF_NAME_FUNCTION];
}

static int btf_index(struct btf_file *file, struct btf_names *names)
{
    if (names->slots)
        return 0;
    size_t named = 0, slots = 16;
    for (uint32_t i = 0; i < file->count; i++) {
        unsigned kind = btf_name_kind((const void *)(file->types + file->offsets[i]));
        named += kind && btf_names_of(file, kind) == names;
    }
    while (slots < named * 2)
        slots *= 2;
    names->slots = calloc(slots, sizeof *names->slots);
    if (!names->slots)
        return -ENOMEM;
    names->mask = (uint32_t)slots - 1;
    for (uint32_t i = 0; i < file->count; i++) {
        const struct btf_type *type = (const void *)(file->types + file->offsets[i]);
        unsigned kind = btf_name_kind(type);
        if (!kind || !type->name_off || btf_names_of(file, kind) != names)
            continue;
        uint32_t slot = btf_hash(btf_string(file, type->name_off), kind) & names->mask;
        unsigned steps = 0;
        /* Types of one name are next to each other, and the first one is the answer, so that the end of a long row
         * may be left out. */
        while (names->slots[slot] && steps++ < BTF_PROBES)
            slot = (slot + 1) & names->mask;
        if (!names->slots[slot])
            names->slots[slot] = i + 1;
    }
    return 0;
}

static uint32_t btf_find(struct btf_file *file, unsigned kind, const char *name)
{
    struct btf_names *names = btf_names_of(file, kind);
    if (btf_index(file, names))
        return 0;
    uint32_t slot = btf_hash(name, kind) & names->mask;
    for (unsigned steps = 0; names->slots[slot] && steps <= BTF_PROBES;
         steps++, slot = (slot + 1) & names->mask) {
        uint32_t index = names->slots[slot] - 1;
        const struct btf_type *type = (const void *)(file->types + file->offsets[index]);
        if (btf_name_kind(type) == kind && !strcmp(btf_string(file, type->name_off), name))
            return file->first_id + index;
    }
    return 0;
}

uint32_t btf_file_id(struct btf_file *file, enum btf_name kind, const char *name)
{
    if (!*name)
        return 0;
    for (; file; file = file->base) {
        uint32_t id = btf_find(file, 1 + kind, name);
        if (id)
            return id;
    }
    return 0;
}

/* A name is stored once among the strings, so its offset there is what the function's record has. */
uint32_t btf_file_find_function(const struct btf_file *file, const char *name)
{
    size_t length = strlen(name) + 1;
    const char *at = file->strings, *end = file->strings + file->strings_size;
    while (at && (at == file->strings || at[-1]))
        at = at < end ? memmem(at + 1, (size_t)(end - at) - 1, name, length) : NULL;
    for (uint32_t i = 0; at && i < file->count; i++) {
        const struct btf_type *type = (const void *)(file->types + file->offsets[i]);
        if (type->name_off - file->first_string == (uint32_t)(at - file->strings) &&
            BTF_INFO_KIND(type->info) == BTF_KIND_FUNC)
            return file->first_id + i;
    }
    return 0;
}

/* ---- walks ---- */

static int btf_each(struct btf_file *file, unsigned kind, const char *prefix, const char *pattern,
                    btf_visitor *visit, void *context)
{
    size_t skip = strlen(prefix);
    for (uint32_t i = 0; i < file->count; i++) {
        const struct btf_type *type = (const void *)(file->types + file->offsets[i]);
        if (btf_name_kind(type) != kind)
            continue;
        const char *name = btf_string(file, type->name_off);
        if (!*name || strncmp(name, prefix, skip) || !glob_match(pattern, name + skip))
            continue;
        int result = visit(context, name + skip, file->first_id + i);
        if (result)
            return result;
    }
    return 0;
}

int btf_file_each_function(struct btf_file *file, const char *pattern, btf_visitor *visit, void *context)
{
    return btf_each(file, 1 + BTF_NAME_FUNCTION, "", pattern, visit, context);
}

int btf_file_each_tracepoint(struct btf_file *file, const char *pattern, btf_visitor *visit, void *context)
{
    return btf_each(file, 1 + BTF_NAME_TYPEDEF, BTF_TRACE_PREFIX, pattern, visit, context);
}

int btf_file_each_type(struct btf_file *file, const char *pattern, btf_visitor *visit, void *context)
{
    static const char *const keywords[] = {[BTF_KIND_STRUCT] = "struct ",
                                           [BTF_KIND_UNION] = "union ",
                                           [BTF_KIND_ENUM] = "enum ",
                                           [BTF_KIND_ENUM64] = "enum "};
    struct text full = {0};
    int result = 0;
    for (uint32_t i = 0; i < file->count && !result; i++) {
        const struct btf_type *type = (const void *)(file->types + file->offsets[i]);
        unsigned kind = BTF_INFO_KIND(type->info);
        const char *name = btf_string(file, type->name_off);
        if (kind >= sizeof keywords / sizeof *keywords || !keywords[kind] || !*name)
            continue;
        text_clear(&full);
        text_add(&full, keywords[kind]);
        text_add(&full, name);
        if (!full.failed && glob_match(pattern, text_string(&full)))
            result = visit(context, text_string(&full), file->first_id + i);
    }
    text_free(&full);
    return result;
}
