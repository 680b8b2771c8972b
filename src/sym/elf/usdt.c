/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the notes of USDT probes. Every site points into the bytes of the notes, so that nothing is copied.
 *
 * A stapsdt note is location, base, semaphore (8 bytes each), then provider, name and arguments, each ending
 * with NUL. The linker, or prelink after it, may have moved the program without changing the notes: `base` is
 * where the section .stapsdt.base was meant to be, and its difference to where that is now applies to location
 * and semaphore. */
#include "sym/elf/usdt.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vector.h"
#include "sym/elf/note.h"
#include "base/glob.h"
#include "sym/tables.h"

enum {
    SITES_MAX = 1 << 20,
    DECLARED_MAX = USDT_ARGUMENTS_MAX,
    SECTIONS_WITH_NOTES = 64,
    NAME_BYTES_MAX = 512,
    NOTES_MAX = 64 << 20
};

/* A list of all memory that must live as long as the sites. */
struct usdt_block {
    struct usdt_block *next;
    void *bytes;
};

struct declared_note {
    uint64_t address;
    const char *provider, *name;
    struct cursor texts; /* "type\0argument\0…" */
};

struct note_reader {
    const struct elf_file *file;
    struct usdt_probes *out;
    struct usdt_block *blocks;
    uint64_t base_address; /* address of .stapsdt.base; 0: there is none */
    size_t site_room;
    struct declared_note *declared;
    size_t declared_count, declared_room;
};

static int reader_keep(struct note_reader *reader, void *bytes)
{
    struct usdt_block *block = malloc(sizeof *block);
    if (!block) {
        free(bytes);
        return -ENOMEM;
    }
    *block = (struct usdt_block){.next = reader->blocks, .bytes = bytes};
    reader->blocks = block;
    return 0;
}

struct note_head {
    uint64_t location, base, semaphore;
    const char *provider, *name;
    struct cursor rest;
};

static bool note_head_read(struct note_reader *reader, const struct elf_note *note, struct note_head *out)
{
    struct cursor cursor = cursor_over(note->content, note->size);
    uint64_t location = cursor_take(&cursor, 8), base = cursor_take(&cursor, 8);
    uint64_t semaphore = cursor_take(&cursor, 8);
    uint64_t moved = reader->base_address && base ? reader->base_address - base : 0;
    *out = (struct note_head){
        .location = location + moved, .base = base, .semaphore = semaphore ? semaphore + moved : 0};
    out->provider = cursor_take_text(&cursor, NAME_BYTES_MAX);
    out->name = cursor_take_text(&cursor, NAME_BYTES_MAX);
    out->rest = cursor;
    return !cursor.is_bad && *out->provider && *out->name;
}

static int note_take_site(struct note_reader *reader, const struct note_head *head)
{
    struct cursor rest = head->rest;
    const char *arguments = cursor_take_text(&rest, UINT16_MAX);
    struct usdt_site site = {.provider = head->provider,
                             .name = head->name,
                             .arguments = arguments ? arguments : "",
                             .address = head->location,
                             .semaphore_address = head->semaphore};
    if (elf_file_offset(reader->file, site.address, &site.offset) ||
        (site.semaphore_address &&
         elf_file_offset(reader->file, site.semaphore_address, &site.semaphore_offset))) {
        reader->out->damaged++;
        return 0;
    }
    /* If a linker drops code and keeps its notes, they name places near 0. */
    uint64_t code;
    if (elf_file_code_address(reader->file, site.offset, &code) || code != site.address)
        return 0;
    if (!vector_make_room(reader->out->sites, reader->out->count, reader->site_room))
        return -ENOMEM;
    reader->out->sites[reader->out->count++] = site;
    return 0;
}

static int note_take_declared(struct note_reader *reader, const struct note_head *head)
{
    if (!vector_make_room(reader->declared, reader->declared_count, reader->declared_room))
        return -ENOMEM;
    reader->declared[reader->declared_count++] =
        (struct declared_note){head->location, head->provider, head->name, head->rest};
    return 0;
}

static const struct note_owner {
    const char *section, *owner;
    uint32_t type;
    int (*take)(struct note_reader *reader, const struct note_head *head);
} note_owners[] = {
    {".note.stapsdt", "stapsdt", 3, note_take_site},
    {".note.spoor", "spoor", 1, note_take_declared},
};

static int reader_notes(struct note_reader *reader, const struct note_owner *owner, const char *notes,
                        size_t size)
{
    struct cursor left = cursor_over(notes, size);
    struct elf_note note;
    while (elf_note_take(&left, &note)) {
        struct note_head head;
        if (note.type != owner->type || !elf_note_is_of(&note, owner->owner))
            continue;
        if (reader->out->count >= SITES_MAX || reader->declared_count >= SITES_MAX)
            return -EFBIG;
        if (note_head_read(reader, &note, &head)) {
            int error = owner->take(reader, &head);
            if (error)
                return error;
        } else {
            reader->out->damaged++;
        }
    }
    reader->out->damaged += left.is_bad;
    return 0;
}

