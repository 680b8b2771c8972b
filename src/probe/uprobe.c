/* SPDX-License-Identifier: BSD-3-Clause */
/* uprobe and uretprobe: functions of programs and libraries by name, pattern or address. One variant serves
 * all sites: what a block reads lies in the same registers everywhere. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "base/table.h"
#include "bpf/lower/lower.h"
#include "probe/all.h"
#include "probe/call.h"
#include "probe/point.h"
#include "probe/uprobe_debug.h"
#include "probe/uprobe_place.h"
#include "sym/cpp.h"
#include "sym/demangle.h"
#include "sym/symbolize.h"

struct uprobe_search {
    struct probe_environment *environment;
    const struct probe_kind *kind;
    const struct attach_point *point;
    size_t piece; /* the piece of the attach point that names the function */
    bool is_cpp;  /* the name is matched with demangled C++ names */
    struct probe_sites *sites;
    struct nearest nearest;
    struct elf_file *file;
    const char *path, *shown;
    const struct elf_origin *origin;
    const char *name; /* the function that debug information is searched for */
    const char *line; /* "file.c:12": a place in the source */
    bool saw_inlined;
    /* Offsets of functions that were found in this file, by which aliases are recognised. */
    struct table offsets;
    size_t files;
};

static bool is_return(const struct probe_kind *kind)
{
    return kind == &probe_kind_uretprobe;
}

static struct uprobe_detail *uprobe_add(struct uprobe_search *search, const char *spelling,
                                        const char *function, uint64_t offset)
{
    struct arena *arena = search->environment->arena;
    struct uprobe_detail *site = arena_new(arena, struct uprobe_detail);
    site->user = (struct user_site){
        .path = search->path, .origin = search->origin, .offset = elf_file_base(search->file) + offset};
    site->function = arena_new(arena, const struct dwarf_function *);
    if (elf_file_code_address(search->file, offset, &site->user.address))
        site->user.address = 0;
    probe_site_add(search->environment, search->sites, search->point,
                   arena_printf(arena, "%s:%s:%s", search->kind->name, search->shown, spelling),
                   function ? arena_strdup(arena, function) : NULL, site);
    return site;
}

/* Go moves stacks while it runs and looks for the return addresses on them: one that a uretprobe has put
 * there ends the program. C functions of such a program have a stack that stays; their names have no package
 * before a dot. */
static bool uprobe_breaks(const struct uprobe_search *search, const char *name)
{
    struct elf_section section;
    if (!is_return(search->kind) || !strchr(name, '.') ||
        (!elf_file_section_named(search->file, ".go.buildinfo", &section) &&
         !elf_file_section_named(search->file, ".note.go.buildid", &section)))
        return false;
    struct diagnostics *diagnostics = search->environment->diagnostics;
    diagnose_error(
        diagnostics, point_span(search->point, search->piece),
        "a uretprobe at %s would end '%s': it is written in Go, which moves stacks with the return "
        "addresses on them",
        name, search->shown);
    diagnose_hint(
        diagnostics,
        "put uprobes at its return instructions: uprobe:%s:%s+OFFSET, with the offsets of `ret` from "
        "objdump -d",
        search->shown, name);
    return true;
}

/* Two names of one function would make the probe fire twice: the first name is kept. Ifuncs choose a function when
 * the program is loaded; a pattern does not mean them. */
static int uprobe_match(void *state, const struct elf_symbol *symbol)
{
    struct uprobe_search *search = state;
    if (symbol->is_ifunc || table_get(&search->offsets, &symbol->offset, sizeof symbol->offset))
        return 0;
    if (uprobe_breaks(search, symbol->name))
        return -EINVAL;
    int error = table_set(&search->offsets, &symbol->offset, sizeof symbol->offset, search);
    if (error)
        return error;
    struct uprobe_detail *site = uprobe_add(search, symbol->name, symbol->name, symbol->offset);
    site->is_one_of_many = site->user.is_entry = true;
    return 0;
}

