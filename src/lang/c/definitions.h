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
    void *state;                    /* argument of both functions below, either of which may be NULL */
    /* Stores the text of a regular file, in the arena, with a NUL behind it, and returns 0; or returns -errno. With
     * -ENOENT the header is looked for elsewhere. With -EPERM the file is there and must not be taken: *text is
     * then the reason. */
    int (*read)(void *state, const char *path, const char **text, size_t *length);
    /* Finds a type that C code refers to and does not define: "struct task_struct", "pid_t". NULL: it is unknown. */
    const struct type *(*type)(void *state, const char *name);
};

struct c_definitions *c_open(const struct c_options *options);
/* nothing is done for NULL; everything else belongs to the arena */
void c_close(struct c_definitions *definitions);

/* Whether a directive of the preprocessor or a declaration of C begins at a position of the script, between
 * probes. */
bool c_begins(const struct source *source, uint32_t position);
/* Reads the directive or declaration at a position. Returns the position behind it, which is always larger. */
uint32_t c_read(struct c_definitions *definitions, const struct source *source, uint32_t position);
/* Includes a header for --include or an import, which `span` is. False after a diagnostic. */
bool c_include(struct c_definitions *definitions, const char *path, struct span span);
/* Reports an #if that is still open at the end of a text. */
void c_finish(struct c_definitions *definitions, const struct source *source);

/* Both return NULL if the name is unknown. It is "struct x", "union x", "enum x", or a bare name: that of a
 * typedef, else of a tag. */
const struct type *c_type(struct c_definitions *definitions, const char *name);
const struct type *c_enumerator(struct c_definitions *definitions, const char *name, int64_t *value);
/* whether it is the name of a typedef */
bool c_names_type(const struct c_definitions *definitions, const char *name, size_t length);
/* Returns one of the few types that C programs use everywhere, if no header defines it: u8, size_t, pid_t …; or
 * NULL. */
const struct type *c_common_type(const char *name);
/* Returns a header of the kernel that was included and is not on this machine, because of which a constant may be
 * unknown; or NULL. */
const char *c_missing_header(const struct c_definitions *definitions);
/* Returns note number n, from 0 on, on what was passed over, for -v; NULL: there are no more. */
const char *c_note(const struct c_definitions *definitions, size_t n);

/* For the lexer: expands the use of a macro that begins at lexer->position. The result is tokens of scripts, all
 * with the span of the use, and the lexer then stands behind the use. False: no use of a macro begins there. */
struct lexer_expansion {
    const struct token *tokens;
    size_t count;
    struct span span; /* span of the macro's use */
};
bool c_expand(struct c_definitions *definitions, struct lexer *lexer, const struct lexer_expansion **out);

#endif
