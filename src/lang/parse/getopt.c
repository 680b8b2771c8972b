/* SPDX-License-Identifier: BSD-3-Clause */
/* getopt("name" [, default [, "description"]]): parameters by name. Before the script is checked, each call becomes
 * the constant that the command line gave, or its default. An option that no call reads is an error, and so is a
 * positional parameter of a tool that reads none. */
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/table.h"
#include "lang/parse/parse.h"

struct options {
    struct arena *arena;
    struct diagnostics *diagnostics;
    const struct parameters *parameters;
    struct table seen;
    struct text names, lines; /* names: "--a, --b"; lines: the same options with their descriptions */
};

/* Returns the text behind the = of --name=value, "true" for --name alone, NULL if it was not given. The last one
 * counts. */
static const char *given(const struct parameters *parameters, const char *name)
{
    const char *value = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; parameters && i < parameters->named_count; i++) {
        const char *text = parameters->named[i] + 2;
        if (strncmp(text, name, length) != 0 || (text[length] && text[length] != '='))
            continue;
        value = text[length] ? text + length + 1 : "true";
    }
    return value;
}

static void wrong_value(struct options *options, const char *name, const char *what, const char *value)
{
    diagnose_error(options->diagnostics, (struct span){0},
                   "program command line option --%s invalid %s (value: %s)", name, what, value);
}

static void become_bool(struct options *options, struct node *node, const char *name, const char *value)
{
    static const char *const words[] = {"false", "true", "0", "1"};
    for (unsigned i = 0; i < 4; i++)
        if (!strcasecmp(value, words[i])) {
            node->kind = NODE_BOOL;
            memset(&node->integer, 0, sizeof node->integer);
            node->integer.value = i % 2;
            return;
        }
    wrong_value(options, name, "boolean", value);
}

/* The type is int64 for every value that fits one; that of a literal would depend on what was given. */
static void become_integer(struct options *options, struct node *node, const char *name, const char *value)
{
    struct node *number = node_new(options->arena, NODE_INTEGER, node->span);
    bool is_unsigned;
    if (signed_literal_parse(value, &number->integer.value, &is_unsigned) != LITERAL_FITS) {
        wrong_value(options, name, "integer", value);
        return;
    }
    number->integer.is_unsigned = is_unsigned;
    node->kind = NODE_CAST;
    memset(&node->cast, 0, sizeof node->cast);
    node->cast.name = (struct type_name){.name = is_unsigned ? "uint64" : "int64", .span = node->span};
    node->cast.operand = number;
}

static void become_string(struct options *options, struct node *node, const char *value)
{
    node->kind = NODE_STRING;
    node->string.text = arena_strdup(options->arena, value);
    node->string.length = strlen(value);
}

static bool is_literal_integer(const struct node *node, int64_t *value)
{
    bool is_negative = node->kind == NODE_UNARY && node->unary.op == OPERATOR_NEGATE;
    const struct node *number = is_negative ? node->unary.operand : node;
    *value = (int64_t)(is_negative ? 0 - number->integer.value : number->integer.value);
    return number->kind == NODE_INTEGER;
}

static void remember(struct options *options, const char *name, const char *description)
{
    if (table_find(&options->seen, name) || table_put(&options->seen, name, (void *)name))
        return;
    text_printf(&options->names, "%s--%s", options->names.length ? ", " : "", name);
    text_printf(&options->lines, "\n--%s%s%s", name, description ? ": " : "", description ? description : "");
}

