/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs, unions and enums: their tags and bodies. c/layout.c decides where members lie. */
#include <string.h>

#include "lang/c/parse.h"

/* ---- enums ---- */

/* enumerator: name attributes ('=' expression)? ; they end at '}' */
static bool enumerators(struct c_definitions *c, struct type *type)
{
    struct enumerator *items = NULL;
    struct c_constant_name **names = NULL;
    size_t count = 0, room = 0, name_count = 0, name_room = 0;
    bool has_negative = false;
    uint64_t largest = 0;
    struct c_value value = {UINT64_MAX, false, 4};
    while (!c_is(c_peek(c), "}")) {
        struct c_token token = *c_peek(c);
        struct c_attributes ignored = {0};
        if (token.kind != C_NAME || count >= C_ENUMERATORS_MAX)
            return c_fail_expected(c, "an enumerator");
        c_take(c);
        c_attributes(c, &ignored);
        value.bits++;
        if (c_accept(c, "=") && !c_evaluate_next(c, &value))
            return false;
        bool is_negative = !value.is_unsigned && (int64_t)value.bits < 0;
        has_negative |= is_negative;
        if (!is_negative && value.bits > largest)
            largest = value.bits;
        struct c_constant_name *constant = arena_new(c->arena, struct c_constant_name);
        *constant = (struct c_constant_name){type, (int64_t)value.bits, c_in_script(c)};
        *arena_push(c->arena, items, count, room) =
            (struct enumerator){token.symbol->name, (int64_t)value.bits};
        *arena_push(c->arena, names, name_count, name_room) = constant;
        if (!token.symbol->constant || !token.symbol->constant->of_script || constant->of_script)
            token.symbol->constant = constant;
        if (value.is_unsigned && value.size == 4 && value.bits == UINT32_MAX)
            value.size = 8;
        if (!c_accept(c, ","))
            break;
    }
    type->enumerators = items;
    type->count = (uint32_t)count;
    if (!type->size) { /* no underlying type was given */
        type->is_signed = has_negative;
        type->size = has_negative ? (largest > INT32_MAX ? 8 : 4) : largest > UINT32_MAX ? 8 : 4;
        for (size_t i = 0; i < count && has_negative; i++)
            if (items[i].value < INT32_MIN)
                type->size = 8;
    }
    return c_expect(c, "}");
}

static void enum_pack(struct type *type)
{
    int64_t least = 0, most = 0;
    for (uint32_t i = 0; i < type->count; i++) {
        least = type->enumerators[i].value < least ? type->enumerators[i].value : least;
        most = type->enumerators[i].value > most ? type->enumerators[i].value : most;
    }
    for (uint32_t size = 1; size <= 4; size *= 2) {
        int64_t limit = 1ll << (size * 8 - (least < 0));
        if (most < limit && least >= -limit) {
            type->size = size;
            return;
        }
    }
}

/* ---- structs and unions ---- */

bool c_is_complete(const struct type *type)
{
    if (type->kind == TYPE_ARRAY)
        return c_is_complete(type->target);
    if (type->kind != TYPE_STRUCT || !type->complete)
        return type->kind != TYPE_NONE;
    type_complete(type);
    return type->size || type->count;
}

struct members {
    struct c_member *items;
    size_t count, room;
};

/* member: specifiers (declarator? (':' width)? (',' …)*)? ';'
 * The last member may lack its ';', as compilers allow. */
static bool is_member_end(struct c_definitions *c)
{
    return c_is(c_peek(c), ";") || c_is(c_peek(c), "}");
}

