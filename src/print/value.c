/* SPDX-License-Identifier: BSD-3-Clause */
/* See value.h. One writer per kind of type, in a table; each writes text or JSON.
 *
 * A walk knows how many bytes are left behind the pointer it holds, and how many nodes it may still visit:
 * types from foreign debug information can claim any offset and contain themselves. */
#include "print/value.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/histogram.h"
#include "print/json.h"
#include "print/map.h"
#include "print/walk.h"
#include "base/terminal.h"

enum { WALK_DEPTH = 32, WALK_NODES = 1 << 16 };

typedef void writer(struct walk *walk, const struct type *type, struct bytes bytes);
static void write_value(struct walk *walk, const struct type *type, struct bytes bytes);

void printer_free(struct printer *printer)
{
    text_free(&printer->scratch);
}

/* Whatever a traced program or the machine's files chose to put into a string passes here, and only here. */
static void emit_foreign(struct walk *walk, const char *string, size_t length)
{
    if (walk->json)
        json_escape(walk->out, string, length);
    else if (walk->printer->is_terminal && !walk->printer->json)
        terminal_escape(walk->out, string, length,
                        walk->printer->keeps_lines ? TERMINAL_LINES : TERMINAL_NAME);
    else
        text_append(walk->out, string, length);
}

void walk_foreign_string(struct walk *walk, const char *string)
{
    emit_foreign(walk, string, strlen(string));
}

void walk_quote(struct walk *walk)
{
    if (walk->json)
        text_char(walk->out, '"');
}

uint64_t walk_word(struct bytes bytes, size_t offset)
{
    uint64_t word = 0;
    if (bytes.left >= 8 && offset <= bytes.left - 8)
        memcpy(&word, bytes.at + offset, 8);
    return word;
}

static uint64_t extend(uint64_t value, unsigned bits, bool is_signed)
{
    if (bits >= 64 || !bits)
        return value;
    value &= (UINT64_C(1) << bits) - 1;
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return is_signed ? (value ^ sign) - sign : value;
}

/* A little-endian scalar of at most 8 bytes. */
static uint64_t load_raw(struct bytes bytes, unsigned size, bool is_signed)
{
    uint64_t value = 0;
    size = size > 8 ? 8 : size;
    memcpy(&value, bytes.at, size > bytes.left ? bytes.left : size);
    return extend(value, size * 8, is_signed);
}

uint64_t value_integer(const struct type *type, const void *bytes)
{
    (void)type; /* storage keeps every scalar extended to 8 bytes */
    uint64_t word;
    memcpy(&word, bytes, 8);
    return word;
}

size_t value_string_length(const struct type *type, const void *bytes, bool *truncated)
{
    const char *end = memchr(bytes, 0, type->size);
    *truncated = !end;
    return end ? (size_t)(end - (const char *)bytes) : type->size;
}

/* Scalars. */

static void write_number(struct walk *walk, uint64_t value, bool is_signed)
{
    if (walk->json)
        is_signed ? json_signed(walk->out, (int64_t)value) : json_unsigned(walk->out, value);
    else
        is_signed ? number_signed(walk->out, (int64_t)value) : number_unsigned(walk->out, value);
}

static uint64_t divide(const struct walk *walk, uint64_t value, bool is_signed)
{
    if (walk->divisor <= 1)
        return value;
    if (is_signed && (int64_t)value < 0)
        return 0 - (0 - value) / walk->divisor;
    return value / walk->divisor;
}

void walk_hex(struct walk *walk, uint64_t value)
{
    text_append(walk->out, "0x", 2);
    number_hex(walk->out, value);
}

/* "A|B|0x40": the flags by name, lowest first, then what no name is for. False: there is no flag in it. */
static void write_flags(struct walk *walk, const struct type *type, uint64_t value)
{
    uint64_t mask = type->size < 8 ? (1ULL << 8 * type->size) - 1 : UINT64_MAX;
    uint64_t flags = type_flags(type), rest = value & mask & ~flags;
    const char *between = "";
    for (uint64_t left = value & flags; left; left &= left - 1) {
        uint64_t flag = left & -left;
        bool is_negative = type->is_signed && type->size < 8 && flag == mask / 2 + 1;
        const char *name = type_enumerator(type, (int64_t)(is_negative ? flag | ~mask : flag));
        text_add(walk->out, between);
        walk_foreign_string(walk, name ? name : "?");
        between = "|";
    }
    if (rest) {
        text_add(walk->out, between);
        walk_hex(walk, rest);
    }
}

