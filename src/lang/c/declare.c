/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes types of declarations. What has no layout (functions, objects, initialisers) is passed over. What is not
 * understood is reported, and passed over to the end of its declaration. No token is read before it is needed,
 * because a probe may follow a definition in a script. */
#include <string.h>

#include "lang/c/parse.h"

const struct c_token *c_peek(struct c_definitions *c)
{
    if (!c->has_peeked) {
        c->peeked = c_next(c);
        c->has_peeked = true;
    }
    return &c->peeked;
}

struct c_token c_take(struct c_definitions *c)
{
    struct c_token token = *c_peek(c);
    c->has_peeked = token.kind == C_END; /* the end of the text stays the next token */
    return token;
}

bool c_accept(struct c_definitions *c, const char *mark)
{
    if (!c_is(c_peek(c), mark))
        return false;
    c_take(c);
    return true;
}

enum c_word c_word(struct c_definitions *c)
{
    const struct c_token *token = c_peek(c);
    return token->kind == C_NAME ? token->symbol->word : C_WORD_NONE;
}

/* Reports that `wanted` was expected where the next token is. Always returns false. */
bool c_fail_expected(struct c_definitions *c, const char *wanted)
{
    const struct c_token *token = c_peek(c);
    if (token->kind == C_END)
        c_fail(c, "syntax: expected %s, found the end of the %s", wanted, c_in_script(c) ? "script" : "file");
    else
        c_fail(c, "syntax: expected %s, found '%.*s'", wanted, token->length > 40 ? 40 : (int)token->length,
               token->text);
    return false;
}

bool c_expect(struct c_definitions *c, const char *mark)
{
    if (c_accept(c, mark))
        return true;
    char wanted[16] = "";
    return c_fail_expected(c, strcat(strcat(strcpy(wanted, "'"), mark), "'"));
}

/* Passes over brackets and everything in them. The opening one is the next token. */
void c_skip_brackets(struct c_definitions *c)
{
    unsigned depth = 0;
    do {
        struct c_token token = c_take(c);
        if (token.kind == C_END)
            return;
        if (token.kind == C_MARK && token.length == 1) {
            depth += strchr("([{", token.text[0]) != NULL;
            depth -= strchr(")]}", token.text[0]) != NULL && depth;
        }
    } while (depth);
}

/* Recovers from an error: passes over the rest of a declaration, to its ';' or the '}' of its body; of a member
 * also to before the '}' of the struct. */
void c_recover(struct c_definitions *c, bool is_member)
{
    for (;;) {
        const struct c_token *token = c_peek(c);
        if (token->kind == C_END || (is_member && c_is(token, "}")))
            return;
        if (c_is(token, ";")) {
            c_take(c);
            return;
        }
        bool is_body = c_is(token, "{");
        if (is_body || c_is(token, "(") || c_is(token, "["))
            c_skip_brackets(c);
        else
            c_take(c);
        if (is_body && !is_member) {
            /* In a script a probe may follow, of which no token must be read. */
            if (!c_in_script(c))
                c_accept(c, ";");
            return;
        }
    }
}

/* ---- specifiers ---- */

static const struct type *opaque(struct c_definitions *c, uint32_t size)
{
    return type_array(c->arena, &type_u8, size);
}

/* Finds the type that the words of an arithmetic type mean; `seen` counts them by enum c_word. False: they
 * contradict each other. */
static bool arithmetic(struct c_definitions *c, const uint8_t *seen, struct c_typed *typed)
{
    unsigned size = 4;
    bool is_unsigned = seen[C_WORD_UNSIGNED];
    if (seen[C_WORD_VA_LIST])
        *typed = (struct c_typed){opaque(c, 24), 8};
    else if (seen[C_WORD_FLOAT128] || seen[C_WORD_INT128] || (seen[C_WORD_DOUBLE] && seen[C_WORD_LONG]))
        *typed = (struct c_typed){opaque(c, seen[C_WORD_COMPLEX] ? 32 : 16), 16};
    else if (seen[C_WORD_DOUBLE] || seen[C_WORD_FLOAT]) {
        size = seen[C_WORD_DOUBLE] ? 8 : 4;
        *typed =
            (struct c_typed){seen[C_WORD_COMPLEX] ? opaque(c, 2 * size) : type_float(c->arena, size), size};
    } else if (seen[C_WORD_VOID])
        *typed = (struct c_typed){&type_none, 1};
    else if (seen[C_WORD_BOOL])
        *typed = (struct c_typed){&type_bool, 1};
    else {
        size = seen[C_WORD_CHAR] ? 1 : seen[C_WORD_SHORT] ? 2 : seen[C_WORD_LONG] ? 8 : 4;
        *typed = (struct c_typed){type_integer(size, !is_unsigned), size};
    }
    return seen[C_WORD_CHAR] + seen[C_WORD_SHORT] + seen[C_WORD_FLOAT] + (seen[C_WORD_LONG] != 0) <= 1 &&
           seen[C_WORD_LONG] <= 2 && seen[C_WORD_SIGNED] + seen[C_WORD_UNSIGNED] <= 1;
}

