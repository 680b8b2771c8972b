/* SPDX-License-Identifier: BSD-3-Clause */
/* The symbols of an ELF file, .symtab and .dynsym, which are read when they are first needed. Exact names are found
 * by walking the tables once; an index by address is built only for patterns and for addresses. */
#include "base/sorted.h"
#include "sym/elf/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "sym/tables.h"

enum { NAME_MAX_LENGTH = 4096, NEAREST_STEPS = 64 };

void elf_symbols_free(struct elf_symbols *symbols)
{
    free(symbols->items);
    free(symbols->sorted);
    free(symbols->names[0]);
    free(symbols->names[1]);
}

static bool symbol_from_entry(const struct elf_file *file, const Elf64_Sym *entry, char *names,
                              uint64_t names_size, struct elf_symbol *out)
{
    unsigned type = ELF64_ST_TYPE(entry->st_info);
    bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
    if ((!function && type != STT_OBJECT && type != STT_NOTYPE) || entry->st_shndx == SHN_UNDEF ||
        !entry->st_value || entry->st_name >= names_size || !names[entry->st_name])
        return false;
    if (type == STT_NOTYPE && entry->st_shndx == SHN_ABS)
        return false;
    *out = (struct elf_symbol){.name = names + entry->st_name,
                               .address = entry->st_value,
                               .size = entry->st_size,
                               .is_function = function,
                               .is_ifunc = type == STT_GNU_IFUNC,
                               .is_global = ELF64_ST_BIND(entry->st_info) != STB_LOCAL};
    out->has_offset = !elf_file_offset(file, out->address, &out->offset);
    return true;
}

/* Reads the versions of dynamic symbols. They are numbers in a table beside the symbols'; the top bit says that new
 * programs are not linked with this one. Empty if there is no such table. */
static int versions_read(const struct elf_file *file, size_t table, uint16_t **out, size_t *count)
{
    *out = NULL;
    *count = 0;
    for (size_t i = 0; i < file->section_count; i++) {
        const Elf64_Shdr *section = &file->sections[i];
        struct elf_section versions;
        if (section->sh_type != SHT_GNU_versym || section->sh_link != table)
            continue;
        void *bytes = NULL;
        size_t size;
        elf_file_section(file, i, &versions);
        int error = elf_file_section_read(file, &versions, &bytes, &size);
        if (error)
            return error == -ENOMEM ? error : 0;
        *out = bytes;
        *count = size / sizeof **out;
        return 0;
    }
    return 0;
}

/* Of the symbols from `before` on: cuts their versions off, and leaves out names that are empty or too long. Versions are cut
 * off only when all are read, because a name may be the tail of another. */
static void symbols_cut_versions(struct elf_symbols *symbols, size_t before)
{
    size_t kept = before;
    for (size_t i = before; i < symbols->count; i++) {
        struct elf_symbol *symbol = &symbols->items[i];
        char *name = (char *)symbol->name;
        size_t length = strnlen(name, NAME_MAX_LENGTH + 1);
        if (length > NAME_MAX_LENGTH)
            continue;
        char *version = memchr(name, '@', length);
        if (version) {
            symbol->is_old_version = version[1] && version[1] != '@';
            *version = '\0';
        }
        if (*name)
            symbols->items[kept++] = *symbol;
    }
    symbols->count = kept;
}

static int symbols_read_table(struct elf_file *file, size_t index, char **names_out, size_t *names_size_out)
{
    enum { VERSION_HIDDEN = 0x8000 };
    const Elf64_Shdr *table = &file->sections[index];
    struct elf_symbols *symbols = &file->symbols;
    if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= file->section_count)
        return -EBADMSG;
    const struct elf_section entries_section = {
        .type = table->sh_type, .offset = table->sh_offset, .size = table->sh_size};
    const Elf64_Shdr *strings = &file->sections[table->sh_link];
    const struct elf_section names_section = {
        .type = strings->sh_type, .offset = strings->sh_offset, .size = strings->sh_size};
    void *entries = NULL, *names = NULL;
    size_t size, names_size;
    int error = elf_file_section_read(file, &entries_section, &entries, &size);
    if (!error)
        error = elf_file_section_read(file, &names_section, &names, &names_size);
    if (error) {
        free(entries);
        free(names);
        /* NOBITS: the table is in a separate file of debug information */
        return error == -ENOENT ? 0 : error;
    }
    *names_out = names;
    *names_size_out = names_size;
    uint16_t *versions;
    size_t version_count, count = size / sizeof(Elf64_Sym);
    error = versions_read(file, index, &versions, &version_count);
    if (error) {
        free(entries);
        return error;
    }
    struct elf_symbol *grown = realloc(symbols->items, (symbols->count + count + 1) * sizeof *grown);
    if (!grown) {
        free(entries);
        free(versions);
        return -ENOMEM;
    }
    symbols->items = grown;
    size_t before = symbols->count;
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym entry;
        memcpy(&entry, (char *)entries + i * sizeof entry, sizeof entry);
        struct elf_symbol *symbol = &grown[symbols->count];
        if (!symbol_from_entry(file, &entry, names, names_size, symbol))
            continue;
        symbol->is_old_version = i < version_count && versions[i] & VERSION_HIDDEN;
        symbols->count++;
    }
    free(versions);
    free(entries);
    symbols_cut_versions(symbols, before);
    symbols->memory += names_size + (symbols->count - before) * sizeof *grown;
    if (symbols->count && (grown = realloc(symbols->items, symbols->count * sizeof *grown)))
        symbols->items = grown;
    return 0;
}

