/* SPDX-License-Identifier: BSD-3-Clause */
/* What one can begin with: the commands, the ready-made tools by the question that they answer, three examples; and
 * what was probably meant by a word that is none of them. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diagnostic.h"
#include "base/open_foreign.h"
#include "cmd/command.h"
#include "cmd/recordings.h"
#include "cmd/tools.h"

/* A first word that is the name of one of these is a command; a script of that name is ./NAME. */
static const struct command_line *const commands[] = {
    &top_line,    &report_line, &record_line,     &convert_line, &ctl_line,
    &trace_line,  &count_line,  &argdist_line,    &list_line,    &profile_line,
    &doctor_line, &lsp_line,    &completion_line, &help_line,    &serve_line,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

const struct command_line *command_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(name, commands[i]->name))
            return commands[i];
    return NULL;
}

void command_list_all(FILE *out)
{
    for (size_t i = 0; i < COMMANDS; i++)
        command_print(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
}

void command_each(void (*visit)(void *context, const char *name, const char *summary), void *context)
{
    for (size_t i = 0; i < COMMANDS; i++)
        visit(context, commands[i]->name, commands[i]->summary);
}

void command_print_menu(void)
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

static int report_unknown_word(const char *word)
{
    command_print(stderr, "ERROR: '%s' is no command and no tool\n", word);
    command_guess(word);
    return 1;
}

static int command_help(int argc, char **argv)
{
    struct command_arguments given;
    int status;
    if (!command_line_parse(&help_line, argc, argv, NULL, &given, &status))
        return status;
    const char *word = given.count ? given.words[0] : NULL;
    const struct command_line *command = word ? command_find(word) : NULL;
    if (!word)
        command_print_menu();
    else if (command)
        command_line_help(command, stdout);
    else
        return tool_help(word) ? report_unknown_word(word) : 0;
    return 0;
}

static const struct option_row rows[] = {OPTION_ROW_HELP};
const struct command_line help_line = {
    .name = "help",
    .summary = "this, or what a COMMAND or TOOL says of itself",
    .run = command_help,
    .usage = "[COMMAND | TOOL]",
    .about = "Prints the menu of commands and tools, or what one of them says of itself.\n",
    COMMAND_ROWS(rows),
    .completes = COMPLETE_HELP,
};

/* Prints the name of a file beside the one that was named and is not there, if one is similar. */
static void guess_file(const char *path)
{
    enum { LOOKED_AT_MAX = 10000 };
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
    const int list = directory ? foreign_open_directory(directory) : -1;
    DIR *entries = list < 0 ? NULL : fdopendir(list);
    struct nearest nearest = {.name = slash ? slash + 1 : path};
    const struct dirent *entry;
    char best[NAME_MAX + 1];
    free(directory);
    for (unsigned left = LOOKED_AT_MAX; entries && left && (entry = readdir(entries)); left--) {
        nearest_offer(&nearest, entry->d_name);
        if (nearest.best == entry->d_name) { /* the entry does not stay */
            snprintf(best, sizeof best, "%s", entry->d_name);
            nearest.best = best;
        }
    }
    if (nearest.best)
        command_print(stderr, "HINT: did you mean '%.*s%s'?\n", slash ? (int)(slash + 1 - path) : 0, path,
                      best);
    if (entries)
        closedir(entries);
    else if (list >= 0)
        close(list);
}

void command_guess(const char *word)
{
    if (strpbrk(word, "{}")) {
        fputs("HINT: a program on the command line is given with -e: spoor -e '...'\n", stderr);
        return;
    }
    if (strchr(word, ':') && !strchr(word, '/')) {
        command_print(stderr, "HINT: a program on the command line is given with -e: spoor -e '%s { ... }'\n",
                      word);
        return;
    }
    if (strpbrk(word, "./")) { /* it is the name of a file */
        guess_file(word);
        return;
    }
    struct nearest nearest = {.name = word};
    for (size_t i = 0; i < COMMANDS; i++)
        nearest_offer(&nearest, commands[i]->name);
    tools_offer(&nearest);
    if (nearest.best)
        command_print(stderr, "HINT: did you mean 'spoor %s'?\n", nearest.best);
    else
        fputs("HINT: spoor help lists the commands and tools\n", stderr);
}
