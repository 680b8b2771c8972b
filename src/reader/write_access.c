/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/write_access.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/open_foreign.h"
#include "sym/process/mapped_file.h"
#include "sym/process/proc.h"

/* ---- whose memory it is ---- */

/* Whether a file is memory of a process that could write there itself: it belongs to the user of the process, or
 * all of it is writable in its memory (a program that gave up the user as whom it began). Returns 1, 0, or -errno
 * if the process has ended or must not be examined. */
static int is_memory_of(int file, pid_t pid)
{
    uid_t user;
    const int error = proc_user(pid, &user);
    if (error)
        return error;
    const int shared = mapped_file_shared(file, pid);
    if (shared != MAPPED_SHARED)
        return shared == MAPPED_WRITABLE ? 1 : shared;
    return !foreign_check(file, FOREIGN_OWNER, &(struct stat){.st_uid = user});
}

/* As is_memory_of(), but a process that must not be examined is believed if the file belongs to this user, because
 * then spoor lends its rights to nobody. */
static int is_believed(int file, pid_t pid)
{
    const int answer = is_memory_of(file, pid);
    const bool is_hidden = answer == -EACCES || answer == -EPERM;
    return is_hidden && !foreign_check(file, FOREIGN_OWNER, &(struct stat){.st_uid = geteuid()}) ? 1 : answer;
}

static int visit(void *context, pid_t pid)
{
    return is_memory_of(*(const int *)context, pid) == 1;
}

static int check_memory(const struct recording *recording, pid_t pid, struct text *why)
{
    const char *path = recording_path(recording);
    const pid_t named = (pid_t)recording_model(recording)->pid;
    int file = recording_file(recording);
    if (!pid) {
        if ((named > 0 && is_believed(file, named) == 1) || proc_each(visit, &file) == 1)
            return 0;
        text_printf(why,
                    "%s is in the memory of no process that could write there itself: no program looks at it",
                    path);
        return -ESRCH;
    }
    const int answer = is_believed(file, pid);
    if (answer == -ESRCH)
        text_printf(why, "process %d has ended: no program looks at %s any more", (int)pid, path);
    else if (answer < 0)
        text_printf(why, "cannot look at process %d, which must have %s in its memory: %s", (int)pid, path,
                    strerror(-answer));
    else if (!answer)
        text_printf(why,
                    "process %d does not have %s in its memory, or could not write there itself: nothing "
                    "is written into it",
                    (int)pid, path);
    return answer < 0 ? answer : answer ? 0 : -EPERM;
}

int write_access_open(const struct recording *recording, pid_t pid, struct text *why)
{
    const int error = check_memory(recording, pid, why);
    if (error)
        return error;
    const int file = foreign_reopen(recording_file(recording), O_RDWR);
    if (file < 0)
        text_printf(why, "cannot open %s for writing: %s", recording_path(recording), strerror(-file));
    return file;
}

int write_access_put(int file, const void *bytes, size_t length, uint64_t offset)
{
    struct stat status;
    if (fstat(file, &status))
        return -errno;
    if (offset > (uint64_t)status.st_size || length > (uint64_t)status.st_size - offset)
        return -ERANGE;
    const ssize_t done = pwrite(file, bytes, length, (off_t)offset);
    return done == (ssize_t)length ? 0 : done < 0 ? -errno : -EIO;
}

/* ---- the lock ---- */

struct holder {
    const struct stat *file;
    pid_t pid;
};

/* Whether a descriptor of a process has a lock: its fdinfo has a line "lock:" for each. */
static bool has_lock(pid_t pid, const char *descriptor)
{
    char path[300], line[256];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)pid, descriptor);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = !strncmp(line, "lock:", 5) && (strstr(line, "OFDLCK") || strstr(line, "POSIX"));
    if (file)
        fclose(file);
    return found;
}

static int find_holder(void *context, pid_t pid)
{
    struct holder *holder = context;
    char path[32];
    struct stat status;
    if (pid == getpid())
        return 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return 0;
    for (const struct dirent *entry; !holder->pid && (entry = readdir(directory));)
        if (entry->d_name[0] != '.' && !fstatat(dirfd(directory), entry->d_name, &status, 0) &&
            status.st_dev == holder->file->st_dev && status.st_ino == holder->file->st_ino &&
            has_lock(pid, entry->d_name))
            holder->pid = pid;
    closedir(directory);
    return holder->pid != 0;
}

/* Adds who holds the lock. F_OFD_GETLK knows only the process of a lock of the old kind; the others are found in
 * /proc. */
static void name_holder(int file, const char *path, struct text *why)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    struct text name = {0};
    struct stat status;
    struct holder holder = {.file = &status};
    if (!fcntl(file, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK && lock.l_pid > 0)
        holder.pid = lock.l_pid;
    else if (!fstat(file, &status))
        proc_each(find_holder, &holder);
    if (holder.pid && !proc_comm(holder.pid, &name))
        text_printf(why, "%s is being steered by somebody else: process %d (%s) holds its lock", path,
                    (int)holder.pid, text_string(&name));
    else
        text_printf(why, "%s is being steered by somebody else, whom /proc does not name: its lock is held",
                    path);
    text_free(&name);
}

int write_access_lock(int file, const char *path, struct text *why)
{
    enum { WAIT_SECONDS = 3, TURN = 10000000 };
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    while (fcntl(file, F_OFD_SETLK, &lock)) {
        if (errno == EINVAL) /* the file system has no locks */
            return 0;
        if (errno != EAGAIN && errno != EACCES) {
            const int error = errno;
            text_printf(why, "cannot lock %s: %s", path, strerror(error));
            return -error;
        }
        if (clock_ns(CLOCK_MONOTONIC) - begin >= (uint64_t)WAIT_SECONDS * NSEC_PER_SEC) {
            name_holder(file, path, why);
            return -EAGAIN;
        }
        /* A signal that has a handler ends the sleep; others end the process. */
        if (nanosleep(&(struct timespec){.tv_nsec = TURN}, NULL)) {
            text_printf(why, "interrupted while %s was locked", path);
            return -EINTR;
        }
    }
    return 0;
}
