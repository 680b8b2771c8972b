/* SPDX-License-Identifier: BSD-3-Clause */
/* Where each name is described: a sorted array of pairs (hash of the name, place). It is made by one walk over the
 * outer levels of all units, when a name is first looked up that the unit at hand does not have.
 *
 * The index has no names: what it leads to is compared with the name that is searched, so that a wrong index (a
 * damaged cache) can hide things but never give a wrong one. */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vector.h"
#include "sym/dwarf/private.h"
#include "base/glob.h"

enum { SECTION_INFO, SECTION_TYPES, SECTION_ALTERNATE, SECTION_SPLIT };
enum { KIND_SHIFT = 60, SECTION_SHIFT = 58, NESTED_SHIFT = 57 };
#define OFFSET_MASK (((uint64_t)1 << NESTED_SHIFT) - 1)

struct walk {
    struct dwarf_reader *file;
    /* Called with each name; an answer that is not 0 ends the walk. */
    int (*visit)(struct walk *walk, enum dwarf_kind kind, const char *name, Dwarf_Die *die, bool is_nested);
    unsigned section;
    Dwarf_Off offset; /* in SECTION_SPLIT: that of the skeleton */
    bool is_flat;     /* the unit's language has no named things inside of a struct: C */
    struct dwarf_index *index;
    /* for a search: */
    enum dwarf_kind kind;
    const char *name;
    dwarf_die_visitor *found;
    dwarf_name_visitor *each; /* for all names of a kind that match the pattern in `name` */
    struct table *seen;
    void *state;
};

/* ---- the walk ---- */

static int walk_enumerators(struct walk *walk, Dwarf_Die *die, bool is_nested)
{
    Dwarf_Die child;
    if (dwarf_child(die, &child))
        return 0;
    do {
        const char *name = dwarf_tag(&child) == DW_TAG_enumerator ? dwarf_diename(&child) : NULL;
        int stop = name ? walk->visit(walk, DWARF_KIND_ENUMERATOR, name, die, is_nested) : 0;
        if (stop)
            return stop;
    } while (dwarf_next(walk->file, &child));
    return 0;
}

/* Walks the children of an entry, but not those of functions: what is declared there has no name elsewhere. */
static int walk_children(struct walk *walk, Dwarf_Die *parent, bool is_nested, unsigned depth)
{
    Dwarf_Die child;
    if (depth > DWARF_DEPTH_MAX || dwarf_child(parent, &child))
        return 0;
    do {
        int tag = dwarf_tag(&child), stop = 0;
        if (tag == DW_TAG_namespace) {
            stop = walk_children(walk, &child, true, depth + 1);
        } else {
            enum dwarf_kind kind = dwarf_kind_of(tag);
            if (!kind || dwarf_has(&child, DW_AT_declaration))
                continue;
            const char *name = dwarf_diename(&child);
            if (name)
                stop = walk->visit(walk, kind, name, &child, is_nested);
            if (!stop && kind == DWARF_KIND_ENUM)
                stop = walk_enumerators(walk, &child, is_nested);
            else if (!stop && !walk->is_flat && (kind == DWARF_KIND_STRUCT || kind == DWARF_KIND_UNION) &&
                     dwarf_haschildren(&child) > 0)
                stop = walk_children(walk, &child, true, depth + 1);
        }
        if (stop)
            return stop;
    } while (dwarf_next(walk->file, &child));
    return 0;
}

static bool is_flat(Dwarf_Die *unit)
{
    uint64_t language;
    if (!dwarf_number(unit, DW_AT_language, &language))
        return false;
    return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
           language == DW_LANG_C11;
}

static int walk_units(struct walk *walk, Dwarf *dwarf, bool is_alternate)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die, split = {0};
    int stop = 0;
    while (!stop && !walk->file->is_late &&
           dwarf_get_units(dwarf, unit, &unit, &version, &type, &die, &split) == 0) {
        bool is_split = type == DW_UT_skeleton && split.addr;
        walk->section = is_alternate                        ? SECTION_ALTERNATE
                        : is_split                          ? SECTION_SPLIT
                        : type == DW_UT_type && version < 5 ? SECTION_TYPES
                                                            : SECTION_INFO;
        walk->offset = dwarf_dieoffset(&die);
        walk->is_flat = is_flat(is_split ? &split : &die);
        stop = walk_children(walk, is_split ? &split : &die, false, 0);
    }
    return stop;
}

