/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes BTF as C, for listings: the declaration of a parameter, the definition of a struct. The bytes are
 * untrusted, so that depth and length are bounded, and what makes no sense is written as void. */
#include <stdio.h>
#include <string.h>

#include "sym/kernel/btf_private.h"

enum { DEPTH_MAX = 32, BUDGET = 1 << 15 };

struct btf_print {
    const struct btf_file *file;
    unsigned budget; /* how much more may be written: functions that take functions could go on for ever */
};

/* Takes a type from the budget: it costs one, and a long name more. False: the budget is used up. */
static bool spend(struct btf_print *print, const char *name)
{
    size_t cost = 1 + strlen(name) / 16;
    bool is_enough = print->budget >= cost;
    print->budget = is_enough ? print->budget - (unsigned)cost : 0;
    return is_enough;
}

static const char *keyword_of(const struct btf_type *record)
{
    switch (BTF_INFO_KIND(record->info)) {
    case BTF_KIND_STRUCT: return "struct";
    case BTF_KIND_UNION: return "union";
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64: return "enum";
    case BTF_KIND_FWD: return BTF_INFO_KFLAG(record->info) ? "union" : "struct";
    default: return NULL;
    }
}

static void print_members(struct btf_print *print, const struct btf_type *record, struct text *out,
                          unsigned depth);
static void print_before(struct btf_print *print, uint32_t id, struct text *out, unsigned depth);
static void print_behind(struct btf_print *print, uint32_t id, struct text *out, unsigned depth);

static void print_indent(struct text *out, unsigned depth)
{
    while (depth--)
        text_char(out, '\t');
}

/* Whether a type is written behind the name, as arrays and functions are, which bind tighter than the star of a
 * pointer to them. */
static bool is_postfix(struct btf_print *print, uint32_t id)
{
    const struct btf_type *record = btf_record(print->file, id);
    unsigned kind = record ? BTF_INFO_KIND(record->info) : 0;
    return kind == BTF_KIND_ARRAY || kind == BTF_KIND_FUNC_PROTO;
}

/* Whether a star or a parenthesis ends the text, so that a name follows without a space. */
static bool ends_in_star(const struct text *out)
{
    return out->length && (out->bytes[out->length - 1] == '*' || out->bytes[out->length - 1] == '(');
}

static void print_word(struct text *out, const char *word)
{
    if (out->length && !ends_in_star(out) && out->bytes[out->length - 1] != '\t')
        text_char(out, ' ');
    text_add(out, word);
}

static void print_qualified(struct btf_print *print, uint32_t id, const char *word, struct text *out,
                            unsigned depth)
{
    const struct btf_type *record = btf_record(print->file, id);
    bool is_pointer = record && BTF_INFO_KIND(record->info) == BTF_KIND_PTR;
    if (!is_pointer)
        print_word(out, word);
    print_before(print, id, out, depth);
    if (is_pointer)
        print_word(out, word);
}

/* Writes what stands before the name. */
static void print_before(struct btf_print *print, uint32_t id, struct text *out, unsigned depth)
{
    const struct btf_type *record = btf_record(print->file, id);
    struct btf_array array;
    const char *keyword;
    if (!record || depth > DEPTH_MAX || !spend(print, btf_string(print->file, record->name_off))) {
        print_word(out, "void");
        return;
    }
    switch (BTF_INFO_KIND(record->info)) {
    case BTF_KIND_CONST: print_qualified(print, record->type, "const", out, depth + 1); return;
    case BTF_KIND_VOLATILE: print_qualified(print, record->type, "volatile", out, depth + 1); return;
    case BTF_KIND_RESTRICT: print_qualified(print, record->type, "restrict", out, depth + 1); return;
    case BTF_KIND_TYPE_TAG: print_before(print, record->type, out, depth + 1); return;
    case BTF_KIND_PTR:
        print_before(print, record->type, out, depth + 1);
        if (is_postfix(print, record->type))
            print_word(out, "(*");
        else
            print_word(out, "*");
        return;
    case BTF_KIND_ARRAY:
        memcpy(&array, record + 1, sizeof array);
        print_before(print, array.type, out, depth + 1);
        return;
    case BTF_KIND_FUNC_PROTO: print_before(print, record->type, out, depth + 1); return;
    default: break;
    }
    keyword = keyword_of(record);
    const char *name = btf_string(print->file, record->name_off);
    if (keyword)
        print_word(out, keyword);
    if (*name || !keyword)
        print_word(out, *name ? name : "void");
    if (keyword && !*name)
        print_members(print, record, out, depth);
}

