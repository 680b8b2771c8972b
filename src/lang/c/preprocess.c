/* SPDX-License-Identifier: BSD-3-Clause */
/* The stream of tokens: files, layers of expansion, macros. Directives are in directive.c.
 *
 * A macro is not expanded inside of its own expansion: it is busy while its layer is there, and a token with its
 * name that is read meanwhile is painted, which means that it is never expanded. Arguments are expanded by
 * themselves behind a barrier. */
#include <stdio.h>
#include <string.h>

#include "lang/c/state.h"

bool c_in_script(const struct c_definitions *c)
{
    return c->file && c->file->script;
}

/* Returns the line of the position in a file. It counts on from where it was called last, so that a text full of
 * __LINE__ is not counted again for each. */
static unsigned line_of(struct c_definitions *c, const struct c_file *file)
{
    if (c->line_text != file->source.text || c->line_position > file->position) {
        c->line_text = file->source.text;
        c->line_position = 0;
        c->line = 1;
    }
    for (; c->line_position < file->position; c->line_position++)
        c->line += c->line_text[c->line_position] == '\n';
    return c->line;
}

static void note_vadd(struct c_definitions *c, const char *format, va_list arguments)
{
    if (c->note_count >= C_NOTES_MAX)
        return;
    struct text text = {0};
    if (c->file)
        text_printf(&text, "%s:%u: ", c->file->source.name, line_of(c, c->file));
    text_vprintf(&text, format, arguments);
    *arena_push(c->arena, c->notes, c->note_count, c->note_room) = text_keep(&text, c->arena);
}

void c_note_add(struct c_definitions *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note_vadd(c, format, arguments);
    va_end(arguments);
}

/* Whether one more error is reported: a hopeless text must not flood the user. */
static bool may_report(struct c_definitions *c)
{
    if (++c->reports == C_REPORTS_MAX)
        diagnose_error(c->options.diagnostics, c->span, "Too many errors in the C definitions");
    return c->reports < C_REPORTS_MAX;
}

void c_fail(struct c_definitions *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (c_in_script(c)) {
        struct text text = {0};
        text_vprintf(&text, format, arguments);
        if (may_report(c))
            diagnose_error(c->options.diagnostics, c->span, "%s", text_string(&text));
        text_free(&text);
    } else
        note_vadd(c, format, arguments);
    va_end(arguments);
}

void c_hint(struct c_definitions *c, const char *format, ...)
{
    if (!c_in_script(c) || c->reports >= C_REPORTS_MAX)
        return;
    va_list arguments;
    struct text text = {0};
    va_start(arguments, format);
    text_vprintf(&text, format, arguments);
    va_end(arguments);
    diagnose_hint(c->options.diagnostics, "%s", text_string(&text));
    text_free(&text);
}

/* Reports that a bound was exceeded, which ends all reading of C. Always returns false. */
static bool exhausted(struct c_definitions *c, const char *what, unsigned most, const char *unit)
{
    const char *header = c->file && !c_in_script(c) ? c->file->source.name : NULL;
    c->is_exhausted = true;
    diagnose_error(c->options.diagnostics, c->span, "The C definitions %s: more than %u %s%s%s", what, most,
                   unit, header ? ", in " : "", header ? header : "");
    diagnose_hint(c->options.diagnostics,
                  "include fewer headers, or define only what the script uses; or does "
                  "a macro double itself, or a header include itself?");
    return false;
}

bool c_spend(struct c_definitions *c, size_t tokens)
{
    c->tokens_made += tokens;
    if (c->is_exhausted)
        return false;
    if (c->tokens_made > C_TOKENS_MAX)
        return exhausted(c, "are too long", C_TOKENS_MAX, "tokens");
    if (c->arena->total > C_MEMORY_MAX)
        return exhausted(c, "take too much memory", C_MEMORY_MAX >> 20, "MiB");
    return true;
}

/* ---- layers ---- */

