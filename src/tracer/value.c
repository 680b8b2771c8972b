/* SPDX-License-Identifier: BSD-3-Clause */
/* Values with types, for include/spoor/tracer.h: a type and where its bytes lie.
 *
 * A value is made from bytes in storage form (type/type.h). Members of structs and elements of arrays lie as in
 * traced memory: a scalar among them is copied into the value itself, in storage form; an array of characters is a
 * text. The bytes come from a traced program: nothing is read beyond `left` of them. */
#include <errno.h>
#include <string.h>

#include "print/histogram.h"
#include "print/series.h"
#include "tracer/state.h"

enum { IS_INLINE = 1, IS_CHARACTERS = 2, DEPTH_MAX = 32 };

/* The private words by name. */
struct view {
    struct spoor_tracer *tracer;
    const struct type *type;
    const uint8_t *bytes;
    size_t left;
    bool is_characters;
};

static struct view view(const struct spoor_tracer_value *value)
{
    uint64_t flags = value->private_word_[2];
    return (struct view){
        .tracer = (struct spoor_tracer *)(uintptr_t)value->private_[0],
        .type = value->private_[1] ? value->private_[1] : &type_none,
        .bytes = flags & IS_INLINE ? (const uint8_t *)&value->private_word_[1] : value->private_[2],
        .left = (size_t)value->private_word_[0],
        .is_characters = flags & IS_CHARACTERS,
    };
}

static void make(struct spoor_tracer_value *value, const struct view *from, const struct type *type,
                 const uint8_t *bytes, size_t left, uint64_t flags)
{
    *value = (struct spoor_tracer_value){.private_ = {from->tracer, type, bytes},
                                         .private_word_ = {left, 0, flags}};
}

void value_make(struct spoor_tracer_value *value, struct spoor_tracer *tracer, const struct type *type,
                const void *bytes)
{
    struct view from = {.tracer = tracer};
    make(value, &from, type, bytes, type_storage(type), 0);
}

static enum spoor_tracer_kind aggregation_kind(const struct aggregation *aggregation)
{
    switch (aggregation->shape) {
    case AGGREGATION_NUMBER: return aggregation->is_average ? SPOOR_TRACER_STATS : SPOOR_TRACER_INTEGER;
    case AGGREGATION_STATS: return SPOOR_TRACER_STATS;
    case AGGREGATION_ROWS: return SPOOR_TRACER_HISTOGRAM;
    case AGGREGATION_SERIES: return SPOOR_TRACER_SERIES;
    case AGGREGATION_TEXT: return SPOOR_TRACER_TEXT;
    }
    return SPOOR_TRACER_NONE;
}

enum spoor_tracer_kind spoor_tracer_kind(const struct spoor_tracer_value *value)
{
    struct view at = view(value);
    if (at.is_characters)
        return SPOOR_TRACER_TEXT;
    switch (at.type->kind) {
    case TYPE_NONE: return SPOOR_TRACER_NONE;
    case TYPE_INTEGER:
    case TYPE_BOOL:
    case TYPE_ENUM:
    case TYPE_POINTER: return SPOOR_TRACER_INTEGER;
    case TYPE_BUFFER: return SPOOR_TRACER_BYTES;
    case TYPE_ARRAY:
    case TYPE_STRUCT:
    case TYPE_TUPLE: return SPOOR_TRACER_TUPLE;
    case TYPE_AGGREGATION: return aggregation_kind(at.type->aggregation);
    default: return SPOOR_TRACER_TEXT;
    }
}

static size_t hand_out(struct text *from, char *text, size_t size)
{
    size_t length = from->failed ? 0 : from->length;
    if (size) {
        size_t part = length < size ? length : size - 1;
        if (part)
            memcpy(text, from->bytes, part);
        text[part] = '\0';
    }
    text_free(from);
    return length;
}

size_t spoor_tracer_type(const struct spoor_tracer_value *value, char *text, size_t size)
{
    struct text name = {0};
    type_describe(&name, view(value).type);
    return hand_out(&name, text, size);
}

int64_t spoor_tracer_integer(const struct spoor_tracer_value *value)
{
    struct view at = view(value);
    if (type_is_numbered(at.type))
        return at.left < 8 ? 0 : (int64_t)value_integer(at.type, at.bytes);
    switch (spoor_tracer_kind(value)) {
    case SPOOR_TRACER_INTEGER:
    case SPOOR_TRACER_STATS:
        return at.left < type_storage(at.type) ? 0 : (int64_t)aggregation_integer(at.type, at.bytes);
    default: return 0;
    }
}