/* Finds the type that a name stands for. False: it is no type. */
static bool type_name_find(struct c_definitions *c, const struct c_symbol *symbol, struct c_typed *typed)
{
    if (symbol->type) {
        *typed = symbol->type->typed;
        return true;
    }
    const struct type *type = c_common_type(symbol->name);
    if (!type && c->options.type && !symbol->constant)
        type = c->options.type(c->options.state, symbol->name);
    /* The name of a struct without `struct` is no type in C, although the provider finds it. */
    if (!type || (type->kind == TYPE_STRUCT && type->name && !strcmp(type->name, symbol->name)))
        return false;
    *typed = (struct c_typed){type, c_align_of(type)};
    return true;
}

/* typeof '(' (type | …) ')' */
static bool type_of(struct c_definitions *c, struct c_typed *typed)
{
    c_take(c);
    if (!c_accept(c, "(") || !c_begins_type(c))
        return c_fail(c, "typeof of an expression is not understood"), false;
    return c_type_name(c, typed) && c_expect(c, ")");
}

bool c_specifiers(struct c_definitions *c, struct c_typed *typed, struct c_attributes *attributes,
                  bool *is_typedef, bool *is_tagged)
{
    uint8_t seen[C_WORD_VA_LIST + 1] = {0};
    bool has_words = false, has_type = false;
    *typed = (struct c_typed){0};
    for (;;) {
        enum c_word next = c_word(c);
        if (next >= C_WORD_VOID && next <= C_WORD_VA_LIST && !has_type) {
            seen[next] += seen[next] < 3;
            has_words = true;
            c_take(c);
        } else if (next == C_WORD_TYPEDEF) {
            *is_typedef = true;
            c_take(c);
        } else if (next >= C_WORD_STRUCT && next <= C_WORD_ENUM && !has_words && !has_type) {
            if (!c_tagged(c, typed, is_tagged))
                return false;
            has_type = true;
            /* The next word behind a body may belong to a probe of the script. */
            if (!*is_typedef && !c->has_peeked && !c->depth)
                break;
        } else if (next == C_WORD_TYPEOF && !has_words && !has_type) {
            if (!type_of(c, typed))
                return false;
            has_type = true;
        } else if (c_attribute(c, attributes))
            continue;
        else if (next == C_WORD_NONE && !has_words && !has_type && c_peek(c)->kind == C_NAME &&
                 type_name_find(c, c_peek(c)->symbol, typed)) {
            has_type = true;
            c_take(c);
        } else
            break;
    }
    if (has_words && !arithmetic(c, seen, typed))
        return c_fail(c, "The words of a type contradict each other"), false;
    if (!has_words && !has_type) {
        const struct c_token *token = c_peek(c);
        if (token->kind == C_NAME && token->symbol->word == C_WORD_NONE) {
            c_fail(c, "unknown type name '%s'", token->symbol->name);
            if (c->missing)
                c_hint(c, "<%s> is not on this machine", c->missing);
            return false;
        }
        return c_fail_expected(c, "a type");
    }
    if (attributes->mode && typed->type && typed->type->kind == TYPE_INTEGER)
        *typed = (struct c_typed){type_integer(attributes->mode, typed->type->is_signed), attributes->mode};
    return true;
}

/* ---- declarators ---- */

enum { MODIFIERS = 64, MODIFIER_POINTER = -1, MODIFIER_FUNCTION = -2 };
/* in the order in which they are read from the name outwards; a number that is not negative: an array of so many */
struct modifiers {
    int64_t items[MODIFIERS];
    size_t count;
};

