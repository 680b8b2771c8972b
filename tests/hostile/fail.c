/* SPDX-License-Identifier: BSD-3-Clause */
/* A hostile machine: linked into spoor with the linker's --wrap (one for each name in `wrapped`), it makes
 * the n-th allocation or the n-th system call of spoor's own code fail. Nothing in src depends on it.
 *
 *   HOSTILE=allocation:17    the 17th allocation fails         HOSTILE=allocation:17+   all from the 17th on
 *   HOSTILE=call:17          the 17th call fails               HOSTILE=call:17:4        with error number 4
 *   HOSTILE=kill:17          at the 17th call the process is killed (SIGKILL)
 *   HOSTILE=run:17           just before the 17th call HOSTILE_RUN is run, a command for sh: it changes what an
 *                            attacker who wins a race would change
 *   HOSTILE_LOG=FILE         gets "failed NAME ADDRESS PID" for a failure (bpf and perf_event_open by their
 *                            own names), and "counts ALLOCATIONS CALLS" at the end of the process
 *
 * Without HOSTILE nothing fails, and the counts say how many n there are. Processes that spoor forks continue its
 * count, and write nothing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

struct counter {
    const char *name;
    unsigned long count, from, to;
    int error; /* 0: the usual error of the call */
};

static struct counter allocations = {.name = "allocation"}, calls = {.name = "call"};
static unsigned long kill_at, run_at;
static int log_fd = -1;
static pid_t self;
extern char __executable_start;

pid_t __real_fork(void);
int __real_socketpair(int domain, int type, int protocol, int pair[2]);
int __real_open(const char *path, int flags, mode_t mode);
ssize_t __real_write(int fd, const void *bytes, size_t size);

static bool counter_read(struct counter *counter, const char *text)
{
    size_t length = strlen(counter->name);
    if (strncmp(text, counter->name, length) || text[length] != ':')
        return false;
    char *rest;
    counter->from = counter->to = strtoul(text + length + 1, &rest, 10);
    if (*rest == '+')
        counter->to = ~0UL;
    else if (*rest == ':')
        counter->error = atoi(rest + 1);
    return true;
}

/* A socket to another process that was started first: spoor may have given up the right to run programs. */
static int somebody = -1;

/* Runs the command without the variables HOSTILE, because it may be a program with fail.c in it. */
static bool run_command(const char *command)
{
    int status = -1;
    const pid_t child = __real_fork();
    if (!child) {
        unsetenv("HOSTILE");
        unsetenv("HOSTILE_LOG");
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && !status;
}

static void begin_somebody(void)
{
    const char *command = getenv("HOSTILE_RUN");
    int pair[2];
    char byte;
    if (!command || __real_socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return;
    if (!__real_fork()) {
        close(pair[0]);
        while (recv(pair[1], &byte, 1, 0) == 1) {
            byte = run_command(command);
            send(pair[1], &byte, 1, MSG_NOSIGNAL);
        }
        _exit(0);
    }
    close(pair[1]);
    somebody = pair[0];
}

static void run(void)
{
    char byte = 0;
    if (send(somebody, &byte, 1, MSG_NOSIGNAL) != 1 || recv(somebody, &byte, 1, 0) != 1 || !byte)
        abort(); /* otherwise nothing would be tested */
}

__attribute__((constructor)) static void begin(void)
{
    const char *what = getenv("HOSTILE"), *log = getenv("HOSTILE_LOG");
    self = getpid();
    if (log)
        log_fd = __real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (what && !strncmp(what, "kill:", 5))
        kill_at = strtoul(what + 5, NULL, 10);
    else if (what && !strncmp(what, "run:", 4)) {
        run_at = strtoul(what + 4, NULL, 10);
        begin_somebody();
    } else if (what && !counter_read(&allocations, what))
        counter_read(&calls, what);
}

static void say(const char *text, int length)
{
    if (log_fd >= 0 && getpid() == self && __real_write(log_fd, text, (size_t)length) != length)
        log_fd = -1;
}

__attribute__((destructor)) static void end(void)
{
    char text[80];
    say(text, snprintf(text, sizeof text, "counts %lu %lu\n", allocations.count, calls.count));
}

static bool fails(struct counter *counter, const char *name, void *caller)
{
    unsigned long n = __atomic_add_fetch(&counter->count, 1, __ATOMIC_RELAXED);
    if (n == kill_at && counter == &calls && getpid() == self)
        kill(self, SIGKILL);
    if (n == run_at && counter == &calls && getpid() == self)
        run();
    if (n < counter->from || n > counter->to || !counter->from)
        return false;
    char text[120];
    if (n == counter->from)
        say(text, snprintf(text, sizeof text, "failed %s %#lx %d\n", name,
                           (unsigned long)((char *)caller - &__executable_start - 1), (int)self));
    return true;
}

#define WRAP(counter, type, name, parameters, arguments, failure, number)                                    \
    WRAP_AS(counter, type, name, parameters, arguments, failure, number, #name)
#define WRAP_AS(counter, type, name, parameters, arguments, failure, number, said)                           \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        if (fails(&counter, said, __builtin_return_address(0))) {                                            \
            errno = counter.error ? counter.error : number;                                                  \
            return failure;                                                                                  \
        }                                                                                                    \
        return __real_##name arguments;                                                                      \
    }
#define MEMORY(name, type, parameters, arguments)                                                            \
    WRAP(allocations, type, name, parameters, arguments, NULL, ENOMEM)
#define POINTER(type, name, parameters, arguments, number)                                                   \
    WRAP(calls, type, name, parameters, arguments, NULL, number)
#define CALL(type, name, parameters, arguments, number)                                                      \
    WRAP(calls, type, name, parameters, arguments, -1, number)

MEMORY(malloc, void *, (size_t size), (size))
MEMORY(calloc, void *, (size_t count, size_t size), (count, size))
MEMORY(realloc, void *, (void *old, size_t size), (old, size))
MEMORY(reallocarray, void *, (void *old, size_t count, size_t size), (old, count, size))
MEMORY(strdup, char *, (const char *text), (text))
MEMORY(strndup, char *, (const char *text, size_t size), (text, size))
WRAP(allocations, ssize_t, getline, (char **line, size_t *room, FILE *file), (line, room, file), -1, ENOMEM)
WRAP(allocations, FILE *, open_memstream, (char **bytes, size_t *size), (bytes, size), NULL, ENOMEM)

POINTER(FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE)
POINTER(FILE *, fdopen, (int fd, const char *mode), (fd, mode), EMFILE)
POINTER(DIR *, opendir, (const char *path), (path), EMFILE)
POINTER(DIR *, fdopendir, (int fd), (fd), EMFILE)
POINTER(char *, realpath, (const char *path, char *out), (path, out), EACCES)
WRAP(calls, void *, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset),
     (at, size, protection, flags, fd, offset), MAP_FAILED, ENOMEM)
