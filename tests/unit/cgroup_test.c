/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of sym/cgroup: ids to paths, on directories that only claim to be control groups; and paths to ids. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sym/process/cgroup.h"

static char top[] = "/tmp/spoor-cgroup.XXXXXX", mounts[64];

static const char *in_top(const char *name)
{
    static char path[4][128];
    static unsigned next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", top, name);
    return out;
}

static uint64_t inode(const char *name)
{
    struct stat status;
    assert_return_code(stat(in_top(name), &status), errno);
    return status.st_ino;
}

static int make(void **state)
{
    (void)state;
    static const char *const names[] = {"memory", "two", "memory/a", "two/x", "two/x/y", "two/x/y/z"};
    if (!mkdtemp(top))
        return -1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mkdir(in_top(names[i]), 0700))
            return -1;
    snprintf(mounts, sizeof mounts, "%s/mounts", top);
    FILE *file = fopen(mounts, "w");
    if (!file)
        return -1;
    fprintf(file, "proc /proc proc rw 0 0\ncgroup %s cgroup rw,memory 0 0\n", in_top("memory"));
    fprintf(file, "none /nonexistent cgroup2 rw 0 0\ncgroup2 %s cgroup2 rw 0 0\nbroken\n\n", in_top("two"));
    return fclose(file) || symlink("x", in_top("two/link"));
}

static int clean(void **state)
{
    (void)state;
    static const char *const names[] = {"two/link", "mounts",   "two/x/y/z", "two/x/y",
                                        "two/x",    "memory/a", "two",       "memory"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(in_top(names[i]));
    return rmdir(top);
}

static void assert_paths(uint64_t number, const char *filter, const char *expected)
{
    struct text text = {0};
    assert_int_equal(cgroup_paths(mounts, number, filter, &text), 0);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void numbers_to_paths(void **state)
{
    (void)state;
    assert_paths(inode("two/x/y/z"), NULL, "unified:/x/y/z");
    assert_paths(inode("two/x"), NULL, "unified:/x");
    assert_paths(inode("two"), NULL, "unified:/");
    assert_paths(inode("memory/a"), NULL, "memory:/a");
    assert_paths(inode("memory/a"), "m*y", "memory:/a");
    struct text text = {0};
    assert_int_equal(cgroup_paths(mounts, inode("memory/a"), "unified", &text), -ENOENT);
    assert_int_equal(cgroup_paths(mounts, UINT64_MAX, NULL, &text), -ENOENT);
    assert_int_equal(cgroup_paths("/nonexistent", 1, NULL, &text), -ENOENT);
    assert_int_equal(cgroup_paths("/dev/null", 1, NULL, &text), -ENOENT);
    assert_int_equal(text.length, 0);
    text_free(&text);
}

static void paths_to_numbers(void **state)
{
    (void)state;
    uint64_t number;
    assert_int_equal(cgroup_number(in_top("two/x"), &number), -EINVAL);
    assert_int_equal(cgroup_number("/proc", &number), -EINVAL);
    assert_int_equal(cgroup_number("/nonexistent", &number), -ENOENT);
    assert_int_equal(cgroup_number("", &number), -ENOENT);
}

static void texts_are_truncated(void **state)
{
    (void)state;
    struct text text = {0};
    text_truncate(&text, 0);
    text_truncate(&text, 10);
    text_add(&text, "hello");
    text_truncate(&text, 10);
    assert_string_equal(text_string(&text), "hello");
    text_truncate(&text, 2);
    text_add(&text, "y");
    assert_string_equal(text_string(&text), "hey");
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_to_paths),
        cmocka_unit_test(paths_to_numbers),
        cmocka_unit_test(texts_are_truncated),
    };
    return cmocka_run_group_tests(tests, make, clean);
}
