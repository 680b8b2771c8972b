/* SPDX-License-Identifier: BSD-3-Clause */
/* The answers to an editor's questions about a script, as the JSON of the protocol. What needs a flag when the script
 * runs, such as --unsafe, is right here: nobody runs it yet. */
#include <string.h>

#include "builtin/all.h"
#include "cmd/command.h"
#include "cmd/complete.h"
#include "cmd/lsp.h"
#include "lang/lexer.h"
#include "print/json.h"

/* ---- places ---- */

static void put_position(struct text *out, const char *name, const struct source *source, uint32_t offset,
                         bool is_utf8)
{
    const struct lsp_position position = lsp_position(source->text, source->length, offset, is_utf8);
    text_printf(out, "\"%s\": {\"line\": %llu, \"character\": %llu}", name, (unsigned long long)position.line,
                (unsigned long long)position.character);
}

static void put_range(struct text *out, struct span span, bool is_utf8)
{
    text_add(out, "\"range\": {");
    put_position(out, "start", span.source, span.begin, is_utf8);
    text_add(out, ", ");
    put_position(out, "end", span.source, span.end, is_utf8);
    text_char(out, '}');
}

static struct source source_of(const struct lsp_document *document)
{
    return (struct source){document->name, text_string(&document->text), document->text.length};
}

/* Whether a span is in the document, also within a copy of it that an expansion has made. */
static bool is_in(struct span span, const struct source *source)
{
    return span.source && span.source->text == source->text;
}

/* Returns the span in the document that a diagnostic is about. What is in another file is where the document uses it, and
 * what is nowhere at the beginning. */
static struct span place_of(const struct diagnostic *diagnostic, const struct source *source)
{
    if (is_in(diagnostic->span, source))
        return (struct span){source, diagnostic->span.begin, diagnostic->span.end};
    for (const struct diagnostic_context *at = diagnostic->contexts; at; at = at->next)
        if (is_in(at->span, source))
            return (struct span){source, at->span.begin, at->span.end};
    return (struct span){source, 0, 0};
}

/* ---- diagnostics ---- */

static int compile(const struct lsp_question *question, const struct source *source, struct session **session)
{
    struct session_options *options = &question->options->session;
    options->check_only = options->is_unsafe = options->is_quiet = true;
    return command_compile(question->options, source, session);
}

static void put_related(struct text *out, const struct lsp_question *question, struct span span,
                        const char *message)
{
    if (!span.source)
        return;
    text_add(out, out->bytes[out->length - 1] == '[' ? "{\"location\": {\"uri\": "
                                                     : ", {\"location\": {\"uri\": ");
    struct text uri = {0};
    if (span.source->text == text_string(&question->document->text))
        text_add(&uri, question->document->uri);
    else
        lsp_uri(&uri, span.source->name);
    json_string(out, text_string(&uri));
    text_free(&uri);
    text_add(out, ", ");
    put_range(out, span, question->is_utf8);
    text_add(out, "}, \"message\": ");
    json_string(out, message);
    text_char(out, '}');
}

static void put_diagnostic(struct text *out, const struct lsp_question *question,
                           const struct diagnostic *diagnostic, const struct source *source)
{
    struct text message = {0};
    text_add(&message, diagnostic->message);
    if (diagnostic->hint)
        text_printf(&message, "%s%s", message.length ? "\n" : "", diagnostic->hint);
    text_char(out, '{');
    put_range(out, place_of(diagnostic, source), question->is_utf8);
    text_printf(out, ", \"severity\": %d, \"source\": \"spoor\", \"message\": ",
                diagnostic->severity == DIAGNOSTIC_ERROR ? 1 : 2);
    json_string(out, text_string(&message));
    text_add(out, ", \"relatedInformation\": [");
    if (!is_in(diagnostic->span, source))
        put_related(out, question, diagnostic->span, diagnostic->message);
    for (const struct diagnostic_context *at = diagnostic->contexts; at; at = at->next)
        put_related(out, question, at->span, at->message);
    text_add(out, "]}");
    text_free(&message);
}

static void begin_diagnostics(const struct lsp_document *document, struct text *out)
{
    text_add(out, "{\"uri\": ");
    json_string(out, document->uri);
    if (document->version.length)
        text_printf(out, ", \"version\": %s", text_string(&document->version));
    text_add(out, ", \"diagnostics\": [");
}

void lsp_diagnose_whole(const struct lsp_document *document, const char *message, struct text *out)
{
    begin_diagnostics(document, out);
    if (message) {
        text_add(out, "{\"range\": {\"start\": {\"line\": 0, \"character\": 0}, \"end\": {\"line\": 0, "
                      "\"character\": 0}}, "
                      "\"severity\": 2, \"source\": \"spoor\", \"message\": ");
        json_string(out, message);
        text_char(out, '}');
    }
    text_add(out, "]}");
}

