/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of probes, and the last word of a program that is being typed. The program is not complete and so is not
 * parsed; only strings, comments, blocks and predicates are recognised. */
#include <ctype.h>
#include <string.h>

#include "base/table.h"
#include "builtin/all.h"
#include "cmd/command.h"
#include "cmd/complete.h"
#include "probe/all.h"
#include "sym/kernel/tracefs.h"

/* ---- tracepoints: first their categories, then those of one ---- */

struct events {
    struct candidates *candidates;
    const char *before; /* the text before the category: "tracepoint:", "t:" */
    bool are_categories;
    char last[128]; /* the category that was offered last */
};

static int offer_event(void *context, const char *category, const char *event)
{
    struct events *events = context;
    struct text name = {0};
    if (events->are_categories && !strcmp(events->last, category))
        return 0;
    snprintf(events->last, sizeof events->last, "%s", category);
    text_printf(&name, "%s%s:%s", events->before, category, events->are_categories ? "" : event);
    candidates_offer(events->candidates, text_string(&name), NULL);
    text_free(&name);
    return 0;
}

void complete_tracepoint(struct candidates *candidates, const char *before)
{
    const char *begun = candidates->word + candidates->kept;
    struct events events = {.candidates = candidates, .before = before};
    struct tracefs *tracefs;
    if (strncmp(begun, before, strlen(before)) != 0 || tracefs_open(&tracefs))
        return;
    const char *category = begun + strlen(before), *colon = strchr(category, ':');
    struct text pattern = {0};
    text_append(&pattern, category, colon ? (size_t)(colon - category) : 0);
    events.are_categories = !colon;
    tracefs_each_event(tracefs, colon ? text_string(&pattern) : NULL, NULL, offer_event, &events);
    tracefs_close(tracefs);
    text_free(&pattern);
}

/* ---- probes ---- */

/* Offers a probe's name without its count; or only its last part, behind what was typed, because "uprobe:libc:"
 * stays as it is, whatever file that means. */
static int offer_listed_probe(void *context, const char *name, const char *details)
{
    struct candidates *candidates = context;
    const char *begun = candidates->word + candidates->kept;
    struct text whole = {0};
    (void)details;
    if (strncmp(name, begun, strlen(begun)) != 0) {
        text_append(&whole, begun, (size_t)(strrchr(begun, ':') + 1 - begun));
        name = strrchr(name, ':') ? strrchr(name, ':') + 1 : name;
    }
    const size_t length = strlen(name);
    text_append(&whole, name, length - (length && name[length - 1] == ':'));
    candidates_offer(candidates, text_string(&whole), NULL);
    text_free(&whole);
    return 0;
}

/* Offers the probes of the kernel or of a file that begin with what was typed. */
static void offer_listed(struct candidates *candidates)
{
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    jmp_buf out_of_memory;
    if (arena_guard(&arena, out_of_memory))
        return;
    const char *pattern = arena_printf(&arena, "%s*", candidates->word + candidates->kept);
    command_each_probe(&arena, &diagnostics, pattern, false, offer_listed_probe, candidates);
    arena_free(&arena);
}

static void offer_kinds(struct candidates *candidates)
{
    for (const struct probe_kind *const *kind = probe_kinds; *kind; kind++) {
        struct text name = {0};
        text_printf(&name, "%s:", (*kind)->name);
        candidates_offer(candidates, text_string(&name), NULL);
        text_free(&name);
    }
}

void complete_probe(struct candidates *candidates)
{
    const char *begun = candidates->word + candidates->kept;
    if (!strchr(begun, ':'))
        offer_kinds(candidates);
    else if (!strncmp(begun, "tracepoint:", 11))
        complete_tracepoint(candidates, "tracepoint:");
    else if (!strncmp(begun, "t:", 2))
        complete_tracepoint(candidates, "t:");
    else if (begun[strcspn(begun, "*?")] == '\0')
        offer_listed(candidates);
}

/* ---- programs ---- */

/* What surrounds the program's last word. */
struct scan {
    unsigned depth;           /* how many braces are open */
    bool is_predicate;        /* it is between the slashes before a block */
    char quote;               /* the quote of a string that has not ended, or / of a comment; 0: neither */
    const char *probes, *end; /* attach points of the block that has begun */
};

/* Returns the position behind a string or comment that begins at `at`; NULL: it does not end. */
static const char *skip_opaque(const char *at)
{
    if (*at == '"') {
        for (at++; *at && *at != '"'; at++)
            if (*at == '\\' && at[1])
                at++;
        return *at ? at + 1 : NULL;
    }
    const bool is_line = at[1] == '/';
    at = strstr(at + 2, is_line ? "\n" : "*/");
    return at ? at + (is_line ? 1 : 2) : NULL;
}

static bool is_opaque(const char *at, const struct scan *scan)
{
    return *at == '"' || (at[0] == '/' && (at[1] == '*' || at[1] == '/') && !scan->is_predicate);
}

/* Whether a slash begins or ends a predicate: it follows white space, outside of blocks. Others are part of a
 * path. */
static bool is_slash(const char *program, const char *at)
{
    return *at == '/' && at > program && isspace((unsigned char)at[-1]);
}

/* Finds what surrounds the last word. False: the program ends in a string or comment, where nothing is offered. */
static bool scan_program(const char *program, struct scan *scan)
{
    *scan = (struct scan){.probes = program, .end = program};
    for (const char *at = program; *at; at++) {
        if (is_opaque(at, scan)) {
            at = skip_opaque(at);
            if (!at)
                return false;
            at--;
        } else if (*at == '{') {
            if (!scan->depth++ && !scan->is_predicate && scan->end <= scan->probes)
                scan->end = at;
            scan->is_predicate = false;
        } else if (*at == '}' && scan->depth) {
            if (!--scan->depth)
                scan->probes = at + 1;
        } else if (!scan->depth && (scan->is_predicate ? *at == '/' : is_slash(program, at))) {
            if (!scan->is_predicate)
                scan->end = at;
            scan->is_predicate = !scan->is_predicate;
        }
    }
    return true;
}

