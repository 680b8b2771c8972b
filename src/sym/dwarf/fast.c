/* SPDX-License-Identifier: BSD-3-Clause */
/* Indexes that came with the program: .gdb_index (versions 5 to 9; linkers, gdb-add-index) and .debug_names
 * (DWARF 5).
 *
 * They may leave out units, and say "function" where nothing can be probed, so only the way to a thing is
 * taken from them: what they lead to is compared with what is sought, and a name that they do not have is
 * sought in our own index. Both are hash tables that are read in place: nothing is read of them but what one
 * name needs. */
#include <ctype.h>
#include <string.h>

#include "sym/dwarf/private.h"

struct bytes {
    const uint8_t *at;
    uint64_t size;
};

struct ask {
    struct dwarf_reader *file;
    enum dwarf_kind kind;
    const char *name;
    dwarf_die_visitor *visit;
    void *state;
};

/* Nothing where the file is too short. */
static uint64_t number(const struct bytes *bytes, uint64_t offset, unsigned width)
{
    uint64_t value = 0;
    if (offset <= bytes->size && bytes->size - offset >= width)
        memcpy(&value, bytes->at + offset, width);
    return value;
}

static bool section(struct dwarf_reader *file, const char *name, struct bytes *out)
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
        *out = (struct bytes){data->d_buf, data->d_size};
        return true;
    }
    return false;
}

/* ---- .gdb_index ---- */

/* The unit is named, what is sought in it is not. */
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

static bool is_text(const struct bytes *bytes, uint64_t offset, const char *text)
{
    size_t length = strlen(text) + 1;
    return offset <= bytes->size && bytes->size - offset >= length &&
           !memcmp(bytes->at + offset, text, length);
}

static int gdb_units(struct ask *ask, const struct bytes *index, uint64_t vector)
{
    enum { TYPE = 1, VARIABLE = 2, UNIT_BYTES = 16, UNITS_MAX = 256 };
    uint64_t units = number(index, 4, 4), types = number(index, 8, 4), count = number(index, vector, 4);
    bool is_type = ask->kind != DWARF_KIND_VARIABLE && ask->kind != DWARF_KIND_ENUMERATOR;
    int stop = 0;
    for (uint64_t i = 0; i < count && i < UNITS_MAX && !stop; i++) {
        uint64_t entry = number(index, vector + 4 + 4 * i, 4), kind = entry >> 28 & 7;
        uint64_t unit = units + (entry & 0xffffff) * UNIT_BYTES;
        if ((kind == 0 || kind == (is_type ? TYPE : VARIABLE)) && unit < types)
            stop = in_unit(ask, number(index, unit, 8));
    }
    return stop;
}

static int gdb_each(struct ask *ask, const struct bytes *index)
{
    enum { OLDEST = 5, SHORTCUTS = 9, SLOT = 8 };
    uint64_t version = number(index, 0, 4), slots = number(index, 16, 4);
    uint64_t pool = number(index, version >= SHORTCUTS ? 24 : 20, 4);
    uint64_t end = version >= SHORTCUTS ? number(index, 20, 4) : pool;
    uint64_t count = end > slots ? (end - slots) / SLOT : 0;
    uint32_t hash = 0;
    if (version < OLDEST || version > SHORTCUTS || end > index->size || !count || count & (count - 1))
        return 0;
    for (const char *c = ask->name; *c; c++)
        hash = hash * 67 + (uint32_t)tolower((unsigned char)*c) - 113;
    uint64_t at = hash & (count - 1), step = ((hash * 17) & (count - 1)) | 1;
    for (uint64_t iterations = 0; iterations < count; iterations++, at = (at + step) & (count - 1)) {
        uint64_t name = number(index, slots + at * SLOT, 4), vector = number(index, slots + at * SLOT + 4, 4);
        if (!name && !vector)
            return 0;
        if (is_text(index, pool + name, ask->name))
            return gdb_units(ask, index, pool + vector);
    }
    return 0;
}

/* ---- .debug_names ---- */

enum { INDEX_UNIT = 1, INDEX_TYPE_UNIT, INDEX_ENTRY }; /* DW_IDX_… */

/* One table; a section has one for each unit where no linker joined them. */
struct names {
    struct bytes bytes; /* from its header on */
    unsigned offset_size;
    uint64_t units, buckets, hashes, entries, abbreviations, pool; /* where they begin */
    uint64_t unit_count, bucket_count, name_count;
};

