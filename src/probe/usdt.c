/* SPDX-License-Identifier: BSD-3-Clause */
/* usdt: probes that a program's author placed. Each site says in its note where its arguments are, and sites
 * of one probe may differ; sites whose arguments (of those that the block reads) lie at the same places share
 * a variant. lower_argument and the form's text in the key must say the same things. */
#include <ctype.h>
#include <string.h>

#include "base/terminal.h"
#include "bpf/lower/lower.h"
#include "kernel/pad.h"
#include "probe/all.h"
#include "probe/point.h"
#include "probe/program.h"
#include "probe/user.h"
#include "sym/machine/machine.h"
#include "sym/elf/usdt.h"

struct usdt_detail {
    struct user_site user; /* first: what user.c reads */
    uint64_t address;      /* the address that the note names … */
    uint64_t note_offset;  /* … and its offset in the file */
    bool has_pads;         /* longer nops follow, which may be faster to probe: kernel/pad.h */
    struct usdt_arguments arguments;
    const struct usdt_declared *declared; /* arguments.count of them, or NULL */
    /* What the program's debug information says of them; a type of NULL: nothing. NULL: it has none. */
    const struct dwarf_expression *debug_types;
    bool types_read;
};

struct usdt_search {
    struct probe_environment *environment;
    const struct probe_kind *kind;
    const struct attach_point *point;
    size_t provider, name; /* the pieces that name them; provider 0: any */
    struct probe_sites *sites;
    struct elf_file *file;
    const char *path, *shown;
    const struct elf_origin *origin;
    struct nearest nearest;
    size_t probes; /* how many probes all the files have, matching or not */
};

static const struct usdt_declared *usdt_declared_copy(struct arena *arena, const struct usdt_site *site,
                                                      unsigned count)
{
    if (!site->declared_count || site->declared_count < count)
        return NULL;
    struct usdt_declared *declared = arena_array(arena, site->declared_count, sizeof *declared);
    for (unsigned i = 0; i < site->declared_count; i++) {
        const char *type = site->declared[i].type;
        type = strcmp(type, "_Bool") ? type : "bool"; /* what the author wrote is a macro in C */
        declared[i] =
            (struct usdt_declared){arena_strdup(arena, type), arena_strdup(arena, site->declared[i].name)};
    }
    return declared;
}

static struct usdt_detail *usdt_detail_new(const struct usdt_search *search, const struct usdt_site *site)
{
    struct arena *arena = search->environment->arena;
    struct elf_file *file = search->file;
    struct usdt_detail *detail = arena_new(arena, struct usdt_detail);
    uint64_t base = elf_file_base(file);
    detail->user = (struct user_site){.path = search->path,
                                      .origin = search->origin,
                                      .offset = base + site->offset,
                                      .semaphore = site->semaphore_offset ? base + site->semaphore_offset : 0,
                                      .address = site->address};
    detail->address = site->address;
    detail->note_offset = base + site->offset;
    /* A note that cannot be read leaves a probe that fires, with no arguments. */
    if (usdt_site_arguments(file, site, &detail->arguments))
        detail->arguments.count = 0;
    uint8_t code[PADS_BYTES];
    detail->has_pads = site->is_declared && !elf_file_read(file, site->offset, code, sizeof code) &&
                       pad_found(code, sizeof code);
    /* What lies at a distance from the instruction would have to be counted from elsewhere. */
    for (unsigned i = 0; i < detail->arguments.count; i++)
        detail->has_pads &= !detail->arguments.items[i].is_pc_relative;
    detail->declared = usdt_declared_copy(arena, site, detail->arguments.count);
    return detail;
}

static int usdt_site_visit(void *state, const struct usdt_site *site)
{
    struct usdt_search *search = state;
    struct arena *arena = search->environment->arena;
    search->probes++;
    if (!point_matches(search->point, search->name, site->name) ||
        (search->provider && !point_matches(search->point, search->provider, site->provider))) {
        const char *before = search->nearest.best;
        nearest_offer(&search->nearest, site->name);
        if (search->nearest.best != before)
            search->nearest.best = arena_strdup(arena, site->name);
        return 0;
    }
    probe_site_add(search->environment, search->sites, search->point,
                   arena_printf(arena, "usdt:%s:%s:%s", search->shown, site->provider, site->name), NULL,
                   usdt_detail_new(search, site));
    return 0;
}

