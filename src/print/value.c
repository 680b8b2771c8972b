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
#include "base/terminal.h"

enum { WALK_DEPTH = 32, WALK_NODES = 1 << 16 };

struct walk {
    struct printer *printer;
    struct text *out;
    uint64_t divisor;
    unsigned depth, nodes;
    bool json;
    bool compact; /* text of tuples and structs without spaces: JSON keys */
    bool raw;     /* bytes are laid out as in traced memory, not as in storage */
};

struct bytes {
    const uint8_t *at;
    size_t left;
};

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

static void emit_foreign_string(struct walk *walk, const char *string)
{
    emit_foreign(walk, string, strlen(string));
}

static void quote(struct walk *walk)
{
    if (walk->json)
        text_char(walk->out, '"');
}

static uint64_t load_word(struct bytes bytes, size_t offset)
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

static void write_hex(struct walk *walk, uint64_t value)
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
        emit_foreign_string(walk, name ? name : "?");
        between = "|";
    }
    if (rest) {
        text_add(walk->out, between);
        write_hex(walk, rest);
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
            write_hex(walk, value);
        return;
    case TYPE_ENUM: {
        /* JSON has numbers, also in the texts that are its keys, unless names are asked for. */
        bool names = walk->printer->json_enum_names || !(walk->json || walk->compact);
        const char *name = names ? type_enumerator(type, (int64_t)value) : NULL;
        if (!names || (!name && !(value & type_flags(type)))) {
            write_number(walk, value, type->is_signed);
            return;
        }
        quote(walk);
        if (name)
            emit_foreign_string(walk, name);
        else
            write_flags(walk, type, value);
        quote(walk);
        return;
    }
    default: write_number(walk, divide(walk, value, type->is_signed), type->is_signed);
    }
}

static void write_stored_scalar(struct walk *walk, const struct type *type, struct bytes bytes)
{
    if (walk->raw && !walk->json && type->kind == TYPE_POINTER && type->name) {
        text_char(walk->out, '(');
        emit_foreign_string(walk, type->name);
        text_char(walk->out, ')');
    }
    write_scalar(walk, type, walk->raw ? load_raw(bytes, type->size, type->is_signed) : load_word(bytes, 0));
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
    quote(walk);
    emit_foreign(walk, (const char *)bytes.at, end ? (size_t)(end - (const char *)bytes.at) : capacity);
    if (!end && capacity && !walk->raw)
        emit_foreign_string(walk, walk->printer->trunc_trailer ? walk->printer->trunc_trailer : "..");
    quote(walk);
}

