/* SPDX-License-Identifier: BSD-3-Clause */
/* What a value is: kind, width, sign, address space, fields, enumerators.
 *
 * Types come from literals and expressions of the script, from kernel BTF, tracefs formats, notes and
 * debug information. They are made in an arena, never changed after they are shared, and compared by
 * structure (type_equal). All code that looks at bytes of a value asks here how it is laid out.
 *
 * The one storage rule: in map keys, map values, tuples and event records every scalar (integer, bool,
 * enum, pointer) takes 8 bytes, sign- or zero-extended as its type says, and everything else is padded
 * with zeros to a multiple of 8. So equality is a compare of words and keys are unique.
 * `size` is what the language calls sizeof (and the width in traced memory); type_storage() is the bytes
 * in our own memory.
 *
 *   kind                    storage
 *   scalar                  8
 *   string[N]               N rounded up to 8; text, NUL if shorter, zeros; full without NUL = truncated
 *   buffer[N]               u64 length used, then N bytes rounded up to 8
 *   array, struct           the bytes as in traced memory, rounded up to 8
 *   tuple                   its fields in order, each at a multiple of 8
 *   ksym                    u64 address
 *   usym                    u64 address, u64 pid
 *   kstack                  u64 stack id (0: failed unwind)
 *   ustack                  u64 stack id, u64 pid
 *   inet                    u64 bytes used (4 or 16), 16 bytes address
 *   timestamp               u64 ns since boot (format: the type's)
 *   username                u64 uid
 *   name                    u64 index into the session's name table (probe, func)
 *   macaddr                 6 bytes, 2 zeros
 *   cgroup path             u64 number of the group (format: the type's, a filter of hierarchies, or NULL)
 *   aggregation             per CPU, what its kind says (type/aggregation.h):
 *     count, sum            u64 / s64 total
 *     min, max              value, u64 set
 *     avg, stats            total, u64 count  (total signed as .is_signed says)
 *     hist, lhist, llhist   u64 per row, keyless; keyed maps have key (key, u64 row) and a u64 value
 *     tseries               u64 number of the interval since 1970, value, u64 (see enum series_value); one element per
 *                           interval, a ring of them: the map's key is (key, u64 row), keyless u32 row
 */
#ifndef SPOOR_TYPE_TYPE_H
#define SPOOR_TYPE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "type/aggregation.h"

enum type_kind {
    TYPE_NONE, /* void: no value */
    TYPE_INTEGER,
    TYPE_BOOL,
    TYPE_ENUM,
    TYPE_POINTER,
    TYPE_STRING,
    TYPE_BUFFER,
    TYPE_ARRAY,
    TYPE_STRUCT, /* struct, union, and a probe's args */
    TYPE_TUPLE,  /* also a record: its fields have names */
    TYPE_KSYM,
    TYPE_USYM,
    TYPE_KSTACK,
    TYPE_USTACK,
    TYPE_INET,
    TYPE_TIMESTAMP,
    TYPE_USERNAME,
    TYPE_PROBE_NAME,
    TYPE_MACADDR,
    TYPE_CGROUP_PATH,
    TYPE_AGGREGATION, /* only as the value of a map */
};

/* What a time series keeps of each interval, and what the third word of its element is then: the time of the
 * value plus 1, the number of values, or 1. It is 0 where there is no value. */
enum series_value { SERIES_LAST, SERIES_AVG, SERIES_SUM, SERIES_MIN, SERIES_MAX };

/* Where a pointer points. SPACE_NONE: unknown, the probe decides. SPACE_BPF: our own memory (maps, stack). */
enum address_space { SPACE_NONE, SPACE_KERNEL, SPACE_USER, SPACE_BPF };

/* How a stack is printed. */
enum stack_mode { STACK_BPFTRACE, STACK_PERF, STACK_RAW, STACK_BUILD_ID };

struct type;

struct field {
    const char *name; /* "" for an anonymous member and for tuple elements */
    const struct type *type;
    uint32_t offset; /* bytes from the start: in traced memory for a struct, in storage for a tuple */
    uint8_t bit_offset, bit_size; /* of a bit-field, from the least significant bit of the byte at offset;
                                     bit_size 0: not a bit-field */
    bool data_loc; /* tracefs __data_loc: the field holds (length << 16 | offset) of the real data */
};

struct enumerator {
    const char *name;
    int64_t value;
};

struct type {
    enum type_kind kind;
    uint32_t size; /* sizeof, bytes; string and buffer: capacity N */
    bool is_signed;
    enum address_space space;   /* pointer; struct and array: where it was copied from, if known */
    enum stack_mode stack_mode; /* kstack, ustack */
    uint32_t stack_frames;      /* kstack, ustack: most frames wanted */
    const char *name;           /* struct, union, enum, typedef name: "task_struct"; else NULL */
    bool is_union;
    bool
        is_float; /* array of 4 or 8 bytes: they are a float or a double of C, which are only copied and printed */
    const struct aggregation *aggregation; /* its kind; of others NULL */
    const struct type *target; /* pointer, array: the element; aggregation: the value aggregated */
    uint32_t count; /* array: elements; tuple, struct: fields; enum, quantile: enumerators; string: */
                    /* characters, if it was an array of them */
    const struct field *fields;           /* struct, tuple */
    const struct enumerator *enumerators; /* enum; quantile: the shares that were asked for, in millionths */
    int64_t minimum, maximum, step; /* lhist; hist: step = k, the bits of sub-buckets (0..5); tseries: step =
                                       ns of an interval, maximum = number of intervals */
    enum series_value series;       /* tseries */
    const char *format;             /* timestamp: strftime format */
    /* A struct known by name only until somebody looks inside: complete(type) fills count and fields, or
     * leaves them empty. Call type_complete(), never this. */
    void (*complete)(struct type *type, void *provider);
    void *provider;
};