static int usdt_file(void *state, struct elf_file *file, const char *path, const char *shown)
{
    struct usdt_search *search = state;
    struct usdt_probes probes = {0};
    int error = usdt_read(file, &probes);
    search->file = file;
    search->path = path;
    search->origin = user_origin(search->environment, file);
    search->shown = shown;
    if (error == -ENOMEM)
        return error;
    if (!error)
        error = usdt_each(&probes, NULL, NULL, usdt_site_visit, search);
    else
        error = 0; /* notes that make no sense are no probes; what is missing is said by the caller */
    if (probes.damaged)
        diagnose_warning(search->environment->diagnostics, search->point->span,
                         "%zu of the USDT notes in '%s' make no sense and are left out", probes.damaged,
                         shown);
    usdt_free(&probes);
    return error;
}

/* With -p the binary may be left out, so PROVIDER:NAME and BINARY:NAME look alike: it is a binary if there is
 * such a file. */
static int usdt_files(struct usdt_search *search, user_file_visitor *visit)
{
    struct probe_environment *environment = search->environment;
    const struct attach_point *point = search->point;
    struct attach_piece everywhere[] = {{.text = "usdt"}, {.text = "*"}};
    struct attach_point mapped = *point;
    mapped.pieces = everywhere;
    mapped.piece_count = 2;
    if (point->piece_count == 2 || !point_piece(point, 1))
        return user_each_file(environment, search->kind, environment->process_count ? &mapped : point,
                              environment->process_count ? 1 : 0, false, visit, search);
    bool may_be_provider =
        environment->process_count && point->piece_count == 3 && !strchr(point_piece(point, 1), '/');
    int error = user_each_file(environment, search->kind, point, 1, may_be_provider, visit, search);
    if (error != -ENOENT || !may_be_provider || search->probes)
        return error;
    search->provider = 1;
    return user_each_file(environment, search->kind, &mapped, 1, false, visit, search);
}

static int usdt_expand(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, environment->process_count ? 1 : 2, 3))
        return -EINVAL;
    size_t last = point->piece_count - 1;
    if (!point_piece(point, last)) {
        diagnose_error(environment->diagnostics, point->span, "usdt needs a probe's name: %s", kind->forms);
        return -EINVAL;
    }
    struct usdt_search search = {
        .environment = environment,
        .kind = kind,
        .point = point,
        .provider = last == 3 ? 2 : 0,
        .name = last,
        .sites = sites,
        .nearest = {.name = point_piece(point, last)},
    };
    size_t before = sites->count, errors = environment->diagnostics->errors;
    int error = usdt_files(&search, usdt_file);
    if (!error && sites->count == before) {
        error = point_no_match(environment, kind, point, &search.nearest);
        if (!search.probes)
            diagnose_hint(environment->diagnostics,
                          "there is no USDT probe at all: the program may have been built without them");
    } else if (error && environment->diagnostics->errors == errors) {
        diagnose_error(environment->diagnostics, point->span, "%s: %s", point->text, strerror(-error));
    }
    return error;
}

/* ---- types ---- */

/* The type that the author wrote, as far as it says more than width and sign: pointers and bool. */
static const struct type *usdt_declared_type(struct arena *arena, const char *text)
{
    static const struct {
        const char *name;
        const struct type *type;
    } targets[] = {
        {"char", &type_i8},           {"signed char", &type_i8},
        {"int8_t", &type_i8},         {"unsigned char", &type_u8},
        {"uint8_t", &type_u8},        {"short", &type_i16},
        {"int16_t", &type_i16},       {"unsigned short", &type_u16},
        {"uint16_t", &type_u16},      {"int", &type_i32},
        {"int32_t", &type_i32},       {"unsigned", &type_u32},
        {"unsigned int", &type_u32},  {"uint32_t", &type_u32},
        {"long", &type_i64},          {"long long", &type_i64},
        {"int64_t", &type_i64},       {"ssize_t", &type_i64},
        {"unsigned long", &type_u64}, {"uint64_t", &type_u64},
        {"size_t", &type_u64},        {"unsigned long long", &type_u64},
        {"bool", &type_bool},         {"_Bool", &type_bool},
    };
    char word[64];
    size_t length = 0;
    unsigned stars = 0;
    for (const char *p = text; *p;) { /* words joined by one blank, without qualifiers */
        size_t n = strcspn(p, " \t*");
        bool skip = !n || (n == 5 && !strncmp(p, "const", n)) || (n == 8 && !strncmp(p, "volatile", n)) ||
                    (n == 8 && !strncmp(p, "restrict", n));
        if (!skip && length + n + 2 < sizeof word) {
            if (length)
                word[length++] = ' ';
            memcpy(word + length, p, n);
            length += n;
        }
        p += n;
        if (*p)
            stars += *p++ == '*';
    }
    word[length] = 0;
    const struct type *type = NULL;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (!strcmp(word, targets[i].name))
            type = targets[i].type;
    if (!stars)
        return type == &type_bool ? type : NULL;
    if (!type)
        type = &type_none;
    for (unsigned i = 0; i < stars && i < 4; i++)
        type = type_pointer(arena, type, SPACE_USER);
    struct type *named = arena_new(arena, struct type);
    *named = *type;
    named->name = text; /* it is only printed, before the address, so it may be any text */
    return named;
}

