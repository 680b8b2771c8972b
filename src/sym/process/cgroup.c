/* SPDX-License-Identifier: BSD-3-Clause */
/* See cgroup.h. A group's number is the inode of its directory. */
#include "sym/process/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/glob.h"

enum { CGROUP_DEPTH = 64 };

int cgroup_number(const char *path, uint64_t *number)
{
    struct statfs system;
    struct stat status;
    if (statfs(path, &system) || stat(path, &status))
        return -errno;
    if ((system.f_type != CGROUP2_SUPER_MAGIC && system.f_type != CGROUP_SUPER_MAGIC) ||
        !S_ISDIR(status.st_mode))
        return -EINVAL;
    *number = status.st_ino;
    return 0;
}

/* Searches a group below an open directory, which is closed. `path` is the directory's, and becomes the group's if
 * it is found. */
static bool find_below(int directory, uint64_t number, struct text *path, unsigned depth)
{
    DIR *stream = depth ? fdopendir(directory) : NULL;
    size_t length = path->length;
    bool found = false;
    if (!stream) {
        close(directory);
        return false;
    }
    for (struct dirent *entry; !found && (entry = readdir(stream));) {
        if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        text_char(path, '/');
        text_add(path, entry->d_name);
        found = entry->d_ino == number;
        int below = found ? -1
                          : openat(directory, entry->d_name,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (below >= 0)
            found = find_below(below, number, path, depth - 1);
        if (!found)
            text_truncate(path, length);
    }
    closedir(stream);
    return found;
}

static bool find_in(const char *mount, uint64_t number, struct text *path)
{
    struct stat status;
    int directory = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return false;
    if (fstat(directory, &status) || status.st_ino != number)
        return find_below(directory, number, path, CGROUP_DEPTH);
    close(directory);
    text_char(path, '/');
    return true;
}

int cgroup_paths(const char *mounts, uint64_t number, const char *filter, struct text *out)
{
    FILE *file = setmntent(mounts ? mounts : "/proc/self/mounts", "re");
    struct text path = {0};
    bool found = false;
    if (!file)
        return -errno;
    for (struct mntent *mount; (mount = getmntent(file));) {
        bool is_second = !strcmp(mount->mnt_type, "cgroup2");
        if (!is_second && strcmp(mount->mnt_type, "cgroup"))
            continue;
        const char *slash = strrchr(mount->mnt_dir, '/');
        const char *name = is_second ? "unified" : slash ? slash + 1 : mount->mnt_dir;
        text_clear(&path);
        if ((filter && !glob_match(filter, name)) || !find_in(mount->mnt_dir, number, &path))
            continue;
        text_printf(out, "%s%s:%s", found ? ";" : "", name, text_string(&path));
        found = true;
    }
    endmntent(file);
    text_free(&path);
    return found ? 0 : -ENOENT;
}
