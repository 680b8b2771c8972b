/* SPDX-License-Identifier: BSD-3-Clause */
/* See symbolize.h. An answer depends only on the file and the offset in it, so answers serve all processes. They
 * are kept in two halves: when the young one is full, the old one is dropped and they change places. An answer of
 * the old half that is used moves to the young one. */
#include "base/clock.h"
#include "base/open_foreign.h"
#include "sym/symbolize.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/table.h"
#include "base/text.h"
#include "sym/demangle.h"
#include "sym/return_address.h"
#include "sym/elf/elf.h"
#include "sym/process/perf_map.h"
#include "sym/process/proc.h"
#include "sym/symbol_file.h"

enum {
    ANSWERS_BYTES = 8 << 20, /* bytes of each half */
    RECENT = 2048,           /* answers that are found without a search; a power of two */
    JITS_MAX = 64,
    IDLE = 60, /* seconds: maps of generated code that were not used for so long get less memory */
};
#define JIT_BYTES ((size_t)256 << 20)
#define JIT_BYTES_IDLE ((size_t)32 << 20)

/* The names of a place in a file. The texts are stored behind this struct. */
struct answer {
    uint64_t address; /* the address as the file's symbols count */
    uint64_t offset;  /* bytes from the beginning of the function */
    const char *function;
    const uint8_t *build_id;
    size_t build_id_size, bytes, line_count;
    bool is_not_code;
    struct line_frame lines[];
};

struct answer_key {
    uint64_t device, inode, generation, place; /* place: offset * 2 + is_return */
};

struct recent_answer {
    struct answer_key key;
    struct answer *answer; /* NULL: there is none; else it is in the young half */
};

/* A process with a map of the code that it generated. */
struct jit {
    pid_t pid;
    struct perf_map *map;  /* NULL: it has none */
    time_t checked, asked; /* when the map was last read, and last used */
    uint64_t used;
};

struct symbolizer {
    struct kallsyms *kallsyms;
    bool owns_kallsyms, demangle, wants_lines;
    bool (*leaves)(void *state); /* whether to give up; NULL: never */
    void *leaves_state;
    struct processes *processes;
    struct symbol_files *files;
    struct lines *lines;
    struct table young, old;
    size_t young_bytes;
    struct recent_answer recent[RECENT]; /* by place */
    struct answer *passing;              /* the last answer that could not be kept */
    struct jit jits[JITS_MAX];
    uint64_t clock;
    char *demangled;             /* the last answer's */
    struct code_mapping mapping; /* the last answer's */
    char jit_module[64];
};

int symbolizer_open(struct kallsyms *kallsyms, struct symbolizer **out)
{
    struct symbolizer *symbolizer = calloc(1, sizeof *symbolizer);
    if (!symbolizer)
        return -ENOMEM;
    symbolizer->kallsyms = kallsyms;
    symbolizer->demangle = true;
    symbolizer->processes = processes_make();
    symbolizer->files = symbolizer->processes ? symbol_files_open(symbolizer->processes) : NULL;
    symbolizer->lines = symbolizer->files ? lines_open() : NULL;
    if (!symbolizer->lines) {
        symbolizer_close(symbolizer);
        return -ENOMEM;
    }
    *out = symbolizer;
    return 0;
}

static void answers_free(struct table *answers)
{
    for (size_t i = 0; i < answers->count; i++)
        free(answers->entries[i].value);
    table_free(answers);
    *answers = (struct table){0};
}

void symbolizer_close(struct symbolizer *symbolizer)
{
    if (!symbolizer)
        return;
    if (symbolizer->mapping.module)
        process_release(symbolizer->processes, symbolizer->mapping.module);
    answers_free(&symbolizer->young);
    answers_free(&symbolizer->old);
    for (size_t i = 0; i < JITS_MAX; i++)
        perf_map_close(symbolizer->jits[i].map);
    lines_close(symbolizer->lines);
    symbol_files_close(symbolizer->files);
    processes_free(symbolizer->processes);
    if (symbolizer->owns_kallsyms)
        kallsyms_close(symbolizer->kallsyms);
    free(symbolizer->passing);
    free(symbolizer->demangled);
    free(symbolizer);
}

void symbolizer_demangle(struct symbolizer *symbolizer, bool demangle)
{
    symbolizer->demangle = demangle;
}

void symbolizer_lines(struct symbolizer *symbolizer, bool lines)
{
    symbolizer->wants_lines = lines;
}

void symbolizer_may_leave(struct symbolizer *symbolizer, bool (*leaves)(void *state), void *state)
{
    symbolizer->leaves = leaves;
    symbolizer->leaves_state = state;
    lines_may_leave(symbolizer->lines, leaves, state);
}

