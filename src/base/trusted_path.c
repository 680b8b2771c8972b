/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/trusted_path.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/create.h"
#include "base/number.h"
#include "base/path_walk.h"

static bool read_only_is_allowed;

void trusted_allow_read_only(void)
{
    read_only_is_allowed = true;
}

/* Returns whether a directory's mode does not count because of the mount that it was found in. */
static bool is_read_only(int fd, const struct stat *found)
{
    struct statvfs system;
    return read_only_is_allowed && S_ISDIR(found->st_mode) && !fstatvfs(fd, &system) &&
           system.f_flag & ST_RDONLY;
}

static bool is_trusted(uid_t user)
{
    unsigned uid, gid;
    return user == 0 || user == geteuid() || user == getuid() || (create_invoker(&uid, &gid) && user == uid);
}

/* Returns whether a group is the user's own: many systems give each user such a group, and let it write. */
static bool is_own_group(gid_t group, uid_t owner)
{
    struct passwd user, *user_found = NULL;
    struct group entry, *found = NULL;
    char names[4096], members[4096];
    if (getpwuid_r(owner, &user, names, sizeof names, &user_found) || !user_found ||
        getgrgid_r(group, &entry, members, sizeof members, &found) || !found ||
        strcmp(found->gr_name, user_found->pw_name) != 0)
        return false;
    for (char **member = found->gr_mem; *member; member++)
        if (strcmp(*member, user_found->pw_name) != 0)
            return false;
    return true;
}

static bool others_write(const struct stat *status)
{
    return status->st_mode & S_IWOTH ||
           (status->st_mode & S_IWGRP && !is_own_group(status->st_gid, status->st_uid));
}

/* Returns the user who serves a file system in user space (FUSE), or -1 for other file systems. That user decides
 * whose the files are, so all of them count as theirs. */
static long served_by(dev_t device)
{
    char *line = NULL;
    size_t room = 0;
    unsigned major_number, minor_number;
    long user = -1;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    while (mounts && user < 0 && getline(&line, &room, mounts) > 0) {
        static const char key[] = "user_id=";
        const char *type = strstr(line, " - fuse"), *serves = type ? strstr(type, key) : NULL;
        uint64_t number;
        if (serves && sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) == 2 &&
            makedev(major_number, minor_number) == device) {
            serves += strlen(key);
            if (number_take(&serves, NULL, 10, &number))
                user = (long)number;
        }
    }
    if (mounts)
        fclose(mounts);
    free(line);
    return user;
}

bool trusted_is_shared(const struct stat *directory)
{
    return !is_trusted(directory->st_uid) || others_write(directory);
}

static void explain(struct text *why, int fd, const char *what, long user)
{
    char link[40], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path);
    text_append(why, path, length > 0 ? (size_t)length : 0);
    text_add(why, what);
    if (user >= 0)
        text_printf(why, " %ld", user);
}

/* Judges a part of the path. A directory that others may write to must keep them from removing files that are not
 * theirs; then the next part's owner is checked. */
static int may(void *state, const struct stat *directory, int fd, const struct stat *found)
{
    struct text *why = state;
    const bool is_shared = others_write(directory), is_link = S_ISLNK(found->st_mode);
    const long server =
        directory == found || directory->st_dev != found->st_dev ? served_by(found->st_dev) : -1;
    if (server >= 0 && !is_trusted((uid_t)server)) {
        explain(why, fd, " is a file system of user", server);
        return -EPERM;
    }
    if ((!is_link || is_shared) && !is_trusted(found->st_uid)) {
        explain(why, fd, " belongs to user", (long)found->st_uid);
        return -EPERM;
    }
    if (!is_link && others_write(found) && !(S_ISDIR(found->st_mode) && found->st_mode & S_ISVTX) &&
        !is_read_only(fd, found)) {
        explain(why, fd,
                found->st_mode & S_IWOTH ? " may be written by everybody" : " may be written by group",
                found->st_mode & S_IWOTH ? -1 : (long)found->st_gid);
        text_printf(why, " (mode %o)", found->st_mode & 07777);
        return -EPERM;
    }
    if (is_shared && S_ISREG(found->st_mode) && found->st_nlink > 1) {
        explain(why, fd, " lies where everybody may write, and has another name somewhere", -1);
        return -EPERM;
    }
    return 0;
}

int trusted_find(const char *path, struct text *why)
{
    const struct path_guard guard = {may, why};
    struct text whole = {0};
    struct stat status;
    char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int answer = root < 0 || (*path != '/' && !here) || fstat(root, &status) ? -errno : 0;
    if (here)
        text_printf(&whole, "%s/", here);
    text_add(&whole, path);
    if (!answer)
        answer = whole.failed ? -ENOMEM : may(why, &status, root, &status);
    if (!answer)
        answer = path_walk(root, text_string(&whole), &guard);
    if (root >= 0)
        close(root);
    free(here);
    text_free(&whole);
    return answer;
}
