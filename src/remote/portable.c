/* SPDX-License-Identifier: BSD-3-Clause */
/* See portable.h. */
#include "remote/portable.h"

#include <string.h>

#include "base/wire.h"
#include "sym/type_wire.h"

enum {
    DEPTH_MAX = 16,
    STORAGE_MAX = 8 << 20, /* bytes of a key or a value */
    NAME_MAX_BYTES = 256,  /* of a map */
    STYLE_TEXT_MAX = 256,  /* of the title of a table */
    ELEMENTS_MAX = 64,     /* of a tuple */
    ROWS_MAX = 1 << 20,
    TOP_MAX = 1000, /* of topk() */
    TOP_KEY_BYTES = 128,
    SHARES_MAX = 16, /* of quantile() */
    SHARE_WHOLE = 1000000,
};

/* Whether a name for a number is within. */
static bool holds_name(const struct type *type)
{
    if (type->kind == TYPE_TUPLE)
        for (uint32_t i = 0; i < type->count; i++)
            if (holds_name(type->fields[i].type))
                return true;
    return type_is_numbered(type);
}

/* Whether a value travels as its text. */
static bool is_text(const struct type *type)
{
    const bool is_aggregation = type_is_aggregation(type);
    return type_is_numbered(type) || (is_aggregation && type->target && holds_name(type->target));
}

static bool has_lines(const struct type *type)
{
    return type->kind == TYPE_KSTACK || type->kind == TYPE_USTACK || type_is_aggregation(type);
}

bool portable_has_row(const struct type *key, const struct type *value)
{
    return key && type_has_shape(value, AGGREGATION_ROWS);
}

/* ---- writing types ---- */

/* Makes the members of structs known that are within a value. */
static void complete_all(const struct type *type, unsigned depth)
{
    type_complete(type);
    if (type->kind == TYPE_ARRAY && depth)
        complete_all(type->target, depth - 1);
    if (type->kind == TYPE_STRUCT)
        for (uint32_t i = 0; i < type->count && depth; i++)
            complete_all(type->fields[i].type, depth - 1);
}

static void put_type(struct type_writer *writer, struct text *out, const struct type *type);

static void put_tuple(struct type_writer *writer, struct text *out, const struct type *type)
{
    const bool is_record = type_is_record(type);
    wire_put(out, type->count);
    wire_put(out, is_record);
    for (uint32_t i = 0; i < type->count; i++) {
        if (is_record)
            wire_put_text(out, type->fields[i].name);
        put_type(writer, out, type->fields[i].type);
    }
}

static void put_aggregation(struct type_writer *writer, struct text *out, const struct type *type)
{
    wire_put_text(out, type->aggregation->name);
    wire_put(out, type->is_signed);
    put_type(writer, out, type->target ? type->target : &type_none);
    wire_put(out, (uint64_t)type->minimum);
    wire_put(out, (uint64_t)type->maximum);
    wire_put(out, (uint64_t)type->step);
    wire_put(out, type->series);
    wire_put(out, type->count);
    for (uint32_t i = 0; i < type->count; i++) {
        wire_put_text(out, type->enumerators[i].name);
        wire_put(out, (uint64_t)type->enumerators[i].value);
    }
}

static void put_type(struct type_writer *writer, struct text *out, const struct type *type)
{
    if (is_text(type)) {
        wire_put(out, TYPE_PROBE_NAME);
        wire_put(out, has_lines(type));
        return;
    }
    wire_put(out, type->kind);
    switch (type->kind) {
    case TYPE_STRING:
    case TYPE_BUFFER: wire_put(out, type->size); break;
    case TYPE_INET:
    case TYPE_MACADDR:
    case TYPE_POINTER: break;
    case TYPE_TUPLE: put_tuple(writer, out, type); break;
    case TYPE_AGGREGATION: put_aggregation(writer, out, type); break;
    default: complete_all(type, DEPTH_MAX); type_put(writer, out, type);
    }
}

static void put_types(struct text *out, const struct type *key, const struct type *value)
{
    struct type_writer writer = {.items = NULL};
    struct text types = {0};
    put_type(&writer, &types, key ? key : &type_none);
    put_type(&writer, &types, value);
    out->failed |= types.failed;
    wire_put_bytes(out, text_string(&types), types.length);
    text_free(&types);
    type_writer_free(&writer);
}

