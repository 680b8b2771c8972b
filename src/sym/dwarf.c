/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, and from an address to its unit and functions. Names: dwarf_index.c; lines: dwarf_line.c. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "sym/debug_file.h"
#include "sym/dwarf_private.h"
#include "sym/mapped.h"
#include "sym/proc.h"

/* ---- opening ---- */

/* Nothing but regular files of a sane size reaches libdw. The descriptor, or -errno. */
static int open_program(struct dwarf_file *file)
{
    const struct elf_origin *origin = file->options.origin;
    struct stat status;
    int descriptor = foreign_open(file->path);
    if (descriptor < 0)
        return foreign_is_not_regular(descriptor) ? -ENOEXEC : descriptor;
    int error = fstat(descriptor, &status) ? -errno : 0;
    if (!error && origin)
        error = elf_origin_check(origin, descriptor);
    if (!error && (uint64_t)status.st_size > DWARF_FILE_MAX)
        error = -EFBIG;
    if (error)
        close(descriptor);
    else
        dwarf_identify(file, &status);
    return error ? error : descriptor;
}

static bool has_servers(void)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    return urls && *urls;
}

/* What the compiler has split off and what dwz has shared is in files that the program names, and elfutils
 * opens them by these names, whatever they are: a pipe would keep us waiting for ever. */
static bool is_pipe_or_device(const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    int length =
        snprintf(path, sizeof path, "%s%s%s", *name == '/' ? "" : directory, *name == '/' ? "" : "/", name);
    return length >= (int)sizeof path || (!foreign_status(path, &status) && !S_ISREG(status.st_mode));
}

static const char *beside(struct dwarf_file *file)
{
    const char *slash = strrchr(file->path, '/');
    return arena_printf(file->arena, "%.*s", slash ? (int)(slash - file->path) : 1, slash ? file->path : ".");
}

/* The debug file of a program is sought as for its symbols (debug_file.h). elfutils finds what dwz has put
 * into a file for several (main_file is then NULL), and asks servers. */
static int find_debug_file(Dwfl_Module *module, void **state, const char *name, Dwarf_Addr base,
                           const char *main_file, const char *link, GElf_Word checksum, char **found)
{
    struct dwarf_file *file = *state;
    struct elf_file *program, *debug = NULL;
    struct stat status;
    char real[PATH_MAX];
    int descriptor = -1;
    if (main_file && !elf_file_open_fd(file->descriptor, &program)) {
        pid_t pid = 0;
        const char *seen = main_file + foreign_root_length(main_file, &pid);
        if (!pid && realpath(main_file, real))
            seen = real;
        if (!debug_file_open(program, seen, pid, NULL, &debug))
            descriptor = fcntl(elf_file_descriptor(debug), F_DUPFD_CLOEXEC, 0);
        elf_file_close(debug);
        elf_file_close(program);
    }
    if (!main_file && link && is_pipe_or_device(beside(file), link))
        return -1;
    if (descriptor < 0 && (!main_file || has_servers()))
        descriptor =
            dwfl_standard_find_debuginfo(module, state, name, base, main_file, link, checksum, found);
    if (descriptor >= 0 && (fstat(descriptor, &status) || !S_ISREG(status.st_mode) ||
                            (uint64_t)status.st_size > DWARF_FILE_MAX)) {
        close(descriptor);
        return -1;
    }
    if (descriptor >= 0)
        dwarf_identify(file, &status);
    return descriptor;
}

/* The servers are asked only when the user names some. They must not make us wait for a minute and a half,
 * which is the library's default. */
static void prepare_servers(const struct dwarf_options *options, const char *path)
{
    if (!has_servers())
        return;
    setenv("DEBUGINFOD_TIMEOUT", "20", 0);
    setenv("DEBUGINFOD_MAXTIME", "120", 0);
    if (options->tell)
        options->tell(options->state,
                      arena_printf(options->arena, "Asking debuginfod for what describes %s", path), false);
}

static const char *text_of(Dwarf_Die *die, unsigned attribute, unsigned old_attribute)
{
    Dwarf_Attribute found;
    const char *text = dwarf_attr(die, attribute, &found) || dwarf_attr(die, old_attribute, &found)
                           ? dwarf_formstring(&found)
                           : NULL;
    return text ? text : "";
}

