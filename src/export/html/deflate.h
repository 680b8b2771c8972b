/* SPDX-License-Identifier: BSD-3-Clause */
/* Compresses a page's data with zlib, and writes it as base64. */
#ifndef SPOOR_EXPORT_HTML_DEFLATE_H
#define SPOOR_EXPORT_HTML_DEFLATE_H

#include "base/text.h"

/* Appends the compressed bytes as base64. The buffer is a room for them, which is kept for the next call. Returns 0 or
 * -ENOMEM. */
int page_deflate(struct text *out, const struct text *bytes, struct text *buffer);

#endif
