/* SPDX-License-Identifier: BSD-3-Clause */
/* The process that reads tables on behalf of this one may be taken over by what it reads: whatever it then answers,
 * this process must read and write nothing that it should not. Here that process answers correctly, with some bytes
 * changed, or cut, or it dies. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sym/elf/archive.h"
#include "sym/dwarf/cfi.h"
#include "sym/elf/debug_file.h"
#include "sym/dwarf/dwarf.h"
#include "sym/process/needed.h"
#include "sym/process/perf_map.h"
#include "sym/tables.h"
#include "sym/elf/usdt.h"

enum { ROUNDS = 3000, CHANGES_MAX = 8 };

/* ---- in the reading process ---- */
static uint64_t seed = 1;

static uint64_t chance(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return below ? (seed >> 33) % below : 0;
}

static void lie(struct text *answer)
{
    static const uint64_t borders[] = {0, 1, 7, 255, 4096, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    uint64_t changes = chance(CHANGES_MAX), how = chance(16);
    for (uint64_t i = 0; i < changes && answer->length >= 8; i++) {
        /* Half of the changes go to the front, where counts and sizes are. */
        size_t at = chance(chance(2) || answer->length < 512 ? answer->length - 7 : 505);
        uint64_t value = borders[chance(sizeof borders / sizeof *borders)];
        if (chance(2))
            answer->bytes[at] ^= (char)(1 << chance(8));
        else
            memcpy(answer->bytes + (at & ~(size_t)7), &value, sizeof value);
    }
    if (how == 0)
        text_truncate(answer, chance(answer->length));
    else if (how == 1)
        _exit(1);
}

/* Starts a new reading process; its answers go through `change`, unless that is NULL. */
static void begin(void (*change)(struct text *answer))
{
    tables_end();
    apart_answers_change(change);
}

/* ---- in this process ---- */
static int read_symbol(void *context, const struct elf_symbol *symbol)
{
    *(size_t *)context += strlen(symbol->name);
    return 0;
}

static int read_site(void *context, const struct usdt_site *site)
{
    *(size_t *)context += strlen(site->provider) + strlen(site->name) + strlen(site->arguments);
    for (unsigned i = 0; i < site->declared_count; i++)
        *(size_t *)context += strlen(site->declared[i].type) + strlen(site->declared[i].name);
    return 0;
}

static size_t read_everything(const char *path)
{
    struct elf_file *file, *other;
    struct elf_symbol symbol;
    struct elf_section section;
    struct usdt_probes probes;
    struct cfi_rows rows;
    void *bytes;
    size_t read = 0, size;
    uint64_t number;
    if (elf_file_open(path, &file))
        return 0;
    for (size_t i = 0; i < elf_file_section_count(file) && i < 64; i++)
        read += elf_file_section(file, i, &section) ? strlen(section.name) : 0;
    elf_file_build_id(file, &size);
    elf_file_offset(file, 0x1000, &number);
    elf_file_code_address(file, 0x1000, &number);
    read += !elf_file_nearest(file, 0x1234, &symbol) ? strlen(symbol.name) : 0;
    elf_file_each_function(file, NULL, read_symbol, &read);
    read += !elf_file_symbol(file, "main", &symbol) ? strlen(symbol.name) : 0;
    if (!usdt_read(file, &probes))
        usdt_each(&probes, NULL, NULL, read_site, &read);
    usdt_free(&probes);
    if (!cfi_read(file, &rows))
        read += cfi_find(&rows, 0x1234) != NULL;
    cfi_free(&rows);
    if (!debug_data_open(file, &bytes, &other)) {
        elf_file_each_function(other, NULL, read_symbol, &read);
        elf_file_close(other);
        free(bytes);
    }
    if (!debug_file_open(file, path, 0, NULL, &other))
        elf_file_close(other);
    elf_file_close(file);
    return read;
}

static int visit_needed(void *context, const char *path)
{
    *(size_t *)context += strlen(path);
    return 0;
}

static void test_truth(void **state)
{
    (void)state;
    begin(NULL);
    assert_in_range(read_everything("/proc/self/exe"), 1000, 100000000);
}

static void test_lies(void **state)
{
    size_t read = 0;
    (void)state;
    begin(lie);
    for (unsigned round = 0; round < ROUNDS; round++) {
        read += read_everything(round % 2 ? "/bin/true" : "/proc/self/exe");
        if (round % 16 == 0)
            needed_each("/proc/self/exe", visit_needed, &read);
    }
    assert_int_not_equal(read, 0);
}

/* The process answers correctly about damaged files, with some bytes changed, anywhere or in a table. */
static void test_damaged(void **state)
{
    enum { DAMAGED = 200, BYTES_CHANGED = 60 };
    const char *wanted = getenv("DAMAGED_ROUNDS"); /* set by `make check-deep` to run more rounds */
    const unsigned rounds = wanted ? (unsigned)atoi(wanted) : DAMAGED, deaths = apart_deaths();
    struct stat status;
    char path[64];
    size_t read = 0;
    (void)state;
    begin(NULL);
    int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy = memfd_create("damaged", MFD_CLOEXEC);
    assert_true(own >= 0 && copy >= 0 && fstat(own, &status) == 0);
    char *bytes = malloc((size_t)status.st_size);
    assert_int_equal(pread(own, bytes, (size_t)status.st_size, 0), status.st_size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
    seed = 7;
    for (unsigned round = 0; round < rounds; round++) {
        assert_int_equal(pwrite(copy, bytes, (size_t)status.st_size, 0), status.st_size);
        for (unsigned i = 0; i < BYTES_CHANGED; i++) {
            static const uint64_t bounds[] = {4096, 65536, UINT64_MAX};
            uint64_t below = bounds[chance(3)], size = (uint64_t)status.st_size;
            uint64_t at = chance(below < size ? below : size);
            char byte = (char)chance(256);
            /* The front has the header, the segments and the notes; the end has the sections. */
            assert_int_equal(pwrite(copy, &byte, 1,
                                    (off_t)(chance(2)        ? size - 1 - at
                                            : at + 64 < size ? at + 64
                                                             : at)),
                             1);
        }
        read += read_everything(path);
    }
    assert_int_not_equal(read, 0);
    assert_int_equal(apart_deaths(), deaths);
    free(bytes);
    close(own);
    close(copy);
}

/* Perf maps and archives are read by the other process, too. */
static void test_lies_of_maps(void **state)
{
    char path[64];
    struct perf_map *map;
    uint64_t start, offset, size;
    unsigned found = 0;
    (void)state;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *file = fopen(path, "wx");
    assert_non_null(file);
    for (unsigned i = 0; i < 100; i++)
        fprintf(file, "%x 10 function_%u\n", 0x1000 + 16 * i, i);
    fclose(file);
    int fd = open(path, O_RDONLY);
    begin(lie);
    for (unsigned round = 0; round < ROUNDS; round++) {
        assert_int_not_equal(archive_member(fd, "x", &offset, &size), 0);
        if (perf_map_read(getpid(), &map))
            continue;
        for (uint64_t address = 0; address < 0x2000; address += 8) {
            const char *name = perf_map_find(map, address, &start);
            found += name && strlen(name) > 8;
        }
        perf_map_close(map);
    }
    assert_int_not_equal(found, 0);
    close(fd);
    unlink(path);
}

/* The debug information of these declarations is read through the lying process. */
struct lied_about {
    struct lied_about *next;
    enum { LIED_ONE = 1, LIED_TWO } which;
    unsigned bits : 3;
    char name[16];
    union {
        int number;
        struct {
            long x, y;
        } place;
    };
};

__attribute__((noinline, noclone, used)) int lied_function(struct lied_about *first, int second)
{
    __asm__ volatile("" ::: "memory");
    return second + (first != NULL);
}

static size_t see_type(const struct type *type, unsigned depth)
{
    size_t sum = type && type->name ? strlen(type->name) : 0;
    if (!type || !depth)
        return sum;
    type_complete(type);
    for (uint32_t i = 0; type->kind == TYPE_ENUM && i < type->count; i++)
        sum += strlen(type->enumerators[i].name);
    for (uint32_t i = 0; type->kind == TYPE_STRUCT && i < type->count; i++) {
        const struct field *field = &type->fields[i];
        assert_true(field->offset <= type->size);
        assert_true(field->bit_size || field->type->size <= type->size - field->offset);
        sum += strlen(field->name) + see_type(field->type, depth - 1);
    }
    return sum + see_type(type->target, depth - 1);
}

static int see_place(void *state, uint64_t address, bool is_inlined)
{
    *(uint64_t *)state += address + is_inlined;
    return 0;
}

static size_t see_function(struct dwarf_file *file, uint64_t address)
{
    struct dwarf_function function;
    size_t sum = 0;
    if (dwarf_file_function(file, address, NULL, &function))
        return 0;
    for (uint32_t i = 0; i < function.count; i++)
        sum += strlen(function.parameters[i].name) + strlen(function.parameters[i].spelling) +
               see_type(function.parameters[i].type, 5);
    return sum + strlen(function.result_spelling) + see_type(function.result, 3);
}

static bool see_types(const struct dwarf_options *options, size_t *seen)
{
    struct dwarf_file *file;
    uint64_t places = 0;
    int64_t value;
    unsigned next;
    if (dwarf_file_open("/proc/self/exe", options, &file))
        return false;
    *seen += see_type(dwarf_file_type(file, "struct lied_about", 0), 6);
    *seen += see_type(dwarf_file_enumerator(file, "LIED_TWO", 0, &value), 2);
    dwarf_file_each_function(file, "lied_function", see_place, &places);
    *seen += see_function(file, places);
    dwarf_file_each_line(file, "tables_test.c", 200, 0, see_place, &places, &next);
    *seen += see_type(dwarf_file_type(file, "struct lied_about", 0), 6);
    dwarf_file_close(file);
    return true;
}

static bool see_lies(unsigned round, size_t *seen)
{
    struct arena arena = {0};
    struct dwarf_options options = {.arena = &arena};
    jmp_buf nowhere;
    assert_int_equal(arena_guard(&arena, nowhere), 0);
    begin(NULL);
    seed = round + 1;
    apart_answers_change(round ? lie : NULL);
    bool is_open = see_types(&options, seen);
    arena_free(&arena);
    return is_open;
}

static void test_lies_of_types(void **state)
{
    enum { ROUNDS_OF_TYPES = 600, TRUTH_MIN = 100 };
    size_t seen = 0;
    unsigned opened = 0;
    (void)state;
    setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    assert_true(see_lies(0, &seen)); /* round 0 changes nothing */
    assert_in_range(seen, TRUTH_MIN, 100000);
    for (unsigned round = 1; round < ROUNDS_OF_TYPES; round++)
        opened += see_lies(round, &seen);
    assert_in_range(opened, ROUNDS_OF_TYPES / 10, ROUNDS_OF_TYPES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truth),         cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_lies),          cmocka_unit_test(test_lies_of_maps),
        cmocka_unit_test(test_lies_of_types),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tables_end();
    return failed;
}
