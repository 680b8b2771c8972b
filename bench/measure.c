/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command and says what it cost, with its children: measure COMMAND…
 * Prints on descriptor 3: wall time and CPU time in ms, peak resident memory of the largest process in kB,
 * status. */
#include <stdio.h>
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
    if (argc < 2)
        return 2;
    double begin = now_ms();
    pid_t pid = fork();
    if (pid == 0) {
        close(3);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return 1;
    dprintf(3, "%.1f %.1f %ld %d\n", now_ms() - begin, ms(usage.ru_utime) + ms(usage.ru_stime),
            usage.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
