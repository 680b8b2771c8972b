/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, and from an address to its unit and functions, in the service (dwarf/service.c). dwarf/index.c finds
 * names, dwarf/line.c lines. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "sym/apart.h"
#include "sym/dwarf/private.h"
#include "sym/elf/sigbus_guard.h"

/* ---- opening ---- */

/* Whether a file is no regular one. What the compiler has split off is in files that the program names, and libdw
 * opens them by these names, whatever they are: a pipe would block for ever. */
static bool is_pipe_or_device(const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    int length =
        snprintf(path, sizeof path, "%s%s%s", *name == '/' ? "" : directory, *name == '/' ? "" : "/", name);
    return length >= (int)sizeof path || (!fstatat(AT_FDCWD, path, &status, 0) && !S_ISREG(status.st_mode));
}

static const char *directory_of(struct dwarf_reader *file, const char *path)
{
    const char *slash = strrchr(path, '/');
    return arena_printf(file->arena, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static void add_alternative(struct dwarf_reader *file)
{
    if (file->dwarf && file->source->alternative >= 0)
        file->alternative = dwarf_begin(file->source->alternative, DWARF_C_READ);
    if (file->alternative)
        dwarf_setalt(file->dwarf, file->alternative);
}

static const char *text_of(Dwarf_Die *die, unsigned attribute, unsigned old_attribute)
{
    Dwarf_Attribute found;
    const char *text = dwarf_attr(die, attribute, &found) || dwarf_attr(die, old_attribute, &found)
                           ? dwarf_formstring(&found)
                           : NULL;
    return text ? text : "";
}

static bool has_addresses_apart(struct dwarf_reader *file)
{
    GElf_Shdr header;
    Elf *elf = dwarf_getelf(file->dwarf);
    size_t names;
    for (Elf_Scn *section = NULL; !elf_getshdrstrndx(elf, &names) && (section = elf_nextscn(elf, section));) {
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && (!strcmp(name, ".debug_addr") || !strcmp(name, ".zdebug_addr")))
            return true;
    }
    return false;
}

/* Sends a notice about what takes long, went wrong or is missing. */
static void notify(enum dwarf_notice kind, const char *what)
{
    struct text notice = {0};
    wire_put_text(&notice, what);
    apart_notify(kind, &notice);
    text_free(&notice);
}

/* Counts the units whose other half libdw has not found. *unit: the first of them. */
static unsigned missing_parts(struct dwarf_reader *file, Dwarf_Die *unit)
{
    unsigned missing = 0;
    Dwarf_CU *next = NULL;
    Dwarf_Die die, half;
    while (dwarf_get_units(file->dwarf, next, &next, NULL, NULL, &die, &half) == 0 && !dwarf_is_late(file))
        if (*text_of(&die, DW_AT_dwo_name, DW_AT_GNU_dwo_name) && !half.addr && !missing++)
            *unit = die;
    return missing;
}

/* Reports the first unit whose other half is missing, with the number of all such units. */
static void report_missing(struct dwarf_reader *file)
{
    Dwarf_Die unit;
    DWARF_QUERY_SCOPE(file);
    unsigned missing = missing_parts(file, &unit);
    if (!missing)
        return;
    struct text notice = {0};
    wire_put_text(&notice, text_of(&unit, DW_AT_dwo_name, DW_AT_GNU_dwo_name));
    wire_put_text(&notice, text_of(&unit, DW_AT_comp_dir, DW_AT_comp_dir));
    wire_put(&notice, missing);
    apart_notify(DWARF_NOTICE_MISSING, &notice);
    text_free(&notice);
}

/* Whether the compiler has split something off. *are_files: everything that it names and that can be found is a
 * regular file. place: see report_program(). */
static bool look_for_parts(struct dwarf_reader *file, const char *place, bool *are_files)
{
    *are_files = true;
    if (!has_addresses_apart(file))
        return false;
    DWARF_QUERY_SCOPE(file);
    const char *directory = directory_of(file, place);
    bool is_split = false;
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(file->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0 && !dwarf_is_late(file)) {
        const char *name = text_of(&die, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
        is_split |= *name != '\0';
        if (*name && file->source->may_open &&
            (is_pipe_or_device(directory, name) ||
             is_pipe_or_device(text_of(&die, DW_AT_comp_dir, DW_AT_comp_dir), name)))
            *are_files = false;
    }
    *are_files &= !file->is_late;
    return is_split;
}

static bool has_sections(Dwarf *dwarf)
{
    Dwarf_CU *unit = NULL;
    return dwarf && dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL) == 0;
}

/* Maps a file. NULL: that is not possible. */
static Elf *map_elf(int descriptor)
{
    elf_version(EV_CURRENT);
    return descriptor < 0 ? NULL : elf_begin(descriptor, ELF_C_READ_MMAP_PRIVATE, NULL);
}

/* Makes a descriptor lead to something else. Only what it leads to matters then, because its file has been mapped. */
static void lead(int descriptor, const char *path)
{
    int place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0)
        return;
    close(descriptor);
    if (fcntl(place, F_DUPFD_CLOEXEC, descriptor) < 0)
        errno = 0; /* it leads nowhere, and nothing is found there */
    close(place);
}

