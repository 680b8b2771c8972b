/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands among specifiers and behind declarators: attributes that change layouts (packed, aligned, mode), and
 * everything else, which is passed over. */
#include <string.h>

#include "lang/c/parse.h"

bool c_evaluate_next(struct c_definitions *c, struct c_value *value)
{
    struct c_cursor cursor = {.c = c};
    if (c_evaluate(&cursor, value))
        return true;
    c_fail(c, "A constant expression cannot be evaluated: %s", cursor.error ? cursor.error : "it is none");
    return false;
}

static bool name_is(const struct c_token *token, const char *name)
{
    const char *text = token->text;
    uint32_t length = token->length;
    if (length > 4 && !memcmp(text, "__", 2) && !memcmp(text + length - 2, "__", 2))
        text += 2, length -= 4;
    return strlen(name) == length && !memcmp(name, text, length);
}

static void attribute_mode(struct c_definitions *c, struct c_attributes *attributes)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } modes[] = {{"QI", 1}, {"byte", 1}, {"HI", 2}, {"SI", 4}, {"DI", 8}, {"word", 8}, {"pointer", 8}};
    if (!c_accept(c, "("))
        return;
    struct c_token token = c_take(c);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (name_is(&token, modes[i].name))
            attributes->mode = modes[i].bytes;
    c_accept(c, ")");
}

/* '(' expression ')', or nothing: the largest alignment */
static void attribute_aligned(struct c_definitions *c, struct c_attributes *attributes)
{
    struct c_value value = {16, true, 8};
    if (c_accept(c, "(")) {
        struct c_typed typed;
        if (c_begins_type(c))
            value.bits = c_type_name(c, &typed) && typed.type ? typed.align : 0;
        else if (!c_evaluate_next(c, &value))
            value.bits = 0;
        c_accept(c, ")");
    }
    bool is_power = value.bits && !(value.bits & (value.bits - 1)) && value.bits <= 1 << 28;
    if (is_power && value.bits > attributes->align)
        attributes->align = (uint32_t)value.bits;
}

/* '__attribute__' '((' (name ('(' … ')')? ','?)* '))' */
static void attribute_list(struct c_definitions *c, struct c_attributes *attributes)
{
    c_take(c);
    if (!c_accept(c, "("))
        return;
    bool is_double = c_accept(c, "(");
    for (;;) {
        const struct c_token token = *c_peek(c);
        if (token.kind == C_END || c_is(&token, ")"))
            break;
        c_take(c);
        if (token.kind != C_NAME)
            continue;
        if (name_is(&token, "packed"))
            attributes->is_packed = true;
        else if (name_is(&token, "aligned"))
            attribute_aligned(c, attributes);
        else if (name_is(&token, "mode"))
            attribute_mode(c, attributes);
        if (c_is(c_peek(c), "("))
            c_skip_brackets(c);
    }
    c_accept(c, ")");
    if (is_double)
        c_accept(c, ")");
}

/* Reads one thing that may stand among specifiers or behind declarators and is no type: an attribute, or a word
 * that says nothing about layout. True: there was one. */
bool c_attribute(struct c_definitions *c, struct c_attributes *attributes)
{
    switch (c_word(c)) {
    case C_WORD_SKIP: c_take(c); return true;
    case C_WORD_SKIP_ARGUMENTS:
    case C_WORD_ASM:
        c_take(c);
        while (c_word(c) == C_WORD_SKIP)
            c_take(c);
        if (c_is(c_peek(c), "("))
            c_skip_brackets(c);
        return true;
    case C_WORD_ATTRIBUTE: attribute_list(c, attributes); return true;
    case C_WORD_PACKED:
        c_take(c);
        attributes->is_packed = true;
        return true;
    case C_WORD_ALIGNED:
    case C_WORD_ALIGNAS:
        c_take(c);
        attribute_aligned(c, attributes);
        return true;
    default: return false;
    }
}

void c_attributes(struct c_definitions *c, struct c_attributes *attributes)
{
    while (c_attribute(c, attributes))
        ;
}
