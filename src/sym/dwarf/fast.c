/* SPDX-License-Identifier: BSD-3-Clause */
/* Indexes that came with the program: .gdb_index (versions 5 to 9; made by linkers, gdb-add-index) and .debug_names
 * (DWARF 5).
 *
 * They may leave out units, and say "function" where nothing can be probed. So they are used only to find entries:
 * what they lead to is compared with what is searched, and a name that they do not have is searched in the index of
 * dwarf/index.c. Both are hash tables that are read in place: nothing is read of them but what one name needs. */
#include <ctype.h>
#include <string.h>

#include "base/cursor.h"
#include "sym/dwarf/private.h"

struct ask {
    struct dwarf_reader *file;
    enum dwarf_kind kind;
    const char *name;
    dwarf_die_visitor *visit;
    void *state;
};

static bool section(struct dwarf_reader *file, const char *name, struct cursor *out)
{
    Elf *elf = dwarf_getelf(file->dwarf);
    size_t names;
    GElf_Shdr header;
    if (!elf || elf_getshdrstrndx(elf, &names))
        return false;
    for (Elf_Scn *at = NULL; (at = elf_nextscn(elf, at));) {
        const char *own = gelf_getshdr(at, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!own || strcmp(own, name) != 0 || header.sh_type == SHT_NOBITS ||
            header.sh_flags & SHF_COMPRESSED)
            continue;
        Elf_Data *data = elf_rawdata(at, NULL);
        if (!data || !data->d_buf)
            return false;
        *out = cursor_over(data->d_buf, data->d_size);
        return true;
    }
    return false;
}

/* ---- .gdb_index ---- */

/* Searches a unit: the index names the unit, but not the entry in it. */
static int in_unit(struct ask *ask, uint64_t offset)
{
    Dwarf_Off next;
    size_t header;
    Dwarf_Die die, split = {0};
    if (dwarf_next_unit(ask->file->dwarf, offset, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) ||
        !dwarf_offdie(ask->file->dwarf, offset + header, &die))
        return 0;
    if (!dwarf_cu_info(die.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) && split.addr)
        die = split;
    return dwarf_unit_each(ask->file, &die, ask->kind, ask->name, ask->visit, ask->state);
}

static bool is_text(const struct cursor *bytes, uint64_t offset, const char *text)
{
    size_t length = strlen(text) + 1;
    struct cursor there = cursor_ahead(bytes, offset);
    const void *found = cursor_take_bytes(&there, length);
    return found && !memcmp(found, text, length);
}

static int gdb_units(struct ask *ask, const struct cursor *index, uint64_t vector)
{
    enum { TYPE = 1, VARIABLE = 2, UNIT_BYTES = 16, UNITS_MAX = 256 };
    uint64_t units = cursor_peek(index, 4, 4), types = cursor_peek(index, 8, 4),
             count = cursor_peek(index, vector, 4);
    bool is_type = ask->kind != DWARF_KIND_VARIABLE && ask->kind != DWARF_KIND_ENUMERATOR;
    int stop = 0;
    for (uint64_t i = 0; i < count && i < UNITS_MAX && !stop; i++) {
        uint64_t entry = cursor_peek(index, vector + 4 + 4 * i, 4), kind = entry >> 28 & 7;
        uint64_t unit = units + (entry & 0xffffff) * UNIT_BYTES;
        if ((kind == 0 || kind == (is_type ? TYPE : VARIABLE)) && unit < types)
            stop = in_unit(ask, cursor_peek(index, unit, 8));
    }
    return stop;
}

