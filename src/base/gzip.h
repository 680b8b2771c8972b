/* SPDX-License-Identifier: BSD-3-Clause */
/* Compresses with zlib what others read as gzip. */
#ifndef SPOOR_BASE_GZIP_H
#define SPOOR_BASE_GZIP_H

#include "base/text.h"

/* Appends the bytes as a file of gzip. level: zlib's, 1 is the fastest, 9 the smallest. Returns 0 or -ENOMEM. */
int gzip_append(struct text *out, const char *bytes, size_t length, int level);

#endif
