/* SPDX-License-Identifier: BSD-3-Clause */
/* What `spoor trace`, `count` and `argdist` share: BCC's specifications of probes, and scripts made of them.
 *
 * A specification is [p|r|t|u]:LIBRARY:FUNCTION: p function entry (of the kernel when LIBRARY is empty), r
 * its return, t tracepoint CATEGORY:EVENT, u USDT LIBRARY:[PROVIDER:]PROBE. Expressions are C as in BCC, with
 * arguments counted from 1; they become expressions of the script language word by word. The commands only
 * write a script: what runs it is the session, as for any other script. */
#ifndef SPOOR_CMD_BCC_H
#define SPOOR_CMD_BCC_H

#include "base/arena.h"
#include "base/clock.h"
#include "cmd/command_line.h"
#include "cmd/options.h"
#include "cmd/values.h"

enum { BCC_PARAMETERS = 12, BCC_STRING_MAX = 1 << 14 };

struct bcc_parameter {
    const char *name, *type; /* "buf", "const void *"; "" when it was not given */
    bool is_user;            /* __user */
};

struct bcc_spec {
    const char *text;     /* as it was given, for messages */
    char type;            /* p r t u */
    const char *library;  /* "": the kernel */
    const char *name;     /* function+offset, category:event, provider:probe or probe */
    const char *function; /* the column FUNC: without category and offset */
    struct bcc_parameter parameters[BCC_PARAMETERS];
    unsigned parameter_count;
};

/* The parts of a specification that one command knows more of than another. */
struct bcc_words {
    /* Writes what $name means; rest: behind it, may be moved on. False: it means nothing here. */
    bool (*write)(void *state, struct text *out, const char *name, size_t length, const char **rest);
    void *state;
};

/* All here return 0, or 1 after a message on the error stream. */
int bcc_fail(const char *spec, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "p:c:write", "c:write", "vfs_read", "t:sched:sched_switch" … */
int bcc_parse_spec(struct arena *arena, const char *text, size_t length, struct bcc_spec *spec);
/* "int fd, const void *buf": what stands between the parentheses. */
int bcc_parse_signature(struct arena *arena, const char *text, size_t length, struct bcc_spec *spec);
/* An expression. */
int bcc_expression(struct text *out, const struct bcc_spec *spec, const struct bcc_words *words,
                   const char *text, size_t length);
/* Where it ends: before a separator that is in no parentheses and no quotes, or the text's end. */
size_t bcc_until(const char *text, size_t length, const char *separators);
/* A C type as a cast of the script language: "(uint64)", "(struct x *)"; "" for none and for void *. */
void bcc_cast(struct text *out, const char *type, size_t length);
bool bcc_is_string_type(const char *type, size_t length); /* char * */

/* "uprobe:c:write"; return: of its return in any case. */
void bcc_attach_point(struct text *out, const struct bcc_spec *spec, bool is_return);
/* "interval:s:2" */
void bcc_interval(struct text *out, uint64_t nanoseconds);
/* Text that stands within quotes of the script; percent: and is a format. */
void bcc_quoted(struct text *out, const char *text, bool percent);

/* What the commands' tables have in common, stored in a type with these fields. */
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
/* Of intervals and durations, which become part of a script, too. */
#define BCC_TIMES                                                                                            \
    .min = NSEC_PER_MSEC, .max = (1ull << 30) * NSEC_PER_SEC,                                                \
    .takes = "a time of a millisecond or more, such as 2 (seconds) or 500ms"
#define BCC_RANGE .min = 1, .max = 1 << 30 /* of numbers that become part of a script */

/* What every script begins with: what is to be seen of maps it prints itself. */
#define BCC_SETTINGS "config = { print_maps_on_exit = false }\n"
/* Prints the script (--show-script) or runs it; the exit status. */
int bcc_run(struct options *options, const struct text *script, bool shows);

/* How many probes the attach points of a script stand for. -1 after messages. */
int bcc_count_probes(struct options *options, const struct text *script);

#endif
