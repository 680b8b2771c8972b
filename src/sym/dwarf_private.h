/* SPDX-License-Identifier: BSD-3-Clause */
/* What the dwarf*.c share; nobody else includes this. */
#ifndef SPOOR_SYM_DWARF_PRIVATE_H
#define SPOOR_SYM_DWARF_PRIVATE_H

#include <sys/stat.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <time.h>

#include "base/table.h"
#include "sym/dwarf.h"

/* Bounds of what is looked at: no real program comes near. */
#define DWARF_FILE_MAX ((uint64_t)32 << 30)
enum {
    DWARF_DEPTH_MAX = 64,
    DWARF_CHILDREN_MAX = 1 << 20, /* of a struct, enum or function */
    DWARF_STRUCT_MAX = 1 << 30,   /* bytes */
    DWARF_SECONDS_MAX = 60,       /* of one question; after it there are no more answers */
    DWARF_RANGES_MAX = 1 << 24,
};

/* What an entry of the index names. */
enum dwarf_kind {
    DWARF_KIND_STRUCT = 1, /* also a C++ class */
    DWARF_KIND_UNION,
    DWARF_KIND_ENUM,
    DWARF_KIND_TYPEDEF,
    DWARF_KIND_BASE,
    DWARF_KIND_FUNCTION,
    DWARF_KIND_VARIABLE,
    DWARF_KIND_ENUMERATOR, /* the entry is its enum */
};

struct dwarf_entry {
    uint64_t hash;  /* of the name */
    uint64_t where; /* kind << 60 | section << 58 | is_nested << 57 | offset */
};
struct dwarf_index {
    struct dwarf_entry *entries; /* by hash, then where */
    size_t count, room;
};

struct dwarf_unit_range {
    uint64_t low, high;
    Dwarf_Off unit; /* offset of its first entry */
};

struct dwarf_file {
    struct arena *arena;
    const char *path;
    int descriptor;    /* the program */
    uint64_t identity; /* of it and of the files that describe it: dwarf_identify */
    struct dwarf_options options;
    Dwfl *session;
    Dwfl_Module *module;
    Dwarf *dwarf;
    struct table made;               /* types, by the address of their entry */
    struct dwarf_unit_range *ranges; /* by low */
    size_t range_count;
    bool ranges_read, index_read;
    struct dwarf_index index;
    uint64_t entries; /* looked at */
    time_t deadline;  /* of the question that is answered now */
    bool is_late, is_cut;
    const char *on_wait; /* what to tell of it when it takes longer than a second; then NULL */
};

/* dwarf.c */
/* The unit that contains the address. */
bool dwarf_unit_at(struct dwarf_file *file, uint64_t address, Dwarf_Die *unit);
/* The innermost function or inlined instance there. */
bool dwarf_scope_at(struct dwarf_file *file, uint64_t address, Dwarf_Die *found);
/* Every question begins with DWARF_QUESTION and ends where its block does. One that took too long, or during
 * which the file was cut short, is the last. */
struct dwarf_question {
    struct dwarf_file *file;
};
struct dwarf_question dwarf_ask(struct dwarf_file *file);
void dwarf_answered(struct dwarf_question *question);
#define DWARF_QUESTION(of)                                                                                   \
    __attribute__((cleanup(dwarf_answered), unused)) struct dwarf_question question = dwarf_ask(of)
/* Whether the question took too long. Tells what is waited for. */
bool dwarf_is_late(struct dwarf_file *file);
/* To the next entry at the same level. False: there is none, it does not lie behind (a circle), or it took
 * too long. */
bool dwarf_next(struct dwarf_file *file, Dwarf_Die *die);
bool dwarf_has(Dwarf_Die *die, unsigned attribute);
/* An unsigned attribute, seen through what the entry completes. */
bool dwarf_number(Dwarf_Die *die, unsigned attribute, uint64_t *value);
enum dwarf_kind dwarf_kind_of(int tag); /* 0: nothing that the index has */

bool dwarf_holds_code(int tag);                                     /* a scope with addresses */
const char *dwarf_spelled(struct dwarf_file *file, Dwarf_Die *die); /* of DW_AT_type, in the file's arena */

/* dwarf_index.c */
/* Each entry of that kind and name, those at the top first. Non-zero stops. */
typedef int dwarf_die_visitor(void *state, Dwarf_Die *die);
int dwarf_index_each(struct dwarf_file *file, enum dwarf_kind kind, const char *name,
                     dwarf_die_visitor *visit, void *state);
/* The same over one unit alone, which needs no index. */
int dwarf_unit_each(struct dwarf_file *file, Dwarf_Die *unit, enum dwarf_kind kind, const char *name,
                    dwarf_die_visitor *visit, void *state);

/* dwarf_fast.c: the same by the indexes that came with the program; 0 also where they do not have it. */
int dwarf_fast_each(struct dwarf_file *file, enum dwarf_kind kind, const char *name, dwarf_die_visitor *visit,
                    void *state);

/* dwarf_cache.c: index is left as it is when there is none, or a damaged one. */
bool dwarf_cache_read(struct dwarf_file *file, struct dwarf_index *index);
/* One more file that the debug information comes from: its cache is for these very files. */
void dwarf_identify(struct dwarf_file *file, const struct stat *status);
void dwarf_cache_write(struct dwarf_file *file, const struct dwarf_index *index);

/* dwarf_types.c */
const struct type *dwarf_type_make(struct dwarf_file *file, Dwarf_Die *die, unsigned depth);
/* Of the DW_AT_type of an entry; void: type_none. */
const struct type *dwarf_type_of(struct dwarf_file *file, Dwarf_Die *die, unsigned depth);
bool dwarf_type_die(Dwarf_Die *die, Dwarf_Die *type); /* DW_AT_type; false: void */
bool dwarf_strip(Dwarf_Die *die);                     /* typedefs and qualifiers; false: void */
/* Of a variable that has one place in the program; 0 or -ENOENT. */
int dwarf_static_address(Dwarf_Die *die, uint64_t *address);
/* dwarf_spell.c: the type of DW_AT_type, as C writes it where no name follows. */
void dwarf_spell(Dwarf_Die *die, struct text *out, unsigned depth);

/* dwarf_call.c: where the machine's calling convention puts things when a function begins. */
struct dwarf_call {
    struct dwarf_file *file;
    enum machine machine;
    unsigned integers, vectors; /* registers taken */
    uint64_t stack;             /* bytes of arguments on the stack so far */
};
void dwarf_call_begin(struct dwarf_call *call, struct dwarf_file *file, Dwarf_Die *function);
struct dwarf_location dwarf_call_next(struct dwarf_call *call, Dwarf_Die *parameter);
struct dwarf_location dwarf_call_result(struct dwarf_file *file, Dwarf_Die *function);

/* dwarf_location.c: where the value described by the attribute `location` of an entry is at an address. */
struct dwarf_location dwarf_location_at(struct dwarf_file *file, Dwarf_Die *die, Dwarf_Die *function,
                                        uint64_t address, bool is_entry);

#endif
