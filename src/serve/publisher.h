/* SPDX-License-Identifier: BSD-3-Clause */
/* The process that publishes metrics: it talks to scrapers, or writes a file, and asks the supervisor for what it gives them. */
#ifndef SPOOR_SERVE_PUBLISHER_H
#define SPOOR_SERVE_PUBLISHER_H

#include "serve/frames.h"
#include "serve/serve.h"

/* Publishes until the supervisor is gone or it is asked to end. Returns the exit status. */
int publisher_run(const struct serve_options *options, struct frames *supervisor);

#endif
