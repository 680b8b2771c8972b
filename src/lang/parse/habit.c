/* SPDX-License-Identifier: BSD-3-Clause */
/* What those write who know other languages: hints and fixes behind a syntax error. Nothing here is looked at
 * in a script that is right. */
#include <string.h>

#include "lang/parse/parser.h"

static const char loops[] = "loops are written for ($i : 0..10) { ... } and for ($kv : @map) { ... }";
static const char types[] = "a variable gets its type from its first value: $x = 1; or let $x : int32 = 1;";

static const struct habit {
    const char *word;
    const char *instead; /* what is put in its place; NULL: that is not all */
    const char *hint;
    bool is_first; /* only where a statement or a call begins */
} habits[] = {
    {"and", "&&", "'and' is written &&", false},
    {"or", "||", "'or' is written ||", false},
    {"not", "!", "'not' is written !", false},
    {"is", "==", "a comparison is written ==", false},
    {"in", ":", loops, false},
    {"foreach", "for", loops, true},
    {"elif", "else if", "'elif' is written else if", true},
    {"elsif", "else if", "'elsif' is written else if", true},
    {"elseif", "else if", "'elseif' is written else if", true},
    {"switch", NULL, "there is no switch: if (...) { ... } else if (...) { ... }", true},
    {"do", NULL, loops, true},
    {"var", "let", types, true},
    {"auto", "let", types, true},
    {"const", "let", types, true},
    {"local", "let", types, true},
    {"int", "let", types, true},
    {"unsigned", "let", types, true},
    {"long", "let", types, true},
    {"short", "let", types, true},
    {"char", "let", types, true},
    {"bool", "let", types, true},
    {"u64", "let", types, true},
    {"u32", "let", types, true},
    {"uint64", "let", types, true},
    {"uint32", "let", types, true},
    {"int64", "let", types, true},
    {"int32", "let", types, true},
    {"string", "let", types, true},
};

static const struct habit *habit_at(const struct parser *parser, struct span span, bool is_first)
{
    for (size_t i = 0; span.source && i < sizeof habits / sizeof *habits; i++)
        if (span.end - span.begin == strlen(habits[i].word) &&
            source_has_name(span.source, span.begin, habits[i].word) && span.source == parser->source &&
            habits[i].is_first == is_first)
            return &habits[i];
    return NULL;
}

bool parser_hint_habit(struct parser *parser, struct span span, bool is_first)
{
    const struct habit *habit = parser->hint_wanted ? habit_at(parser, span, is_first) : NULL;
    if (!habit)
        return false;
    parser_hint(parser, habit->hint);
    if (habit->instead)
        diagnose_fix(parser->diagnostics, span, habit->instead);
    parser->hint_wanted = false; /* nothing else explains it better */
    return true;
}

void parser_hint_comparison(struct parser *parser, struct span assignment)
{
    if (!parser->hint_wanted || !source_has_name(assignment.source, assignment.begin, "="))
        return;
    parser_hint(parser, "a comparison is written ==");
    diagnose_fix(parser->diagnostics, assignment, "==");
    parser->hint_wanted = false;
}

void parser_hint_call(struct parser *parser, const char *name)
{
    if (!parser->hint_wanted)
        return;
    diagnose_hint(parser->diagnostics, "a call has parentheses: %s(...)", name);
    parser->hint_wanted = false;
}

void parser_fix_character(struct parser *parser, const struct token *token)
{
    const struct source *source = token->span.source;
    const uint32_t begin = token->span.begin;
    if (!parser->hint_wanted || source != parser->source)
        return;
    if (source->text[begin] == '#')
        diagnose_fix(parser->diagnostics, token->span, "//");
    const uint32_t length = (uint32_t)strcspn(source->text + begin + 1, "'\"\n");
    if (source->text[begin] != '\'' || source->text[begin + 1 + length] != '\'')
        return;
    diagnose_fix(parser->diagnostics, (struct span){source, begin, begin + length + 2},
                 arena_printf(parser->arena, "\"%.*s\"", (int)length, source->text + begin + 1));
}