/* From the place that the note gives to the variable that is there. */
static bool usdt_expression(struct dwarf_file *file, const struct usdt_detail *detail,
                            const struct usdt_argument *argument, struct dwarf_expression *out)
{
    struct dwarf_operand operand = {.where = argument->kind == USDT_MEMORY ? DWARF_MEMORY : DWARF_REGISTERS,
                                    .is_static = argument->is_pc_relative,
                                    .base = argument->base,
                                    .offset = argument->displacement,
                                    .size = argument->size,
                                    .is_signed = argument->is_signed};
    bool is_place = argument->kind == USDT_REGISTER ||
                    (argument->kind == USDT_MEMORY && !argument->has_index && !argument->is_indirect_symbol &&
                     (argument->has_base || argument->is_pc_relative));
    return is_place && !argument->is_float && !dwarf_file_operand(file, detail->address, &operand, out);
}

/* Asked when args is read: a declared probe knows better. */
static const struct dwarf_expression *usdt_debug_types(struct probe_environment *environment,
                                                       const struct usdt_detail *asked)
{
    struct usdt_detail *detail = (struct usdt_detail *)asked;
    struct dwarf_file *file = detail->types_read || detail->declared || !detail->arguments.count
                                  ? NULL
                                  : probe_dwarf(environment, detail->user.path, detail->user.origin);
    detail->types_read = true;
    if (!file)
        return detail->debug_types;
    struct dwarf_expression *debug_types =
        arena_array(environment->arena, detail->arguments.count, sizeof *debug_types);
    for (unsigned i = 0; i < detail->arguments.count; i++)
        if (!usdt_expression(file, detail, &detail->arguments.items[i], &debug_types[i]))
            debug_types[i] = (struct dwarf_expression){0};
    return detail->debug_types = debug_types;
}

/* The name of an argument as a field of args. */
static const char *usdt_name(const struct usdt_detail *detail, unsigned number)
{
    static const char *const numbered[USDT_ARGUMENTS_MAX] = {
        "arg0", "arg1", "arg2",  "arg3",  "arg4",  "arg5",  "arg6",  "arg7",
        "arg8", "arg9", "arg10", "arg11", "arg12", "arg13", "arg14", "arg15"};
    return detail->declared ? detail->declared[number].name : numbered[number];
}

static const struct type *usdt_type(struct arena *arena, const struct usdt_detail *detail, unsigned number)
{
    const struct usdt_argument *argument = &detail->arguments.items[number];
    if (argument->kind == USDT_UNSUPPORTED || argument->is_float)
        return NULL;
    const struct type *type =
        detail->declared ? usdt_declared_type(arena, detail->declared[number].type) : NULL;
    return type && type->size == argument->size ? type : type_integer(argument->size, argument->is_signed);
}

/* ---- grouping ---- */

static bool usdt_reads(const struct context_uses *uses, const struct usdt_detail *detail, unsigned number)
{
    if (number < 31 ? uses->arguments & 1u << number : uses->arguments >> 31)
        return true;
    if (!uses->args)
        return false;
    if (uses->all_fields)
        return true;
    for (const char *const *name = uses->fields; name && *name; name++)
        if (!strcmp(*name, usdt_name(detail, number)))
            return true;
    return false;
}

/* Where a pc-relative operand lies, seen from the site: what the program adds to the instruction pointer. */
static int64_t usdt_distance(const struct usdt_detail *detail, const struct usdt_argument *argument)
{
    return (int64_t)((uint64_t)argument->displacement - detail->address);
}

