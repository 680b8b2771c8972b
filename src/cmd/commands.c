/* SPDX-License-Identifier: BSD-3-Clause */
/* What one can begin with: the commands, the ready-made tools by the question that they answer, three examples; and
 * what was probably meant by a word that is none of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/diagnostic.h"
#include "cmd/command.h"
#include "cmd/recordings.h"
#include "cmd/tools.h"

/* A first word that stands here is a command; a script of that name is ./NAME. */
static const struct spoor_command commands[] = {
    {"report", command_report,
     "what programs recorded, spoor's recordings and SPDK's: events, objects, statistics"},
    {"record", command_record, "write what a program records to a file, until it ends"},
    {"convert", command_convert, "a recording in SPDK's format, or one of SPDK's in spoor's"},
    {"ctl", command_ctl, "recordings of running programs: list, show, enable tracepoints, dump"},
    {"trace", command_trace, "a line for every call, system call or tracepoint (BCC's trace)"},
    {"count", command_count, "how often functions and tracepoints are reached (BCC's funccount)"},
    {"argdist", command_argdist, "how arguments and return values are distributed (BCC's argdist)"},
    {"list", command_tplist, "which tracepoints and USDT probes there are (BCC's tplist)"},
    {"help", command_help, "this, or what a COMMAND or TOOL says of itself"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

const struct spoor_command *command_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(name, commands[i].name))
            return &commands[i];
    return NULL;
}

void command_list_all(FILE *out)
{
    for (size_t i = 0; i < COMMANDS; i++)
        command_print(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
}

static void print_menu(void)
{
    command_write(stdout, "spoor: what is this system doing?\n\nUsage: spoor COMMAND | TOOL | FILE | -e "
                          "PROGRAM\n\nCommands:\n");
    command_list_all(stdout);
    fputs("\nTools, by the question that they answer:\n", stdout);
    tools_list(stdout);
    command_write(stdout,
                  "\nExamples:\n"
                  "  spoor -e 'tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, "
                  "str(args.filename)); }'\n"
                  "  spoor biolatency --duration 10s\n"
                  "  spoor report --slowest 3\n\n"
                  "spoor --help lists the options of a trace, spoor help COMMAND or TOOL what these say of "
                  "themselves.\n");
}

static int unknown_word(const char *word)
{
    command_print(stderr, "ERROR: '%s' is no command and no tool\n", word);
    command_guess(word);
    return 1;
}

int command_help(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    const struct spoor_command *command = word ? command_find(word) : NULL;
    if (!word || (command && command->run == command_help)) {
        print_menu();
        return 0;
    }
    if (command) {
        char *arguments[] = {argv[1], "--help", NULL};
        return command->run(2, arguments);
    }
    return tool_help(word) ? unknown_word(word) : 0;
}

void command_guess(const char *word)
{
    if (strpbrk(word, "{}")) {
        fputs("HINT: a program on the command line is given with -e: spoor -e '...'\n", stderr);
        return;
    }
    if (strpbrk(word, "./")) /* a file was meant */
        return;
    struct nearest nearest = {.name = word};
    for (size_t i = 0; i < COMMANDS; i++)
        nearest_offer(&nearest, commands[i].name);
    tools_offer(&nearest);
    if (nearest.best)
        command_print(stderr, "HINT: did you mean 'spoor %s'?\n", nearest.best);
    else
        fputs("HINT: spoor help lists the commands and tools\n", stderr);
}
