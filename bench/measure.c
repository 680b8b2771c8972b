/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command and says what it cost, with its children: measure [-a] COMMAND…
 * Prints on descriptor 3: wall time and CPU time in ms, peak resident memory of the largest process in kB, status. With -a
 * what the command leaves behind is waited for and counted, too: a tracer has its probes detached by such a process. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double ms(struct timeval time)
{
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    const bool all = argc > 1 && strcmp(argv[1], "-a") == 0;
    char **command = argv + 1 + all;
    if (argc < 2 + all || (all && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)))
        return 2;
    const double begin = now_ms();
    const pid_t pid = fork();
    if (pid == 0) {
        close(3);
        execvp(command[0], command);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return 1;
    const double wall = now_ms() - begin;
    double cpu = ms(usage.ru_utime) + ms(usage.ru_stime);
    long peak = usage.ru_maxrss;
    /* Without -a nobody becomes a child of this process. */
    while (wait4(-1, NULL, 0, &usage) > 0) {
        cpu += ms(usage.ru_utime) + ms(usage.ru_stime);
        peak = usage.ru_maxrss > peak ? usage.ru_maxrss : peak;
    }
    dprintf(3, "%.1f %.1f %ld %d\n", wall, cpu, peak,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
