/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_id(const char *name, unsigned *id)
{
    const char *text = getenv(name);
    char *end;
    errno = 0;
    unsigned long number = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (!text || *text < '0' || *text > '9' || *end || errno || number >= (unsigned)-1)
        return false;
    *id = (unsigned)number;
    return true;
}

int create_invoker(unsigned *uid, unsigned *gid)
{
    return geteuid() == 0 && getuid() == 0 && read_id("SUDO_UID", uid) && read_id("SUDO_GID", gid) &&
           *uid != 0;
}

/* The directory that the last part of the path is in; *name: that part. -errno. */
static int open_directory(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (!slash)
        return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *directory = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    int fd = directory ? open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    int error = directory ? errno : ENOMEM;
    free(directory);
    errno = error;
    return fd;
}

static bool is_shared(const struct stat *directory)
{
    return directory->st_mode & S_ISVTX && directory->st_mode & (S_IWGRP | S_IWOTH);
}

/* What was made belongs to who called sudo: the descriptor, or -errno and it is gone. */
static int give(int fd, int at, const char *name, int unlink_flags)
{
    unsigned uid, gid;
    if (fd >= 0 && (!create_invoker(&uid, &gid) || !fchown(fd, uid, gid)))
        return fd;
    int error = -errno;
    if (fd >= 0)
        close(fd);
    unlinkat(at, name, unlink_flags);
    return error;
}

int create_new_file(int at, const char *name)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : give(fd, at, name, 0);
}

int create_new_directory(const char *path)
{
    if (mkdir(path, 0700))
        return -errno;
    return give(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), AT_FDCWD, path, AT_REMOVEDIR);
}

static int reuse(int at, const char *name, const struct stat *directory)
{
    struct stat file;
    bool shared = is_shared(directory);
    int fd = openat(at, name, O_WRONLY | O_CLOEXEC | O_NOCTTY | (shared ? O_NOFOLLOW : 0));
    if (fd < 0)
        return errno == ELOOP && shared ? -EPERM : -errno;
    int error = fstat(fd, &file) ? -errno : 0;
    if (!error && shared &&
        ((file.st_uid != geteuid() && file.st_uid != directory->st_uid) || file.st_nlink > 1))
        error = -EPERM;
    if (!error && S_ISREG(file.st_mode) && ftruncate(fd, 0))
        error = -errno;
    if (!error)
        return fd;
    close(fd);
    return error;
}

int create_file(const char *path)
{
    enum { ATTEMPTS = 3 }; /* somebody may remove it between our two looks */
    const char *name;
    struct stat directory;
    int at = open_directory(path, &name);
    if (at < 0)
        return -errno;
    int answer = fstat(at, &directory) ? -errno : -EEXIST;
    for (int i = 0; i < ATTEMPTS && (answer == -EEXIST || answer == -ENOENT); i++) {
        answer = create_new_file(at, name);
        if (answer == -EEXIST)
            answer = reuse(at, name, &directory);
        else if (answer == -ENOENT)
            break;
    }
    close(at);
    return answer;
}
