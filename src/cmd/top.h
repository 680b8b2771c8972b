/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of `spoor top` share. */
#ifndef SPOOR_CMD_TOP_H
#define SPOOR_CMD_TOP_H

#include "cmd/options.h"
#include "reader/find.h"
#include "top/run.h"

struct top_arguments {
    struct options options; /* at the beginning: rows of a trace store into it */
    struct top_settings settings;
    bool batch, recording;
    struct find_choice choice; /* of --recording */
};

/* Whether tables are shown on the terminal. Takes it then, unless that fails, which is reported: -1. */
int top_take_terminal(const struct top_arguments *arguments);
int top_recording(struct top_arguments *arguments, const char *file); /* top_recording.c */

#endif