static int compare_sites(const void *a, const void *b)
{
    const struct usdt_site *x = a, *y = b;
    int order = strcmp(x->provider, y->provider);
    if (!order)
        order = strcmp(x->name, y->name);
    if (order)
        return order;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_declared(const void *a, const void *b)
{
    const struct declared_note *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void sites_drop_doubles(struct usdt_probes *probes)
{
    size_t kept = 0;
    for (size_t i = 0; i < probes->count; i++)
        if (!kept || compare_sites(&probes->sites[kept - 1], &probes->sites[i]))
            probes->sites[kept++] = probes->sites[i];
    probes->count = kept;
}

/* Returns the first of spoor's own notes at the address that has the site's names. */
static const struct declared_note *declared_find(const struct note_reader *reader,
                                                 const struct usdt_site *site)
{
    const size_t first =
        partition_point(reader->declared_count, i, reader->declared[i].address < site->address);
    enum { SAME_PLACE = 16 };
    for (size_t i = first; i < reader->declared_count && i < first + SAME_PLACE; i++) {
        const struct declared_note *note = &reader->declared[i];
        if (note->address != site->address)
            break;
        if (!strcmp(note->provider, site->provider) && !strcmp(note->name, site->name))
            return note;
    }
    return NULL;
}

static int reader_join(struct note_reader *reader)
{
    struct usdt_probes *out = reader->out;
    if (reader->declared_count)
        qsort(reader->declared, reader->declared_count, sizeof *reader->declared, compare_declared);
    for (size_t i = 0; i < out->count && reader->declared_count; i++) {
        const struct declared_note *note = declared_find(reader, &out->sites[i]);
        struct usdt_declared pairs[DECLARED_MAX];
        unsigned count = 0;
        out->sites[i].is_declared = note != NULL;
        for (struct cursor texts = note ? note->texts : cursor_over(NULL, 0); note && count < DECLARED_MAX;
             count++) {
            const char *type = cursor_take_text(&texts, NAME_BYTES_MAX);
            const char *name = cursor_take_text(&texts, NAME_BYTES_MAX);
            if (!name)
                break;
            pairs[count] = (struct usdt_declared){type, name};
        }
        if (!count)
            continue;
        struct usdt_declared *kept = malloc(count * sizeof *kept);
        if (!kept || reader_keep(reader, kept))
            return -ENOMEM;
        memcpy(kept, pairs, count * sizeof *kept);
        out->sites[i].declared = kept;
        out->sites[i].declared_count = count;
    }
    return 0;
}

static int parse(const struct elf_file *file, struct usdt_probes *out)
{
    struct note_reader reader = {.file = file, .out = out};
    struct elf_section section;
    if (elf_file_section_named(file, ".stapsdt.base", &section))
        reader.base_address = section.address;
    int error = 0;
    uint64_t bytes_read = 0;
    size_t sections = 0; /* A relocatable link may leave several of one name; a thousand are an attack. */
    for (size_t i = 0; i < elf_file_section_count(file) && !error && sections < SECTIONS_WITH_NOTES; i++) {
        if (!elf_file_section(file, i, &section) || section.type != SHT_NOTE)
            continue;
        for (size_t o = 0; o < sizeof note_owners / sizeof *note_owners && !error; o++) {
            if (strcmp(section.name, note_owners[o].section))
                continue;
            void *bytes = NULL;
            size_t size;
            sections++;
            bytes_read += section.size; /* sections may have the same bytes again and again */
            if (section.size > NOTES_MAX || bytes_read > NOTES_MAX) {
                error = -EFBIG;
                break;
            }
            error = elf_file_section_read(file, &section, &bytes, &size);
            if (!error)
                error = reader_keep(&reader, bytes);
            if (!error)
                error = reader_notes(&reader, &note_owners[o], bytes, size);
        }
    }
    if (!error && out->count) {
        qsort(out->sites, out->count, sizeof *out->sites, compare_sites);
        sites_drop_doubles(out);
        error = reader_join(&reader);
    }
    free(reader.declared);
    out->memory = reader.blocks;
    if (error)
        usdt_free(out);
    return error;
}

/* ---- from the service ---- */

static void put_site(struct text *out, const struct usdt_site *site)
{
    const uint64_t numbers[] = {site->address,          site->offset,      site->semaphore_address,
                                site->semaphore_offset, site->is_declared, site->declared_count};
    wire_put_text(out, site->provider);
    wire_put_text(out, site->name);
    wire_put_text(out, site->arguments);
    wire_put_bytes(out, numbers, sizeof numbers);
    for (unsigned i = 0; i < site->declared_count; i++) {
        wire_put_text(out, site->declared[i].type);
        wire_put_text(out, site->declared[i].name);
    }
}

int usdt_put(struct elf_file *file, struct text *answer)
{
    struct usdt_probes probes;
    int error = usdt_read(file, &probes);
    if (error)
        return error;
    wire_put(answer, probes.damaged);
    wire_put(answer, probes.count);
    for (size_t i = 0; i < probes.count; i++)
        put_site(answer, &probes.sites[i]);
    usdt_free(&probes);
    return 0;
}

/* Takes a site out of an answer, in which its texts stay. */
static bool take_site(struct cursor *in, struct note_reader *reader, struct usdt_site *site)
{
    size_t size;
    *site = (struct usdt_site){.provider = wire_take_text(in)};
    site->name = wire_take_text(in);
    site->arguments = wire_take_text(in);
    const uint64_t *numbers = wire_take_bytes(in, &size);
    if (!site->provider || !site->name || !site->arguments || strlen(site->arguments) >= UINT16_MAX ||
        size != 6 * sizeof *numbers || numbers[5] > DECLARED_MAX)
        return false;
    site->address = numbers[0];
    site->offset = numbers[1];
    site->semaphore_address = numbers[2];
    site->semaphore_offset = numbers[3];
    site->is_declared = numbers[4] != 0;
    site->declared_count = (unsigned)numbers[5];
    struct usdt_declared *declared =
        site->declared_count ? calloc(site->declared_count, sizeof *declared) : NULL;
    if (site->declared_count && (!declared || reader_keep(reader, declared)))
        return false;
    site->declared = declared;
    for (unsigned i = 0; i < site->declared_count; i++) {
        declared[i].type = wire_take_text(in);
        declared[i].name = wire_take_text(in);
        if (!declared[i].type || !declared[i].name)
            return false;
    }
    return true;
}

static int ask(const struct elf_file *file, struct usdt_probes *out)
{
    enum { SITE_MIN = 96 }; /* bytes of a site in a message, at least */
    struct apart_answer answer;
    struct note_reader reader = {.out = out};
    int error = tables_ask_elf(TABLES_USDT, file, &answer);
    if (error) {
        apart_answer_free(&answer);
        return error;
    }
    if (reader_keep(&reader, answer.bytes))
        return -ENOMEM;
    out->damaged = wire_take(&answer.in);
    size_t count = wire_take_count(&answer.in, SITE_MIN);
    out->sites = calloc(count + 1, sizeof *out->sites);
    if (!out->sites)
        error = -ENOMEM;
    for (; !error && out->count < count; out->count++)
        if (!take_site(&answer.in, &reader, &out->sites[out->count]))
            error = -EBADMSG;
    out->memory = reader.blocks;
    if (error)
        usdt_free(out);
    return error;
}

int usdt_read(const struct elf_file *file, struct usdt_probes *out)
{
    *out = (struct usdt_probes){0};
    return tables_are_apart(file) ? ask(file, out) : parse(file, out);
}

void usdt_free(struct usdt_probes *probes)
{
    for (struct usdt_block *next, *block = probes->memory; block; block = next) {
        next = block->next;
        free(block->bytes);
        free(block);
    }
    free(probes->sites);
    *probes = (struct usdt_probes){0};
}

int usdt_each(const struct usdt_probes *probes, const char *provider_pattern, const char *name_pattern,
              usdt_visitor *visit, void *context)
{
    if (provider_pattern && !*provider_pattern)
        provider_pattern = NULL;
    int result = 0;
    for (size_t i = 0; i < probes->count && !result; i++)
        if (glob_match(provider_pattern, probes->sites[i].provider) &&
            glob_match(name_pattern, probes->sites[i].name))
            result = visit(context, &probes->sites[i]);
    return result;
}

int usdt_site_arguments(struct elf_file *file, const struct usdt_site *site, struct usdt_arguments *out)
{
    int error = usdt_parse_arguments(site->arguments, elf_file_machine(file), out);
    if (error)
        return error;
    for (unsigned i = 0; i < out->count; i++) {
        struct usdt_argument *argument = &out->items[i];
        size_t length = (size_t)(argument->symbol_end - argument->symbol_begin);
        if (!argument->is_indirect_symbol)
            continue;
        char *name = strndup(site->arguments + argument->symbol_begin, length);
        if (!name)
            return -ENOMEM;
        struct elf_symbol symbol;
        error = elf_file_symbol(file, name, &symbol);
        free(name);
        if (error == -ENOMEM)
            return error;
        if (error) {
            argument->kind = USDT_UNSUPPORTED;
            continue;
        }
        argument->displacement = (int64_t)((uint64_t)argument->displacement + symbol.address);
        argument->is_indirect_symbol = false;
    }
    return 0;
}
