/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of generated code, which programs write to /tmp/perf-PID.map: lines of "START SIZE NAME" in hexadecimal.
 *
 * The file is opened where the process sees it (in its mount namespace, with its own pid), must be a regular file
 * of the process's user or of root, and is read up to a bound. What a process has left that ended is read in /tmp, if it is
 * of the user who traces, or of root. Lines that make no sense are left out; of several
 * that have an address the last one counts, because code is generated anew. */
#ifndef SPOOR_SYM_PROCESS_PERF_MAP_H
#define SPOOR_SYM_PROCESS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_map;

/* Reads the map of a process. -ENOENT: there is none; -EPERM: it is another user's; -EFBIG. */
int perf_map_read(pid_t pid, struct perf_map **out);
/* Reads a map from bytes. */
int perf_map_parse(const char *text, size_t size, struct perf_map **out);
void perf_map_close(struct perf_map *map);
/* Finds the name of an address; NULL: no line has it. *start: where the named code begins. */
const char *perf_map_find(const struct perf_map *map, uint64_t address, uint64_t *start);
size_t perf_map_bytes(const struct perf_map *map);

#endif
