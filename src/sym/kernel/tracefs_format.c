/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a tracepoint's format file. A line that declares a field:
 *
 *   field := "field:" declaration ";" "offset:" number ";" "size:" number ";" [ "signed:" ("0" | "1") ";" ]
 *   declaration := [ "__data_loc" | "__rel_loc" ] type-words [ "[]" ] name [ "[" [count] "]" ]
 *
 * Size and sign are the kernel's word and count; the words of the type only say what it means. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "sym/kernel/tracefs.h"

enum { FIELD_LARGEST = 1 << 20, FIELDS_MAX = 4096 };

static const struct {
    const char *words;
    uint8_t size;
    bool is_signed;
} c_integers[] = {
    {"char", 1, true},
    {"signed char", 1, true},
    {"unsigned char", 1, false},
    {"u8", 1, false},
    {"__u8", 1, false},
    {"s8", 1, true},
    {"short", 2, true},
    {"unsigned short", 2, false},
    {"umode_t", 2, false},
    {"u16", 2, false},
    {"__u16", 2, false},
    {"s16", 2, true},
    {"int", 4, true},
    {"unsigned", 4, false},
    {"unsigned int", 4, false},
    {"u32", 4, false},
    {"__u32", 4, false},
    {"s32", 4, true},
    {"__s32", 4, true},
    {"pid_t", 4, true},
    {"uid_t", 4, false},
    {"gid_t", 4, false},
    {"qid_t", 4, false},
    {"key_t", 4, true},
    {"mqd_t", 4, true},
    {"clockid_t", 4, true},
    {"timer_t", 4, true},
    {"key_serial_t", 4, true},
    {"rwf_t", 4, true},
    {"__kernel_timer_t", 4, true},
    {"long", 8, true},
    {"unsigned long", 8, false},
    {"u64", 8, false},
    {"__u64", 8, false},
    {"s64", 8, true},
    {"__s64", 8, true},
    {"size_t", 8, false},
    {"ssize_t", 8, true},
    {"loff_t", 8, true},
    {"off_t", 8, true},
    {"long long", 8, true},
    {"unsigned long long", 8, false},
    {"aio_context_t", 8, false},
};

/* ---- text ---- */

/* A part of the format's text. */
struct slice {
    const char *at, *end;
};

static struct slice slice_trim(struct slice slice)
{
    while (slice.at < slice.end && isspace((unsigned char)*slice.at))
        slice.at++;
    while (slice.end > slice.at && isspace((unsigned char)slice.end[-1]))
        slice.end--;
    return slice;
}

static bool slice_is(struct slice slice, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(slice.end - slice.at) == length && !memcmp(slice.at, word, length);
}

/* Removes a word from the front of a slice. False: it does not begin with it. */
static bool slice_take_word(struct slice *slice, const char *word)
{
    struct slice first = *slice;
    const char *at = slice->at;
    while (at < slice->end && !isspace((unsigned char)*at))
        at++;
    first.end = at;
    if (!slice_is(first, word))
        return false;
    *slice = slice_trim((struct slice){at, slice->end});
    return true;
}

