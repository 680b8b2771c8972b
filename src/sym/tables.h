/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of files that others own, as a process without privileges reads them (sym/apart.h): one for all of
 * us, which forgets each file when it was answered. Who reads such tables (elf.c, usdt.c, …) has both halves:
 * what serves the question there, and what takes the answer here. Only those include
 * this, and who ends it. */
#ifndef SPOOR_SYM_TABLES_H
#define SPOOR_SYM_TABLES_H

#include "sym/apart.h"
#include "sym/elf/elf.h"

enum tables_kind {
    TABLES_ELF,     /* segments, sections, build id */
    TABLES_SYMBOLS, /* .symtab and .dynsym */
    TABLES_DATA,    /* both, of .gnu_debugdata */
    TABLES_LINK,    /* .gnu_debuglink */
    TABLES_DYNAMIC, /* what the loader is to load */
    TABLES_USDT,    /* probes */
    TABLES_CFI,     /* call frame information, as rows */
    TABLES_MEMBER,  /* where a member of an archive lies */
    TABLES_MAP,     /* names of generated code */
    TABLES_COUNT
};

/* Asks the process, which is made when there is none. Any thread. question: what the server takes, or NULL. As
 * apart_ask: -EBADMSG also when the process died of the file. */
int tables_ask(enum tables_kind kind, const struct text *question, int fd, struct apart_answer *out);
/* The same about an ELF file, whose descriptor goes along with where in the file it lies. */
int tables_ask_elf(enum tables_kind kind, const struct elf_file *file, struct apart_answer *out);
/* Is the file one whose tables are read apart? Not there itself, and not of what is in our own memory. */
bool tables_are_apart(const struct elf_file *file);
/* Ends the process; the next question makes another. */
void tables_end(void);

/* There: what of an ELF file is told, or of a file as it is. 0 or -errno. */
typedef int tables_of_elf(struct elf_file *file, struct text *answer);
tables_of_elf elf_put_tables, elf_put_symbols, debug_data_put, debug_link_put, needed_put, usdt_put, cfi_put;
apart_server archive_serve, perf_map_serve;
void debug_data_prepare(void); /* loads what unpacks */

#endif
