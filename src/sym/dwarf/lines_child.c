/* SPDX-License-Identifier: BSD-3-Clause */
/* The service of lines.c, in which elfutils' libdw reads lines, of untrusted files.
 *
 * libdw finds the unit of an address by .debug_aranges, which not every compiler writes. So the ranges of all units
 * are collected once for each file. It finds the scopes of an address by a walk over the unit, which may have tens of
 * thousands of functions. So what a walk has found is kept (unit.c). */
#include "sym/dwarf/lines_child.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "sym/dwarf/private.h"

enum { SCOPES_MAX = 64, FRAMES_MAX = 32 };

struct unit_range {
    uint64_t start, end, unit; /* unit: offset of the unit's first entry */
};

struct place {
    struct dwarf_reader
        reader; /* of which only what unit.c needs is used; its `dwarf` is NULL: there is no debug information */
    int fd;
    struct unit_range *ranges;
    size_t count, room;
};

/* ---- a file ---- */

static int compare_ranges(const void *a, const void *b)
{
    const struct unit_range *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

static void add_ranges(struct place *place, Dwarf_Die *unit)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
        if (!vector_make_room(place->ranges, place->count, place->room))
            _exit(1);
        if (start < end)
            place->ranges[place->count++] = (struct unit_range){start, end, dwarf_dieoffset(unit)};
    }
}

static void place_fill(struct place *place, int fd)
{
    dwarf_units_free(&place->reader);
    if (place->reader.dwarf)
        dwarf_end(place->reader.dwarf);
    if (place->fd > 0)
        close(place->fd);
    free(place->ranges);
    *place = (struct place){.fd = fd, .reader.dwarf = fd > 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL};
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (place->reader.dwarf && !dwarf_get_units(place->reader.dwarf, unit, &unit, NULL, NULL, &die, NULL))
        if (die.addr)
            add_ranges(place, &die);
    if (place->count)
        qsort(place->ranges, place->count, sizeof *place->ranges, compare_ranges);
}

static bool find_unit(const struct place *place, uint64_t address, Dwarf_Die *out)
{
    const size_t behind = partition_point(place->count, i, place->ranges[i].start <= address);
    return behind && address < place->ranges[behind - 1].end &&
           dwarf_offdie(place->reader.dwarf, place->ranges[behind - 1].unit, out);
}

/* ---- an address ---- */

struct answer {
    struct text *out;
    unsigned count;
};

static void answer_add(struct answer *answer, const char *function, const char *file, uint32_t line)
{
    if (answer->count++ >= FRAMES_MAX)
        return;
    wire_put(answer->out, line);
    wire_put_text(answer->out, function);
    wire_put_text(answer->out, file ? file : "");
}

static const char *function_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    if (!name)
        name = dwarf_diename(die);
    return name && *name ? name : "?";
}

static Dwarf_Word number(Dwarf_Die *die, unsigned attribute_name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_attr(die, attribute_name, &attribute) && !dwarf_formudata(&attribute, &value) ? value : 0;
}

static void find(struct place *place, uint64_t address, struct answer *answer)
{
    Dwarf_Die unit, scopes[SCOPES_MAX];
    if (!find_unit(place, address, &unit))
        return;
    Dwarf_Line *line = dwarf_getsrc_die(&unit, address);
    int lineno = 0;
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (!file || dwarf_lineno(line, &lineno) || lineno <= 0)
        return;
    Dwarf_Files *files = NULL;
    size_t file_count = 0, count = 0;
    place->reader.deadline = clock_seconds(CLOCK_MONOTONIC) + DWARF_SECONDS_MAX;
    while (count < SCOPES_MAX &&
           dwarf_code_at(&place->reader, count ? &scopes[count - 1] : &unit, address, &scopes[count]))
        count++;
    while (count-- > 0) {
        int tag = dwarf_tag(&scopes[count]);
        if (tag == DW_TAG_subprogram)
            break;
        if (tag != DW_TAG_inlined_subroutine)
            continue;
        answer_add(answer, function_name(&scopes[count]), file, (uint32_t)lineno);
        if (!files && dwarf_getsrcfiles(&unit, &files, &file_count))
            files = NULL;
        Dwarf_Word index = number(&scopes[count], DW_AT_call_file);
        file = files && index < file_count ? dwarf_filesrc(files, index, NULL, NULL) : NULL;
        lineno = (int)number(&scopes[count], DW_AT_call_line);
    }
    answer_add(answer, "", file, (uint32_t)lineno);
}

/* ---- questions ---- */

int lines_serve(void *state, struct apart_question *question, struct text *answer)
{
    static struct place places[LINES_PLACES];
    struct place *place = &places[wire_take_within(&question->in, LINES_PLACES - 1)];
    uint64_t address = wire_take(&question->in);
    (void)state;
    if (question->fd >= 0) {
        place_fill(place, question->fd);
        question->fd = -1;
    }
    if (!place->reader.dwarf)
        return -ENOENT;
    find(place, address, &(struct answer){.out = answer});
    return 0;
}
