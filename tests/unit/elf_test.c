/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the ELF reader on real files, and on files that lie. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sym/elf/elf.h"
#include "base/glob.h"
#include "sym/elf/usdt.h"

#ifdef __aarch64__
#define LIBC "/lib/aarch64-linux-gnu/libc.so.6"
#else
#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#endif

static void globs(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } rows[] = {
        {"*", "", true},
        {"", "", true},
        {"", "a", false},
        {"a*c", "abbbc", true},
        {"a*c", "abbb", false},
        {"?", "a", true},
        {"?", "", false},
        {"a?c", "abc", true},
        {"[ab]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]x", "dx", true},
        {"[]]", "]", true},
        {"[", "[", true},
        {"a[b", "a[b", true},
        {"*a*b*", "xxaxxb", true},
        {"sys_*_read*", "sys_enter_readv", true},
        {"*.so", "/lib/x.so", true},
        {"[^a]", "b", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(glob_match(rows[i].pattern, rows[i].text), rows[i].matches);
    assert_true(glob_match(NULL, "anything"));
    assert_true(glob_has_wildcard("a[b]"));
    assert_false(glob_has_wildcard("a[b"));
    /* A matcher that tries every star again would take exponential time. */
    char text[4097];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

__attribute__((noinline)) int elf_test_marker(int value)
{
    __asm__ volatile("");
    return value * 3;
}

static void this_program(void **state)
{
    (void)state;
    struct elf_file *file;
    struct elf_symbol symbol, nearest;
    assert_int_equal(elf_file_open("/proc/self/exe", &file), 0);
    assert_int_equal(elf_file_kind(file), ELF_EXECUTABLE);
    assert_int_equal(elf_file_machine(file), machine_here());
    assert_int_equal(elf_file_function(file, "elf_test_marker", &symbol), 0);
    assert_true(symbol.is_function && symbol.has_offset && symbol.is_global && symbol.size);

    /* The bytes at the file's offset equal those of the function in memory. */
    uint8_t bytes[4];
    assert_int_equal(elf_file_read(file, symbol.offset, bytes, sizeof bytes), 0);
    assert_memory_equal(bytes, (void *)elf_test_marker, sizeof bytes);

    uint64_t address, offset;
    assert_int_equal(elf_file_offset(file, symbol.address, &offset), 0);
    assert_int_equal(offset, symbol.offset);
    assert_int_equal(elf_file_address(file, offset, &address), 0);
    assert_int_equal(address, symbol.address);
    assert_int_equal(elf_file_code_address(file, offset, &address), 0);
    assert_int_equal(elf_file_nearest(file, symbol.address + symbol.size - 1, &nearest), 0);
    assert_string_equal(nearest.name, "elf_test_marker");
    assert_int_equal(elf_file_nearest(file, 0, &nearest), -ENOENT);
    assert_int_equal(elf_file_nearest(file, UINT64_MAX, &nearest), -ENOENT);
    assert_int_equal(elf_file_function(file, "no such function", &symbol), -ENOENT);
    assert_int_equal(elf_file_offset(file, UINT64_MAX, &offset), -ENOENT);
    elf_file_close(file);
}

struct seen {
    size_t count;
    bool malloc, version, unsorted, doubled;
    char last[256];
    uint64_t last_address;
};

static int see(void *context, const struct elf_symbol *symbol)
{
    struct seen *seen = context;
    seen->count++;
    seen->malloc |= !strcmp(symbol->name, "malloc");
    seen->version |= strchr(symbol->name, '@') != NULL;
    seen->unsorted |= symbol->address < seen->last_address;
    seen->doubled |= symbol->address == seen->last_address && !strcmp(symbol->name, seen->last);
    seen->last_address = symbol->address;
    snprintf(seen->last, sizeof seen->last, "%s", symbol->name);
    return 0;
}

static int stop_at_third(void *context, const struct elf_symbol *symbol)
{
    (void)symbol;
    return ++*(int *)context == 3 ? 99 : 0;
}

static void a_library(void **state)
{
    (void)state;
    struct elf_file *file;
    struct elf_symbol symbol;
    assert_int_equal(elf_file_open(LIBC, &file), 0);
    struct seen seen = {0};
    assert_int_equal(elf_file_each_function(file, "*", see, &seen), 0);
    assert_true(seen.count > 1000 && seen.malloc);
    assert_false(seen.version || seen.unsorted || seen.doubled);
    struct seen few = {0};
    assert_int_equal(elf_file_each_function(file, "mall*", see, &few), 0);
    assert_true(few.malloc && few.count < 20);
    int calls = 0;
    assert_int_equal(elf_file_each_function(file, NULL, stop_at_third, &calls), 99);
    assert_int_equal(calls, 3);
    size_t size;
    assert_non_null(elf_file_build_id(file, &size));
    assert_int_equal(size, 20);
    /* memcpy is chosen at load time by the processor's features. */
    assert_int_equal(elf_file_function(file, "memcpy", &symbol), 0);
    assert_true(symbol.is_ifunc);
    /* Of several names for one function, the plain one is chosen. */
    assert_int_equal(elf_file_function(file, "__libc_malloc", &symbol), 0);
    assert_int_equal(elf_file_nearest(file, symbol.address, &symbol), 0);
    assert_string_equal(symbol.name, "malloc");
    elf_file_close(file);
}

static void what_is_not_elf(void **state)
{
    (void)state;
    struct elf_file *file;
    assert_int_equal(elf_file_open("/nonexistent", &file), -ENOENT);
    assert_int_equal(elf_file_open("/etc/passwd", &file), -ENOEXEC);
    assert_int_equal(elf_file_open("/", &file), -ENOEXEC);
    assert_int_equal(elf_file_open("/dev/null", &file), -ENOEXEC);
    assert_int_equal(elf_file_open_memory("", 0, &file), -ENOEXEC);
    assert_int_equal(elf_file_open_memory("\177ELF", 4, &file), -ENOEXEC);
}

/* ---- hostile ---- */

static int nothing(void *context, const struct elf_symbol *symbol)
{
    ++*(size_t *)context;
    return strlen(symbol->name) ? 0 : 1;
}

/* Asks every question of the file, whatever the answers are. */
static void ask_everything(const uint8_t *bytes, size_t size)
{
    struct elf_file *file;
    if (elf_file_open_memory(bytes, size, &file))
        return;
    struct elf_symbol symbol;
    struct elf_section section;
    struct usdt_probes probes;
    struct usdt_arguments arguments;
    size_t count = 0, id_size;
    uint64_t number;
    elf_file_function(file, "main", &symbol);
    elf_file_each_function(file, "*", nothing, &count);
    elf_file_nearest(file, 0x1234, &symbol);
    elf_file_build_id(file, &id_size);
    elf_file_address(file, 0x1234, &number);
    elf_file_section_named(file, ".text", &section);
    if (!usdt_read(file, &probes)) {
        for (size_t i = 0; i < probes.count; i++)
            usdt_site_arguments(file, &probes.sites[i], &arguments);
        usdt_free(&probes);
    }
    elf_file_close(file);
}

static uint8_t *load_self(size_t *size)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    struct stat status;
    assert_true(fd >= 0 && !fstat(fd, &status));
    uint8_t *bytes = malloc((size_t)status.st_size);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, (size_t)status.st_size, 0), status.st_size);
    close(fd);
    *size = (size_t)status.st_size;
    return bytes;
}

