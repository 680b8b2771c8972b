/* SPDX-License-Identifier: BSD-3-Clause */
/* DWARF: what a compiler wrote about a program: types, functions with their parameters, variables, lines.
 *
 * elfutils' libdw reads the bytes. Separate debug files are found as for symbols (debug_file.h), files of dwz and
 * those from the servers in DEBUGINFOD_URLS by elfutils. An address leads to its compilation unit, which costs
 * little. A name needs an index of all names, which is made when the first name is looked up, and kept on disk
 * (dwarf/index.c). Types are made in the caller's arena, a struct's fields when they are needed, so that the arena
 * must live as long as the file and be guarded; pointers get SPACE_USER.
 *
 * The bytes are untrusted. libdw checks its bounds; this code bounds the size of files, the number of entries that
 * are read, and the depth. So wrong bytes give missing names, and so does a file that is cut short while it is read
 * (sigbus_guard.h). Neither helps against bytes that are changed just after libdw has checked them. Addresses are
 * those of the file's symbols. */
#ifndef SPOOR_SYM_DWARF_DWARF_H
#define SPOOR_SYM_DWARF_DWARF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "sym/machine/machine.h"
#include "type/type.h"

struct dwarf_file;
struct elf_file;
struct elf_origin;

struct dwarf_options {
    struct arena *arena;
    const struct elf_origin *origin; /* the file that it must be; NULL: any */
    void (*report)(void *state, const char *line,
                   bool is_problem); /* reports what takes long, or went wrong; or NULL */
    void *state;
};

/* Opens a program's debug information. -ENOENT: none can be found. Else -EACCES, -EBADMSG … */
int dwarf_file_open(const char *path, const struct dwarf_options *options, struct dwarf_file **out);
/* nothing is done for NULL; structs whose fields were not needed yet stay without them */
void dwarf_file_close(struct dwarf_file *file);

/* Whether servers are asked for debug information that is not on this machine (debuginfod). */
enum dwarf_servers {
    DWARF_SERVERS_NONE, /* DEBUGINFOD_URLS names none */
    DWARF_SERVERS_ASKED,
    DWARF_SERVERS_UNREACHABLE, /* the library that asks them is not installed */
};
enum dwarf_servers dwarf_servers(void);
/* Finds where the debug information of a program is, without asking a server. found: the path of a separate file. */
enum dwarf_place { DWARF_PLACE_NONE, DWARF_PLACE_PROGRAM, DWARF_PLACE_FILE };
enum dwarf_place dwarf_find_place(const struct elf_file *program, const char *path, struct text *found);

/* ---- by name ---- */

/* Returns a type, or NULL if there is none. Its name is written as in C: "struct task", "union x", "enum e", or a
 * bare name (a typedef, else a struct, union, enum, base type). near: an address in the unit whose definition is
 * meant if there are several; 0: none. */
const struct type *dwarf_file_type(struct dwarf_file *file, const char *name, uint64_t near);
/* Returns the enum that has an enumerator, or NULL. */
const struct type *dwarf_file_enumerator(struct dwarf_file *file, const char *name, uint64_t near,
                                         int64_t *value);
/* Calls `visit` with the names of enums that match a pattern (glob.h), each once, without "enum". An answer that is
 * not 0 ends the walk. The visitor must not look up anything in the file, because that would end the names. */
typedef int dwarf_name_visitor(void *state, const char *name);
int dwarf_file_each_enum(struct dwarf_file *file, const char *pattern, dwarf_name_visitor *visit,
                         void *state);
/* Finds a global or static variable. Returns 0 or -ENOENT. */
int dwarf_file_variable(struct dwarf_file *file, const char *name, uint64_t near, uint64_t *address,
                        const struct type **type);

/* Calls `visit` for each place where a function begins: its own code, and where it was inlined. An answer that is
 * not 0 ends the walk. */
typedef int dwarf_place_visitor(void *state, uint64_t address, bool is_inlined);
int dwarf_file_each_function(struct dwarf_file *file, const char *name, dwarf_place_visitor *visit,
                             void *state);

/* Calls `visit` with the addresses where the code of a line begins, one for each function or inlined instance that
 * has some. source: the end of a path, in whole parts ("a.c", "src/a.c"). column 0: any. -ENOENT: the line has no
 * code; then *next is the next line with code, 0 if the file is unknown, too. */
int dwarf_file_each_line(struct dwarf_file *file, const char *source, unsigned line, unsigned column,
                         dwarf_place_visitor *visit, void *state, unsigned *next);

/* ---- by address ---- */

enum dwarf_where { DWARF_NOWHERE, DWARF_REGISTERS, DWARF_MEMORY, DWARF_CONSTANT };
struct dwarf_location {
    enum dwarf_where where;
    const char *why;                      /* NOWHERE: the reason */
    struct machine_register registers[2]; /* REGISTERS: 8 bytes in each */
    unsigned count;
    struct machine_register base; /* MEMORY: at this register's value plus offset */
    int64_t offset;
    int64_t value; /* CONSTANT */
};
struct dwarf_parameter {
    const char *name;
    const char *spelling; /* its type, as C writes it */
    const struct type *type;
    struct dwarf_location location;
};
struct dwarf_function {
    const char *name;
    const char *result_spelling;
    const struct type *result;       /* TYPE_NONE: void */
    struct dwarf_location result_at; /* where the result is when the function returns */
    const struct dwarf_parameter *parameters;
    uint32_t count;
    bool is_inlined, is_entry; /* is_entry: the address is where it begins */
};
/* Finds the function whose code is at an address, and where its parameters are at that moment. name: of the scope
 * that is meant, if another one was inlined there; "": the one that is not inlined; NULL: the innermost. Returns 0
 * or -ENOENT. */
int dwarf_file_function(struct dwarf_file *file, uint64_t address, const char *name,
                        struct dwarf_function *out);

/* What an instruction reads: a register, memory at a register plus an offset, or memory at an address (the offset
 * alone). */
struct dwarf_operand {
    enum dwarf_where where; /* REGISTERS: one; MEMORY */
    bool is_static;         /* MEMORY without a register */
    struct machine_register base;
    int64_t offset;
    uint8_t size; /* bytes of the value */
    bool is_signed;
};
struct dwarf_expression {
    const char *text; /* "request", "request->state", "queue.depth" */
    const char *spelling;
    const struct type *type; /* a scalar of the operand's size and sign */
};
/* Finds the variable that is the operand of an instruction, or the member of one, or of the struct to which one
 * points; its type is therefore the operand's. The innermost scope counts. -ENOENT: there is none, or there are two
 * of different types. */
int dwarf_file_operand(struct dwarf_file *file, uint64_t address, const struct dwarf_operand *operand,
                       struct dwarf_expression *out);

#endif
