/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that always has whole metrics: it is replaced at once by a new one, so that who reads it sees the old or the new
 * one. All users may read it, since the exporter that does is another user. */
#ifndef SPOOR_METRICS_TEXTFILE_H
#define SPOOR_METRICS_TEXTFILE_H

#include "base/text.h"

struct textfile {
    struct text path, unfinished; /* the file, and the one that will replace it */
};

/* Returns 0 if the file can be written, or -errno. It is not there before it has metrics. */
int textfile_open(struct textfile *file, const char *path);
/* Replaces the file. Returns 0, or -errno with the file as it was. */
int textfile_replace(const struct textfile *file, const struct text *content);
void textfile_close(struct textfile *file);

#endif