void lsp_diagnose(const struct lsp_question *question, struct text *out)
{
    const struct source source = source_of(question->document);
    struct session *session;
    if (compile(question, &source, &session) && !session) {
        out->failed = true;
        return;
    }
    const struct diagnostics *said = session_diagnostics(session);
    begin_diagnostics(question->document, out);
    for (size_t i = 0; i < said->count; i++) {
        text_add(out, i ? ", " : "");
        put_diagnostic(out, question, &said->items[i], &source);
    }
    text_add(out, "]}");
}

/* ---- fixes ---- */

static void put_fix(struct text *out, const struct lsp_question *question,
                    const struct diagnostic *diagnostic, const struct source *source)
{
    const struct diagnostic_fix *fix = diagnostic->fix;
    const int length = (int)(fix->span.end - fix->span.begin);
    struct text title = {0};
    if (length)
        text_printf(&title, "Replace '%.*s' with '%s'", length, source->text + fix->span.begin, fix->text);
    else
        text_printf(&title, "Insert '%s'", fix->text + strspn(fix->text, " "));
    text_add(out, "{\"title\": ");
    json_string(out, text_string(&title));
    text_add(out, ", \"kind\": \"quickfix\", \"isPreferred\": true, \"diagnostics\": [");
    put_diagnostic(out, question, diagnostic, source);
    text_add(out, "], \"edit\": {\"changes\": {");
    json_string(out, question->document->uri);
    text_add(out, ": [{");
    put_range(out, fix->span, question->is_utf8);
    text_add(out, ", \"newText\": ");
    json_string(out, fix->text);
    text_add(out, "}]}}}");
    text_free(&title);
}

void lsp_fix(const struct lsp_question *question, struct text *out)
{
    const struct source source = source_of(question->document);
    const size_t begin = lsp_offset(source.text, source.length, question->range.start, question->is_utf8);
    const size_t end = lsp_offset(source.text, source.length, question->range.end, question->is_utf8);
    struct session *session;
    compile(question, &source, &session);
    const struct diagnostics *said = session ? session_diagnostics(session) : &(struct diagnostics){0};
    text_char(out, '[');
    for (size_t i = 0; i < said->count; i++) {
        const struct diagnostic *item = &said->items[i];
        if (!item->fix || !is_in(item->fix->span, &source))
            continue;
        const struct span place = place_of(item, &source);
        if (place.begin > end || place.end < begin)
            continue;
        text_add(out, out->length > 1 ? ", " : "");
        put_fix(out, question, item, &source);
    }
    text_char(out, ']');
}

/* ---- completion ---- */

enum { ITEMS_MAX = 2000 };

struct offering {
    struct candidates candidates; /* the first member */
    const struct source *source;
    struct text *out;
    size_t offset, count;
    bool is_utf8;
};

static void take_candidate(struct candidates *candidates, const char *name, const char *what)
{
    static const int kinds[] = {[CANDIDATE_WORD] = 14, /* what the protocol calls a keyword, an event, … */
                                [CANDIDATE_PROBE] = 23,
                                [CANDIDATE_FIELD] = 5,
                                [CANDIDATE_BUILTIN] = 3,
                                [CANDIDATE_NAME] = 6};
    struct offering *offering = (struct offering *)candidates;
    struct text *out = offering->out;
    const struct span span = {offering->source, (uint32_t)candidates->kept, (uint32_t)offering->offset};
    if (offering->count++ >= ITEMS_MAX)
        return;
    text_add(out, offering->count > 1 ? ", {\"label\": " : "{\"label\": ");
    json_string(out, name);
    text_printf(out, ", \"kind\": %d", kinds[candidates->kind]);
    if (what) {
        text_add(out, ", \"detail\": ");
        json_string(out, what);
    }
    text_add(out, ", \"textEdit\": {");
    put_range(out, span, offering->is_utf8);
    text_add(out, ", \"newText\": ");
    json_string(out, name);
    text_add(out, "}}");
}

void lsp_complete(const struct lsp_question *question, struct text *out)
{
    const struct source source = source_of(question->document);
    struct offering offering = {.source = &source, .out = out, .is_utf8 = question->is_utf8};
    struct text before = {0};
    offering.offset = lsp_offset(source.text, source.length, question->range.start, question->is_utf8);
    text_append(&before, source.text, offering.offset);
    offering.candidates.word = text_string(&before);
    offering.candidates.take = take_candidate;
    text_add(out, "{\"items\": [");
    if (strlen(offering.candidates.word) == offering.offset) /* a script holds no NUL */
        complete_script(&offering.candidates);
    text_printf(out, "], \"isIncomplete\": %s}", offering.count > ITEMS_MAX ? "true" : "false");
    text_free(&before);
}

