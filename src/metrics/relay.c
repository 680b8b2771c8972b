/* SPDX-License-Identifier: BSD-3-Clause */
/* A family is its head, then a 1 and a point for each of them, then a 0. Of histograms, which have many rows, a point has
 * those from the first to the last that the family uses. */
#include "metrics/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "base/wire.h"

enum { LABELS_MAX = 64 };
static const char script_label[] = "script";

/* ---- writing ---- */

static void put_real(struct text *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    wire_put(out, bits);
}

static void begin(struct metric_writer *writer)
{
    const struct metric_family *family = writer->family;
    struct text *out = writer->out;
    wire_put_text(out, family->name);
    wire_put_text(out, family->help);
    wire_put_text(out, family->unit);
    wire_put(out, family->kind);
    wire_put(out, family->has_count);
    wire_put(out, family->label_count);
    for (size_t i = 0; i < family->label_count; i++)
        wire_put_text(out, family->labels[i]);
    wire_put_bytes(out, family->rows, family->row_count * sizeof *family->rows);
    wire_put(out, (uint64_t)(int64_t)family->schema);
    wire_put(out, family->first);
    wire_put(out, family->last);
}

/* How many rows a family uses. */
static size_t used_rows(const struct metric_family *family)
{
    const bool has_rows = family->kind == METRIC_HISTOGRAM && family->first <= family->last;
    return has_rows ? (size_t)family->last - family->first + 1 : 0;
}

static size_t values_length(const struct metric_writer *writer, const char *values)
{
    size_t length = 0;
    for (size_t i = 0; i < writer->family->label_count; i++)
        length += strlen(values + length) + 1;
    return length;
}

static void point(struct metric_writer *writer, const struct metric_point *point)
{
    struct text *out = writer->out;
    wire_put(out, 1);
    wire_put_bytes(out, point->values, values_length(writer, point->values));
    put_real(out, point->created);
    put_real(out, point->value);
    wire_put(out, point->count);
    const size_t used = point->counts ? used_rows(writer->family) : 0;
    wire_put_bytes(out, used ? point->counts + writer->family->first : NULL, used * sizeof *point->counts);
}

static void end(struct metric_writer *writer)
{
    wire_put(writer->out, 0);
}

const struct metric_format metric_relay = {.begin = begin, .point = point, .end = end};

/* ---- reading ---- */

struct found { /* a family of a part */
    struct metric_family family;
    const char *labels[LABELS_MAX];
    const char *script; /* NULL: it has no such label to be added */
    struct cursor points;
    size_t order; /* among those of its name */
};

