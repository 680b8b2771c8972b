/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that begin with #, and the files that they open. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "lang/c/state.h"

/* ---- files ---- */

bool c_file_push(struct c_definitions *c, const char *name, const char *text, size_t length)
{
    if (c->include_depth >= C_INCLUDE_DEPTH || c->files_opened >= C_FILES_MAX ||
        c->bytes_read > C_BYTES_MAX || c->bytes_gone_through + length > C_BYTES_AGAIN_MAX ||
        length >= UINT32_MAX) {
        if (c->include_depth >= C_INCLUDE_DEPTH) {
            c_fail(c, "'%s' is not included: headers include each other too deeply", name);
            c_hint(c, "does a header without an include guard include itself?");
        } else {
            c_fail(c, "'%s' is not included: too many headers, or too large ones", name);
            c_hint(c,
                   "a script may include %d headers, and have %d MiB of them gone through; #pragma once or a "
                   "guard in a header counts it once",
                   C_FILES_MAX, C_BYTES_AGAIN_MAX >> 20);
        }
        return false;
    }
    c->include_depth++;
    c->files_opened++;
    c->bytes_gone_through += length;
    struct c_file *file = arena_new(c->arena, struct c_file);
    file->includer = c->file;
    file->source = (struct source){name, text, length};
    file->at_line_start = true;
    const char *slash = strrchr(name, '/');
    file->directory = slash ? arena_copy(c->arena, name, (size_t)(slash - name)) : NULL;
    c->file = file;
    return true;
}

void c_file_pop(struct c_definitions *c)
{
    if (c->file->conditions)
        c_fail(c, "Unterminated #if");
    c->file = c->file->includer;
    c->include_depth--;
}

static const char *const system_directories[] = {
    "/usr/local/include",
#ifdef __x86_64__
    "/usr/include/x86_64-linux-gnu",
#else
    "/usr/include/aarch64-linux-gnu",
#endif
    "/usr/include",
};

/* Returns in *directory the n-th directory in which headers are looked for; false: there are no more. "" is the
 * working directory. */
static bool search_directory(const struct c_definitions *c, size_t n, const char **directory)
{
    for (const char *const *given = c->options.directories; given && *given; given++)
        if (!n--)
            return *directory = *given, true;
    if (c->options.script_directory && !n--)
        return *directory = c->options.script_directory, true;
    if (n < sizeof system_directories / sizeof *system_directories)
        return *directory = system_directories[n], true;
    return false;
}

/* Returns the header at a path, which is read only once, because scripts and headers name the same ones again and
 * again. */
static struct c_header *header_at(struct c_definitions *c, const char *path)
{
    struct c_header *header = table_find(&c->headers, path);
    if (header)
        return header;
    header = arena_new(c->arena, struct c_header);
    header->path = arena_strdup(c->arena, path);
    header->error = -ENOENT;
    if (c->bytes_read > C_BYTES_MAX || c->headers.count >= C_PATHS_MAX)
        header->error = -E2BIG;
    else if (c->options.read)
        header->error = c->options.read(c->options.state, path, &header->text, &header->length);
    if (table_put(&c->headers, path, header))
        arena_give_up(c->arena);
    if (!header->error)
        c->bytes_read += header->length;
    return header;
}

/* Looks for a header in one directory, and pushes it. False: it cannot be read there; then *error says why, and
 * with -EPERM *reason does, too. */
static bool open_path(struct c_definitions *c, const char *directory, const char *name, size_t searched,
                      int *error, const char **reason)
{
    char path[PATH_MAX];
    size_t length = strlen(directory);
    const char *between = !length || directory[length - 1] == '/' ? "" : "/";
    if ((size_t)snprintf(path, sizeof path, "%s%s%s", directory, between, name) >= sizeof path)
        return *error = -ENAMETOOLONG, false;
    struct c_header *header = header_at(c, path);
    *error = header->error;
    if (header->error == -EPERM)
        *reason = header->text;
    if (header->error)
        return false;
    if (header->once || (header->guard && header->guard->macro))
        return true;
    if (c_file_push(c, header->path, header->text, header->length)) {
        c->file->searched = searched;
        c->file->header = header;
    }
    return true;
}

static const char *read_error(int error, const char *reason)
{
    return error == -EPERM && reason ? reason
           : error == -EINVAL        ? "it is no text file"
           : error == -E2BIG         ? "too many headers, or too large ones"
                                     : strerror(-error);
}