static void print_parameters(struct btf_print *print, const struct btf_type *record, struct text *out,
                             unsigned depth)
{
    const struct btf_param *parameters = (const struct btf_param *)(record + 1);
    uint32_t count = BTF_INFO_VLEN(record->info);
    text_char(out, '(');
    if (!count)
        text_add(out, "void");
    for (uint32_t i = 0; i < count && print->budget; i++) {
        struct text one = {0};
        if (!parameters[i].type && !parameters[i].name_off)
            text_add(&one, "...");
        else {
            print_before(print, parameters[i].type, &one, depth + 1);
            print_behind(print, parameters[i].type, &one, depth + 1);
        }
        text_printf(out, "%s%s", i ? ", " : "", text_string(&one));
        text_free(&one);
    }
    text_char(out, ')');
}

static void print_behind(struct btf_print *print, uint32_t id, struct text *out, unsigned depth)
{
    const struct btf_type *record = btf_record(print->file, id);
    struct btf_array array;
    if (!record || depth > DEPTH_MAX || !spend(print, ""))
        return;
    switch (BTF_INFO_KIND(record->info)) {
    case BTF_KIND_PTR:
        if (is_postfix(print, record->type))
            text_char(out, ')');
        print_behind(print, record->type, out, depth + 1);
        return;
    case BTF_KIND_CONST:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_TYPE_TAG: print_behind(print, record->type, out, depth + 1); return;
    case BTF_KIND_ARRAY:
        memcpy(&array, record + 1, sizeof array);
        text_printf(out, "[%.0u]", array.nelems);
        print_behind(print, array.type, out, depth + 1);
        return;
    case BTF_KIND_FUNC_PROTO:
        print_parameters(print, record, out, depth);
        print_behind(print, record->type, out, depth + 1);
        return;
    default: return;
    }
}

static void print_enumerators(struct btf_print *print, const struct btf_type *record, struct text *out,
                              unsigned depth)
{
    bool is_wide = BTF_INFO_KIND(record->info) == BTF_KIND_ENUM64;
    for (uint32_t i = 0; i < BTF_INFO_VLEN(record->info) && print->budget; i++) {
        print_indent(out, depth + 1);
        if (is_wide) {
            const struct btf_enum64 *value = (const struct btf_enum64 *)(record + 1) + i;
            spend(print, btf_string(print->file, value->name_off));
            text_printf(out, "%s = %lld,\n", btf_string(print->file, value->name_off),
                        (long long)((uint64_t)value->val_hi32 << 32 | value->val_lo32));
        } else {
            const struct btf_enum *value = (const struct btf_enum *)(record + 1) + i;
            spend(print, btf_string(print->file, value->name_off));
            text_printf(out, "%s = %d,\n", btf_string(print->file, value->name_off), value->val);
        }
    }
}

static void print_member(struct btf_print *print, const struct btf_type *owner,
                         const struct btf_member *member, struct text *out, unsigned depth)
{
    struct text one = {0};
    const char *name = btf_string(print->file, member->name_off);
    spend(print, name);
    print_indent(&one, depth + 1);
    print_before(print, member->type, &one, depth + 1);
    if (*name)
        print_word(&one, name);
    print_behind(print, member->type, &one, depth + 1);
    uint32_t bits = BTF_INFO_KFLAG(owner->info) ? BTF_MEMBER_BITFIELD_SIZE(member->offset) : 0;
    if (bits)
        text_printf(&one, ": %u", bits);
    text_add(&one, ";\n");
    text_append(out, text_string(&one), one.length);
    text_free(&one);
}

/* depth: how far the first line is indented. */
static void print_members(struct btf_print *print, const struct btf_type *record, struct text *out,
                          unsigned depth)
{
    unsigned kind = BTF_INFO_KIND(record->info);
    text_add(out, " {\n");
    if (kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64) {
        print_enumerators(print, record, out, depth);
    } else if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION) {
        const struct btf_member *members = (const struct btf_member *)(record + 1);
        for (uint32_t i = 0; i < BTF_INFO_VLEN(record->info) && print->budget; i++)
            print_member(print, record, &members[i], out, depth);
    }
    print_indent(out, depth);
    text_char(out, '}');
}

void btf_file_describe(const struct btf_file *file, uint32_t id, struct text *out)
{
    struct text one = {0};
    struct btf_print print = {file, BUDGET};
    print_before(&print, id, &one, 0);
    print_behind(&print, id, &one, 0);
    text_append(out, text_string(&one), one.length);
    text_free(&one);
}

void btf_file_define(const struct btf_file *file, uint32_t id, struct text *out)
{
    const struct btf_type *record = btf_record(file, id);
    const char *keyword = record ? keyword_of(record) : NULL;
    struct btf_print print = {file, BUDGET};
    if (!keyword)
        return;
    text_printf(out, "%s %s", keyword, btf_string(file, record->name_off));
    print_members(&print, record, out, 0);
    text_add(out, ";\n");
}
