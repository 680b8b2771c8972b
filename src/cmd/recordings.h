/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands for recordings share. */
#ifndef SPOOR_CMD_RECORDINGS_H
#define SPOOR_CMD_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/privilege.h"
#include "base/text.h"
#include "cmd/command_line.h"
#include "reader/find.h"
#include "reader/reader.h"

/* Rows of options that choose a recording, stored in a type that has `choice` and `file`; and their rules. */
#define RECORDING_ROWS(type)                                                                                 \
    {'s', "name", "NAME", "of the newest program with this name; also with -p or -i",                        \
     OPTION_STORES(TEXT, type, choice.name)},                                                                \
        {'p', "pid", "PID", "of this process", OPTION_STORES(NUMBER, type, choice.pid), OPTION_A_PROCESS},   \
        {'i',                                                                                                \
         "id",                                                                                               \
         "ID",                                                                                               \
         "with this shared memory id (SPDK)",                                                                \
         OPTION_STORES(TEXT, type, choice.id),                                                               \
         .set = recordings_check_id,                                                                         \
         .takes = "a shared memory id, a number from 0 on"},                                                 \
    {                                                                                                        \
        'f', "file", "FILE", "this file, instead of all of these", OPTION_STORES(TEXT, type, file),          \
            .completes = COMPLETE_FILES                                                                      \
    }
#define RECORDING_RULES                                                                                      \
    {                                                                                                        \
        "-i", OPTION_EXCLUDES, "-p", "says which recording of a program, as -p does"                         \
    }
int recordings_check_id(void *target, const struct option_value *value);

/* Checks that a recording is chosen in one way. Returns 0, or 1 after a message. may_confirm: a process may be
 * named in addition to the file, which must be the one that it has mapped. */
int recordings_check(const struct command_line *line, const char *file, const struct find_choice *choice,
                     bool may_confirm);
/* Returns the path of the recording that was named or chosen, which the caller frees; NULL, and the error. */
char *recordings_path(const char *file, const struct find_choice *choice, struct text *why, int *error);
/* Reports an error, in words if there are some. Returns 1. */
int recordings_fail(const struct text *why, int error);

/* Gives up all privileges but those to read and for these uses (enum privilege_use). Warns if they cannot be given
 * up. */
void recordings_keep_privileges(unsigned uses);

/* Finds a type of objects by its name or letter. Returns 0, or 1 after a message. */
int recordings_type(const struct recording *recording, const char *name, int16_t *type);

/* Of SPDK's format: reports how exactly its times are those of the boot clock. */
void recordings_report_relation(const struct recording *recording);

#endif