CALL(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode), EMFILE)
CALL(int, openat, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode), EMFILE)
CALL(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size), EIO)
CALL(ssize_t, pread, (int fd, void *bytes, size_t size, off_t offset), (fd, bytes, size, offset), EIO)
CALL(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size), EIO)
CALL(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t offset), (fd, bytes, size, offset), EIO)
CALL(off_t, lseek, (int fd, off_t offset, int from), (fd, offset, from), EINVAL)
CALL(int, ioctl, (int fd, unsigned long what, void *with), (fd, what, with), EIO)
CALL(int, fcntl, (int fd, int what, long with), (fd, what, with), EINVAL)
CALL(int, stat, (const char *path, struct stat *out), (path, out), EACCES)
CALL(int, fstat, (int fd, struct stat *out), (fd, out), EIO)
CALL(int, fstatat, (int at, const char *path, struct stat *out, int flags), (at, path, out, flags), EACCES)
CALL(ssize_t, readlink, (const char *path, char *out, size_t size), (path, out, size), EACCES)
CALL(int, pipe, (int fds[2]), (fds), EMFILE)
CALL(int, pipe2, (int fds[2], int flags), (fds, flags), EMFILE)
CALL(int, dup, (int fd), (fd), EMFILE)
CALL(int, epoll_create1, (int flags), (flags), EMFILE)
CALL(int, epoll_ctl, (int epoll, int what, int fd, struct epoll_event *event), (epoll, what, fd, event),
     ENOMEM)
CALL(int, poll, (struct pollfd * fds, nfds_t count, int wait), (fds, count, wait), ENOMEM)
CALL(int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags), EMFILE)
CALL(int, memfd_create, (const char *name, unsigned flags), (name, flags), EMFILE)
CALL(int, ftruncate, (int fd, off_t size), (fd, size), EIO)
CALL(pid_t, fork, (void), (), EAGAIN)
CALL(int, access, (const char *path, int mode), (path, mode), EACCES)
CALL(int, fstatfs, (int fd, struct statfs *out), (fd, out), EIO)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC)
CALL(int, dup2, (int fd, int to), (fd, to), EBUSY)
CALL(int, dup3, (int fd, int to, int flags), (fd, to, flags), EBUSY)
CALL(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group), EPERM)
CALL(int, flock, (int fd, int what), (fd, what), ENOLCK)
CALL(int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds), EMFILE)
CALL(ssize_t, send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags), ENOBUFS)
CALL(ssize_t, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags), ENOMEM)
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), ENOBUFS)
CALL(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), ENOMEM)
WRAP_AS(calls, long, syscall, (long number, long a, long b, long c, long d, long e, long f),
        (number, a, b, c, d, e, f), -1, ENOMEM,
        number == SYS_bpf               ? "bpf"
        : number == SYS_perf_event_open ? "perf_event_open"
                                        : "syscall")
WRAP(calls, int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *state),
     (thread, attributes, run, state), EAGAIN, EAGAIN)

/* asprintf() is written by hand, because its arguments vary. */
int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...)
{
    if (fails(&allocations, "asprintf", __builtin_return_address(0))) {
        errno = ENOMEM;
        return -1;
    }
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}
