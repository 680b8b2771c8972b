/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share; no other file includes it. */
#ifndef SPOOR_SYM_DWARF_PRIVATE_H
#define SPOOR_SYM_DWARF_PRIVATE_H

#include <sys/stat.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <time.h>

#include "base/table.h"
#include "base/wire.h"
#include "sym/dwarf/dwarf.h"

/* Bounds of what is read: no real program comes near. */
#define DWARF_FILE_MAX ((uint64_t)32 << 30)
enum {
    DWARF_DEPTH_MAX = 64,
    DWARF_CHILDREN_MAX = 1 << 20, /* of a struct, enum or function */
    DWARF_STRUCT_MAX = 1 << 30,   /* bytes */
    DWARF_SECONDS_MAX = 60,       /* for one question; after that there are no more answers */
    DWARF_RANGES_MAX = 1 << 24,
    DWARF_PLACES_MAX = 8,
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
    DWARF_KIND_ENUMERATOR, /* the entry is that of its enum */
};

struct dwarf_entry {
    uint64_t hash;  /* hash of the name */
    uint64_t where; /* kind << 60 | section << 58 | is_nested << 57 | offset */
};
struct dwarf_index {
    struct dwarf_entry *entries; /* sorted by hash, then by where */
    size_t count, room;
};

struct dwarf_unit_range {
    uint64_t low, high;
    Dwarf_Off unit; /* offset of its first entry */
};

struct dwarf_symbol {
    uint64_t address;
    bool is_plain; /* its name has no suffix */
};

/* The files that are read, before the service is started that reads them. */
struct dwarf_source {
    const char *path; /* path of the program, for files that belong to it */
    /* descriptors; -1: there is none. debug: the file with its debug information; alternative: what dwz has moved to
     * a file for several programs */
    int program, debug, alternative;
    int index; /* index of its names in the cache; -1: there is none */
    /* the path of something in each of the directories where what the compiler has split off may be */
    const char *places[DWARF_PLACES_MAX];
    size_t place_count;
    uint64_t key;  /* key in the cache; 0: the program has none */
    bool may_open; /* files that the compiler has split off may be opened */
};

/* In the service: the debug information as libdw reads it. */
struct dwarf_reader {
    struct arena *arena;
    const struct dwarf_source *source;
    /* debug: the file of its own that has the debug information; NULL: the program has it. Mapped; the descriptor is
     * the one of the file that has it */
    Elf *program, *debug;
    int descriptor;
    Dwarf *dwarf, *alternative;
    Dwarf_CFI *frames;               /* those of the program's .eh_frame; NULL: none, or nobody has asked */
    struct table made;               /* types that have been made, by the address of their entry */
    struct dwarf_unit_range *ranges; /* sorted by `low` */
    size_t range_count;
    struct table units;           /* struct dwarf_unit by the address of the unit's first entry: unit.c */
    struct dwarf_symbol *symbols; /* those of functions, sorted by `address` */
    size_t symbol_count;
    bool ranges_read, index_read, symbols_read;
    struct dwarf_index index;
    uint64_t entries; /* how many entries have been read */
    time_t deadline;  /* deadline of the current question */
    bool is_late, is_cut;
    bool reports_wait; /* whether to report that it takes longer than a second, which is done once */
};

/* Opens debug information. Returns 0; -ENOENT: there is none; -EBADMSG: a file was cut short; -ENOMEM. *is_split:
 * some of it is in files that the compiler has split off; then nothing is opened unless these may be opened. */
int dwarf_reader_open(const struct dwarf_source *source, struct arena *arena, struct dwarf_reader **out,
                      bool *is_split);
void dwarf_reader_close(struct dwarf_reader *file);
/* In the service: the functions behind those of dwarf.h whose names begin with dwarf_file. */
const struct type *dwarf_reader_type(struct dwarf_reader *file, const char *name, uint64_t near);
const struct type *dwarf_reader_enumerator(struct dwarf_reader *file, const char *name, uint64_t near,
                                           int64_t *value);
int dwarf_reader_each_enum(struct dwarf_reader *file, const char *pattern, dwarf_name_visitor *visit,
                           void *state);
int dwarf_reader_variable(struct dwarf_reader *file, const char *name, uint64_t near, uint64_t *address,
                          const struct type **type);
int dwarf_reader_each_function(struct dwarf_reader *file, const char *name, dwarf_place_visitor *visit,
                               void *state);
