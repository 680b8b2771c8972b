/* SPDX-License-Identifier: BSD-3-Clause */
/* All of /proc/kallsyms in one block of memory, divided into names in place, and an array of symbols sorted by
 * address that point into it. One or two names are found by walking; after that an index is made. Functions are
 * listed from tracefs, or else from the symbols, and that list is kept, too. */
#include "sym/kernel/kallsyms.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "base/table.h"
#include "base/text.h"
#include "base/vector.h"
#include "base/glob.h"
#include "base/whole.h"

enum { FILE_LARGEST = 256 << 20 };

struct entry {
    uint64_t address;
    uint32_t name, module; /* offsets into text; module 0: the kernel itself */
    char kind;
};

struct kallsyms {
    char *path;
    char *text; /* text[0] is NUL: the empty name */
    struct entry *entries;
    size_t count;
    bool loaded, hidden;
    time_t loaded_at;
    unsigned walks; /* how often all names were walked through */
    /* index of an entry + 1, at the name's hash or behind it; NULL: it was not needed yet */
    uint32_t *by_name;
    size_t slots; /* a power of two */
    /* The texts before each reload, into which earlier answers point. */
    struct old {
        struct old *next;
        char *text;
    } * olds;
    struct functions {
        char *text; /* text of tracefs; NULL: names are in the symbols' text */
        struct function *items;
        size_t count;
        bool is_known, is_sorted; /* sorted: duplicates and functions that must not be probed are removed */
        bool is_exact;
    } functions;
};

struct function {
    const char *name, *module;
    bool is_shared; /* known when the functions have been sorted */
};

int kallsyms_open(const char *path, struct kallsyms **out)
{
    struct kallsyms *kallsyms = calloc(1, sizeof *kallsyms);
    if (!kallsyms)
        return -ENOMEM;
    kallsyms->path = strdup(path ? path : "/proc/kallsyms");
    if (!kallsyms->path) {
        free(kallsyms);
        return -ENOMEM;
    }
    *out = kallsyms;
    return 0;
}

void kallsyms_close(struct kallsyms *kallsyms)
{
    if (!kallsyms)
        return;
    for (struct old *next, *old = kallsyms->olds; old; old = next) {
        next = old->next;
        free(old->text);
        free(old);
    }
    free(kallsyms->functions.items);
    free(kallsyms->functions.text);
    free(kallsyms->by_name);
    free(kallsyms->entries);
    free(kallsyms->text);
    free(kallsyms->path);
    free(kallsyms);
}

/* Reads a whole file, with a NUL in front of the text and behind it. Returns 0 or -errno. */
static int read_whole(const char *path, char **out, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct text text = {0};
    text_reserve(&text, 7 << 20); /* a kernel's symbols are 5 MB; pages that are not used cost nothing */
    text_char(&text, '\0');
    int error = whole_read_text(fd, FILE_LARGEST, &text);
    close(fd);
    if (error) {
        text_free(&text);
        return error;
    }
    *out = text.bytes;
    *size = text.length;
    return 0;
}