/* ---- hover ---- */

enum { PROBES_SHOWN = 5 };

struct listing {
    struct text *out;
    size_t count;
};

static int list_probe(void *state, const char *name, const char *details)
{
    struct listing *listing = state;
    if (++listing->count > PROBES_SHOWN) {
        text_add(listing->out, "…\n");
        return 1;
    }
    text_printf(listing->out, "%s\n%s", name, details ? details : "");
    return 0;
}

/* Writes what `spoor -lv` says about an attach point. */
static void put_probe(struct text *out, struct arena *arena, const struct attach_point *point)
{
    struct diagnostics diagnostics = {.arena = arena};
    struct listing listing = {.out = out};
    command_each_probe(arena, &diagnostics, point->text, true, list_probe, &listing);
    if (!listing.count)
        text_printf(out, "%s\n", point->text);
}

static void put_builtin(struct text *out, const struct builtin *builtin)
{
    text_printf(out, "%s\n", builtin->synopsis ? builtin->synopsis : builtin->name);
}

/* Writes "@map[key]: value", as far as the types are known. */
static void put_map(struct text *out, struct arena *arena, const struct map_symbol *map)
{
    text_add(out, map->name);
    if (map->key)
        text_printf(out, "[%s]", type_text(arena, map->key));
    text_printf(out, ": %s\n", map->value ? type_text(arena, map->value) : "?");
}

static void put_type(struct text *out, struct arena *arena, const struct node *node,
                     const struct source *source)
{
    const uint32_t length = node->span.end - node->span.begin;
    const char *newline = memchr(source->text + node->span.begin, '\n', length);
    const int shown = (int)(newline ? newline - (source->text + node->span.begin) : length);
    text_printf(out, "%.*s: %s\n", shown, source->text + node->span.begin, type_text(arena, node->type));
}

/* Writes what is known about the word of a script that may be wrong elsewhere: a builtin. */
static void put_word(struct text *out, const struct source *source, size_t offset)
{
    size_t begin = offset, end = offset;
    struct text word = {0};
    while (begin && lexer_is_word(source->text[begin - 1]))
        begin--;
    while (end < source->length && lexer_is_word(source->text[end]))
        end++;
    text_append(&word, source->text + begin, end - begin);
    const bool is_name = begin && (source->text[begin - 1] == '@' || source->text[begin - 1] == '$');
    const struct builtin *builtin =
        word.length && !is_name ? builtin_find(&builtin_table, text_string(&word), NULL) : NULL;
    if (builtin)
        put_builtin(out, builtin);
    text_free(&word);
}

static void put_place(struct text *out, struct arena *arena, const struct session_place *place,
                      const struct source *source, size_t offset)
{
    const struct node *node = place->node;
    const struct builtin *builtin = !node                     ? NULL
                                    : node->kind == NODE_NAME ? node->name.builtin
                                    : node->kind == NODE_CALL ? node->call.builtin
                                                              : NULL;
    if (place->is_at_point || (place->point && builtin && builtin->flags & BUILTIN_USES_ARGS)) {
        put_probe(out, arena, place->point);
        return;
    }
    if (builtin)
        put_builtin(out, builtin);
    if (node && node->kind == NODE_MAP && node->map.symbol)
        put_map(out, arena, node->map.symbol);
    else if (node && node->type)
        put_type(out, arena, node, source);
    else
        put_word(out, source, offset);
}

void lsp_hover(const struct lsp_question *question, struct text *out)
{
    const struct source source = source_of(question->document);
    const size_t offset = lsp_offset(source.text, source.length, question->range.start, question->is_utf8);
    struct text shown = {0};
    struct arena arena = {0};
    jmp_buf out_of_memory;
    struct session *session;
    compile(question, &source, &session);
    if (!session || arena_guard(&arena, out_of_memory)) {
        out->failed = true;
        return;
    }
    const struct session_place place = session_find(session, (uint32_t)offset);
    put_place(&shown, &arena, &place, &source, offset);
    if (!shown.length) {
        text_add(out, "null");
        return;
    }
    struct text value = {0};
    text_printf(&value, "```\n%s```", text_string(&shown));
    text_add(out, "{\"contents\": {\"kind\": \"markdown\", \"value\": ");
    json_string(out, text_string(&value));
    text_add(out, "}}");
}