static void write_scalar(struct walk *walk, const struct type *type, uint64_t value)
{
    switch (type->kind) {
    case TYPE_BOOL: text_add(walk->out, value ? "true" : "false"); return;
    case TYPE_POINTER:
        if (walk->json)
            json_unsigned(walk->out, value);
        else
            walk_hex(walk, value);
        return;
    case TYPE_ENUM: {
        /* JSON has numbers, also in the texts that are its keys, unless names are asked for. */
        bool names = walk->printer->json_enum_names || !(walk->json || walk->compact);
        const char *name = names ? type_enumerator(type, (int64_t)value) : NULL;
        if (!names || (!name && !(value & type_flags(type)))) {
            write_number(walk, value, type->is_signed);
            return;
        }
        walk_quote(walk);
        if (name)
            walk_foreign_string(walk, name);
        else
            write_flags(walk, type, value);
        walk_quote(walk);
        return;
    }
    default: write_number(walk, divide(walk, value, type->is_signed), type->is_signed);
    }
}

static void write_stored_scalar(struct walk *walk, const struct type *type, struct bytes bytes)
{
    if (walk->raw && !walk->json && type->kind == TYPE_POINTER && type->name) {
        text_char(walk->out, '(');
        walk_foreign_string(walk, type->name);
        text_char(walk->out, ')');
    }
    write_scalar(walk, type, walk->raw ? load_raw(bytes, type->size, type->is_signed) : walk_word(bytes, 0));
}

static void write_none(struct walk *walk, const struct type *type, struct bytes bytes)
{
    (void)type, (void)bytes;
    text_add(walk->out, "null");
}

/* Texts and buffers. */

static void write_string(struct walk *walk, const struct type *type, struct bytes bytes)
{
    size_t capacity = type->size < bytes.left ? type->size : bytes.left;
    const char *end = capacity ? memchr(bytes.at, 0, capacity) : NULL;
    walk_quote(walk);
    emit_foreign(walk, (const char *)bytes.at, end ? (size_t)(end - (const char *)bytes.at) : capacity);
    if (!end && capacity && !walk->raw)
        walk_foreign_string(walk, walk->printer->trunc_trailer ? walk->printer->trunc_trailer : "..");
    walk_quote(walk);
}

static struct bytes buffer_content(const struct type *type, struct bytes bytes)
{
    uint64_t length = walk_word(bytes, 0), room = bytes.left > 8 ? bytes.left - 8 : 0;
    if (length > type->size)
        length = type->size;
    if (length > room)
        length = room;
    return (struct bytes){length ? bytes.at + 8 : bytes.at, (size_t)length};
}

static void write_escapes(struct text *out, struct bytes bytes, enum buffer_form form)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.left; i++) {
        uint8_t byte = bytes.at[i];
        if (form == BUFFER_ASCII && byte >= 0x20 && byte < 0x7f) {
            text_char(out, (char)byte);
            continue;
        }
        char code[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        if (form == BUFFER_HEX) {
            code[1] = i ? ' ' : 0; /* separated by, not ended with */
            text_append(out, code + (i ? 1 : 2), i ? 3 : 2);
        } else {
            text_append(out, code, 4);
        }
    }
}

static void write_buffer(struct walk *walk, const struct type *type, struct bytes bytes)
{
    struct bytes content = buffer_content(type, bytes);
    if (!walk->json) {
        write_escapes(walk->out, content, BUFFER_ASCII);
        return;
    }
    text_char(walk->out, '[');
    for (size_t i = 0; i < content.left; i++) {
        if (i)
            text_char(walk->out, ',');
        number_unsigned(walk->out, content.at[i]);
    }
    text_char(walk->out, ']');
}

