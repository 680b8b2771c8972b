/* SPDX-License-Identifier: BSD-3-Clause */
/* The scripts of a directory: its files NAME.bt, or links to files, that nobody else but root and the caller can have put
 * there (base/trusted_path.h), because they run with the caller's privileges. */
#ifndef SPOOR_SERVE_DIRECTORY_H
#define SPOOR_SERVE_DIRECTORY_H

#include "base/text.h"

enum { DIRECTORY_SCRIPTS_MAX = 256 };

struct script_file {
    char *name; /* without .bt */
    char *path;
    struct text text;
    char *why; /* it cannot be read, for this reason; NULL: it was read */
};

struct script_files {
    struct script_file *items; /* in the order of their names */
    size_t count, room;
};

/* Reads all scripts. Returns 0 or -errno with the reason. */
int directory_read(const char *path, struct script_files *out, struct text *why);
void directory_free(struct script_files *files);
/* Watches it. Returns a descriptor that is readable when something there changed, or -errno. */
int directory_watch(const char *path);
/* Watches it once more: under its name there may be another directory now. */
void directory_watch_again(int watch, const char *path);
/* Reads what a watch has noticed: what changed is for directory_read() to find. */
void directory_forget(int watch);

#endif