static bool parts_are_files(struct dwarf_file *file)
{
    GElf_Shdr header;
    Elf *elf = dwarf_getelf(file->dwarf);
    size_t names;
    bool is_split = false;
    for (Elf_Scn *section = NULL; !elf_getshdrstrndx(elf, &names) && (section = elf_nextscn(elf, section));) {
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        is_split |= name && (!strcmp(name, ".debug_addr") || !strcmp(name, ".zdebug_addr"));
    }
    if (!is_split)
        return true;
    DWARF_QUESTION(file);
    const char *directory = beside(file);
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(file->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0 && !dwarf_is_late(file)) {
        const char *name = text_of(&die, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
        if (*name && (is_pipe_or_device(directory, name) ||
                      is_pipe_or_device(text_of(&die, DW_AT_comp_dir, DW_AT_comp_dir), name)))
            return false;
    }
    return !file->is_late;
}

static bool has_sections(Dwarf *dwarf)
{
    Dwarf_CU *unit = NULL;
    return dwarf && dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL) == 0;
}

/* libdw gets a descriptor of its own, which it closes with the session; the path is for messages, and says
 * where to look for what belongs to the program. */
static void report_program(struct dwarf_file *file)
{
    int descriptor = fcntl(file->descriptor, F_DUPFD_CLOEXEC, 3);
    void **state;
    if (descriptor < 0)
        return;
    dwfl_report_begin(file->session);
    file->module = dwfl_report_offline(file->session, "", file->path, descriptor);
    dwfl_report_end(file->session, NULL, NULL);
    if (!file->module)
        close(descriptor);
    else if (dwfl_module_info(file->module, &state, NULL, NULL, NULL, NULL, NULL, NULL))
        *state = file;
}

int dwarf_file_open(const char *path, const struct dwarf_options *options, struct dwarf_file **out)
{
    *out = NULL;
    /* What can run out of memory comes first: libdw has nothing to undo then. */
    struct dwarf_file *file = arena_new(options->arena, struct dwarf_file);
    *file = (struct dwarf_file){
        .arena = options->arena, .path = arena_strdup(options->arena, path), .options = *options};
    file->descriptor = open_program(file);
    if (file->descriptor < 0)
        return file->descriptor;
    prepare_servers(options, path);
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = find_debug_file,
                                             .section_address = dwfl_offline_section_address};
    Dwarf_Addr bias;
    file->session = dwfl_begin(&callbacks);
    if (!file->session) {
        close(file->descriptor);
        return -ENOMEM;
    }
    mapped_begin();
    report_program(file);
    file->dwarf = file->module ? dwfl_module_getdwarf(file->module, &bias) : NULL;
    bool is_there = has_sections(file->dwarf), is_cut = mapped_end();
    if (is_there && !is_cut)
        is_there = parts_are_files(file);
    if (!is_there || is_cut) {
        dwfl_end(file->session);
        close(file->descriptor);
        return is_cut ? -EBADMSG : -ENOENT;
    }
    *out = file;
    return 0;
}

void dwarf_file_close(struct dwarf_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->made.count; i++) {
        struct type *type = file->made.entries[i].value;
        type->complete = NULL;
    }
    table_free(&file->made);
    free(file->ranges);
    free(file->index.entries);
    dwfl_end(file->session);
    close(file->descriptor);
    file->session = NULL;
}

/* ---- small questions ---- */

static time_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* What takes long, or went wrong; %s is the program. */
static void tell(struct dwarf_file *file, const char *form, bool is_problem)
{
    char line[512];
    if (!file->options.tell)
        return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(line, sizeof line, form, file->path);
#pragma GCC diagnostic pop
    file->options.tell(file->options.state, line, is_problem);
}

struct dwarf_question dwarf_ask(struct dwarf_file *file)
{
    mapped_begin();
    if (!file->is_late)
        file->deadline = now() + DWARF_SECONDS_MAX;
    return (struct dwarf_question){file};
}

void dwarf_answered(struct dwarf_question *question)
{
    struct dwarf_file *file = question->file;
    if (!mapped_end() || file->is_cut)
        return;
    file->is_cut = file->is_late = true;
    tell(file,
         "WARNING: %s, or its debug information, was cut short while it was read: what is missing in it "
         "reads as 0",
         true);
}

