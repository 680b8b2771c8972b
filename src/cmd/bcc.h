/* SPDX-License-Identifier: BSD-3-Clause */
/* What `spoor trace`, `count` and `argdist` share: BCC's specifications of probes, and scripts that are made of
 * them.
 *
 * A specification is [p|r|t|u]:LIBRARY:FUNCTION: p: the entry of a function (of the kernel if LIBRARY is empty); r:
 * its return; t: the tracepoint CATEGORY:EVENT; u: the USDT probe LIBRARY:[PROVIDER:]PROBE. Expressions are C as in
 * BCC, with arguments counted from 1; they become expressions of the script language word by word. The commands
 * only write a script, and the session runs it as any other. */
#ifndef SPOOR_CMD_BCC_H
#define SPOOR_CMD_BCC_H

#include "base/arena.h"
#include "base/clock.h"
#include "cmd/command_line.h"
#include "cmd/options.h"
#include "base/number.h"

enum { BCC_PARAMETERS = 12, BCC_STRING_MAX = 1 << 14 };

struct bcc_parameter {
    const char *name, *type; /* "buf", "const void *"; "" if it was not given */
    bool is_user;            /* __user */
};

struct bcc_spec {
    const char *text;     /* the text that was given, for messages */
    char type;            /* p r t u */
    const char *library;  /* "": the kernel */
    const char *name;     /* function+offset, category:event, provider:probe or probe */
    const char *function; /* for the column FUNC: without category and offset */
    struct bcc_parameter parameters[BCC_PARAMETERS];
    unsigned parameter_count;
};

/* Words of expressions that only one of the commands has. */
struct bcc_words {
    /* Writes what $name means; *rest is behind it, and may be moved on. False: it means nothing in this command. */
    bool (*write)(void *state, struct text *out, const char *name, size_t length, const char **rest);
    void *state;
};

/* The functions below that return int return 0, or 1 after a message on the error stream. */
int bcc_fail(const char *spec, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Parses a specification: "p:c:write", "c:write", "vfs_read", "t:sched:sched_switch" … */
int bcc_parse_spec(struct arena *arena, const char *text, size_t length, struct bcc_spec *spec);
/* Parses the parameters between parentheses: "int fd, const void *buf". */
int bcc_parse_signature(struct arena *arena, const char *text, size_t length, struct bcc_spec *spec);
/* Writes an expression in the script language. */
int bcc_expression(struct text *out, const struct bcc_spec *spec, const struct bcc_words *words,
                   const char *text, size_t length);
/* Returns where a part of a text ends: before a separator that is in no parentheses and no quotes, or at the text's
 * end. */
size_t bcc_until(const char *text, size_t length, const char *separators);
/* Writes a C type as a cast of the script language: "(uint64)", "(struct x *)"; nothing for no type and for void
 * *. */
void bcc_cast(struct text *out, const char *type, size_t length);
bool bcc_is_string_type(const char *type, size_t length); /* whether it is char * */

/* From here on, the script is made of a word of the command line, which must live as long as it runs. */
void bcc_begin(const struct text *script, const char *word);
/* Writes "uprobe:c:write"; is_return: the probe is that of the return, whatever the specification says. */
void bcc_attach_point(struct text *out, const struct bcc_spec *spec, bool is_return);
/* Writes "interval:s:2". */
void bcc_interval(struct text *out, uint64_t nanoseconds);
/* Writes text that stands in quotes in the script; percent: it is a format, so that % is escaped, too. */
void bcc_quoted(struct text *out, const char *text, bool percent);

/* Rows that the commands' tables have in common. Values are stored in a type with these fields. */
#define BCC_ROW_COMMAND(type)                                                                                \
    {                                                                                                        \
        0, "cmd", "COMMAND", "run a command and trace; its end ends the trace",                              \
            OPTION_STORES(TEXT, type, command), .completes = COMPLETE_COMMANDS                               \
    }
#define BCC_ROW_HEADERS(type)                                                                                \
    {                                                                                                        \
        'I', "include", "HEADER", "include a header; may be given several times",                            \
            OPTION_STORES(LIST, type, headers), .completes = COMPLETE_FILES                                  \
    }
#define BCC_ROW_SCRIPT(type)                                                                                 \
    {                                                                                                        \
        0, "show-script", NULL, "print the script, and do nothing else", OPTION_STORES(FLAG, type, shows)    \
    }
/* For intervals and durations, which become a part of the script. */
#define BCC_TIMES                                                                                            \
    .min = NSEC_PER_MSEC, .max = (1ull << 30) * NSEC_PER_SEC,                                                \
    .takes = "a time of a millisecond or more, such as 2 (seconds) or 500ms"
#define BCC_RANGE .min = 1, .max = 1 << 30 /* for numbers that become a part of the script */

/* The beginning of every script, which prints its maps itself. */
#define BCC_SETTINGS "config = { print_maps_on_exit = false }\n"
/* Prints the script (--show-script) or runs it. Returns the exit status. */
int bcc_run(struct options *options, const struct text *script, bool shows);

/* Returns how many probes the attach points of a script stand for; -1 after messages. */
int bcc_count_probes(struct options *options, const struct text *script);

#endif