static void hint_trust(struct c_definitions *c)
{
    diagnose_hint(
        c->options.diagnostics,
        "what it says is done with your privileges: it, its directory and those above must be yours or "
        "root's, and nobody else may write there");
}

/* Reports a file that must not be trusted. Another user may have put it there for this one, so this is an error in
 * headers, too, and no other file is taken instead. */
static bool refuse_header(struct c_definitions *c, const char *name, const char *reason)
{
    diagnose_error(c->options.diagnostics, c->span, "'%s' cannot be read: %s", name,
                   read_error(-EPERM, reason));
    hint_trust(c);
    return false;
}

static bool open_embedded(struct c_definitions *c, const char *name)
{
    const char *text = c_embedded_header(name);
    return text && (c_file_push(c, arena_strdup(c->arena, name), text, strlen(text)), true);
}

/* Finds a header and pushes it. False after a diagnostic or a note. */
static bool find_header(struct c_definitions *c, const char *name, bool is_quoted, bool is_next)
{
    int error = -ENOENT, first = 0;
    const char *reason = NULL;
    if (!is_quoted && open_embedded(c, name))
        return true;
    if (name[0] == '/') {
        if (open_path(c, "", name, 0, &error, &reason))
            return true;
    } else {
        const char *own = c->file ? c->file->directory : NULL;
        if (own && !strcmp(own, "."))
            own = NULL;
        if (is_quoted && !is_next && open_path(c, !own ? "" : *own ? own : "/", name, 0, &error, &reason))
            return true;
        const char *directory;
        size_t n = is_next && c->file ? c->file->searched : 0;
        for (; error != -EPERM && search_directory(c, n, &directory); n++) {
            if (error != -ENOENT && !first)
                first = error;
            if (open_path(c, directory, name, n + 1, &error, &reason))
                return true;
        }
        if (error != -EPERM && open_embedded(c, name))
            return true;
    }
    if (error == -EPERM)
        return refuse_header(c, name, reason);
    error = first ? first : error;
    if (error == -ENOENT && c_is_kernel_header(name)) {
        if (!c->missing)
            c->missing = arena_strdup(c->arena, name);
        c_note_add(c, "<%s> is not on this machine: types of the kernel come from its BTF", name);
        return true;
    }
    if (error != -ENOENT) {
        c_fail(c, "'%s' cannot be read: %s", name, read_error(error, NULL));
        return false;
    }
    c_fail(c, "'%s' file not found", name);
    c_hint(
        c,
        "headers are looked for in the directories of -I and CPATH, beside the script, and in /usr/include");
    return false;
}

/* Pushes a header and, above it, what the kernel's own header of that name adds. That is read first, and leaves out
 * what is already defined. */
static bool open_header(struct c_definitions *c, const char *name, bool is_quoted, bool is_next)
{
    const char *supplement = is_quoted || is_next ? NULL : c_header_supplement(name);
    bool found = find_header(c, name, is_quoted, is_next);
    if (supplement)
        c_file_push(c, "<supplement>", supplement, strlen(supplement));
    return found;
}

void c_read_files(struct c_definitions *c, const struct c_file *down_to)
{
    struct c_file *floor = c->floor;
    while (c->file != down_to) {
        c->floor = c->file;
        while (c_peek(c)->kind != C_END)
            c_declare_external(c);
        c->has_peeked = false;
        c_file_pop(c);
    }
    c->floor = floor;
}

bool c_include(struct c_definitions *c, const char *path, struct span span)
{
    int error = -ENOENT;
    const char *reason = NULL;
    struct c_file *before = c->file;
    c->span = (struct span){0};
    if (!open_path(c, "", path, 0, &error, &reason)) {
        if (error != -ENOENT || path[0] == '/' || !open_header(c, path, false, false) || c->file == before) {
            diagnose_error(c->options.diagnostics, span, "%s '%s': %s",
                           span.source ? "cannot import" : "--include", path, read_error(error, reason));
            if (error == -EPERM)
                hint_trust(c);
            return false;
        }
    }
    c_read_files(c, before);
    return true;
}

/* ---- conditions ---- */