/* ---- writing values ---- */

struct writing {
    struct text elements, texts;
    size_t text_count;
    struct printer printer;
};

static void put_text(struct writing *writing, const struct type *type, const void *bytes)
{
    struct text text = {0};
    writing->printer.out = &text;
    print_text(&writing->printer, type, bytes);
    writing->texts.failed |= text.failed;
    wire_put_text(&writing->texts, text_string(&text));
    wire_put(&writing->elements, writing->text_count++);
    text_free(&text);
}

static void put_value(struct writing *writing, const struct type *type, const uint8_t *bytes)
{
    if (is_text(type))
        put_text(writing, type, bytes);
    else if (type->kind == TYPE_TUPLE)
        for (uint32_t i = 0; i < type->count; i++)
            put_value(writing, type->fields[i].type, bytes + type->fields[i].offset);
    else
        text_append(&writing->elements, (const char *)bytes, type_storage(type));
}

static void put_element(struct writing *writing, const struct map_snapshot *map, const struct type *key,
                        const struct map_entry *entry)
{
    const bool has_row = portable_has_row(key, map->value);
    const uint8_t *at = entry->key;
    if (key)
        put_value(writing, key, at);
    if (has_row) {
        text_append(&writing->elements, (const char *)at + type_storage(key), sizeof(uint64_t));
        text_append(&writing->elements, entry->value, sizeof(uint64_t));
    } else {
        put_value(writing, map->value, entry->value);
    }
}

/* One that is too long to be a title is not sent. */
static void put_style_text(struct text *out, const char *text)
{
    wire_put_text(out, text && strlen(text) <= STYLE_TEXT_MAX ? text : NULL);
}

void portable_put(struct text *out, const struct printer *printer, const struct map_snapshot *map,
                  const struct portable_print *print)
{
    struct writing writing = {.printer = {.names = printer->names, .is_terminal = printer->is_terminal}};
    const struct type *key = map->key && map->key->kind != TYPE_NONE ? map->key : NULL;
    wire_put(out, print->time);
    wire_put(out, print->is_last ? 2 : print->is_end);
    wire_put(out, print->top);
    wire_put(out, print->divisor);
    wire_put(out, print->emptied);
    wire_put(out, printer->json_enum_names);
    wire_put(out, printer->bcc_histograms);
    wire_put(out, printer->orders_by_key);
    put_style_text(out, printer->histogram_title);
    put_style_text(out, printer->trunc_trailer);
    wire_put_text(out, map->name);
    put_types(out, key, map->value);
    for (size_t i = 0; i < map->count; i++)
        put_element(&writing, map, key, &map->entries[i]);
    wire_put(out, writing.text_count);
    text_append(out, text_string(&writing.texts), writing.texts.length);
    wire_put_bytes(out, text_string(&writing.elements), writing.elements.length);
    out->failed |= writing.texts.failed || writing.elements.failed;
    text_free(&writing.texts);
    text_free(&writing.elements);
    printer_free(&writing.printer);
}

/* ---- reading types ---- */

struct reading {
    struct arena *arena;
    const struct builtin_table *builtins;
    struct cursor *in;
    struct type_hearer hearer;
};

static const struct type *take_type(struct reading *reading, unsigned depth);

static const struct type *take_tuple(struct reading *reading, unsigned depth)
{
    const struct type *elements[ELEMENTS_MAX];
    const char *names[ELEMENTS_MAX];
    const uint32_t count = (uint32_t)wire_take_within(reading->in, ELEMENTS_MAX);
    const bool is_record = wire_take_within(reading->in, 1);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = is_record ? wire_take_text(reading->in) : "";
        elements[i] = take_type(reading, depth);
        reading->in->is_bad |= !name || !elements[i] || type_is_aggregation(elements[i]);
        if (reading->in->is_bad)
            return NULL;
        names[i] = arena_strdup(reading->arena, name);
    }
    return type_record(reading->arena, is_record ? names : NULL, elements, count);
}

