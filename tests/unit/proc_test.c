/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests on /proc of this process and of a child, and on invented maps, caches and patterns. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sym/process/library.h"
#include "sym/process/proc.h"

static void maps_text(void **state)
{
    (void)state;
    static const char text[] =
        "55d0c0000000-55d0c0001000 r--p 00000000 fe:01 1234                       /usr/bin/a b\n"
        "55d0c0001000-55d0c0002000 r-xp 00001000 fe:01 1234 /usr/bin/a b\n"
        "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
        "7f0000002000-7f0000003000 r-xs 00002000 103:10 99 /tmp/x (deleted)\n"
        "7f0000004000-7f0000005000 r-xp 00000000 00:00 0 [vdso]\n"
        "7f0000006000-7f0000007000 r-xp 00000000 fe:01 5 /new\\012line\n"
        "nonsense\n7f-\n-1-2 r-xp 0 0:0 0\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]";
    struct proc_maps maps;
    assert_int_equal(proc_maps_parse(text, &maps), 0);
    assert_true(maps.count >= 7);
    assert_string_equal(maps.items[0].path, "/usr/bin/a b");
    assert_int_equal(maps.items[0].inode, 1234);
    assert_true(maps.items[0].device == (0xfeull << 32 | 1));
    assert_false(maps.items[0].executable);
    assert_true(maps.items[1].executable && maps.items[1].is_private);
    assert_int_equal(maps.items[1].offset, 0x1000);
    assert_string_equal(maps.items[2].path, "");
    assert_string_equal(maps.items[3].path, "/tmp/x");
    assert_true(maps.items[3].is_deleted);
    assert_false(maps.items[3].is_private);
    assert_string_equal(maps.items[4].path, "[vdso]");
    assert_string_equal(maps.items[5].path, "/new\nline");
    assert_ptr_equal(proc_maps_find(&maps, 0x55d0c0001fff), &maps.items[1]);
    assert_null(proc_maps_find(&maps, 0x55d0c0002000));
    assert_null(proc_maps_find(&maps, 0));
    proc_maps_free(&maps);
    for (size_t cut = 0; cut < sizeof text; cut++) {
        char *exact = strndup(text, cut);
        assert_int_equal(proc_maps_parse(exact, &maps), 0);
        proc_maps_free(&maps);
        free(exact);
    }
}

static void this_process(void **state)
{
    (void)state;
    struct proc_maps maps;
    struct text text = {0};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    assert_int_equal(proc_maps_read(getpid(), &maps), 0);
    const struct proc_mapping *mapping = proc_maps_find(&maps, (uintptr_t)this_process);
    assert_non_null(mapping);
    assert_true(mapping->executable);
    assert_string_equal(mapping->path, self);
    proc_maps_free(&maps);
    assert_int_equal(proc_executable(getpid(), &text), 0);
    assert_string_equal(text_string(&text), self);
    text_clear(&text);
    assert_int_equal(proc_comm(getpid(), &text), 0);
    assert_int_equal(strncmp(text_string(&text), "proc_test", 9), 0);
    text_clear(&text);
    assert_int_equal(proc_path(getpid(), "/etc/passwd", &text), 0);
    assert_string_equal(text_string(&text), "/etc/passwd");
    text_free(&text);
    uint64_t ticks = 0;
    assert_int_equal(proc_start_time(getpid(), &ticks), 0);
    assert_true(ticks > 0);
    assert_true(proc_exists(getpid()));
}

static void no_process(void **state)
{
    (void)state;
    struct proc_maps maps;
    struct text text = {0};
    pid_t child = fork();
    if (!child)
        _exit(0);
    /* A child that has ended but was not waited for has a name, and no maps. */
    siginfo_t information;
    assert_int_equal(waitid(P_PID, (id_t)child, &information, WEXITED | WNOWAIT), 0);
    assert_int_equal(proc_maps_read(child, &maps), -ESRCH);
    waitpid(child, NULL, 0);
    assert_int_equal(proc_maps_read(child, &maps), -ESRCH);
    assert_int_equal(proc_executable(child, &text), -ESRCH);
    assert_false(proc_exists(child));
    assert_false(proc_exists(-1));
    text_free(&text);
}

/* The file that a process runs, what identifies a file, and paths as the process sees them. */
static void paths_of_a_process(void **state)
{
    (void)state;
    struct text path = {0}, expected = {0};
    struct proc_identity one, two;
    pid_t parent = 0;
    assert_int_equal(proc_program(getpid(), &path), 0);
    assert_int_equal(proc_executable(getpid(), &expected), 0);
    assert_string_equal(text_string(&path), text_string(&expected));
    assert_int_equal(proc_identify(text_string(&path), &one), 0);
    assert_int_equal(proc_identify("/proc/self/exe", &two), 0);
    assert_memory_equal(&one, &two, sizeof one);
    assert_int_equal(proc_identify("/etc/passwd", &two), 0);
    assert_memory_not_equal(&one, &two, sizeof one);
    assert_int_equal(proc_identify("/no/such/file", &two), -ENOENT);
    assert_int_equal(proc_parent(getpid(), &parent), 0);
    assert_int_equal(parent, getppid());
    assert_int_equal(proc_parent(0x7fffffff, &parent), -ESRCH);
    text_clear(&path);
    assert_int_equal(proc_program(0x7fffffff, &path), -ESRCH);
    /* A path that the process does not have must not lead to a file of this process. */
    assert_int_equal(proc_path(getpid(), "/no/such/file", &path), 0);
    assert_non_null(strstr(text_string(&path), "/root/no/such/file"));
    text_free(&path);
    text_free(&expected);
}