/* Skips the rest of the line, up to a comment that spans lines or to the end. */
static void skip_line(struct c_file *file)
{
    const char *text = file->source.text;
    size_t length = file->source.length, at = file->position;
    while (at < length && text[at] != '\n') {
        char ch = text[at];
        if (ch == '\\' && at + 1 < length)
            at += 2;
        else if (ch == '/' && at + 1 < length && text[at + 1] == '*') {
            const char *end = memmem(text + at + 2, length - at - 2, "*/", 2);
            at = end ? (size_t)(end - text) + 2 : length;
        } else if (ch == '/' && at + 1 < length && text[at + 1] == '/') {
            while (at < length && text[at] != '\n')
                at += text[at] == '\\' && at + 1 < length ? 2 : 1;
        } else if (ch == '"') {
            for (at++; at < length && text[at] != '"' && text[at] != '\n'; at++)
                at += text[at] == '\\' && at + 1 < length;
            at += at < length && text[at] == '"';
        } else if (ch == '\'' && at + 3 < length &&
                   (text[at + 2] == '\'' || (text[at + 1] == '\\' && text[at + 3] == '\'')))
            at += text[at + 2] == '\'' && text[at + 1] != '\\' ? 3 : 4;
        else
            at++;
    }
    file->position = (uint32_t)(at < length ? at : length);
}

static struct c_tokens rest_of_line(struct c_definitions *c)
{
    struct c_file *file = c->file;
    struct c_tokens tokens = {0};
    for (;;) {
        struct c_token token = c_lex(c, file->source.text, file->source.length, &file->position, true);
        if (token.kind == C_END || !c_spend(c, 1))
            return tokens;
        c_tokens_add(c, &tokens, token);
    }
}

static struct c_token number_token(bool value)
{
    return (struct c_token){.kind = C_NUMBER, .length = 1, .text = value ? "1" : "0", .has_blank = true};
}

static bool header_exists(struct c_definitions *c, const char *name)
{
    const char *directory;
    bool found = c_embedded_header(name) != NULL;
    for (size_t n = 0; !found && search_directory(c, n, &directory); n++) {
        const int error = header_at(c, arena_printf(c->arena, "%s/%s", directory, name))->error;
        found = !error || error == -EPERM; /* a file that must not be taken exists: #include reports it */
    }
    return found;
}

/* Replaces defined X, defined(X) and __has_include(<x>) by 0 or 1, then expands macros, and evaluates. */
static bool evaluate_condition(struct c_definitions *c)
{
    struct c_tokens line = rest_of_line(c), plain = {0};
    for (size_t i = 0; i < line.count; i++) {
        struct c_token *token = &line.items[i];
        bool has_open = i + 1 < line.count && c_is(&line.items[i + 1], "(");
        if (token->kind == C_NAME && token->symbol == c->defined) {
            size_t name = i + 1 + has_open;
            bool is_name = name < line.count && line.items[name].kind == C_NAME;
            c_tokens_add(c, &plain,
                         number_token(is_name && (line.items[name].symbol->macro ||
                                                  line.items[name].symbol == c->has_include)));
            i = name + (has_open && name + 1 < line.count);
        } else if (token->kind == C_NAME && token->symbol == c->has_include && has_open) {
            struct text text = {0};
            for (i += 2; i < line.count && !c_is(&line.items[i], ")"); i++)
                text_append(&text, line.items[i].text, line.items[i].length);
            if (text.length > 2) {
                const char *name = arena_copy(c->arena, text.bytes + 1, text.length - 2);
                c_tokens_add(c, &plain, number_token(header_exists(c, name)));
            } else
                c_tokens_add(c, &plain, number_token(false));
            text_free(&text);
        } else
            c_tokens_add(c, &plain, *token);
    }
    struct c_tokens expanded = c_expand_tokens(c, &plain);
    struct c_cursor cursor = {.c = c, .tokens = &expanded, .is_condition = true};
    struct c_value value = {0};
    if (c_evaluate(&cursor, &value) && cursor.next == expanded.count)
        return value.bits != 0;
    c_fail(c, "The condition cannot be evaluated: %s", cursor.error ? cursor.error : "something follows it");
    return false;
}

