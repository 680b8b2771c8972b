/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of an ELF file on their way from the service that reads them (tables.h). Every number in them may be
 * wrong, in the service as behind it: the code that uses it checks it. Checked at once is what memory depends on:
 * how many items there are, and that names are in their table and end there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/elf/private.h"
#include "sym/tables.h"

struct cursor_symbol {
    uint64_t address, size, offset;
    uint64_t name;  /* offset of its name in its table */
    uint64_t flags; /* enum flag */
};
enum flag {
    FLAG_SECOND = 1, /* its name is in the second table */
    FLAG_OFFSET = 2,
    FLAG_FUNCTION = 4,
    FLAG_IFUNC = 8,
    FLAG_GLOBAL = 16,
    FLAG_OLD = 32,
};

/* ---- in the service ---- */

int elf_put_tables(struct elf_file *file, struct text *out)
{
    wire_put(out, file->machine);
    wire_put(out, file->kind);
    wire_put(out, file->entry);
    wire_put_bytes(out, file->build_id, file->build_id_size);
    wire_put_bytes(out, file->segments, file->segment_count * sizeof *file->segments);
    wire_put_bytes(out, file->sections, file->section_count * sizeof *file->sections);
    wire_put_bytes(out, file->section_names, file->section_names_size);
    return 0;
}

int elf_put_symbols(struct elf_file *file, struct text *out)
{
    const struct elf_symbols *symbols = &file->symbols;
    int error = elf_symbols_read(file);
    if (error)
        return error;
    for (size_t i = 0; i < 2; i++)
        wire_put_bytes(out, symbols->names[i], symbols->names_size[i]);
    wire_put(out, symbols->count * sizeof(struct cursor_symbol));
    for (size_t i = 0; i < symbols->count; i++) {
        const struct elf_symbol *symbol = &symbols->items[i];
        bool is_second =
            symbol->name < symbols->names[0] || symbol->name > symbols->names[0] + symbols->names_size[0];
        const struct cursor_symbol sent = {
            .address = symbol->address,
            .size = symbol->size,
            .offset = symbol->offset,
            .name = (uint64_t)(symbol->name - symbols->names[is_second]),
            .flags = (is_second ? FLAG_SECOND : 0u) | (symbol->has_offset ? FLAG_OFFSET : 0u) |
                     (symbol->is_function ? FLAG_FUNCTION : 0u) | (symbol->is_ifunc ? FLAG_IFUNC : 0u) |
                     (symbol->is_global ? FLAG_GLOBAL : 0u) | (symbol->is_old_version ? FLAG_OLD : 0u)};
        text_append(out, (const char *)&sent, sizeof sent);
    }
    return 0;
}

/* ---- in the process that asks ---- */

/* Returns a copy with a NUL behind it; NULL: there is nothing to copy, or memory ran out. */
static void *copy(const void *bytes, size_t size)
{
    char *kept = bytes ? malloc(size + 1) : NULL;
    if (kept) {
        memcpy(kept, bytes, size);
        kept[size] = '\0';
    }
    return kept;
}

int elf_take_tables(struct elf_file *file, struct cursor *in)
{
    size_t segments, sections, names;
    file->machine = (enum machine)wire_take_within(in, MACHINE_AARCH64);
    file->kind = (enum elf_kind)wire_take_within(in, ELF_OTHER);
    file->entry = wire_take(in);
    const void *id = wire_take_bytes(in, &file->build_id_size);
    const void *segment = wire_take_array(in, sizeof *file->segments, &segments);
    const void *section = wire_take_array(in, sizeof *file->sections, &sections);
    const void *name = wire_take_bytes(in, &names);
    in->is_bad |= file->build_id_size > sizeof file->build_id;
    if (in->is_bad) {
        file->build_id_size = 0;
        return -EBADMSG;
    }
    memcpy(file->build_id, id, file->build_id_size);
    file->segments = copy(segment, segments * sizeof *file->segments);
    file->sections = copy(section, sections * sizeof *file->sections);
    file->section_names = copy(name, names);
    if (!file->segments || !file->sections || !file->section_names)
        return -ENOMEM;
    file->segment_count = segments;
    file->section_count = sections;
    file->section_names_size = names;
    return 0;
}

static bool take_symbol(const struct elf_symbols *symbols, const struct cursor_symbol *sent,
                        struct elf_symbol *out)
{
    const char *names = symbols->names[sent->flags & FLAG_SECOND ? 1 : 0];
    if (sent->name >= symbols->names_size[sent->flags & FLAG_SECOND ? 1 : 0])
        return false;
    *out = (struct elf_symbol){.name = names + sent->name,
                               .address = sent->address,
                               .size = sent->size,
                               .offset = sent->offset,
                               .has_offset = sent->flags & FLAG_OFFSET,
                               .is_function = sent->flags & FLAG_FUNCTION,
                               .is_ifunc = sent->flags & FLAG_IFUNC,
                               .is_global = sent->flags & FLAG_GLOBAL,
                               .is_old_version = sent->flags & FLAG_OLD};
    return true;
}

int elf_take_symbols(struct elf_file *file, struct cursor *in)
{
    struct elf_symbols *symbols = &file->symbols;
    size_t count;
    for (size_t i = 0; i < 2; i++) {
        const void *names = wire_take_bytes(in, &symbols->names_size[i]);
        symbols->names[i] = copy(names, symbols->names_size[i]);
        if (names && !symbols->names[i])
            return -ENOMEM;
    }
    const struct cursor_symbol *sent = wire_take_array(in, sizeof *sent, &count);
    if (!sent)
        return -EBADMSG;
    symbols->items = malloc((count + 1) * sizeof *symbols->items);
    if (!symbols->items)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        symbols->count += take_symbol(symbols, &sent[i], &symbols->items[symbols->count]);
    symbols->memory = symbols->names_size[0] + symbols->names_size[1] + count * sizeof *symbols->items;
    return 0;
}

int elf_ask_tables(struct elf_file *file)
{
    struct apart_answer answer;
    int error = tables_ask_elf(TABLES_ELF, file, &answer);
    if (!error)
        error = elf_take_tables(file, &answer.in);
    apart_answer_free(&answer);
    return error;
}

int elf_ask_symbols(struct elf_file *file)
{
    struct apart_answer answer;
    int error = tables_ask_elf(TABLES_SYMBOLS, file, &answer);
    if (!error)
        error = elf_take_symbols(file, &answer.in);
    apart_answer_free(&answer);
    return error;
}
