/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of opening files that other users control: where a path leads below a root, and what is refused; with
 * openat2, and with the walk that is used where a filter refuses openat2. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/open_foreign.h"

static char root[64];
static int root_fd;

static void put(const char *path, const char *text)
{
    int fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void link_to(const char *text, const char *path)
{
    assert_int_equal(symlinkat(text, root_fd, path), 0);
}

static int make(void **state)
{
    (void)state;
    strcpy(root, "/tmp/open-foreign.XXXXXX");
    assert_non_null(mkdtemp(root));
    root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *directories[] = {"etc", "usr", "usr/lib", "proc"};
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
        assert_int_equal(mkdirat(root_fd, directories[i], 0755), 0);
    put("etc/passwd", "inside");
    put("usr/lib/one", "one");
    link_to("usr/lib", "lib");              /* to a directory */
    link_to("/etc/passwd", "usr/absolute"); /* an absolute link starts at the root */
    link_to("../../../../etc/passwd", "usr/above");
    link_to("../absolute", "usr/lib/chain");
    link_to("loop", "loop");
    link_to("nothing", "dangling");
    link_to("/proc/self/root/etc/passwd", "usr/out");
    assert_int_equal(mkfifoat(root_fd, "fifo", 0644), 0);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    char command[100];
    close(root_fd);
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

/* Returns the text of a file found below the root, or "" and the error in *answer. */
static const char *text_of(const char *path, int *answer)
{
    static char text[32];
    memset(text, 0, sizeof text);
    const int file = foreign_find_in_root(root_fd, path);
    *answer = file < 0 ? file : 0;
    if (file < 0)
        return text;
    const int fd = foreign_reopen(file, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) >= 0);
    close(fd);
    close(file);
    return text;
}

static const struct {
    const char *path, *text;
    int answer;
} places[] = {
    {"/etc/passwd", "inside", 0},
    {"etc/passwd", "inside", 0},
    {"/../../etc/./passwd", "inside", 0},
    {"//usr//lib/one", "one", 0},
    {"/lib/one", "one", 0},
    {"/lib/../lib/one", "one", 0}, /* ".." behind a link is the parent of the link's target: /usr */
    {"/lib/../../etc/passwd", "inside", 0},
    {"/usr/absolute", "inside", 0},
    {"/usr/above", "inside", 0},
    {"/usr/lib/chain", "inside", 0},
    {"/loop", "", -ELOOP},
    {"/dangling", "", -ENOENT},
    {"/usr/out", "", -ENOENT}, /* there is no /proc/self below this root */
    {"/nowhere/at/all", "", -ENOENT},
    {"/etc/passwd/more", "", -ENOTDIR},
    {"/etc/passwd/", "", -EISDIR}, /* the slash at the end asks for a directory */
    {"", "", -ENOENT},
    {"/", "", -EISDIR},
    {"/usr", "", -EISDIR},
    {"/fifo", "", -EMEDIUMTYPE},
};

static int wrong_places(void)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int answer;
        const char *text = text_of(places[i].path, &answer);
        if (answer == places[i].answer && !strcmp(text, places[i].text))
            continue;
        printf("%s: '%s', %d instead of '%s', %d\n", places[i].path, text, answer, places[i].text,
               places[i].answer);
        wrong++;
    }
    /* Links of /proc may lead out of every root. */
    const int outside = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int answer = foreign_find_in_root(outside, "/proc/self/root/etc/passwd");
    if (answer != -ELOOP)
        wrong++, printf("a link of /proc: %d\n", answer);
    close(outside);
    return wrong;
}

static void test_below_a_root(void **state)
{
    (void)state;
    assert_int_equal(wrong_places(), 0);
}

/* Runs the same checks in a child that may not call openat2 any more. */
static int wrong_places_without(uint32_t refusal)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | refusal),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
            _exit(100);
        if (syscall(SYS_openat2, root_fd, "etc", NULL, 0) != -1 || errno != (int)refusal)
            _exit(101);
        const int wrong = wrong_places();
        fflush(stdout);
        _exit(wrong);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_without_openat2(void **state)
{
    (void)state;
    assert_int_equal(wrong_places_without(ENOSYS), 0);
    assert_int_equal(wrong_places_without(EPERM), 0);
}