enum directive {
    DIRECTIVE_OTHER,
    DIRECTIVE_IF,
    DIRECTIVE_IFDEF,
    DIRECTIVE_IFNDEF,
    DIRECTIVE_ELIF,
    DIRECTIVE_ELIFDEF,
    DIRECTIVE_ELIFNDEF,
    DIRECTIVE_ELSE,
    DIRECTIVE_ENDIF,
    DIRECTIVE_DEFINE,
    DIRECTIVE_UNDEF,
    DIRECTIVE_INCLUDE,
    DIRECTIVE_INCLUDE_NEXT,
    DIRECTIVE_ERROR,
    DIRECTIVE_PRAGMA,
};
static const char *const directive_names[] = {
    [DIRECTIVE_IF] = "if",       [DIRECTIVE_IFDEF] = "ifdef",     [DIRECTIVE_IFNDEF] = "ifndef",
    [DIRECTIVE_ELIF] = "elif",   [DIRECTIVE_ELIFDEF] = "elifdef", [DIRECTIVE_ELIFNDEF] = "elifndef",
    [DIRECTIVE_ELSE] = "else",   [DIRECTIVE_ENDIF] = "endif",     [DIRECTIVE_DEFINE] = "define",
    [DIRECTIVE_UNDEF] = "undef", [DIRECTIVE_INCLUDE] = "include", [DIRECTIVE_INCLUDE_NEXT] = "include_next",
    [DIRECTIVE_ERROR] = "error", [DIRECTIVE_PRAGMA] = "pragma",
};

/* Reads the word behind a #. The file's position is at the #, and then behind the word. */
static enum directive directive_word(struct c_file *file)
{
    const char *text = file->source.text;
    size_t length = file->source.length;
    bool ignored;
    file->position++;
    c_skip_blanks(text, length, &file->position, true, &ignored);
    uint32_t begin = file->position, end = begin;
    while (end < length && lexer_is_word(text[end]))
        end++;
    file->position = end;
    for (size_t i = DIRECTIVE_IF; i <= DIRECTIVE_PRAGMA; i++)
        if (strlen(directive_names[i]) == end - begin &&
            !memcmp(directive_names[i], text + begin, end - begin))
            return (enum directive)i;
    return DIRECTIVE_OTHER;
}

static bool name_is_defined(struct c_definitions *c)
{
    struct c_tokens line = rest_of_line(c);
    return line.count && line.items[0].kind == C_NAME && line.items[0].symbol->macro;
}

/* Passes over a group of lines that is not taken: to the line behind the #else, #elif or #endif that ends it. */
static void skip_group(struct c_definitions *c)
{
    struct c_file *file = c->file;
    struct c_condition *condition = file->conditions;
    unsigned nested = 0;
    for (;;) {
        bool ignored;
        skip_line(file);
        c_skip_blanks(file->source.text, file->source.length, &file->position, false, &ignored);
        if (file->position >= file->source.length)
            return;
        if (file->source.text[file->position] != '#')
            continue;
        uint32_t begin = file->position;
        enum directive directive = directive_word(file);
        if (file->script)
            c->span = (struct span){file->script, begin, file->position};
        if (directive == DIRECTIVE_IF || directive == DIRECTIVE_IFDEF || directive == DIRECTIVE_IFNDEF)
            nested++;
        else if (directive == DIRECTIVE_ENDIF && nested)
            nested--;
        else if (directive == DIRECTIVE_ENDIF) {
            file->conditions = condition->outer;
            return;
        } else if (nested || directive > DIRECTIVE_ENDIF || directive == DIRECTIVE_OTHER)
            continue;
        else if (condition->had_else) {
            c_fail(c, "#%s after #else", directive_names[directive]);
        } else if (directive == DIRECTIVE_ELSE) {
            condition->had_else = true;
            if (!condition->was_taken) {
                condition->was_taken = true;
                return;
            }
        } else if (!condition->was_taken) {
            bool is_true = directive == DIRECTIVE_ELIF
                               ? evaluate_condition(c)
                               : name_is_defined(c) == (directive == DIRECTIVE_ELIFDEF);
            if (is_true) {
                condition->was_taken = true;
                return;
            }
        }
    }
}

static void begin_condition(struct c_definitions *c, uint32_t begin, bool is_true)
{
    struct c_condition *condition = arena_new(c->arena, struct c_condition);
    *condition = (struct c_condition){.outer = c->file->conditions, .begin = begin, .was_taken = is_true};
    c->file->conditions = condition;
    if (!is_true)
        skip_group(c);
}

/* ---- the other directives ---- */