void c_push(struct c_definitions *c, const struct c_token *tokens, size_t count, struct c_macro *macro,
            bool is_barrier)
{
    struct c_layer *layer = c->spare;
    if (layer)
        c->spare = layer->below;
    else
        layer = arena_new(c->arena, struct c_layer);
    *layer = (struct c_layer){c->layer, tokens, count, 0, macro, is_barrier};
    c->layer = layer;
    if (macro)
        macro->is_busy = true;
}

static void layer_pop(struct c_definitions *c)
{
    struct c_layer *layer = c->layer;
    if (layer->macro)
        layer->macro->is_busy = false;
    c->layer = layer->below;
    layer->below = c->spare;
    c->spare = layer;
}

static struct c_token painted(struct c_token token)
{
    if (token.kind == C_NAME && token.symbol->macro && token.symbol->macro->is_busy)
        token.is_painted = true;
    return token;
}

struct c_token c_fetch(struct c_definitions *c)
{
    while (c->layer) {
        if (c->layer->next < c->layer->count)
            return painted(c->layer->tokens[c->layer->next++]);
        if (c->layer->is_barrier)
            return (struct c_token){.kind = C_END};
        layer_pop(c);
    }
    while (c->file && c_spend(c, 1)) {
        struct c_file *file = c->file;
        struct c_token token = c_lex(c, file->source.text, file->source.length, &file->position, false);
        token.begins_line |= file->at_line_start;
        if (token.kind == C_END) {
            if (file == c->floor)
                return token;
            c_file_pop(c);
            continue;
        }
        file->at_line_start = false;
        uint32_t begin = (uint32_t)(token.text - file->source.text);
        if (file->script)
            c->span = (struct span){file->script, begin, file->position};
        if (!c->in_block && token.begins_line && c_is(&token, "#")) {
            file->position = begin;
            c_directive(c);
            continue;
        }
        return painted(token);
    }
    return (struct c_token){.kind = C_END};
}

/* Whether a ( is the next token. Layers that have been read to their end are removed, because the next token is
 * below them. */
static bool next_is_open(struct c_definitions *c)
{
    for (; c->layer; layer_pop(c)) {
        if (c->layer->next < c->layer->count)
            return c_is(&c->layer->tokens[c->layer->next], "(");
        if (c->layer->is_barrier)
            return false;
    }
    if (!c->file)
        return false;
    uint32_t position = c->file->position;
    bool line_ended = false;
    c_skip_blanks(c->file->source.text, c->file->source.length, &position, false, &line_ended);
    return position < c->file->source.length && c->file->source.text[position] == '(';
}

/* ---- macros ---- */

struct arguments {
    struct c_tokens *raw, *expanded;
    bool *is_expanded;
    size_t count;
};

/* Reads the arguments of a use of a macro: '(' argument (',' argument)* ')'. Commas in parentheses belong to their
 * argument. False: there is no end. */
static bool collect(struct c_definitions *c, const struct c_macro *macro, const char *name,
                    struct arguments *arguments)
{
    struct span span = c->span;
    size_t depth = 0, number = 0, most = macro->parameter_count;
    arguments->count = most;
    arguments->raw = arena_array(c->arena, most + 1, sizeof *arguments->raw);
    arguments->expanded = arena_array(c->arena, most + 1, sizeof *arguments->expanded);
    arguments->is_expanded = arena_array(c->arena, most + 1, sizeof *arguments->is_expanded);
    c_fetch(c); /* ( */
    for (;;) {
        struct c_token token = c_fetch(c);
        if (token.kind == C_END) {
            if (c_in_script(c))
                c->span = span;
            c_fail(c, "Unterminated arguments of the macro '%s'", name);
            return false;
        }
        if (c_is(&token, ")") && !depth)
            break;
        depth += c_is(&token, "(");
        depth -= c_is(&token, ")");
        bool is_last = macro->is_variadic && number + 1 >= most;
        if (c_is(&token, ",") && !depth && !is_last) {
            number++;
            continue;
        }
        if (number < most)
            c_tokens_add(c, &arguments->raw[number], token);
        else
            c_tokens_add(c, &arguments->raw[most], token);
    }
    size_t given = number + 1;
    bool is_empty = !number && !arguments->raw[0].count;
    size_t least = macro->is_variadic ? most - 1 : most;
    if (is_empty && (most == 0 || least == 0))
        return true;
    if (given >= least && given <= most)
        return true;
    if (c_in_script(c))
        c->span = span;
    c_fail(c, "The macro '%s' takes %zu argument%s, %zu %s given", name, least, least == 1 ? "" : "s",
           is_empty ? 0 : given, given == 1 && !is_empty ? "was" : "were");
    return false;
}

