/* SPDX-License-Identifier: BSD-3-Clause */
/* Things that a command of -c may try with its terminal: commands WHAT.
 *   type      types into it (TIOCSTI), as standard input and as /dev/tty
 *   size      prints its size, and each new one
 *   raw       a program that fills the screen: raw mode, stops itself at Ctrl-Z, ends at q
 *   jobs      a simple shell: has a job in the foreground until that is interrupted, then reads a line
 *   lines N   writes N lines
 *   ids       prints its ids, also as a set-user-ID program */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static void type(int file)
{
    static const char text[] = "typed\n";
    for (const char *at = text; *at && !ioctl(file, TIOCSTI, at); at++)
        ;
}

static void say_size(int number)
{
    struct winsize size = {0};
    char text[64];
    ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
    int length =
        snprintf(text, sizeof text, "size %dx%d%s\n", size.ws_col, size.ws_row, number ? " new" : "");
    if (write(STDOUT_FILENO, text, (size_t)length) < 0)
        _exit(1);
}

static int be_raw(void)
{
    struct termios usual, raw;
    char c = 0;
    if (tcgetattr(STDIN_FILENO, &usual))
        return 1;
    raw = usual;
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    if (write(STDOUT_FILENO, "raw\nready", 9) < 0)
        return 1;
    while (read(STDIN_FILENO, &c, 1) == 1 && c != 'q') {
        if (c != 'Z' - '@')
            continue;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &usual);
        kill(0, SIGTSTP);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
        if (write(STDOUT_FILENO, "resumed", 7) < 0)
            return 1;
    }
    tcsetattr(STDIN_FILENO, TCSADRAIN, &usual);
    return 0;
}

static int have_job(void)
{
    signal(SIGTTOU, SIG_IGN);
    pid_t job = fork();
    if (job == 0) {
        setpgid(0, 0);
        tcsetpgrp(STDIN_FILENO, getpgrp());
        if (write(STDOUT_FILENO, "sleeping\n", 9) < 0)
            _exit(1);
        pause();
        _exit(0);
    }
    waitpid(job, NULL, 0);
    tcsetpgrp(STDIN_FILENO, getpgrp());
    printf("still\n");
    getchar();
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(what, "type")) {
        int terminal = open("/dev/tty", O_RDWR);
        type(STDIN_FILENO);
        if (terminal >= 0)
            type(terminal);
        printf("tried %s\n", terminal < 0 ? "without" : "with");
    } else if (!strcmp(what, "size")) {
        signal(SIGWINCH, say_size);
        say_size(0);
        while (getchar() != EOF)
            ;
    } else if (!strcmp(what, "raw")) {
        return be_raw();
    } else if (!strcmp(what, "jobs")) {
        return have_job();
    } else if (!strcmp(what, "lines")) {
        for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
            printf("line %d\n", i);
    } else if (!strcmp(what, "ids")) {
        printf("ids %d %d\n", (int)getuid(), (int)geteuid());
    }
    return 0;
}
