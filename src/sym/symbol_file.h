/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that processes have mapped, opened, with everything that names their addresses: their own symbols, those of
 * a separate debug file, those in .gnu_debugdata. Their memory is bounded; the file that was not used for the
 * longest time is closed first. */
#ifndef SPOOR_SYM_SYMBOL_FILE_H
#define SPOOR_SYM_SYMBOL_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sym/elf/elf.h"
#include "sym/process/process.h"

struct symbol_files;

struct symbol_file {
    uint64_t device, inode, generation;
    uint64_t key;         /* identifies this opening of the file; never used again */
    struct elf_file *elf; /* NULL: it cannot be read */
    bool has_no_lines;    /* it has no debug information with lines, or reading it ended a service */
    /* private */
    struct elf_file *debug, *data; /* NULL: there is none */
    void *bytes, *data_bytes;      /* bytes: those of the vDSO; data_bytes: the unpacked .gnu_debugdata */
    const char *const *given;      /* files in which its symbols are searched first */
    bool sought;
    int64_t tried_since, asked; /* seconds */
    unsigned tries;
    uint64_t used;
};

struct symbol_files *symbol_files_open(struct processes *processes); /* NULL: memory ran out */
void symbol_files_close(struct symbol_files *files);
/* Sets files that may have the symbols of others: see debug_file_open(). To be called before the first search. */
void symbol_files_given(struct symbol_files *files, const char *const *paths);

/* Both return a file that is valid until the next call of one of them. NULL: there is none, or it cannot be read,
 * or it is not the one that was mapped. */
struct symbol_file *symbol_file_mapped(struct symbol_files *files, pid_t pid,
                                       const struct code_mapping *mapping);
struct symbol_file *symbol_file_named(struct symbol_files *files, const char *path, int *error);

/* Finds the function that contains an address, as the file's symbols count. path and pid: see debug_file.h. */
bool symbol_file_nearest(struct symbol_file *file, const char *path, pid_t pid, uint64_t address,
                         struct elf_symbol *out);
/* Finds a function or data by name. Returns 0 or -errno. */
int symbol_file_symbol(struct symbol_file *file, const char *path, const char *name, struct elf_symbol *out);
/* Returns the one of its files that has debug information, or NULL. */
const struct elf_file *symbol_file_lines(struct symbol_file *file, const char *path, pid_t pid);

#endif