static bool member_declaration(struct c_definitions *c, struct members *members)
{
    struct c_typed base;
    struct c_attributes common = {0};
    bool ignored = false, is_tagged = false;
    if (c_accept(c, ";"))
        return true;
    if (c_word(c) == C_WORD_STATIC_ASSERT) {
        c_recover(c, true);
        return true;
    }
    if (!c_specifiers(c, &base, &common, &ignored, &is_tagged))
        return false;
    if (is_member_end(c)) {
        struct c_member member = {.typed = base, .attributes = common};
        c_accept(c, ";");
        if (base.type && base.type->kind == TYPE_STRUCT && !is_tagged)
            *arena_push(c->arena, members->items, members->count, members->room) = member;
        return true;
    }
    do {
        struct c_member member = {.typed = base, .attributes = common};
        if (!c_is(c_peek(c), ":") && !c_declarator(c, &member.typed, &member.name, &member.attributes))
            return false;
        if (c_accept(c, ":")) {
            struct c_value width;
            if (!c_evaluate_next(c, &width))
                return false;
            member.is_bit_field = true;
            c_attributes(c, &member.attributes);
            bool is_number = member.typed.type && type_is_number(member.typed.type);
            if (!is_number ||
                width.bits > (member.typed.type->kind == TYPE_BOOL ? 1 : member.typed.type->size * 8u) ||
                (!width.bits && member.name)) {
                c_fail(c, "The width of the bit-field '%s' does not fit its type",
                       member.name ? member.name : "");
                return false;
            }
            member.width = (uint32_t)width.bits;
        }
        if (!member.typed.type || !c_is_complete(member.typed.type)) {
            struct text text = {0};
            if (member.typed.type)
                type_describe(&text, member.typed.type);
            c_fail(c, "The member '%s' has a type whose size is not known%s%s%s",
                   member.name ? member.name : "", text.length ? ": '" : "", text_string(&text),
                   text.length ? "'" : "");
            text_free(&text);
            return false;
        }
        if (!member.is_bit_field && !member.name)
            return c_fail_expected(c, "a name of a member");
        if (!member.typed.align)
            member.typed.align = c_align_of(member.typed.type);
        *arena_push(c->arena, members->items, members->count, members->room) = member;
    } while (c_accept(c, ","));
    return c_is(c_peek(c), "}") || c_expect(c, ";");
}

static bool member_list(struct c_definitions *c, struct members *members)
{
    bool is_good = true;
    while (!c_is(c_peek(c), "}") && c_peek(c)->kind != C_END)
        if (!member_declaration(c, members)) {
            is_good = false;
            c_recover(c, true);
        }
    return c_expect(c, "}") && is_good;
}

/* Reads attributes behind a '}'. In the script the next word may belong to a probe, so that the text is looked at
 * before tokens are made. */
static void attributes_behind(struct c_definitions *c, struct c_attributes *attributes, bool may_end_here)
{
    while (true) {
        if (may_end_here && !c->has_peeked && !c->layer && c->file == c->floor && c_in_script(c)) {
            const char *text = c->file->source.text;
            uint32_t position = c->file->position, end;
            bool ignored;
            c_skip_blanks(text, c->file->source.length, &position, false, &ignored);
            for (end = position; end < c->file->source.length && lexer_is_word(text[end]);)
                end++;
            struct c_symbol *symbol = table_get(&c->symbols, text + position, end - position);
            bool is_attribute = symbol && (symbol->word >= C_WORD_SKIP && symbol->word <= C_WORD_ALIGNAS);
            if (!is_attribute && !(symbol && symbol->macro && text[position] == '_'))
                return;
        }
        if (!c_attribute(c, attributes))
            return;
    }
}

/* Completes a type that was only declared: when its members are needed, they are taken from the provider of types,
 * if it has them. */
static void complete_elsewhere(struct type *type, void *provider)
{
    struct c_definitions *c = provider;
    /* it stays incomplete, and not empty, because it may be defined later */
    type->complete = complete_elsewhere;
    if (!c->options.type || !type->name)
        return;
    const struct type *found = c->options.type(
        c->options.state, arena_printf(c->arena, "%s %s", type->is_union ? "union" : "struct", type->name));
    if (!found || found->kind != TYPE_STRUCT || found == type)
        return;
    type_complete(found);
    if (!found->size && !found->count)
        return;
    type->complete = NULL;
    type->size = found->size;
    type->fields = found->fields;
    type->count = found->count;
}