static int uprobe_offer(void *state, const struct elf_symbol *symbol)
{
    struct uprobe_search *search = state;
    const char *before = search->nearest.best;
    nearest_offer(&search->nearest, symbol->name);
    if (search->nearest.best != before) /* the name is freed with the file */
        search->nearest.best = arena_strdup(search->environment->arena, symbol->name);
    return 0;
}

/* The name of a C++ function as people know it; the pattern may leave the parameters out. */
static int uprobe_match_cpp(void *state, const struct elf_symbol *symbol, const char *demangled)
{
    struct uprobe_search *search = state;
    struct arena *arena = search->environment->arena;
    int error = 0;
    if (!cpp_matches(point_piece(search->point, search->piece), demangled)) {
        size_t length;
        const char *name = cpp_name(demangled, &length);
        nearest_offer(&search->nearest, arena_copy(arena, name, length));
    } else if (!symbol->is_ifunc && !table_get(&search->offsets, &symbol->offset, sizeof symbol->offset)) {
        error = table_set(&search->offsets, &symbol->offset, sizeof symbol->offset, search);
        if (!error)
            uprobe_add(search, arena_printf(arena, "cpp:\"%s\"", demangled), demangled, symbol->offset)
                ->user.is_entry = true;
    }
    return error;
}

/* function: what the offset in the file is in; NULL: no symbol says. */
static int uprobe_check_place(struct uprobe_search *search, const char *text,
                              const struct elf_symbol *function, uint64_t offset)
{
    const struct uprobe_place place = {
        .file = search->file,
        .span = point_span(search->point, search->piece),
        .name = arena_printf(search->environment->arena, "%s:%s:%s", search->kind->name, search->shown, text),
        .function = function,
        .offset = offset,
    };
    return uprobe_place_check(search->environment, &place);
}

static int uprobe_address(struct uprobe_search *search, const char *text, uint64_t address)
{
    struct diagnostics *diagnostics = search->environment->diagnostics;
    struct span span = point_span(search->point, search->piece);
    struct elf_symbol symbol;
    uint64_t offset, back;
    if (is_return(search->kind)) {
        diagnose_error(diagnostics, span, "uretprobe needs a function's name, not an address");
        diagnose_hint(diagnostics, "the return address is known only where a function begins");
        return -EINVAL;
    }
    if (elf_file_offset(search->file, address, &offset) ||
        elf_file_code_address(search->file, offset, &back)) {
        diagnose_error(diagnostics, span, "address %s is in no code of '%s'", text, search->shown);
        diagnose_hint(diagnostics, "addresses are as the file's symbols count, without the load bias");
        return -EINVAL;
    }
    bool known = !elf_file_nearest(search->file, address, &symbol);
    int error = uprobe_check_place(search, text, known ? &symbol : NULL, offset);
    if (error)
        return error;
    uprobe_add(search, text, known ? symbol.name : NULL, offset);
    return 0;
}

/* ---- what only debug information knows ---- */

static int uprobe_debug_place(void *state, uint64_t address, bool is_inlined)
{
    struct uprobe_search *search = state;
    uint64_t offset;
    if (elf_file_offset(search->file, address, &offset) ||
        table_get(&search->offsets, &offset, sizeof offset))
        return 0;
    search->saw_inlined |= is_inlined;
    if (is_inlined && is_return(search->kind))
        return 0;
    int error = table_set(&search->offsets, &offset, sizeof offset, search);
    if (error)
        return error;
    if (!search->line) {
        uprobe_add(search, search->name, search->name, offset)->scope = search->name;
        return 0;
    }
    struct elf_symbol symbol;
    bool is_known = !elf_file_nearest(search->file, address, &symbol);
    uprobe_add(search, search->line, is_known ? symbol.name : NULL, offset);
    /* The binary and the line are one word. */
    struct probe_site *added = &search->sites->items[search->sites->count - 1];
    added->name =
        arena_printf(search->environment->arena, "%s:%s@%s", search->kind->name, search->shown, search->line);
    return 0;
}

