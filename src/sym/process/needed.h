/* SPDX-License-Identifier: BSD-3-Clause */
/* The libraries that a program is linked with, where its loader would find them: DT_RPATH and DT_RUNPATH with
 * $ORIGIN, the loader's cache, the standard directories. Not LD_LIBRARY_PATH: it belongs to a process, and
 * what a process has loaded is in its maps. */
#ifndef SPOOR_SYM_PROCESS_NEEDED_H
#define SPOOR_SYM_PROCESS_NEEDED_H

/* Calls `visit` for each library of a program. path: as this process opens the program, perhaps below
 * /proc/PID/root, where its libraries are searched then. Libraries that are not found are left out. An answer that
 * is not 0 ends the walk and is returned. */
typedef int needed_visitor(void *context, const char *path);
int needed_each(const char *path, needed_visitor *visit, void *context);

#endif