int dwarf_reader_each_line(struct dwarf_reader *file, const char *source, unsigned line, unsigned column,
                           dwarf_place_visitor *visit, void *state, unsigned *next);
int dwarf_reader_function(struct dwarf_reader *file, uint64_t address, const char *name,
                          struct dwarf_function *out);
int dwarf_reader_operand(struct dwarf_reader *file, uint64_t address, const struct dwarf_operand *operand,
                         struct dwarf_expression *out);

/* dwarf/service.c: questions to the service, and its notices. */
enum dwarf_question_kind {
    DWARF_ASK_OPEN,
    DWARF_ASK_TYPE,
    DWARF_ASK_ENUMERATOR,
    DWARF_ASK_ENUMS,
    DWARF_ASK_VARIABLE,
    DWARF_ASK_FUNCTIONS,
    DWARF_ASK_LINE,
    DWARF_ASK_FUNCTION,
    DWARF_ASK_OPERAND,
    DWARF_ASK_FIELDS,
    DWARF_ASK_COUNT
};
enum dwarf_notice { DWARF_NOTICE_WAIT, DWARF_NOTICE_PROBLEM, DWARF_NOTICE_MISSING, DWARF_NOTICE_INDEX };
struct dwarf_service;
struct dwarf_service *dwarf_service_new(const struct dwarf_source *source); /* NULL: memory ran out */
void dwarf_service_free(struct dwarf_service *service); /* called in the process that made it */
struct apart_question;
int dwarf_serve(void *service, struct apart_question *question, struct text *answer);

/* dwarf.c */
/* Finds the unit that contains an address. */
bool dwarf_unit_at(struct dwarf_reader *file, uint64_t address, Dwarf_Die *unit);
/* Returns in *origin the entry that an instance is of, or the entry itself. */
void dwarf_origin_of(Dwarf_Die *die, Dwarf_Die *origin);
/* Every function of the service begins with DWARF_QUERY_SCOPE, which ends with its block. A question that took too
 * long, or during which the file was cut short, is the last one. */
struct dwarf_question {
    struct dwarf_reader *file;
};
struct dwarf_question dwarf_ask(struct dwarf_reader *file);
void dwarf_answered(struct dwarf_question *question);
#define DWARF_QUERY_SCOPE(of)                                                                                \
    __attribute__((cleanup(dwarf_answered), unused)) struct dwarf_question question = dwarf_ask(of)
/* Whether the question took too long. Reports what is waited for. */
bool dwarf_is_late(struct dwarf_reader *file);
/* Moves to the next entry at the same level. False: there is none, it is not behind this one (a circle), or the
 * question took too long. */
bool dwarf_next(struct dwarf_reader *file, Dwarf_Die *die);
bool dwarf_has(Dwarf_Die *die, unsigned attribute);
/* Reads an unsigned attribute, also from the entry that this one completes. */
bool dwarf_number(Dwarf_Die *die, unsigned attribute, uint64_t *value);
enum dwarf_kind dwarf_kind_of(int tag); /* 0: nothing that is in the index */

/* the type of DW_AT_type as C writes it, in the file's arena */
const char *dwarf_spelled(struct dwarf_reader *file, Dwarf_Die *die);

/* dwarf/unit.c */
struct dwarf_scope {
    Dwarf_Die die;
    Dwarf_Die function; /* the subprogram around it, whose frame it uses */
    bool is_found;
};
/* Finds the innermost function or inlined instance around an address; with a name the innermost of that name; "": the
 * innermost that is not inlined. Returns scope->is_found. */
bool dwarf_scope_at(struct dwarf_reader *file, uint64_t address, const char *name, struct dwarf_scope *scope);
/* Finds what has an address among the functions of a unit, or among the blocks and inlined instances that are next inside of
 * a function, block or instance. What an entry has is walked over once. */
bool dwarf_code_at(struct dwarf_reader *file, const Dwarf_Die *parent, uint64_t address, Dwarf_Die *found);
/* Calls `visit` for each place in a unit where a function was inlined. An answer that is not 0 ends the walk. */
int dwarf_unit_instances(struct dwarf_reader *file, Dwarf_Die *unit, const Dwarf_Die *function,
                         dwarf_place_visitor *visit, void *state);
/* Looks at the symbols of an address: whether there is one, and one whose name has no suffix. */
void dwarf_symbols_at(struct dwarf_reader *file, uint64_t address, bool *any, bool *plain);
bool dwarf_holds_code(int tag); /* it is a scope with addresses */

