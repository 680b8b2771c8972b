/* SPDX-License-Identifier: BSD-3-Clause */
/* What a command's arguments are, as a table: its parser, its --help, its messages and its completions are made of that.
 * A command says which options there are, how each is read and where it is stored; and which of them need or exclude
 * others. Manual pages are compared with the tables by tests/tools/man_options.sh. */
#ifndef SPOOR_CMD_COMMAND_LINE_H
#define SPOOR_CMD_COMMAND_LINE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How an option is read, and the type of what it is stored in. Of those that may be given again the last one counts, but
 * for OPTION_COUNT and OPTION_LIST. */
enum option_kind {
    OPTION_HEADING,  /* none: a line of --help, above those that follow */
    OPTION_HELP,     /* prints --help, and ends the command */
    OPTION_FLAG,     /* bool */
    OPTION_COUNT,    /* unsigned: how often it was given */
    OPTION_TEXT,     /* const char * */
    OPTION_LIST,     /* const char *const *: NULL-terminated, all that were given */
    OPTION_NUMBER,   /* unsigned of any size, within min and max */
    OPTION_SIZE,     /* uint64_t: bytes, as 4096, 64K, 10M or 1G */
    OPTION_DURATION, /* uint64_t: nanoseconds; a number without a unit counts seconds */
    OPTION_MOMENT,   /* uint64_t: nanoseconds since a recording's beginning; without a unit: microseconds */
    OPTION_CHOICE,   /* unsigned of any size or bool: which word of the argument's name, as in "kernel|vm" */
    OPTION_IGNORED,  /* nothing: accepted because other programs have it */
    OPTION_REFUSED,  /* nothing: other programs have it; help says why it is not offered */
};

/* What the shell offers as an argument. */
enum completion {
    COMPLETE_NOTHING,
    COMPLETE_FILES,
    COMPLETE_DIRECTORIES,
    COMPLETE_PROCESSES,
    COMPLETE_USERS,
    COMPLETE_COMMANDS,    /* programs of the PATH */
    COMPLETE_TRACEPOINTS, /* of the kernel: category:event */
    COMPLETE_PROBES,      /* kinds of probes and tracepoints, as the language has them */
    COMPLETE_PROGRAM,     /* a program in the language */
    COMPLETE_PATTERNS,    /* of BCC's commands: t:category:event */
    COMPLETE_TOOLS,       /* commands, ready-made tools and files of scripts */
    COMPLETE_HELP,        /* commands and ready-made tools */
};

struct option_value;
struct option_row {
    char letter;          /* 0: none */
    const char *name;     /* NULL: none */
    const char *argument; /* as --help names it; NULL: takes none */
    const char *help;     /* NULL: it works, and is not shown */
    enum option_kind kind;
    enum completion completes; /* its argument; of a flag: words, when it was given */
    size_t offset,
        size; /* where it is stored in the command's own structure, and how large that is; 0: nowhere */
    uint64_t min, max;
    const char *takes; /* for messages: "the id of a process"; NULL: as the kind says */
    const char *word;  /* the word of the command that it goes with; NULL: any */
    /* Instead of being stored, or after that. 0, 1 after a message, or OPTION_WRONG. */
    int (*set)(void *target, const struct option_value *value);
};
enum { OPTION_WRONG = -1 }; /* the argument is not what the option takes: the caller says so */

/* For rows: the kind, and the field of a type that it is stored in. */
#define OPTION_INTO(type, field) .offset = offsetof(type, field), .size = sizeof(((type *)0)->field)
#define OPTION_STORES(of_kind, type, field) .kind = OPTION_##of_kind, OPTION_INTO(type, field)
#define OPTION_SETS(function) .kind = OPTION_TEXT, .set = function
#define OPTION_A_PROCESS                                                                                     \
    .min = 1, .max = INT32_MAX, .takes = "the id of a process", .completes = COMPLETE_PROCESSES
#define OPTION_ROW_HELP                                                                                      \
    {                                                                                                        \
        'h', "help", NULL, "print this", .kind = OPTION_HELP                                                 \
    }
#define OPTION_ROW_HEADING(text)                                                                             \
    {                                                                                                        \
        0, NULL, NULL, text, .kind = OPTION_HEADING                                                          \
    }

struct command_line;
struct option_value {
    const struct command_line *line;
    const struct option_row *row;
    const char *option; /* as it was given: "-p" or "--pid" */
    const char *text;   /* NULL: the option takes none */
    uint64_t number;    /* for the kinds that are numbers, and the number of a choice */
};

/* Options are written as they are given, "-p" or "--pid", several with spaces between them. */
struct option_rule {
    const char *option;
    enum option_relation { OPTION_NEEDS, OPTION_EXCLUDES } relation; /* one of the others; each of them */
    const char *others;
    const char *why; /* what is said of the option, "lists what has ended"; NULL: nothing but the names */
};

/* A word that a command takes first, as `spoor ctl list`. */
struct command_word {
    const char *name, *arguments, *help;
    int min, max;              /* words, its own included */
    enum completion completes; /* the words behind it */
};

struct command_line {
    const char *name;    /* NULL: a trace, as in `spoor -e PROGRAM` */
    const char *summary; /* for the menu */
    int (*run)(int argc, char **argv);
    const char *usage; /* what stands in its line behind the name */
    const char *about;
    const struct option_row *rows;
    size_t row_count;
    const struct option_rule *rules;
    size_t rule_count;
    const struct command_word *const *words; /* NULL-terminated, or NULL: none */
    enum completion completes;               /* its other arguments */
    const char *examples;                    /* what --help ends with, or NULL */
};
enum { COMMAND_ROWS_MAX = 96 };
#define COMMAND_ROWS(table)                                                                                  \
    .rows = (table), .row_count = sizeof(table) / sizeof *(table) +                                          \
                                  0 * sizeof(struct {                                                        \
                                      _Static_assert(sizeof(table) / sizeof *(table) <= COMMAND_ROWS_MAX,    \
                                                     "COMMAND_ROWS_MAX must be raised");                     \
                                      char is_used;                                                          \
                                  })
#define COMMAND_RULES(table) .rules = (table), .rule_count = sizeof(table) / sizeof *(table)

/* What was given beside the options. */
struct command_arguments {
    const struct command_line *line;
    char **words;
    int count;
    int behind; /* so many of the words, the last ones, stood behind -- */
    bool given[COMMAND_ROWS_MAX];
};

/* Reads the arguments behind argv[0] into the target, whose type the rows know. False: the command is over, with *status,
 * because of a mistake that was reported or because --help was printed. argv keeps the words, which come first. */
bool command_line_parse(const struct command_line *line, int argc, char **argv, void *target,
                        struct command_arguments *arguments, int *status);
/* Was "-p" or "--pid" given? An option that the command does not have is a mistake of the caller, and false. */
bool command_line_has(const struct command_arguments *arguments, const char *option);
/* The option's row, or NULL. */
const struct option_row *command_line_row(const struct command_line *line, const char *option);
/* Reports a mistake in the arguments, and where they are explained. 1. */
int command_line_fail(const struct command_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of a word that is none of the command's, with the one that was probably meant. */
int command_line_unknown_word(const struct command_line *line, const char *word);
/* Adds to a NULL-terminated list that lives as long as the process. 0, or -ENOMEM. */
int command_line_append(const char *const **list, const char *item);

/* usage.c: --help, and its part that lists options, a line for each. */
void command_line_help(const struct command_line *line, FILE *out);
void command_line_list(const struct command_line *line, FILE *out, const char *indentation);

#endif