static bool modifier_add(struct c_definitions *c, struct modifiers *modifiers, int64_t modifier)
{
    if (modifiers->count == MODIFIERS)
        return c_fail(c, "A declarator is too long"), false;
    modifiers->items[modifiers->count++] = modifier;
    return true;
}

/* '[' ('static' | qualifier)* expression? ']' */
static bool array_modifier(struct c_definitions *c, struct modifiers *modifiers)
{
    struct c_value length = {0, false, 8};
    struct c_attributes ignored = {0};
    c_take(c);
    c_attributes(c, &ignored);
    if (!c_is(c_peek(c), "]") && !c_accept(c, "*") && !c_evaluate_next(c, &length))
        return false;
    if (length.bits > C_SIZE_MAX)
        return c_fail(c, "An array is too long"), false;
    return c_expect(c, "]") && modifier_add(c, modifiers, (int64_t)length.bits);
}

/* declarator: '*'* (name | '(' declarator ')')? ('[' … ']' | '(' … ')')* */
static bool declarator_within(struct c_definitions *c, struct modifiers *modifiers, const char **name,
                              struct c_attributes *attributes)
{
    unsigned pointers = 0;
    if (c->depth >= C_DEPTH)
        return c_fail(c, "Nested too deeply"), false;
    c->depth++;
    for (;;) {
        if (c_accept(c, "*") || c_accept(c, "^"))
            pointers++;
        else if (!c_attribute(c, attributes))
            break;
    }
    bool is_good = true;
    if (c_is(c_peek(c), "(")) {
        c_take(c);
        c_attributes(c, attributes);
        const struct c_token *token = c_peek(c);
        bool is_nested = c_is(token, "*") || c_is(token, "(") || c_is(token, "^") ||
                         (token->kind == C_NAME && !c_begins_type(c));
        if (is_nested)
            is_good = declarator_within(c, modifiers, name, attributes) && c_expect(c, ")");
        else { /* the parameters of a function type that has no name */
            for (unsigned depth = 1; depth && c_peek(c)->kind != C_END;) {
                struct c_token skipped = c_take(c);
                depth += c_is(&skipped, "(");
                depth -= c_is(&skipped, ")");
            }
            is_good = modifier_add(c, modifiers, MODIFIER_FUNCTION);
        }
    } else if (c_peek(c)->kind == C_NAME)
        *name = c_take(c).symbol->name;
    while (is_good) {
        if (c_is(c_peek(c), "["))
            is_good = array_modifier(c, modifiers);
        else if (c_is(c_peek(c), "(")) {
            c_skip_brackets(c);
            is_good = modifier_add(c, modifiers, MODIFIER_FUNCTION);
        } else if (!c_attribute(c, attributes))
            break;
    }
    for (; is_good && pointers; pointers--)
        is_good = modifier_add(c, modifiers, MODIFIER_POINTER);
    c->depth--;
    return is_good;
}

bool c_declarator(struct c_definitions *c, struct c_typed *typed, const char **name,
                  struct c_attributes *attributes)
{
    struct modifiers modifiers = {.count = 0};
    if (!declarator_within(c, &modifiers, name, attributes))
        return false;
    while (modifiers.count) {
        int64_t modifier = modifiers.items[--modifiers.count];
        if (modifier == MODIFIER_FUNCTION)
            *typed = (struct c_typed){NULL, 1};
        else if (modifier == MODIFIER_POINTER)
            *typed = (struct c_typed){
                type_pointer(c->arena, typed->type ? typed->type : &type_none, SPACE_NONE), 8};
        else if (typed->type) {
            if (!c_is_complete(typed->type))
                return c_fail(c, "An array of elements whose size is not known"), false;
            uint32_t align = typed->align ? typed->align : c_align_of(typed->type);
            *typed = (struct c_typed){type_array(c->arena, typed->type, (uint32_t)modifier), align};
            if (typed->type->size > C_SIZE_MAX)
                return c_fail(c, "An array is too long"), false;
        }
    }
    return true;
}