static uint64_t leb(const struct bytes *bytes, uint64_t *offset)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *offset < bytes->size && shift < 64; shift += 7) {
        uint8_t byte = bytes->at[(*offset)++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return value;
}

/* False: it makes no sense. *end: of the table, in the section. */
static bool names_open(const struct bytes *section, uint64_t at, struct names *names, uint64_t *end)
{
    struct bytes rest = {section->at + at, section->size - at};
    uint64_t length = number(&rest, 0, 4), begin = 4;
    names->offset_size = 4;
    if (length == UINT32_MAX) {
        length = number(&rest, 4, 8);
        begin = 12;
        names->offset_size = 8;
    }
    if (rest.size < begin || length < 32 || length > rest.size - begin || number(&rest, begin, 2) != 5)
        return false;
    *end = at + begin + length;
    names->bytes = (struct bytes){rest.at, begin + length};
    uint64_t counts[7];
    for (unsigned i = 0; i < 7; i++)
        counts[i] = number(&rest, begin + 4 + 4 * i, 4);
    names->unit_count = counts[0];
    names->bucket_count = counts[3];
    names->name_count = counts[4];
    names->units = begin + 32 + ((counts[6] + 3) & ~(uint64_t)3);
    names->buckets = names->units + (counts[0] + counts[1]) * names->offset_size + counts[2] * 8;
    names->hashes = names->buckets + names->bucket_count * 4;
    names->entries = names->hashes + names->name_count * (4 + names->offset_size);
    names->abbreviations = names->entries + names->name_count * names->offset_size;
    names->pool = names->abbreviations + counts[5];
    return names->bucket_count && names->pool <= names->bytes.size;
}

static bool skip_form(const struct bytes *bytes, uint64_t form, uint64_t *offset, uint64_t *value)
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
    case DW_FORM_ref_udata: *value = leb(bytes, offset); return true;
    case DW_FORM_flag_present: *value = 1; return true;
    default: return false;
    }
    *value = number(bytes, *offset, width);
    *offset += width;
    return *offset <= bytes->size;
}

/* Where the forms of an entry are described; 0: nowhere. */
static uint64_t abbreviation(const struct names *names, uint64_t wanted)
{
    uint64_t at = names->abbreviations;
    while (at < names->pool) {
        uint64_t code = leb(&names->bytes, &at), what = 1, form = 1;
        leb(&names->bytes, &at); /* the tag */
        if (!code)
            return 0;
        if (code == wanted)
            return at;
        while ((what || form) && at < names->pool) {
            what = leb(&names->bytes, &at);
            form = leb(&names->bytes, &at);
        }
    }
    return 0;
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

/* All entries of one name: a unit and a distance in it each. */
static int names_entries(struct ask *ask, const struct names *names, uint64_t at)
{
    enum { ENTRIES_MAX = 4096, FORMS_MAX = 16 };
    int stop = 0;
    for (unsigned n = 0; n < ENTRIES_MAX && !stop && !dwarf_is_late(ask->file); n++) {
        uint64_t forms = abbreviation(names, leb(&names->bytes, &at)), unit = 0, distance = 0;
        bool is_known = forms != 0, is_in_unit = true;
        for (unsigned i = 0; is_known && i < FORMS_MAX; i++) {
            uint64_t what = leb(&names->bytes, &forms), form = leb(&names->bytes, &forms), value = 0;
            if (!what && !form)
                break;
            is_known = skip_form(&names->bytes, form, &at, &value);
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
            stop = names_die(
                ask, number(&names->bytes, names->units + unit * names->offset_size, names->offset_size) +
                         distance);
    }
    return stop;
}

static int names_look(struct ask *ask, const struct names *names, uint32_t hash)
{
    uint64_t bucket = hash % names->bucket_count,
             first = number(&names->bytes, names->buckets + 4 * bucket, 4);
    int stop = 0;
    for (uint64_t i = first; first && i <= names->name_count && !stop; i++) {
        uint64_t own = number(&names->bytes, names->hashes + 4 * (i - 1), 4);
        if (own % names->bucket_count != bucket)
            break;
        if (own == hash)
            stop = names_entries(ask, names,
                                 names->pool + number(&names->bytes,
                                                      names->entries + (i - 1) * names->offset_size,
                                                      names->offset_size));
    }
    return stop;
}

static int names_each(struct ask *ask, const struct bytes *section)
{
    struct names names;
    uint32_t hash = 5381;
    int stop = 0;
    for (const char *c = ask->name; *c; c++)
        hash = hash * 33 + (uint32_t)tolower((unsigned char)*c);
    for (uint64_t at = 0, end; at < section->size && !stop && names_open(section, at, &names, &end); at = end)
        stop = dwarf_is_late(ask->file) ? 0 : names_look(ask, &names, hash);
    return stop;
}

int dwarf_fast_each(struct dwarf_reader *file, enum dwarf_kind kind, const char *name,
                    dwarf_die_visitor *visit, void *state)
{
    struct ask ask = {file, kind, name, visit, state};
    struct bytes bytes;
    int stop = 0;
    if (section(file, ".gdb_index", &bytes))
        stop = gdb_each(&ask, &bytes);
    /* An enumerator's entry leads to itself, and its enum is wanted. */
    if (!stop && kind != DWARF_KIND_ENUMERATOR && section(file, ".debug_names", &bytes))
        stop = names_each(&ask, &bytes);
    return stop;
}
