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
    char *why; /* why the file cannot be read; NULL: it was read */
};

struct script_files {
    struct script_file *items; /* in the order of their names */
    size_t count, room;
};

/* Reads all scripts. Returns 0 or -errno with the reason. */
int directory_read(const char *path, struct script_files *out, struct text *why);
void directory_free(struct script_files *files);
/* Watches a directory. Returns a descriptor that becomes readable when a file there changes, or -errno. */
int directory_watch(const char *path);
/* Watches what has the directory's name now: it may have been replaced. */
void directory_watch_again(int watch, const char *path);
/* Empties the descriptor of a watch. Which files changed is found by directory_read(). */
void directory_forget(int watch);

#endif