/* A function that has no symbol: the program was stripped, or the function is nowhere but inlined in others.
 */
static int uprobe_debug_function(struct uprobe_search *search, const char *text, const char *name,
                                 uint64_t offset)
{
    struct diagnostics *diagnostics = search->environment->diagnostics;
    struct span span = point_span(search->point, search->piece);
    struct dwarf_file *dwarf = probe_dwarf(search->environment, search->path, search->origin);
    size_t before = search->sites->count;
    search->name = name;
    search->saw_inlined = false;
    int error = dwarf ? dwarf_file_each_function(dwarf, name, uprobe_debug_place, search) : 0;
    table_free(&search->offsets);
    search->offsets = (struct table){0};
    if (error)
        return error;
    bool is_found = search->sites->count > before;
    if (search->saw_inlined && !is_found) {
        diagnose_error(diagnostics, span, "%s is inlined wherever it is called: nothing returns from it",
                       name);
        diagnose_hint(diagnostics, "a uprobe fires where its code begins; or compile it with "
                                   "__attribute__((noinline))");
        return -EINVAL;
    }
    if (is_found && offset) {
        diagnose_error(diagnostics, span, "%s has no symbol, so an offset in it cannot be checked", text);
        diagnose_hint(diagnostics, "give the address: uprobe:%s:0x…", search->shown);
        return -EINVAL;
    }
    return is_found ? 0 : elf_file_each_function(search->file, NULL, uprobe_offer, search);
}

/* BINARY@FILE:LINE[:COLUMN], taken apart. */
struct uprobe_line {
    const char *source;
    unsigned line, column;
    struct uprobe_search *search;
};

static int uprobe_line_file(void *state, struct elf_file *file, const char *path, const char *shown)
{
    struct uprobe_line *wanted = state;
    struct uprobe_search *search = wanted->search;
    struct diagnostics *diagnostics = search->environment->diagnostics;
    struct span span = search->point->span;
    search->file = file;
    search->path = path;
    search->origin = user_origin(search->environment, file);
    struct dwarf_file *dwarf = probe_dwarf(search->environment, path, search->origin);
    unsigned next = 0;
    search->shown = shown;
    search->files++;
    if (!dwarf) {
        diagnose_error(diagnostics, span, "'%s' has no debug information, which lines of source need", shown);
        diagnose_hint(diagnostics, "compile it with -g, install its debug symbols, or name servers in "
                                   "DEBUGINFOD_URLS");
        return -ENOENT;
    }
    int error = dwarf_file_each_line(dwarf, wanted->source, wanted->line, wanted->column, uprobe_debug_place,
                                     search, &next);
    table_free(&search->offsets);
    search->offsets = (struct table){0};
    if (error != -ENOENT)
        return error;
    if (!next) {
        diagnose_error(diagnostics, span, "'%s' was not compiled from a file '%s'", shown, wanted->source);
        diagnose_hint(diagnostics, "give the end of its path, in whole parts");
    } else {
        diagnose_error(diagnostics, span, "%s:%s has no code in '%s'", wanted->source,
                       strchr(search->line, ':') + 1, shown);
        if (next > wanted->line)
            diagnose_hint(diagnostics, "the next line with code is %u", next);
        else if (next == wanted->line)
            diagnose_hint(diagnostics, "there is code behind it in no line, or at other columns");
    }
    return -ENOENT;
}