static ptrdiff_t parameter_of(const struct c_macro *macro, const struct c_token *token)
{
    if (token->kind == C_NAME)
        for (size_t i = 0; i < macro->parameter_count; i++)
            if (macro->parameters[i] == token->symbol)
                return (ptrdiff_t)i;
    return -1;
}

static const struct c_tokens *argument_expanded(struct c_definitions *c, struct arguments *arguments,
                                                size_t number)
{
    if (!arguments->is_expanded[number]) {
        arguments->expanded[number] = c_expand_tokens(c, &arguments->raw[number]);
        arguments->is_expanded[number] = true;
    }
    return &arguments->expanded[number];
}

/* # parameter: the argument's text as a string */
static struct c_token stringified(struct c_definitions *c, const struct c_tokens *argument)
{
    struct text text = {0};
    text_char(&text, '"');
    for (size_t i = 0; i < argument->count; i++) {
        const struct c_token *token = &argument->items[i];
        if (i && (token->has_blank || token->begins_line))
            text_char(&text, ' ');
        for (uint32_t k = 0; k < token->length; k++) {
            bool is_quoted = token->kind == C_STRING || token->kind == C_CHARACTER;
            if (is_quoted && (token->text[k] == '"' || token->text[k] == '\\'))
                text_char(&text, '\\');
            text_char(&text, token->text[k]);
        }
    }
    text_char(&text, '"');
    struct c_token token = {.kind = C_STRING, .length = (uint32_t)text.length, .has_blank = true};
    token.text = text_keep(&text, c->arena);
    c_spend(c, token.length / 16);
    return token;
}

/* Appends a token to the last one, as left ## right does: as one token, or as both if they do not make one. */
static void paste(struct c_definitions *c, struct c_tokens *out, struct c_token right)
{
    struct c_token *left = out->count ? &out->items[out->count - 1] : NULL;
    if (!left || left->kind == C_EMPTY) {
        if (left)
            *left = right;
        else
            c_tokens_add(c, out, right);
        return;
    }
    if (right.kind == C_EMPTY)
        return;
    size_t length = (size_t)left->length + right.length;
    char *text = arena_alloc(c->arena, length + 1);
    memcpy(text, left->text, left->length);
    memcpy(text + left->length, right.text, right.length);
    c_spend(c, length / 16);
    uint32_t position = 0;
    struct c_token token = c_lex(c, text, length, &position, false);
    if (token.kind == C_END || position != length) {
        c_tokens_add(c, out, right);
        return;
    }
    token.has_blank = left->has_blank;
    *left = token;
}

static void append(struct c_definitions *c, struct c_tokens *out, const struct c_tokens *tokens,
                   bool has_blank)
{
    for (size_t i = 0; i < tokens->count && c_spend(c, 1); i++) {
        c_tokens_add(c, out, tokens->items[i]);
        if (!i)
            out->items[out->count - 1].has_blank |= has_blank;
    }
}

