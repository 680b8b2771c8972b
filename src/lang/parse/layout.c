/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of scripts: each attach point in a line of its own, and so the brace of the block, two blanks of
 * indentation, a semicolon behind every statement. Only spaces, lines and semicolons change, and no other token.
 *
 * The script is parsed first, and refused if it is wrong. The tree says where attach points and predicates are, and
 * which blocks are values and have no semicolon at their end; everything else is done with tokens. */
#include "lang/parse/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "lang/c/definitions.h"
#include "lang/lexer.h"

enum { INDENT = 2 };

struct layout {
    struct text *out;
    struct arena *arena;
    const struct source *source;
    const struct script *script;
    const struct action_block *block; /* the next block in the order of the text */
    uint32_t *values;                 /* where blocks that are values begin, sorted */
    size_t value_count, value_room;
    unsigned depth;       /* how many braces are open */
    bool at_line_start;   /* the line is empty so far */
    bool is_empty_wanted; /* the next line is preceded by an empty one */
};

/* ---- lines ---- */

static void line_end(struct layout *layout)
{
    if (!layout->at_line_start)
        text_char(layout->out, '\n');
    layout->at_line_start = true;
}

static void line_begin(struct layout *layout)
{
    if (!layout->at_line_start)
        return;
    if (layout->is_empty_wanted && layout->out->length)
        text_char(layout->out, '\n');
    layout->is_empty_wanted = false;
    text_fill(layout->out, ' ', layout->depth * INDENT);
    layout->at_line_start = false;
}

static void put(struct layout *layout, uint32_t begin, uint32_t end)
{
    line_begin(layout);
    text_append(layout->out, layout->source->text + begin, end - begin);
}

/* Writes the comments and empty lines between two tokens. A comment in the line of the token before it stays there.
 * Returns whether there was a comment. */
static bool put_gap(struct layout *layout, uint32_t begin, uint32_t end)
{
    const char *text = layout->source->text;
    unsigned lines = 0;
    bool found = false;
    for (uint32_t at = begin; at < end;) {
        lines += text[at] == '\n';
        if (text[at] != '/' || (text[at + 1] != '/' && text[at + 1] != '*')) {
            at++;
            continue;
        }
        uint32_t stop = at;
        if (text[at + 1] == '/') {
            while (stop < end && text[stop] != '\n')
                stop++;
        } else {
            const char *close = memmem(text + at + 2, end - at - 2, "*/", 2);
            stop = close ? (uint32_t)(close + 2 - text) : end;
        }
        bool is_line = text[at + 1] == '/', was_ended = !lines && layout->at_line_start;
        if (lines) {
            line_end(layout);
            layout->is_empty_wanted |= lines > 1;
        } else if (layout->at_line_start && layout->out->length) {
            /* The comment goes behind the ; or the brace that has already ended its line. */
            layout->out->length--;
            layout->at_line_start = false;
            text_char(layout->out, ' ');
        } else if (layout->out->length && !layout->at_line_start)
            text_char(layout->out, ' ');
        while (is_line && stop > at &&
               (text[stop - 1] == ' ' || text[stop - 1] == '\t' || text[stop - 1] == '\r'))
            stop--;
        put(layout, at, stop);
        if (is_line || lines || was_ended || memchr(text + at, '\n', stop - at))
            line_end(layout);
        found = true;
        lines = 0;
        at = stop;
    }
    if (lines > 1 && layout->at_line_start)
        layout->is_empty_wanted = true;
    return found;
}

/* ---- which blocks are values ---- */

static bool collect_values(struct node *node, void *state)
{
    struct layout *layout = state;
    if (node->kind != NODE_BLOCK_VALUE)
        return true;
    /* The span begins with the parentheses around the brace. */
    struct lexer lexer = {.source = layout->source, .position = node->span.begin};
    struct token token = lexer_next(&lexer);
    while (token.kind == TOKEN_PAREN_OPEN)
        token = lexer_next(&lexer);
    *arena_push(layout->arena, layout->values, layout->value_count, layout->value_room) = token.span.begin;
    return true;
}

static int by_position(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static bool is_value(const struct layout *layout, uint32_t begin)
{
    return layout->value_count &&
           bsearch(&begin, layout->values, layout->value_count, sizeof begin, by_position) != NULL;
}

/* ---- tokens ---- */

static bool ends_operand(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_NAME:
    case TOKEN_VARIABLE:
    case TOKEN_MAP:
    case TOKEN_PARAMETER:
    case TOKEN_INTEGER:
    case TOKEN_STRING:
    case TOKEN_TRUE:
    case TOKEN_FALSE:
    case TOKEN_PAREN_CLOSE:
    case TOKEN_BRACKET_CLOSE:
    case TOKEN_BRACE_CLOSE: return true;
    default: return false;
    }
}

