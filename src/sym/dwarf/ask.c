/* SPDX-License-Identifier: BSD-3-Clause */
/* See dwarf.h. The debug information of each program is read by a service of its own, without privileges
 * (dwarf/service.c); this file asks it, and checks its answers. When the service dies, or takes too long, there are
 * no more answers about this program. */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/open_foreign.h"
#include "sym/apart.h"
#include "sym/dwarf/private.h"
#include "sym/type_wire.h"

enum {
    PATIENCE_MS = (DWARF_SECONDS_MAX + 30) * 1000,
    SILENT_MS = 1000, /* nothing is reported of what takes less */
    KEPT = 4
};
#define MEMORY ((uint64_t)4 << 30) /* of address space, besides that for files, which are mapped */

struct dwarf_file {
    struct dwarf_options options;
    struct dwarf_source source;
    struct apart *child;
    struct dwarf_service *service;
    int keep[KEPT + 1];
    struct type_hearer types;
    /* the last answer. It is kept here because an arena that runs out of memory jumps over the code that would free
     * it. */
    struct apart_answer answer;
    struct text question;
    uint64_t waited_ns; /* for all answers */
    bool is_told;       /* it was reported that reading takes long */
    bool is_lost;       /* it was reported that the service has ended */
};

/* ---- notices ---- */

static void report_progress(struct dwarf_file *file, const char *line, bool is_problem)
{
    if (file->options.report)
        file->options.report(file->options.state, line, is_problem);
}

/* What is to be done about a part with that name, which was compiled in `directory`. */
static const char *remedy(struct arena *arena, const char *name, const char *directory)
{
    if (*name == '/')
        return "It must be at that path";
    return arena_printf(arena,
                        "Give the directory under which it is %s to --debuginfo, or put it so beside the "
                        "program, or under %s",
                        name, *directory ? directory : "where it was compiled");
}

/* Whether the parts lie in a package that this version of elfutils cannot read. */
static const char *package(struct dwarf_file *file)
{
    const char *path = arena_printf(file->options.arena, "%s.dwp", file->source.path);
    const char *version = dwfl_version(NULL);
    unsigned minor = 0;
    struct stat status;
    if (foreign_status(path, &status) || sscanf(version ? version : "", "0.%u", &minor) != 1 || minor >= 190)
        return "";
    return arena_printf(file->options.arena, ". %s is read by elfutils from 0.190 on, and this is %s", path,
                        version);
}

static void report_missing(struct dwarf_file *file, struct cursor *notice)
{
    struct arena *arena = file->options.arena;
    const char *name = wire_take_text(notice), *directory = wire_take_text(notice);
    uint64_t count = wire_take(notice);
    if (notice->is_bad || !name || !directory || !count)
        return;
    const char *others = count > 1 ? arena_printf(arena, " and %llu other%s", (unsigned long long)count - 1,
                                                  count > 2 ? "s" : "")
                                   : "";
    report_progress(
        file,
        arena_printf(
            arena,
            "WARNING: the compiler split debug information of %s off to %s%s, which cannot be read: names "
            "and types in it are missing. %s%s",
            file->source.path, name, others, remedy(arena, name, directory), package(file)),
        true);
}

static void hear(void *state, uint32_t kind, struct cursor *notice)
{
    struct dwarf_file *file = state;
    struct arena *arena = file->options.arena;
    size_t size;
    switch (kind) {
    case DWARF_NOTICE_WAIT:
        file->is_told = true;
        report_progress(
            file,
            arena_printf(arena, "Reading the names in the debug information of %s, once", file->source.path),
            false);
        break;
    case DWARF_NOTICE_PROBLEM:
        report_progress(
            file,
            arena_printf(
                arena,
                "WARNING: %s, or its debug information, was cut short while it was read: what is missing "
                "in it reads as 0",
                file->source.path),
            true);
        break;
    case DWARF_NOTICE_MISSING: report_missing(file, notice); break;
    case DWARF_NOTICE_INDEX: {
        const void *entries = wire_take_bytes(notice, &size);
        if (entries && size % sizeof(struct dwarf_entry) == 0)
            dwarf_cache_write(&file->source, entries, size);
        break;
    }
    default: break;
    }
}

/* ---- asking ---- */

/* Thousands of short questions, one for each function, may take long together. The service itself knows only of one that does. */
static void report_slowness(struct dwarf_file *file, uint64_t since)
{
    file->waited_ns += clock_ns(CLOCK_MONOTONIC) - since;
    if (file->is_told || file->waited_ns < (uint64_t)SILENT_MS * 1000000)
        return;
    file->is_told = true;
    report_progress(
        file, arena_printf(file->options.arena, "Reading the debug information of %s", file->source.path),
        false);
}