static bool leaves(const struct symbolizer *symbolizer)
{
    return symbolizer->leaves && symbolizer->leaves(symbolizer->leaves_state);
}

void symbolizer_files(struct symbolizer *symbolizer, const char *const *paths)
{
    symbol_files_given(symbolizer->files, paths);
}

struct processes *symbolizer_processes(struct symbolizer *symbolizer)
{
    return symbolizer->processes;
}

static const char *symbolizer_name(struct symbolizer *symbolizer, const char *name)
{
    free(symbolizer->demangled);
    symbolizer->demangled = symbolizer->demangle ? symbol_demangle(name) : NULL;
    return symbolizer->demangled ? symbolizer->demangled : name;
}

/* ---- answers ---- */

static struct answer *answer_search(struct symbolizer *symbolizer, const struct answer_key *key)
{
    struct answer *answer = table_get(&symbolizer->young, key, sizeof *key);
    if (answer)
        return answer;
    answer = table_get(&symbolizer->old, key, sizeof *key);
    if (answer && !table_set(&symbolizer->young, key, sizeof *key, answer)) {
        table_set(&symbolizer->old, key, sizeof *key, NULL);
        symbolizer->young_bytes += answer->bytes;
    }
    return answer;
}

static struct answer *answer_known(struct symbolizer *symbolizer, const struct answer_key *key)
{
    struct recent_answer *recent = &symbolizer->recent[(key->place ^ key->place >> 11) % RECENT];
    if (recent->answer && !memcmp(&recent->key, key, sizeof *key))
        return recent->answer;
    *recent = (struct recent_answer){*key, answer_search(symbolizer, key)};
    return recent->answer;
}

static void answer_keep(struct symbolizer *symbolizer, const struct answer_key *key, struct answer *answer)
{
    enum { ENTRY = 100 }; /* bytes that the table needs for it */
    if (symbolizer->young_bytes > ANSWERS_BYTES) {
        answers_free(&symbolizer->old);
        memset(symbolizer->recent, 0, sizeof symbolizer->recent);
        symbolizer->old = symbolizer->young;
        symbolizer->young = (struct table){0};
        symbolizer->young_bytes = 0;
    }
    if (table_set(&symbolizer->young, key, sizeof *key, answer)) {
        free(symbolizer->passing);
        symbolizer->passing = answer;
        return;
    }
    answer->bytes += ENTRY;
    symbolizer->young_bytes += answer->bytes;
}

static char *put(char **at, const void *bytes, size_t size)
{
    char *here = *at;
    memcpy(here, bytes, size);
    *at += size;
    return here;
}

static struct answer *answer_make(const struct answer *facts, const struct line_frame *lines,
                                  size_t line_count)
{
    size_t head = sizeof *facts + line_count * sizeof *lines, size = head + facts->build_id_size;
    if (facts->function)
        size += strlen(facts->function) + 1;
    for (size_t i = 0; i < line_count; i++)
        size += (lines[i].function ? strlen(lines[i].function) + 1 : 0) + strlen(lines[i].file) + 1;
    struct answer *answer = malloc(size);
    if (!answer)
        return NULL;
    *answer = *facts;
    answer->bytes = size;
    answer->line_count = line_count;
    char *at = (char *)answer + head;
    if (facts->function)
        answer->function = put(&at, facts->function, strlen(facts->function) + 1);
    if (facts->build_id)
        answer->build_id = (uint8_t *)put(&at, facts->build_id, facts->build_id_size);
    for (size_t i = 0; i < line_count; i++) {
        answer->lines[i] = lines[i];
        answer->lines[i].file = put(&at, lines[i].file, strlen(lines[i].file) + 1);
        if (lines[i].function)
            answer->lines[i].function = put(&at, lines[i].function, strlen(lines[i].function) + 1);
    }
    return answer;
}

/* Demangles the names of inlined functions in place. `made` gets the new names, which the caller frees; returns how
 * many there are. */
static size_t demangle_lines(const struct symbolizer *symbolizer, struct line_frame *frames, size_t count,
                             char **made)
{
    size_t made_count = 0;
    for (size_t i = 0; i < count && symbolizer->demangle; i++) {
        char *name = frames[i].function ? symbol_demangle(frames[i].function) : NULL;
        if (name)
            frames[i].function = made[made_count++] = name;
    }
    return made_count;
}

