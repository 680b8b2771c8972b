/* SPDX-License-Identifier: BSD-3-Clause */
/* From what a user calls a control group to its number, and to how deep it is. Programs in the kernel look for the
 * ancestor of a group at a level, which counts from the root of all groups: the directories below the mount point,
 * those above it that the mount leaves out, and those above the root of this process's namespace, whose number
 * cannot be found out. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sym/process/cgroup.h"
#include "sym/process/proc.h"

enum { DEPTH_MAX = 64, HIDDEN_LEVELS = 16 };
#define INITIAL_CGROUP_NAMESPACE 0xeffffffbu /* the inode of the initial namespace, in every kernel */

struct hierarchy { /* a mount of a hierarchy of version 2 */
    char root[PATH_MAX], point[PATH_MAX];
};

/* Finds the mount that has `path`; NULL: the first one. */
static int hierarchy_find(const char *path, struct hierarchy *out)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t room = 0, best = 0;
    bool found = false;
    if (!file)
        return -errno;
    while (getline(&line, &room, file) > 0) {
        char *words[5], *rest = line;
        size_t count = 0;
        while (count < 5 && (words[count] = strsep(&rest, " ")))
            count++;
        if (count < 5 || !rest || !strstr(rest, " - cgroup2 "))
            continue;
        size_t length = strcmp(words[4], "/") ? strlen(words[4]) : 0;
        bool holds = !path || (!strncmp(path, words[4], length) && (!path[length] || path[length] == '/'));
        if (!holds || (found && (!path || length < best)) || strlen(words[3]) >= PATH_MAX ||
            length >= PATH_MAX)
            continue;
        strcpy(out->root, words[3]);
        memcpy(out->point, words[4], length + 1);
        out->point[length] = '\0';
        best = length;
        found = true;
    }
    free(line);
    fclose(file);
    return found ? 0 : -ENODEV;
}

/* Returns how many directories a path names. */
static uint32_t depth_of(const char *path)
{
    uint32_t depth = 0;
    while (*path) {
        size_t length = strcspn(path, "/");
        depth += length && !(length == 2 && !strncmp(path, "..", 2)) && !(length == 1 && *path == '.');
        path += length + (path[length] == '/');
    }
    return depth;
}

static bool is_number(const char *word)
{
    return *word && strspn(word, "0123456789") == strlen(word) && strlen(word) < 10;
}

/* Finds the path of a process's group below the root, from the line "0::/path" of its list. */
static int path_of_process(const char *word, struct text *out)
{
    char name[64], *line = NULL;
    size_t room = 0;
    int error = -ENODEV;
    snprintf(name, sizeof name, "/proc/%.12s/cgroup", word);
    FILE *file = fopen(name, "re");
    if (!file)
        return errno == ENOENT ? -ESRCH : -errno;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        text_add(out, line + 3);
        error = line[4] ? 0 : -EDOM;
    }
    free(line);
    fclose(file);
    return out->failed ? -ENOMEM : error;
}

static int path_of_word(const char *word, struct text *out)
{
    struct text below = {0};
    struct hierarchy hierarchy;
    bool is_process = is_number(word) && access(word, F_OK);
    int error = 0;
    if (is_process)
        error = path_of_process(word, &below);
    else
        text_add(&below, word);
    bool is_below = is_process || (*word != '/' && access(word, F_OK));
    if (!error && is_below)
        error = hierarchy_find(NULL, &hierarchy);
    if (!error && is_below)
        text_printf(out, "%s/%s", hierarchy.point, text_string(&below) + (*text_string(&below) == '/'));
    else if (!error)
        text_add(out, word);
    text_free(&below);
    return error ? error : out->failed ? -ENOMEM : 0;
}

int cgroup_choose(const char *word, struct cgroup_choice *out)
{
    struct hierarchy hierarchy;
    struct statfs system;
    struct stat namespace;
    char real[PATH_MAX];
    *out = (struct cgroup_choice){0};
    int error = path_of_word(word, &out->path);
    if (!error && !realpath(text_string(&out->path), real))
        error = -errno;
    if (!error)
        error = cgroup_number(real, &out->number);
    if (!error && statfs(real, &system))
        error = -errno;
    if (!error && system.f_type != CGROUP2_SUPER_MAGIC)
        error = -EXDEV;
    if (!error)
        error = hierarchy_find(real, &hierarchy);
    if (error) {
        text_free(&out->path);
        return error;
    }
    text_clear(&out->path);
    text_add(&out->path, real);
    out->level = depth_of(hierarchy.root) + depth_of(real + strlen(hierarchy.point));
    out->levels = 1;
    if (stat("/proc/self/ns/cgroup", &namespace) || namespace.st_ino != INITIAL_CGROUP_NAMESPACE)
        out->levels = HIDDEN_LEVELS;
    return 0;
}

static int each_below(int directory, cgroup_process_visitor *visit, void *state, unsigned depth)
{
    DIR *stream = depth ? fdopendir(directory) : NULL;
    int result = 0, pid;
    if (!stream) {
        close(directory);
        return 0;
    }
    int list = openat(directory, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *file = list < 0 ? NULL : fdopen(list, "r");
    if (!file && list >= 0)
        close(list);
    while (file && !result && fscanf(file, "%d", &pid) == 1)
        if (pid > 0) /* 0: the process is in a PID namespace that cannot be seen from here */
            result = visit(state, pid);
    if (file)
        fclose(file);
    for (struct dirent *entry; !result && (entry = readdir(stream));) {
        if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        int below = openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0)
            result = each_below(below, visit, state, depth - 1);
    }
    closedir(stream);
    return result;
}

int cgroup_each_process(const char *path, cgroup_process_visitor *visit, void *state)
{
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return directory < 0 ? -errno : each_below(directory, visit, state, DEPTH_MAX);
}