static int read_tables(struct elf_file *file)
{
    static const uint32_t wanted[2] = {SHT_SYMTAB, SHT_DYNSYM};
    struct elf_symbols *symbols = &file->symbols;
    int error = 0;
    for (size_t w = 0; w < 2 && !error; w++)
        for (size_t i = 0; i < file->section_count; i++)
            if (file->sections[i].sh_type == wanted[w]) {
                error = symbols_read_table(file, i, &symbols->names[w], &symbols->names_size[w]);
                break; /* there is at most one table of each kind */
            }
    return error;
}

int elf_symbols_read(struct elf_file *file)
{
    struct elf_symbols *symbols = &file->symbols;
    if (symbols->state)
        return symbols->state == 1 ? 0 : symbols->state;
    int error = tables_are_apart(file) ? elf_ask_symbols(file) : read_tables(file);
    symbols->state = error ? error : 1;
    return error;
}

static int compare_address_name(const void *a, const void *b)
{
    const struct elf_symbol *x = *(struct elf_symbol *const *)a, *y = *(struct elf_symbol *const *)b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : (int)y->is_global - (int)x->is_global;
}

static int symbols_sort(struct elf_file *file)
{
    int error = elf_symbols_read(file);
    struct elf_symbols *symbols = &file->symbols;
    if (error || symbols->sorted)
        return error;
    struct elf_symbol **sorted = malloc((symbols->count + 1) * sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < symbols->count; i++)
        if (symbols->items[i].is_function)
            sorted[count++] = &symbols->items[i];
    qsort(sorted, count, sizeof *sorted, compare_address_name);
    for (size_t i = 0; i < count; i++)
        if (!kept || sorted[kept - 1]->address != sorted[i]->address ||
            strcmp(sorted[kept - 1]->name, sorted[i]->name))
            sorted[kept++] = sorted[i];
    symbols->sorted = sorted;
    symbols->memory += (symbols->count + 1) * sizeof *sorted;
    symbols->sorted_count = kept;
    return 0;
}

static int symbols_find(struct elf_file *file, const char *name, bool functions_only, struct elf_symbol *out)
{
    int error = elf_symbols_read(file);
    if (error)
        return error;
    const struct elf_symbol *best = NULL;
    int best_rank = -1;
    for (size_t i = 0; i < file->symbols.count; i++) {
        const struct elf_symbol *symbol = &file->symbols.items[i];
        if (symbol->name[0] != name[0] || strcmp(symbol->name, name) ||
            (functions_only && (!symbol->is_function || !symbol->has_offset)))
            continue;
        int rank =
            symbol->is_global + 2 * !symbol->is_ifunc + 4 * !symbol->is_old_version + 8 * symbol->is_function;
        if (rank > best_rank) {
            best = symbol;
            best_rank = rank;
        }
    }
    if (!best)
        return -ENOENT;
    *out = *best;
    return 0;
}

int elf_file_function(struct elf_file *file, const char *name, struct elf_symbol *out)
{
    return symbols_find(file, name, true, out);
}

int elf_file_symbol(struct elf_file *file, const char *name, struct elf_symbol *out)
{
    return symbols_find(file, name, false, out);
}

int elf_file_each_function(struct elf_file *file, const char *pattern, elf_symbol_visitor *visit,
                           void *context)
{
    int result = symbols_sort(file);
    for (size_t i = 0; i < file->symbols.sorted_count && !result; i++)
        if (file->symbols.sorted[i]->has_offset && glob_match(pattern, file->symbols.sorted[i]->name))
            result = visit(context, file->symbols.sorted[i]);
    return result;
}

/* Whether `a` is the plainer of two names for one address. */
static bool symbol_is_plainer(const struct elf_symbol *a, const struct elf_symbol *b)
{
    if (a->is_global != b->is_global)
        return a->is_global;
    size_t a_bars = strspn(a->name, "_"), b_bars = strspn(b->name, "_");
    if (a_bars != b_bars)
        return a_bars < b_bars;
    return strlen(a->name) < strlen(b->name);
}

int elf_file_nearest(struct elf_file *file, uint64_t address, struct elf_symbol *out)
{
    int error = symbols_sort(file);
    if (error)
        return error;
    struct elf_symbol **sorted = file->symbols.sorted;
    const size_t behind = partition_point(file->symbols.sorted_count, i, sorted[i]->address <= address);
    /* A function that contains the address may have smaller ones inside it. */
    const struct elf_symbol *best = NULL;
    uint64_t offset;
    bool in_file = !elf_file_offset(file, address, &offset);
    uint64_t unsized_start = behind ? sorted[behind - 1]->address : 0;
    for (size_t i = behind, steps = 0; i-- > 0 && steps < NEAREST_STEPS; steps++) {
        const struct elf_symbol *symbol = sorted[i];
        if (best && symbol->address != best->address)
            break;
        bool contains = symbol->size ? address - symbol->address < symbol->size
                                     : symbol->address == unsized_start && in_file;
        if (contains && (!best || symbol_is_plainer(symbol, best)))
            best = symbol;
    }
    if (!best)
        return -ENOENT;
    *out = *best;
    return 0;
}