static void write_inet(struct walk *walk, const struct type *type, struct bytes bytes)
{
    (void)type;
    char address[INET6_ADDRSTRLEN] = "";
    uint64_t length = walk_word(bytes, 0);
    if (bytes.left >= 24 && (length == 4 || length == 16))
        inet_ntop(length == 4 ? AF_INET : AF_INET6, bytes.at + 8, address, sizeof address);
    walk_quote(walk);
    text_add(walk->out, address);
    walk_quote(walk);
}

/* Composites. */

bool value_is_text(const struct type *type)
{
    const struct type *element = type->kind == TYPE_ARRAY ? type->target : NULL;
    return element && element->kind == TYPE_INTEGER && element->size == 1 &&
           (element->is_signed || (element->name && strcmp(element->name, "char") == 0));
}

static void write_char_array(struct walk *walk, const struct type *type, struct bytes bytes)
{
    size_t length = type->size < bytes.left ? type->size : bytes.left;
    walk_quote(walk);
    emit_foreign(walk, (const char *)bytes.at, strnlen((const char *)bytes.at, length));
    walk_quote(walk);
}

/* In as few digits as give the same number again. JSON has no word for what is no number. */
static void write_float(struct walk *walk, const struct type *type, struct bytes bytes)
{
    char digits[40] = "";
    double value = 0;
    float narrow = 0;
    bool is_narrow = type->size == sizeof narrow;
    if (bytes.left >= type->size) {
        memcpy(is_narrow ? (void *)&narrow : (void *)&value, bytes.at, type->size);
        value = is_narrow ? (double)narrow : value;
    }
    for (int precision = is_narrow ? 6 : 15; precision <= (is_narrow ? 9 : 17); precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (is_narrow ? strtof(digits, NULL) == narrow : strtod(digits, NULL) == value)
            break;
    }
    text_add(walk->out, walk->json && !isfinite(value) ? "null" : digits);
}

static void write_array(struct walk *walk, const struct type *type, struct bytes bytes)
{
    if (type->is_float) {
        write_float(walk, type, bytes);
        return;
    }
    const struct type *element = type->target;
    uint32_t count = element && element->size ? type->count : 0;
    bool raw = walk->raw;
    walk->raw = true;
    text_char(walk->out, '[');
    for (uint32_t i = 0; i < count && bytes.left && walk->nodes; i++) {
        if (i)
            text_char(walk->out, ',');
        size_t size = element->size < bytes.left ? element->size : bytes.left;
        if (raw && value_is_text(element))
            write_char_array(walk, element, (struct bytes){bytes.at, size});
        else
            write_value(walk, element, (struct bytes){bytes.at, size});
        bytes.at += size;
        bytes.left -= size;
    }
    text_char(walk->out, ']');
    walk->raw = raw;
}

static uint64_t load_bits(const struct field *field, struct bytes bytes)
{
    uint8_t window[16] = {0};
    size_t skip = field->bit_offset / 8;
    if (skip < bytes.left)
        memcpy(window, bytes.at + skip, bytes.left - skip < 9 ? bytes.left - skip : 9);
    unsigned __int128 wide;
    memcpy(&wide, window, sizeof wide);
    uint64_t value = (uint64_t)(wide >> field->bit_offset % 8);
    return extend(value, field->bit_size, field->type->is_signed);
}

uint64_t value_member(const struct field *field, const void *bytes, size_t left)
{
    struct bytes at = {bytes, left};
    return field->bit_size ? load_bits(field, at) : load_raw(at, field->type->size, field->type->is_signed);
}

/* A text that is somewhere else in the record: the field says where. Outside of our bytes: an empty text. */
static void write_data_loc(struct walk *walk, struct bytes field, struct bytes whole)
{
    uint32_t where = (uint32_t)load_raw(field, 4, false), offset = where & 0xffff, length = where >> 16;
    if (offset > whole.left)
        offset = (uint32_t)whole.left;
    if (length > whole.left - offset)
        length = (uint32_t)(whole.left - offset);
    walk_quote(walk);
    emit_foreign(walk, (const char *)whole.at + offset, strnlen((const char *)whole.at + offset, length));
    walk_quote(walk);
}

