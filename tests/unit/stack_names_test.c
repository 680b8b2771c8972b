/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what stack traces are named by: the mappings of processes, the kernel's events, perf maps, calls before
 * return addresses, separate debug files; with hostile input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/mappings.h"
#include "sym/return_address.h"
#include "sym/elf/debug_file.h"
#include "sym/process/perf_map.h"
#include "sym/process/process.h"
#include "sym/symbolize.h"

enum { NOBODY = INT_MAX - 7 }; /* a pid that does not exist */

static void map(struct processes *processes, pid_t pid, uint64_t start, uint64_t time, uint64_t inode,
                const char *path)
{
    struct code_mapping mapping = {start, start + 0x1000, 0, time, NULL};
    struct module module = {.device = 1, .inode = inode};
    process_mapped(processes, pid, &mapping, &module, path);
}

static const char *find(struct processes *processes, pid_t pid, uint64_t address)
{
    static char path[64];
    struct code_mapping mapping = {0};
    int error = process_find(processes, pid, address, &mapping);
    if (error)
        return error == -ENOENT ? "not code" : "unknown";
    snprintf(path, sizeof path, "%s", mapping.module->path);
    process_release(processes, mapping.module);
    return path;
}

static void what_was_told(void **state)
{
    (void)state;
    struct processes *processes = processes_make();
    processes_follow_events(processes);
    assert_string_equal(find(processes, NOBODY, 0x1000), "unknown");
    map(processes, NOBODY, 0x1000, 10, 7, "/bin/old");
    assert_string_equal(find(processes, NOBODY, 0x1fff), "/bin/old");
    assert_string_equal(find(processes, NOBODY, 0x2000), "not code");
    /* A child has its parent's mappings, and keeps them when the parent executes another program. */
    process_forked(processes, NOBODY - 1, NOBODY, 15);
    assert_int_equal(process_parent(processes, NOBODY - 1), NOBODY);
    map(processes, NOBODY, 0x1000, 20, 8, "/bin/new");
    assert_string_equal(find(processes, NOBODY, 0x1000), "/bin/new");
    assert_string_equal(find(processes, NOBODY - 1, 0x1000), "/bin/old");
    /* An event that arrives late does not replace a newer one. */
    map(processes, NOBODY, 0x1000, 15, 9, "/bin/late");
    assert_string_equal(find(processes, NOBODY, 0x1000), "/bin/new");
    processes_free(processes);
}

/* The last answer serves the addresses around its own only as far as no other mapping reaches, and only until something changes. */
static void neighbours(void **state)
{
    (void)state;
    struct processes *processes = processes_make();
    const struct code_mapping large = {0x10000, 0x20000, 0, 10, NULL};
    const struct module program = {.device = 1, .inode = 1};
    processes_follow_events(processes);
    process_mapped(processes, NOBODY, &large, &program, "/bin/large");
    map(processes, NOBODY, 0x12000, 20, 2, "/bin/low");
    map(processes, NOBODY, 0x18000, 5, 3, "/bin/older");
    process_forked(processes, NOBODY - 1, NOBODY, 25);
    map(processes, NOBODY - 1, 0x16000, 30, 4, "/bin/high");
    for (pid_t pid = NOBODY; pid >= NOBODY - 1; pid--) {
        assert_string_equal(find(processes, pid, 0x14000), "/bin/large");
        assert_string_equal(find(processes, pid, 0x12fff), "/bin/low");
        assert_string_equal(find(processes, pid, 0x14000), "/bin/large");
        assert_string_equal(find(processes, pid, 0x15fff), "/bin/large");
        assert_string_equal(find(processes, pid, 0x16000), pid == NOBODY ? "/bin/large" : "/bin/high");
        assert_string_equal(find(processes, pid, 0x14000), "/bin/large");
        assert_string_equal(find(processes, pid, 0x20000), "not code");
        assert_string_equal(find(processes, pid, 0xffff), "not code");
        assert_string_equal(find(processes, pid, 0x10000), "/bin/large");
    }
    assert_string_equal(find(processes, NOBODY, 0x14000), "/bin/large");
    map(processes, NOBODY, 0x14000, 40, 5, "/bin/new");
    assert_string_equal(find(processes, NOBODY, 0x14000), "/bin/new");
    assert_string_equal(find(processes, NOBODY - 1, 0x14000), "/bin/large");
    process_forked(processes, NOBODY - 1, NOBODY, 50);
    assert_string_equal(find(processes, NOBODY - 1, 0x14000), "/bin/new");
    processes_free(processes);
}

