/* SPDX-License-Identifier: BSD-3-Clause */
/* Compresses a page's data with zlib, which is loaded when the first page is written, and writes it as base64. */
#ifndef SPOOR_EXPORT_HTML_DEFLATE_H
#define SPOOR_EXPORT_HTML_DEFLATE_H

#include "base/text.h"

struct deflater {
    void *library;
    int (*compress)(unsigned char *to, unsigned long *to_length, const unsigned char *from,
                    unsigned long length, int level);
    struct text buffer;
};

/* Loads zlib. Returns 0, or -ENOPKG when it is not installed. */
int deflater_open(struct deflater *deflater);
/* Appends the compressed bytes as base64. Returns 0 or -errno. */
int deflater_write(struct deflater *deflater, struct text *out, const struct text *bytes);
void deflater_close(struct deflater *deflater);

#endif
