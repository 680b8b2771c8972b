/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/open_foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

size_t foreign_root_length(const char *path, pid_t *pid)
{
    size_t root = !strncmp(path, "/proc/", 6) ? 6 + strspn(path + 6, "0123456789") : 0;
    if (root <= 6 || strncmp(path + root, "/root/", 6))
        return 0;
    if (pid)
        *pid = (pid_t)strtol(path + 6, NULL, 10);
    return root + 5;
}

/* ---- below a root, where openat2 is refused ---- */

enum { DEPTH_MOST = 256, LINKS_MOST = 40 };

/* The directories from the root to where the walk is, so that ".." never asks the file system, in which
 * somebody may have moved a directory meanwhile. */
struct walk {
    int levels[DEPTH_MOST];
    int depth, links;
    char rest[PATH_MAX]; /* of the path, not walked yet */
};

static void walk_up(struct walk *walk, int to)
{
    while (walk->depth > to)
        close(walk->levels[--walk->depth]);
}

/* Puts what a link says in front of the rest. */
static int walk_link(struct walk *walk, int link)
{
    char text[PATH_MAX];
    struct statfs system;
    if (++walk->links > LINKS_MOST || (!fstatfs(link, &system) && system.f_type == PROC_SUPER_MAGIC))
        return -ELOOP; /* what /proc calls a link may lead anywhere */
    const ssize_t length = readlinkat(link, "", text, sizeof text);
    const size_t rest = strlen(walk->rest);
    if (length <= 0)
        return length ? -errno : -ENOENT;
    if ((size_t)length + 1 + rest >= sizeof walk->rest)
        return -ENAMETOOLONG;
    if (text[0] == '/')
        walk_up(walk, 1);
    memmove(walk->rest + length + 1, walk->rest, rest + 1);
    memcpy(walk->rest, text, (size_t)length);
    walk->rest[length] = rest ? '/' : '\0';
    return 0;
}

static int walk_name(struct walk *walk, const char *name)
{
    struct stat status;
    const int fd = openat(walk->levels[walk->depth - 1], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int error = fstat(fd, &status) ? -errno : 0;
    if (!error && S_ISLNK(status.st_mode)) {
        error = walk_link(walk, fd);
        close(fd);
        return error;
    }
    if (!error && walk->depth == DEPTH_MOST)
        error = -ENAMETOOLONG;
    if (error)
        close(fd);
    else
        walk->levels[walk->depth++] = fd;
    return error;
}

/* Whatever has something behind it must be a directory. */
static int walk_part(struct walk *walk, const char *name)
{
    struct stat status;
    if (fstat(walk->levels[walk->depth - 1], &status))
        return -errno;
    if (!S_ISDIR(status.st_mode))
        return -ENOTDIR;
    if (!strcmp(name, "..")) {
        if (walk->depth > 1)
            walk_up(walk, walk->depth - 1);
        return 0;
    }
    return *name && strcmp(name, ".") ? walk_name(walk, name) : 0;
}

static int find_by_walk(int root, const char *path)
{
    struct walk walk = {.depth = 1};
    if (!*path || strlen(path) >= sizeof walk.rest)
        return *path ? -ENAMETOOLONG : -ENOENT;
    strcpy(walk.rest, path);
    walk.levels[0] = fcntl(root, F_DUPFD_CLOEXEC, 0);
    int error = 0;
    if (walk.levels[0] < 0)
        return -errno;
    while (!error && walk.rest[0]) {
        char name[NAME_MAX + 1];
        const size_t length = strcspn(walk.rest, "/"), whole = strlen(walk.rest);
        const size_t step = length + (walk.rest[length] == '/');
        if (length > NAME_MAX) {
            error = -ENAMETOOLONG;
            break;
        }
        memcpy(name, walk.rest, length);
        name[length] = '\0';
        memmove(walk.rest, walk.rest + step, whole - step + 1);
        error = walk_part(&walk, name);
    }
    const int found = error ? error : walk.levels[--walk.depth];
    walk_up(&walk, 0);
    return found;
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
    return file == -ENOSYS || file == -EPERM || file == -EAGAIN ? find_by_walk(root, path) : file;
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