/* Whether a probe is a return, whose last detail is the value that is returned. */
static bool is_return(const char *probe)
{
    static const char *const kinds[] = {"uretprobe:", "kretprobe:", "fexit:"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(probe, kinds[i], strlen(kinds[i])))
            return true;
    return false;
}

/* "    int pid", "    char comm[16]", "    int arg0  # what it is": the name is the last word, without what stands
 * behind it. */
static int offer_fields(void *context, const char *name, const char *details)
{
    struct candidates *candidates = context;
    candidates->kind = CANDIDATE_FIELD;
    for (const char *line = details; line && *line;) {
        size_t length = strcspn(line, "\n"), end = strcspn(line, "\n#");
        while (end < length && end && line[end - 1] == ' ')
            end--;
        while (end && line[end - 1] == ']')
            while (end && line[--end] != '[')
                continue;
        size_t begin = end;
        while (begin && (isalnum((unsigned char)line[begin - 1]) || line[begin - 1] == '_'))
            begin--;
        struct text field = {0};
        text_append(&field, line + begin, end - begin);
        const bool is_value = is_return(name) && !strcmp(text_string(&field), "retval");
        struct text what = {0};
        const size_t blanks = strspn(line, " ");
        text_append(&what, line + blanks, length - blanks);
        if (end > begin && !is_value)
            candidates_offer(candidates, text_string(&field), text_string(&what));
        text_free(&field);
        text_free(&what);
        line += length + (line[length] == '\n');
    }
    return 1; /* only the fields of the first probe */
}

/* Offers fields of the first attach point. */
static void offer_arguments(struct candidates *candidates, const struct scan *scan)
{
    const char *begin = scan->probes;
    while (begin < scan->end && (isspace((unsigned char)*begin) || *begin == ','))
        begin++;
    struct text point = {0};
    text_append(&point, begin, strcspn(begin, " \t\n,{"));
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    jmp_buf out_of_memory;
    if (!arena_guard(&arena, out_of_memory))
        command_each_probe(&arena, &diagnostics, text_string(&point), true, offer_fields, candidates);
    arena_free(&arena);
    text_free(&point);
}

/* Offers maps and variables that the program has named so far. */
static void offer_names(struct candidates *candidates, const char *program, const char *end)
{
    struct table seen = {0};
    candidates->kind = CANDIDATE_NAME;
    for (const char *at = program; at < end; at++) {
        if (*at != '@' && *at != '$')
            continue;
        size_t length = 1;
        while (at + length < end && (isalnum((unsigned char)at[length]) || at[length] == '_'))
            length++;
        struct text name = {0};
        text_append(&name, at, length);
        if (length > 1 && !table_find(&seen, text_string(&name)) &&
            !table_put(&seen, text_string(&name), candidates))
            candidates_offer(candidates, text_string(&name), NULL);
        text_free(&name);
        at += length - 1;
    }
    table_free(&seen);
}

/* Offers functions and macros that the program has defined so far. */
static void offer_functions(struct candidates *candidates, const char *program, const char *end)
{
    static const char *const words[] = {"fn ", "macro "};
    candidates->kind = CANDIDATE_BUILTIN;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (const char *at = program; (at = strstr(at, words[i])) && at < end;) {
            const bool is_word = at == program || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
            at += strlen(words[i]);
            const char *name = at + strspn(at, " ");
            size_t length = 0;
            while (isalnum((unsigned char)name[length]) || name[length] == '_')
                length++;
            struct text text = {0};
            text_append(&text, name, length);
            if (is_word && length && name + length < end)
                candidates_offer(candidates, text_string(&text), NULL);
            text_free(&text);
        }
}

static void offer_builtins(struct candidates *candidates)
{
    candidates->kind = CANDIDATE_BUILTIN;
    for (size_t i = 0; i < builtin_table.count; i++)
        for (const struct builtin *builtin = builtin_table.families[i]; builtin->name; builtin++)
            candidates_offer(candidates, builtin->name, builtin->synopsis);
}

static bool is_of_word(char c, bool is_block)
{
    return isalnum((unsigned char)c) || strchr(is_block ? "_@$" : "_:*?./-+", c);
}

void complete_program(struct candidates *candidates)
{
    /* the quote belongs to the shell */
    candidates->kept += strspn(candidates->word + candidates->kept, "'\"") > 0;
    complete_script(candidates);
}

void complete_script(struct candidates *candidates)
{
    const char *program = candidates->word + candidates->kept, *end = program + strlen(program), *word = end;
    struct scan scan;
    if (!scan_program(program, &scan))
        return;
    const bool is_block = scan.depth || scan.is_predicate;
    while (word > program && is_of_word(word[-1], is_block))
        word--;
    candidates->kept = (size_t)(word - candidates->word);
    candidates->kind = CANDIDATE_PROBE;
    if (!is_block)
        complete_probe(candidates);
    else if (word - program > 5 && !strncmp(word - 5, "args.", 5))
        offer_arguments(candidates, &scan);
    else if (word - program > 6 && !strncmp(word - 6, "args->", 6))
        offer_arguments(candidates, &scan);
    else if (*word == '@' || *word == '$')
        offer_names(candidates, program, word);
    else if (word == program || !strchr(".>", word[-1])) {
        offer_functions(candidates, program, word);
        offer_builtins(candidates);
    }
}