static void usdt_key(struct probe_environment *environment, const struct context_uses *uses,
                     const struct probe_site *site, struct text *key)
{
    const struct usdt_detail *detail = site->detail;
    const struct dwarf_expression *debug_types = uses->args ? usdt_debug_types(environment, detail) : NULL;
    if (user_sites_apart(environment, uses))
        text_printf(key, "%s ", site->name);
    if (uses->arguments || uses->args)
        text_printf(key, "%u%s", detail->arguments.count, detail->declared ? "+" : debug_types ? "*" : "-");
    for (unsigned i = 0; i < detail->arguments.count; i++) {
        const struct usdt_argument *a = &detail->arguments.items[i];
        if (!usdt_reads(uses, detail, i))
            continue;
        text_printf(key, "|%u:%d:%u:%d:%d:", i, (int)a->kind, a->size, a->is_signed, a->is_float);
        if (detail->declared)
            text_printf(key, "%s %s:", detail->declared[i].type, detail->declared[i].name);
        if (debug_types)
            text_printf(key, "%p:", (const void *)debug_types[i].type);
        if (a->kind == USDT_CONSTANT)
            text_printf(key, "%lld", (long long)a->constant);
        else if (a->kind == USDT_REGISTER)
            text_printf(key, "%u.%u", a->base.offset, a->base.width);
        else if (a->kind == USDT_MEMORY && a->is_pc_relative)
            text_printf(key, "pc%lld", (long long)usdt_distance(detail, a));
        else if (a->kind == USDT_MEMORY)
            text_printf(key, "%d.%u.%u %d.%u.%u %u %lld", a->has_base, a->base.offset, a->base.width,
                        a->has_index, a->index.offset, a->index.width, a->scale, (long long)a->displacement);
    }
}

/* ---- what a block reads ---- */

static struct ir *usdt_register(struct lowering *l, struct machine_register from, unsigned size,
                                bool is_signed)
{
    return ir_load(&l->b, lower_ctx(l), from.offset, from.width < size ? from.width : size, is_signed);
}

static struct ir *usdt_address(struct lowering *l, const struct usdt_detail *detail,
                               const struct usdt_argument *a)
{
    if (a->is_pc_relative) {
        /* At the site the instruction pointer is the site's address plus the load bias. */
        struct ir *ip = usdt_register(l, machine_register_instruction(machine_here()), 8, false);
        return ir_binary_constant(&l->b, IR_ADD, ip, usdt_distance(detail, a));
    }
    struct ir *address = a->has_base ? usdt_register(l, a->base, 8, false) : NULL;
    if (a->has_index) {
        struct ir *index = usdt_register(l, a->index, 8, false);
        if (a->scale > 1)
            index = ir_binary_constant(&l->b, IR_MUL, index, a->scale);
        address = address ? ir_binary(&l->b, IR_ADD, address, index) : index;
    }
    if (!address)
        return ir_constant(&l->b, a->displacement);
    return a->displacement ? ir_binary_constant(&l->b, IR_ADD, address, a->displacement) : address;
}

static struct ir *usdt_argument(struct lowering *l, const struct probe_context *context, unsigned number)
{
    const struct usdt_detail *detail = context->data;
    const struct usdt_argument *a = &detail->arguments.items[number];
    switch (a->kind) {
    case USDT_CONSTANT: return ir_extend(&l->b, ir_constant(&l->b, a->constant), a->size, a->is_signed);
    case USDT_REGISTER: return usdt_register(l, a->base, a->size, a->is_signed);
    case USDT_MEMORY:
        return lower_read_scalar(l, usdt_address(l, detail, a), context->arguments[number], SPACE_USER,
                                 l->b.span);
    case USDT_UNSUPPORTED: break; /* never lowered: its type is NULL, which the checker refuses */
    }
    return ir_constant(&l->b, 0);
}

/* In our struct of arguments a field's offset is 8 * its number. */
static struct ir *usdt_field(struct lowering *l, const struct probe_context *context,
                             const struct field *field)
{
    return usdt_argument(l, context, field->offset / 8);
}

