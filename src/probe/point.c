/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe/point.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "sym/glob.h"

const char *point_piece(const struct attach_point *point, size_t n)
{
    if (n >= point->piece_count || !point->pieces[n].text || !point->pieces[n].text[0])
        return NULL;
    return point->pieces[n].text;
}

struct span point_span(const struct attach_point *point, size_t n)
{
    if (n < point->piece_count && point->pieces[n].span.source)
        return point->pieces[n].span;
    return point->span;
}

static const char *point_rest(struct probe_environment *environment, const char *head,
                              const struct attach_point *point, size_t first)
{
    struct text text = {0};
    text_add(&text, head);
    for (size_t i = first; i < point->piece_count; i++) {
        if (text.length)
            text_char(&text, ':');
        text_add(&text, point->pieces[i].text ? point->pieces[i].text : "");
    }
    return text_keep(&text, environment->arena);
}

const char *point_name(struct probe_environment *environment, const char *kind,
                       const struct attach_point *point)
{
    return point_rest(environment, kind, point, 1);
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

/* Reads "e6", which multiplies the value by a million. Returns what follows; NULL: the value is too large. */
static const char *read_exponent(const char *text, uint64_t *value)
{
    unsigned zeros = 0;
    if (text[0] != 'e' || digit_value(text[1]) > 9)
        return text;
    for (text++; digit_value(*text) <= 9 && zeros < 100; text++)
        zeros = zeros * 10 + (unsigned)digit_value(*text);
    for (; zeros; zeros--)
        if (__builtin_mul_overflow(*value, 10, value))
            return NULL;
    return text;
}

/* Reads digits; returns what follows them, NULL when there are none or too many. '_' may separate, and 1e6 is a
 * million. */
static const char *read_digits(const char *text, uint64_t *value)
{
    unsigned base = 10;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
    } else if (text[0] == '0' && text[1] >= '0' && text[1] <= '7') {
        base = 8;
    }
    uint64_t sum = 0;
    const char *p = text;
    for (; (unsigned)digit_value(*p) < base || (*p == '_' && p > text); p++) {
        if (*p == '_')
            continue;
        if (__builtin_mul_overflow(sum, base, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)digit_value(*p), &sum))
            return NULL;
    }
    if (p == text)
        return NULL;
    *value = sum;
    return base == 10 ? read_exponent(p, value) : p;
}

bool point_number(const char *text, uint64_t *value)
{
    const char *rest = read_digits(text, value);
    return rest && !*rest;
}

bool point_duration(const char *text, uint64_t *nanoseconds)
{
    uint64_t value;
    const char *rest = read_digits(text, &value);
    const uint64_t unit = !rest ? 0 : *rest ? time_unit(rest, strlen(rest)) : 1;
    return unit && !__builtin_mul_overflow(value, unit, nanoseconds);
}

const char *point_split_offset(struct probe_environment *environment, const char *text, uint64_t *offset)
{
    const char *plus = strrchr(text, '+');
    *offset = 0;
    if (!plus || plus == text || !point_number(plus + 1, offset)) {
        *offset = 0;
        return text;
    }
    return arena_copy(environment->arena, text, (size_t)(plus - text));
}

bool point_is_pattern(const struct attach_point *point, size_t n)
{
    return n < point->piece_count && !point->pieces[n].quoted && point->pieces[n].text &&
           glob_has_wildcard(point->pieces[n].text);
}

bool point_matches(const struct attach_point *point, size_t n, const char *text)
{
    const char *wanted = point_piece(point, n);
    if (!wanted)
        return true;
    if (!point_is_pattern(point, n))
        return !strcmp(wanted, text);
    return glob_match(wanted, text);
}

bool point_count(struct probe_environment *environment, const struct probe_kind *kind,
                 const struct attach_point *point, size_t least, size_t most)
{
    size_t found = point->piece_count ? point->piece_count - 1 : 0;
    if (found >= least && found <= most)
        return true;
    if (least == most)
        diagnose_error(environment->diagnostics, point->span,
                       "%s probe type requires %zu argument%s, found %zu", kind->name, least,
                       least == 1 ? "" : "s", found);
    else
        diagnose_error(environment->diagnostics, point->span,
                       "%s probe type requires %zu %s %zu arguments, found %zu", kind->name, least,
                       most == least + 1 ? "or" : "to", most, found);
    diagnose_hint(environment->diagnostics, "write it as %s%s", kind->forms,
                  found > most ? "; a name that holds ':' is written in quotes" : "");
    return false;
}

int point_no_match(struct probe_environment *environment, const struct probe_kind *kind,
                   const struct attach_point *point, const struct nearest *nearest)
{
    diagnose_error(environment->diagnostics, point->span, "No matches for %s %s.", kind->name,
                   point_rest(environment, "", point, 1));
    if (nearest && nearest->best)
        diagnose_hint(environment->diagnostics, "did you mean '%s'?", nearest->best);
    else
        diagnose_hint(environment->diagnostics, "`spoor -l '%s:*'` lists what there is", kind->name);
    return -ENOENT;
}
