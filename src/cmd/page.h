/* SPDX-License-Identifier: BSD-3-Clause */
/* `--html FILE`: what a trace prints as a page for a browser. */
#ifndef SPOOR_CMD_PAGE_H
#define SPOOR_CMD_PAGE_H

#include "cmd/options.h"

struct page;
/* Opens the page's file, and has the session observed. Returns 0, or 1 after a message; *out: NULL if no page is asked
 * for. */
int page_begin(struct options *options, const char *title, struct page **out);
/* Writes the page if the trace has begun, even if it ended early, and closes the file, which is removed if it is not whole.
 * Returns the exit status. page: NULL is allowed. */
int page_end(struct page *page, int status);

#endif