/* Returns the body of a macro with arguments in the place of parameters, after # and ##. */
static struct c_tokens substitute(struct c_definitions *c, const struct c_macro *macro,
                                  struct arguments *arguments)
{
    static const struct c_token empty = {.kind = C_EMPTY};
    struct c_tokens out = {0};
    const struct c_token *body = macro->body.items;
    size_t count = macro->body.count;
    for (size_t i = 0; i < count && c_spend(c, 1); i++) {
        const struct c_token *token = &body[i];
        ptrdiff_t next = i + 1 < count ? parameter_of(macro, &body[i + 1]) : -1;
        if (macro->is_function && c_is(token, "#") && next >= 0) {
            c_tokens_add(c, &out, stringified(c, &arguments->raw[next]));
            i++;
            continue;
        }
        if (c_is(token, "##") && out.count && i + 1 < count) {
            i++;
            if (next < 0) {
                paste(c, &out, body[i]);
                continue;
            }
            const struct c_tokens *raw = &arguments->raw[next];
            bool is_rest = macro->is_variadic && (size_t)next + 1 == macro->parameter_count;
            if (is_rest && c_is(&out.items[out.count - 1], ",")) { /* , ## rest: no comma without a rest */
                if (!raw->count)
                    out.count--;
                else
                    append(c, &out, argument_expanded(c, arguments, (size_t)next), false);
                continue;
            }
            paste(c, &out, raw->count ? raw->items[0] : empty);
            struct c_tokens rest = {raw->count ? raw->items + 1 : NULL, raw->count ? raw->count - 1 : 0, 0};
            append(c, &out, &rest, false);
            continue;
        }
        ptrdiff_t parameter = parameter_of(macro, token);
        if (parameter < 0) {
            c_tokens_add(c, &out, *token);
            continue;
        }
        bool is_pasted = i + 1 < count && c_is(&body[i + 1], "##");
        const struct c_tokens *argument =
            is_pasted ? &arguments->raw[parameter] : argument_expanded(c, arguments, (size_t)parameter);
        append(c, &out, argument, token->has_blank);
        if (is_pasted && !argument->count)
            c_tokens_add(c, &out, empty);
    }
    size_t kept = 0;
    for (size_t i = 0; i < out.count; i++)
        if (out.items[i].kind != C_EMPTY)
            out.items[kept++] = out.items[i];
    out.count = kept;
    return out;
}

static void expand_dynamic(struct c_definitions *c, const struct c_macro *macro)
{
    struct c_token *token = arena_new(c->arena, struct c_token);
    const char *text = "0";
    if (macro->dynamic == C_DYNAMIC_LINE)
        text = arena_printf(c->arena, "%u", c->file ? line_of(c, c->file) : 0);
    else if (macro->dynamic == C_DYNAMIC_COUNTER)
        text = arena_printf(c->arena, "%zu", c->counter++);
    else
        text = "\"\"";
    *token = (struct c_token){.kind = macro->dynamic == C_DYNAMIC_FILE ? C_STRING : C_NUMBER,
                              .length = (uint32_t)strlen(text),
                              .text = text,
                              .has_blank = true};
    c_push(c, token, 1, NULL, false);
}

struct c_token c_next(struct c_definitions *c)
{
    for (;;) {
        struct c_token token = c_fetch(c);
        struct c_macro *macro = token.kind == C_NAME && !token.is_painted ? token.symbol->macro : NULL;
        if (!macro)
            return token;
        if (!c_spend(c, 1))
            return (struct c_token){.kind = C_END};
        if (macro->dynamic) {
            expand_dynamic(c, macro);
            continue;
        }
        struct arguments arguments = {0};
        if (macro->is_function) {
            if (c->depth >= C_DEPTH || !next_is_open(c))
                return token;
            c->depth++;
            bool is_good = collect(c, macro, token.symbol->name, &arguments);
            struct c_tokens out = {0};
            if (is_good)
                out = substitute(c, macro, &arguments);
            c->depth--;
            c_push(c, out.items, out.count, macro, false);
            continue;
        }
        struct c_tokens out = substitute(c, macro, &arguments);
        if (out.count)
            out.items[0].has_blank |= token.has_blank;
        c_push(c, out.items, out.count, macro, false);
    }
}

struct c_tokens c_expand_tokens(struct c_definitions *c, const struct c_tokens *tokens)
{
    struct c_tokens out = {0};
    if (c->depth >= C_DEPTH)
        return *tokens;
    c->depth++;
    c_push(c, tokens->items, tokens->count, NULL, true);
    struct c_layer *barrier = c->layer;
    for (struct c_token token; (token = c_next(c)).kind != C_END && c_spend(c, 1);)
        c_tokens_add(c, &out, token);
    while (c->layer != barrier) /* this happens only when too many tokens were made */
        layer_pop(c);
    layer_pop(c);
    c->depth--;
    return out;
}