/* Stands in the place of complete_elsewhere() until the '}' of a struct's definition: a struct does not contain
 * itself, even if the provider knows one of that name. */
static void being_defined(struct type *type, void *provider)
{
    (void)provider;
    type->complete = being_defined;
}

static struct c_tag *tag_new(struct c_definitions *c, enum c_word kind, const char *name)
{
    struct c_tag *tag = arena_new(c->arena, struct c_tag);
    tag->word = kind;
    tag->align = 1;
    tag->of_script = c_in_script(c);
    tag->type = arena_new(c->arena, struct type);
    tag->type->kind = kind == C_WORD_ENUM ? TYPE_ENUM : TYPE_STRUCT;
    tag->type->is_union = kind == C_WORD_UNION;
    tag->type->name = name;
    if (kind != C_WORD_ENUM) {
        tag->type->complete = complete_elsewhere;
        tag->type->provider = c;
    }
    return tag;
}

static const char *const tag_words[] = {
    [C_WORD_STRUCT] = "struct", [C_WORD_UNION] = "union", [C_WORD_ENUM] = "enum"};

/* Returns the tag that a definition fills. A definition of the script is not replaced by one of a header. A type
 * whose members came from the provider may be a part of other structs already, and of this one through them: it
 * stays as it is, and a new tag is made. */
static struct c_tag *tag_to_define(struct c_definitions *c, enum c_word kind, struct c_symbol *symbol)
{
    struct c_tag *old = symbol ? symbol->tag : NULL;
    bool in_script = c_in_script(c);
    bool is_open = old && old->type->complete == being_defined;
    if (old && old->word == kind && !old->is_defined && !is_open &&
        (kind == C_WORD_ENUM || old->type->complete)) {
        old->of_script |= in_script;
        return old;
    }
    struct c_tag *tag = tag_new(c, kind, symbol ? symbol->name : NULL);
    if (!symbol)
        return tag;
    if (is_open || (old && old->is_defined && old->of_script && in_script)) {
        c_fail(c, "redefinition of '%s %s'", tag_words[kind], symbol->name);
        return tag;
    }
    if (!old || !old->of_script || in_script)
        symbol->tag = tag;
    return tag;
}

static bool enum_body(struct c_definitions *c, struct c_tag *tag, struct c_attributes *attributes)
{
    bool has_size = tag->type->size != 0;
    bool is_good = enumerators(c, tag->type);
    if (!is_good) {
        while (c_peek(c)->kind != C_END && !c_is(c_peek(c), "}") && !c_is(c_peek(c), ";"))
            c_take(c);
        c_accept(c, "}");
    }
    attributes_behind(c, attributes, true);
    if (attributes->is_packed && !has_size)
        enum_pack(tag->type);
    if (!tag->type->size)
        tag->type->size = 4;
    tag->align = tag->type->size;
    return is_good;
}

/* Reads the members of a struct and lays them out. Members are kept until then, because layout depends on
 * attributes that stand behind them. */
static bool struct_body(struct c_definitions *c, struct c_tag *tag, struct c_attributes *attributes)
{
    struct members members = {0};
    struct c_layout layout = {.is_union = tag->word == C_WORD_UNION, .align = 1, .pack = c->pack};
    uint32_t size = 0;
    tag->type->complete = being_defined;
    bool is_good = member_list(c, &members);
    tag->type->complete = complete_elsewhere;
    attributes_behind(c, attributes, true);
    layout.attributes = *attributes;
    for (size_t i = 0; i < members.count; i++)
        c_layout_add(c->arena, &layout, &members.items[i]);
    if (is_good && !c_layout_end(&layout, &size)) {
        c_fail(c, "'%s %s' is too large", tag_words[tag->word], tag->type->name ? tag->type->name : "");
        is_good = false;
    }
    if (!is_good)
        return false;
    struct type *type = tag->type;
    type->complete = NULL;
    type->size = size;
    type->fields = layout.fields;
    type->count = (uint32_t)layout.count;
    tag->align = layout.align;
    return true;
}

