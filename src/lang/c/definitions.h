/* SPDX-License-Identifier: BSD-3-Clause */
/* C definitions of a script and of the headers that it includes: a preprocessor and a parser of declarations.
 *
 *   c/token.c       text → tokens
 *   c/preprocess.c  the stream: files, macros and their expansion
 *   c/directive.c   #define, #include, #if …
 *   c/evaluate.c    constant expressions
 *   c/declare.c     declarations → types and enumerators; c/tagged.c: structs and enums; c/attribute.c
 *   c/layout.c      where members lie
 *   c/headers.c     headers that are part of us, and what a compiler predefines
 *
 * Only what a script can use is kept: types, enumerators, macros. Functions, objects and what cannot be
 * parsed are passed over; in headers with a note, in the script with an error. Everything is bounded: depth,
 * files, bytes, tokens. Headers are untrusted text. */
#ifndef SPOOR_LANG_C_DEFINITIONS_H
#define SPOOR_LANG_C_DEFINITIONS_H

#include "base/diagnostic.h"
#include "lang/lexer.h"
#include "type/type.h"

struct c_definitions;

struct c_options {
    struct arena *arena;
    struct diagnostics *diagnostics;
    const char *const *directories; /* where <x> and "x" are looked for first; NULL-terminated, or NULL */
    const char *script_directory;   /* NULL: there is none */
    bool have_btf;                  /* defines BPFTRACE_HAVE_BTF */
    void *state;                    /* of these two; either may be NULL */
    /* Stores the text of a regular file, in the arena, with a NUL behind it, and returns 0; or returns -errno. With
     * -ENOENT the header is looked for elsewhere. With -EPERM the file is there and must not be taken: *text is
     * then the reason. */
    int (*read)(void *state, const char *path, const char **text, size_t *length);
    /* Types that C code refers to and does not define: "struct task_struct", "pid_t". NULL: unknown. */
    const struct type *(*type)(void *state, const char *name);
};

struct c_definitions *c_open(const struct c_options *options);
void c_close(struct c_definitions *definitions); /* NULL is fine; the rest is the arena's */

/* Whether a directive or a declaration begins at a position of the script, between probes. */
bool c_begins(const struct source *source, uint32_t position);
/* Reads it; returns the position behind it, which is always larger. */
uint32_t c_read(struct c_definitions *definitions, const struct source *source, uint32_t position);
/* --include, and import of a header: from a place. False after a diagnostic. */
bool c_include(struct c_definitions *definitions, const char *path, struct span span);
/* A text has ended: is every #if in it closed? */
void c_finish(struct c_definitions *definitions, const struct source *source);

/* Both NULL for unknown. name is "struct x", "union x", "enum x", or a bare name: a typedef, else a tag. */
const struct type *c_type(struct c_definitions *definitions, const char *name);
const struct type *c_enumerator(struct c_definitions *definitions, const char *name, int64_t *value);
bool c_names_type(const struct c_definitions *definitions, const char *name, size_t length); /* a typedef */
/* The few types that every C program has when nobody else defines them: u8, size_t, pid_t … */
const struct type *c_common_type(const char *name);
/* A kernel header that was wanted and is not on this machine, or NULL: why a constant may be unknown. */
const char *c_missing_header(const struct c_definitions *definitions);
/* What was passed over, one line each, for -v; n counts from 0; NULL: no more. */
const char *c_note(const struct c_definitions *definitions, size_t n);

/* For the lexer. The macro use that begins at lexer->position, if it is one: its expansion as tokens of
 * scripts, all at the place of the use; the lexer then stands behind the use. False: it is none. */
struct lexer_expansion {
    const struct token *tokens;
    size_t count;
    struct span span; /* of the use */
};
bool c_expand(struct c_definitions *definitions, struct lexer *lexer, const struct lexer_expansion **out);

#endif