static void write_field(struct walk *walk, const struct field *field, struct bytes whole)
{
    struct bytes bytes = {whole.at + field->offset, whole.left - field->offset};
    if (field->data_loc)
        write_data_loc(walk, bytes, whole);
    else if (field->bit_size && type_is_scalar(field->type))
        write_scalar(walk, field->type, load_bits(field, bytes));
    else if (walk->raw && value_is_text(field->type))
        write_char_array(walk, field->type, bytes);
    else
        write_value(walk, field->type, bytes);
}

/* The named fields; those of an anonymous member stand among their parent's, as C reads them. */
static void write_fields(struct walk *walk, const struct type *type, struct bytes bytes, bool *first)
{
    type_complete(type);
    for (uint32_t i = 0; i < type->count && walk->nodes; i++) {
        const struct field *field = &type->fields[i];
        walk->nodes--;
        if (!field->type || (field->offset >= bytes.left && type_storage(field->type)))
            continue;
        if (!field->name || !field->name[0]) {
            if (field->type->kind == TYPE_STRUCT && walk->depth) {
                walk->depth--;
                write_fields(walk, field->type,
                             (struct bytes){bytes.at + field->offset, bytes.left - field->offset}, first);
                walk->depth++;
            }
            continue;
        }
        bool is_tight = walk->compact && !walk->json;
        text_add(walk->out, *first ? (walk->json || is_tight ? "{" : "{ ") : is_tight ? "," : ", ");
        *first = false;
        if (walk->json) {
            json_string(walk->out, field->name);
            text_append(walk->out, ": ", 2);
        } else {
            text_char(walk->out, '.');
            walk_foreign_string(walk, field->name);
            text_add(walk->out, is_tight ? "=" : " = ");
        }
        write_field(walk, field, bytes);
    }
}

static void write_members(struct walk *walk, const struct type *type, struct bytes bytes)
{
    bool first = true;
    if (bytes.left > type->size)
        bytes.left = type->size;
    write_fields(walk, type, bytes, &first);
    text_add(walk->out, first ? "{}" : walk->json || walk->compact ? "}" : " }");
}

static void write_struct(struct walk *walk, const struct type *type, struct bytes bytes)
{
    bool raw = walk->raw;
    walk->raw = true;
    write_members(walk, type, bytes);
    walk->raw = raw;
}

static void write_elements(struct walk *walk, const struct type *type, struct bytes bytes)
{
    bool raw = walk->raw;
    walk->raw = false;
    for (uint32_t i = 0; i < type->count && walk->nodes; i++) {
        const struct field *field = &type->fields[i];
        if (i)
            text_append(walk->out, ", ", walk->json || walk->compact ? 1 : 2);
        size_t offset = field->offset < bytes.left ? field->offset : bytes.left;
        write_value(walk, field->type, (struct bytes){bytes.at + offset, bytes.left - offset});
    }
    walk->raw = raw;
}

static void write_tuple(struct walk *walk, const struct type *type, struct bytes bytes)
{
    if (type_is_record(type)) {
        write_members(walk, type, bytes);
        return;
    }
    text_char(walk->out, walk->json ? '[' : '(');
    write_elements(walk, type, bytes);
    text_char(walk->out, walk->json ? ']' : ')');
}

/* Names for numbers. */

bool walk_symbol(struct walk *walk, bool user, uint32_t pid, uint64_t address, bool is_return,
                 struct print_symbol *out)
{
    const struct print_names *names = walk->printer->names;
    *out = (struct print_symbol){0};
    if (!names)
        return false;
    if (user)
        return names->user_symbol && names->user_symbol(names->owner, pid, address, is_return, out);
    return names->kernel_symbol && names->kernel_symbol(names->owner, address, out);
}

