/* SPDX-License-Identifier: BSD-3-Clause */
/* The process of a script. */
#ifndef SPOOR_SERVE_WORKER_H
#define SPOOR_SERVE_WORKER_H

#include "serve/frames.h"
#include "serve/serve.h"

/* Runs the script, and answers the supervisor meanwhile. Lines that it prints have its name before them. Returns the exit
 * status. */
int worker_run(const struct serve_options *options, const char *name, const char *path,
               const struct text *text, struct frames *supervisor);

#endif