static const struct type *usdt_args(struct arena *arena, const struct probe_site *site,
                                    const struct type *const *types)
{
    const struct usdt_detail *detail = site->detail;
    struct field *fields = arena_array(arena, detail->arguments.count + 1, sizeof *fields);
    struct type *args = arena_new(arena, struct type);
    args->kind = TYPE_STRUCT;
    args->name = site->name;
    args->fields = fields;
    for (unsigned i = 0; i < detail->arguments.count; i++)
        if (types[i])
            fields[args->count++] = (struct field){.name = usdt_name(detail, i),
                                                   .type = detail->debug_types && detail->debug_types[i].type
                                                               ? detail->debug_types[i].type
                                                               : types[i],
                                                   .offset = 8 * i};
    args->size = 8 * detail->arguments.count;
    return args;
}

static void usdt_fill(struct probe_environment *environment, const struct context_uses *uses,
                      struct probe_variant *variant)
{
    const struct usdt_detail *detail = variant->sites[0].detail;
    struct probe_context *context = &variant->context;
    unsigned count = detail->arguments.count;
    user_context(environment, uses, variant);
    const struct type **types = arena_array(environment->arena, count + 1, sizeof *types);
    for (unsigned i = 0; i < count; i++)
        types[i] = usdt_type(environment->arena, detail, i);
    for (unsigned i = 0; i < count; i++)
        context->reads_memory |= detail->arguments.items[i].kind == USDT_MEMORY &&
                                 (uses->args || uses->arguments & 1u << (i < 31 ? i : 31));
    context->data = detail;
    context->arguments = types;
    context->argument_count = count;
    context->lower_argument = usdt_argument;
    if (detail->declared || (uses->args && usdt_debug_types(environment, detail))) {
        context->args = usdt_args(environment->arena, &variant->sites[0], types);
        context->lower_args_field = usdt_field;
    } else {
        context->args_missing =
            detail->arguments.count
                ? "the probe's note names no arguments, and the program has no debug information "
                  "that could; arg0 is the first one"
                : "the probe has no arguments";
    }
}

static int usdt_plan(const struct probe_kind *kind, struct probe_environment *environment,
                     const struct context_uses *uses, const struct probe_sites *sites,
                     struct probe_variants *variants)
{
    return probe_plan_grouped(kind, environment, uses, sites, variants, uses->symbols, usdt_key, usdt_fill);
}

/* Kernels replace an instruction only if it lies within one page. */
static uint64_t usdt_pad_offset(const struct usdt_detail *detail, enum pad pad)
{
    enum { PAGE = 4096 };
    uint64_t offset = detail->note_offset + pad_forms[pad].offset;
    return offset % PAGE + pad_forms[pad].size > PAGE ? detail->note_offset : offset;
}

static int usdt_attach(struct probe_environment *environment, struct kernel *kernel,
                       const struct probe_variant *variant, struct attach_request *request)
{
    for (size_t i = 0; i < variant->count; i++) {
        struct usdt_detail *detail = (struct usdt_detail *)variant->sites[i].detail;
        if (detail->has_pads)
            detail->user.offset = usdt_pad_offset(detail, kernel_pad(kernel));
    }
    return user_attach(kernel, environment, variant, request, false);
}

/* ---- listing ---- */

struct usdt_listing {
    struct usdt_search search; /* first */
    bool verbose;
    struct text line, previous, details;
    struct usdt_detail *detail; /* details of the probe that is being listed */
    size_t sites;
    bool is_proved; /* which pad is used was proved */
    enum pad pad;
    probe_visitor *visit;
    void *state;
};

/* Which pad of a declared probe would be used, if that may be tried; NULL: it is not known, or always the same. */
static const char *usdt_list_pad(struct usdt_listing *listing)
{
    if (!listing->detail->has_pads)
        return NULL;
    if (!listing->is_proved) {
        struct pad_proof proof;
        pad_prove(&proof);
        pad_proof_close(&proof);
        listing->pad = proof.pad;
        listing->is_proved = true;
    }
    return listing->pad == PAD_NOP1 ? NULL : pad_forms[listing->pad].name;
}

/* As C writes it: the asterisk stands with the name. */
static void usdt_list_argument(struct text *out, const char *type, const char *name, const char *expression)
{
    size_t length = strlen(type);
    bool is_pointer = length && type[length - 1] == '*';
    terminal_print(out, "    %s%s%s%s%s\n", type, is_pointer ? "" : " ", name, expression ? "  # " : "",
                   expression ? expression : "");
}