static struct bytes buffer_content(const struct type *type, struct bytes bytes)
{
    uint64_t length = load_word(bytes, 0), room = bytes.left > 8 ? bytes.left - 8 : 0;
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
    uint64_t length = load_word(bytes, 0);
    if (bytes.left >= 24 && (length == 4 || length == 16))
        inet_ntop(length == 4 ? AF_INET : AF_INET6, bytes.at + 8, address, sizeof address);
    quote(walk);
    text_add(walk->out, address);
    quote(walk);
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
    quote(walk);
    emit_foreign(walk, (const char *)bytes.at, strnlen((const char *)bytes.at, length));
    quote(walk);
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
    quote(walk);
    emit_foreign(walk, (const char *)whole.at + offset, strnlen((const char *)whole.at + offset, length));
    quote(walk);
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
            emit_foreign_string(walk, field->name);
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

static bool find_symbol(struct walk *walk, bool user, uint32_t pid, uint64_t address, bool is_return,
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
    uint64_t number = load_word(bytes, 0);
    const char *name = NULL;
    if (names && type->kind == TYPE_USERNAME && names->username)
        name = names->username(names->owner, number);
    if (names && type->kind == TYPE_CGROUP_PATH && names->cgroup_path)
        name = names->cgroup_path(names->owner, number, type->format);
    if (names && type->kind == TYPE_PROBE_NAME && names->name)
        name = names->name(names->owner, number);
    quote(walk);
    if (name)
        emit_foreign_string(walk, name);
    else
        number_unsigned(walk->out, number);
    quote(walk);
}

static void write_symbol(struct walk *walk, const struct type *type, struct bytes bytes)
{
    static const struct type named = {.kind = TYPE_PROBE_NAME, .size = 8};
    bool user = type->kind == TYPE_USYM;
    uint64_t address = load_word(bytes, 0);
    struct print_symbol symbol;
    if (SYMBOL_HAS_NAME(address)) {
        write_name(walk, &named, (struct bytes){(const uint8_t *)&(uint64_t){address ^ SYMBOL_IS_NAME}, 8});
        return;
    }
    quote(walk);
    if (find_symbol(walk, user, user ? (uint32_t)load_word(bytes, 8) : 0, address, false, &symbol) &&
        symbol.name)
        emit_foreign_string(walk, symbol.name);
    else
        write_hex(walk, address);
    quote(walk);
}

static void write_build_id(struct walk *walk, const struct print_symbol *symbol, uint64_t address)
{
    for (size_t i = 0; i < symbol->build_id_size; i++) {
        text_char(walk->out, "0123456789abcdef"[symbol->build_id[i] >> 4]);
        text_char(walk->out, "0123456789abcdef"[symbol->build_id[i] & 15]);
    }
    if (symbol->build_id_size)
        text_char(walk->out, ' ');
    write_hex(walk, symbol->build_id_size ? symbol->file_offset : address);
}

static void write_line_begin(struct walk *walk, enum stack_mode mode, uint64_t address)
{
    if (mode == STACK_PERF) {
        text_char(walk->out, '\t');
        number_hex(walk->out, address);
        text_char(walk->out, ' ');
    } else {
        text_fill(walk->out, ' ', 8);
    }
}

static void write_source(struct walk *walk, const struct line_frame *line)
{
    if (!line->file[0] || !line->line)
        return;
    text_char(walk->out, '@');
    emit_foreign_string(walk, line->file);
    text_char(walk->out, ':');
    number_unsigned(walk->out, line->line);
}

static void write_module(struct walk *walk, enum stack_mode mode, bool user,
                         const struct print_symbol *symbol)
{
    if (mode != STACK_PERF || (!symbol->module && !user))
        return;
    text_append(walk->out, " (", 2);
    /* The kernel itself is called as perf calls it. */
    emit_foreign_string(walk, !symbol->module   ? "[unknown]"
                              : *symbol->module ? symbol->module
                                                : "[kernel.kallsyms]");
    if (symbol->module && !symbol->name && symbol->offset) {
        text_append(walk->out, "+", 1);
        write_hex(walk, symbol->offset);
    }
    text_char(walk->out, ')');
}

/* Why there are no more frames, in the place of one. */
static void write_end(struct walk *walk, enum stack_mode mode, const char *why)
{
    text_fill(walk->out, mode == STACK_PERF ? '\t' : ' ', mode == STACK_PERF ? 1 : 8);
    text_add(walk->out, why);
}

/* One frame, which is several lines where functions were inlined. False: it is no frame, nor is what follows.
 */
static bool write_frame(struct walk *walk, const struct type *type, uint32_t pid, uint64_t address,
                        bool is_first, bool is_exact)
{
    bool user = type->kind == TYPE_USTACK;
    enum stack_mode mode = type->stack_mode;
    struct print_symbol symbol;
    if (mode == STACK_RAW) {
        number_hex(walk->out, address);
        return true;
    }
    find_symbol(walk, user, pid, address, user && !is_first, &symbol);
    if (mode == STACK_BUILD_ID) {
        write_build_id(walk, &symbol, address);
        return true;
    }
    if (symbol.is_not_code && !is_exact) {
        write_end(walk, mode, "[no frame pointer]");
        return false;
    }
    size_t line = 0;
    for (; line < symbol.line_count && symbol.lines[line].function; line++) {
        write_line_begin(walk, mode, address);
        text_add(walk->out, "[inlined] ");
        emit_foreign_string(walk, symbol.lines[line].function);
        write_source(walk, &symbol.lines[line]);
        write_module(walk, mode, user, &symbol);
        text_char(walk->out, '\n');
    }
    write_line_begin(walk, mode, address);
    if (symbol.name) {
        emit_foreign_string(walk, symbol.name);
        text_char(walk->out, '+');
        number_unsigned(walk->out, symbol.offset);
        if (line < symbol.line_count)
            write_source(walk, &symbol.lines[line]);
    } else {
        write_hex(walk, address);
    }
    write_module(walk, mode, user, &symbol);
    return true;
}

/* A newline, one line per frame. JSON holds the same text in a string. */
static void write_stack(struct walk *walk, const struct type *type, struct bytes bytes)
{
    const struct print_names *names = walk->printer->names;
    struct print_stack stack = {0};
    uint64_t id = load_word(bytes, 0);
    uint32_t pid = type->kind == TYPE_USTACK ? (uint32_t)load_word(bytes, 8) : 0;
    const char *newline = walk->json ? "\\n" : "\n";
    if (!id || !names || !names->stack || !names->stack(names->owner, type, id, &stack))
        stack = (struct print_stack){0};
    bool is_named = type->stack_mode == STACK_BPFTRACE || type->stack_mode == STACK_PERF;
    size_t lines = stack.count + (stack.count && stack.end && is_named);
    quote(walk);
    text_add(walk->out, newline);
    bool is_frame = true;
    for (size_t i = 0; i < lines && is_frame; i++) {
        size_t begin = walk->out->length;
        bool json = walk->json;
        walk->json = false; /* perf's tab: the line is escaped as a whole */
        if (i < stack.count)
            is_frame = write_frame(walk, type, pid, stack.frames[i], i == 0, stack.is_exact);
        else
            write_end(walk, type->stack_mode, stack.end);
        walk->json = json;
        if (json)
            json_escape_tail(walk->out, begin, &walk->printer->scratch);
        text_add(walk->out, newline);
    }
    /* A program that the kernel was not called from has no kernel stack: nothing went wrong. */
    if (!stack.count && type->kind == TYPE_USTACK) {
        text_fill(walk->out, ' ', type->stack_mode == STACK_BPFTRACE ? 8 : 0);
        text_add(walk->out, "<unwind failure>");
        text_add(walk->out, newline);
    }
    quote(walk);
}

static void write_timestamp(struct walk *walk, const struct type *type, struct bytes bytes)
{
    const struct print_names *names = walk->printer->names;
    int64_t offset = names && names->boot_to_wall ? names->boot_to_wall(names->owner) : 0;
    quote(walk);
    size_t begin = walk->out->length;
    print_time(walk->out, type->format ? type->format : "%H:%M:%S",
               (int64_t)(load_word(bytes, 0) + (uint64_t)offset));
    if (walk->json)
        json_escape_tail(walk->out, begin, &walk->printer->scratch);
    quote(walk);
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
    quote(walk);
    text_append(walk->out, text, sizeof text);
    quote(walk);
}

/* Aggregations, summed. */

static void write_stats(struct walk *walk, const struct type *type, struct bytes bytes)
{
    struct text *out = walk->out;
    const uint64_t average = divide(walk, aggregation_integer(type, bytes.at), type->is_signed);
    text_add(out, walk->json ? "{\"count\": " : "{ .count = ");
    write_number(walk, load_word(bytes, 8), false);
    text_add(out, walk->json ? ", \"average\": " : ", .average = ");
    write_number(walk, average, type->is_signed);
    text_add(out, walk->json ? ", \"total\": " : ", .total = ");
    write_number(walk, load_word(bytes, 0), type->is_signed);
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
    [TYPE_KSTACK] = write_stack,
    [TYPE_USTACK] = write_stack,
    [TYPE_INET] = write_inet,
    [TYPE_TIMESTAMP] = write_timestamp,
    [TYPE_USERNAME] = write_name,
    [TYPE_PROBE_NAME] = write_name,
    [TYPE_MACADDR] = write_macaddr,
    [TYPE_CGROUP_PATH] = write_name,
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
