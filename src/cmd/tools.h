/* SPDX-License-Identifier: BSD-3-Clause */
/* The ready-made tools: scripts that are run by their names, `spoor biolatency`. */
#ifndef SPOOR_CMD_TOOLS_H
#define SPOOR_CMD_TOOLS_H

#include <stdio.h>

#include "base/diagnostic.h"
#include "base/text.h"
#include "cmd/options.h"

/* Finds a tool's script. Looked through are SPOOR_TOOLS, the user's own directory, the source tree in which the program
 * was built, the installed one, and last what the program itself contains. False: there is none of this name. `path`
 * keeps the script's name. */
bool tool_find(const char *name, struct script_option *script, struct text *path);
/* Prints the head of the tool's script: what it shows, and how it is run. Returns 0, -ENOENT if there is no such
 * tool, or why it cannot be read. */
int tool_help(const char *name);
/* Prints all tools that come with spoor, a line for each question that they answer. */
void tools_list(FILE *out);
void tools_each(void (*visit)(void *context, const char *name, const char *question), void *context);
void tools_offer(struct nearest *nearest);

#endif