static void cut_off(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = load_self(&size);
    for (size_t cut = 0; cut < 4096 && cut < size; cut += 7) {
        /* exactly as long, so that a sanitizer sees a read behind the end */
        uint8_t *copy = malloc(cut ? cut : 1);
        memcpy(copy, bytes, cut);
        ask_everything(copy, cut);
        free(copy);
    }
    for (size_t part = 1; part < 16; part++)
        ask_everything(bytes, size / 16 * part);
    free(bytes);
}

static void scribbled_headers(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 0x7fffffff, UINT32_MAX, UINT64_MAX, UINT64_MAX - 8, 1ull << 63};
    size_t size;
    uint8_t *bytes = load_self(&size);
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    /* Changes each word of each section header, and of the file's own header. */
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        for (size_t at = 16; at + 8 <= sizeof header; at += 2) {
            uint64_t before;
            memcpy(&before, bytes + at, 8);
            memcpy(bytes + at, &values[v], at + 8 <= 40 ? 8 : 2);
            ask_everything(bytes, size);
            memcpy(bytes + at, &before, 8);
        }
        size_t step = 4 * 3; /* checks a third of the fields with each value, for speed */
        for (size_t at = header.e_shoff + 4 * (v % 3);
             at + 8 <= header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr); at += step) {
            uint64_t before;
            memcpy(&before, bytes + at, 8);
            memcpy(bytes + at, &values[v], 8);
            ask_everything(bytes, size);
            memcpy(bytes + at, &before, 8);
        }
    }
    free(bytes);
}

/* ---- a file that is replaced after it was read ---- */

static void copy_self(const char *path)
{
    char command[200];
    snprintf(command, sizeof command, "cp /proc/%d/exe %s", (int)getpid(), path);
    assert_int_equal(system(command), 0);
}

static int check_by_name(const struct elf_origin *origin, const char *path)
{
    struct elf_file *again;
    int fd = open(path, O_RDONLY), error = elf_origin_check(origin, fd);
    close(fd);
    assert_int_equal(elf_origin_open(origin, path, &again), error);
    if (!error)
        elf_file_close(again);
    return error;
}

static void origins(void **state)
{
    char path[] = "/tmp/elf-origin.XXXXXX", other[40];
    struct elf_origin origin;
    struct elf_file *file;
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    snprintf(other, sizeof other, "%s.other", path);
    copy_self(path);
    copy_self(other);
    assert_int_equal(elf_file_open(path, &file), 0);
    assert_true(elf_file_origin(file, &origin));
    elf_file_close(file);
    assert_int_equal(check_by_name(&origin, path), 0);
    assert_int_equal(check_by_name(&origin, other), -ESTALE); /* equal bytes, but another file */
    struct elf_origin forged = origin;
    forged.build_id[0] ^= 1; /* as on a file system that keeps no change time */
    assert_int_equal(check_by_name(&forged, path), -ESTALE);
    struct stat before, after;
    assert_int_equal(fstat(fd, &before), 0);
    do { /* until the file system's clock has advanced */
        assert_int_equal(pwrite(fd, "\x7f", 1, 0), 1);
        assert_int_equal(fstat(fd, &after), 0);
    } while (!memcmp(&before.st_ctim, &after.st_ctim, sizeof after.st_ctim));
    /* the content is unchanged, but it was written */
    assert_int_equal(check_by_name(&origin, path), -ESTALE);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(check_by_name(&origin, path), -ESTALE);
    close(fd);
    unlink(path);
    assert_int_equal(elf_origin_open(&origin, path, &file), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs),     cmocka_unit_test(this_program),
        cmocka_unit_test(a_library), cmocka_unit_test(what_is_not_elf),
        cmocka_unit_test(cut_off),   cmocka_unit_test(scribbled_headers),
        cmocka_unit_test(origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
