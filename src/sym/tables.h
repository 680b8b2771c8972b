/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of files that other users may own, as a process without privileges reads them (sym/apart.h). There is
 * one such service for all files, which forgets each of them after its answer. Each reader of such tables (elf.c,
 * usdt.c, …) has both halves in its file: what answers the question in the service, and what takes the answer. Only
 * these include this file, and the code that ends the service. */
#ifndef SPOOR_SYM_TABLES_H
#define SPOOR_SYM_TABLES_H

#include "sym/apart.h"
#include "sym/elf/elf.h"

enum tables_kind {
    TABLES_ELF,     /* segments, sections, build id */
    TABLES_SYMBOLS, /* .symtab and .dynsym */
    TABLES_DATA,    /* TABLES_ELF and TABLES_SYMBOLS of .gnu_debugdata */
    TABLES_LINK,    /* .gnu_debuglink */
    TABLES_DYNAMIC, /* the libraries that the loader loads with the file */
    TABLES_USDT,    /* probes */
    TABLES_CFI,     /* call frame information, as rows */
    TABLES_MEMBER,  /* where a member of an archive is */
    TABLES_MAP,     /* names of generated code */
    TABLES_COUNT
};

/* Asks the service, which is started if it does not run. May be called in any thread. question: as the server reads
 * it, or NULL. Returns as apart_ask(): -EBADMSG also if the service died of the file. */
int tables_ask(enum tables_kind kind, const struct text *question, int fd, struct apart_answer *out);
/* As tables_ask(), about an ELF file, whose descriptor is sent along with where the file begins in it. */
int tables_ask_elf(enum tables_kind kind, const struct elf_file *file, struct apart_answer *out);
/* Whether the tables of a file are read by the service: not in the service itself, and not if the file is in
 * memory. */
bool tables_are_apart(const struct elf_file *file);
/* Ends the service; the next question starts another. */
void tables_end(void);

/* In the service: these write the answer about an ELF file, or about any other file. Return 0 or -errno. */
typedef int tables_of_elf(struct elf_file *file, struct text *answer);
tables_of_elf elf_put_tables, elf_put_symbols, debug_data_put, debug_link_put, needed_put, usdt_put, cfi_put;
apart_server archive_serve, perf_map_serve;
void debug_data_prepare(void); /* loads the library that unpacks .gnu_debugdata */

#endif
