/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/open_foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path_walk.h"

size_t foreign_root_length(const char *path, pid_t *pid)
{
    size_t root = !strncmp(path, "/proc/", 6) ? 6 + strspn(path + 6, "0123456789") : 0;
    if (root <= 6 || strncmp(path + root, "/root/", 6))
        return 0;
    const char *at = path + 6;
    uint64_t number;
    number_take(&at, NULL, 10, &number);
    if (pid)
        *pid = number <= INT32_MAX ? (pid_t)number : 0;
    return root + 5;
}

/* ---- by name ---- */

static int only_regular(int file)
{
    const int error = file < 0 ? file : foreign_check(file, 0, NULL);
    if (error && file >= 0)
        close(file);
    return error ? error : file;
}

static int find_in_root(int root, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int file = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    if (file < 0)
        file = -errno;
    /* An old kernel, or a filter that knows no such call. EAGAIN: something was renamed meanwhile, and ".."
     * could not be trusted. */
    return file == -ENOSYS || file == -EPERM || file == -EAGAIN ? path_walk(root, path, NULL) : file;
}

int foreign_find_in_root(int root, const char *path)
{
    if (*path && path[strlen(path) - 1] == '/')
        return -EISDIR;
    return only_regular(find_in_root(root, path));
}

int foreign_find_any(const char *path)
{
    const size_t length = foreign_root_length(path, NULL);
    char root[32];
    if (!length) {
        const int file = open(path, O_PATH | O_CLOEXEC);
        return file < 0 ? -errno : file;
    }
    if (length >= sizeof root)
        return -ENOENT; /* no process has such a number */
    memcpy(root, path, length);
    root[length] = '\0';
    const int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -errno;
    const int file = find_in_root(directory, path + length);
    close(directory);
    return file;
}

int foreign_find(const char *path)
{
    return only_regular(foreign_find_any(path));
}

int foreign_status(const char *path, struct stat *out)
{
    const int file = foreign_find_any(path);
    if (file < 0)
        return file;
    const int error = fstat(file, out) ? -errno : 0;
    close(file);
    return error;
}

/* ---- by descriptor ---- */

int foreign_reopen(int file, int access)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const int fd = open(path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int open_found(int file, int access)
{
    if (file < 0)
        return file;
    const int fd = foreign_reopen(file, access);
    close(file);
    return fd;
}

int foreign_open(const char *path)
{
    return open_found(foreign_find(path), O_RDONLY);
}

int foreign_open_directory(const char *path)
{
    return open_found(foreign_find_any(path), O_RDONLY | O_DIRECTORY);
}

int foreign_check(int file, unsigned what, const struct stat *expected)
{
    struct stat status;
    if (fstat(file, &status))
        return -errno;
    if (!S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? -EISDIR : -EMEDIUMTYPE;
    if ((what & FOREIGN_OWNER && status.st_uid != expected->st_uid) ||
        (what & FOREIGN_ONE_NAME && status.st_nlink > 1))
        return -EPERM;
    if ((what & FOREIGN_INODE && (status.st_dev != expected->st_dev || status.st_ino != expected->st_ino)) ||
        (what & FOREIGN_SIZE && status.st_size != expected->st_size) ||
        (what & FOREIGN_CHANGE && (status.st_ctim.tv_sec != expected->st_ctim.tv_sec ||
                                   status.st_ctim.tv_nsec != expected->st_ctim.tv_nsec)))
        return -ESTALE;
    return 0;
}