static int gdb_each(struct ask *ask, const struct cursor *index)
{
    enum { OLDEST = 5, SHORTCUTS = 9, SLOT = 8 };
    uint64_t version = cursor_peek(index, 0, 4), slots = cursor_peek(index, 16, 4);
    uint64_t pool = cursor_peek(index, version >= SHORTCUTS ? 24 : 20, 4);
    uint64_t end = version >= SHORTCUTS ? cursor_peek(index, 20, 4) : pool;
    uint64_t count = end > slots ? (end - slots) / SLOT : 0;
    uint32_t hash = 0;
    if (version < OLDEST || version > SHORTCUTS || end > cursor_left(index) || !count || count & (count - 1))
        return 0;
    for (const char *c = ask->name; *c; c++)
        hash = hash * 67 + (uint32_t)tolower((unsigned char)*c) - 113;
    uint64_t at = hash & (count - 1), step = ((hash * 17) & (count - 1)) | 1;
    for (uint64_t iterations = 0; iterations < count; iterations++, at = (at + step) & (count - 1)) {
        uint64_t name = cursor_peek(index, slots + at * SLOT, 4),
                 vector = cursor_peek(index, slots + at * SLOT + 4, 4);
        if (!name && !vector)
            return 0;
        if (is_text(index, pool + name, ask->name))
            return gdb_units(ask, index, pool + vector);
    }
    return 0;
}

/* ---- .debug_names ---- */

enum { INDEX_UNIT = 1, INDEX_TYPE_UNIT, INDEX_ENTRY }; /* DW_IDX_… */

/* One table; a section has one for each unit, if no linker joined them. */
struct names {
    struct cursor bytes; /* from its header on */
    unsigned offset_size;
    struct cursor abbreviations, pool;
    uint64_t units, buckets, hashes, entries; /* where they begin in `bytes` */
    uint64_t unit_count, bucket_count, name_count;
};

/* Opens a table. False: it makes no sense. *end: the end of the table in the section. */
static bool names_open(const struct cursor *section, uint64_t at, struct names *names, uint64_t *end)
{
    struct cursor rest = cursor_ahead(section, at);
    uint64_t length = cursor_peek(&rest, 0, 4), begin = 4;
    names->offset_size = 4;
    if (length == UINT32_MAX) {
        length = cursor_peek(&rest, 4, 8);
        begin = 12;
        names->offset_size = 8;
    }
    if (cursor_left(&rest) < begin || length < 32 || length > cursor_left(&rest) - begin ||
        cursor_peek(&rest, begin, 2) != 5)
        return false;
    *end = at + begin + length;
    names->bytes = cursor_take_part(&rest, begin + length);
    uint64_t counts[7];
    for (unsigned i = 0; i < 7; i++)
        counts[i] = cursor_peek(&names->bytes, begin + 4 + 4 * i, 4);
    names->unit_count = counts[0];
    names->bucket_count = counts[3];
    names->name_count = counts[4];
    names->units = begin + 32 + ((counts[6] + 3) & ~(uint64_t)3);
    names->buckets = names->units + (counts[0] + counts[1]) * names->offset_size + counts[2] * 8;
    names->hashes = names->buckets + names->bucket_count * 4;
    names->entries = names->hashes + names->name_count * (4 + names->offset_size);
    names->abbreviations =
        cursor_ahead(&names->bytes, names->entries + names->name_count * names->offset_size);
    names->pool = cursor_ahead(&names->abbreviations, counts[5]);
    names->abbreviations.end = names->pool.at;
    return names->bucket_count && !names->pool.is_bad;
}

static bool take_form(struct cursor *cursor, uint64_t form, uint64_t *value)
{
    unsigned width = 0;
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag: width = 1; break;
    case DW_FORM_data2:
    case DW_FORM_ref2: width = 2; break;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strp:
    case DW_FORM_sec_offset: width = 4; break;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8: width = 8; break;
    case DW_FORM_udata:
    case DW_FORM_ref_udata: *value = cursor_take_uleb(cursor); return true;
    case DW_FORM_flag_present: *value = 1; return true;
    default: return false;
    }
    *value = cursor_take(cursor, width);
    return !cursor->is_bad;
}