/* The probe that was collected; its sites came one after another. */
static int usdt_list_flush(struct usdt_listing *listing)
{
    if (!listing->sites)
        return 0;
    struct probe_environment *environment = listing->search.environment;
    struct arena *arena = environment->arena;
    text_clear(&listing->details);
    const struct usdt_detail *detail = listing->detail;
    for (unsigned i = 0; listing->verbose && i < detail->arguments.count; i++) {
        const struct type *type = usdt_type(arena, detail, i);
        const struct dwarf_expression *debug_types = usdt_debug_types(environment, detail);
        bool has_type = debug_types && debug_types[i].type;
        usdt_list_argument(&listing->details,
                           detail->declared ? detail->declared[i].type
                           : has_type       ? debug_types[i].spelling
                           : type           ? type_text(arena, type)
                                            : "unreadable",
                           usdt_name(detail, i), has_type ? debug_types[i].text : NULL);
    }
    if (listing->verbose) {
        const char *pad = usdt_list_pad(listing);
        terminal_print(&listing->details, "    # %zu site%s%s%s%s\n", listing->sites,
                       listing->sites == 1 ? "" : "s", detail->user.semaphore ? ", semaphore" : "",
                       pad ? ", at the " : "", pad ? pad : "");
    }
    listing->sites = 0;
    return listing->visit(listing->state, text_string(&listing->previous),
                          listing->verbose ? text_string(&listing->details) : NULL);
}

static int usdt_list_site(void *state, const struct usdt_site *site)
{
    struct usdt_listing *listing = state;
    struct usdt_search *search = &listing->search;
    int error = 0;
    search->probes++;
    if ((search->name && !point_matches(search->point, search->name, site->name)) ||
        (search->provider && !point_matches(search->point, search->provider, site->provider)))
        return 0;
    text_clear(&listing->line);
    text_printf(&listing->line, "usdt:%s:%s:%s", search->shown, site->provider, site->name);
    if (listing->sites && strcmp(text_string(&listing->line), text_string(&listing->previous)) != 0)
        error = usdt_list_flush(listing);
    if (!listing->sites++) {
        text_clear(&listing->previous);
        text_add(&listing->previous, text_string(&listing->line));
        listing->detail = usdt_detail_new(search, site);
    }
    return error;
}

static int usdt_list_file(void *state, struct elf_file *file, const char *path, const char *shown)
{
    struct usdt_listing *listing = state;
    struct usdt_probes probes = {0};
    listing->search.file = file;
    listing->search.path = path;
    listing->search.origin = user_origin(listing->search.environment, file);
    listing->search.shown = shown;
    int error = usdt_read(file, &probes);
    error = error == -ENOMEM ? error : error ? 0 : usdt_each(&probes, NULL, NULL, usdt_list_site, listing);
    if (!error)
        error = usdt_list_flush(listing);
    usdt_free(&probes);
    return error;
}

static int usdt_list(const struct probe_kind *kind, struct probe_environment *environment,
                     const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    bool is_vague = point_is_pattern(pattern, 0);
    size_t pieces = pattern->piece_count;
    /* A bare word may be a file (usdt:./x) or, with -p, a probe's name. */
    bool is_file = pieces == 2 && (!environment->process_count || strchr(pattern->pieces[1].text, '/'));
    if (!environment->process_count && (pieces < 2 || (pieces == 2 && is_vague)))
        return 0;
    struct usdt_listing listing = {
        .search = {.environment = environment,
                   .kind = kind,
                   .point = pattern,
                   .provider = pieces == 4 ? 2 : 0,
                   .name = is_file ? 0 : pieces - 1},
        .verbose = verbose,
        .visit = visit,
        .state = state,
    };
    int error = is_file ? user_each_file(environment, kind, pattern, 1, is_vague, usdt_list_file, &listing)
                        : usdt_files(&listing.search, usdt_list_file);
    if (error == -ENOENT && is_vague)
        error = 0;
    text_free(&listing.line);
    text_free(&listing.previous);
    text_free(&listing.details);
    return error;
}

const struct probe_kind probe_kind_usdt = {
    .name = "usdt",
    .needs = (const char *const[]){"uprobe", NULL},
    .aliases = (const char *const[]){"U", NULL},
    .forms = "usdt:BINARY:[PROVIDER:]NAME",
    .what = "a probe that a program's author placed",
    .expand = usdt_expand,
    .plan = usdt_plan,
    .is_in_files = true,
    .shares_names = true,
    .newest_first = true,
    .attach = usdt_attach,
    .list = usdt_list,
};