bool spoor_tracer_is_signed(const struct spoor_tracer_value *value)
{
    return view(value).type->is_signed;
}

/* ---- texts ---- */

struct print {
    struct view at;
    struct text out;
};

static int print_guarded(void *state)
{
    struct print *print = state;
    struct printer printer = *session_printer(print->at.tracer->session);
    printer.out = &print->out;
    printer.json = false;
    printer.scratch = (struct text){0};
    if (type_has_shape(print->at.type, AGGREGATION_SERIES)) {
        const struct map_series *series = (const void *)print->at.bytes;
        print_series(&printer, print->at.type, series->points, series->count, series->last);
    } else
        print_value(&printer, print->at.type, print->at.bytes);
    printer_free(&printer);
    return 0;
}

size_t spoor_tracer_text(const struct spoor_tracer_value *value, char *text, size_t size)
{
    struct print print = {.at = view(value)};
    if (print.at.is_characters)
        text_append(&print.out, (const char *)print.at.bytes,
                    strnlen((const char *)print.at.bytes, print.at.left));
    else if (print.at.tracer)
        session_guarded(print.at.tracer->session, print_guarded, &print);
    return hand_out(&print.out, text, size);
}

const void *spoor_tracer_bytes(const struct spoor_tracer_value *value, size_t *length)
{
    struct view at = view(value);
    bool truncated;
    *length = 0;
    if (at.is_characters)
        *length = strnlen((const char *)at.bytes, at.left);
    else if (at.type->kind == TYPE_STRING)
        *length = value_string_length(at.type, at.bytes, &truncated);
    else if (at.type->kind == TYPE_BUFFER) {
        uint64_t used = value_integer(at.type, at.bytes);
        *length = used < at.type->size ? (size_t)used : at.type->size;
        at.bytes += sizeof used;
    } else
        return NULL;
    return at.bytes;
}

/* ---- items ---- */

/* A member with a name; those of an anonymous one are its parent's, as C reads them. */
struct member {
    const struct field *field;
    size_t base; /* offset of the struct that it is a member of */
};

static bool find_member(const struct type *type, size_t base, size_t *index, struct member *out,
                        unsigned depth)
{
    type_complete(type);
    for (uint32_t i = 0; i < type->count && depth; i++) {
        const struct field *field = &type->fields[i];
        bool has_name = field->name && field->name[0];
        if (!field->type)
            continue;
        if (!has_name && field->type->kind == TYPE_STRUCT) {
            if (find_member(field->type, base + field->offset, index, out, depth - 1))
                return true;
        } else if (has_name && !(*index)--) {
            *out = (struct member){field, base};
            return true;
        }
    }
    return false;
}

static bool member_of(const struct type *type, size_t index, struct member *out)
{
    return find_member(type, 0, &index, out, DEPTH_MAX);
}

size_t spoor_tracer_items(const struct spoor_tracer_value *value)
{
    struct view at = view(value);
    size_t wanted = SIZE_MAX;
    struct member member;
    if (spoor_tracer_kind(value) != SPOOR_TRACER_TUPLE)
        return 0;
    if (at.type->kind != TYPE_STRUCT)
        return at.type->count;
    find_member(at.type, 0, &wanted, &member, DEPTH_MAX);
    return SIZE_MAX - wanted;
}

/* What lies as in traced memory. whole: what a __data_loc counts from. */
static void make_raw(struct spoor_tracer_value *item, const struct view *whole, const struct field *field,
                     size_t offset)
{
    const uint8_t *bytes = whole->bytes + offset;
    size_t left = whole->left - offset;
    if (field->data_loc) {
        struct bounds {
            uint16_t offset, length;
        } bounds = {0, 0};
        memcpy(&bounds, bytes, left < sizeof bounds ? left : sizeof bounds);
        size_t begin = bounds.offset < whole->left ? bounds.offset : whole->left;
        size_t length = bounds.length < whole->left - begin ? bounds.length : whole->left - begin;
        make(item, whole, field->type, whole->bytes + begin, length, IS_CHARACTERS);
    } else if (type_is_scalar(field->type)) {
        make(item, whole, field->type, NULL, sizeof(uint64_t), IS_INLINE);
        item->private_word_[1] = value_member(field, bytes, left);
    } else {
        size_t size = field->type->size < left ? field->type->size : left;
        make(item, whole, field->type, bytes, size, value_is_text(field->type) ? IS_CHARACTERS : 0);
    }
}

