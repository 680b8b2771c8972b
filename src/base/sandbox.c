/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/call_filter.h"
#include "base/rights.h"

/* ---- allowed system calls ---- */

static const uint32_t allowed[] = {
    SYS_read,          SYS_pread64,         SYS_write,        SYS_recvmsg,         SYS_sendmsg,
    SYS_lseek,         SYS_close,           SYS_dup,          SYS_fcntl,           SYS_fstat,
    SYS_newfstatat,    SYS_munmap,          SYS_mremap,       SYS_madvise,         SYS_brk,
    SYS_exit,          SYS_exit_group,      SYS_rt_sigreturn, SYS_rt_sigaction,    SYS_rt_sigprocmask,
    SYS_clock_gettime, SYS_clock_getres,    SYS_gettimeofday, SYS_futex,           SYS_getpid,
    SYS_gettid,        SYS_restart_syscall, SYS_nanosleep,    SYS_clock_nanosleep, SYS_ppoll,
#ifdef SYS_poll
    SYS_poll,
#endif
#if SANDBOX_IS_SANITIZED
    SYS_sched_yield,   SYS_sigaltstack,     SYS_readlinkat,   SYS_getrlimit,       SYS_sched_getaffinity,
#endif
};

/* Where links lead: libraries look for files beside others. */
static const uint32_t allowed_to_open[] = {
    SYS_readlinkat,
#ifdef SYS_readlink
    SYS_readlink,
#endif
};

enum {
    OPEN_HARMLESS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_DIRECTORY | O_PATH |
                    0100000 /* O_LARGEFILE */
};

static int filter_calls(const struct sandbox *options)
{
    struct call_filter filter;
    call_filter_begin(&filter);
    call_filter_allow_without(&filter, SYS_mmap, 2, PROT_EXEC);
    call_filter_allow_without(&filter, SYS_mprotect, 2, PROT_EXEC);
    for (size_t i = 0; options->may_open && i < sizeof allowed_to_open / sizeof *allowed_to_open; i++)
        call_filter_allow(&filter, allowed_to_open[i]);
    if (options->may_open)
        call_filter_allow_without(&filter, SYS_openat, 2, ~(uint32_t)OPEN_HARMLESS);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        call_filter_allow(&filter, allowed[i]);
    return call_filter_install(&filter, EACCES);
}

/* ---- identity and limits ---- */

/* Gives up root for the given user, or for one that no other process has, so that no other user's process may send
 * it signals or examine it. In a container only the traditional ids may exist. */
static int give_up_root(const struct sandbox *options)
{
    const unsigned traditional = 65534, own = 0x60000000u | ((unsigned)getpid() & 0x3fffff);
    if (geteuid())
        return 0;
    if (setgroups(0, NULL) && errno != EPERM) /* EPERM: a user namespace that forbids it */
        return -errno;
    if (options->may_open)
        return setresgid(options->group, options->group, options->group) ||
                       setresuid(options->user, options->user, options->user)
                   ? -errno
                   : 0;
    if (!setresgid(own, own, own) && !setresuid(own, own, own))
        return 0;
    if (!setresgid(traditional, traditional, traditional) &&
        !setresuid(traditional, traditional, traditional))
        return 0;
    return errno == EINVAL || errno == EPERM ? 0 : -errno; /* root alone exists here */
}

static void limit(int which, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(which, &now))
        return;
    if (most < now.rlim_max)
        now.rlim_cur = now.rlim_max = most;
    setrlimit(which, &now);
}

/* Makes this process the first that is killed when memory runs out. */
static void be_the_first_to_go(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "1000", 4) < 0)
        errno = 0; /* failure is ignored */
    close(fd);
}

static int end_with(const struct sandbox *options)
{
    static const int of_the_terminal[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                          SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};
    for (size_t i = 0; i < sizeof of_the_terminal / sizeof *of_the_terminal; i++)
        signal(of_the_terminal[i], SIG_IGN);
    if (!options->outlives && prctl(PR_SET_PDEATHSIG, SIGKILL))
        return -errno;
    return getppid() == options->parent ? 0 : -ESRCH; /* the parent had ended before */
}

int sandbox_enter(const struct sandbox *options)
{
    be_the_first_to_go();
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    if (options->memory && !SANDBOX_IS_SANITIZED) /* a sanitizer's shadow alone is larger */
        limit(RLIMIT_AS, options->memory);
    int error = give_up_root(options);
    if (!error)
        error = rights_keep(0);
    if (!error && prctl(PR_SET_DUMPABLE, SANDBOX_IS_SANITIZED))
        error = -errno;
    if (!error)
        error = end_with(options); /* after the change of user, which forgets it */
    return error ? error : filter_calls(options);
}