/* Where something was not told, what is not known may be code all the same. */
static void what_was_lost(void **state)
{
    (void)state;
    struct processes *processes = processes_make();
    processes_follow_events(processes);
    map(processes, NOBODY, 0x1000, 10, 7, "/bin/old");
    assert_string_equal(find(processes, NOBODY, 0x9000), "not code");
    for (uint64_t i = 0; i < 2100; i++) /* more than is kept of one */
        map(processes, NOBODY - 1, (i + 1) << 12, i, i + 1, "/bin/large");
    assert_string_equal(find(processes, NOBODY - 1, 0x1000), "unknown");
    assert_string_equal(find(processes, NOBODY, 0x9000), "not code");
    processes_miss_events(processes);
    assert_string_equal(find(processes, NOBODY, 0x9000), "unknown");
    assert_string_equal(find(processes, NOBODY, 0x1000), "/bin/old");
    processes_free(processes);
}

static uint64_t generation(struct processes *processes, pid_t pid, uint64_t address)
{
    struct code_mapping mapping = {0};
    assert_int_equal(process_find(processes, pid, address, &mapping), 0);
    const uint64_t found = mapping.module->generation;
    process_release(processes, mapping.module);
    return found;
}

/* A file is the same module whether it was first read from /proc, which has no generations, or reported by the
 * kernel, which has them. */
static void one_name_for_a_file(void **state)
{
    (void)state;
    struct processes *processes = processes_make();
    const uint64_t here = (uint64_t)(uintptr_t)one_name_for_a_file;
    struct code_mapping mapping = {0};
    assert_int_equal(process_read(processes, getpid()), 0);
    assert_int_equal(process_find(processes, getpid(), here, &mapping), 0);
    struct module told = {.device = mapping.module->device, .inode = mapping.module->inode, .generation = 9};
    char path[4096];
    snprintf(path, sizeof path, "%s", mapping.module->path);
    process_release(processes, mapping.module);
    assert_int_equal(generation(processes, getpid(), here), 0);
    process_forked(processes, NOBODY, getpid(), 10);
    mapping.since = 5; /* the event happened before /proc was read */
    process_mapped(processes, getpid(), &mapping, &told, path);
    assert_int_equal(generation(processes, getpid(), here), 9);
    assert_int_equal(generation(processes, NOBODY, here), 9);
    assert_int_equal(process_read(processes, getpid()), 0);
    assert_int_equal(generation(processes, getpid(), here), 9);
    told.generation = 10; /* a later file that got the same inode number */
    mapping.since = UINT64_MAX;
    process_mapped(processes, getpid(), &mapping, &told, path);
    assert_int_equal(generation(processes, getpid(), here), 10);
    processes_free(processes);
}

static void numbers_used_again(void **state)
{
    (void)state;
    struct processes *processes = processes_make();
    processes_follow_events(processes);
    map(processes, NOBODY, 0x1000, 1, 7, "/bin/parent");
    map(processes, NOBODY - 1, 0x1000, 10, 8, "/bin/first");
    map(processes, NOBODY - 1, 0x9000, 10, 8, "/bin/first");
    process_forked(processes, NOBODY - 1, NOBODY, 20);
    assert_string_equal(find(processes, NOBODY - 1, 0x1000),
                        "/bin/parent"); /* the new process has its mapping, … */
    /* … and one that is still known of the old process */
    assert_string_equal(find(processes, NOBODY - 1, 0x9000), "/bin/first");
    size_t before = processes_bytes(processes);
    for (uint64_t i = 0; i < 1000; i++)
        process_forked(processes, NOBODY - 1, NOBODY, 30 + i);
    assert_true(processes_bytes(processes) < before + 1024);
    processes_free(processes);
}

