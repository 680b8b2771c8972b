/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands on recordings, and what they share. */
#ifndef SPOOR_CMD_RECORDINGS_H
#define SPOOR_CMD_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "reader/find.h"
#include "reader/reader.h"

int command_report(int argc, char **argv);
int command_record(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_ctl(int argc, char **argv);

/* A whole text as a number up to `most`, decimal or 0x… */
bool recordings_number(const char *text, uint64_t most, uint64_t *number);
/* A number of bytes that is not 0: 4096, 64K, 10M, 1G */
bool recordings_size(const char *text, uint64_t *bytes);

/* -i: a shared memory id as it stands in the name of a file, to be freed; NULL after a message: it is none. */
char *recordings_id(const char *command, const char *text);
/* Is one thing chosen in one way? 0, or 1 after a message. may_confirm: a process may be named with its file, which must
 * be the one that it has then. */
int recordings_check(const char *command, const char *file, const struct find_choice *choice,
                     bool may_confirm);
/* The path of the recording that was named, or that was chosen; NULL and the error. To be freed. */
char *recordings_path(const char *file, const struct find_choice *choice, struct text *why, int *error);
/* What went wrong, in words if somebody found some. 1. */
int recordings_fail(const struct text *why, int error);

/* From here on the command has no rights but those to read, and to make files if it does; a warning when they
 * cannot be given up. */
void recordings_only_read(bool makes_files);

/* Of SPDK's format: how exactly its times are those of the boot clock. */
void recordings_report_relation(const struct recording *recording);

#endif
