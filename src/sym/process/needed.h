/* SPDX-License-Identifier: BSD-3-Clause */
/* The libraries that a program is linked with, where its loader would find them: DT_RPATH and DT_RUNPATH with
 * $ORIGIN, the loader's cache, the standard directories. Not LD_LIBRARY_PATH: it belongs to a process, and
 * what a process has loaded is in its maps. */
#ifndef SPOOR_SYM_PROCESS_NEEDED_H
#define SPOOR_SYM_PROCESS_NEEDED_H

/* path: as we open the program, also below /proc/PID/root, where its libraries are then sought too. Those
 * that are not found are passed over. Non-zero stops and is returned. */
typedef int needed_visitor(void *context, const char *path);
int needed_each(const char *path, needed_visitor *visit, void *context);

#endif