int spoor_tracer_item(const struct spoor_tracer_value *value, size_t index, struct spoor_tracer_value *item)
{
    struct view at = view(value);
    struct member member;
    *item = (struct spoor_tracer_value){0};
    if (index >= spoor_tracer_items(value))
        return -ERANGE;
    if (at.type->kind == TYPE_TUPLE) {
        const struct field *field = &at.type->fields[index];
        make(item, &at, field->type, at.bytes + field->offset, type_storage(field->type), 0);
        return 0;
    }
    if (at.type->size < at.left)
        at.left = at.type->size;
    struct field element = {.type = at.type->target};
    size_t offset = element.type ? index * element.type->size : 0;
    if (at.type->kind == TYPE_STRUCT) {
        if (!member_of(at.type, index, &member))
            return -ERANGE;
        element = *member.field;
        offset = member.base + element.offset;
    }
    if (!element.type || offset >= at.left)
        return -ERANGE;
    make_raw(item, &at, &element, offset);
    return 0;
}

const char *spoor_tracer_item_name(const struct spoor_tracer_value *value, size_t index)
{
    struct view at = view(value);
    struct member member = {0};
    if (index >= spoor_tracer_items(value))
        return "";
    if (at.type->kind == TYPE_STRUCT)
        return member_of(at.type, index, &member) ? member.field->name : "";
    const char *name = at.type->kind == TYPE_TUPLE ? at.type->fields[index].name : NULL;
    return name ? name : "";
}

/* ---- aggregations ---- */

int spoor_tracer_stats(const struct spoor_tracer_value *value, struct spoor_tracer_stats *stats)
{
    struct view at = view(value);
    *stats = (struct spoor_tracer_stats){0};
    if (spoor_tracer_kind(value) != SPOOR_TRACER_STATS)
        return -EINVAL;
    uint64_t words[2];
    memcpy(words, at.bytes, sizeof words);
    *stats = (struct spoor_tracer_stats){words[1], (int64_t)words[0], spoor_tracer_integer(value)};
    return 0;
}

static uint64_t row_count(const struct view *at, uint32_t row)
{
    uint64_t count;
    memcpy(&count, at->bytes + row * sizeof count, sizeof count);
    return count;
}

/* The first row that is not 0, and how many there are up to the last. */
static size_t shown_rows(const struct view *at, uint32_t *first)
{
    uint32_t rows = type_rows(at->type), end = 0;
    *first = rows;
    for (uint32_t i = 0; i < rows; i++)
        if (row_count(at, i)) {
            *first = *first < i ? *first : i;
            end = i + 1;
        }
    return end ? end - *first : 0;
}

size_t spoor_tracer_rows(const struct spoor_tracer_value *value)
{
    struct view at = view(value);
    uint32_t first;
    return spoor_tracer_kind(value) == SPOOR_TRACER_HISTOGRAM ? shown_rows(&at, &first) : 0;
}

int spoor_tracer_row(const struct spoor_tracer_value *value, size_t index, struct spoor_tracer_row *row)
{
    struct view at = view(value);
    uint32_t first;
    *row = (struct spoor_tracer_row){0};
    if (spoor_tracer_kind(value) != SPOOR_TRACER_HISTOGRAM)
        return -EINVAL;
    if (index >= shown_rows(&at, &first))
        return -ERANGE;
    struct histogram_bounds bounds = at.type->aggregation->bounds(at.type, first + (uint32_t)index);
    *row = (struct spoor_tracer_row){.low = bounds.low,
                                     .high = bounds.high,
                                     .count = row_count(&at, first + (uint32_t)index),
                                     .has_low = bounds.has_low,
                                     .has_high = bounds.has_high};
    return 0;
}

static const struct map_series *series_of(const struct spoor_tracer_value *value)
{
    return spoor_tracer_kind(value) == SPOOR_TRACER_SERIES ? (const void *)view(value).bytes : NULL;
}

size_t spoor_tracer_points(const struct spoor_tracer_value *value)
{
    const struct map_series *series = series_of(value);
    return series ? series->count : 0;
}

int spoor_tracer_point(const struct spoor_tracer_value *value, size_t index, struct spoor_tracer_point *point)
{
    const struct map_series *series = series_of(value);
    *point = (struct spoor_tracer_point){0};
    if (!series)
        return -EINVAL;
    if (index >= series->count)
        return -ERANGE;
    *point = (struct spoor_tracer_point){series->points[index].epoch * (uint64_t)view(value).type->step,
                                         (int64_t)series->points[index].value};
    return 0;
}
