/* SPDX-License-Identifier: BSD-3-Clause */
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

int command_complain(const char *command, const char *what, const char *value)
{
    fprintf(stderr, "ERROR: %s%s%s\nHINT: spoor %s -h lists the options\n", what, value ? " " : "",
            value ? value : "", command);
    return 1;
}