static void write_name(struct walk *walk, const struct type *type, struct bytes bytes)
{
    const struct print_names *names = walk->printer->names;
    uint64_t number = walk_word(bytes, 0);
    const char *name = NULL;
    if (names && type->kind == TYPE_USERNAME && names->username)
        name = names->username(names->owner, number);
    if (names && type->kind == TYPE_CGROUP_PATH && names->cgroup_path)
        name = names->cgroup_path(names->owner, number, type->format);
    if (names && (type->kind == TYPE_CONTAINER || type->kind == TYPE_POD) && names->container)
        name = names->container(names->owner, number, type->kind == TYPE_POD);
    if (names && type->kind == TYPE_PROBE_NAME && names->name)
        name = names->name(names->owner, number);
    walk_quote(walk);
    const bool keeps_lines = walk->printer->keeps_lines;
    walk->printer->keeps_lines |= type->stack_frames > 0;
    if (name)
        walk_foreign_string(walk, name);
    else
        number_unsigned(walk->out, number);
    walk->printer->keeps_lines = keeps_lines;
    walk_quote(walk);
}

static void write_symbol(struct walk *walk, const struct type *type, struct bytes bytes)
{
    static const struct type named = {.kind = TYPE_PROBE_NAME, .size = 8};
    bool user = type->kind == TYPE_USYM;
    uint64_t address = walk_word(bytes, 0);
    struct print_symbol symbol;
    if (SYMBOL_HAS_NAME(address)) {
        write_name(walk, &named, (struct bytes){(const uint8_t *)&(uint64_t){address ^ SYMBOL_IS_NAME}, 8});
        return;
    }
    walk_quote(walk);
    if (walk_symbol(walk, user, user ? (uint32_t)walk_word(bytes, 8) : 0, address, false, &symbol) &&
        symbol.name)
        walk_foreign_string(walk, symbol.name);
    else
        walk_hex(walk, address);
    walk_quote(walk);
}

static void write_timestamp(struct walk *walk, const struct type *type, struct bytes bytes)
{
    const struct print_names *names = walk->printer->names;
    int64_t offset = names && names->boot_to_wall ? names->boot_to_wall(names->owner) : 0;
    walk_quote(walk);
    size_t begin = walk->out->length;
    print_time(walk->out, type->format ? type->format : "%H:%M:%S",
               (int64_t)(walk_word(bytes, 0) + (uint64_t)offset));
    if (walk->json)
        json_escape_tail(walk->out, begin, &walk->printer->scratch);
    walk_quote(walk);
}

static void write_macaddr(struct walk *walk, const struct type *type, struct bytes bytes)
{
    static const char digits[] = "0123456789ABCDEF";
    char text[17];
    (void)type;
    for (size_t i = 0; i < 6; i++) {
        uint8_t byte = i < bytes.left ? bytes.at[i] : 0;
        text[3 * i] = digits[byte >> 4];
        text[3 * i + 1] = digits[byte & 15];
        if (i < 5)
            text[3 * i + 2] = ':';
    }
    walk_quote(walk);
    text_append(walk->out, text, sizeof text);
    walk_quote(walk);
}

/* Aggregations, summed. */

static void write_stats(struct walk *walk, const struct type *type, struct bytes bytes)
{
    struct text *out = walk->out;
    const uint64_t average = divide(walk, aggregation_integer(type, bytes.at), type->is_signed);
    text_add(out, walk->json ? "{\"count\": " : "{ .count = ");
    write_number(walk, walk_word(bytes, 8), false);
    text_add(out, walk->json ? ", \"average\": " : ", .average = ");
    write_number(walk, average, type->is_signed);
    text_add(out, walk->json ? ", \"total\": " : ", .total = ");
    write_number(walk, walk_word(bytes, 0), type->is_signed);
    text_add(out, walk->json ? "}" : " }");
}

static void write_rows(struct walk *walk, const struct type *type, struct bytes bytes)
{
    struct printer *printer = walk->printer;
    bool json = printer->json;
    printer->json = walk->json;
    type->aggregation->print(printer, type, (const uint64_t *)bytes.at, walk->divisor);
    printer->json = json;
}

