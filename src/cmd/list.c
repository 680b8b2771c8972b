/* SPDX-License-Identifier: BSD-3-Clause */
/* -l: lists what can be probed, and the types of the kernel for patterns like "struct X". */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "reader/replay.h"
#include "sym/kernel/btf.h"
#include "base/glob.h"

/* Prints details. Types are given as C writes them, "char * name", and printed as bpftrace does, with the stars at
 * the type: "char* name". */
static void print_details(const char *details)
{
    struct text text = {0};
    for (const char *at = details; *at;) {
        if (*at != ' ' || at[1] != '*') {
            text_char(&text, *at++);
            continue;
        }
        for (at++; *at == '*' || (*at == ' ' && at[1] == '*'); at++)
            if (*at == '*')
                text_char(&text, '*');
        if (isalnum((unsigned char)*at) || *at == '_')
            text_char(&text, ' ');
    }
    if (!text.failed)
        command_write(stdout, text_string(&text));
    text_free(&text);
}

static int print_probe(void *state, const char *name, const char *details)
{
    size_t *count = state;
    ++*count;
    command_print(stdout, "%s\n", name);
    if (details)
        print_details(details);
    return ferror(stdout) ? -EPIPE : 0;
}

/* ---- types ---- */

struct type_line {
    const char *name; /* "struct timespec64" */
    const char *module;
    const struct btf_file *btf;
    uint32_t id;
};
struct type_listing {
    struct arena *arena;
    const struct btf_file *btf;
    const char *module;
    struct type_line *items;
    size_t count, room;
};

static bool names_types(const char *pattern)
{
    static const char *const words[] = {"struct", "union", "enum"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (!strncmp(pattern, words[i], length) && pattern[length] == ' ' && pattern[length + 1])
            return true;
    }
    return false;
}

static int add_type(void *state, const char *name, uint32_t id)
{
    struct type_listing *listing = state;
    *arena_push(listing->arena, listing->items, listing->count, listing->room) =
        (struct type_line){arena_strdup(listing->arena, name), listing->module, listing->btf, id};
    return 0;
}

static int compare_types(const void *a, const void *b)
{
    const struct type_line *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->id < y->id ? -1 : x->id > y->id;
}

/* Lists types. For a name its definition is printed, for a pattern the names, unless -v asks for definitions. */
static int list_types(struct probe_environment *environment, const char *pattern, bool verbose)
{
    struct type_listing listing = {.arena = environment->arena, .module = "vmlinux"};
    struct btf_file *btf = probe_btf(environment);
    if (!btf) {
        diagnose_error(environment->diagnostics, (struct span){0},
                       "types are listed from the kernel's BTF, and there is no /sys/kernel/btf/vmlinux");
        return -ENOENT;
    }
    for (size_t n = 0; btf; btf = probe_module_btf(environment, n++, &listing.module)) {
        listing.btf = btf;
        btf_file_each_type(btf, pattern, add_type, &listing);
    }
    if (listing.count)
        qsort(listing.items, listing.count, sizeof *listing.items, compare_types);
    bool defines = verbose || !glob_has_wildcard(pattern);
    struct text text = {0};
    for (size_t i = 0; i < listing.count && !ferror(stdout); i++) {
        const struct type_line *line = &listing.items[i];
        text_clear(&text);
        text_printf(&text, "%s: ", line->module);
        if (defines)
            btf_file_define(line->btf, line->id, &text);
        else
            text_printf(&text, "%s\n", line->name);
        command_write(stdout, text_string(&text));
    }
    text_free(&text);
    if (listing.count)
        return 0;
    diagnose_error(environment->diagnostics, (struct span){0}, "the kernel has no type '%s'", pattern);
    diagnose_hint(environment->diagnostics, "`spoor -l 'struct *'` lists them");
    return -ENOENT;
}

/* ---- probes ---- */

static struct attach_point *parse_pattern(const char *pattern, struct arena *arena,
                                          struct diagnostics *diagnostics)
{
    static const struct parameters none;
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){"stdin", pattern, strlen(pattern)};
    return attach_point_parse(arena, diagnostics, source, &none);
}

int command_each_probe(struct arena *arena, struct diagnostics *diagnostics, const char *pattern,
                       bool verbose, probe_visitor *visit, void *state)
{
    struct probe_environment environment = {.arena = arena, .diagnostics = diagnostics};
    struct attach_point *point = parse_pattern(pattern, arena, diagnostics);
    features_assume(&environment.features);
    environment.features.cpus = environment.features.rings = 1;
    int error = point ? probe_list(&environment, probe_kinds, point, verbose, visit, state) : -EINVAL;
    probe_environment_close(&environment);
    return error;
}