static void bounded(void **state)
{
    (void)state;
    struct processes *processes = processes_make();
    char path[64];
    for (uint64_t i = 0; i < 10000; i++) { /* one process that maps files without end */
        snprintf(path, sizeof path, "/tmp/%d", (int)i);
        map(processes, NOBODY, i << 12, i, i + 1, path);
    }
    assert_true(processes_bytes(processes) < 2 << 20);
    assert_string_equal(find(processes, NOBODY, UINT64_C(9999) << 12), "/tmp/9999");
    for (int i = 0; i < 30000; i++) { /* many processes */
        map(processes, 1000000 + i, 0x1000, 1, 5, "/bin/x");
        process_forked(processes, 1000000 + i, NOBODY, 1);
        if (i % 100 == 0)
            assert_true(processes_bytes(processes) < (7 << 20));
    }
    assert_string_equal(find(processes, 1000000 + 29999, 0x1000), "/bin/x");
    processes_free(processes);
}

/* A shell starts short-lived programs: the mappings that they share are kept once, and the oldest process is
 * dropped first. */
static void many_of_one_program(void **state)
{
    enum { FIRST = 1000000, KNOWN = 15000, ALL = 60000, MAPPED = 5 };
    (void)state;
    struct processes *processes = processes_make();
    processes_follow_events(processes);
    map(processes, NOBODY, 0x1000, 1, 1, "/bin/shell");
    for (int i = 0; i < ALL; i++) {
        uint64_t time = 10 + (uint64_t)i * 10;
        process_forked(processes, FIRST + i, NOBODY, time);
        for (uint64_t k = 0; k < MAPPED && i % 2; k++)
            map(processes, FIRST + i, ((uint64_t)i * 16 + k + 16) << 12, time + 1, 2 + k, "/bin/program");
        if (i != KNOWN)
            continue;
        assert_string_equal(find(processes, FIRST, 0x1000), "/bin/shell");
        assert_string_equal(find(processes, FIRST + 1, (uint64_t)33 << 12), "/bin/program");
        assert_true(processes_bytes(processes) < 4 << 20);
        assert_false(processes_miss_one(processes));
    }
    assert_true(processes_bytes(processes) < 7 << 20);
    assert_string_equal(find(processes, FIRST + ALL - KNOWN, 0x1000), "/bin/shell");
    assert_false(processes_miss_one(processes));
    assert_string_equal(find(processes, FIRST + 7, 0x1000), "unknown");
    assert_true(processes_miss_one(processes));
    assert_false(processes_miss_one(processes));
    processes_free(processes);
}

/* ---- the kernel ---- */

struct heard {
    pid_t child;
    bool forked, program, library;
};

static void hear(void *state, const struct mapping_event *event)
{
    struct heard *heard = state;
    if (event->pid != heard->child)
        return;
    heard->forked |= event->parent == getpid();
    heard->program |= strstr(event->path, "/true") != NULL || strstr(event->path, "coreutils") != NULL;
    heard->library |= strstr(event->path, "/ld-linux") != NULL || strstr(event->path, "/ld-") != NULL;
    assert_true(event->time > 0);
}

static void what_the_kernel_tells(void **state)
{
    (void)state;
    struct mappings *mappings;
    struct heard heard = {0};
    if (mappings_open(&mappings, 512 << 10, false))
        skip();
    heard.child = fork();
    if (!heard.child) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(heard.child, NULL, 0);
    assert_int_equal(mappings_consume(mappings, hear, &heard), 0);
    assert_true(heard.forked);
    assert_true(heard.program);
    assert_true(heard.library);
    heard.forked = false;
    mappings_consume(mappings, hear, &heard);
    assert_false(heard.forked);
    mappings_close(mappings);
}

/* ---- perf maps ---- */

static const char *in_map(const char *text, uint64_t address, uint64_t *start)
{
    static char name[2048];
    struct perf_map *map;
    assert_int_equal(perf_map_parse(text, strlen(text), &map), 0);
    const char *found = perf_map_find(map, address, start);
    snprintf(name, sizeof name, "%s", found ? found : "nothing");
    perf_map_close(map);
    return name;
}

