/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "print/terminal.h"

void command_say(FILE *out, const char *text)
{
    struct text safe = {0};
    if (isatty(fileno(out)) == 1) {
        terminal_escape(&safe, text, strlen(text), true);
        text = text_string(&safe);
    }
    fputs(text, out);
    text_free(&safe);
}

void command_say_line(FILE *out, const char *text)
{
    command_say(out, text);
    putc('\n', out);
}

bool command_say_in_time(const char *text, int milliseconds)
{
    enum { PART_BYTES = 4096 }; /* what a pipe that can be written takes without waiting */
    struct text safe = {0};
    if (isatty(STDERR_FILENO) == 1)
        terminal_escape(&safe, text, strlen(text), true);
    else
        text_add(&safe, text);
    fflush(stderr);
    size_t done = 0;
    while (done < safe.length) {
        size_t left = safe.length - done;
        if (poll(&(struct pollfd){STDERR_FILENO, POLLOUT, 0}, 1, milliseconds) == 0)
            break;
        ssize_t written = write(STDERR_FILENO, safe.bytes + done, left < PART_BYTES ? left : PART_BYTES);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            done = safe.length; /* it is closed: who wants to know of it */
        else if (written > 0)
            done += (size_t)written;
    }
    bool is_whole = done == safe.length && !safe.failed;
    text_free(&safe);
    return is_whole;
}

int command_complain(const char *command, const char *what, const char *value)
{
    fprintf(stderr, "ERROR: %s%s%s\nHINT: spoor %s -h lists the options\n", what, value ? " " : "",
            value ? value : "", command);
    return 1;
}
