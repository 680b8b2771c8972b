/* SPDX-License-Identifier: BSD-3-Clause */
/* DWARF: what a compiler wrote about a program: types, functions with their parameters, variables, lines.
 *
 * elfutils' libdw reads the bytes; separate debug files are found as for symbols (debug_file.h), those of dwz
 * and those from the servers in DEBUGINFOD_URLS by elfutils. Here is what a tracer asks. An address leads to
 * its compilation unit and is cheap. A name needs an index of all names, which is made when the first name is
 * asked for and kept on disk (dwarf/index.c). Types are made in the caller's arena, a struct's fields when
 * somebody looks inside, so the arena must live as long as the file and be guarded; pointers get SPACE_USER.
 *
 * The bytes are untrusted. libdw checks its bounds; we bound the size of files, the number of entries looked
 * at and the depth, so wrong bytes give missing names, and so does a file that is cut short while it is read
 * (sigbus_guard.h). What neither can stop: bytes that are changed at just the moment when libdw has checked them.
 * Addresses are those of the file's symbols. */
#ifndef SPOOR_SYM_DWARF_DWARF_H
#define SPOOR_SYM_DWARF_DWARF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "sym/machine/machine.h"
#include "type/type.h"

struct dwarf_file;
struct elf_origin;

struct dwarf_options {
    struct arena *arena;
    const struct elf_origin *origin; /* what must be there; NULL: anything */
    void (*report)(void *state, const char *line,
                   bool is_problem); /* what takes long, or went wrong; or NULL */
    void *state;
};

/* -ENOENT: the program has no debug information that could be found. Otherwise -EACCES, -EBADMSG … */
int dwarf_file_open(const char *path, const struct dwarf_options *options, struct dwarf_file **out);
void dwarf_file_close(struct dwarf_file *file); /* NULL is fine; types that were made become incomplete */

/* ---- by name ---- */

/* Written as in C: "struct task", "union x", "enum e", or a bare name (typedef, else struct, union, enum,
 * base type). near: an address in the unit whose definition is meant when there are several; 0: none. NULL:
 * there is no such type. */
const struct type *dwarf_file_type(struct dwarf_file *file, const char *name, uint64_t near);
/* The enum, or NULL. */
const struct type *dwarf_file_enumerator(struct dwarf_file *file, const char *name, uint64_t near,
                                         int64_t *value);
/* Names of enums that match a pattern (glob.h), each once, without "enum". Non-zero stops. Who visits must not
 * ask the file anything: that ends the names. */
typedef int dwarf_name_visitor(void *state, const char *name);
int dwarf_file_each_enum(struct dwarf_file *file, const char *pattern, dwarf_name_visitor *visit,
                         void *state);
/* A global or static variable. 0 or -ENOENT. */
int dwarf_file_variable(struct dwarf_file *file, const char *name, uint64_t near, uint64_t *address,
                        const struct type **type);

/* Places where a function begins: its own code, and each place where it was inlined. Non-zero stops. */
typedef int dwarf_place_visitor(void *state, uint64_t address, bool is_inlined);
int dwarf_file_each_function(struct dwarf_file *file, const char *name, dwarf_place_visitor *visit,
                             void *state);

/* Addresses where the code of a line begins, one for each function or inlined instance that has some. source:
 * the end of a path in whole parts ("a.c", "src/a.c"). column 0: any. -ENOENT: no code of that line; then
 * *next is the next line with code, 0: the file is not known either. */
int dwarf_file_each_line(struct dwarf_file *file, const char *source, unsigned line, unsigned column,
                         dwarf_place_visitor *visit, void *state, unsigned *next);

/* ---- by address ---- */

enum dwarf_where { DWARF_NOWHERE, DWARF_REGISTERS, DWARF_MEMORY, DWARF_CONSTANT };
struct dwarf_location {
    enum dwarf_where where;
    const char *why;                      /* NOWHERE: what became of it */
    struct machine_register registers[2]; /* REGISTERS: 8 bytes in each */
    unsigned count;
    struct machine_register base; /* MEMORY: at this register's value plus offset */
    int64_t offset;
    int64_t value; /* CONSTANT */
};
struct dwarf_parameter {
    const char *name;
    const char *spelling; /* of the type, as in C */
    const struct type *type;
    struct dwarf_location location;
};
struct dwarf_function {
    const char *name;
    const char *result_spelling;
    const struct type *result;       /* TYPE_NONE: void */
    struct dwarf_location result_at; /* when it returns */
    const struct dwarf_parameter *parameters;
    uint32_t count;
    bool is_inlined, is_entry; /* the address is where it begins */
};
/* The function whose code the address is in, and where its parameters are at that moment. name: of the scope
 * that is meant, when another was inlined there; "": the one that is not inlined; NULL: the innermost. 0 or
 * -ENOENT. */
int dwarf_file_function(struct dwarf_file *file, uint64_t address, const char *name,
                        struct dwarf_function *out);

/* What an instruction reads: a register, memory at a register plus offset, or at an address (offset alone).
 */
struct dwarf_operand {
    enum dwarf_where where; /* REGISTERS: one; MEMORY */
    bool is_static;         /* MEMORY without a register */
    struct machine_register base;
    int64_t offset;
    uint8_t size; /* of the value */
    bool is_signed;
};
struct dwarf_expression {
    const char *text; /* "request", "request->state", "queue.depth" */
    const char *spelling;
    const struct type *type; /* a scalar of the operand's size and sign */
};
/* The variable that is just there at that instruction, or the member of one or of what one points to, whose
 * type is therefore the operand's; the innermost scope's. -ENOENT: there is none, or two of different
 * types. */
int dwarf_file_operand(struct dwarf_file *file, uint64_t address, const struct dwarf_operand *operand,
                       struct dwarf_expression *out);

#endif
