/* SPDX-License-Identifier: BSD-3-Clause */
/* `--svg FILE`: the maps that a script prints as a picture. */
#ifndef SPOOR_CMD_PICTURE_H
#define SPOOR_CMD_PICTURE_H

#include "cmd/options.h"

struct picture;
/* Opens the picture's file, and has the session's maps watched. Returns 0, or 1 after a message; *out: NULL if no
 * picture is asked for. */
int picture_begin(struct options *options, const char *title, struct picture **out);
/* Closes the file, which is kept if the trace got as far as drawing it. Returns the exit status. picture: NULL is allowed. */
int picture_end(struct picture *picture, int status);

#endif