static int uprobe_function(struct uprobe_search *search, const char *text, const char *name, uint64_t offset)
{
    struct diagnostics *diagnostics = search->environment->diagnostics;
    struct span span = point_span(search->point, search->piece);
    struct elf_symbol symbol;
    if (elf_file_function(search->file, name, &symbol))
        return uprobe_debug_function(search, text, name, offset);
    if (offset && is_return(search->kind)) {
        diagnose_error(diagnostics, span, "uretprobe takes no offset: a function returns as a whole");
        diagnose_hint(diagnostics, "write uretprobe:%s:%s", search->shown, name);
        return -EINVAL;
    }
    if (uprobe_breaks(search, symbol.name))
        return -EINVAL;
    if (symbol.size && offset >= symbol.size) {
        diagnose_error(diagnostics, span, "offset %llu lies outside of %s, which has %llu bytes",
                       (unsigned long long)offset, name, (unsigned long long)symbol.size);
        return -EINVAL;
    }
    if (symbol.is_ifunc) {
        diagnose_warning(diagnostics, span, "%s chooses one of several functions when the program is loaded",
                         name);
        diagnose_hint(diagnostics,
                      "the probe fires at that choice; for calls probe the functions chosen "
                      "from: a pattern like *%s* finds them",
                      name);
    }
    int error = uprobe_check_place(search, text, &symbol, symbol.offset + offset);
    if (error)
        return error;
    uprobe_add(search, text, symbol.name, symbol.offset + offset)->user.is_entry = !offset;
    return 0;
}

static int uprobe_file(void *state, struct elf_file *file, const char *path, const char *shown)
{
    struct uprobe_search *search = state;
    const char *text = point_piece(search->point, search->piece);
    uint64_t value;
    search->file = file;
    search->path = path;
    search->origin = user_origin(search->environment, file);
    search->shown = shown;
    search->files++;
    if (search->is_cpp || point_is_pattern(search->point, search->piece)) {
        int error = search->is_cpp ? demangle_each_function(file, uprobe_match_cpp, search)
                                   : elf_file_each_function(file, text, uprobe_match, search);
        table_free(&search->offsets);
        search->offsets = (struct table){0};
        return error;
    }
    const struct attach_piece *piece = &search->point->pieces[search->piece];
    if (piece->quoted) { /* "name", or "name"+0 */
        const char *plus = text + piece->quoted_end;
        if (*plus != '+' || !point_number(plus + 1, &value))
            return uprobe_function(search, text, text, 0);
        return uprobe_function(search, text, arena_copy(search->environment->arena, text, piece->quoted_end),
                               value);
    }
    if (point_number(text, &value))
        return uprobe_address(search, text, value);
    const char *name = point_split_offset(search->environment, text, &value);
    return uprobe_function(search, text, name, value);
}

/* BINARY:cpp:NAME */
static bool uprobe_is_cpp(const struct attach_point *point)
{
    const char *language = point->piece_count == 4 ? point_piece(point, 2) : NULL;
    return language && !strcmp(language, "cpp");
}

/* BINARY@FILE:LINE[:COLUMN] */
static bool uprobe_is_line(const struct attach_point *point)
{
    const char *binary = point->piece_count > 2 && !point->pieces[1].quoted ? point_piece(point, 1) : NULL;
    const char *file = binary ? strrchr(binary, '@') : NULL;
    uint64_t line;
    return file && point_piece(point, 2) && point_number(point_piece(point, 2), &line) &&
           access(binary, F_OK);
}