/* Returns the forms of an entry; the cursor is bad if they are described nowhere. */
static struct cursor abbreviation(const struct names *names, uint64_t wanted)
{
    struct cursor at = names->abbreviations;
    while (!at.is_bad) {
        uint64_t code = cursor_take_uleb(&at), what = 1, form = 1;
        cursor_take_uleb(&at); /* the tag */
        at.is_bad |= !code;
        if (code == wanted)
            break;
        while ((what || form) && !at.is_bad) {
            what = cursor_take_uleb(&at);
            form = cursor_take_uleb(&at);
        }
    }
    return at;
}

static int names_die(struct ask *ask, uint64_t offset)
{
    Dwarf_Die die;
    if (!dwarf_offdie(ask->file->dwarf, offset, &die))
        return 0;
    const char *own = dwarf_diename(&die);
    return dwarf_kind_of(dwarf_tag(&die)) == ask->kind && own && !strcmp(own, ask->name) &&
                   !dwarf_has(&die, DW_AT_declaration)
               ? ask->visit(ask->state, &die)
               : 0;
}

/* Follows all entries of one name, each of which is a unit and an offset in it. */
static int names_entries(struct ask *ask, const struct names *names, struct cursor at)
{
    enum { ENTRIES_MAX = 4096, FORMS_MAX = 16 };
    int stop = 0;
    for (unsigned n = 0; n < ENTRIES_MAX && !stop && !dwarf_is_late(ask->file); n++) {
        struct cursor forms = abbreviation(names, cursor_take_uleb(&at));
        uint64_t unit = 0, distance = 0;
        bool is_known = !forms.is_bad, is_in_unit = true;
        for (unsigned i = 0; is_known && i < FORMS_MAX; i++) {
            uint64_t what = cursor_take_uleb(&forms), form = cursor_take_uleb(&forms), value = 0;
            if (!what && !form)
                break;
            is_known = take_form(&at, form, &value);
            if (what == INDEX_UNIT)
                unit = value;
            else if (what == INDEX_ENTRY)
                distance = value;
            else if (what == INDEX_TYPE_UNIT)
                is_in_unit = false;
        }
        if (!is_known)
            return 0;
        if (is_in_unit && distance && unit < names->unit_count)
            stop = names_die(ask, cursor_peek(&names->bytes, names->units + unit * names->offset_size,
                                              names->offset_size) +
                                      distance);
    }
    return stop;
}

static int names_look(struct ask *ask, const struct names *names, uint32_t hash)
{
    uint64_t bucket = hash % names->bucket_count,
             first = cursor_peek(&names->bytes, names->buckets + 4 * bucket, 4);
    int stop = 0;
    for (uint64_t i = first; first && i <= names->name_count && !stop; i++) {
        uint64_t own = cursor_peek(&names->bytes, names->hashes + 4 * (i - 1), 4);
        if (own % names->bucket_count != bucket)
            break;
        if (own == hash)
            stop = names_entries(
                ask, names,
                cursor_ahead(&names->pool,
                             cursor_peek(&names->bytes, names->entries + (i - 1) * names->offset_size,
                                         names->offset_size)));
    }
    return stop;
}

static int names_each(struct ask *ask, const struct cursor *section)
{
    struct names names;
    uint32_t hash = 5381;
    int stop = 0;
    for (const char *c = ask->name; *c; c++)
        hash = hash * 33 + (uint32_t)tolower((unsigned char)*c);
    for (uint64_t at = 0, end; at < cursor_left(section) && !stop && names_open(section, at, &names, &end);
         at = end)
        stop = dwarf_is_late(ask->file) ? 0 : names_look(ask, &names, hash);
    return stop;
}

int dwarf_fast_each(struct dwarf_reader *file, enum dwarf_kind kind, const char *name,
                    dwarf_die_visitor *visit, void *state)
{
    struct ask ask = {file, kind, name, visit, state};
    struct cursor bytes;
    int stop = 0;
    if (section(file, ".gdb_index", &bytes))
        stop = gdb_each(&ask, &bytes);
    /* The entry of an enumerator leads to the enumerator, and its enum is wanted. */
    if (!stop && kind != DWARF_KIND_ENUMERATOR && section(file, ".debug_names", &bytes))
        stop = names_each(&ask, &bytes);
    return stop;
}
