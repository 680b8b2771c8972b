/* SPDX-License-Identifier: BSD-3-Clause */
/* --on: a script on other machines, see src/remote. */
#ifndef SPOOR_CMD_ON_H
#define SPOOR_CMD_ON_H

#include "cmd/command_line.h"

struct on_options {
    const char *const *lists; /* --on: hosts, with commas between them; NULL: none */
    const char *const *words; /* those of the command line that hosts get, too; NULL-terminated, or NULL */
    bool per_host, sudo;
    const char *ssh;
    const char *const *binaries;
    bool is_remote_end; /* this is the spoor on a host */
};

/* Rows of a command whose target has `options_field`, which is struct on_options. */
#define ON_ROWS(type, options_field)                                                                         \
    {0, "on", "HOST,…", "run on these machines, over ssh, and show one answer; may be given several times",  \
     OPTION_STORES(LIST, type, options_field.lists)},                                                        \
        {0, "per-host", NULL, "with --on: keep what hosts count apart; the host is the first key",           \
         OPTION_STORES(FLAG, type, options_field.per_host)},                                                 \
        {0, "sudo", NULL, "with --on: run as root there, by sudo without a password",                        \
         OPTION_STORES(FLAG, type, options_field.sudo)},                                                     \
        {0,                                                                                                  \
         "ssh",                                                                                              \
         "COMMAND",                                                                                          \
         "with --on: the command and its options, with spaces between them (ssh -F FILE)",                   \
         OPTION_STORES(TEXT, type, options_field.ssh),                                                       \
         .completes = COMPLETE_COMMANDS},                                                                    \
        {0,                                                                                                  \
         "on-binary",                                                                                        \
         "FILE",                                                                                             \
         "with --on: the spoor that hosts get which have none: a static one (this program, if it is "        \
         "static); may be given for several architectures",                                                  \
         OPTION_STORES(LIST, type, options_field.binaries),                                                  \
         .completes = COMPLETE_FILES},                                                                       \
    {                                                                                                        \
        0, "remote-end", NULL, NULL, OPTION_STORES(FLAG, type, options_field.is_remote_end)                  \
    }
#define ON_RULES                                                                                             \
    {"--per-host", OPTION_NEEDS, "--on", NULL}, {"--sudo", OPTION_NEEDS, "--on", NULL},                      \
        {"--ssh", OPTION_NEEDS, "--on", NULL},                                                               \
    {                                                                                                        \
        "--on-binary", OPTION_NEEDS, "--on", NULL                                                            \
    }

struct options;
/* Keeps an option that hosts get, too. */
void on_remember(void *target, const struct option_value *value);
/* Refuses what means nothing on other machines, and has the options run there. Returns 0, or 1 after a message. */
int on_check(struct options *options, const struct command_arguments *given);
/* on_end.c: spoor --remote-end. Returns the exit status. */
int command_remote_end(void);

#endif
