/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <getopt.h>
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
    enum { PART_BYTES = 4096 }; /* what a pipe that can be written takes without waiting */
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
        size_t written = fwrite(text + done, 1, part, stderr); /* which has no buffer */
        done += written;
        if (written < part && errno != EINTR && errno != EAGAIN)
            done = length; /* it is closed: who wants to know of it */
        clearerr(stderr);
    }
    text_free(&safe);
    return done == length;
}

int command_report_error(const char *command, const char *what, const char *value)
{
    command_print(stderr, "ERROR: %s%s%s\nHINT: spoor %s -h lists the options\n", what, value ? " " : "",
                  value ? value : "", command);
    return 1;
}

/* Which of the names a word "--NAME" or "--NAME=VALUE" begins; NULL: none, or several. */
static const struct option *find_option(const struct option *names, const char *word)
{
    const struct option *found = NULL;
    const size_t length = strcspn(word, "=");
    for (; names->name; names++)
        if (!strncmp(names->name, word, length)) {
            if (found && names->name[length])
                return NULL;
            found = names;
            if (!names->name[length])
                break;
        }
    return found;
}

int command_option(int argc, char **argv, const char *letters, const struct option *names)
{
    opterr = 0;
    const int letter = getopt_long(argc, argv, letters, names, NULL);
    if (letter != '?')
        return letter;
    const char *word = argv[optind - 1];
    const char *known = optopt > 0 && optopt < 128 ? strchr(letters, optopt) : NULL;
    const struct option *option = strncmp(word, "--", 2) ? NULL : find_option(names, word + 2);
    if (option && (optopt || strchr(word, '=')))
        command_print(stderr, "%s: option '--%s' %s\n", argv[0], option->name,
                      option->has_arg ? "requires an argument" : "doesn't allow an argument");
    else if (!optopt)
        command_print(stderr, "%s: unrecognized option '%s'\n", argv[0], word);
    else
        command_print(stderr, "%s: %s -- '%c'\n", argv[0],
                      known ? "option requires an argument" : "invalid option", optopt);
    return letter;
}
