/* SPDX-License-Identifier: BSD-3-Clause */
#include "export/html/column.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/vector.h"

bool numbers_add(struct numbers *numbers, uint64_t value)
{
    if (!vector_make_room(numbers->values, numbers->count, numbers->room))
        return false;
    numbers->values[numbers->count++] = value;
    return true;
}

void code_number(struct text *out, uint64_t value)
{
    char bytes[10];
    size_t length = 0;
    for (; value > 127; value >>= 7)
        bytes[length++] = (char)(value | 128);
    bytes[length++] = (char)value;
    text_append(out, bytes, length);
}

static size_t length_of(uint64_t value)
{
    return value ? (size_t)(63 - __builtin_clzll(value)) / 7 + 1 : 1;
}

static size_t length_of_steps(const uint64_t *values, size_t count, unsigned shift)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length +=
            length_of(i ? code_fold((values[i] >> shift) - (values[i - 1] >> shift)) : values[i] >> shift);
    return length;
}

static void put_steps(struct text *out, const uint64_t *values, size_t count, unsigned shift)
{
    for (size_t i = 0; i < count; i++)
        code_number(out, i ? code_fold((values[i] >> shift) - (values[i - 1] >> shift)) : values[i] >> shift);
}

/* ---- the different values of a column ---- */

struct distinct {
    uint64_t *values; /* in the order of their first place */
    size_t count, most;
    uint32_t *slots;   /* a hash table of indexes + 1 */
    uint32_t *indexes; /* the index of each value of the column */
    size_t mask;
};

/* Finds the different values. False: there are more than `most`, or there is no memory. */
static bool find_distinct(struct distinct *distinct, const uint64_t *values, size_t count)
{
    size_t room = 16;
    while (room < distinct->most * 2)
        room *= 2;
    distinct->mask = room - 1;
    distinct->values = malloc(distinct->most * sizeof *distinct->values);
    distinct->slots = calloc(room, sizeof *distinct->slots);
    distinct->indexes = malloc(count * sizeof *distinct->indexes);
    if (!distinct->values || !distinct->slots || !distinct->indexes)
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t at = values[i] * 0x9e3779b97f4a7c15u >> 40 & distinct->mask;
        while (distinct->slots[at] && distinct->values[distinct->slots[at] - 1] != values[i])
            at = (at + 1) & distinct->mask;
        if (!distinct->slots[at]) {
            if (distinct->count == distinct->most)
                return false;
            distinct->values[distinct->count++] = values[i];
            distinct->slots[at] = (uint32_t)distinct->count;
        }
        distinct->indexes[i] = distinct->slots[at] - 1;
    }
    return true;
}

static size_t length_of_table(const struct distinct *distinct, size_t count, unsigned shift)
{
    size_t length = length_of(distinct->count) + length_of_steps(distinct->values, distinct->count, shift);
    for (size_t i = 0; i < count; i++)
        length += length_of(distinct->indexes[i]);
    return length;
}

/* ---- a column ---- */

static void put_column(struct text *out, enum column_mode mode, const struct distinct *distinct,
                       const uint64_t *values, size_t count, unsigned shift)
{
    switch (mode) {
    case COLUMN_PLAIN:
        for (size_t i = 0; i < count; i++)
            code_number(out, values[i] >> shift);
        break;
    case COLUMN_STEPS: put_steps(out, values, count, shift); break;
    case COLUMN_TABLE:
        code_number(out, distinct->count);
        put_steps(out, distinct->values, distinct->count, shift);
        for (size_t i = 0; i < count; i++)
            code_number(out, distinct->indexes[i]);
        break;
    case COLUMN_SAME: code_number(out, count ? values[0] >> shift : 0); break;
    }
}

void code_column(struct text *out, const uint64_t *values, size_t count)
{
    struct distinct distinct = {.most = count / 4 < 65536 ? count / 4 : 65536};
    uint64_t bits = 0, differs = 0;
    size_t plain = 0;
    for (size_t i = 0; i < count; i++) {
        bits |= values[i];
        differs |= values[i] ^ values[0];
    }
    const unsigned shift = bits ? (unsigned)__builtin_ctzll(bits) : 0;
    for (size_t i = 0; i < count; i++)
        plain += length_of(values[i] >> shift);
    enum column_mode mode = COLUMN_PLAIN;
    size_t length = plain;
    if (!differs) {
        mode = COLUMN_SAME;
        length = length_of(bits >> shift);
    } else if (plain > count) { /* one byte each is not improved upon */
        const size_t steps = length_of_steps(values, count, shift);
        if (steps < length) {
            mode = COLUMN_STEPS;
            length = steps;
        }
        const size_t table = distinct.most && find_distinct(&distinct, values, count)
                                 ? length_of_table(&distinct, count, shift)
                                 : SIZE_MAX;
        if (table < length) {
            mode = COLUMN_TABLE;
            length = table;
        }
    }
    code_number(out, mode);
    code_number(out, shift);
    code_number(out, length);
    put_column(out, mode, &distinct, values, count, shift);
    free(distinct.values);
    free(distinct.slots);
    free(distinct.indexes);
}