/* Returns the tag that is named without a body: one that is known, or a new one that the provider may complete. */
static struct c_tag *tag_named(struct c_definitions *c, enum c_word kind, struct c_symbol *symbol,
                               const struct type *underlying)
{
    struct c_tag *tag = symbol->tag;
    if (tag && tag->word == kind)
        return tag;
    tag = tag_new(c, kind, symbol->name);
    if (kind == C_WORD_ENUM) {
        const struct type *elsewhere =
            c->options.type
                ? c->options.type(c->options.state, arena_printf(c->arena, "enum %s", symbol->name))
                : NULL;
        if (elsewhere && elsewhere->kind == TYPE_ENUM)
            *tag->type = *elsewhere;
        tag->type->size = underlying ? underlying->size : tag->type->size ? tag->type->size : 4;
        tag->align = tag->type->size;
    }
    if (!symbol->tag)
        symbol->tag = tag;
    return tag;
}

/* Accepts a ':' that stands before a type. The ':' before the width of a bit-field is put back. */
static bool accept_underlying(struct c_definitions *c)
{
    if (!c_is(c_peek(c), ":"))
        return false;
    struct c_token *tokens = arena_array(c->arena, 2, sizeof *tokens);
    tokens[0] = c_take(c);
    if (c_begins_type(c))
        return true;
    tokens[1] = *c_peek(c);
    c_push(c, tokens, 2, NULL, false);
    c->has_peeked = false;
    return false;
}

/* Reads the integer type behind the ':' of an enum. */
static bool underlying_type(struct c_definitions *c, struct c_typed *typed)
{
    struct c_attributes ignored = {0};
    bool is_typedef = false, is_tagged = false;
    if (c->depth >= C_DEPTH)
        return c_fail(c, "Nested too deeply"), false;
    c->depth++;
    bool is_good = c_specifiers(c, typed, &ignored, &is_typedef, &is_tagged);
    c->depth--;
    if (is_good && (!typed->type || typed->type->kind != TYPE_INTEGER))
        return c_fail(c, "An enum is made of an integer"), false;
    return is_good;
}

/* ('struct' | 'union' | 'enum') attributes name? (':' type)? ('{' … '}' attributes)? */
bool c_tagged(struct c_definitions *c, struct c_typed *typed, bool *has_tag)
{
    enum c_word kind = c_word(c);
    struct c_attributes attributes = {0};
    struct c_symbol *symbol = NULL;
    struct c_typed underlying = {0};
    c_take(c);
    c_attributes(c, &attributes);
    if (c_peek(c)->kind == C_NAME)
        symbol = c_take(c).symbol;
    *has_tag = symbol != NULL;
    c_attributes(c, &attributes);
    if (kind == C_WORD_ENUM && accept_underlying(c)) {
        if (!underlying_type(c, &underlying))
            return false;
    }
    if (!c_is(c_peek(c), "{")) {
        if (!symbol)
            return c_fail_expected(c, "'{'");
        struct c_tag *tag = tag_named(c, kind, symbol, underlying.type);
        *typed = (struct c_typed){tag->type, tag->is_defined || kind == C_WORD_ENUM ? tag->align : 0};
        return true;
    }
    if (c->depth >= C_DEPTH)
        return c_fail(c, "Nested too deeply"), false;
    c->depth++;
    struct c_tag *tag = tag_to_define(c, kind, symbol);
    bool is_good;
    c_take(c);
    if (kind == C_WORD_ENUM) {
        *tag->type = (struct type){.kind = TYPE_ENUM, .name = tag->type->name};
        if (underlying.type) {
            tag->type->size = underlying.type->size;
            tag->type->is_signed = underlying.type->is_signed;
        }
        is_good = enum_body(c, tag, &attributes);
    } else
        is_good = struct_body(c, tag, &attributes);
    tag->is_defined |= is_good;
    *typed = (struct c_typed){tag->type, tag->align};
    c->depth--;
    return is_good;
}