static int uprobe_expand_line(const struct probe_kind *kind, struct probe_environment *environment,
                              const struct attach_point *point, struct probe_sites *sites)
{
    struct arena *arena = environment->arena;
    uint64_t line = 0, column = 0;
    if (!point_count(environment, kind, point, 2, 3))
        return -EINVAL;
    const char *third = point->piece_count > 3 ? point_piece(point, 3) : NULL;
    if (is_return(kind)) {
        diagnose_error(environment->diagnostics, point->span,
                       "uretprobe needs a function's name, not a line");
        diagnose_hint(environment->diagnostics, "a line does not return; a uprobe fires at it");
        return -EINVAL;
    }
    if (!point_number(point_piece(point, 2), &line) || line > INT32_MAX || !line ||
        (point->piece_count > 3 &&
         (!third || !point_number(third, &column) || column > INT32_MAX || !column))) {
        diagnose_error(environment->diagnostics, point->span, "'%s' is not a line of source", point->text);
        diagnose_hint(environment->diagnostics,
                      "write uprobe:BINARY@FILE:LINE or uprobe:BINARY@FILE:LINE:COLUMN");
        return -EINVAL;
    }
    const char *word = point_piece(point, 1), *mark = strrchr(word, '@');
    struct attach_point binary = *point;
    binary.pieces = arena_array(arena, point->piece_count, sizeof *binary.pieces);
    memcpy(binary.pieces, point->pieces, point->piece_count * sizeof *binary.pieces);
    binary.pieces[1].text = arena_copy(arena, word, (size_t)(mark - word));
    struct uprobe_search search = {
        .environment = environment,
        .kind = kind,
        .point = point,
        .piece = 2,
        .sites = sites,
        .line = third ? arena_printf(arena, "%s:%llu:%llu", mark + 1, (unsigned long long)line,
                                     (unsigned long long)column)
                      : arena_printf(arena, "%s:%llu", mark + 1, (unsigned long long)line)};
    struct uprobe_line wanted = {mark + 1, (unsigned)line, (unsigned)column, &search};
    return user_each_file(environment, kind, &binary, 1, false, uprobe_line_file, &wanted);
}

/* Whether a path leads to a file without an ELF header: machine code alone, such as what a program has generated. */
static bool is_raw_code(const char *path, uint64_t *size)
{
    char magic[SELFMAG];
    struct stat status;
    int file = path && strchr(path, '/') ? foreign_open(path) : -ENOENT;
    if (file < 0)
        return false;
    bool is_raw = !fstat(file, &status) && (pread(file, magic, sizeof magic, 0) != sizeof magic ||
                                            memcmp(magic, ELFMAG, SELFMAG) != 0);
    *size = is_raw ? (uint64_t)status.st_size : 0;
    close(file);
    return is_raw;
}

/* A place in machine code without an ELF header. Nothing tells where its instructions begin, so this needs --unsafe: a
 * breakpoint in the middle of one breaks the program. */
static int uprobe_raw(struct uprobe_search *search, const char *text, uint64_t offset, uint64_t size)
{
    struct diagnostics *diagnostics = search->environment->diagnostics;
    struct span span = point_span(search->point, search->piece);
    if (!search->environment->is_unsafe) {
        diagnose_error(diagnostics, span, "'%s' has no ELF header: nothing says where its instructions begin",
                       search->shown);
        diagnose_hint(diagnostics,
                      "with --unsafe the probe is put there, and must be at the beginning of one");
        return -EINVAL;
    }
    if (offset >= size) {
        diagnose_error(diagnostics, span, "%s lies outside of '%s', which has %llu bytes", text,
                       search->shown, (unsigned long long)size);
        return -EINVAL;
    }
    struct uprobe_detail *site = arena_new(search->environment->arena, struct uprobe_detail);
    site->user = (struct user_site){.path = search->path, .offset = offset};
    site->function = arena_new(search->environment->arena, const struct dwarf_function *);
    probe_site_add(
        search->environment, search->sites, search->point,
        arena_printf(search->environment->arena, "%s:%s:%s", search->kind->name, search->shown, text), NULL,
        site);
    return 0;
}