static void write_aggregation(struct walk *walk, const struct type *type, struct bytes bytes)
{
    if (bytes.left < type_storage(type))
        return;
    switch (type->aggregation->shape) {
    case AGGREGATION_NUMBER:
        write_number(walk, divide(walk, aggregation_integer(type, bytes.at), type->is_signed),
                     type->is_signed);
        break;
    case AGGREGATION_STATS: write_stats(walk, type, bytes); break;
    case AGGREGATION_ROWS:
    case AGGREGATION_TEXT: write_rows(walk, type, bytes); break;
    case AGGREGATION_SERIES: break; /* only maps print it */
    }
}

static writer *const writers[] = {
    [TYPE_NONE] = write_none,
    [TYPE_INTEGER] = write_stored_scalar,
    [TYPE_BOOL] = write_stored_scalar,
    [TYPE_ENUM] = write_stored_scalar,
    [TYPE_POINTER] = write_stored_scalar,
    [TYPE_STRING] = write_string,
    [TYPE_BUFFER] = write_buffer,
    [TYPE_ARRAY] = write_array,
    [TYPE_STRUCT] = write_struct,
    [TYPE_TUPLE] = write_tuple,
    [TYPE_KSYM] = write_symbol,
    [TYPE_USYM] = write_symbol,
    [TYPE_KSTACK] = walk_stack,
    [TYPE_USTACK] = walk_stack,
    [TYPE_INET] = write_inet,
    [TYPE_TIMESTAMP] = write_timestamp,
    [TYPE_USERNAME] = write_name,
    [TYPE_PROBE_NAME] = write_name,
    [TYPE_MACADDR] = write_macaddr,
    [TYPE_CGROUP_PATH] = write_name,
    [TYPE_CONTAINER] = write_name,
    [TYPE_POD] = write_name,
    [TYPE_AGGREGATION] = write_aggregation,
};

static void write_value(struct walk *walk, const struct type *type, struct bytes bytes)
{
    if (!walk->depth || !walk->nodes) { /* deeper than any honest type */
        text_add(walk->out, walk->json ? "null" : "...");
        return;
    }
    walk->depth--;
    walk->nodes--;
    writers[type->kind](walk, type, bytes);
    walk->depth++;
}

static void walk_start(struct printer *printer, const struct type *type, const void *bytes, uint64_t divisor,
                       bool json)
{
    struct walk walk = {.printer = printer,
                        .out = printer->out,
                        .divisor = divisor,
                        .depth = WALK_DEPTH,
                        .nodes = WALK_NODES,
                        .json = json};
    write_value(&walk, type, (struct bytes){bytes, type_storage(type)});
}

void print_value(struct printer *printer, const struct type *type, const void *bytes)
{
    walk_start(printer, type, bytes, 1, printer->json);
}

void print_value_divided(struct printer *printer, const struct type *type, const void *bytes,
                         uint64_t divisor)
{
    /* Only a number by itself is divided, not the numbers in a tuple. */
    bool divides = type->kind == TYPE_INTEGER || type_is_aggregation(type);
    walk_start(printer, type, bytes, divides ? divisor : 1, printer->json);
}

void print_text(struct printer *printer, const struct type *type, const void *bytes)
{
    walk_start(printer, type, bytes, 1, false);
}

void print_key(struct printer *printer, const struct type *type, const void *bytes)
{
    size_t begin = printer->out->length;
    struct walk walk = {.printer = printer,
                        .out = printer->out,
                        .divisor = 1,
                        .depth = WALK_DEPTH,
                        .nodes = WALK_NODES,
                        .compact = printer->json};
    struct bytes whole = {bytes, type_storage(type)};
    if (type->kind == TYPE_TUPLE && !type_is_record(type))
        write_elements(&walk, type, whole);
    else
        write_value(&walk, type, whole);
    if (printer->json)
        json_escape_tail(printer->out, begin, &printer->scratch);
}

void print_buffer(struct printer *printer, const struct type *type, const void *bytes, enum buffer_form form)
{
    struct bytes whole = {bytes, type_storage(type)};
    write_escapes(printer->out, buffer_content(type, whole), form);
}