static void end_session(struct dwarf_reader *file)
{
    if (file->frames)
        dwarf_cfi_end(file->frames);
    if (file->dwarf)
        dwarf_end(file->dwarf);
    if (file->alternative)
        dwarf_end(file->alternative);
    elf_end(file->debug);
    elf_end(file->program);
    if (file->descriptor >= 0)
        close(file->descriptor);
    file->frames = NULL;
    file->dwarf = file->alternative = NULL;
    file->debug = file->program = NULL;
    file->descriptor = -1;
}

/* Opens what describes the program. What was split off is sought in the directory where its file is, or that of
 * `place`, unless it is NULL. */
static void begin_session(struct dwarf_reader *file, const char *place)
{
    const struct dwarf_source *source = file->source;
    const bool is_apart = source->debug >= 0;
    file->descriptor = fcntl(is_apart ? source->debug : source->program, F_DUPFD_CLOEXEC, 3);
    Elf *elf = map_elf(file->descriptor);
    file->program = is_apart ? map_elf(source->program) : elf;
    file->debug = is_apart ? elf : NULL;
    if (elf && place)
        lead(file->descriptor, place);
    file->dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    add_alternative(file);
}

/* Opens a session in which what was split off is sought beside `place`, or beside the program if it is NULL. Returns as
 * dwarf_reader_open(). */
static int open_session(struct dwarf_reader *file, const char *place, bool *is_split)
{
    bool are_files = true;
    *is_split = false;
    sigbus_guard_begin();
    begin_session(file, place);
    bool is_there = has_sections(file->dwarf), is_cut = sigbus_guard_end();
    if (is_there && !is_cut)
        *is_split = look_for_parts(file, place ? place : file->source->path, &are_files);
    if (!is_there || is_cut || !are_files || (*is_split && !file->source->may_open)) {
        end_session(file);
        return is_cut ? -EBADMSG : is_there && are_files ? 0 : -ENOENT;
    }
    return 0;
}

/* Looks for what was split off and not found in each directory that was given, until nothing is missing. */
static int open_in_places(struct dwarf_reader *file)
{
    bool is_split = true;
    Dwarf_Die unit;
    unsigned fewest = missing_parts(file, &unit);
    const char *best = NULL, *now = NULL;
    int error = 0;
    for (size_t i = 0; fewest && i < file->source->place_count; i++) {
        end_session(file);
        error = open_session(file, now = file->source->places[i], &is_split);
        unsigned missing = error ? UINT_MAX : missing_parts(file, &unit);
        if (missing < fewest) {
            fewest = missing;
            best = now;
        }
    }
    if (now != best) {
        end_session(file);
        error = open_session(file, best, &is_split);
    }
    if (!error)
        report_missing(file);
    return error;
}

int dwarf_reader_open(const struct dwarf_source *source, struct arena *arena, struct dwarf_reader **out,
                      bool *is_split)
{
    *out = NULL;
    /* What may run out of memory comes first, because libdw has nothing to undo then. */
    struct dwarf_reader *file = arena_new(arena, struct dwarf_reader);
    *file = (struct dwarf_reader){.arena = arena, .source = source, .descriptor = -1};
    int error = open_session(file, NULL, is_split);
    if (!error && *is_split && source->may_open)
        error = open_in_places(file);
    if (!error && file->dwarf)
        *out = file;
    return error;
}

void dwarf_reader_close(struct dwarf_reader *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->made.count; i++) {
        struct type *type = file->made.entries[i].value;
        type->complete = NULL;
    }
    table_free(&file->made);
    free(file->ranges);
    dwarf_units_free(file);
    free(file->index.entries);
    end_session(file);
}

/* ---- small questions ---- */

struct dwarf_question dwarf_ask(struct dwarf_reader *file)
{
    sigbus_guard_begin();
    if (!file->is_late)
        file->deadline = clock_seconds(CLOCK_MONOTONIC) + DWARF_SECONDS_MAX;
    return (struct dwarf_question){file};
}

void dwarf_answered(struct dwarf_question *question)
{
    struct dwarf_reader *file = question->file;
    if (!sigbus_guard_end() || file->is_cut)
        return;
    file->is_cut = file->is_late = true;
    notify(DWARF_NOTICE_PROBLEM, "cut short");
}