static bool replace(struct node *node, void *state)
{
    struct options *options = state;
    if (node->kind != NODE_CALL || strcmp(node->call.name, "getopt") != 0)
        return true;
    const struct node *first = node->call.arguments.first, *fallback = first ? first->next : NULL;
    const struct node *description = fallback ? fallback->next : NULL;
    int64_t number = 0;
    const char *wrong = NULL;
    if (node->call.arguments.count < 1 || node->call.arguments.count > 3)
        wrong = "getopt() requires 1 to 3 arguments";
    else if (first->kind != NODE_STRING || !first->string.length)
        wrong = "First argument to 'getopt' must be a string literal.";
    else if (fallback && fallback->kind != NODE_STRING && fallback->kind != NODE_BOOL &&
             !is_literal_integer(fallback, &number))
        wrong =
            "Second argument to 'getopt' must be a string literal, integer literal, or a boolean literal.";
    else if (description && description->kind != NODE_STRING)
        wrong = "Third argument to 'getopt' must be a string literal.";
    if (wrong) {
        diagnose_error(options->diagnostics, node->span, "%s", wrong);
        diagnose_hint(options->diagnostics, "getopt(\"name\" [, default [, \"description\"]])");
        return false;
    }
    const char *name = first->string.text, *value = given(options->parameters, name);
    remember(options, name, description ? description->string.text : NULL);
    if (!fallback || fallback->kind == NODE_BOOL) {
        bool is_set = fallback && fallback->integer.value;
        become_bool(options, node, name, value ? value : is_set ? "true" : "false");
    } else if (fallback->kind == NODE_STRING) {
        become_string(options, node, value ? value : fallback->string.text);
    } else {
        struct text text = {0};
        text_printf(&text, "%lld", (long long)number);
        become_integer(options, node, name, value ? value : text_string(&text));
        text_free(&text);
    }
    return false;
}

static void refuse_unknown(struct options *options)
{
    const struct parameters *parameters = options->parameters;
    struct text unknown = {0};
    bool wants_help = false;
    for (size_t i = 0; parameters && i < parameters->named_count; i++) {
        const char *text = parameters->named[i] + 2;
        const char *name = arena_copy(options->arena, text, strcspn(text, "="));
        if (table_find(&options->seen, name))
            continue;
        if (!strcmp(name, "help"))
            wants_help = true;
        else
            text_printf(&unknown, "%s--%s", unknown.length ? ", " : "", name);
    }
    if (unknown.length)
        diagnose_error(options->diagnostics, (struct span){0}, "unexpected program command line options: %s",
                       text_string(&unknown));
    else if (wants_help)
        diagnose_error(options->diagnostics, (struct span){0}, "%s", ""); /* the hint is all */
    if (unknown.length || wants_help) {
        if (!options->names.length)
            diagnose_hint(options->diagnostics, "no custom program options defined.");
        else if (wants_help) {
            struct text lines = {0};
            text_printf(&lines, "expected program options:%s", text_string(&options->lines));
            diagnose_hint_lines(options->diagnostics, &lines);
        } else
            diagnose_hint(options->diagnostics, "expected program options: %s", text_string(&options->names));
    }
    text_free(&unknown);
}

/* Of a tool that is run by its name, a parameter that it does not look at is a mistake: what was meant would be
 * missing without a word. */
static void refuse_unused(struct diagnostics *diagnostics, const struct script *script,
                          const struct parameters *parameters)
{
    if (!parameters || !parameters->tool || !parameters->count || script->takes_parameters)
        return;
    const char *first = parameters->values[0];
    diagnose_error(diagnostics, (struct span){0}, "%s takes no parameters, but '%s' is given",
                   parameters->tool, first);
    if (*first && strspn(first, "0123456789") == strlen(first))
        diagnose_hint(diagnostics, "--duration %ss ends it after so many seconds", first);
    else
        diagnose_hint(diagnostics, "spoor help %s lists what it takes", parameters->tool);
}

void script_take_options(struct arena *arena, struct diagnostics *diagnostics, struct script *script,
                         const struct parameters *parameters)
{
    struct options options = {.arena = arena, .diagnostics = diagnostics, .parameters = parameters};
    for (struct action_block *block = script->blocks; block; block = block->next) {
        node_walk(block->predicate, replace, &options);
        node_walk(block->body, replace, &options);
    }
    for (struct subprogram *subprogram = script->subprograms; subprogram; subprogram = subprogram->next)
        node_walk(subprogram->body, replace, &options);
    refuse_unknown(&options);
    refuse_unused(diagnostics, script, parameters);
    table_free(&options.seen);
    text_free(&options.names);
    text_free(&options.lines);
}
