/* SPDX-License-Identifier: BSD-3-Clause */
/* From addresses to names, and back, for running and for finished processes.
 *
 * Which code a process has (process.h), what a file calls its addresses (symbol_file.h), what a program says
 * about code that it made (perf_map.h), lines of source (lines.h), and answers that were given before: all
 * bounded. Questions come from one thread; what processes map may be told by another. */
#ifndef SPOOR_SYM_SYMBOLIZE_H
#define SPOOR_SYM_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sym/kernel/kallsyms.h"
#include "sym/dwarf/lines.h"
#include "sym/process/process.h"

struct symbolizer;

struct symbolized {
    const char *function; /* demangled if wanted; NULL: unknown */
    const char
        *module; /* path of the file, "[vdso]", a kernel module's name, "" for the kernel; NULL: unknown */
    uint64_t offset;         /* behind the function's start; without a function, behind the module's */
    uint64_t module_address; /* the address as the file's own symbols count, 0 without a module */
    uint64_t file_offset;    /* of the address in the file */
    const uint8_t *build_id; /* NULL: none */
    size_t build_id_size;
    /* A return address that no call leads to: what follows on the stack is not frames. */
    bool is_not_code;
    /* Source, innermost first: what was inlined at the address, then the function itself, whose name is NULL.
     * 0: nothing is known. */
    const struct line_frame *lines;
    size_t line_count;
};

/* kallsyms may be NULL (then the symbolizer opens its own when it needs it). */
int symbolizer_open(struct kallsyms *kallsyms, struct symbolizer **out);
void symbolizer_close(struct symbolizer *symbolizer);
void symbolizer_demangle(struct symbolizer *symbolizer, bool demangle); /* default: yes */
void symbolizer_lines(struct symbolizer *symbolizer, bool lines);       /* default: no */

/* Files that may have the symbols of others: NULL-terminated; they must live as long. Before anything is
 * asked. */
void symbolizer_files(struct symbolizer *symbolizer, const char *const *paths);

/* The answers live until the next call. They always fill out; 0: the function is known, -ENOENT: it is not.
 * is_return: the address is where a call returns to, so the call itself is meant, which may be the last thing
 * in its function. */
int symbolizer_user(struct symbolizer *symbolizer, pid_t pid, uint64_t address, bool is_return,
                    struct symbolized *out);
int symbolizer_kernel(struct symbolizer *symbolizer, uint64_t address, struct symbolized *out);
/* Asked whenever a file must be read for an answer about user space, and again while that lasts; true: it is
 * left, and not known. */
void symbolizer_may_leave(struct symbolizer *symbolizer, bool (*leaves)(void *state), void *state);
/* What processes have mapped: to tell it what is heard, and to read a process now, so that it is known when
 * it has ended. */
struct processes *symbolizer_processes(struct symbolizer *symbolizer);

/* A symbol's address: as linked in the file, or, with a pid that has the file mapped, where it is at run
 * time. *size (may be NULL) is the symbol's. -ENOENT: no such symbol, -ESRCH: the process does not have the
 * file. */
int symbolizer_address(struct symbolizer *symbolizer, const char *path, pid_t pid, const char *name,
                       uint64_t *address, uint64_t *size);
/* What to add to an address of the file to get the one in the process. */
int symbolizer_bias(struct symbolizer *symbolizer, const char *path, pid_t pid, uint64_t *bias);
#endif