static bool is_binary(enum token_kind kind)
{
    return (kind >= TOKEN_ASSIGN && kind <= TOKEN_SHR_ASSIGN) || (kind >= TOKEN_ADD && kind <= TOKEN_OR_OR) ||
           kind == TOKEN_QUESTION || kind == TOKEN_COLON;
}

struct walk { /* state while the tokens of one part are written */
    enum token_kind before;
    bool before_is_prefix; /* the token before is an operator in front of its only operand */
};

/* Whether a token is an operator in front of its only operand. */
static bool is_prefix(const struct walk *walk, enum token_kind kind, enum token_kind next)
{
    switch (kind) {
    case TOKEN_NOT:
    case TOKEN_COMPLEMENT: return true;
    case TOKEN_INCREMENT:
    case TOKEN_DECREMENT: return !ends_operand(walk->before);
    case TOKEN_MUL: /* also the * of a type: struct x * */
        return !ends_operand(walk->before) || next == TOKEN_PAREN_CLOSE || walk->before_is_prefix;
    case TOKEN_SUB:
    case TOKEN_AND: return !ends_operand(walk->before);
    default: return false;
    }
}

static bool wants_space(const struct walk *walk, enum token_kind kind, bool prefix, enum token_kind next)
{
    enum token_kind before = walk->before;
    /* A blank keeps - -x from becoming --x. */
    if (walk->before_is_prefix && (before == kind || (before == TOKEN_SUB && kind == TOKEN_DECREMENT)))
        return before == TOKEN_SUB || before == TOKEN_AND;
    if (before == TOKEN_END || before == TOKEN_PAREN_OPEN || before == TOKEN_BRACKET_OPEN ||
        before == TOKEN_DOT || before == TOKEN_ARROW || before == TOKEN_RANGE || walk->before_is_prefix)
        return false;
    if (before == TOKEN_QUESTION && kind == TOKEN_COLON)
        return false;
    if (kind == TOKEN_MUL && next == TOKEN_PAREN_CLOSE) /* (struct x *) */
        return before != TOKEN_MUL;
    switch (kind) {
    case TOKEN_PREDICATE_END:
    case TOKEN_PAREN_CLOSE:
    case TOKEN_BRACKET_OPEN:
    case TOKEN_BRACKET_CLOSE:
    case TOKEN_SEMICOLON:
    case TOKEN_COMMA:
    case TOKEN_DOT:
    case TOKEN_ARROW:
    case TOKEN_RANGE: return false;
    case TOKEN_INCREMENT:
    case TOKEN_DECREMENT: return prefix;
    case TOKEN_PAREN_OPEN: /* begins the arguments of a call, or follows a cast */
        return before != TOKEN_NAME && before != TOKEN_SIZEOF && before != TOKEN_OFFSETOF &&
               before != TOKEN_TYPEOF && before != TOKEN_TYPEINFO && before != TOKEN_PAREN_CLOSE;
    case TOKEN_BRACE_OPEN: return true;
    default: break;
    }
    /* There is no blank between a cast and its operand. */
    if (before == TOKEN_PAREN_CLOSE && !is_binary(kind) && kind != TOKEN_BRACE_OPEN &&
        kind < TOKEN_BRACE_OPEN)
        return false;
    return true;
}

