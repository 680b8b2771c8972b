/* SPDX-License-Identifier: BSD-3-Clause */
/* From addresses to names, and back, for running and for finished processes.
 *
 * It brings together which code a process has (process.h), what a file calls its addresses (symbol_file.h), what a
 * program says about code that it generated (perf_map.h), lines of source (lines.h), and earlier answers; all of
 * them are bounded. It is used by one thread; another one may add what processes map. */
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
        *module; /* path of the file, "[vdso]", name of a kernel module, "" for the kernel; NULL: unknown */
    uint64_t offset;         /* from the function's beginning; without a function, from that of the module */
    uint64_t module_address; /* the address as the file's symbols count; 0: there is no module */
    uint64_t file_offset;    /* offset of the address in the file */
    const uint8_t *build_id; /* NULL: none */
    size_t build_id_size;
    /* It is a return address to which no call leads: what follows on the stack is no frame. */
    bool is_not_code;
    /* Source lines, the innermost first: what was inlined at the address, then the function itself, whose name is
     * NULL here. 0: nothing is known. */
    const struct line_frame *lines;
    size_t line_count;
};

/* kallsyms may be NULL (then the symbolizer opens its own when it needs it). */
int symbolizer_open(struct kallsyms *kallsyms, struct symbolizer **out);
void symbolizer_close(struct symbolizer *symbolizer);
void symbolizer_demangle(struct symbolizer *symbolizer, bool demangle); /* default: yes */
void symbolizer_lines(struct symbolizer *symbolizer, bool lines);       /* default: no */

/* Sets files that may have the symbols of others: NULL-terminated; they must live as long as the symbolizer. To be
 * called before anything is looked up. */
void symbolizer_files(struct symbolizer *symbolizer, const char *const *paths);

/* Both find names for an address, which are valid until the next call. They always fill `out`. Return 0 if the
 * function is known, -ENOENT if it is not. is_return: the address is one to which a call returns, so that the call
 * is meant, which may be the last instruction of its function. */
int symbolizer_user(struct symbolizer *symbolizer, pid_t pid, uint64_t address, bool is_return,
                    struct symbolized *out);
int symbolizer_kernel(struct symbolizer *symbolizer, uint64_t address, struct symbolized *out);
/* Sets a function that is called whenever a file must be read for an address in user space, and again while that
 * lasts; true: the search is given up, and the address stays unknown. */
void symbolizer_may_leave(struct symbolizer *symbolizer, bool (*leaves)(void *state), void *state);
/* Returns what processes have mapped: callers add events to it, and have processes read before they end. */
struct processes *symbolizer_processes(struct symbolizer *symbolizer);

/* Finds a symbol's address: as linked in the file or, with a pid that has the file mapped, in that process. *size
 * (may be NULL) is the symbol's. -ENOENT: there is no such symbol; -ESRCH: the process does not have the file. */
int symbolizer_address(struct symbolizer *symbolizer, const char *path, pid_t pid, const char *name,
                       uint64_t *address, uint64_t *size);
/* Finds what is added to an address of the file to get the one in the process. */
int symbolizer_bias(struct symbolizer *symbolizer, const char *path, pid_t pid, uint64_t *bias);
#endif
