/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands on recordings, and what they share. */
#ifndef SPOOR_CMD_RECORDINGS_H
#define SPOOR_CMD_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/privilege.h"
#include "base/text.h"
#include "cmd/command_line.h"
#include "reader/find.h"
#include "reader/reader.h"

/* Rows for which recording is meant, of a type that has `choice` and `file`; and what goes with what. */
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

/* Is one thing chosen in one way? 0, or 1 after a message. may_confirm: a process may be named with its file, which must
 * be the one that it has then. */
int recordings_check(const struct command_line *line, const char *file, const struct find_choice *choice,
                     bool may_confirm);
/* The path of the recording that was named, or that was chosen; NULL and the error. To be freed. */
char *recordings_path(const char *file, const struct find_choice *choice, struct text *why, int *error);
/* What went wrong, in words if somebody found some. 1. */
int recordings_fail(const struct text *why, int error);

/* From here on the command has no rights but those to read and for these uses (enum privilege_use); a warning when they
 * cannot be given up. */
void recordings_keep_privileges(unsigned uses);

/* Of SPDK's format: how exactly its times are those of the boot clock. */
void recordings_report_relation(const struct recording *recording);

#endif