static struct answer *answer_find(struct symbolizer *symbolizer, pid_t pid, struct symbol_file *file,
                                  const struct module *module, uint64_t file_offset, bool is_return)
{
    struct answer facts = {0};
    struct elf_symbol symbol;
    struct line_frame frames[LINES_FRAMES_MAX] = {0};
    char *made[LINES_FRAMES_MAX];
    size_t made_count = 0;
    int count = 0;
    facts.build_id = elf_file_build_id(file->elf, &facts.build_id_size);
    if (elf_file_code_address(file->elf, file_offset, &facts.address))
        return answer_make(&facts, NULL, 0);
    enum call_kind call = is_return ? call_before(file->elf, file_offset) : CALL_UNKNOWN;
    facts.is_not_code = call == CALL_NONE;
    bool is_behind = is_return && call != CALL_SIGNAL;
    uint64_t address = facts.address - is_behind;
    if (symbol_file_nearest(file, module->path, pid, address, &symbol)) {
        facts.function = symbolizer_name(symbolizer, symbol.name);
        facts.offset = facts.address - symbol.address;
    }
    const struct elf_file *debug =
        symbolizer->wants_lines && facts.function ? symbol_file_lines(file, module->path, pid) : NULL;
    if (debug) {
        const struct line_frame *found;
        count = lines_find(symbolizer->lines, debug, file->key, address, &found);
        file->has_no_lines = count < 0;
        if (count > 0) {
            memcpy(frames, found, (size_t)count * sizeof *frames);
            made_count = demangle_lines(symbolizer, frames, (size_t)count, made);
        }
    }
    struct answer *answer = answer_make(&facts, frames, count > 0 ? (size_t)count : 0);
    while (made_count)
        free(made[--made_count]);
    return answer;
}

/* ---- code that a program made ---- */

static struct jit *jit_oldest(struct symbolizer *symbolizer, const struct jit *keep)
{
    struct jit *oldest = NULL;
    for (size_t i = 0; i < JITS_MAX; i++) {
        struct jit *jit = &symbolizer->jits[i];
        if (jit->map && jit != keep && (!oldest || jit->used < oldest->used))
            oldest = jit;
    }
    return oldest;
}

static void jits_shrink(struct symbolizer *symbolizer, const struct jit *keep)
{
    size_t bytes = 0;
    for (size_t i = 0; i < JITS_MAX; i++)
        bytes += symbolizer->jits[i].map ? perf_map_bytes(symbolizer->jits[i].map) : 0;
    for (struct jit *oldest; bytes > JIT_BYTES_IDLE && (oldest = jit_oldest(symbolizer, keep));) {
        if (bytes <= JIT_BYTES && oldest->asked + IDLE > keep->asked)
            return;
        bytes -= perf_map_bytes(oldest->map);
        perf_map_close(oldest->map);
        *oldest = (struct jit){0};
    }
}

/* Finds the name of generated code. The map grows while the program runs: it is read again if an address is not in
 * it, once a second at most. */
static const char *jit_find(struct symbolizer *symbolizer, pid_t pid, uint64_t address, uint64_t *start)
{
    struct jit *jit = symbolizer->jits;
    for (size_t i = 0; i < JITS_MAX && jit->pid != pid; i++)
        if (symbolizer->jits[i].pid == pid || symbolizer->jits[i].used < jit->used)
            jit = &symbolizer->jits[i];
    if (jit->pid != pid) {
        perf_map_close(jit->map);
        *jit = (struct jit){.pid = pid, .checked = -1};
    }
    time_t now = clock_seconds(CLOCK_MONOTONIC_COARSE);
    jit->used = ++symbolizer->clock;
    jit->asked = now;
    const char *name = jit->map ? perf_map_find(jit->map, address, start) : NULL;
    struct perf_map *fresh;
    if (name || jit->checked == now || leaves(symbolizer))
        return name;
    jit->checked = now;
    if (perf_map_read(pid, &fresh))
        return NULL;
    perf_map_close(jit->map);
    jit->map = fresh;
    jits_shrink(symbolizer, jit);
    return perf_map_find(jit->map, address, start);
}

static int jit_answer(struct symbolizer *symbolizer, pid_t pid, uint64_t address, bool is_return,
                      struct symbolized *out)
{
    uint64_t start;
    const char *name = jit_find(symbolizer, pid, address - is_return, &start);
    if (!name)
        return -ENOENT;
    snprintf(symbolizer->jit_module, sizeof symbolizer->jit_module, "/tmp/perf-%d.map", (int)pid);
    out->module = symbolizer->jit_module;
    out->function = symbolizer_name(symbolizer, name);
    out->offset = address - start;
    return 0;
}

/* ---- questions ---- */