bool c_begins_type(struct c_definitions *c)
{
    const struct c_token *token = c_peek(c);
    struct c_typed typed;
    if (token->kind != C_NAME)
        return false;
    enum c_word first = token->symbol->word;
    if (first == C_WORD_NONE)
        return type_name_find(c, token->symbol, &typed);
    return first < C_WORD_STATIC_ASSERT && first != C_WORD_TYPEDEF;
}

bool c_type_name(struct c_definitions *c, struct c_typed *typed)
{
    struct c_attributes attributes = {0};
    const char *name = NULL;
    bool is_typedef = false, is_tagged = false;
    if (c->depth >= C_DEPTH)
        return c_fail(c, "Nested too deeply"), false;
    c->depth++;
    bool is_good = c_specifiers(c, typed, &attributes, &is_typedef, &is_tagged) &&
                   c_declarator(c, typed, &name, &attributes);
    c->depth--;
    if (is_good && name)
        return c_fail(c, "A type is expected, and '%s' is not a part of it", name), false;
    return is_good;
}

/* ---- declarations ---- */

static void typedef_add(struct c_definitions *c, const char *name, struct c_typed typed,
                        const struct c_attributes *attributes)
{
    struct c_symbol *symbol = c_symbol(c, name, strlen(name));
    bool in_script = c_in_script(c);
    if (symbol->type && symbol->type->of_script && !in_script)
        return;
    if (attributes->mode && typed.type && typed.type->kind == TYPE_INTEGER)
        typed = (struct c_typed){type_integer(attributes->mode, typed.type->is_signed), attributes->mode};
    if (attributes->align)
        typed.align = attributes->align;
    /* An anonymous struct or enum is known by the name of its typedef. */
    if (typed.type && (typed.type->kind == TYPE_STRUCT || typed.type->kind == TYPE_ENUM) && !typed.type->name)
        ((struct type *)typed.type)->name = symbol->name;
    struct c_typedef *definition = arena_new(c->arena, struct c_typedef);
    *definition = (struct c_typedef){typed, in_script};
    symbol->type = definition;
}

/* Whether a word and a ';' follow a body in the script, which makes it the definition of an object. The text is
 * looked at without making tokens, because it may be a probe. */
static bool object_follows(const struct c_definitions *c)
{
    const char *text = c->file->source.text;
    size_t length = c->file->source.length;
    uint32_t position = c->file->position;
    bool ignored;
    c_skip_blanks(text, length, &position, false, &ignored);
    while (position < length && (lexer_is_word(text[position]) || strchr("*[] \t,", text[position])))
        position++;
    return position < length && text[position] == ';';
}

/* specifiers (declarator ('=' initialiser)? (',' …)*)? (';' | body) */
void c_declare_external(struct c_definitions *c)
{
    struct c_typed base;
    struct c_attributes common = {0};
    bool is_typedef = false, is_tagged = false;
    if (c_accept(c, ";"))
        return;
    if (c_is(c_peek(c), "#") || c_word(c) == C_WORD_STATIC_ASSERT || c_word(c) == C_WORD_ASM) {
        c_recover(c, false);
        return;
    }
    if (!c_specifiers(c, &base, &common, &is_typedef, &is_tagged)) {
        c_recover(c, false);
        return;
    }
    bool may_end = !c->has_peeked && !is_typedef && c_in_script(c) && !c->layer;
    if (may_end && !object_follows(c))
        return;
    while (!c_is(c_peek(c), ";")) {
        struct c_typed typed = base;
        struct c_attributes attributes = common;
        const char *name = NULL;
        if (!c_declarator(c, &typed, &name, &attributes)) {
            c_recover(c, false);
            return;
        }
        if (is_typedef && name)
            typedef_add(c, name, typed, &attributes);
        if (c_is(c_peek(c), "{")) { /* the body of a function */
            c_skip_brackets(c);
            return;
        }
        if (c_accept(c, "="))
            while (c_peek(c)->kind != C_END && !c_is(c_peek(c), ",") && !c_is(c_peek(c), ";")) {
                if (c_is(c_peek(c), "{") || c_is(c_peek(c), "("))
                    c_skip_brackets(c);
                else
                    c_take(c);
            }
        if (!c_accept(c, ",") && !c_is(c_peek(c), ";")) {
            c_fail_expected(c, "';'");
            c_recover(c, false);
            return;
        }
    }
    c_take(c);
}