/* ---- for the lexer of scripts ---- */

/* Writes the expansion of a use as text. False: it is too long. The file's position is then behind the use. */
static bool expand_use(struct c_definitions *c, struct text *text)
{
    for (bool is_first = true;; is_first = false) {
        bool is_through = !is_first;
        for (struct c_layer *layer = c->layer; layer && is_through; layer = layer->below)
            is_through = layer->next == layer->count;
        if (is_through)
            break;
        struct c_token token = c_next(c);
        if (token.kind == C_END)
            break;
        if (token.kind == C_CHARACTER)
            text_printf(text, " %lld", (long long)c_character(&token));
        else {
            text_char(text, ' ');
            text_append(text, token.text, token.length);
        }
        if (text->length > C_USE_BYTES_MAX)
            return false;
    }
    while (c->layer)
        layer_pop(c);
    return !text->failed;
}

/* Joins a string to the one before it, as strings side by side are one. */
static bool joins(const struct token *before, struct token *token, struct arena *arena)
{
    if (!before || before->kind != TOKEN_STRING || token->kind != TOKEN_STRING || before->error ||
        token->error)
        return false;
    char *text = arena_printf(arena, "%.*s%.*s", (int)before->length - 1, before->text,
                              (int)token->length - 1, token->text + 1);
    token->text = text;
    token->length += before->length - 2;
    return true;
}

bool c_expand(struct c_definitions *c, struct lexer *lexer, const struct lexer_expansion **out)
{
    const struct source *source = lexer->source;
    if (c->expansion && c->expansion_source == source && c->expansion_begin == lexer->position) {
        lexer->position = c->expansion_end;
        *out = c->expansion;
        return true;
    }
    uint32_t begin = lexer->position, end = begin;
    while (end < source->length && lexer_is_word(source->text[end]))
        end++;
    struct c_symbol *symbol = table_get(&c->symbols, source->text + begin, end - begin);
    if (!symbol || !symbol->macro || symbol->macro->dynamic == C_DYNAMIC_FILE || c->is_exhausted)
        return false;
    struct c_file file = {.source = *source, .script = source, .position = begin};
    struct c_file *outer = c->file, *floor = c->floor;
    if (symbol->macro->is_function) {
        uint32_t after = end;
        bool line_ended = false;
        c_skip_blanks(source->text, source->length, &after, false, &line_ended);
        if (after >= source->length || source->text[after] != '(')
            return false;
    }
    struct text text = {0};
    c->file = c->floor = &file;
    c->in_block = true;
    bool is_good = expand_use(c, &text);
    if (!is_good) {
        c->span = (struct span){source, begin, end};
        c_fail(c, "The expansion of the macro '%s' is too long", symbol->name);
        while (c->layer)
            layer_pop(c);
    }
    c->in_block = false;
    c->file = outer;
    c->floor = floor;

    struct lexer_expansion *expansion = arena_new(c->arena, struct lexer_expansion);
    struct source *made = arena_new(c->arena, struct source);
    text_truncate(&text, is_good ? text.length : 0);
    *made = (struct source){.name = source->name, .length = text.length};
    made->text = text_keep(&text, c->arena);
    expansion->span = (struct span){source, begin, file.position > end ? file.position : end};
    struct token *tokens = NULL;
    size_t count = 0, room = 0;
    struct lexer inner = {.source = made};
    for (struct token token; (token = lexer_next(&inner)).kind != TOKEN_END && c_spend(c, 1);) {
        token.span = expansion->span;
        if (joins(count ? &tokens[count - 1] : NULL, &token, c->arena))
            count--;
        *arena_push(c->arena, tokens, count, room) = token;
    }
    expansion->tokens = tokens;
    expansion->count = count;
    c->expansion = expansion;
    c->expansion_source = source;
    c->expansion_begin = begin;
    c->expansion_end = expansion->span.end;
    lexer->position = c->expansion_end;
    *out = expansion;
    return true;
}