static bool is_identifier(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Removes the identifier at the end of a slice, and returns it in *name. False: there is none. */
static bool slice_take_name(struct slice *slice, struct slice *name)
{
    const char *begin = slice->end;
    while (begin > slice->at && is_identifier(begin[-1]))
        begin--;
    *name = (struct slice){begin, slice->end};
    *slice = slice_trim((struct slice){slice->at, begin});
    return name->at < name->end && !isdigit((unsigned char)*name->at);
}

/* Reads the number behind `key` in a line. */
static bool slice_number(struct slice line, const char *key, uint32_t *out)
{
    const char *at = memmem(line.at, (size_t)(line.end - line.at), key, strlen(key));
    if (!at)
        return false;
    uint64_t value;
    at += strlen(key);
    const bool is_number = number_take(&at, line.end, 10, &value) && value <= FIELD_LARGEST;
    *out = is_number ? (uint32_t)value : *out;
    return is_number;
}

struct declaration {
    struct slice words; /* the words of the type, without qualifiers, stars and brackets */
    struct slice name;
    bool is_array, is_pointer, data_loc, rel_loc;
    bool is_deep;   /* a pointer to a pointer */
    uint32_t count; /* elements of an array; 0: not given */
    uint32_t offset, size;
    bool is_signed;
};

/* Divides "type name[count]" into its parts. */
static bool declaration_split(struct slice text, struct declaration *out)
{
    text = slice_trim(text);
    out->data_loc = slice_take_word(&text, "__data_loc");
    out->rel_loc = !out->data_loc && slice_take_word(&text, "__rel_loc");
    if (text.at == text.end)
        return false;
    if (text.end[-1] == ')') { /* a pointer to a function: void (*name)(int) */
        const char *star = memmem(text.at, (size_t)(text.end - text.at), "(*", 2);
        if (!star)
            return false;
        struct slice name = slice_trim((struct slice){star + 2, text.end});
        const char *end = name.at;
        while (end < name.end && is_identifier(*end))
            end++;
        name.end = end;
        out->name = name;
        out->is_pointer = true;
        return name.at < name.end;
    }
    if (text.end[-1] == ']') {
        const char *open = memrchr(text.at, '[', (size_t)(text.end - text.at));
        if (!open)
            return false;
        out->is_array = true;
        slice_number((struct slice){open, text.end}, "[", &out->count);
        text = slice_trim((struct slice){text.at, open});
    }
    if (!slice_take_name(&text, &out->name))
        return false;
    if (text.end - text.at >= 2 && !memcmp(text.end - 2, "[]", 2)) { /* __data_loc char[] name */
        out->is_array = true;
        text = slice_trim((struct slice){text.at, text.end - 2});
    }
    /* Stars, and qualifiers among them, belong to the pointer. */
    for (const char *at = text.at; at < text.end; at++)
        if (*at == '*') {
            out->is_pointer = true;
            out->is_deep = memchr(at + 1, '*', (size_t)(text.end - at - 1));
            text = slice_trim((struct slice){text.at, at});
        }
    while (slice_take_word(&text, "const") || slice_take_word(&text, "volatile"))
        ;
    out->words = text;
    return text.at < text.end;
}

/* ---- types ---- */

struct format_reader {
    struct arena *arena;
    const struct tracefs_types *types;
    enum address_space space;
};

static void struct_complete(struct type *type, void *provider)
{
    const struct tracefs_types *types = provider;
    char name[256];
    if (snprintf(name, sizeof name, "%s %s", type->is_union ? "union" : "struct", type->name) >=
        (int)sizeof name)
        return;
    const struct type *real = types->find(types->context, name);
    if (!real || real->kind != TYPE_STRUCT || real == type)
        return;
    type_complete(real);
    type->size = real->size;
    type->fields = real->fields;
    type->count = real->count;
}

/* Returns a struct such as "struct file", which is known only by its name until its fields are needed. */
static const struct type *struct_by_name(const struct format_reader *reader, struct slice words,
                                         uint32_t size)
{
    struct type *type = arena_new(reader->arena, struct type);
    type->kind = TYPE_STRUCT;
    type->size = size;
    type->is_union = words.at[0] == 'u';
    if (!slice_take_word(&words, "struct"))
        slice_take_word(&words, "union");
    type->name = arena_copy(reader->arena, words.at, (size_t)(words.end - words.at));
    if (reader->types) {
        type->complete = struct_complete;
        type->provider = (void *)reader->types;
    }
    return type;
}

static bool is_struct(struct slice words)
{
    return slice_take_word(&words, "struct") || slice_take_word(&words, "union");
}

static const struct type *integer_by_words(struct slice words)
{
    for (size_t i = 0; i < sizeof c_integers / sizeof *c_integers; i++)
        if (slice_is(words, c_integers[i].words))
            return type_integer(c_integers[i].size, c_integers[i].is_signed);
    return NULL;
}

static const struct type *pointer_to(const struct format_reader *reader,
                                     const struct declaration *declaration)
{
    const struct type *target = &type_none;
    if (declaration->is_deep)
        target = type_pointer(reader->arena, &type_none, reader->space);
    else if (is_struct(declaration->words))
        target = struct_by_name(reader, declaration->words, 0);
    else if (integer_by_words(declaration->words))
        target = integer_by_words(declaration->words);
    return type_pointer(reader->arena, target, reader->space);
}

static bool is_scalar_size(uint32_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Returns an array of `size` bytes. The declaration says how many elements it has; 0: as many as the type of an
 * element makes of them. */
static const struct type *array_of(const struct format_reader *reader, const struct declaration *declaration,
                                   uint32_t size)
{
    const struct type *element = integer_by_words(declaration->words);
    uint32_t count = declaration->count, width = element ? element->size : 1;
    if (declaration->is_pointer)
        width = 8;
    if (count && size % count == 0 && is_scalar_size(size / count))
        width = size / count;
    if (declaration->is_pointer && width == 8)
        element = pointer_to(reader, declaration);
    else if (!element || element->size != width)
        element = type_integer(width, declaration->is_signed);
    return type_array(reader->arena, element, size / width);
}

static const struct type *field_type(const struct format_reader *reader,
                                     const struct declaration *declaration)
{
    uint32_t size = declaration->size;
    if (declaration->data_loc)
        return array_of(reader, declaration, 0);
    if (declaration->rel_loc)
        return &type_u32;
    if (declaration->is_array)
        return array_of(reader, declaration, size);
    if (declaration->is_pointer && size == 8)
        return pointer_to(reader, declaration);
    if (is_struct(declaration->words))
        return struct_by_name(reader, declaration->words, size);
    const struct type *named = integer_by_words(declaration->words);
    if (named && size == 8 && named->size < 8)
        return named;
    if (is_scalar_size(size))
        return type_integer(size, declaration->is_signed);
    return type_array(reader->arena, &type_u8, size);
}

/* Reads one line. False: it declares no field; *damaged: it begins as a field, and makes no sense. */
static bool field_read(const struct format_reader *reader, struct slice line, struct field *out,
                       uint32_t *end, bool *damaged)
{
    static const char key[] = "field:";
    line = slice_trim(line);
    if (line.end - line.at < (ptrdiff_t)sizeof key || memcmp(line.at, key, sizeof key - 1))
        return false;
    const char *semicolon = memchr(line.at, ';', (size_t)(line.end - line.at));
    struct declaration declaration = {0};
    uint32_t is_signed = 0;
    if (!semicolon || !declaration_split((struct slice){line.at + sizeof key - 1, semicolon}, &declaration) ||
        !slice_number((struct slice){semicolon, line.end}, "offset:", &declaration.offset) ||
        !slice_number((struct slice){semicolon, line.end}, "size:", &declaration.size)) {
        *damaged = true;
        return false;
    }
    slice_number((struct slice){semicolon, line.end}, "signed:", &is_signed);
    declaration.is_signed = is_signed;
    declaration.data_loc &= declaration.size == 4;
    *out = (struct field){.name = arena_copy(reader->arena, declaration.name.at,
                                             (size_t)(declaration.name.end - declaration.name.at)),
                          .type = field_type(reader, &declaration),
                          .offset = declaration.offset,
                          .data_loc = declaration.data_loc};
    if (declaration.offset + declaration.size > *end)
        *end = declaration.offset + declaration.size;
    return true;
}

int tracefs_format_parse(struct arena *arena, const struct tracefs_types *types, const char *subsystem,
                         const char *event, const char *text, const struct type **out)
{
    const struct format_reader reader = {
        .arena = arena, .types = types, .space = strcmp(subsystem, "syscalls") ? SPACE_KERNEL : SPACE_USER};
    struct field *fields = NULL;
    size_t count = 0, room = 0;
    uint32_t size = 0;
    bool damaged = false;
    for (const char *at = text; *at;) {
        const char *end = strchrnul(at, '\n');
        struct field field;
        if (field_read(&reader, (struct slice){at, end}, &field, &size, &damaged))
            *arena_push(arena, fields, count, room) = field;
        if (damaged || count > FIELDS_MAX)
            return -EBADMSG;
        at = *end ? end + 1 : end;
    }
    if (!count)
        return -EBADMSG;
    struct type *type = arena_new(arena, struct type);
    type->kind = TYPE_STRUCT;
    type->size = size;
    type->name = arena_printf(arena, "tracepoint:%s:%s", subsystem, event);
    type->fields = fields;
    type->count = (uint32_t)count;
    *out = type;
    return 0;
}
