/* SPDX-License-Identifier: BSD-3-Clause */
/* From a line of source to the places where its code begins.
 *
 * A compiler moves the code of a line, and repeats it. What users mean is one place for each function, and for each
 * place where a function was inlined: the lowest address that begins a statement. Units that have the file's name
 * are searched first, all others only if these have no such line (headers). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/dwarf/private.h"
#include "base/vector.h"

enum { PLACES_MAX = 65536 };

struct line_search {
    struct dwarf_reader *file;
    const char *source;
    unsigned line, column;
    uint64_t *addresses;
    size_t count, room;
    unsigned next; /* the next line with code, behind the one that has none */
    bool is_known; /* the file is known */
    int error;
};

/* Whether a path ends with `end`, in whole parts. */
static bool path_ends(const char *path, const char *end)
{
    size_t all = path ? strlen(path) : 0, length = strlen(end);
    if (length > all || strcmp(path + all - length, end))
        return false;
    return length == all || end[0] == '/' || path[all - length - 1] == '/';
}

static void offer(struct line_search *search, Dwarf_Line *line)
{
    int number, column = 0;
    bool begins = false, ends = true;
    Dwarf_Addr address;
    if (dwarf_lineno(line, &number) || number < 0 || dwarf_lineendsequence(line, &ends) || ends ||
        dwarf_linebeginstatement(line, &begins) || !begins ||
        !path_ends(dwarf_linesrc(line, NULL, NULL), search->source))
        return;
    search->is_known = true;
    if ((unsigned)number > search->line && (!search->next || (unsigned)number < search->next))
        search->next = (unsigned)number;
    if ((unsigned)number != search->line ||
        (search->column && (dwarf_linecol(line, &column) || (unsigned)column != search->column)) ||
        dwarf_lineaddr(line, &address) || search->count == PLACES_MAX)
        return;
    if (!vector_make_room(search->addresses, search->count, search->room)) {
        search->error = -ENOMEM;
        return;
    }
    search->addresses[search->count++] = address;
}

static bool has_source(Dwarf_Die *unit, const char *source)
{
    Dwarf_Files *files;
    size_t count;
    if (dwarf_getsrcfiles(unit, &files, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (path_ends(dwarf_filesrc(files, i, NULL, NULL), source))
            return true;
    return false;
}

static void search_units(struct line_search *search, bool only_named)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(search->file->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        Dwarf_Lines *lines;
        size_t count;
        if (dwarf_is_late(search->file))
            return;
        const char *base = strrchr(search->source, '/');
        if ((only_named && !path_ends(dwarf_diename(&die), base ? base + 1 : search->source)) ||
            !has_source(&die, search->source) || dwarf_getsrclines(&die, &lines, &count))
            continue;
        for (size_t i = 0; i < count; i++)
            offer(search, dwarf_onesrcline(lines, i));
    }
}

static int compare_addresses(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int visit_lowest(struct line_search *search, dwarf_place_visitor *visit, void *state)
{
    struct table scopes = {0};
    int stop = 0;
    qsort(search->addresses, search->count, sizeof *search->addresses, compare_addresses);
    for (size_t i = 0; i < search->count && !stop; i++) {
        struct dwarf_scope scope;
        const void *key = &search->addresses[i]; /* of code that is described nowhere */
        if (dwarf_scope_at(search->file, search->addresses[i], NULL, &scope))
            key = scope.die.addr;
        if (table_get(&scopes, &key, sizeof key) || table_set(&scopes, &key, sizeof key, search))
            continue;
        stop = visit(state, search->addresses[i],
                     scope.is_found && dwarf_tag(&scope.die) == DW_TAG_inlined_subroutine);
    }
    table_free(&scopes);
    return stop;
}

int dwarf_reader_each_line(struct dwarf_reader *file, const char *source, unsigned line, unsigned column,
                           dwarf_place_visitor *visit, void *state, unsigned *next)
{
    struct line_search search = {.file = file, .source = source, .line = line, .column = column};
    DWARF_QUERY_SCOPE(file);
    search_units(&search, true);
    if (!search.count)
        search_units(&search, false);
    *next = search.is_known ? (search.next ? search.next : line) : 0;
    int result = search.error ? search.error : search.count ? visit_lowest(&search, visit, state) : -ENOENT;
    free(search.addresses);
    return result;
}
