/* SPDX-License-Identifier: BSD-3-Clause */
/* uprobe and uretprobe: functions of programs and libraries by name, pattern or address. One variant serves
 * all sites: what a block reads lies in the same registers everywhere. */
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "bpf/lower.h"
#include "probe/all.h"
#include "probe/call.h"
#include "probe/point.h"
#include "probe/user.h"

struct uprobe_search {
    struct probe_environment *environment;
    const struct probe_kind *kind;
    const struct attach_point *point;
    size_t piece; /* that names the function */
    struct probe_sites *sites;
    struct nearest nearest;
    struct elf_file *file;
    const char *path, *shown;
    struct table offsets; /* of this file, by which aliases of one function are known */
    size_t files;
};

static bool is_return(const struct probe_kind *kind)
{
    return kind == &probe_kind_uretprobe;
}

static void uprobe_add(struct uprobe_search *search, const char *spelling, const char *function,
                       uint64_t offset)
{
    struct arena *arena = search->environment->arena;
    struct user_site *site = arena_new(arena, struct user_site);
    *site = (struct user_site){.path = search->path, .offset = offset};
    probe_site_add(search->environment, search->sites, search->point,
                   arena_printf(arena, "%s:%s:%s", search->kind->name, search->shown, spelling),
                   function ? arena_strdup(arena, function) : NULL, site);
}

/* Two names of one function would make it fire twice: the first name is kept. Ifuncs choose a function when
 * the program is loaded, nobody means them with a pattern. */
static int uprobe_match(void *state, const struct elf_symbol *symbol)
{
    struct uprobe_search *search = state;
    if (symbol->is_ifunc || table_get(&search->offsets, &symbol->offset, sizeof symbol->offset))
        return 0;
    int error = table_set(&search->offsets, &symbol->offset, sizeof symbol->offset, search);
    if (!error)
        uprobe_add(search, symbol->name, symbol->name, symbol->offset);
    return error;
}

static int uprobe_offer(void *state, const struct elf_symbol *symbol)
{
    struct uprobe_search *search = state;
    const char *before = search->nearest.best;
    nearest_offer(&search->nearest, symbol->name);
    if (search->nearest.best != before) /* the name dies with the file */
        search->nearest.best = arena_strdup(search->environment->arena, symbol->name);
    return 0;
}

static int uprobe_address(struct uprobe_search *search, const char *text, uint64_t address)
{
    struct diagnostics *diagnostics = search->environment->diagnostics;
    struct place place = point_place(search->point, search->piece);
    struct elf_symbol symbol;
    uint64_t offset, back;
    if (is_return(search->kind)) {
        diagnose_error(diagnostics, place, "uretprobe needs a function's name, not an address");
        diagnose_hint(diagnostics, "the return address is known only where a function begins");
        return -EINVAL;
    }
    if (elf_file_offset(search->file, address, &offset) ||
        elf_file_code_address(search->file, offset, &back)) {
        diagnose_error(diagnostics, place, "address %s is in no code of '%s'", text, search->shown);
        diagnose_hint(diagnostics, "addresses are as the file's symbols count, without the load bias");
        return -EINVAL;
    }
    bool known = !elf_file_nearest(search->file, address, &symbol);
    uprobe_add(search, text, known ? symbol.name : NULL, offset);
    return 0;
}

static int uprobe_function(struct uprobe_search *search, const char *text, const char *name, uint64_t offset)
{
    struct diagnostics *diagnostics = search->environment->diagnostics;
    struct place place = point_place(search->point, search->piece);
    struct elf_symbol symbol;
    if (elf_file_function(search->file, name, &symbol))
        return elf_file_each_function(search->file, NULL, uprobe_offer, search);
    if (offset && is_return(search->kind)) {
        diagnose_error(diagnostics, place, "uretprobe takes no offset: a function returns as a whole");
        diagnose_hint(diagnostics, "write uretprobe:%s:%s", search->shown, name);
        return -EINVAL;
    }
    if (symbol.size && offset >= symbol.size) {
        diagnose_error(diagnostics, place, "offset %llu lies outside of %s, which has %llu bytes",
                       (unsigned long long)offset, name, (unsigned long long)symbol.size);
        return -EINVAL;
    }
    if (symbol.is_ifunc) {
        diagnose_warning(diagnostics, place, "%s chooses one of several functions when the program is loaded",
                         name);
        diagnose_hint(diagnostics,
                      "the probe fires at that choice; for calls probe the functions chosen "
                      "from: a pattern like *%s* finds them",
                      name);
    }
    uprobe_add(search, text, symbol.name, symbol.offset + offset);
    return 0;
}

static int uprobe_file(void *state, struct elf_file *file, const char *path, const char *shown)
{
    struct uprobe_search *search = state;
    const char *text = point_piece(search->point, search->piece);
    uint64_t value;
    search->file = file;
    search->path = path;
    search->shown = shown;
    search->files++;
    if (point_is_pattern(search->point, search->piece)) {
        int error = elf_file_each_function(file, text, uprobe_match, search);
        table_free(&search->offsets);
        search->offsets = (struct table){0};
        return error;
    }
    if (search->point->pieces[search->piece].quoted)
        return uprobe_function(search, text, text, 0);
    if (point_number(text, &value))
        return uprobe_address(search, text, value);
    const char *name = point_split_offset(search->environment, text, &value);
    return uprobe_function(search, text, name, value);
}