/* Lists functions in the files that the processes of -p have mapped, which belong to "all" then. */
static int list_functions(struct probe_environment *environment, bool verbose, size_t *count)
{
    struct attach_point *point = parse_pattern("uprobe:*:*", environment->arena, environment->diagnostics);
    return point ? probe_list(environment, probe_kinds, point, verbose, print_probe, count) : -EINVAL;
}

/* Returns the next of several patterns with commas between them; a comma in quotes is part of a name. *rest is
 * where it begins, and then where the one behind it does; NULL: there is none. */
static char *next_pattern(struct arena *arena, const char **rest)
{
    const char *patterns = *rest, *at = patterns;
    bool is_quoted = false;
    for (; *at && (*at != ',' || is_quoted); at++)
        is_quoted ^= *at == '"';
    *rest = *at ? at + 1 : NULL;
    return arena_copy(arena, patterns, (size_t)(at - patterns));
}

/* Returns what is said to somebody who attaches to a probe that is not there; NULL: nothing. */
static const char *hint_of(struct probe_environment *environment, const struct attach_point *point)
{
    struct diagnostics said = {.arena = environment->arena}, *loud = environment->diagnostics;
    size_t count = 0;
    while (probe_kinds[count])
        count++;
    environment->diagnostics = &said;
    probe_expand(environment, probe_kinds, point,
                 arena_array(environment->arena, count, sizeof(struct probe_sites)));
    environment->diagnostics = loud;
    return said.count ? said.items[0].hint : NULL;
}

static bool looks_like_file(const char *pattern)
{
    return !strchr(pattern, ':') && (strchr(pattern, '/') || glob_match("*.bt", pattern));
}

static int list_pattern(struct probe_environment *environment, const char *pattern, bool verbose)
{
    const size_t errors = environment->diagnostics->errors; /* of the patterns before */
    size_t count = 0;
    if (names_types(pattern))
        return list_types(environment, pattern, verbose);
    struct attach_point *point = parse_pattern(pattern, environment->arena, environment->diagnostics);
    if (!point)
        return -EINVAL;
    int error = probe_list(environment, probe_kinds, point, verbose, print_probe, &count);
    if (error && error != -EPIPE && environment->diagnostics->errors == errors)
        diagnose_error(environment->diagnostics, (struct span){0}, "cannot list '%s': %s", pattern,
                       strerror(-error));
    if (error || count || environment->diagnostics->errors != errors)
        return error;
    diagnose_error(environment->diagnostics, (struct span){0}, "no probe matches '%s'", pattern);
    if (looks_like_file(pattern))
        diagnose_hint(environment->diagnostics,
                      "it looks like the name of a file, and there is no such file");
    else if (point->piece_count > 1 && !glob_has_wildcard(pattern)) {
        const char *hint = hint_of(environment, point);
        if (hint)
            diagnose_hint(environment->diagnostics, "%s", hint);
    }
    return -ENOENT;
}

static int list_all(struct probe_environment *environment, bool verbose)
{
    size_t count = 0;
    int error = probe_list(environment, probe_kinds, NULL, verbose, print_probe, &count);
    return error || !environment->process_count ? error : list_functions(environment, verbose, &count);
}

static int list(struct options *options, struct arena *arena, struct diagnostics *diagnostics)
{
    const bool verbose = options->session.is_verbose;
    struct probe_environment environment = {.arena = arena,
                                            .diagnostics = diagnostics,
                                            .processes = options->session.pids,
                                            .process_count = options->session.pid_count,
                                            .is_unsafe = options->session.is_unsafe};
    features_assume(&environment.features);
    environment.features.cpus = environment.features.rings = 1;
    if (options->session.recordings) {
        struct text why = {0};
        if (replay_open(options->session.recordings, NULL, 0, true, &environment.replay, &why))
            diagnose_error(diagnostics, (struct span){0}, "%s", text_string(&why));
        text_free(&why);
        if (!environment.replay)
            return 1;
    }
    int error = options->pattern ? 0 : list_all(&environment, verbose);
    for (const char *rest = options->pattern; rest && error != -EPIPE;) {
        int failed = list_pattern(&environment, next_pattern(arena, &rest), verbose);
        error = failed ? failed : error;
    }
    replay_free(environment.replay);
    probe_environment_close(&environment);
    return error || diagnostics->errors ? 1 : 0;
}

int command_list(struct options *options)
{
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    jmp_buf out_of_memory;
    if (arena_guard(&arena, out_of_memory)) {
        fputs("ERROR: out of memory\n", stderr);
        return 1;
    }
    int status = list(options, &arena, &diagnostics);
    command_diagnose(options, &diagnostics);
    arena_free(&arena);
    return status;
}
