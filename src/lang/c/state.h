/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to src/lang/c: what the parts of the C reader share. See c/definitions.h for which part does what.
 *
 * Tokens come from layers of macro expansion, and below those from the innermost file. A file that is the
 * `floor` is not left at its end: the stream then ends. */
#ifndef SPOOR_LANG_C_STATE_H
#define SPOOR_LANG_C_STATE_H

#include "base/table.h"
#include "lang/c/definitions.h"

enum {
    C_INCLUDE_DEPTH = 64,
    C_DEPTH = 200,               /* how deep expressions, declarators, structs and calls of macros nest */
    C_FILES_MAX = 4000,          /* files opened for one script */
    C_PATHS_MAX = 1 << 16,       /* paths looked for */
    C_BYTES_MAX = 64 << 20,      /* bytes read and kept */
    C_BYTES_AGAIN_MAX = 1 << 29, /* bytes gone through: a header may be included many times */
    C_TOKENS_MAX = 2 << 20,      /* tokens made */
    C_MEMORY_MAX = 256 << 20,    /* memory for the script's tree and everything that is made of C */
    C_USE_BYTES_MAX = 256 << 10, /* text of one use of a macro in a block */
    C_NOTES_MAX = 200,
    C_REPORTS_MAX = 20,
    C_SIZE_MAX = 1 << 30, /* bytes of a type */
    C_ENUMERATORS_MAX = 1 << 16,
};

enum c_token_kind { C_END, C_NAME, C_NUMBER, C_STRING, C_CHARACTER, C_MARK, C_OTHER, C_EMPTY };

/* Words that mean something to the parser of declarations. */
enum c_word {
    C_WORD_NONE,
    C_WORD_VOID,
    C_WORD_CHAR,
    C_WORD_SHORT,
    C_WORD_INT,
    C_WORD_LONG,
    C_WORD_SIGNED,
    C_WORD_UNSIGNED,
    C_WORD_BOOL,
    C_WORD_FLOAT,
    C_WORD_DOUBLE,
    C_WORD_INT128,
    C_WORD_FLOAT128,
    C_WORD_COMPLEX,
    C_WORD_VA_LIST, /* the last of the words that are types */
    C_WORD_STRUCT,
    C_WORD_UNION,
    C_WORD_ENUM,
    C_WORD_TYPEDEF,
    C_WORD_SKIP,           /* const, static, __user …: words that say nothing about layout */
    C_WORD_SKIP_ARGUMENTS, /* __counted_by(x): as SKIP, with what is in parentheses */
    C_WORD_ATTRIBUTE,
    C_WORD_PACKED,
    C_WORD_ALIGNED,
    C_WORD_ALIGNAS,
    C_WORD_TYPEOF,
    C_WORD_STATIC_ASSERT,
    C_WORD_ASM,
    C_WORD_SIZEOF,
    C_WORD_ALIGNOF,
    C_WORD_OFFSETOF,
};

struct c_symbol { /* a word, one for each spelling */
    const char *name;
    enum c_word word;
    struct c_macro *macro;
    const struct c_typedef *type;
    const struct c_constant_name *constant;
    struct c_tag *tag; /* struct, union and enum share one name space */
};

struct c_token {
    enum c_token_kind kind : 8;
    bool begins_line, has_blank, is_painted; /* painted: never to be expanded */
    uint32_t length;
    const char *text;
    struct c_symbol *symbol; /* C_NAME */
};
struct c_tokens {
    struct c_token *items;
    size_t count, room;
};

enum c_dynamic { C_DYNAMIC_NONE, C_DYNAMIC_LINE, C_DYNAMIC_FILE, C_DYNAMIC_COUNTER };
struct c_macro {
    bool is_function, is_variadic, is_busy;
    enum c_dynamic dynamic;
    struct c_symbol **parameters; /* the last one of a variadic macro is __VA_ARGS__ or its name */
    size_t parameter_count, parameter_room;
    struct c_tokens body;
};

struct c_layer { /* tokens that are read before those of the layers and the file below */
    struct c_layer *below;
    const struct c_token *tokens;
    size_t count, next;
    struct c_macro *macro; /* the macro that is busy while the layer is there; or NULL */
    bool is_barrier;       /* the stream ends at its end */
};

struct c_header {            /* a path that was looked for */
    const char *path, *text; /* with the error -EPERM, the text is the reason why it must not be taken */
    size_t length;
    int error;              /* not 0: it cannot be read, and why: -errno */
    bool once;              /* it says #pragma once */
    struct c_symbol *guard; /* all of it is between #ifndef and #endif of this macro; NULL: it is not */
};

struct c_condition {
    struct c_condition *outer;
    uint32_t begin; /* where its #if stands in the file */
    bool was_taken, had_else;
};

struct c_file {
    struct c_file *includer;
    struct source source;
    const struct source *script; /* not NULL: this is the script, or what it imports */
    struct c_file *next_script;
    uint32_t position;
    bool at_line_start;
    struct c_condition *conditions;
    struct c_header *header;   /* NULL: the text is built in, or the script */
    struct c_condition *guard; /* the #ifndef with which the file begins; or NULL */
    struct c_symbol *guard_symbol;
    const char *directory; /* where #include "x" in this file looks first */
    size_t searched;       /* how many directories were tried until it was found, for #include_next */
};

struct c_typed {             /* a type of C */
    const struct type *type; /* NULL: a function */
    uint32_t align;
};
struct c_typedef {
    struct c_typed typed;
    bool of_script;
};
struct c_constant_name {
    const struct type *type;
    int64_t value;
    bool of_script;
};
struct c_tag {
    enum c_word word; /* struct, union, enum */
    struct type *type;
    uint32_t align;
    bool is_defined, of_script;
};

