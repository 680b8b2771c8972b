/* SPDX-License-Identifier: BSD-3-Clause */
/* USDT probes: what the notes in an ELF file say about them.
 *
 * A probe (provider:name) has one or more sites; each site has its own place, its own argument locations and
 * usually the probe's semaphore. Sites come from .note.stapsdt (type 3); names and types of arguments from
 * our own note .note.spoor (type 1), matched by the site's address. Everything in the file is untrusted. */
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
    USDT_UNSUPPORTED, /* floating point, vector registers, forms that we do not know */
};

struct usdt_argument {
    enum usdt_kind kind;
    uint8_t size; /* bytes of the value: 1, 2, 4 or 8 */
    bool is_signed;
    bool is_float;
    int64_t constant;              /* USDT_CONSTANT */
    struct machine_register base;  /* USDT_REGISTER: the register. USDT_MEMORY: the base, if has_base */
    struct machine_register index; /* USDT_MEMORY, if has_index: added after multiplying by scale */
    bool has_base, has_index;
    uint8_t scale;                 /* 1, 2, 4 or 8 */
    int64_t displacement;          /* USDT_MEMORY: address = base + index * scale + displacement */
    bool is_pc_relative;           /* sym(%rip), sym+4(%rip), 4(%rip) resolved: no base, displacement holds an
                                      address in the file, the reader adds the load bias */
    bool is_indirect_symbol;       /* is_pc_relative, and the symbol is still to be resolved */
    uint16_t text_begin, text_end; /* this argument in the argument string */
    uint16_t symbol_begin, symbol_end; /* the symbol's name in the argument string; equal: none */
};

struct usdt_arguments {
    unsigned count;
    struct usdt_argument items[USDT_ARGUMENTS_MAX];
};

/* Parses "-4@$5 8@%rax …". Pure. 0; -EBADMSG when it is not an argument string at all; -E2BIG for more than
 * USDT_ARGUMENTS_MAX. An argument whose form is unknown is USDT_UNSUPPORTED, not an error. */
int usdt_parse_arguments(const char *text, enum machine machine, struct usdt_arguments *out);

struct usdt_declared { /* from our own note */
    const char *type;  /* "const char *" */
    const char *name;  /* "path" */
};

struct usdt_site {
    const char *provider, *name;
    const char *arguments;    /* the note's argument string */
    uint64_t address, offset; /* of the nop: as linked, and in the file */
    uint64_t semaphore_address;
    uint64_t semaphore_offset; /* in the file; 0: the probe has none */
    bool is_declared;          /* a note of ours goes with it: the place is in a stub of spoor/probe.h */
    unsigned declared_count;   /* 0: no note of ours, or one without arguments */
    const struct usdt_declared *declared;
};

struct usdt_probes {
    struct usdt_site *sites; /* sorted by provider, name, offset; no doubles */
    size_t count;
    size_t damaged; /* notes that did not make sense and were left out */
    void *memory;   /* what the texts point into */
};

/* Reads all notes. A file without any gives 0 and count 0. */
int usdt_read(const struct elf_file *file, struct usdt_probes *out);
void usdt_free(struct usdt_probes *probes);

/* Every site whose provider (NULL or "": any) and name match, in order. A non-zero answer stops. */
typedef int usdt_visitor(void *context, const struct usdt_site *site);
int usdt_each(const struct usdt_probes *probes, const char *provider_pattern, const char *name_pattern,
              usdt_visitor *visit, void *context);

/* The arguments of a site, ready for use: parsed, and symbols resolved through the file. A symbol that the
 * file does not have makes that argument USDT_UNSUPPORTED. */
int usdt_site_arguments(struct elf_file *file, const struct usdt_site *site, struct usdt_arguments *out);

#endif