/* Writes all tokens from `begin` to `end`. Statements end with ; in blocks that are not values. */
static void put_tokens(struct layout *layout, uint32_t begin, uint32_t end, bool in_predicate)
{
    struct lexer lexer = {.source = layout->source, .position = begin};
    struct walk walk = {.before = TOKEN_END};
    uint32_t gap = begin, *opened = NULL;
    size_t open_count = 0, open_room = 0;
    unsigned brackets = 0; /* how many are open inside of the innermost brace */
    lexer.in_predicate = in_predicate;
    for (;;) {
        struct token token = lexer_next(&lexer);
        if (token.kind == TOKEN_END || token.span.begin >= end)
            break;
        struct lexer ahead = lexer;
        enum token_kind next = lexer_next(&ahead).kind;
        bool has_comment = false;
        if (token.kind == TOKEN_BRACE_CLOSE && open_count) {
            /* The ; goes before comments that follow the statement. */
            bool is_whole = walk.before == TOKEN_SEMICOLON || walk.before == TOKEN_BRACE_OPEN ||
                            (walk.before == TOKEN_BRACE_CLOSE && layout->at_line_start);
            if (!is_whole && !is_value(layout, opened[open_count - 1]) && !brackets)
                text_char(layout->out, ';');
        }
        has_comment = put_gap(layout, gap, token.span.begin);
        gap = token.span.end;
        bool prefix = is_prefix(&walk, token.kind, next);
        if (token.kind == TOKEN_BRACE_CLOSE) {
            line_end(layout);
            layout->is_empty_wanted = false;
            layout->depth -= layout->depth > 0;
            if (open_count)
                brackets = 0, open_count--;
        } else if (token.kind == TOKEN_SEMICOLON && layout->at_line_start) {
            continue; /* an empty statement */
        }
        if (token.kind == TOKEN_ELSE && walk.before == TOKEN_BRACE_CLOSE && layout->at_line_start &&
            !has_comment && layout->out->length) {
            layout->out->length--; /* `else` goes to the line of the brace */
            layout->at_line_start = layout->is_empty_wanted = false;
            text_char(layout->out, ' ');
        } else if (!layout->at_line_start && wants_space(&walk, token.kind, prefix, next))
            text_char(layout->out, ' ');
        put(layout, token.span.begin, token.span.end);
        brackets += token.kind == TOKEN_PAREN_OPEN || token.kind == TOKEN_BRACKET_OPEN;
        if ((token.kind == TOKEN_PAREN_CLOSE || token.kind == TOKEN_BRACKET_CLOSE) && brackets)
            brackets--;
        if (token.kind == TOKEN_BRACE_OPEN) {
            *arena_push(layout->arena, opened, open_count, open_room) = token.span.begin;
            layout->depth++;
            brackets = 0;
            line_end(layout);
        } else if (token.kind == TOKEN_SEMICOLON) {
            line_end(layout);
        } else if (token.kind == TOKEN_BRACE_CLOSE &&
                   !(is_binary(next) || next == TOKEN_SEMICOLON || next == TOKEN_COMMA ||
                     next == TOKEN_PAREN_CLOSE || next == TOKEN_BRACKET_CLOSE || next == TOKEN_DOT)) {
            line_end(layout);
        }
        walk.before = token.kind;
        walk.before_is_prefix = prefix;
    }
}

/* ---- what a script is made of ---- */

static void put_block(struct layout *layout, const struct action_block *block)
{
    for (const struct attach_point *point = block->attach_points; point; point = point->next) {
        if (layout->at_line_start && layout->source->text[point->span.begin] == '#') {
            line_begin(layout); /* At the beginning of a line, # would begin no probe. */
            text_char(layout->out, ',');
        }
        put(layout, point->span.begin, point->span.end);
        if (point->next) {
            uint32_t gap = point->span.end, stop = point->next->span.begin;
            text_char(layout->out, ',');
            line_end(layout);
            put_gap(layout, gap, stop);
        }
    }
    uint32_t body = block->body->span.begin, from = block->attach_points->span.end;
    for (const struct attach_point *point = block->attach_points; point; point = point->next)
        from = point->span.end;
    if (block->predicate) {
        struct lexer lexer = {.source = layout->source, .position = from};
        line_end(layout);
        /* First the comments before the predicate, then the predicate itself. */
        while (lexer.position < body && strchr(" \t\r\n,", layout->source->text[lexer.position]))
            lexer.position++;
        lexer_skip_blanks(&lexer);
        put_gap(layout, from, lexer.position);
        line_begin(layout);
        text_char(layout->out, '/');
        put_tokens(layout, lexer.position + 1, body, true);
        from = body;
    }
    line_end(layout);
    put_gap(layout, from, body);
    line_end(layout);
    put_tokens(layout, body, block->body->span.end, false);
}

/* Returns the block that begins at a position, or NULL. Must be called with positions that never get smaller. */
static const struct action_block *block_at(struct layout *layout, uint32_t position)
{
    while (layout->block && layout->block->attach_points->span.begin < position)
        layout->block = layout->block->next;
    return layout->block && layout->block->attach_points->span.begin == position ? layout->block : NULL;
}

/* Returns where a form ends that begins with the word at `begin`: behind the brace that closes it, or behind its
 * semicolon. */