/* Finds the base address of a scope: of one whose code is in several ranges, which has no lowest address of its own, the first
 * address of the first range (DWARF 5, 2.17). False: it has no code. */
bool dwarf_base_of(Dwarf_Die *die, uint64_t *address);
/* Finds where a scope is entered: its base address if nothing else is said. False: it has no code. */
bool dwarf_entry_of(Dwarf_Die *die, uint64_t *address);
void dwarf_units_free(struct dwarf_reader *file);

/* dwarf/index.c */
/* Calls `visit` for each entry of that kind and name, those at the outer level first. An answer that is not 0 ends
 * the walk. */
typedef int dwarf_die_visitor(void *state, Dwarf_Die *die);
int dwarf_index_each(struct dwarf_reader *file, enum dwarf_kind kind, const char *name,
                     dwarf_die_visitor *visit, void *state);
/* Calls `visit` with names of that kind that match a pattern, each once. An answer that is not 0 ends the walk. */
int dwarf_index_names(struct dwarf_reader *file, enum dwarf_kind kind, const char *pattern,
                      dwarf_name_visitor *visit, void *state);
/* As dwarf_index_each(), in one unit alone, which needs no index. */
int dwarf_unit_each(struct dwarf_reader *file, Dwarf_Die *unit, enum dwarf_kind kind, const char *name,
                    dwarf_die_visitor *visit, void *state);

/* dwarf/fast.c: as dwarf_index_each(), by the indexes that came with the program; 0 also if these do not have the
 * name. */
int dwarf_fast_each(struct dwarf_reader *file, enum dwarf_kind kind, const char *name,
                    dwarf_die_visitor *visit, void *state);

/* dwarf/cache.c. In the service: `index` is not changed if there is none in the cache, or a damaged one. */
bool dwarf_cache_read(const struct dwarf_source *source, struct dwarf_index *index);
void dwarf_cache_send(const struct dwarf_source *source, const struct dwarf_index *index);
/* In the process that asks: finds the file of the cache for these very files, by the program's build id. Sets key
 * and index. */
void dwarf_cache_find(struct dwarf_source *source, const uint8_t *build_id, size_t size);
void dwarf_cache_write(const struct dwarf_source *source, const void *entries, size_t size);

/* dwarf/sources.c, in the process that asks: opens the program at a path, and the files that describe it. Returns
 * 0, or why the program cannot be read. */
int dwarf_source_find(const struct dwarf_options *options, const char *path, struct dwarf_source *out);
void dwarf_source_close(struct dwarf_source *source);

/* dwarf/types.c */
const struct type *dwarf_type_make(struct dwarf_reader *file, Dwarf_Die *die, unsigned depth);
/* Returns the type of an entry's DW_AT_type; void: type_none. */
const struct type *dwarf_type_of(struct dwarf_reader *file, Dwarf_Die *die, unsigned depth);
bool dwarf_type_die(Dwarf_Die *die, Dwarf_Die *type); /* finds the entry of DW_AT_type; false: it is void */
bool dwarf_strip(Dwarf_Die *die);                     /* follows typedefs and qualifiers; false: it is void */
/* Finds the address of a variable that has one place in the program. Returns 0 or -ENOENT. */
int dwarf_static_address(Dwarf_Die *die, uint64_t *address);
/* dwarf/spell.c: writes the type of DW_AT_type, as C does where no name follows. */
void dwarf_spell(Dwarf_Die *die, struct text *out, unsigned depth);

/* dwarf/call.c: where the machine's calling convention puts things when a function begins. */
struct dwarf_call {
    struct dwarf_reader *file;
    enum machine machine;
    unsigned integers, vectors; /* how many registers are taken */
    uint64_t stack;             /* bytes of arguments that are on the stack so far */
};
void dwarf_call_begin(struct dwarf_call *call, struct dwarf_reader *file, Dwarf_Die *function);
struct dwarf_location dwarf_call_next(struct dwarf_call *call, Dwarf_Die *parameter);
struct dwarf_location dwarf_call_result(struct dwarf_reader *file, Dwarf_Die *function);

/* dwarf/location.c: where the value described by the attribute `location` of an entry is at an address. */
struct dwarf_location dwarf_location_at(struct dwarf_reader *file, Dwarf_Die *die, Dwarf_Die *function,
                                        uint64_t address, bool is_entry);

#endif