struct files {
    size_t count, libc;
    char first[PATH_MAX];
};

static int see_file(void *context, pid_t pid, const char *path, const char *seen)
{
    (void)pid, (void)seen;
    struct files *files = context;
    if (!files->count++)
        snprintf(files->first, sizeof files->first, "%s", path);
    files->libc += strstr(path, "libc.so.6") != NULL;
    return 0;
}

static void mapped_files(void **state)
{
    (void)state;
    struct files mine = {0}, all = {0};
    struct text self = {0};
    assert_int_equal(proc_each_file(getpid(), see_file, &mine), 0);
    proc_executable(getpid(), &self);
    assert_string_equal(mine.first, text_string(&self));
    assert_int_equal(mine.libc, 1);
    assert_int_equal(proc_each_file(-1, see_file, &all), 0);
    assert_true(all.count >= mine.count);
    text_free(&self);
}

/* ---- libraries and commands ---- */

static int keep_path(void *context, const char *path, const char *seen)
{
    (void)seen;
    struct text *text = context;
    text_printf(text, "%s\n", path);
    return 0;
}

static void libraries(void **state)
{
    (void)state;
    static const char *const names[] = {"c", "libc", "libc.so", "libc.so.6"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct text path = {0};
        assert_int_equal(library_find(0, names[i], &path), 0);
        assert_non_null(strstr(text_string(&path), "/libc.so.6"));
        text_free(&path);
    }
    struct text path = {0};
    assert_int_equal(library_find(0, "no-such-library", &path), -ENOENT);
    assert_int_equal(library_find(0, "", &path), -ENOENT);
    assert_int_equal(library_find(0, "../c", &path), -ENOENT);
    assert_int_equal(executable_find("sh", &path), 0);
    assert_non_null(strstr(text_string(&path), "/sh"));
    assert_int_equal(executable_find("no-such-command", &path), -ENOENT);
    assert_int_equal(executable_find("/etc/passwd", &path), -ENOENT);
    text_free(&path);
}

static void words(void **state)
{
    (void)state;
    struct text found = {0};
    assert_int_equal(binary_each("/bin/sh", 0, keep_path, &found), 0);
    assert_string_equal(text_string(&found), "/bin/sh\n");
    text_clear(&found);
    assert_int_equal(binary_each("/lib*/*/libc.so.?", 0, keep_path, &found), 0);
    assert_non_null(strstr(text_string(&found), "libc.so.6\n"));
    text_clear(&found);
    assert_int_equal(binary_each("c", getpid(), keep_path, &found), 0);
    assert_non_null(strstr(text_string(&found), "libc.so.6\n"));
    text_clear(&found);
    assert_int_equal(binary_each("/no/such/*", 0, keep_path, &found), -ENOENT);
    assert_int_equal(binary_each("/etc", 0, keep_path, &found), -ENOENT);
    assert_int_equal(binary_each("", 0, keep_path, &found), -ENOENT);
    /* A file whose name looks like a pattern. */
    char directory[] = "/tmp/spoor-word-XXXXXX", path[64], command[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/[x]", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(binary_each(path, 0, keep_path, &found), 0);
    assert_non_null(strstr(text_string(&found), "/[x]\n"));
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
    text_free(&found);
}

static void put32(uint8_t *bytes, size_t at, uint32_t value)
{
    memcpy(bytes + at, &value, 4);
}

static void hostile_cache(void **state)
{
    (void)state;
#ifdef __aarch64__
    enum { FLAGS = 0x0a03 };
#else
    enum { FLAGS = 0x0303 };
#endif
    uint8_t cache[48 + 24 + 32] = "glibc-ld.so.cache1.1";
    put32(cache, 20, 1);
    put32(cache, 48, FLAGS);
    put32(cache, 52, 72);
    put32(cache, 56, 82);
    memcpy(cache + 72, "libq.so.1\0/q/libq.so.1", 23);
    struct text path = {0};
    assert_int_equal(library_find_in_cache(cache, sizeof cache, "q", &path), 0);
    assert_string_equal(text_string(&path), "/q/libq.so.1");
    assert_int_equal(library_find_in_cache(cache, sizeof cache, "libq.so.1", &path), 0);
    assert_int_equal(library_find_in_cache(cache, sizeof cache, "qq", &path), -ENOENT);

    /* The cache may follow a table of the old form. */
    uint8_t both[32 + sizeof cache] = "ld.so-1.7.0";
    put32(both, 12, 1);
    memcpy(both + 32, cache, sizeof cache);
    text_clear(&path);
    assert_int_equal(library_find_in_cache(both, sizeof both, "q", &path), 0);
    assert_string_equal(text_string(&path), "/q/libq.so.1");

    static const uint32_t values[] = {0, 1, 73, 1000, 0x7fffffff, UINT32_MAX};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (size_t at = 12; at + 4 <= sizeof both; at += 4) {
            uint8_t *copy = malloc(sizeof both);
            memcpy(copy, both, sizeof both);
            put32(copy, at, values[v]);
            library_find_in_cache(copy, sizeof both, "q", &path);
            free(copy);
        }
    for (size_t cut = 0; cut < sizeof both; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1);
        memcpy(copy, both, cut);
        library_find_in_cache(copy, cut, "q", &path);
        free(copy);
    }
    text_free(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_text),     cmocka_unit_test(this_process),       cmocka_unit_test(no_process),
        cmocka_unit_test(mapped_files),  cmocka_unit_test(libraries),          cmocka_unit_test(words),
        cmocka_unit_test(hostile_cache), cmocka_unit_test(paths_of_a_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
