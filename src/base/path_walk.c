/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { DEPTH_MAX = 256, LINKS_MAX = 40 };

/* The directories from the root to where the walk is, so that ".." never asks the file system, where another
 * process may have moved a directory meanwhile. */
struct walk {
    int levels[DEPTH_MAX];
    int depth, links;
    const struct path_guard *guard; /* or NULL */
    char rest[PATH_MAX];            /* the rest of the path, which is not walked yet */
};

static void walk_up(struct walk *walk, int to)
{
    while (walk->depth > to)
        close(walk->levels[--walk->depth]);
}

/* Puts a link's target in front of the rest of the path. */
static int walk_link(struct walk *walk, int link)
{
    char text[PATH_MAX];
    struct statfs system;
    if (++walk->links > LINKS_MAX || (!fstatfs(link, &system) && system.f_type == PROC_SUPER_MAGIC))
        return -ELOOP; /* a magic link of /proc may lead anywhere */
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

static int walk_name(struct walk *walk, const char *name, const struct stat *directory)
{
    struct stat status;
    const int fd = openat(walk->levels[walk->depth - 1], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int error = fstat(fd, &status) ? -errno : 0;
    if (!error && walk->guard)
        error = walk->guard->may(walk->guard->state, directory, fd, &status);
    if (!error && S_ISLNK(status.st_mode)) {
        error = walk_link(walk, fd);
        close(fd);
        return error;
    }
    if (!error && walk->depth == DEPTH_MAX)
        error = -ENAMETOOLONG;
    if (error)
        close(fd);
    else
        walk->levels[walk->depth++] = fd;
    return error;
}

/* Walks one part of the path; a part that others follow must be a directory. */
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
    return *name && strcmp(name, ".") ? walk_name(walk, name, &status) : 0;
}

int path_walk(int root, const char *path, const struct path_guard *guard)
{
    struct walk walk = {.depth = 1, .guard = guard};
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
