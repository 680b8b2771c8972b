/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command and interrupts it, as Ctrl-C does, when it first writes at a place in a file (pwrite): so it is
 * always in the middle of its work, however fast it is. The exit status is that of the command, 2 if it never wrote
 * so or could not be run.
 *
 *   interrupted COMMAND… */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

int main(int argc, char **argv)
{
    int status = 0;
    (void)argc;
    const pid_t command = fork();
    if (!command) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[1], &argv[1]);
        perror(argv[1]);
        _exit(2);
    }
    while (waitpid(command, &status, 0) == command && WIFSTOPPED(status)) {
        struct __ptrace_syscall_info call = {0};
        /* without it the reason of a stop is unknown */
        ptrace(PTRACE_SETOPTIONS, command, 0, PTRACE_O_TRACESYSGOOD);
        ptrace(PTRACE_GET_SYSCALL_INFO, command, (void *)sizeof call, &call);
        if (call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr == SYS_pwrite64) {
            kill(command, SIGINT);
            ptrace(PTRACE_DETACH, command, 0, 0);
            waitpid(command, &status, 0);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
        }
        ptrace(PTRACE_SYSCALL, command, 0, 0);
    }
    return 2;
}