static int uprobe_expand(const struct probe_kind *kind, struct probe_environment *environment,
                         const struct attach_point *point, struct probe_sites *sites)
{
    bool is_cpp = uprobe_is_cpp(point);
    if (uprobe_is_line(point))
        return uprobe_expand_line(kind, environment, point, sites);
    if (!point_count(environment, kind, point, environment->process_count ? 1 : 2, is_cpp ? 3 : 2))
        return -EINVAL;
    size_t last = point->piece_count - 1;
    const char *text = point_piece(point, last);
    if (!text) {
        diagnose_error(environment->diagnostics, point->span, "%s needs a function: %s", kind->name,
                       kind->forms);
        return -EINVAL;
    }
    uint64_t ignored, offset, size;
    const char *path = last == 2 ? point_piece(point, 1) : NULL;
    struct uprobe_search search = {
        .environment = environment,
        .kind = kind,
        .point = point,
        .piece = last,
        .is_cpp = is_cpp,
        .sites = sites,
        .nearest = {.name =
                        point->pieces[last].quoted ? text : point_split_offset(environment, text, &ignored)},
    };
    if (!is_return(kind) && !point->pieces[last].quoted && point_number(text, &offset) &&
        is_raw_code(path, &size)) {
        search.path = search.shown = path;
        return uprobe_raw(&search, text, offset, size);
    }
    size_t before = sites->count, errors = environment->diagnostics->errors;
    int error =
        user_each_file(environment, kind, point, is_cpp ? last - 2 : last - 1, false, uprobe_file, &search);
    if (!error && sites->count == before)
        error = point_no_match(environment, kind, point, &search.nearest);
    else if (error && environment->diagnostics->errors == errors)
        diagnose_error(environment->diagnostics, point->span, "%s: %s", point->text, strerror(-error));
    return error;
}

/* ---- what a block reads ---- */

static void uprobe_key(struct probe_environment *environment, const struct context_uses *uses,
                       const struct probe_site *site, struct text *key)
{
    call_key(environment, uses, site, key);
    uprobe_debug_key(environment, uses, site->detail, !strncmp(site->name, "uretprobe", 9), key);
}

static void uprobe_fill(struct probe_environment *environment, const struct context_uses *uses,
                        struct probe_variant *variant)
{
    struct probe_context *context = &variant->context;
    user_context(environment, uses, variant);
    context->is_entry = !is_return(variant->kind);
    for (size_t i = 0; i < variant->count; i++)
        context->is_entry &= ((const struct user_site *)variant->sites[i].detail)->is_entry;
    call_values(environment, context, is_return(variant->kind), NULL);
    uprobe_debug_fill(environment, uses, variant->sites[0].detail, is_return(variant->kind), context);
}

static int uprobe_plan(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct context_uses *uses, const struct probe_sites *sites,
                       struct probe_variants *variants)
{
    return probe_plan_grouped(kind, environment, uses, sites, variants,
                              uses->symbols || user_sites_apart(environment, uses), uprobe_key, uprobe_fill);
}

static int uprobe_attach(struct probe_environment *environment, struct kernel *kernel,
                         const struct probe_variant *variant, struct attach_request *request)
{
    return user_attach(kernel, environment, variant, request, is_return(variant->kind));
}

/* ---- listing ---- */

struct uprobe_listing {
    struct probe_environment *environment;
    const struct probe_kind *kind;
    const struct attach_point *pattern;
    size_t piece; /* the piece that names functions; 0: all functions are listed */
    bool is_cpp;
    struct text line;
    struct arena *arena;
    struct uprobe_listed {
        const char *name;
        uint64_t address;
    } * names;
    size_t count, room;
    bool verbose;
    struct text details;
    probe_visitor *visit;
    void *state;
};

static int uprobe_list_cpp(void *state, const struct elf_symbol *symbol, const char *demangled)
{
    struct uprobe_listing *listing = state;
    const char *pattern = point_piece(listing->pattern, listing->piece);
    if (!pattern || cpp_matches(pattern, demangled))
        *arena_push(listing->arena, listing->names, listing->count, listing->room) =
            (struct uprobe_listed){arena_printf(listing->arena, "cpp:\"%s\"", demangled), symbol->address};
    return 0;
}