/* Sends the question in file->question. The answer is file->answer, and *in is over it. */
static int ask(struct dwarf_file *file, enum dwarf_question_kind kind, struct cursor **in)
{
    apart_answer_free(&file->answer);
    const uint64_t since = clock_ns(CLOCK_MONOTONIC);
    int error = apart_ask(file->child, kind, &file->question, -1, &file->answer);
    report_slowness(file, since);
    text_clear(&file->question);
    file->types.depth = 0;
    *in = &file->answer.in;
    if (apart_is_gone(file->child) && !file->is_lost) {
        file->is_lost = true;
        report_progress(
            file,
            arena_printf(
                file->options.arena,
                "WARNING: the debug information of %s could not be read to its end: names are missing",
                file->source.path),
            true);
    }
    return error;
}

static int is_good(const struct cursor *in)
{
    return in->is_bad ? -EBADMSG : 0;
}

static void ask_fields(void *state, uint64_t number, struct type *type)
{
    struct dwarf_file *file = state;
    struct cursor *in;
    wire_put(&file->question, number);
    if (!ask(file, DWARF_ASK_FIELDS, &in))
        type_take_fields(&file->types, in, type);
}

static uint64_t bytes_of(int descriptor)
{
    struct stat status;
    return descriptor >= 0 && !fstat(descriptor, &status) ? (uint64_t)status.st_size : 0;
}

static int start(struct dwarf_file *file, bool *is_split)
{
    const int all[KEPT] = {file->source.program, file->source.debug, file->source.alternative,
                           file->source.index};
    uint64_t memory = MEMORY; /* a section that is compressed, or must be aligned, needs its memory twice */
    struct cursor *in;
    size_t count = 0;
    for (size_t i = 0; i < KEPT; i++)
        memory += 2 * bytes_of(all[i]);
    const struct apart_options options = {.name = "spoor-dwarf",
                                          .serve = dwarf_serve,
                                          .state = file->service,
                                          .keep = file->keep,
                                          .memory = memory,
                                          .may_open = file->source.may_open,
                                          .owned = file->source.program,
                                          .patience_ms = PATIENCE_MS,
                                          .hear = hear,
                                          .hear_state = file};
    for (size_t i = 0; i < KEPT; i++)
        if (all[i] >= 0)
            file->keep[count++] = all[i];
    file->keep[count] = -1;
    int error = apart_start(&options, &file->child);
    if (error)
        return error;
    error = ask(file, DWARF_ASK_OPEN, &in);
    *is_split = wire_take(in) != 0;
    return error;
}

static struct dwarf_file *file_free(struct dwarf_file *file)
{
    apart_end(file->child);
    dwarf_service_free(file->service);
    apart_answer_free(&file->answer);
    text_free(&file->question);
    dwarf_source_close(&file->source);
    free(file);
    return NULL;
}

int dwarf_file_open(const char *path, const struct dwarf_options *options, struct dwarf_file **out)
{
    *out = NULL;
    const char *kept = arena_strdup(options->arena, path);
    struct dwarf_file *file = calloc(1, sizeof *file);
    if (!file)
        return -ENOMEM;
    file->options = *options;
    file->types = (struct type_hearer){.arena = options->arena, .ask = ask_fields, .state = file};
    bool is_split = false;
    int error = dwarf_source_find(options, kept, &file->source);
    if (!error && !(file->service = dwarf_service_new(&file->source)))
        error = -ENOMEM;
    if (!error)
        error = start(file, &is_split);
    /* once more, with a service that may open the parts */
    if (!error && is_split && !file->source.may_open) {
        apart_end(file->child);
        file->child = NULL;
        file->source.may_open = true;
        error = start(file, &is_split);
    }
    if (error) {
        file_free(file);
        return error;
    }
    *out = file;
    return 0;
}

void dwarf_file_close(struct dwarf_file *file)
{
    if (!file)
        return;
    type_hearer_end(&file->types);
    file_free(file);
}

/* ---- questions ---- */

static void put_name(struct dwarf_file *file, const char *name, uint64_t near)
{
    wire_put_text(&file->question, name);
    wire_put(&file->question, near);
}

const struct type *dwarf_file_type(struct dwarf_file *file, const char *name, uint64_t near)
{
    struct cursor *in;
    put_name(file, name, near);
    return ask(file, DWARF_ASK_TYPE, &in) ? NULL : type_take(&file->types, in);
}

const struct type *dwarf_file_enumerator(struct dwarf_file *file, const char *name, uint64_t near,
                                         int64_t *value)
{
    struct cursor *in;
    put_name(file, name, near);
    if (ask(file, DWARF_ASK_ENUMERATOR, &in))
        return NULL;
    *value = (int64_t)wire_take(in);
    return type_take(&file->types, in);
}

int dwarf_file_each_enum(struct dwarf_file *file, const char *pattern, dwarf_name_visitor *visit, void *state)
{
    struct cursor *in;
    wire_put_text(&file->question, pattern);
    int stop = ask(file, DWARF_ASK_ENUMS, &in);
    for (const char *name; !stop && (name = wire_take_text(in));)
        stop = visit(state, name);
    return stop ? stop : is_good(in);
}

int dwarf_file_variable(struct dwarf_file *file, const char *name, uint64_t near, uint64_t *address,
                        const struct type **type)
{
    struct cursor *in;
    put_name(file, name, near);
    int error = ask(file, DWARF_ASK_VARIABLE, &in);
    if (error)
        return error;
    *address = wire_take(in);
    *type = type_take(&file->types, in);
    return *type ? 0 : -EBADMSG;
}