static void perf_maps(void **state)
{
    (void)state;
    uint64_t start = 0;
    const char *text = "1000 10 first one\n0x2000 0x20 second\n1008 100 inner\nnonsense\n3000\n3000 zz x\n"
                       "4000 0 empty\nffffffffffffffff 2 wraps\n5000 10 unfinished";
    assert_string_equal(in_map(text, 0x1000, &start), "first one");
    assert_int_equal(start, 0x1000);
    assert_string_equal(in_map(text, 0x100c, &start), "inner"); /* the later line */
    assert_int_equal(start, 0x1008);
    assert_string_equal(in_map(text, 0x1100, &start), "inner");
    assert_string_equal(in_map(text, 0x201f, &start), "second");
    assert_string_equal(in_map(text, 0x2020, &start), "nothing");
    assert_string_equal(in_map(text, 0xfff, &start), "nothing");
    assert_string_equal(in_map(text, 0x4000, &start), "nothing");
    assert_string_equal(in_map(text, UINT64_MAX, &start), "nothing");
    assert_string_equal(in_map(text, 0x5001, &start), "nothing");
    assert_string_equal(in_map("1000 1000 a\n1000 1000 b\n", 0x1800, &start), "b");
    assert_string_equal(in_map("", 1, &start), "nothing");
    assert_string_equal(in_map("11111111111111111 1 too large\n", 0x1111111111111111, &start), "nothing");
    char *line = malloc(70000);
    memset(line, 'n', 70000);
    memcpy(line, "1 1 ", 4);
    line[69998] = '\n';
    line[69999] = '\0';
    assert_int_equal(strlen(in_map(line, 1, &start)), 1024);
    free(line);
}

static void perf_map_files(void **state)
{
    (void)state;
    struct perf_map *map;
    char path[64];
    uint64_t start;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    unlink(path);
    assert_int_equal(perf_map_read(getpid(), &map), -ENOENT);
    assert_int_equal(perf_map_read(NOBODY, &map), -ENOENT);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("10 10 here\n", file);
    fclose(file);
    assert_int_equal(perf_map_read(getpid(), &map), 0);
    assert_string_equal(perf_map_find(map, 0x18, &start), "here");
    perf_map_close(map);
    if (!getuid()) {
        assert_int_equal(chown(path, 12345, 0), 0);
        assert_int_equal(perf_map_read(getpid(), &map), -EPERM);
    }
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(perf_map_read(getpid(), &map), -ENOENT);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* does not block the reader */
    assert_int_equal(perf_map_read(getpid(), &map), -ENOENT);
    unlink(path);
}

/* What a process has left that ended is read, if it is of who reads. */
static void perf_map_of_the_ended(void **state)
{
    (void)state;
    struct perf_map *map;
    char path[64];
    uint64_t start;
    pid_t child = fork();
    if (!child)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)child);
    unlink(path);
    assert_int_equal(perf_map_read(child, &map), -ENOENT);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("10 10 left\n", file);
    fclose(file);
    assert_int_equal(perf_map_read(child, &map), 0);
    assert_string_equal(perf_map_find(map, 0x18, &start), "left");
    perf_map_close(map);
    if (!getuid()) {
        assert_int_equal(chown(path, 12345, 0), 0);
        assert_int_equal(perf_map_read(child, &map), -EPERM);
    }
    unlink(path);
}

/* ---- calls ---- */

static enum call_kind x86(const char *before, const char *after)
{
    uint8_t bytes[16] = {0};
    size_t length = strlen(before) / 2, rest = strlen(after) / 2;
    for (size_t i = 0; i < length; i++)
        sscanf(before + 2 * i, "%2hhx", &bytes[7 - length + i]);
    for (size_t i = 0; i < rest; i++)
        sscanf(after + 2 * i, "%2hhx", &bytes[7 + i]);
    return call_before_x86(bytes + 7, 7, 9);
}