bool dwarf_is_late(struct dwarf_file *file)
{
    time_t left = file->deadline - now();
    file->is_late |= left < 0 || mapped_is_cut();
    if (file->is_late || !file->on_wait || left > DWARF_SECONDS_MAX - 2)
        return file->is_late;
    tell(file, file->on_wait, false);
    file->on_wait = NULL;
    return false;
}

bool dwarf_next(struct dwarf_file *file, Dwarf_Die *die)
{
    enum { LOOK_AT_CLOCK = 256 }; /* an entry may claim a million ranges */
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

static bool add_range(struct dwarf_file *file, size_t *room, struct dwarf_unit_range range)
{
    if (file->range_count == DWARF_RANGES_MAX)
        return false;
    if (file->range_count == *room) {
        size_t more = *room ? 2 * *room : 64;
        struct dwarf_unit_range *grown = realloc(file->ranges, more * sizeof *grown);
        if (!grown)
            return false;
        file->ranges = grown;
        *room = more;
    }
    file->ranges[file->range_count++] = range;
    return true;
}

/* Every range of every unit, from the units' own entries: tables of addresses may be missing. */
static void read_ranges(struct dwarf_file *file)
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

/* What a skeleton stands for is in a file of its own. */
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

bool dwarf_unit_at(struct dwarf_file *file, uint64_t address, Dwarf_Die *unit)
{
    if (!file->ranges_read)
        read_ranges(file);
    size_t low = 0, high = file->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->ranges[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    /* A unit that claims another's addresses may stand between. */
    for (size_t tries = 0; low-- && tries < 16; tries++)
        if (address < file->ranges[low].high)
            return dwarf_offdie(file->dwarf, file->ranges[low].unit, unit) && to_split_unit(unit);
    return false;
}

/* ---- functions by address ---- */

struct scope {
    Dwarf_Die die;
    Dwarf_Die function; /* the subprogram around it: whose frame it uses */
    bool is_found;
};

static bool begins_at(Dwarf_Die *die, uint64_t address)
{
    Dwarf_Addr entry;
    return (dwarf_entrypc(die, &entry) == 0 && entry == address) ||
           (dwarf_lowpc(die, &entry) == 0 && entry == address);
}

bool dwarf_holds_code(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
           tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

static bool holds_functions(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
           tag == DW_TAG_union_type;
}

/* The innermost function or inlined instance around the address; with a name: the innermost of that name; "":
 * that was not inlined. */
static void descend(struct dwarf_file *file, Dwarf_Die *parent, uint64_t address, const char *name,
                    Dwarf_Die *function, struct scope *scope, unsigned depth)
{
    Dwarf_Die child;
    if (depth > DWARF_DEPTH_MAX || dwarf_child(parent, &child))
        return;
    do {
        int tag = dwarf_tag(&child);
        bool is_code = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
        if (holds_functions(tag)) {
            descend(file, &child, address, name, function, scope, depth + 1);
            if (scope->is_found)
                return;
            continue;
        }
        if (!dwarf_holds_code(tag) || dwarf_haspc(&child, address) <= 0)
            continue;
        Dwarf_Die *around = tag == DW_TAG_subprogram ? &child : function;
        if (is_code && around) {
            const char *own = dwarf_diename(&child);
            if (!name || (*name ? own && !strcmp(own, name) : tag == DW_TAG_subprogram))
                *scope = (struct scope){child, *around, true};
        }
        descend(file, &child, address, name, around, scope, depth + 1);
        return;
    } while (dwarf_next(file, &child));
}

/* The declared entry of an instance, or the entry itself. */
static void origin_of(Dwarf_Die *die, Dwarf_Die *origin)
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

/* The parameter of the instance that stands for the declared one. */
static bool instance_of(struct dwarf_file *file, Dwarf_Die *function, Dwarf_Die *declared, Dwarf_Die *found)
{
    Dwarf_Die child, origin;
    if (dwarf_child(function, &child))
        return false;
    do {
        if (dwarf_tag(&child) != DW_TAG_formal_parameter)
            continue;
        origin_of(&child, &origin);
        if (origin.addr == declared->addr) {
            *found = child;
            return true;
        }
    } while (dwarf_next(file, &child));
    return false;
}

/* A copy that the compiler specialised takes its arguments as it likes: its name has a suffix. */
static bool is_conventional(struct dwarf_file *file, Dwarf_Die *function, uint64_t address)
{
    GElf_Off offset;
    GElf_Sym symbol;
    Dwarf_Addr bias = 0;
    uint64_t convention;
    if (dwarf_number(function, DW_AT_calling_convention, &convention) && convention == DW_CC_nocall)
        return false;
    dwfl_module_getdwarf(file->module, &bias);
    const char *name = dwfl_module_addrinfo(file->module, address + bias, &offset, &symbol, NULL, NULL, NULL);
    if (name && offset == 0 && strchr(name, '.'))
        return false;
    return true;
}

const char *dwarf_spelled(struct dwarf_file *file, Dwarf_Die *die)
{
    struct text text = {0};
    dwarf_spell(die, &text, 0);
    return text_keep(&text, file->arena);
}

static void read_parameters(struct dwarf_file *file, struct scope *scope, uint64_t address,
                            struct dwarf_function *out)
{
    Dwarf_Die declared, child;
    size_t count = 0, room = 0;
    struct dwarf_parameter *items = NULL;
    struct dwarf_call call;
    bool conventional = out->is_entry && !out->is_inlined && is_conventional(file, &scope->die, address);
    origin_of(&scope->die, &declared);
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

int dwarf_file_function(struct dwarf_file *file, uint64_t address, const char *name,
                        struct dwarf_function *out)
{
    Dwarf_Die unit;
    struct scope scope = {.is_found = false};
    *out = (struct dwarf_function){.result = &type_none};
    DWARF_QUESTION(file);
    if (!dwarf_unit_at(file, address, &unit))
        return -ENOENT;
    descend(file, &unit, address, name, NULL, &scope, 0);
    if (!scope.is_found)
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

bool dwarf_scope_at(struct dwarf_file *file, uint64_t address, Dwarf_Die *found)
{
    Dwarf_Die unit;
    struct scope scope = {.is_found = false};
    if (!dwarf_unit_at(file, address, &unit))
        return false;
    descend(file, &unit, address, NULL, NULL, &scope, 0);
    *found = scope.die;
    return scope.is_found;
}

/* ---- functions by name ---- */

struct places {
    struct dwarf_file *file;
    dwarf_place_visitor *visit;
    void *state;
};

/* Where the function was inlined in its unit. */
static int each_instance(const struct places *places, Dwarf_Die *parent, Dwarf_Die *function, unsigned depth)
{
    Dwarf_Die child, origin;
    if (depth > DWARF_DEPTH_MAX || dwarf_child(parent, &child))
        return 0;
    do {
        int tag = dwarf_tag(&child), stop = 0;
        Dwarf_Addr entry;
        if (!dwarf_holds_code(tag) && !holds_functions(tag))
            continue;
        if (tag == DW_TAG_inlined_subroutine) {
            origin_of(&child, &origin);
            if (origin.addr == function->addr && dwarf_entrypc(&child, &entry) == 0)
                stop = places->visit(places->state, entry, true);
        }
        if (!stop && dwarf_haschildren(&child) > 0)
            stop = each_instance(places, &child, function, depth + 1);
        if (stop)
            return stop;
    } while (dwarf_next(places->file, &child));
    return 0;
}

static int function_places(void *state, Dwarf_Die *die)
{
    const struct places *places = state;
    Dwarf_Addr entry;
    Dwarf_Die unit;
    uint64_t how;
    if (dwarf_entrypc(die, &entry) == 0)
        return places->visit(places->state, entry, false);
    if (!dwarf_number(die, DW_AT_inline, &how) || !dwarf_diecu(die, &unit, NULL, NULL))
        return 0;
    return each_instance(places, &unit, die, 0);
}

int dwarf_file_each_function(struct dwarf_file *file, const char *name, dwarf_place_visitor *visit,
                             void *state)
{
    struct places places = {file, visit, state};
    DWARF_QUESTION(file);
    return dwarf_index_each(file, DWARF_KIND_FUNCTION, name, function_places, &places);
}