bool dwarf_is_late(struct dwarf_reader *file)
{
    time_t left = file->deadline - clock_seconds(CLOCK_MONOTONIC);
    file->is_late |= left < 0 || mapped_is_cut();
    if (file->is_late || !file->reports_wait || left > DWARF_SECONDS_MAX - 2)
        return file->is_late;
    notify(DWARF_NOTICE_WAIT, "names");
    file->reports_wait = false;
    return false;
}

bool dwarf_next(struct dwarf_reader *file, Dwarf_Die *die)
{
    enum { LOOK_AT_CLOCK = 256 }; /* an entry may have a million ranges */
    const void *before = die->addr;
    if (++file->entries % LOOK_AT_CLOCK == 0)
        dwarf_is_late(file);
    return !file->is_late && dwarf_siblingof(die, die) == 0 && (const char *)die->addr > (const char *)before;
}

bool dwarf_has(Dwarf_Die *die, unsigned attribute)
{
    bool value;
    Dwarf_Attribute found;
    return dwarf_attr(die, attribute, &found) && dwarf_formflag(&found, &value) == 0 && value;
}

bool dwarf_number(Dwarf_Die *die, unsigned attribute, uint64_t *value)
{
    Dwarf_Attribute found;
    Dwarf_Word word;
    if (!dwarf_attr_integrate(die, attribute, &found) || dwarf_formudata(&found, &word))
        return false;
    *value = word;
    return true;
}

enum dwarf_kind dwarf_kind_of(int tag)
{
    switch (tag) {
    case DW_TAG_structure_type:
    case DW_TAG_class_type: return DWARF_KIND_STRUCT;
    case DW_TAG_union_type: return DWARF_KIND_UNION;
    case DW_TAG_enumeration_type: return DWARF_KIND_ENUM;
    case DW_TAG_typedef: return DWARF_KIND_TYPEDEF;
    case DW_TAG_base_type: return DWARF_KIND_BASE;
    case DW_TAG_subprogram: return DWARF_KIND_FUNCTION;
    case DW_TAG_variable: return DWARF_KIND_VARIABLE;
    default: return 0;
    }
}

/* ---- units by address ---- */