/* parameters: '(' (name (',' name)* (',' '...')? | '...' | name '...')? ')' */
static bool define_parameters(struct c_definitions *c, const struct c_tokens *line, size_t *at,
                              struct c_macro *macro)
{
    macro->is_function = true;
    for (++*at; *at < line->count && !c_is(&line->items[*at], ")"); ++*at) {
        const struct c_token *token = &line->items[*at];
        if (c_is(token, "...")) {
            bool is_named = *at && line->items[*at - 1].kind == C_NAME && macro->parameter_count;
            macro->is_variadic = true;
            if (!is_named)
                *arena_push(c->arena, macro->parameters, macro->parameter_count, macro->parameter_room) =
                    c->va_args;
        } else if (token->kind == C_NAME)
            *arena_push(c->arena, macro->parameters, macro->parameter_count, macro->parameter_room) =
                token->symbol;
        else if (!c_is(token, ","))
            return false;
    }
    return (*at)++ < line->count && macro->parameter_count < 256;
}

static void define(struct c_definitions *c)
{
    struct c_tokens line = rest_of_line(c);
    size_t at = 1;
    if (!line.count || line.items[0].kind != C_NAME) {
        c_fail(c, "#define needs a name");
        return;
    }
    struct c_symbol *symbol = line.items[0].symbol;
    struct c_macro *macro = arena_new(c->arena, struct c_macro);
    if (line.count > 1 && c_is(&line.items[1], "(") && !line.items[1].has_blank &&
        !define_parameters(c, &line, &at, macro)) {
        c_fail(c, "The parameters of the macro '%s' are not understood", symbol->name);
        return;
    }
    for (; at < line.count; at++)
        c_tokens_add(c, &macro->body, line.items[at]);
    if (macro->body.count)
        macro->body.items[0].has_blank = false;
    if (symbol == c->defined || (symbol->macro && symbol->macro->is_busy))
        return;
    symbol->macro = macro;
}

static void undefine(struct c_definitions *c)
{
    struct c_tokens line = rest_of_line(c);
    if (line.count && line.items[0].kind == C_NAME && line.items[0].symbol->macro &&
        !line.items[0].symbol->macro->is_busy)
        line.items[0].symbol->macro = NULL;
}

/* "x", <x>, or macros that make one of them */
static void include(struct c_definitions *c, uint32_t begin, bool is_next)
{
    struct c_file *file = c->file;
    const char *text = file->source.text;
    bool ignored;
    c_skip_blanks(text, file->source.length, &file->position, true, &ignored);
    uint32_t open = file->position;
    struct text name = {0};
    if (open < file->source.length && (text[open] == '<' || text[open] == '"')) {
        char close = text[open] == '<' ? '>' : '"';
        uint32_t end = open + 1;
        while (end < file->source.length && text[end] != close && text[end] != '\n')
            end++;
        text_append(&name, text + open, end - open + (end < file->source.length && text[end] == close));
        file->position = end < file->source.length && text[end] == close ? end + 1 : end;
        if (file->script)
            c->span = (struct span){file->script, begin, file->position};
        rest_of_line(c);
    } else {
        struct c_tokens line = rest_of_line(c);
        struct c_tokens expanded = c_expand_tokens(c, &line);
        for (size_t i = 0; i < expanded.count; i++)
            text_append(&name, expanded.items[i].text, expanded.items[i].length);
        if (file->script)
            c->span = (struct span){file->script, begin, file->position};
    }
    bool is_quoted = name.length > 2 && name.bytes[0] == '"' && name.bytes[name.length - 1] == '"';
    bool is_system = name.length > 2 && name.bytes[0] == '<' && name.bytes[name.length - 1] == '>';
    if ((is_quoted || is_system) && name.length < 4096 && !memchr(name.bytes, 0, name.length)) {
        name.bytes[name.length - 1] = 0;
        open_header(c, name.bytes + 1, is_quoted, is_next);
    } else
        c_fail(c, "#include expects \"FILE\" or <FILE>");
    text_free(&name);
}

/* Reads the pragmas on which layouts depend, pack(push, N), pack(N), pack(pop), pack(), and once. */
static void pragma(struct c_definitions *c)
{
    struct c_tokens line = rest_of_line(c);
    if (line.count == 1 && line.items[0].kind == C_NAME && !strcmp(line.items[0].symbol->name, "once")) {
        if (c->file->header)
            c->file->header->once = true;
        return;
    }
    if (line.count < 3 || line.items[0].kind != C_NAME || strcmp(line.items[0].symbol->name, "pack"))
        return;
    enum { STACK = sizeof c->pack_stack / sizeof *c->pack_stack };
    uint64_t value = 0;
    bool pushes = false, pops = false;
    for (size_t i = 2; i < line.count; i++) {
        const struct c_token *token = &line.items[i];
        pushes |= token->kind == C_NAME && !strcmp(token->symbol->name, "push");
        pops |= token->kind == C_NAME && !strcmp(token->symbol->name, "pop");
        const char *at = token->text;
        if (token->kind == C_NUMBER)
            number_take(&at, at + token->length, 10, &value);
    }
    if (value & (value - 1) || value > 16)
        return;
    if (pops) {
        c->pack = c->pack_depth ? c->pack_stack[--c->pack_depth] : 0;
        return;
    }
    if (pushes && c->pack_depth < STACK)
        c->pack_stack[c->pack_depth++] = c->pack;
    if (!pushes || value)
        c->pack = value;
}