static void calls(void **state)
{
    (void)state;
    assert_int_equal(x86("e800000000", ""), CALL_FOUND);     /* call rel32 */
    assert_int_equal(x86("ffd0", ""), CALL_FOUND);           /* call *%rax */
    assert_int_equal(x86("41ffd4", ""), CALL_FOUND);         /* call *%r12 */
    assert_int_equal(x86("ff5008", ""), CALL_FOUND);         /* call *8(%rax) */
    assert_int_equal(x86("ff1512345678", ""), CALL_FOUND);   /* call *x(%rip) */
    assert_int_equal(x86("ff542408", ""), CALL_FOUND);       /* call *8(%rsp) */
    assert_int_equal(x86("ff14c5aabbccdd", ""), CALL_FOUND); /* call *x(,%rax,8) */
    assert_int_equal(x86("ff9424aabbccdd", ""), CALL_FOUND); /* call *x(%rsp) */
    assert_int_equal(x86("ffe0", ""), CALL_NONE);            /* jmp *%rax */
    assert_int_equal(x86("55c3", ""), CALL_NONE);
    assert_int_equal(x86("c3", "48c7c00f0000000f05"), CALL_SIGNAL);
    assert_int_equal(x86("c3", "b80f0000000f05"), CALL_SIGNAL);
    assert_int_equal(call_before_x86((const uint8_t[8]){0} + 3, 3, 2), CALL_UNKNOWN);
    static const uint32_t bl = 0x94000010, blr = 0xd63f0100, blraa = 0xd73f0901, ret = 0xd65f03c0;
    assert_int_equal(call_before_arm((const uint8_t *)(&bl + 1), 4, 0), CALL_FOUND);
    assert_int_equal(call_before_arm((const uint8_t *)(&blr + 1), 4, 0), CALL_FOUND);
    assert_int_equal(call_before_arm((const uint8_t *)(&blraa + 1), 4, 0), CALL_FOUND);
    assert_int_equal(call_before_arm((const uint8_t *)(&ret + 1), 4, 0), CALL_NONE);
}

__attribute__((noinline)) static uintptr_t return_address(void)
{
    return (uintptr_t)__builtin_return_address(0);
}

static void what_is_no_frame(void **state)
{
    (void)state;
    struct symbolizer *symbolizer;
    struct symbolized found;
    assert_int_equal(symbolizer_open(NULL, &symbolizer), 0);
    uintptr_t address = return_address();
    assert_int_equal(symbolizer_user(symbolizer, getpid(), address, true, &found), 0);
    assert_string_equal(found.function, "what_is_no_frame");
    assert_false(found.is_not_code);
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(symbolizer_user(symbolizer, getpid(), (uintptr_t)what_is_no_frame + 1, true, &found), 0);
    assert_true(found.is_not_code);
    assert_int_equal(symbolizer_user(symbolizer, getpid(), (uintptr_t)what_is_no_frame + 1, false, &found),
                     0);
    assert_false(found.is_not_code);
#endif
    symbolizer_user(symbolizer, getpid(), (uintptr_t)&found, true, &found); /* on the stack */
    assert_true(found.is_not_code);
    symbolizer_user(symbolizer, NOBODY, 0x1000, true, &found); /* nothing is known, so nothing is claimed */
    assert_false(found.is_not_code);
    symbolizer_close(symbolizer);
}

/* ---- debug files ---- */

static void packed_symbols(void **state)
{
    (void)state;
    struct elf_file *file, *data;
    void *bytes;
    assert_int_equal(elf_file_open("/proc/self/exe", &file), 0);
    assert_int_equal(debug_data_open(file, &bytes, &data), -ENOENT);
    assert_null(bytes);
    assert_int_equal(debug_file_open(file, "/no/such/file", 0, NULL, &data), -ENOENT);
    elf_file_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told),
        cmocka_unit_test(neighbours),
        cmocka_unit_test(what_was_lost),
        cmocka_unit_test(one_name_for_a_file),
        cmocka_unit_test(numbers_used_again),
        cmocka_unit_test(bounded),
        cmocka_unit_test(many_of_one_program),
        cmocka_unit_test(what_the_kernel_tells),
        cmocka_unit_test(perf_maps),
        cmocka_unit_test(perf_map_files),
        cmocka_unit_test(perf_map_of_the_ended),
        cmocka_unit_test(calls),
        cmocka_unit_test(what_is_no_frame),
        cmocka_unit_test(packed_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