static void test_under_a_process(void **state)
{
    (void)state;
    char path[200];
    struct stat expected;
    snprintf(path, sizeof path, "%s/etc/passwd", root);
    assert_int_equal(stat(path, &expected), 0);
    snprintf(path, sizeof path, "/proc/%d/root%s/etc/passwd", (int)getpid(), root);
    const int file = foreign_find(path);
    assert_true(file >= 0);
    assert_int_equal(foreign_check(file, FOREIGN_INODE | FOREIGN_OWNER, &expected), 0);
    close(file);
    /* A directory stays the one that was found, and an absolute link in it starts at the process's root. */
    snprintf(path, sizeof path, "/proc/%d/root%s/usr/lib", (int)getpid(), root);
    const int directory = foreign_open_directory(path);
    assert_true(directory >= 0);
    assert_int_equal(faccessat(directory, "one", R_OK, 0), 0);
    close(directory);
    snprintf(path, sizeof path, "%s/usr/lib/one", root);
    assert_int_equal(foreign_open_directory(path), -ENOTDIR);
    assert_int_equal(foreign_status(path, &expected), 0);
    assert_int_equal(expected.st_size, 3);
    assert_int_equal(foreign_find("/proc/99999999999999999999/root/etc/passwd"), -ENOENT);
    assert_int_equal(foreign_root_length("/proc/12/root/etc", NULL), strlen("/proc/12/root"));
    assert_int_equal(foreign_root_length("/proc/12/rooted", NULL), 0);
    assert_int_equal(foreign_root_length("/proc/self/root/etc", NULL), 0);
}

/* An opened file stays the same file, whatever has its name later. */
static void test_exchanged(void **state)
{
    (void)state;
    char text[16] = "";
    const int file = foreign_find_in_root(root_fd, "etc/passwd");
    put("etc/other", "other");
    assert_int_equal(renameat(root_fd, "etc/other", root_fd, "etc/passwd"), 0);
    const int fd = foreign_reopen(file, O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 6);
    assert_string_equal(text, "inside");
    close(fd);
    close(file);
}

static void test_checks(void **state)
{
    (void)state;
    struct stat right, wrong;
    const int file = foreign_find_in_root(root_fd, "usr/lib/one");
    assert_int_equal(fstat(file, &right), 0);
    const unsigned all = FOREIGN_OWNER | FOREIGN_INODE | FOREIGN_SIZE | FOREIGN_CHANGE | FOREIGN_ONE_NAME;
    assert_int_equal(foreign_check(file, all, &right), 0);
    wrong = right;
    wrong.st_uid++;
    assert_int_equal(foreign_check(file, FOREIGN_OWNER, &wrong), -EPERM);
    assert_int_equal(foreign_check(file, all & ~FOREIGN_OWNER, &wrong), 0);
    wrong = right;
    wrong.st_ino++;
    assert_int_equal(foreign_check(file, FOREIGN_INODE, &wrong), -ESTALE);
    wrong = right;
    wrong.st_dev++;
    assert_int_equal(foreign_check(file, FOREIGN_INODE, &wrong), -ESTALE);
    wrong = right;
    wrong.st_size++;
    assert_int_equal(foreign_check(file, FOREIGN_SIZE, &wrong), -ESTALE);
    wrong = right;
    wrong.st_ctim.tv_nsec ^= 1;
    assert_int_equal(foreign_check(file, FOREIGN_CHANGE, &wrong), -ESTALE);
    assert_int_equal(linkat(root_fd, "usr/lib/one", root_fd, "usr/lib/two", 0), 0);
    assert_int_equal(foreign_check(file, FOREIGN_ONE_NAME, &right), -EPERM);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_below_a_root, make, unmake),
        cmocka_unit_test_setup_teardown(test_without_openat2, make, unmake),
        cmocka_unit_test_setup_teardown(test_under_a_process, make, unmake),
        cmocka_unit_test_setup_teardown(test_exchanged, make, unmake),
        cmocka_unit_test_setup_teardown(test_checks, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