static int visit_places(struct cursor *in, dwarf_place_visitor *visit, void *state)
{
    size_t count;
    const uint64_t(*places)[2] = wire_take_array(in, sizeof *places, &count);
    int stop = places ? 0 : -EBADMSG;
    for (size_t i = 0; i < count && !stop; i++)
        stop = visit(state, places[i][0], places[i][1] != 0);
    return stop;
}

int dwarf_file_each_function(struct dwarf_file *file, const char *name, dwarf_place_visitor *visit,
                             void *state)
{
    struct cursor *in;
    wire_put_text(&file->question, name);
    int error = ask(file, DWARF_ASK_FUNCTIONS, &in);
    return error ? error : visit_places(in, visit, state);
}

int dwarf_file_each_line(struct dwarf_file *file, const char *source, unsigned line, unsigned column,
                         dwarf_place_visitor *visit, void *state, unsigned *next)
{
    struct cursor *in;
    *next = 0;
    wire_put_text(&file->question, source);
    wire_put(&file->question, line);
    wire_put(&file->question, column);
    int error = ask(file, DWARF_ASK_LINE, &in);
    if (error)
        return error;
    bool is_missing = wire_take(in);
    *next = (unsigned)wire_take_within(in, UINT32_MAX);
    return is_missing ? -ENOENT : visit_places(in, visit, state);
}

static struct machine_register take_register(struct cursor *in)
{
    enum { REGISTERS_MAX = 512 /* bytes of struct pt_regs, of any machine */ };
    uint64_t word = wire_take_within(in, UINT32_MAX);
    struct machine_register taken = {.offset = (uint16_t)word, .width = (uint8_t)(word >> 16)};
    in->is_bad |= taken.offset > REGISTERS_MAX || taken.width > 8;
    return taken;
}

static void take_location(struct dwarf_file *file, struct cursor *in, struct dwarf_location *out)
{
    out->where = (enum dwarf_where)wire_take_within(in, DWARF_CONSTANT);
    const char *why = wire_take_text(in);
    out->why = why                           ? arena_strdup(file->options.arena, why)
               : out->where == DWARF_NOWHERE ? "it is nowhere"
                                             : NULL;
    out->count = (unsigned)wire_take_within(in, 2);
    out->registers[0] = take_register(in);
    out->registers[1] = take_register(in);
    out->base = take_register(in);
    out->offset = (int64_t)wire_take(in);
    out->value = (int64_t)wire_take(in);
}

static const char *take_kept(struct dwarf_file *file, struct cursor *in)
{
    const char *text = wire_take_text(in);
    return text ? arena_strdup(file->options.arena, text) : NULL;
}

static const char *take_some(struct dwarf_file *file, struct cursor *in)
{
    const char *text = take_kept(file, in);
    in->is_bad |= !text;
    return text ? text : "";
}

static const struct type *take_type(struct dwarf_file *file, struct cursor *in)
{
    const struct type *type = type_take(&file->types, in);
    in->is_bad |= !type;
    return type ? type : &type_none;
}

int dwarf_file_function(struct dwarf_file *file, uint64_t address, const char *name,
                        struct dwarf_function *out)
{
    enum { PARAMETER_MIN = 10 * 8 }; /* bytes of a parameter in the message, at least */
    struct cursor *in;
    *out = (struct dwarf_function){.result = &type_none};
    wire_put(&file->question, address);
    wire_put_text(&file->question, name);
    int error = ask(file, DWARF_ASK_FUNCTION, &in);
    if (error)
        return error;
    out->name = take_kept(file, in);
    unsigned flags = (unsigned)wire_take_within(in, 3);
    out->is_inlined = flags & 1;
    out->is_entry = flags & 2;
    out->result_spelling = take_some(file, in);
    out->result = take_type(file, in);
    take_location(file, in, &out->result_at);
    size_t count = wire_take_count(in, PARAMETER_MIN);
    struct dwarf_parameter *parameters = arena_array(file->options.arena, count + 1, sizeof *parameters);
    for (size_t i = 0; i < count && !in->is_bad; i++) {
        parameters[i].name = take_some(file, in);
        parameters[i].spelling = take_some(file, in);
        parameters[i].type = take_type(file, in);
        take_location(file, in, &parameters[i].location);
    }
    out->parameters = parameters;
    out->count = in->is_bad ? 0 : (uint32_t)count;
    return is_good(in);
}

int dwarf_file_operand(struct dwarf_file *file, uint64_t address, const struct dwarf_operand *operand,
                       struct dwarf_expression *out)
{
    struct cursor *in;
    wire_put(&file->question, address);
    wire_put_bytes(&file->question, operand, sizeof *operand);
    int error = ask(file, DWARF_ASK_OPERAND, &in);
    if (error)
        return error;
    out->text = take_some(file, in);
    out->spelling = take_some(file, in);
    out->type = take_type(file, in);
    return is_good(in);
}
