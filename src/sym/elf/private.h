/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share that read ELF files; no other file includes it. */
#ifndef SPOOR_SYM_ELF_PRIVATE_H
#define SPOOR_SYM_ELF_PRIVATE_H

#include <elf.h>

#include "sym/elf/elf.h"

struct elf_symbols {
    struct elf_symbol *items; /* in the order of the tables; functions and data, named and defined */
    size_t count, room;
    struct elf_symbol **sorted; /* functions by (address, name), each pair once; NULL until it is needed */
    size_t sorted_count;
    char *names[2];       /* the string tables into which names point */
    size_t names_size[2]; /* bytes of each; a NUL follows */
    size_t memory;        /* bytes of all this */
    int state;            /* 0: not read; 1: read; else the error that reading gave */
};

struct elf_file {
    int fd; /* -1: it is in memory, at `bytes` */
    const uint8_t *bytes;
    struct stat status;  /* status of the whole file when it was opened */
    uint64_t base, size; /* of the part of the file that was opened */
    Elf64_Ehdr header;
    Elf64_Phdr *segments;
    size_t segment_count;
    Elf64_Shdr *sections;
    size_t section_count;
    char *section_names;
    uint64_t section_names_size;
    uint8_t build_id[64];
    size_t build_id_size;
    uint64_t entry;
    enum machine machine;
    enum elf_kind kind;
    struct elf_symbols symbols;
};

void elf_symbols_free(struct elf_symbols *symbols);
int elf_symbols_read(struct elf_file *file); /* reads symbols when it is called first */

/* elf/tables.c: asks the service for tables, and takes them out of its answers. */
struct cursor;
int elf_ask_tables(struct elf_file *file);
int elf_ask_symbols(struct elf_file *file);
int elf_take_tables(struct elf_file *file, struct cursor *in);
int elf_take_symbols(struct elf_file *file, struct cursor *in);
/* Makes a file without bytes, which has only its tables. NULL: memory ran out. */
struct elf_file *elf_file_without_bytes(void);

#endif
