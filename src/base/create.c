/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "base/open_foreign.h"
#include "base/trusted_path.h"

static bool read_id(const char *name, unsigned *id)
{
    const char *text = getenv(name);
    uint64_t number;
    if (!text || !decimal_parse(text, &number) || number >= (unsigned)-1)
        return false;
    *id = (unsigned)number;
    return true;
}

int create_invoker(unsigned *uid, unsigned *gid)
{
    return geteuid() == 0 && getuid() == 0 && read_id("SUDO_UID", uid) && read_id("SUDO_GID", gid) &&
           *uid != 0;
}

/* Opens the directory that the last part of the path is in; *name: that part. Returns a descriptor or -errno. */
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

/* Gives what was made to the user who called sudo. Returns the descriptor; or -errno, after removing it again. */
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

/* Returns whether an existing file may be written in a directory where other users may put files: it must belong to
 * the caller or to the directory's owner and have no second name. Another user's pipe or device could keep us
 * waiting, or do what its owner wants. */
static bool may_reuse(const struct stat *file, const struct stat *directory)
{
    return !S_ISLNK(file->st_mode) && file->st_nlink == 1 &&
           (file->st_uid == geteuid() || (S_ISREG(file->st_mode) && file->st_uid == directory->st_uid));
}

static int open_for_writing(int found, const struct stat *file)
{
    const int fd = foreign_reopen(found, O_WRONLY);
    return fd == -ENXIO && S_ISFIFO(file->st_mode) ? -EAGAIN : fd;
}

const char *create_error(int error)
{
    return error == -EAGAIN ? "nobody reads the pipe" : strerror(-error);
}

static int reuse(int at, const char *name, const struct stat *directory)
{
    struct stat file;
    const bool shared = trusted_is_shared(directory);
    const int found = openat(at, name, O_PATH | O_CLOEXEC | (shared ? O_NOFOLLOW : 0));
    if (found < 0)
        return -errno;
    int error = fstat(found, &file) ? -errno : 0, fd = -1;
    if (!error && shared && !may_reuse(&file, directory))
        error = -EPERM;
    if (!error && (fd = open_for_writing(found, &file)) < 0)
        error = fd;
    close(found);
    if (!error && S_ISREG(file.st_mode) && ftruncate(fd, 0))
        error = -errno;
    if (!error)
        return fd;
    if (fd >= 0)
        close(fd);
    return error;
}

int create_file(const char *path)
{
    enum { ATTEMPTS = 3 }; /* another process may remove it between our two looks */
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