struct c_attributes {
    bool is_packed;
    uint32_t align; /* 0: no attribute says it */
    uint32_t mode;  /* bytes that the attribute __mode__ says; 0: there is none */
};

struct c_definitions {
    struct c_options options;
    struct arena *arena;
    struct table symbols;
    struct c_file *file, *floor;
    struct c_file *script;
    struct c_layer *layer, *spare;
    struct span span; /* span of the newest token or directive in the script */
    bool in_block;    /* a macro is being expanded for the lexer, where # begins no directive */
    bool is_exhausted;
    size_t tokens_made, files_opened, bytes_read, bytes_gone_through, counter;
    unsigned include_depth, depth, reports;
    uint32_t pack, pack_stack[16];
    unsigned pack_depth;
    struct c_symbol *defined, *va_args, *has_include;

    struct c_token peeked; /* the token that c_peek() returned */
    bool has_peeked;

    const char *line_text; /* the text in which line_of() counted lines, and how far */
    uint32_t line_position, line;

    const char *missing;
    const char **notes;
    size_t note_count, note_room;
    struct table headers; /* struct c_header, by path */

    /* the newest expansion, which is returned again when the lexer looks ahead */
    struct lexer_expansion *expansion;
    const struct source *expansion_source;
    uint32_t expansion_begin, expansion_end;
};

/* c/token.c */
struct c_symbol *c_symbol(struct c_definitions *c, const char *text, size_t length);
/* Returns the next token of a text from *position on. within_line: C_END at the end of the line, which is not
 * passed. */
struct c_token c_lex(struct c_definitions *c, const char *text, size_t length, uint32_t *position,
                     bool within_line);
bool c_is(const struct c_token *token, const char *mark);
/* Moves *position behind blanks and comments, and ends of lines unless within_line is set. */
void c_skip_blanks(const char *text, size_t length, uint32_t *position, bool within_line, bool *line_ended);
int64_t c_character(const struct c_token *token); /* value of a C_CHARACTER */
void c_tokens_add(struct c_definitions *c, struct c_tokens *tokens, struct c_token token);

/* c/preprocess.c */
struct c_token c_fetch(struct c_definitions *c); /* returns the next token without expanding it */
struct c_token c_next(struct c_definitions *c);  /* returns the next token after expansion */
void c_push(struct c_definitions *c, const struct c_token *tokens, size_t count, struct c_macro *macro,
            bool is_barrier);
/* Expands a list of tokens that is independent of what follows it. */
struct c_tokens c_expand_tokens(struct c_definitions *c, const struct c_tokens *tokens);
void c_fail(struct c_definitions *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void c_note_add(struct c_definitions *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void c_hint(struct c_definitions *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool c_in_script(const struct c_definitions *c);
/* Counts tokens that are made. False after a diagnostic: no more may be made, or too much memory was used. */
bool c_spend(struct c_definitions *c, size_t tokens);

/* c/directive.c */
void c_directive(struct c_definitions *c); /* reads a directive at the # of the innermost file */
bool c_file_push(struct c_definitions *c, const char *name, const char *text, size_t length);
void c_file_pop(struct c_definitions *c);
/* reads all files that were pushed above it */
void c_read_files(struct c_definitions *c, const struct c_file *down_to);

/* c/evaluate.c */
struct c_value {
    uint64_t bits;
    bool is_unsigned;
    uint8_t size; /* 4 or 8 */
};
/* Where the tokens of an expression come from: a list, or the stream of declarations if `tokens` is NULL. */
struct c_cursor {
    struct c_definitions *c;
    const struct c_tokens *tokens;
    size_t next;
    bool is_condition; /* an expression of #if: names are 0, all values have 64 bits */
    const char *error;
};
/* Evaluates a conditional expression. False: cursor->error says why it cannot be. */
bool c_evaluate(struct c_cursor *cursor, struct c_value *value);

/* c/declare.c */
const struct c_token *c_peek(struct c_definitions *c);
struct c_token c_take(struct c_definitions *c);
bool c_begins_type(struct c_definitions *c);
/* reads the name of a type, as in sizeof(…) */
bool c_type_name(struct c_definitions *c, struct c_typed *typed);
/* reads one declaration, or reports an error and recovers */
void c_declare_external(struct c_definitions *c);

/* c/layout.c */
struct c_member {
    const char *name; /* NULL: none */
    struct c_typed typed;
    struct c_attributes attributes;
    bool is_bit_field;
    uint32_t width;
};
struct c_layout {
    bool is_union;
    struct c_attributes attributes; /* attributes of the struct */
    uint32_t pack;                  /* #pragma pack; 0: none */
    uint64_t bits; /* the bit at which the next member may begin; of a union the largest size */
    uint32_t align;
    struct field *fields;
    size_t count, room;
};
void c_layout_add(struct arena *arena, struct c_layout *layout, const struct c_member *member);
bool c_layout_end(struct c_layout *layout, uint32_t *size); /* false: too large */
uint32_t c_align_of(const struct type *type); /* the alignment of a type for which none was stored */

/* c/headers.c */
const char *c_embedded_header(const char *name); /* NULL: none */
/* what the kernel's own header of that name adds; NULL: nothing */
const char *c_header_supplement(const char *name);
extern const char c_predefined[];
bool c_is_kernel_header(const char *name);

#endif