/* ---- making the index ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct dwarf_entry *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->where < y->where ? -1 : x->where > y->where;
}

/* Sorts the index, and keeps a few entries of each name, because every unit describes the types of the headers that
 * it includes. Of functions all are kept, because all are probed. */
static void index_sort(struct dwarf_index *index)
{
    enum { SAME_MAX = 4 };
    size_t kept = 0, same = 0;
    if (index->count)
        qsort(index->entries, index->count, sizeof *index->entries, compare_entries);
    for (size_t i = 0; i < index->count; i++) {
        const struct dwarf_entry entry = index->entries[i];
        enum dwarf_kind kind = entry.where >> KIND_SHIFT;
        bool is_same = kept && index->entries[kept - 1].hash == entry.hash &&
                       index->entries[kept - 1].where >> KIND_SHIFT == kind;
        same = is_same ? same + 1 : 0;
        if (same < SAME_MAX || kind == DWARF_KIND_FUNCTION)
            index->entries[kept++] = entry;
    }
    index->count = kept;
}

static bool index_grow(struct dwarf_index *index)
{
    size_t room = index->room;
    struct dwarf_entry *grown = vector_grow(index->entries, &room, SIZE_MAX, sizeof *grown);
    if (grown)
        *index = (struct dwarf_index){grown, index->count, room};
    return grown != NULL;
}

static int index_add(struct walk *walk, enum dwarf_kind kind, const char *name, Dwarf_Die *die,
                     bool is_nested)
{
    struct dwarf_index *index = walk->index;
    if (index->count == index->room) {
        index_sort(index);
        if (index->count >= index->room / 2 && !index_grow(index))
            return -1;
    }
    uint64_t offset = walk->section == SECTION_SPLIT ? walk->offset : dwarf_dieoffset(die);
    index->entries[index->count++] =
        (struct dwarf_entry){table_hash(name, strlen(name)),
                             (uint64_t)kind << KIND_SHIFT | (uint64_t)walk->section << SECTION_SHIFT |
                                 (uint64_t)is_nested << NESTED_SHIFT | (offset & OFFSET_MASK)};
    return 0;
}

static void make_index(struct dwarf_reader *file)
{
    struct walk walk = {.file = file, .visit = index_add, .index = &file->index};
    Dwarf *alternate = dwarf_getalt(file->dwarf);
    file->index_read = true;
    if (dwarf_cache_read(file->source, &file->index))
        return;
    file->reports_wait = true;
    int stop = walk_units(&walk, file->dwarf, false);
    if (!stop && alternate)
        stop = walk_units(&walk, alternate, true);
    index_sort(&file->index);
    file->reports_wait = false;
    if (!stop && !file->is_late)
        dwarf_cache_send(file->source, &file->index);
}

/* ---- looking up ---- */

static int search_visit(struct walk *walk, enum dwarf_kind kind, const char *name, Dwarf_Die *die,
                        bool is_nested)
{
    (void)is_nested;
    return kind == walk->kind && !strcmp(name, walk->name) ? walk->found(walk->state, die) : 0;
}

int dwarf_unit_each(struct dwarf_reader *file, Dwarf_Die *unit, enum dwarf_kind kind, const char *name,
                    dwarf_die_visitor *visit, void *state)
{
    struct walk walk = {
        .file = file, .visit = search_visit, .kind = kind, .name = name, .found = visit, .state = state};
    return walk_children(&walk, unit, false, 0);
}

static bool enum_has(struct dwarf_reader *file, Dwarf_Die *die, const char *name)
{
    Dwarf_Die child;
    if (dwarf_tag(die) != DW_TAG_enumeration_type || dwarf_child(die, &child))
        return false;
    do {
        const char *own = dwarf_diename(&child);
        if (own && !strcmp(own, name))
            return true;
    } while (dwarf_next(file, &child));
    return false;
}