static int compare_ranges(const void *a, const void *b)
{
    const struct dwarf_unit_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

static bool add_range(struct dwarf_reader *file, size_t *room, struct dwarf_unit_range range)
{
    if (file->range_count == DWARF_RANGES_MAX)
        return false;
    if (!vector_make_room(file->ranges, file->range_count, *room))
        return false;
    file->ranges[file->range_count++] = range;
    return true;
}

/* Reads every range of every unit from the units' own entries, because tables of addresses may be missing. */
static void read_ranges(struct dwarf_reader *file)
{
    size_t room = 0;
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    bool goes_on = true;
    file->ranges_read = true;
    while (goes_on && dwarf_get_units(file->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        Dwarf_Addr base, low, high;
        ptrdiff_t at = 0;
        for (unsigned n = 0;
             goes_on && n < DWARF_CHILDREN_MAX && (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0; n++)
            goes_on = (n % 4096 || !dwarf_is_late(file)) &&
                      (low >= high ||
                       add_range(file, &room, (struct dwarf_unit_range){low, high, dwarf_dieoffset(&die)}));
    }
    if (file->range_count)
        qsort(file->ranges, file->range_count, sizeof *file->ranges, compare_ranges);
}

/* Moves from a skeleton to the unit that it stands for, which is in a file of its own. False: that is missing. */
static bool to_split_unit(Dwarf_Die *unit)
{
    Dwarf_Die split = {0};
    uint8_t type;
    if (dwarf_cu_info(unit->cu, NULL, &type, NULL, &split, NULL, NULL, NULL))
        return false;
    if (type == DW_UT_skeleton && split.addr)
        *unit = split;
    return true;
}

bool dwarf_unit_at(struct dwarf_reader *file, uint64_t address, Dwarf_Die *unit)
{
    if (!file->ranges_read)
        read_ranges(file);
    size_t behind = partition_point(file->range_count, i, file->ranges[i].low <= address);
    /* A unit that claims addresses of another one may be between them. */
    for (size_t tries = 0; behind-- && tries < 16; tries++)
        if (address < file->ranges[behind].high)
            return dwarf_offdie(file->dwarf, file->ranges[behind].unit, unit) && to_split_unit(unit);
    return false;
}

/* ---- functions by address ---- */

static bool begins_at(Dwarf_Die *die, uint64_t address)
{
    uint64_t entry;
    return (dwarf_entry_of(die, &entry) && entry == address) ||
           (dwarf_base_of(die, &entry) && entry == address);
}

void dwarf_origin_of(Dwarf_Die *die, Dwarf_Die *origin)
{
    *origin = *die;
    for (unsigned steps = 0; steps < DWARF_DEPTH_MAX; steps++) {
        Dwarf_Attribute found;
        Dwarf_Die next;
        if (!dwarf_attr(origin, DW_AT_abstract_origin, &found) || !dwarf_formref_die(&found, &next))
            return;
        *origin = next;
    }
}

/* Finds the parameter of an instance that stands for the declared one. */
static bool instance_of(struct dwarf_reader *file, Dwarf_Die *function, Dwarf_Die *declared, Dwarf_Die *found)
{
    Dwarf_Die child, origin;
    if (dwarf_child(function, &child))
        return false;
    do {
        if (dwarf_tag(&child) != DW_TAG_formal_parameter)
            continue;
        dwarf_origin_of(&child, &origin);
        if (origin.addr == declared->addr) {
            *found = child;
            return true;
        }
    } while (dwarf_next(file, &child));
    return false;
}

/* Whether a function follows the calling convention. A copy that the compiler specialised, whose name has a suffix,
 * does not. */
static bool is_conventional(struct dwarf_reader *file, Dwarf_Die *function, uint64_t address)
{
    bool any, plain;
    uint64_t convention;
    if (dwarf_number(function, DW_AT_calling_convention, &convention) && convention == DW_CC_nocall)
        return false;
    dwarf_symbols_at(file, address, &any, &plain);
    return plain || !any;
}

const char *dwarf_spelled(struct dwarf_reader *file, Dwarf_Die *die)
{
    struct text text = {0};
    dwarf_spell(die, &text, 0);
    return text_keep(&text, file->arena);
}

static void read_parameters(struct dwarf_reader *file, struct dwarf_scope *scope, uint64_t address,
                            struct dwarf_function *out)
{
    Dwarf_Die declared, child;
    size_t count = 0, room = 0;
    struct dwarf_parameter *items = NULL;
    struct dwarf_call call;
    bool conventional = out->is_entry && !out->is_inlined && is_conventional(file, &scope->die, address);
    dwarf_origin_of(&scope->die, &declared);
    dwarf_call_begin(&call, file, &declared);
    if (dwarf_child(&declared, &child))
        return;
    do {
        if (dwarf_tag(&child) != DW_TAG_formal_parameter)
            continue;
        struct dwarf_location by_convention = dwarf_call_next(&call, &child);
        Dwarf_Die own;
        struct dwarf_parameter *parameter = arena_push(file->arena, items, count, room);
        const char *name = dwarf_diename(&child);
        parameter->name = name ? arena_strdup(file->arena, name) : "";
        parameter->type = dwarf_type_of(file, &child, 0);
        parameter->spelling = dwarf_spelled(file, &child);
        parameter->location = (struct dwarf_location){.why = "the compiler left it out"};
        if (instance_of(file, &scope->die, &child, &own))
            parameter->location =
                dwarf_location_at(file, &own, &scope->function, address, out->is_entry && !out->is_inlined);
        if (conventional && parameter->location.where == DWARF_NOWHERE)
            parameter->location = by_convention;
    } while (dwarf_next(file, &child));
    out->parameters = items;
    out->count = (uint32_t)count;
}

int dwarf_reader_function(struct dwarf_reader *file, uint64_t address, const char *name,
                          struct dwarf_function *out)
{
    struct dwarf_scope scope;
    *out = (struct dwarf_function){.result = &type_none};
    DWARF_QUERY_SCOPE(file);
    if (!dwarf_scope_at(file, address, name, &scope))
        return -ENOENT;
    const char *own = dwarf_diename(&scope.die);
    out->name = own ? arena_strdup(file->arena, own) : NULL;
    out->is_inlined = dwarf_tag(&scope.die) == DW_TAG_inlined_subroutine;
    out->is_entry = begins_at(&scope.die, address);
    out->result = dwarf_type_of(file, &scope.die, 0);
    out->result_spelling = dwarf_spelled(file, &scope.die);
    out->result_at = dwarf_call_result(file, &scope.die);
    read_parameters(file, &scope, address, out);
    return 0;
}

/* ---- functions by name ---- */

struct places {
    struct dwarf_reader *file;
    dwarf_place_visitor *visit;
    void *state;
};

static int function_places(void *state, Dwarf_Die *die)
{
    const struct places *places = state;
    Dwarf_Die unit;
    uint64_t entry, how;
    if (dwarf_entry_of(die, &entry))
        return places->visit(places->state, entry, false);
    if (!dwarf_number(die, DW_AT_inline, &how) || !dwarf_diecu(die, &unit, NULL, NULL))
        return 0;
    return dwarf_unit_instances(places->file, &unit, die, places->visit, places->state);
}

int dwarf_reader_each_function(struct dwarf_reader *file, const char *name, dwarf_place_visitor *visit,
                               void *state)
{
    struct places places = {file, visit, state};
    DWARF_QUERY_SCOPE(file);
    return dwarf_index_each(file, DWARF_KIND_FUNCTION, name, function_places, &places);
}