static double take_real(struct cursor *in)
{
    const uint64_t bits = wire_take(in);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void take_head(struct cursor *in, struct found *found)
{
    struct metric_family *family = &found->family;
    size_t rows;
    family->name = wire_take_text(in);
    family->help = wire_take_text(in);
    family->unit = wire_take_text(in);
    family->kind = (enum metric_kind)wire_take_within(in, METRIC_HISTOGRAM);
    family->has_count = wire_take_within(in, 1);
    family->label_count = wire_take_within(in, LABELS_MAX - 1);
    for (size_t i = 0; i < family->label_count; i++) {
        found->labels[i] = wire_take_text(in);
        if (!found->labels[i])
            in->is_bad = true;
        else if (!strcmp(found->labels[i], script_label))
            found->script = NULL;
    }
    family->rows = wire_take_array(in, sizeof *family->rows, &rows);
    family->schema = (int)(int64_t)wire_take(in);
    family->first = (uint32_t)wire_take_within(in, UINT32_MAX);
    family->last = (uint32_t)wire_take_within(in, UINT32_MAX);
    family->row_count = rows < UINT32_MAX ? (uint32_t)rows : 0;
    const bool is_empty = family->first > family->last;
    in->is_bad |= !family->name || !family->help || (family->kind == METRIC_HISTOGRAM && !rows) ||
                  (rows && !is_empty && family->last >= rows);
}

/* Whether the bytes are a text for each label. */
static bool are_values(const char *bytes, size_t length, size_t labels)
{
    size_t ends = 0;
    for (size_t i = 0; i < length; i++)
        ends += !bytes[i];
    return ends == labels && (!length || !bytes[length - 1]);
}

/* Reads the next point, whose counts are those of the used rows. False: there is none left, or the message is bad. */
static bool take_point(struct cursor *in, const struct metric_family *family, struct metric_point *point)
{
    size_t length, counts;
    if (!wire_take_within(in, 1))
        return false;
    point->values = wire_take_bytes(in, &length);
    point->created = take_real(in);
    point->value = take_real(in);
    point->count = wire_take(in);
    point->counts = wire_take_array(in, sizeof *point->counts, &counts);
    if (in->is_bad || !are_values(point->values, length, family->label_count) || counts != used_rows(family))
        in->is_bad = true;
    return !in->is_bad;
}

struct all {
    struct found *items;
    size_t count, room, left_out;
};

static int find_all(const struct metric_part *part, struct all *all)
{
    struct cursor in = cursor_over(part->bytes, part->size);
    while (cursor_left(&in)) {
        struct metric_point ignored;
        struct found found = {.script = part->script};
        take_head(&in, &found);
        found.points = in;
        while (take_point(&in, &found.family, &ignored))
            ;
        if (in.is_bad) {
            all->left_out++;
            return 0;
        }
        if (!vector_make_room(all->items, all->count, all->room))
            return -ENOMEM;
        found.order = all->count;
        all->items[all->count++] = found;
    }
    return 0;
}

static int by_name(const void *one, const void *other)
{
    const struct found *a = one, *b = other;
    const int order = strcmp(a->family.name, b->family.name);
    return order ? order : a->order < b->order ? -1 : 1;
}

static bool are_alike(const struct found *a, const struct found *b)
{
    const struct metric_family *one = &a->family, *other = &b->family;
    bool alike = one->kind == other->kind && one->has_count == other->has_count &&
                 !one->unit == !other->unit && (!one->unit || !strcmp(one->unit, other->unit)) &&
                 !a->script == !b->script && one->label_count == other->label_count &&
                 one->schema == other->schema && one->row_count == other->row_count &&
                 (!one->row_count || !memcmp(one->rows, other->rows, one->row_count * sizeof *one->rows));
    for (size_t i = 0; i < one->label_count && alike; i++)
        alike = !strcmp(a->labels[i], b->labels[i]);
    return alike;
}

/* ---- writing again ---- */

static int write_points(const struct found *found, struct text *values, struct metric_writer *writer)
{
    const struct metric_family *family = &found->family;
    struct cursor in = found->points;
    struct metric_point point;
    uint64_t *counts = calloc((size_t)family->row_count + 1, sizeof *counts); /* of all rows */
    while (counts && take_point(&in, family, &point)) {
        if (used_rows(family))
            memcpy(counts + family->first, point.counts, used_rows(family) * sizeof *counts);
        point.counts = family->kind == METRIC_HISTOGRAM ? counts : NULL;
        if (found->script) {
            size_t length = 0;
            for (size_t i = 0; i < family->label_count; i++)
                length += strlen(point.values + length) + 1;
            text_clear(values);
            metric_add_value(values, found->script, strlen(found->script));
            text_append(values, point.values, length);
            point.values = values->bytes;
        }
        if (values->failed)
            break;
        metric_point(writer, &point);
    }
    const int error = !counts || values->failed ? -ENOMEM : 0;
    free(counts);
    return error;
}

/* Writes the families of one name, which are `count`, as one. */
static int write_family(struct all *all, const struct found *first, size_t count, struct text *values,
                        struct metric_writer *writer)
{
    const char *labels[LABELS_MAX] = {script_label};
    struct metric_family family = first->family;
    const size_t added = first->script != NULL;
    memcpy(labels + added, first->labels, family.label_count * sizeof *labels);
    family.labels = labels;
    family.label_count += added;
    for (size_t i = 1; i < count && family.row_count; i++)
        if (are_alike(first, &first[i]) && first[i].family.first <= first[i].family.last) {
            const struct metric_family *more = &first[i].family;
            family.first = more->first < family.first ? more->first : family.first;
            family.last = more->last > family.last ? more->last : family.last;
        }
    int error = 0;
    metric_begin(writer, &family);
    for (size_t i = 0; i < count && !error; i++)
        if (are_alike(first, &first[i]))
            error = write_points(&first[i], values, writer);
        else
            all->left_out++;
    metric_end(writer);
    return error;
}

int metric_relay_write(const struct metric_part *parts, size_t count, struct metric_writer *writer,
                       size_t *left_out)
{
    struct all all = {0};
    struct text values = {0};
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error = find_all(&parts[i], &all);
    if (!error && all.count)
        qsort(all.items, all.count, sizeof *all.items, by_name);
    for (size_t i = 0, same; i < all.count && !error; i += same) {
        for (same = 1; i + same < all.count; same++)
            if (strcmp(all.items[i].family.name, all.items[i + same].family.name) != 0)
                break;
        error = write_family(&all, &all.items[i], same, &values, writer);
    }
    *left_out = all.left_out;
    free(all.items);
    text_free(&values);
    return error;
}