/* Finds the entry to which the index leads. False: it is no longer there, or in a file that was split off. */
static bool entry_die(struct dwarf_reader *file, const struct dwarf_entry *entry, Dwarf_Die *die)
{
    Dwarf_Off offset = entry->where & OFFSET_MASK;
    unsigned section = entry->where >> SECTION_SHIFT & 3;
    Dwarf *dwarf = section == SECTION_ALTERNATE ? dwarf_getalt(file->dwarf) : file->dwarf;
    return dwarf && (section == SECTION_TYPES ? dwarf_offdie_types(dwarf, offset, die)
                                              : dwarf_offdie(dwarf, offset, die));
}

/* Follows one entry of the index. What has another name or kind is passed over. */
static int follow(struct dwarf_reader *file, const struct dwarf_entry *entry, enum dwarf_kind kind,
                  const char *name, dwarf_die_visitor *visit, void *state)
{
    Dwarf_Die die, split = {0};
    if (!entry_die(file, entry, &die))
        return 0;
    if ((entry->where >> SECTION_SHIFT & 3) == SECTION_SPLIT)
        return !dwarf_cu_info(die.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) && split.addr
                   ? dwarf_unit_each(file, &split, kind, name, visit, state)
                   : 0;
    if (kind == DWARF_KIND_ENUMERATOR)
        return enum_has(file, &die, name) ? visit(state, &die) : 0;
    const char *own = dwarf_diename(&die);
    return dwarf_kind_of(dwarf_tag(&die)) == kind && own && !strcmp(own, name) ? visit(state, &die) : 0;
}

int dwarf_index_each(struct dwarf_reader *file, enum dwarf_kind kind, const char *name,
                     dwarf_die_visitor *visit, void *state)
{
    /* All functions are wanted, but of other things only one, for which the program's own index is enough. */
    int is_done = kind != DWARF_KIND_FUNCTION && !file->index_read
                      ? dwarf_fast_each(file, kind, name, visit, state)
                      : 0;
    if (is_done)
        return is_done;
    if (!file->index_read)
        make_index(file);
    uint64_t hash = table_hash(name, strlen(name)), before = UINT64_MAX;
    const size_t first = partition_point(file->index.count, i, file->index.entries[i].hash < hash);
    for (size_t i = first; i < file->index.count && file->index.entries[i].hash == hash && !file->is_late;
         i++) {
        const struct dwarf_entry *entry = &file->index.entries[i];
        if (entry->where >> KIND_SHIFT != kind || entry->where == before)
            continue;
        before = entry->where;
        int stop = follow(file, entry, kind, name, visit, state);
        if (stop)
            return stop;
    }
    return 0;
}

/* ---- all names of a kind ---- */

static int name_visit(struct walk *walk, enum dwarf_kind kind, const char *name, Dwarf_Die *die,
                      bool is_nested)
{
    (void)die, (void)is_nested;
    if (kind != walk->kind || !glob_match(walk->name, name) || table_find(walk->seen, name))
        return 0;
    return table_put(walk->seen, name, walk) ? -1 : walk->each(walk->state, name);
}

int dwarf_index_names(struct dwarf_reader *file, enum dwarf_kind kind, const char *pattern,
                      dwarf_name_visitor *visit, void *state)
{
    struct table seen = {0};
    struct walk walk = {.file = file,
                        .visit = name_visit,
                        .kind = kind,
                        .name = pattern,
                        .each = visit,
                        .seen = &seen,
                        .state = state};
    bool has_split = false;
    int stop = 0;
    if (!file->index_read)
        make_index(file);
    for (size_t i = 0; i < file->index.count && !stop && !dwarf_is_late(file); i++) {
        const struct dwarf_entry *entry = &file->index.entries[i];
        const bool is_split = (entry->where >> SECTION_SHIFT & 3) == SECTION_SPLIT;
        Dwarf_Die die;
        if (entry->where >> KIND_SHIFT != kind)
            continue;
        has_split |= is_split;
        if (is_split || !entry_die(file, entry, &die) || dwarf_kind_of(dwarf_tag(&die)) != kind)
            continue;
        const char *name = dwarf_diename(&die);
        stop = name ? name_visit(&walk, kind, name, &die, false) : 0;
    }
    if (has_split && !stop) /* the index leads only to their units */
        stop = walk_units(&walk, file->dwarf, false);
    table_free(&seen);
    return stop;
}