static uint32_t form_end(const struct layout *layout, uint32_t begin)
{
    struct lexer lexer = {.source = layout->source, .position = begin};
    struct token word = lexer_next(&lexer);
    unsigned depth = 0;
    /* the parenthesis closes `let @m = hash(1)` */
    enum token_kind last = word.kind == TOKEN_LET ? TOKEN_PAREN_CLOSE
                           : word.span.end - begin == 6 && !memcmp(layout->source->text + begin, "import", 6)
                               ? TOKEN_STRING
                               : TOKEN_END;
    for (;;) {
        struct token token = lexer_next(&lexer);
        if (token.kind == last && last != TOKEN_END) { /* the semicolon belongs to the form */
            struct lexer ahead = lexer;
            struct token next = lexer_next(&ahead);
            return next.kind == TOKEN_SEMICOLON ? next.span.end : token.span.end;
        }
        if (token.kind == TOKEN_END)
            return (uint32_t)layout->source->length;
        if (token.kind == TOKEN_SEMICOLON && !depth)
            return token.span.end;
        depth += token.kind == TOKEN_BRACE_OPEN;
        if (token.kind == TOKEN_BRACE_CLOSE && (!depth || !--depth))
            return token.span.end;
    }
}

/* Returns where the definition of C or the line of the preprocessor ends that begins at `at`, which stays as it is;
 * `at` itself if none begins there. */
static uint32_t c_end(const struct layout *layout, uint32_t at)
{
    const struct script *script = layout->script;
    const size_t first = partition_point(script->c_piece_count, i, script->c_pieces[i].begin < at);
    if (first == script->c_piece_count || script->c_pieces[first].begin != at)
        return at;
    uint32_t end = script->c_pieces[first].end;
    while (end > at + 1 && strchr(" \t\r\n", layout->source->text[end - 1]))
        end--;
    return end;
}

static void put_script(struct layout *layout)
{
    uint32_t at = 0, length = (uint32_t)layout->source->length;
    while (at < length) {
        struct lexer lexer = {.source = layout->source, .position = at};
        lexer_skip_blanks(&lexer);
        uint32_t begin = lexer.position;
        put_gap(layout, at, begin);
        line_end(layout);
        if (begin >= length)
            break;
        const struct action_block *block = block_at(layout, begin);
        uint32_t c = block ? begin : c_end(layout, begin);
        if (block) {
            put_block(layout, block);
            at = block->body->span.end;
        } else if (c > begin) {
            put(layout, begin, c);
            at = c;
        } else if (layout->source->text[begin] == ';' || layout->source->text[begin] == ',') {
            at = begin + 1;
        } else {
            at = form_end(layout, begin);
            /* In name=probe the block begins behind the =. */
            const char *equals = memchr(layout->source->text + begin, '=', at - begin);
            lexer.position = equals ? (uint32_t)(equals + 1 - layout->source->text) : 0;
            uint32_t named = lexer.position;
            lexer_skip_blanks(&lexer);
            uint32_t behind = lexer.position;
            block = equals ? block_at(layout, behind) : NULL;
            if (block) {
                put(layout, begin, named);
                put_gap(layout, named, behind);
                put_block(layout, block);
                at = block->body->span.end;
            } else
                put_tokens(layout, begin, at, false);
        }
        line_end(layout);
    }
    line_end(layout);
}

bool script_layout(struct text *out, struct arena *arena, struct diagnostics *diagnostics,
                   const struct source *source, const struct parameters *parameters)
{
    size_t errors = diagnostics->errors;
    struct layout layout = {.out = out, .arena = arena, .source = source, .at_line_start = true};
    /* Headers are not read: what they define changes no layout. */
    const struct c_options options = {.arena = arena, .diagnostics = diagnostics};
    struct c_definitions *definitions = c_open(&options);
    struct script *script = script_parse_with(arena, diagnostics, source, parameters, definitions);
    c_close(definitions);
    if (diagnostics->errors > errors)
        return false;
    layout.script = script;
    layout.block = script->blocks;
    for (struct action_block *block = script->blocks; block; block = block->next) {
        node_walk(block->predicate, collect_values, &layout);
        node_walk(block->body, collect_values, &layout);
    }
    for (struct macro *macro = script->macros; macro; macro = macro->next)
        node_walk(macro->body, collect_values, &layout);
    for (struct subprogram *subprogram = script->subprograms; subprogram; subprogram = subprogram->next)
        node_walk(subprogram->body, collect_values, &layout);
    if (layout.value_count)
        qsort(layout.values, layout.value_count, sizeof *layout.values, by_position);
    put_script(&layout);
    return true;
}