/* Whether nothing but blanks and comments is between two positions of a file. */
static bool is_blank(const struct c_file *file, uint32_t from, uint32_t to)
{
    bool ignored;
    c_skip_blanks(file->source.text, to, &from, false, &ignored);
    return from == to;
}

/* Begins the condition of an #ifndef. If a header begins with it and ends with its #endif, the header need not be
 * read again. */
static void begin_guard(struct c_definitions *c, uint32_t begin)
{
    struct c_file *file = c->file;
    uint32_t position = file->position;
    struct c_token name = c_lex(c, file->source.text, file->source.length, &position, true);
    begin_condition(c, begin, !name_is_defined(c));
    if (file->header && file->conditions && !file->conditions->outer && name.kind == C_NAME &&
        is_blank(file, 0, begin)) {
        file->guard = file->conditions;
        file->guard_symbol = name.symbol;
    }
}

static void end_guard(struct c_file *file)
{
    skip_line(file);
    if (is_blank(file, file->position, (uint32_t)file->source.length))
        file->header->guard = file->guard_symbol;
}

static void alternative(struct c_definitions *c, enum directive directive)
{
    struct c_condition *condition = c->file->conditions;
    if (!condition) {
        c_fail(c, "#%s without #if", directive_names[directive]);
        return;
    }
    if (directive == DIRECTIVE_ENDIF) {
        if (condition == c->file->guard)
            end_guard(c->file);
        c->file->conditions = condition->outer;
        return;
    }
    if (condition == c->file->guard)
        c->file->guard = NULL; /* what stands behind #else may mean something the next time */
    if (condition->had_else)
        c_fail(c, "#%s after #else", directive_names[directive]);
    condition->had_else |= directive == DIRECTIVE_ELSE;
    skip_group(c); /* one alternative was taken, so that this one is not */
}

void c_directive(struct c_definitions *c)
{
    struct c_file *file = c->file;
    uint32_t begin = file->position;
    enum directive directive = directive_word(file);
    if (file->script)
        c->span = (struct span){file->script, begin, file->position};
    switch (directive) {
    case DIRECTIVE_IF: begin_condition(c, begin, evaluate_condition(c)); break;
    case DIRECTIVE_IFDEF: begin_condition(c, begin, name_is_defined(c)); break;
    case DIRECTIVE_IFNDEF: begin_guard(c, begin); break;
    case DIRECTIVE_ELIF:
    case DIRECTIVE_ELIFDEF:
    case DIRECTIVE_ELIFNDEF:
    case DIRECTIVE_ELSE:
    case DIRECTIVE_ENDIF: alternative(c, directive); break;
    case DIRECTIVE_DEFINE: define(c); break;
    case DIRECTIVE_UNDEF: undefine(c); break;
    case DIRECTIVE_INCLUDE:
    case DIRECTIVE_INCLUDE_NEXT: include(c, begin, directive == DIRECTIVE_INCLUDE_NEXT); break;
    case DIRECTIVE_PRAGMA: pragma(c); break;
    case DIRECTIVE_ERROR:
    case DIRECTIVE_OTHER: {
        struct text text = {0};
        uint32_t from = file->position;
        skip_line(file);
        if (directive == DIRECTIVE_ERROR) {
            text_append(&text, file->source.text + from, file->position - from);
            c_note_add(c, "#error%s", text_string(&text));
        }
        text_free(&text);
        break;
    }
    }
    file->at_line_start = true;
    /* Skips what the directive did not read of its line, such as a comment behind #endif. */
    if (c->file == file && file->position < file->source.length &&
        file->source.text[file->position] != '\n' && directive != DIRECTIVE_INCLUDE &&
        directive != DIRECTIVE_INCLUDE_NEXT)
        skip_line(file);
}