static uint64_t hexadecimal(const char **at)
{
    uint64_t value = 0;
    for (; isxdigit((unsigned char)**at); ++*at) {
        unsigned char c = (unsigned char)**at;
        value = value << 4 | (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return value;
}

/* Reads a line "address kind name [\t[module]]\n", and divides it in place. False: it is no such line. */
static bool entry_parse(char *text, char *line, char *end, struct entry *out)
{
    const char *at = line;
    out->address = hexadecimal(&at);
    if (at == line || end - at < 4 || at[0] != ' ' || at[2] != ' ')
        return false;
    out->kind = at[1];
    char *name = (char *)at + 3;
    out->name = (uint32_t)(name - text);
    out->module = 0;
    *end = '\0';
    char *tab = strchr(name, '\t');
    if (!tab)
        return *name;
    *tab = '\0';
    if (tab[1] == '[' && end[-1] == ']') {
        end[-1] = '\0';
        out->module = (uint32_t)(tab + 2 - text);
    }
    return *name;
}

static bool is_text(char kind)
{
    return kind == 't' || kind == 'T' || kind == 'w' || kind == 'W';
}

/* Orders entries by address; at one address text symbols before data, global ones before local ones, then by their
 * place in the file. */
static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (is_text(x->kind) != is_text(y->kind))
        return is_text(x->kind) ? -1 : 1;
    bool x_local = islower((unsigned char)x->kind), y_local = islower((unsigned char)y->kind);
    if (x_local != y_local)
        return x_local ? 1 : -1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static int entries_fill(struct kallsyms *kallsyms, char *text, size_t size)
{
    size_t lines = 1, count = 0;
    for (const char *at = text + 1; (at = memchr(at, '\n', (size_t)(text + size - at))); at++)
        lines++;
    struct entry *entries = malloc(lines * sizeof *entries);
    if (!entries)
        return -ENOMEM;
    bool hidden = true, sorted = true;
    for (char *line = text + 1, *next; line < text + size; line = next) {
        char *end = memchr(line, '\n', (size_t)(text + size - line));
        end = end ? end : text + size;
        next = end + 1;
        if (!entry_parse(text, line, end, &entries[count]))
            continue;
        hidden &= !entries[count].address;
        sorted &= !count || compare_entries(&entries[count - 1], &entries[count]) <= 0;
        count++;
    }
    if (!sorted && !hidden)
        qsort(entries, count, sizeof *entries, compare_entries);
    free(kallsyms->entries);
    free(kallsyms->by_name);
    kallsyms->by_name = NULL;
    kallsyms->entries = entries;
    kallsyms->count = count;
    kallsyms->hidden = hidden;
    return 0;
}

static int kallsyms_load(struct kallsyms *kallsyms)
{
    char *text = NULL;
    size_t size = 0;
    int error = read_whole(kallsyms->path, &text, &size);
    if (error)
        return error;
    struct old *old = kallsyms->text ? malloc(sizeof *old) : NULL;
    error = kallsyms->text && !old ? -ENOMEM : entries_fill(kallsyms, text, size);
    if (error) {
        free(old);
        free(text);
        return error;
    }
    if (old) {
        *old = (struct old){kallsyms->olds, kallsyms->text};
        kallsyms->olds = old;
    }
    kallsyms->text = text;
    kallsyms->loaded = true;
    kallsyms->loaded_at = clock_seconds(CLOCK_MONOTONIC_COARSE);
    return 0;
}

static int kallsyms_need(struct kallsyms *kallsyms)
{
    return kallsyms->loaded ? 0 : kallsyms_load(kallsyms);
}

static const struct entry *entry_at(const struct kallsyms *kallsyms, uint64_t address)
{
    const size_t behind = partition_point(kallsyms->count, i, kallsyms->entries[i].address <= address);
    if (!behind)
        return NULL;
    /* The first one at this address is a text symbol and global, if there is such. */
    const struct entry *entry = &kallsyms->entries[behind - 1];
    while (entry > kallsyms->entries && entry[-1].address == entry->address)
        entry--;
    return entry;
}

/* Whether an address may be in a symbol. Symbols have no sizes: an address that is further behind one than any
 * function or table reaches is in none. */
static bool entry_reaches(const struct entry *entry, uint64_t address)
{
    enum { REACH = 2 << 20 };
    return entry && entry->address && address - entry->address < REACH;
}

int kallsyms_resolve(struct kallsyms *kallsyms, uint64_t address, struct kernel_symbol *out)
{
    enum { OLDS_MAX = 16 };
    int error = kallsyms_need(kallsyms);
    if (error)
        return error;
    if (kallsyms->hidden)
        return -EPERM;
    const struct entry *entry = entry_at(kallsyms, address);
    if (!entry_reaches(entry, address) && address >> 63 &&
        clock_seconds(CLOCK_MONOTONIC_COARSE) > kallsyms->loaded_at) {
        size_t olds = 0;
        for (const struct old *old = kallsyms->olds; old; old = old->next)
            olds++;
        if (olds < OLDS_MAX && (error = kallsyms_load(kallsyms)))
            return error;
        entry = entry_at(kallsyms, address);
    }
    if (!entry_reaches(entry, address))
        return -ENOENT;
    *out = (struct kernel_symbol){.name = kallsyms->text + entry->name,
                                  .module = kallsyms->text + entry->module,
                                  .address = entry->address,
                                  .offset = address - entry->address};
    return 0;
}

/* ---- by name ---- */

static bool entry_is(const struct kallsyms *kallsyms, const struct entry *entry, const char *module,
                     size_t module_length, const char *symbol)
{
    const char *from = kallsyms->text + entry->module;
    return !strcmp(kallsyms->text + entry->name, symbol) &&
           (!module || (!strncmp(from, module, module_length) && !from[module_length]));
}

static size_t name_slot(const struct kallsyms *kallsyms, const char *name)
{
    return table_hash(name, strlen(name)) & (kallsyms->slots - 1);
}

/* Makes an index of names. Entries are added in their order, so that the first of several with one name is found
 * first. */
static void names_index(struct kallsyms *kallsyms)
{
    kallsyms->slots = 1;
    while (kallsyms->slots < 2 * kallsyms->count)
        kallsyms->slots *= 2;
    kallsyms->by_name = calloc(kallsyms->slots, sizeof *kallsyms->by_name);
    for (size_t i = 0; kallsyms->by_name && i < kallsyms->count; i++) {
        size_t slot = name_slot(kallsyms, kallsyms->text + kallsyms->entries[i].name);
        while (kallsyms->by_name[slot])
            slot = (slot + 1) & (kallsyms->slots - 1);
        kallsyms->by_name[slot] = (uint32_t)i + 1;
    }
}

static const struct entry *entry_named(struct kallsyms *kallsyms, const char *module, size_t module_length,
                                       const char *symbol)
{
    enum { WALKS_MAX = 4 };
    if (!kallsyms->by_name && kallsyms->count && kallsyms->walks++ >= WALKS_MAX)
        names_index(kallsyms);
    if (kallsyms->by_name) {
        size_t slot = name_slot(kallsyms, symbol);
        for (; kallsyms->by_name[slot]; slot = (slot + 1) & (kallsyms->slots - 1)) {
            const struct entry *entry = &kallsyms->entries[kallsyms->by_name[slot] - 1];
            if (entry_is(kallsyms, entry, module, module_length, symbol))
                return entry;
        }
        return NULL;
    }
    for (size_t i = 0; i < kallsyms->count; i++)
        if (entry_is(kallsyms, &kallsyms->entries[i], module, module_length, symbol))
            return &kallsyms->entries[i];
    return NULL;
}

int kallsyms_address(struct kallsyms *kallsyms, const char *name, uint64_t *address)
{
    int error = kallsyms_need(kallsyms);
    if (error)
        return error;
    const char *colon = strchr(name, ':');
    const struct entry *entry = entry_named(kallsyms, colon ? name : NULL, colon ? (size_t)(colon - name) : 0,
                                            colon ? colon + 1 : name);
    if (!entry)
        return -ENOENT;
    if (kallsyms->hidden)
        return -EPERM;
    *address = entry->address;
    return 0;
}

static bool begins_with_one(const char *name, const char *const *prefixes)
{
    while (*prefixes && strncmp(name, *prefixes, strlen(*prefixes)) != 0)
        prefixes++;
    return *prefixes;
}

int kallsyms_ranges(struct kallsyms *kallsyms, const char *const *prefixes, uint64_t **bounds, size_t *count)
{
    int error = kallsyms_need(kallsyms);
    if (error || kallsyms->hidden)
        return error ? error : -EPERM;
    size_t used = 0, room = 0;
    *bounds = NULL;
    for (size_t i = 0; i < kallsyms->count; i++) {
        const struct entry *entry = &kallsyms->entries[i], *behind = entry;
        if (!is_text(entry->kind) || !begins_with_one(kallsyms->text + entry->name, prefixes))
            continue;
        const struct entry *end = kallsyms->entries + kallsyms->count;
        while (behind < end && behind->address == entry->address)
            behind++;
        if (behind == end || !entry_reaches(entry, behind->address))
            continue;
        if (used && (*bounds)[used - 1] >= entry->address) {
            (*bounds)[used - 1] = behind->address;
            continue;
        }
        if (!vector_make_room(*bounds, used + 1, room)) { /* room for two */
            free(*bounds);
            *bounds = NULL;
            return -ENOMEM;
        }
        (*bounds)[used++] = entry->address;
        (*bounds)[used++] = behind->address;
    }
    *count = used;
    return 0;
}

/* ---- functions ---- */

static int compare_functions(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->module, y->module);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Functions that the kernel refuses to probe, because probing needs them: lines "FROM-TO\tNAME". Where debugfs is
 * not mounted there is no list, and attaching reports it. */
struct forbidden {
    char *text;
    const char **names; /* sorted */
    size_t count;
};

static void forbidden_read(struct forbidden *forbidden)
{
    size_t size, lines = 1;
    memset(forbidden, 0, sizeof *forbidden);
    if (read_whole("/sys/kernel/debug/kprobes/blacklist", &forbidden->text, &size))
        return;
    for (const char *at = forbidden->text + 1; (at = strchr(at, '\n')); at++)
        lines++;
    forbidden->names = malloc(lines * sizeof *forbidden->names);
    if (!forbidden->names)
        return;
    char *rest = NULL;
    for (char *line = strtok_r(forbidden->text + 1, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *tab = strchr(line, '\t');
        if (tab)
            forbidden->names[forbidden->count++] = tab + 1;
    }
    if (forbidden->count)
        qsort(forbidden->names, forbidden->count, sizeof *forbidden->names, compare_names);
}

static bool forbidden_has(const struct forbidden *forbidden, const char *name)
{
    return forbidden->count &&
           bsearch(&name, forbidden->names, forbidden->count, sizeof *forbidden->names, compare_names);
}

/* Sorts functions, and removes duplicates and those that must not be probed. Returns how many are left. */
static size_t functions_sort(struct function *functions, size_t count)
{
    struct forbidden forbidden;
    size_t kept = 0;
    forbidden_read(&forbidden);
    if (count)
        qsort(functions, count, sizeof *functions, compare_functions);
    for (size_t i = 0; i < count; i++) {
        if (kept && !compare_functions(&functions[kept - 1], &functions[i]))
            functions[kept - 1].is_shared = true;
        else if (!forbidden_has(&forbidden, functions[i].name))
            functions[kept++] = functions[i];
    }
    free(forbidden.names);
    free(forbidden.text);
    return kept;
}

/* Makes functions of lines "name" or "name [module]". The text is divided in place. Returns 0 or -ENOMEM. */
static int functions_of_filter(struct functions *functions, char *text)
{
    size_t lines = 1;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    if (!(functions->items = malloc(lines * sizeof *functions->items)))
        return -ENOMEM;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *module = strpbrk(line, " \t");
        if (module) {
            *module++ = '\0';
            module += strspn(module, " \t[");
            module[strcspn(module, "]")] = '\0';
        }
        if (*line)
            functions->items[functions->count++] = (struct function){line, module ? module : "", false};
    }
    functions->is_exact = true;
    return 0;
}

static int functions_of_symbols(struct kallsyms *kallsyms)
{
    struct functions *functions = &kallsyms->functions;
    int error = kallsyms_need(kallsyms);
    if (error)
        return error;
    if (!(functions->items = malloc((kallsyms->count + 1) * sizeof *functions->items)))
        return -ENOMEM;
    for (size_t i = 0; i < kallsyms->count; i++) {
        const struct entry *entry = &kallsyms->entries[i];
        if (is_text(entry->kind))
            functions->items[functions->count++] =
                (struct function){kallsyms->text + entry->name, kallsyms->text + entry->module, false};
    }
    return 0;
}

static int functions_need(struct kallsyms *kallsyms, const struct tracefs *tracefs)
{
    struct functions *functions = &kallsyms->functions;
    struct text text = {0};
    if (functions->is_known)
        return 0;
    int error = tracefs ? tracefs_read(tracefs, "available_filter_functions", &text) : -ENOENT;
    if (!error && text.length && !(error = functions_of_filter(functions, text.bytes)))
        functions->text = text.bytes;
    else {
        text_free(&text);
        if (error == -ENOMEM || (error = functions_of_symbols(kallsyms)))
            return error;
    }
    functions->is_known = true;
    return 0;
}

int kallsyms_each_function(struct kallsyms *kallsyms, const struct tracefs *tracefs, const char *pattern,
                           kallsyms_visitor *visit, void *context)
{
    struct functions *all = &kallsyms->functions;
    int result = functions_need(kallsyms, tracefs);
    if (result)
        return result;
    if (!pattern && !all->is_sorted) {
        all->count = functions_sort(all->items, all->count);
        all->is_sorted = true;
    }
    /* A visitor may call this function again: the list itself is not changed. */
    struct function *some = pattern ? malloc((all->count + 1) * sizeof *some) : all->items;
    size_t count = pattern ? 0 : all->count;
    if (!some)
        return -ENOMEM;
    for (size_t i = 0; pattern && i < all->count; i++)
        if (glob_match(pattern, all->items[i].name))
            some[count++] = all->items[i];
    if (pattern && !all->is_sorted)
        count = functions_sort(some, count);
    for (size_t i = 0; i < count && !result; i++)
        result = visit(context, some[i].name, some[i].module, some[i].is_shared);
    if (pattern)
        free(some);
    return result;
}

bool kallsyms_is_exact(const struct kallsyms *kallsyms)
{
    return kallsyms->functions.is_exact;
}
