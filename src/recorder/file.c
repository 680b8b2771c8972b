/* SPDX-License-Identifier: BSD-3-Clause */
/* The recording's file and its memory: create, extend, replace. Only system calls are made and nothing is
 * allocated, because the child of a fork gets its file in the middle of its first record, perhaps in a signal
 * handler.
 *
 * The invariant: space is allocated before it is touched. A write to mapped memory for which a full file system has
 * no space kills the program with SIGBUS. */
#include "recorder/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

char *file_append(char *at, char *end, const char *text)
{
    if (at == NULL)
        return NULL;
    const size_t length = strlen(text);
    if (length >= (size_t)(end - at))
        return NULL;
    memcpy(at, text, length + 1);
    return at + length;
}

char *file_append_number(char *at, char *end, uint64_t number)
{
    char digits[24], *first = digits + sizeof digits;
    *--first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return file_append(at, end, first);
}

/* Reserves space in the file. The system call is made directly: the C library's functions are cancellation points,
 * and where the file system cannot reserve space they write zeros instead. */
static int allocate(int file, uint64_t offset, uint64_t bytes)
{
    /* A file that grows beyond this limit gets not only an error: the process gets SIGXFSZ. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        offset + bytes > limit.rlim_cur)
        return -EFBIG;
    for (;;) {
        if (syscall(SYS_fallocate, file, 0, (off_t)offset, (off_t)bytes) == 0)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
}

static bool is_ours(const struct recording *recording)
{
    struct stat status;
    return fstat(recording->file, &status) == 0 && status.st_dev == recording->device &&
           status.st_ino == recording->inode;
}

void file_close(struct recording *recording)
{
    if (is_ours(recording))
        close(recording->file);
    recording->file = -1;
}

int file_extend(const struct recording *recording, uint64_t offset, uint64_t bytes)
{
    if (!is_ours(recording))
        return -EBADF;
    return allocate(recording->file, offset, bytes);
}

/* Removes a file that an earlier process with the same pid left: one of this user whose lock nobody holds. Returns
 * 0, or -errno if it must stay. */
static int remove_dead(const char *path)
{
    const int old = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (old < 0)
        return -errno;
    struct stat status;
    int error = 0;
    if (fstat(old, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        flock(old, LOCK_EX | LOCK_NB) != 0 || unlink(path) != 0)
        error = -EEXIST;
    close(old);
    return error;
}

int file_create(struct recording *recording, const struct recorder_settings *settings, size_t used,
                size_t bytes, size_t mapped, const char **step)
{
    char *end = recording->path + sizeof recording->path;
    char *at = file_append(recording->path, end, settings->directory);
    at = file_append(at, end, "/");
    at = file_append(at, end, settings->name);
    at = file_append(at, end, ".");
    at = file_append_number(at, end, (uint64_t)getpid());
    at = file_append(at, end, ".spoor");
    *step = "name the file";
    if (at == NULL)
        return -ENAMETOOLONG;

    *step = "create";
    int file = -1;
    for (int attempt = 0; attempt < 2 && file < 0; attempt++) {
        file = open(recording->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0 && errno != EEXIST)
            return -errno;
        if (file < 0 && (attempt > 0 || remove_dead(recording->path) != 0))
            return -EEXIST;
    }
    if (file < 0)
        return -EEXIST;

    struct stat status;
    int error = 0;
    uint8_t *memory = MAP_FAILED;
    if (flock(file, LOCK_EX | LOCK_NB) != 0 || fstat(file, &status) != 0) {
        error = -errno;
        *step = "lock";
    } else if ((error = allocate(file, 0, used)) != 0 ||
               (error = allocate(file, bytes - LAYOUT_PAGE, LAYOUT_PAGE)) != 0) {
        *step = "reserve space for";
    } else {
        memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
        if (memory == MAP_FAILED) {
            error = -errno;
            *step = "map";
        }
    }
    if (error != 0) {
        unlink(recording->path);
        close(file);
        return error;
    }
    recording->memory = memory;
    recording->mapped = mapped;
    recording->header = (struct layout_header *)memory;
    recording->control = (struct layout_control *)(memory + LAYOUT_PAGE);
    recording->file = file;
    recording->device = status.st_dev;
    recording->inode = status.st_ino;
    return 0;
}

void file_discard(struct recording *recording)
{
    munmap(recording->memory, recording->mapped);
    unlink(recording->path);
    close(recording->file);
    recording->memory = NULL;
}

void file_retire(uint8_t *memory, size_t mapped)
{
    /* If this fails, under strict overcommit, the file stays mapped: its memory is kept longer than needed, no
     * more. */
    (void)!mmap(memory, mapped, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Returns field 22 of /proc/self/stat. Fields are counted from the last parenthesis on, because the command name
 * that it closes may contain anything. */
uint64_t file_start_ticks(void)
{
    char text[1024];
    const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    uint64_t ticks = 0;
    for (at = at != NULL ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
        ticks = ticks * 10 + (uint64_t)(*at - '0');
    return ticks;
}
