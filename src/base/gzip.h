/* SPDX-License-Identifier: BSD-3-Clause */
/* Compresses with zlib what others read as gzip. */
#ifndef SPOOR_BASE_GZIP_H
#define SPOOR_BASE_GZIP_H

#include "base/text.h"

/* Appends the bytes as a file of gzip, compressed as fast as possible. Returns 0 or -ENOMEM. */
int gzip_append(struct text *out, const char *bytes, size_t length);

#endif
