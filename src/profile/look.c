/* SPDX-License-Identifier: BSD-3-Clause */
#include "profile/look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void look_percent(struct text *out, uint64_t part, uint64_t whole)
{
    if (whole)
        text_printf(out, "%.1f%%", 100.0 * (double)part / (double)whole);
    else
        text_char(out, '-');
}

/* ---- amounts ---- */

struct scale {
    const char *unit;
    double size;
};

static void write_scaled(struct text *out, const struct scale *scales, uint64_t amount)
{
    while (scales[1].unit && (double)amount >= scales[1].size)
        scales++;
    text_printf(out, "%.*f %s", scales->size > 1 ? 2 : 0, (double)amount / scales->size, scales->unit);
}

/* Writes a number with a comma between each three digits. */
static void write_grouped(struct text *out, uint64_t number)
{
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            text_char(out, ',');
        text_char(out, digits[i]);
    }
}

void profile_amount(struct text *out, const struct profile *profile, uint64_t amount)
{
    static const struct scale times[] = {
        {"ns", 1}, {"us", NSEC_PER_USEC}, {"ms", NSEC_PER_MSEC}, {"s", NSEC_PER_SEC}, {0}};
    static const struct scale sizes[] = {{"bytes", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {0}};
    if (!strcmp(profile->unit, "nanoseconds"))
        write_scaled(out, times, amount);
    else if (!strcmp(profile->unit, "bytes"))
        write_scaled(out, sizes, amount);
    else {
        write_grouped(out, amount);
        text_printf(out, " %s", profile->unit);
    }
}

/* ---- functions ---- */

/* Adds a stack to its functions. last: of each function, the number behind that of the stack that it was seen in last. */
static void add_stack(const struct profile *profile, size_t stack, struct look_function *list, size_t *last)
{
    const struct profile_stack *at = &profile->stacks[stack];
    for (uint32_t i = 0; i < at->count; i++) {
        const uint32_t function = profile->frames[profile->path[at->first + i]].function;
        if (last[function] != stack + 1) {
            list[function].total += at->weight;
            list[function].old_total += at->old;
        }
        last[function] = stack + 1;
        if (i + 1 == at->count) {
            list[function].self += at->weight;
            list[function].old_self += at->old;
        }
    }
}

static int compare_functions(const void *a, const void *b)
{
    const struct look_function *one = a, *other = b;
    if (one->self != other->self)
        return one->self < other->self ? 1 : -1;
    if (one->total != other->total)
        return one->total < other->total ? 1 : -1;
    return one->function < other->function ? -1 : one->function > other->function;
}

struct look_function *look_functions(const struct profile *profile)
{
    struct look_function *list = calloc(profile->function_count + 1, sizeof *list);
    size_t *last = calloc(profile->function_count + 1, sizeof *last);
    for (size_t i = 0; list && i < profile->function_count; i++)
        list[i].function = (uint32_t)i;
    for (size_t i = 0; list && last && i < profile->stack_count; i++)
        add_stack(profile, i, list, last);
    if (list && last)
        qsort(list, profile->function_count, sizeof *list, compare_functions);
    if (!last) {
        free(list);
        list = NULL;
    }
    free(last);
    return list;
}
