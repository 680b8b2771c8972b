/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that processes have mapped, opened, with all that names their addresses: their own symbols, those of
 * a separate debug file, those in .gnu_debugdata. Bounded by bytes; the one used longest ago goes first. */
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
    uint64_t key;         /* of this opening, never used again */
    struct elf_file *elf; /* NULL: it cannot be read */
    bool has_no_lines;    /* found out, or a child died of it */
    /* private */
    struct elf_file *debug, *data; /* NULL: there is none */
    void *bytes, *data_bytes;      /* of the vDSO; unpacked */
    const char *const *given;      /* files that may have its symbols */
    bool sought;
    int64_t tried_since, asked; /* seconds */
    unsigned tries;
    uint64_t used;
};

struct symbol_files *symbol_files_open(struct processes *processes); /* NULL: no memory */
void symbol_files_close(struct symbol_files *files);
/* Files that may have the symbols of others: see debug_file_open(). Before the first question. */
void symbol_files_given(struct symbol_files *files, const char *const *paths);

/* NULL: there is no file, or it cannot be read, or it is not the one that was mapped. Both live until the
 * next question. */
struct symbol_file *symbol_file_mapped(struct symbol_files *files, pid_t pid,
                                       const struct code_mapping *mapping);
struct symbol_file *symbol_file_named(struct symbol_files *files, const char *path, int *error);

/* The function that holds an address (as the file's symbols count). path and pid: see debug_file.h. */
bool symbol_file_nearest(struct symbol_file *file, const char *path, pid_t pid, uint64_t address,
                         struct elf_symbol *out);
/* By name, data too. */
int symbol_file_symbol(struct symbol_file *file, const char *path, const char *name, struct elf_symbol *out);
/* The one of its files that has debug information, or NULL. */
const struct elf_file *symbol_file_lines(struct symbol_file *file, const char *path, pid_t pid);

#endif