static int uprobe_expand(const struct probe_kind *kind, struct probe_environment *environment,
                         const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, environment->pid ? 1 : 2, 2))
        return -EINVAL;
    size_t last = point->piece_count - 1;
    const char *text = point_piece(point, last);
    if (!text) {
        diagnose_error(environment->diagnostics, point->place, "%s needs a function: %s", kind->name,
                       kind->forms);
        return -EINVAL;
    }
    uint64_t ignored;
    struct uprobe_search search = {
        .environment = environment,
        .kind = kind,
        .point = point,
        .piece = last,
        .sites = sites,
        .nearest = {.name =
                        point->pieces[last].quoted ? text : point_split_offset(environment, text, &ignored)},
    };
    size_t before = sites->count, errors = environment->diagnostics->errors;
    int error = user_each_file(environment, kind, point, last - 1, false, uprobe_file, &search);
    if (!error && sites->count == before)
        error = point_no_match(environment, kind, point, &search.nearest);
    else if (error && environment->diagnostics->errors == errors)
        diagnose_error(environment->diagnostics, point->place, "%s: %s", point->text, strerror(-error));
    return error;
}

/* ---- what a block reads ---- */

static void uprobe_fill(struct probe_environment *environment, const struct context_uses *uses,
                        struct probe_variant *variant)
{
    struct probe_context *context = &variant->context;
    user_context(environment, uses, variant);
    call_values(environment, context, is_return(variant->kind), "the types of its arguments are not known");
}

static int uprobe_plan(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct context_uses *uses, const struct probe_sites *sites,
                       struct probe_variants *variants)
{
    return probe_plan_grouped(kind, environment, uses, sites, variants,
                              uses->symbols || user_sites_apart(environment, uses), call_key, uprobe_fill);
}

static int uprobe_attach(struct probe_environment *environment, struct kernel *kernel,
                         const struct probe_variant *variant, struct attach_request *request)
{
    return user_attach(kernel, environment, variant, request, is_return(variant->kind));
}

/* ---- listing ---- */

struct uprobe_listing {
    const struct probe_kind *kind;
    const struct attach_point *pattern;
    size_t piece; /* that names functions; 0: all */
    struct text line;
    struct arena *arena;
    const char **names;
    size_t count, room;
    probe_visitor *visit;
    void *state;
};

static int uprobe_list_function(void *state, const struct elf_symbol *symbol)
{
    struct uprobe_listing *listing = state;
    if (!listing->piece || point_matches(listing->pattern, listing->piece, symbol->name))
        *arena_push(listing->arena, listing->names, listing->count, listing->room) = symbol->name;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The walk is by address; people look for names. */
static int uprobe_list_file(void *state, struct elf_file *file, const char *path, const char *shown)
{
    struct uprobe_listing *listing = state;
    (void)path;
    listing->count = 0;
    int error = elf_file_each_function(file, NULL, uprobe_list_function, listing);
    if (listing->count)
        qsort(listing->names, listing->count, sizeof *listing->names, compare_names);
    for (size_t i = 0; i < listing->count && !error; i++) {
        if (i && !strcmp(listing->names[i], listing->names[i - 1]))
            continue;
        text_clear(&listing->line);
        text_printf(&listing->line, "%s:%s:%s", listing->kind->name, shown, listing->names[i]);
        error = listing->visit(listing->state, text_string(&listing->line), NULL);
    }
    return error;
}

static int uprobe_list(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    (void)verbose;
    bool is_vague = point_is_pattern(pattern, 0);
    size_t binary = pattern->piece_count == 2 && environment->pid && is_vague ? 0 : 1;
    /* Without a binary there is nothing to look into: all functions of all programs is nobody's question. */
    if (pattern->piece_count < 2 || (pattern->piece_count == 2 && binary && is_vague) ||
        (pattern->piece_count == 2 && !strcmp(pattern->pieces[1].text, "*")))
        return 0;
    struct uprobe_listing listing = {.kind = kind,
                                     .pattern = pattern,
                                     .piece = pattern->piece_count == 2 && binary ? 0 : binary + 1,
                                     .arena = environment->arena,
                                     .visit = visit,
                                     .state = state};
    int error = user_each_file(environment, kind, pattern, binary, is_vague, uprobe_list_file, &listing);
    if (error == -ENOENT && is_vague)
        error = 0;
    text_free(&listing.line);
    return error;
}

const struct probe_kind probe_kind_uprobe = {
    .name = "uprobe",
    .aliases = (const char *const[]){"u", NULL},
    .forms = "uprobe:BINARY:FUNCTION[+OFFSET] or uprobe:BINARY:ADDRESS",
    .what = "a function of a program or library is called",
    .expand = uprobe_expand,
    .plan = uprobe_plan,
    .newest_first = true,
    .attach = uprobe_attach,
    .list = uprobe_list,
};

const struct probe_kind probe_kind_uretprobe = {
    .name = "uretprobe",
    .aliases = (const char *const[]){"ur", NULL},
    .forms = "uretprobe:BINARY:FUNCTION",
    .what = "a function of a program or library returns",
    .expand = uprobe_expand,
    .plan = uprobe_plan,
    .newest_first = true,
    .attach = uprobe_attach,
    .list = uprobe_list,
};