int symbolizer_user(struct symbolizer *symbolizer, pid_t pid, uint64_t address, bool is_return,
                    struct symbolized *out)
{
    *out = (struct symbolized){0};
    int error = process_find(symbolizer->processes, pid, address, &symbolizer->mapping);
    if (error) {
        /* The kernel's page for old system calls is not in a process's list of mappings. */
        out->is_not_code = is_return && error == -ENOENT && (int64_t)address >= 0;
        return -ENOENT;
    }
    const struct code_mapping mapping = symbolizer->mapping;
    const struct module *module = mapping.module;
    uint64_t file_offset = address - mapping.start + mapping.offset;
    if (module->path[0]) {
        out->module = module->path;
        out->offset = file_offset;
    }
    if (!module->inode && module->path[0] != '[')
        return jit_answer(symbolizer, pid, address, is_return, out);
    struct answer_key key = {module->device, module->inode, module->generation, file_offset * 2 + is_return};
    if (!module->inode) /* the vDSO */
        key.device = mapping.end - mapping.start;
    struct answer *answer = answer_known(symbolizer, &key);
    if (!answer && leaves(symbolizer))
        return -ENOENT;
    if (!answer) {
        struct symbol_file *file = symbol_file_mapped(symbolizer->files, pid, &mapping);
        if (!file) /* generated code may be in a file that has been deleted */
            return module->is_deleted ? jit_answer(symbolizer, pid, address, is_return, out) : -ENOENT;
        answer = answer_find(symbolizer, pid, file, module, file_offset, is_return);
        if (!answer)
            return -ENOMEM;
        answer_keep(symbolizer, &key, answer);
    }
    out->build_id = answer->build_id;
    out->build_id_size = answer->build_id_size;
    out->file_offset = file_offset;
    out->module_address = answer->address;
    out->is_not_code = answer->is_not_code;
    out->function = answer->function;
    out->offset = answer->function ? answer->offset : answer->address ? answer->address : file_offset;
    out->lines = answer->lines;
    out->line_count = answer->line_count;
    return answer->function ? 0 : -ENOENT;
}

int symbolizer_kernel(struct symbolizer *symbolizer, uint64_t address, struct symbolized *out)
{
    *out = (struct symbolized){0};
    if (!symbolizer->kallsyms) {
        int error = kallsyms_open(NULL, &symbolizer->kallsyms);
        if (error)
            return error;
        symbolizer->owns_kallsyms = true;
    }
    struct kernel_symbol symbol;
    int error = kallsyms_resolve(symbolizer->kallsyms, address, &symbol);
    if (error)
        return error == -ENOMEM ? error : -ENOENT;
    out->function = symbolizer_name(symbolizer, symbol.name);
    out->module = symbol.module;
    out->offset = symbol.offset;
    return 0;
}

/* ---- back ---- */

/* Returns the process's mapping of a file's code, by the path that it was mapped from or by the file itself. */
static const struct proc_mapping *mapping_of_path(const struct proc_maps *maps, pid_t pid, const char *path)
{
    struct stat status, mapped;
    if (foreign_status(path, &status))
        return NULL;
    for (size_t i = 0; i < maps->count; i++) {
        const struct proc_mapping *mapping = &maps->items[i];
        if (!mapping->executable || mapping->inode != status.st_ino)
            continue;
        char name[PATH_MAX + 32];
        if (!strcmp(mapping->path, path))
            return mapping;
        snprintf(name, sizeof name, "/proc/%d/root%s", (int)pid, mapping->path);
        if (!foreign_status(name, &mapped) && mapped.st_dev == status.st_dev &&
            mapped.st_ino == status.st_ino)
            return mapping;
    }
    return NULL;
}

int symbolizer_bias(struct symbolizer *symbolizer, const char *path, pid_t pid, uint64_t *bias)
{
    struct proc_maps maps;
    int error = proc_maps_read(pid, &maps);
    if (error)
        return error;
    const struct proc_mapping *mapping = mapping_of_path(&maps, pid, path);
    error = mapping ? 0 : -ESRCH;
    struct symbol_file *file = error ? NULL : symbol_file_named(symbolizer->files, path, &error);
    uint64_t address;
    if (file)
        error = elf_file_code_address(file->elf, mapping->offset, &address);
    if (!error)
        *bias = mapping->start - address;
    proc_maps_free(&maps);
    return error;
}

int symbolizer_address(struct symbolizer *symbolizer, const char *path, pid_t pid, const char *name,
                       uint64_t *address, uint64_t *size)
{
    struct elf_symbol symbol;
    uint64_t bias = 0;
    int error;
    struct symbol_file *file = symbol_file_named(symbolizer->files, path, &error);
    if (!file)
        return error;
    error = symbol_file_symbol(file, path, name, &symbol);
    if (!error && pid > 0)
        error = symbolizer_bias(symbolizer, path, pid, &bias);
    if (error)
        return error;
    *address = symbol.address + bias;
    if (size)
        *size = symbol.size;
    return 0;
}
