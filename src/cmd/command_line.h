/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of a command as a table, of which its parser, its --help, its messages and its completions are
 * made. A command says which options there are, how each is read and where it is stored, and which of them need or
 * exclude others. tests/tools/man_options.sh compares manual pages with the tables. */
#ifndef SPOOR_CMD_COMMAND_LINE_H
#define SPOOR_CMD_COMMAND_LINE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How an option is read, and the type in which it is stored. Of options that are given several times the last one
 * counts, except for OPTION_COUNT and OPTION_LIST. */
enum option_kind {
    OPTION_HEADING,  /* no option: a line of --help, above the options that follow */
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
    OPTION_IGNORED,  /* nothing is stored: it is accepted because other programs have it */
    /* nothing is stored: other programs have it, and the message says why it is not offered */
    OPTION_REFUSED,
};

/* What the shell's completion offers as an argument. */
enum completion {
    COMPLETE_NOTHING,
    COMPLETE_FILES,
    COMPLETE_DIRECTORIES,
    COMPLETE_PROCESSES,
    COMPLETE_USERS,
    COMPLETE_COMMANDS,    /* programs in PATH */
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
    const char *argument; /* as --help names it; NULL: it takes none */
    const char *help;     /* NULL: it works, but is not shown */
    enum option_kind kind;
    enum completion completes; /* of its argument; of a flag: of words behind it */
    /* where it is stored in the command's own structure, and how many bytes that has; 0: nowhere */
    size_t offset, size;
    uint64_t min, max;
    const char *takes; /* what it takes, for messages: "the id of a process"; NULL: what the kind says */
    const char *word;  /* the word of the command with which it goes; NULL: any */
    /* Called instead of storing the argument, or after that. Returns 0, 1 after a message, or OPTION_WRONG. */
    int (*set)(void *target, const struct option_value *value);
};
enum { OPTION_WRONG = -1 }; /* the argument is not what the option takes: the caller reports it */

/* For rows: the kind of an option, and the field of a type in which it is stored. */
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
    uint64_t number;    /* of kinds that are numbers, and the number of a choice */
};

/* What goes together. Options are written as on the command line, "-p" or "--pid", several with spaces between
 * them. */
struct option_rule {
    const char *option;
    /* NEEDS: one of the others; EXCLUDES: each of them */
    enum option_relation { OPTION_NEEDS, OPTION_EXCLUDES } relation;
    const char *others;
    /* what the message says about the option, "lists what has ended"; NULL: only the names */
    const char *why;
};

/* A word that a command takes first, as in `spoor ctl list`. */
struct command_word {
    const char *name, *arguments, *help;
    int min, max;              /* how many words, its own included */
    enum completion completes; /* of the words behind it */
};

struct command_line {
    const char *name;    /* NULL: a trace, as in `spoor -e PROGRAM` */
    const char *summary; /* for the menu */
    int (*run)(int argc, char **argv);
    const char *usage; /* the rest of the line "Usage: spoor NAME" */
    const char *about;
    const struct option_row *rows;
    size_t row_count;
    const struct option_rule *rules;
    size_t rule_count;
    const struct command_word *const *words; /* NULL-terminated, or NULL: none */
    enum completion completes;               /* of its other arguments */
    /* Called for each option that was read; or NULL. */
    void (*taken)(void *target, const struct option_value *value);
    /* Whether --name or --name=value, when it is none of the rows', is an argument behind the first word. NULL: no */
    bool (*keeps_unknown)(const void *target, const char *first_word);
    const char *examples; /* the end of --help, or NULL */
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

/* The words that were given, and which options. */
struct command_arguments {
    const struct command_line *line;
    char **words;
    int count;
    int behind; /* how many of the words, the last ones, came after --, or after a kept option */
    bool given[COMMAND_ROWS_MAX];
};

/* Reads the arguments after argv[0] into the target, whose type the rows know. False: the command is over, with
 * *status, because of a mistake that was reported or because --help was printed. The words are moved to the
 * beginning of argv. */
bool command_line_parse(const struct command_line *line, int argc, char **argv, void *target,
                        struct command_arguments *arguments, int *status);
/* Whether "-p" or "--pid" was given. An option that the command does not have is a mistake of the caller, and
 * false. */
bool command_line_has(const struct command_arguments *arguments, const char *option);
/* Returns the row of an option, or NULL. */
const struct option_row *command_line_row(const struct command_line *line, const char *option);
/* Reports a mistake in the arguments, and where they are explained. Returns 1. */
int command_line_fail(const struct command_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports a word that is none of the command's, with the one that was probably meant. Returns 1. */
int command_line_unknown_word(const struct command_line *line, const char *word);
/* Adds an item to a NULL-terminated list that lives as long as the process. Returns 0 or -ENOMEM. */
int command_line_append(const char *const **list, const char *item);

/* usage.c: print --help, or only its part that lists options, a line for each. */
void command_line_help(const struct command_line *line, FILE *out);
void command_line_list(const struct command_line *line, FILE *out, const char *indentation);

#endif
