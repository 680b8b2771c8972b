/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "base/terminal.h"

void command_print(FILE *out, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    if (out == stderr || isatty(fileno(out)) == 1)
        terminal_vprint(&text, format, arguments);
    else
        text_vprintf(&text, format, arguments);
    va_end(arguments);
    fputs(text.failed ? "ERROR: out of memory\n" : text_string(&text), out);
    text_free(&text);
}

void command_write(FILE *out, const char *text)
{
    struct text safe = {0};
    if (isatty(fileno(out)) == 1) {
        terminal_escape(&safe, text, strlen(text), out == stderr ? TERMINAL_MESSAGE : TERMINAL_LINES);
        text = safe.failed ? "ERROR: out of memory\n" : text_string(&safe);
    }
    fputs(text, out);
    text_free(&safe);
}

bool command_write_in_time(const char *text, int milliseconds)
{
    enum { PART_BYTES = 4096 }; /* what a pipe that is ready takes without blocking */
    struct text safe = {0};
    if (isatty(STDERR_FILENO) == 1) {
        terminal_escape(&safe, text, strlen(text), TERMINAL_MESSAGE);
        text = safe.failed ? "ERROR: out of memory\n" : text_string(&safe);
    }
    size_t done = 0, length = strlen(text);
    while (done < length) {
        size_t left = length - done, part = left < PART_BYTES ? left : PART_BYTES;
        if (poll(&(struct pollfd){STDERR_FILENO, POLLOUT, 0}, 1, milliseconds) == 0)
            break;
        errno = 0;
        size_t written = fwrite(text + done, 1, part, stderr); /* stderr has no buffer */
        done += written;
        if (written < part && errno != EINTR && errno != EAGAIN)
            done = length; /* the stream is closed: there is no one to tell */
        clearerr(stderr);
    }
    text_free(&safe);
    return done == length;
}
