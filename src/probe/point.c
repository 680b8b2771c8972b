/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe/point.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "base/glob.h"

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

bool point_number(const char *text, uint64_t *value)
{
    return literal_parse(text, strlen(text), 0, value) == LITERAL_FITS;
}

bool point_duration(const char *text, uint64_t *nanoseconds)
{
    return literal_parse(text, strlen(text), LITERAL_TIME, nanoseconds) == LITERAL_FITS;
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
    struct text before = {0}; /* the pieces before the last one, which may be right */
    text_printf(&before, "%s:", kind->name);
    for (size_t i = 1; i + 1 < point->piece_count; i++)
        text_printf(&before, "%s:", point->pieces[i].text ? point->pieces[i].text : "");
    diagnose_error(environment->diagnostics, point->span, "No matches for %s %s.", kind->name,
                   point_rest(environment, "", point, 1));
    if (nearest && nearest->best)
        diagnose_nearest(environment->diagnostics, nearest, "");
    else
        diagnose_hint(environment->diagnostics, "`spoor -l '%s*'` lists what there is", text_string(&before));
    text_free(&before);
    return -ENOENT;
}