static int uprobe_list_function(void *state, const struct elf_symbol *symbol)
{
    struct uprobe_listing *listing = state;
    if (!listing->piece || point_matches(listing->pattern, listing->piece, symbol->name))
        *arena_push(listing->arena, listing->names, listing->count, listing->room) =
            (struct uprobe_listed){symbol->name, symbol->address};
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    const struct uprobe_listed *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* The walk is by address; people look for names. */
static int uprobe_list_file(void *state, struct elf_file *file, const char *path, const char *shown)
{
    struct uprobe_listing *listing = state;
    struct dwarf_file *dwarf =
        listing->verbose ? probe_dwarf(listing->environment, path, user_origin(listing->environment, file))
                         : NULL;
    listing->count = 0;
    int error = listing->is_cpp ? demangle_each_function(file, uprobe_list_cpp, listing)
                                : elf_file_each_function(file, NULL, uprobe_list_function, listing);
    if (listing->count)
        qsort(listing->names, listing->count, sizeof *listing->names, compare_names);
    for (size_t i = 0; i < listing->count && !error; i++) {
        if (i && !strcmp(listing->names[i].name, listing->names[i - 1].name))
            continue;
        text_clear(&listing->line);
        text_printf(&listing->line, "%s:%s:%s", listing->kind->name, shown, listing->names[i].name);
        if (dwarf)
            uprobe_debug_list(dwarf, listing->names[i].address, is_return(listing->kind), &listing->details);
        error = listing->visit(listing->state, text_string(&listing->line),
                               dwarf ? text_string(&listing->details) : NULL);
    }
    return error;
}

static int uprobe_list(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    bool is_vague = point_is_pattern(pattern, 0), is_cpp = uprobe_is_cpp(pattern);
    const bool is_all = pattern->piece_count == 2 && !strcmp(pattern->pieces[1].text, "*");
    struct attach_piece every[] = {{.text = kind->name}, {.text = "*"}, {.text = "*"}};
    struct attach_point whole = *pattern;
    if (is_all && environment->process_count && !is_vague) { /* the functions of what they have mapped */
        whole.pieces = every;
        whole.piece_count = 3;
        pattern = &whole;
    }
    size_t binary = pattern->piece_count == 2 && environment->process_count && is_vague ? 0 : 1;
    /* Without a binary there is no file to search: all functions of all programs would not be a useful list. */
    if (pattern->piece_count < 2 || (pattern->piece_count == 2 && ((binary && is_vague) || is_all)))
        return 0;
    struct uprobe_listing listing = {.kind = kind,
                                     .pattern = pattern,
                                     .piece = is_cpp                                ? 3
                                              : pattern->piece_count == 2 && binary ? 0
                                                                                    : binary + 1,
                                     .is_cpp = is_cpp,
                                     .environment = environment,
                                     .arena = environment->arena,
                                     .verbose = verbose,
                                     .visit = visit,
                                     .state = state};
    int error = user_each_file(environment, kind, pattern, binary, is_vague, uprobe_list_file, &listing);
    if (error == -ENOENT && is_vague)
        error = 0;
    text_free(&listing.line);
    text_free(&listing.details);
    return error;
}

const struct probe_kind probe_kind_uprobe = {
    .name = "uprobe",
    .needs = (const char *const[]){"uprobe", NULL},
    .aliases = (const char *const[]){"u", NULL},
    .forms = "uprobe:BINARY:FUNCTION[+OFFSET], uprobe:BINARY:ADDRESS, uprobe:BINARY@FILE:LINE or "
             "uprobe:BINARY:cpp:\"NAME\"",
    .what = "a function of a program or library is called",
    .expand = uprobe_expand,
    .plan = uprobe_plan,
    .is_in_files = true,
    .newest_first = true,
    .attach = uprobe_attach,
    .list = uprobe_list,
};

const struct probe_kind probe_kind_uretprobe = {
    .name = "uretprobe",
    .needs = (const char *const[]){"uprobe", NULL},
    .aliases = (const char *const[]){"ur", NULL},
    .forms = "uretprobe:BINARY:FUNCTION or uretprobe:BINARY:cpp:\"NAME\"",
    .what = "a function of a program or library returns",
    .expand = uprobe_expand,
    .plan = uprobe_plan,
    .is_in_files = true,
    .newest_first = true,
    .attach = uprobe_attach,
    .list = uprobe_list,
};