/* Singletons. */
extern const struct type type_none, type_bool, type_string_empty;
extern const struct type type_i8, type_i16, type_i32, type_i64, type_u8, type_u16, type_u32, type_u64;

const struct type *type_integer(unsigned bytes, bool is_signed); /* 1, 2, 4 or 8: a singleton */
const struct type *type_pointer(struct arena *arena, const struct type *target, enum address_space space);
const struct type *type_string(struct arena *arena, uint32_t capacity); /* at least 1 */
/* A string that was an array of so many characters: it has room for one more, a NUL. */
const struct type *type_text_array(struct arena *arena, uint32_t count);
/* How many elements an array has, or a string that is indexed. */
uint32_t type_characters(const struct type *type);
const struct type *type_buffer(struct arena *arena, uint32_t capacity);
const struct type *type_array(struct arena *arena, const struct type *element, uint32_t count);
/* A floating-point number; what has other sizes than float and double is an array of bytes. */
const struct type *type_float(struct arena *arena, uint32_t size);
bool type_size_is_float(uint64_t size);
const struct type *type_tuple(struct arena *arena, const struct type *const *elements, uint32_t count);
/* A tuple whose elements have names: a record. names NULL: type_tuple(). */
const struct type *type_record(struct arena *arena, const char *const *names,
                               const struct type *const *elements, uint32_t count);
/* The same names (or none) with other elements. */
const struct type *type_tuple_like(struct arena *arena, const struct type *tuple,
                                   const struct type *const *elements);
bool type_is_record(const struct type *type);
/* Which element of `tuple` corresponds to number `i` of `other`: that of the same name in records, else that
 * in the same place. -1: there is none. */
int type_element(const struct type *tuple, const struct type *other, uint32_t i);
const struct type *type_simple(struct arena *arena, enum type_kind kind); /* ksym, usym, inet, name, … */
const struct type *type_aggregation(struct arena *arena, const struct aggregation *kind,
                                    const struct type *value);

/* ksym_t, usym_t. Where texts stand beside them in one map, an address that no machine has is the index of a name. */
bool type_is_symbol(const struct type *type);
#define SYMBOL_IS_NAME (UINT64_C(1) << 62)
#define SYMBOL_HAS_NAME(address) ((address) >> 62 == 1)
/* What C's sizeof would say: the members of a tuple at their natural alignment, which in our memory take whole words. */
uint64_t type_c_size(const struct type *type);
bool type_is_scalar(const struct type *type); /* integer, bool, enum, pointer: lives in a register */
bool type_is_number(const struct type *type); /* integer, bool, enum */
bool type_is_aggregation(const struct type *type);
bool type_has_shape(const struct type *type,
                    enum aggregation_shape shape); /* an aggregation, and of this shape */
/* An aggregation whose map has an element for each row or interval of a key: AGGREGATION_ROWS and AGGREGATION_SERIES. */
bool type_has_rows(const struct type *type);
bool type_is_per_cpu(const struct type *type); /* its map is per-CPU: the same set */
/* An aggregation that reads as an integer: AGGREGATION_NUMBER, and AGGREGATION_STATS as its average. */
bool type_reads_as_integer(const struct type *type);
/* Is it of this kind, or a tuple with such an element? */
bool type_holds(const struct type *type, enum type_kind kind);
bool type_equal(const struct type *a, const struct type *b);
/* Says how two types differ that are called alike; else nothing. */
void type_difference(struct text *out, const struct type *a, const struct type *b);

/* The smallest type that holds both: wider integer, longer string, tuple by field; NULL when there is none.
 * bool with integer gives integer; pointers must have equal targets or one be void*. */
const struct type *type_common(struct arena *arena, const struct type *a, const struct type *b);

uint32_t type_storage(const struct type *type);
/* How many rows or intervals an aggregation has of which type_has_rows() is true. */
uint32_t type_rows(const struct type *type);

void type_complete(const struct type *type);
/* Finds a member, looking into anonymous members; offset is the sum. False: there is none. */
bool type_find_field(const struct type *type, const char *name, struct field *out);
const char *type_enumerator(const struct type *type, int64_t value); /* NULL: no such value */
/* All flags of an enum whose values are meant to be combined, 0: it is not such a one. That is told by the
 * values: three or more are powers of two, and for each of the others, but 0 and all flags together, there
 * are three more. */
uint64_t type_flags(const struct type *type);

/* As a C programmer or the language writes it: "uint64", "string[64]", "struct task_struct *",
 * "(int64,string[16])", "count_t". */
void type_describe(struct text *out, const struct type *type);
const char *type_text(struct arena *arena, const struct type *type);

#endif
