/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands, one file each. */
#ifndef SPOOR_CMD_COMMAND_H
#define SPOOR_CMD_COMMAND_H

#include "cmd/options.h"

int command_script(struct options *options); /* FILE, -, -e; also -l -e */
int command_list(struct options *options);   /* -l [PATTERN] */
int command_info(struct options *options);   /* --info */

/* Errors first, then warnings, on the error stream. */
void command_diagnose(const struct options *options, const struct diagnostics *diagnostics);

#endif
