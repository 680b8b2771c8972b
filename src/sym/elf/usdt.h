/* SPDX-License-Identifier: BSD-3-Clause */
/* USDT probes, as the notes in an ELF file describe them.
 *
 * A probe (provider:name) has one or more sites. Each site has its own place, its own locations of arguments, and
 * usually the probe's semaphore. Sites come from .note.stapsdt (type 3); names and types of arguments from spoor's
 * own note .note.spoor (type 1), which belongs to the site with its address. Everything in the file is untrusted. */
#ifndef SPOOR_SYM_ELF_USDT_H
#define SPOOR_SYM_ELF_USDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/elf/elf.h"
#include "sym/machine/machine.h"

enum { USDT_ARGUMENTS_MAX = 16 };

enum usdt_kind {
    USDT_CONSTANT,
    USDT_REGISTER,
    USDT_MEMORY,
    USDT_UNSUPPORTED, /* floating point, vector registers, forms that are not known here */
};

struct usdt_argument {
    enum usdt_kind kind;
    uint8_t size; /* bytes of the value: 1, 2, 4 or 8 */
    bool is_signed;
    bool is_float;
    int64_t constant;              /* USDT_CONSTANT */
    struct machine_register base;  /* USDT_REGISTER: the register; USDT_MEMORY with has_base: the base */
    struct machine_register index; /* USDT_MEMORY with has_index: it is multiplied by scale, and added */
    bool has_base, has_index;
    uint8_t scale;        /* 1, 2, 4 or 8 */
    int64_t displacement; /* USDT_MEMORY: address = base + index * scale + displacement */
    /* sym(%rip), sym+4(%rip), 4(%rip), resolved: there is no base, displacement is an address in the file, and the
     * reader adds the load bias */
    bool is_pc_relative;
    bool is_indirect_symbol;       /* with is_pc_relative: the symbol has not been resolved yet */
    uint16_t text_begin, text_end; /* where this argument is in the argument string */
    /* where the symbol's name is in the argument string; equal: there is none */
    uint16_t symbol_begin, symbol_end;
};

struct usdt_arguments {
    unsigned count;
    struct usdt_argument items[USDT_ARGUMENTS_MAX];
};

/* Parses "-4@$5 8@%rax …", and reads nothing else. Returns 0; -EBADMSG if it is no argument string at all; -E2BIG
 * for more than USDT_ARGUMENTS_MAX. An argument whose form is unknown is USDT_UNSUPPORTED, and no error. */
int usdt_parse_arguments(const char *text, enum machine machine, struct usdt_arguments *out);

struct usdt_declared { /* an argument as spoor's own note declares it */
    const char *type;  /* "const char *" */
    const char *name;  /* "path" */
};

struct usdt_site {
    const char *provider, *name;
    const char *arguments;    /* the note's argument string */
    uint64_t address, offset; /* those of the nop: as linked, and in the file */
    uint64_t semaphore_address;
    uint64_t semaphore_offset; /* its offset in the file; 0: the probe has none */
    bool is_declared; /* one of spoor's own notes belongs to it: the place is in a stub of spoor/probe.h */
    unsigned declared_count; /* 0: there is no such note, or it has no arguments */
    const struct usdt_declared *declared;
};

struct usdt_probes {
    struct usdt_site *sites; /* sorted by provider, name, offset, without duplicates */
    size_t count;
    size_t damaged; /* notes that made no sense and were left out */
    void *memory;   /* the memory into which the texts point */
};

/* Reads all notes. For a file without any it returns 0, and `count` is 0. */
int usdt_read(const struct elf_file *file, struct usdt_probes *out);
void usdt_free(struct usdt_probes *probes);

/* Calls `visit` for every site whose provider (NULL or "": any) and name match, in order. An answer that is not 0
 * ends the walk. */
typedef int usdt_visitor(void *context, const struct usdt_site *site);
int usdt_each(const struct usdt_probes *probes, const char *provider_pattern, const char *name_pattern,
              usdt_visitor *visit, void *context);

/* Reads the arguments of a site: parses them, and resolves symbols through the file. A symbol that the file does
 * not have makes its argument USDT_UNSUPPORTED. */
int usdt_site_arguments(struct elf_file *file, const struct usdt_site *site, struct usdt_arguments *out);

#endif
