/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs that generate code say about it: /tmp/perf-PID.map, lines of "START SIZE NAME" in
 * hexadecimal.
 *
 * The file is looked for where the process sees it (its mount namespace, its own number), must be a regular
 * file of the process's user or of root, and is read up to a bound. Lines that make no sense are passed over;
 * of several that hold an address the last one counts, because code is generated anew. */
#ifndef SPOOR_SYM_PROCESS_PERF_MAP_H
#define SPOOR_SYM_PROCESS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_map;

/* -ENOENT: there is none; -EPERM: it is somebody else's; -EFBIG. */
int perf_map_read(pid_t pid, struct perf_map **out);
/* The same from bytes. */
int perf_map_parse(const char *text, size_t size, struct perf_map **out);
void perf_map_close(struct perf_map *map);
/* NULL: no line holds the address. *start: where what it names begins. */
const char *perf_map_find(const struct perf_map *map, uint64_t address, uint64_t *start);
size_t perf_map_bytes(const struct perf_map *map);

#endif