static const struct aggregation *find_aggregation(const struct builtin_table *builtins, const char *name)
{
    for (size_t i = 0; i < builtins->count; i++)
        for (const struct builtin *builtin = builtins->families[i]; builtin->name; builtin++)
            if (builtin->aggregation && !strcmp(builtin->aggregation->name, name))
                return builtin->aggregation;
    return NULL;
}

/* The share of a quantile is named by digits, for the name is printed as it is. */
static bool is_share(const char *name, int64_t share)
{
    static const char characters[] = "abcdefghijklmnopqrstuvwxyz0123456789.";
    return name && strlen(name) < sizeof(uint64_t) * 2 && !name[strspn(name, characters)] && share >= 0 &&
           share <= SHARE_WHOLE;
}

/* Whether the numbers of an aggregation are such as the checker of the language lets through: what computes with them relies
 * on it. */
static bool is_sound(const struct type *type)
{
    const struct aggregation *kind = type->aggregation;
    if (kind->shape == AGGREGATION_TEXT)
        return type->step >= 1 && type->step <= TOP_MAX && type_storage(type->target) &&
               type_storage(type->target) <= TOP_KEY_BYTES;
    if (!type_is_number(type->target) && type->target->kind != TYPE_NONE)
        return false;
    if (kind->shape == AGGREGATION_SERIES)
        return type->step >= 1 && type->maximum >= 1 && type->maximum <= ROWS_MAX;
    return kind->shape != AGGREGATION_ROWS || type->step >= 0;
}

static const struct type *take_aggregation(struct reading *reading, unsigned depth)
{
    struct cursor *in = reading->in;
    const char *name = wire_take_text(in);
    const struct aggregation *kind = name ? find_aggregation(reading->builtins, name) : NULL;
    const bool is_signed = wire_take_within(in, 1);
    const struct type *target = take_type(reading, depth);
    in->is_bad |= !kind || !target || holds_name(target) || type_is_aggregation(target);
    if (in->is_bad)
        return NULL;
    struct type *type = (struct type *)type_aggregation(reading->arena, kind, target);
    type->is_signed = is_signed;
    type->minimum = (int64_t)wire_take(in);
    type->maximum = (int64_t)wire_take(in);
    type->step = (int64_t)wire_take(in);
    type->series = (enum series_value)wire_take_within(in, SERIES_MAX);
    type->count = (uint32_t)wire_take_within(in, SHARES_MAX);
    struct enumerator *shares = arena_array(reading->arena, type->count + 1, sizeof *shares);
    for (uint32_t i = 0; i < type->count; i++) {
        const char *share = wire_take_text(in);
        shares[i].value = (int64_t)wire_take(in);
        in->is_bad |= !is_share(share, shares[i].value);
        shares[i].name = in->is_bad ? "" : arena_strdup(reading->arena, share);
    }
    type->enumerators = shares;
    in->is_bad |= !is_sound(type);
    return type;
}

/* Returns NULL if the message is bad. */
static const struct type *take_type(struct reading *reading, unsigned depth)
{
    struct cursor *in = reading->in;
    const enum type_kind kind = (enum type_kind)wire_take_within(in, TYPE_AGGREGATION);
    const struct type *type = NULL;
    in->is_bad |= !depth;
    switch (in->is_bad ? TYPE_AGGREGATION + 1 : kind) {
    case TYPE_STRING:
    case TYPE_BUFFER: {
        const uint32_t size = (uint32_t)wire_take_within(in, STORAGE_MAX);
        type = kind == TYPE_STRING ? type_string(reading->arena, size) : type_buffer(reading->arena, size);
        break;
    }
    case TYPE_INET:
    case TYPE_MACADDR: type = type_simple(reading->arena, kind); break;
    case TYPE_POINTER: type = type_pointer(reading->arena, &type_none, SPACE_KERNEL); break;
    case TYPE_PROBE_NAME: {
        struct type *name = (struct type *)type_probe_name(reading->arena, 0);
        name->stack_frames = (uint32_t)wire_take_within(in, 1);
        type = name;
        break;
    }
    case TYPE_TUPLE: type = take_tuple(reading, depth - 1); break;
    case TYPE_AGGREGATION: type = take_aggregation(reading, depth - 1); break;
    case TYPE_NONE:
    case TYPE_INTEGER:
    case TYPE_BOOL:
    case TYPE_ENUM:
    case TYPE_ARRAY:
    case TYPE_STRUCT:
        type = type_take(&reading->hearer, in);
        in->is_bad |= !type || type->kind != kind;
        break;
    default: in->is_bad = true;
    }
    in->is_bad |= !type || (!in->is_bad && type_storage(type) > STORAGE_MAX);
    return in->is_bad ? NULL : type;
}

