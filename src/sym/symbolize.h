/* SPDX-License-Identifier: BSD-3-Clause */
/* From addresses to names, and back, for running and for finished processes.
 *
 * Keeps the maps of the processes that it was asked about (bounded; read again when an address is in none of
 * them) and the symbols of the files (bounded, by device and inode). What it knew of a process when that
 * ended stays usable. Not for threads. */
#ifndef SPOOR_SYM_SYMBOLIZE_H
#define SPOOR_SYM_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sym/kallsyms.h"

struct symbolizer;

struct symbolized {
    const char *function; /* demangled if wanted; NULL: unknown */
    const char
        *module; /* path of the file, "[vdso]", a kernel module's name, "" for the kernel; NULL: unknown */
    uint64_t offset;         /* behind the function's start; without a function, behind the module's */
    uint64_t module_address; /* the address as the file's own symbols count, 0 without a module */
    const uint8_t *build_id; /* NULL: none */
    size_t build_id_size;
};

/* kallsyms may be NULL (then the symbolizer opens its own when it needs it). */
int symbolizer_open(struct kallsyms *kallsyms, struct symbolizer **out);
void symbolizer_close(struct symbolizer *symbolizer);
void symbolizer_demangle(struct symbolizer *symbolizer, bool demangle); /* default: yes */

/* The answers live until the next call. They always fill out; 0: the function is known, -ENOENT: it is not.
 */
int symbolizer_user(struct symbolizer *symbolizer, pid_t pid, uint64_t address, struct symbolized *out);
int symbolizer_kernel(struct symbolizer *symbolizer, uint64_t address, struct symbolized *out);
/* Reads the maps of a process now, so that they are known when it has ended. */
int symbolizer_remember(struct symbolizer *symbolizer, pid_t pid);

/* A symbol's address: as linked in the file, or, with a pid that has the file mapped, where it is at run
 * time. *size (may be NULL) is the symbol's. -ENOENT: no such symbol, -ESRCH: the process does not have the
 * file. */
int symbolizer_address(struct symbolizer *symbolizer, const char *path, pid_t pid, const char *name,
                       uint64_t *address, uint64_t *size);
/* What to add to an address of the file to get the one in the process. */
int symbolizer_bias(struct symbolizer *symbolizer, const char *path, pid_t pid, uint64_t *bias);

/* "ns::f(int)" for "_ZN2ns1fEi" (C++, Rust, D); NULL when the name is not mangled. Free the answer. */
char *symbol_demangle(const char *name);

#endif