bool portable_make_types(struct arena *arena, const struct builtin_table *builtins, struct portable_map *map)
{
    struct cursor in = cursor_over(map->types, map->types_size);
    struct reading reading = {.arena = arena, .builtins = builtins, .in = &in, .hearer.arena = arena};
    const struct type *key = take_type(&reading, DEPTH_MAX);
    map->value = take_type(&reading, DEPTH_MAX);
    map->key = key && key->kind != TYPE_NONE ? key : NULL;
    type_hearer_end(&reading.hearer);
    return cursor_is_done(&in) && key && map->value && !type_is_aggregation(key) &&
           map->value->kind != TYPE_NONE;
}

/* ---- reading values ---- */

void portable_each_text(const struct type *type, uint8_t *value, portable_visitor *visit, void *state)
{
    if (type->kind == TYPE_PROBE_NAME)
        visit(state, (uint64_t *)(void *)value, type->stack_frames);
    else if (type->kind == TYPE_TUPLE)
        for (uint32_t i = 0; i < type->count; i++)
            portable_each_text(type->fields[i].type, value + type->fields[i].offset, visit, state);
}

static bool is_map_name(const char *name)
{
    static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return name && name[0] == '@' && strlen(name) < NAME_MAX_BYTES && !name[1 + strspn(name + 1, characters)];
}

static void take_elements(struct cursor *message, struct portable_map *map)
{
    const bool has_row = portable_has_row(map->key, map->value);
    map->key_bytes = (map->key ? type_storage(map->key) : 0) + (has_row ? sizeof(uint64_t) : 0);
    map->value_bytes = has_row ? sizeof(uint64_t) : type_storage(map->value);
    const size_t bytes = map->key_bytes + map->value_bytes;
    message->is_bad |= !bytes;
    map->elements = message->is_bad ? NULL : wire_take_array(message, bytes, &map->count);
    if (!map->key && !type_has_shape(map->value, AGGREGATION_SERIES))
        message->is_bad |= map->count > 1;
}

static const char *take_style_text(struct cursor *message)
{
    const char *text = wire_take_text(message);
    message->is_bad |= text && strlen(text) > STYLE_TEXT_MAX;
    return text;
}

bool portable_take(struct arena *arena, const struct builtin_table *builtins, struct cursor *message,
                   struct portable_map *map)
{
    *map = (struct portable_map){.print.time = wire_take(message)};
    const uint64_t when = wire_take_within(message, 2);
    map->print.is_end = when > 0;
    map->print.is_last = when == 2;
    map->print.top = wire_take(message);
    map->print.divisor = wire_take(message);
    map->print.emptied = wire_take(message);
    map->style.json_enum_names = wire_take_within(message, 1);
    map->style.bcc_histograms = wire_take_within(message, 1);
    map->style.orders_by_key = wire_take_within(message, 1);
    map->style.histogram_title = take_style_text(message);
    map->style.trunc_trailer = take_style_text(message);
    map->name = wire_take_text(message);
    message->is_bad |= !is_map_name(map->name);
    map->types = wire_take_bytes(message, &map->types_size);
    if (message->is_bad || !portable_make_types(arena, builtins, map))
        return false;
    map->text_count = wire_take_count(message, sizeof(uint64_t));
    const char **texts = message->is_bad ? NULL : arena_array(arena, map->text_count + 1, sizeof *texts);
    for (size_t i = 0; texts && i < map->text_count; i++) {
        texts[i] = wire_take_text(message);
        message->is_bad |= !texts[i];
    }
    map->texts = texts;
    if (!message->is_bad)
        take_elements(message, map);
    return cursor_is_done(message);
}
