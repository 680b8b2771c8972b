/* SPDX-License-Identifier: BSD-3-Clause */
/* What a value is: kind, width, sign, address space, fields, enumerators.
 *
 * Types come from literals and expressions of the script, from kernel BTF, tracefs formats, notes and
 * debug information. They are made in an arena, never changed after they are shared, and compared by
 * structure (type_equal). All code that reads bytes of a value finds here how it is laid out.
 *
 * The one storage rule: in map keys, map values, tuples and event records every scalar (integer, bool,
 * enum, pointer) takes 8 bytes, sign- or zero-extended as its type says, and everything else is padded
 * with zeros to a multiple of 8. So equality is a compare of words and keys are unique.
 * `size` is what the language calls sizeof (and the width in traced memory); type_storage() is how many
 * bytes a value takes in storage.
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
 *     hist, lhist, llhist   without a key u64 per row; maps with keys have the key (key, u64 row) and a u64 value
 *     tseries               u64 number of the interval since 1970, value, u64 (see enum series_value); one element per
 *                           interval, a ring of them: the map's key is (key, u64 row), without a key u32 row
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
    TYPE_CONTAINER,
    TYPE_POD,
    TYPE_AGGREGATION, /* only as the value of a map */
};

/* What a time series keeps of each interval. Depending on it, the third word of an element is the time of the value
 * plus 1, the number of values, or 1; it is 0 where there is no value. */
enum series_value { SERIES_LAST, SERIES_AVG, SERIES_SUM, SERIES_MIN, SERIES_MAX };

/* The address space into which a pointer points. SPACE_NONE: unknown, the probe decides. SPACE_BPF: the program's
 * own memory (maps, stack). */
enum address_space { SPACE_NONE, SPACE_KERNEL, SPACE_USER, SPACE_BPF };

/* How a stack is printed. */
enum stack_mode { STACK_BPFTRACE, STACK_PERF, STACK_RAW, STACK_BUILD_ID };

struct type;

struct field {
    const char *name; /* "" for an anonymous member and for tuple elements */
    const struct type *type;
    uint32_t offset; /* bytes from the start: in traced memory for a struct, in storage for a tuple */
    /* of a bit-field, from the least significant bit of the byte at `offset`; bit_size 0: it is no bit-field */
    uint8_t bit_offset, bit_size;
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
    /* of a pointer; of a struct or array the space from which it was copied, if known */
    enum address_space space;
    enum stack_mode stack_mode; /* kstack, ustack */
    uint32_t
        stack_frames; /* kstack, ustack: how many frames it has at most; of a name: 1, if it has several lines */
    const char *name; /* struct, union, enum, typedef name: "task_struct"; else NULL */
    bool is_union;
    /* an array of 4 or 8 bytes that are a float or a double of C, which are only copied and printed */
    bool is_float;
    const struct aggregation *aggregation; /* the kind of aggregation; of other types NULL */
    const struct type *target; /* pointer, array: the element; aggregation: the value aggregated */
    /* array: elements; tuple, struct: fields; enum, quantile: enumerators; string: characters, if it was an array;
     * probe name: bytes of its text */
    uint32_t count;
    const struct field *fields;           /* struct, tuple */
    const struct enumerator *enumerators; /* enum; quantile: the shares that were asked for, in millionths */
    int64_t minimum, maximum, step; /* lhist; hist: step = k, the bits of sub-buckets (0..5); tseries: step =
                                       ns of an interval, maximum = number of intervals */
    enum series_value series;       /* tseries */
    const char *format;             /* timestamp: strftime format */
    /* Of a struct that is known only by its name until its members are needed: fills in count and fields, or leaves
     * them empty. Other code calls type_complete() instead. */
    void (*complete)(struct type *type, void *provider);
    void *provider;
};

/* Types that exist once, and are never freed. */
extern const struct type type_none, type_bool, type_string_empty;
extern const struct type type_i8, type_i16, type_i32, type_i64, type_u8, type_u16, type_u32, type_u64;

/* 1, 2, 4 or 8 bytes; one of the types above */
const struct type *type_integer(unsigned bytes, bool is_signed);
const struct type *type_pointer(struct arena *arena, const struct type *target, enum address_space space);
const struct type *type_string(struct arena *arena, uint32_t capacity); /* at least 1 */
/* A string that was an array of so many characters: it has room for one more, a NUL. */
const struct type *type_text_array(struct arena *arena, uint32_t count);
/* Returns how many elements an array has, or a string that was an array of characters. */
uint32_t type_characters(const struct type *type);
const struct type *type_buffer(struct arena *arena, uint32_t capacity);
const struct type *type_array(struct arena *arena, const struct type *element, uint32_t count);
/* A floating-point number of C. One of another size than float and double is an array of bytes. */
const struct type *type_float(struct arena *arena, uint32_t size);
bool type_size_is_float(uint64_t size);
const struct type *type_tuple(struct arena *arena, const struct type *const *elements, uint32_t count);
/* A tuple whose elements have names: a record. names NULL: type_tuple(). */
const struct type *type_record(struct arena *arena, const char *const *names,
                               const struct type *const *elements, uint32_t count);
/* Returns a tuple with the names of `tuple`, if it has any, and other elements. */
const struct type *type_tuple_like(struct arena *arena, const struct type *tuple,
                                   const struct type *const *elements);
bool type_is_record(const struct type *type);
/* Returns which element of `tuple` corresponds to element i of `other`: in records the one of the same name, else
 * the one in the same place. -1: there is none. */
int type_element(const struct type *tuple, const struct type *other, uint32_t i);
const struct type *type_simple(struct arena *arena, enum type_kind kind); /* ksym, usym, inet, … */
/* The name of a probe or a function: a number that is printed as its text. Where it meets texts it becomes a string
 * that has room for `bytes`. */
const struct type *type_probe_name(struct arena *arena, uint32_t bytes);
const struct type *type_aggregation(struct arena *arena, const struct aggregation *kind,
                                    const struct type *value);

/* Whether it is ksym_t or usym_t. Where texts stand beside symbols in one map, an address that no machine has is
 * the index of a text. */
bool type_is_symbol(const struct type *type);
#define SYMBOL_IS_NAME (UINT64_C(1) << 62)
#define SYMBOL_HAS_NAME(address) ((address) >> 62 == 1)
/* Returns what C's sizeof would say: members of a tuple count with their natural alignment, although they take
 * whole words in storage. */
uint64_t type_c_size(const struct type *type);
bool type_is_scalar(const struct type *type); /* integer, bool, enum, pointer: it fits in a register */
bool type_is_number(const struct type *type); /* integer, bool, enum */
bool type_is_aggregation(const struct type *type);
bool type_has_shape(const struct type *type,
                    enum aggregation_shape shape); /* it is an aggregation of this shape */
/* Whether the map of an aggregation has an element for each row or interval of a key: AGGREGATION_ROWS and
 * AGGREGATION_SERIES. */
bool type_has_rows(const struct type *type);
/* Whether the map of a type is per-CPU, as that of every aggregation is. */
bool type_is_per_cpu(const struct type *type);
/* Whether an aggregation reads as an integer: AGGREGATION_NUMBER, and AGGREGATION_STATS as its average. */
bool type_reads_as_integer(const struct type *type);
/* Whether a type is no scalar and its values can be compared: they are equal when their words are. */
bool type_is_comparable(const struct type *type);
/* Whether what is printed is a name for a number, which is word 0 of the storage: an address, an id, a time. */
bool type_is_numbered(const struct type *type);
/* How keys of a map are ordered when it is printed. */
enum type_order {
    ORDER_NONE,   /* as the map gives them */
    ORDER_NUMBER, /* by word 0 */
    ORDER_BYTES,  /* by `size` bytes, as memcmp() does */
    ORDER_FIELDS, /* by each element in turn */
};
enum type_order type_order(const struct type *type);
/* Whether a type is of this kind, or a tuple with such an element. */
bool type_holds(const struct type *type, enum type_kind kind);
bool type_equal(const struct type *a, const struct type *b);
/* Writes how two types differ that have the same name; else nothing. */
void type_difference(struct text *out, const struct type *a, const struct type *b);

/* Returns the smallest type that holds both: the wider integer, the longer string, a tuple field by field; NULL if
 * there is none. bool with integer gives integer; pointers must have equal targets, or one is void*. */
const struct type *type_common(struct arena *arena, const struct type *a, const struct type *b);

uint32_t type_storage(const struct type *type);
/* Returns how many rows or intervals an aggregation has for which type_has_rows() is true. */
uint32_t type_rows(const struct type *type);

void type_complete(const struct type *type);
/* Finds a member, looking into anonymous members; offset is the sum. False: there is none. */
bool type_find_field(const struct type *type, const char *name, struct field *out);
const char *type_enumerator(const struct type *type, int64_t value); /* NULL: there is no such value */
/* Returns all flags of an enum whose values are meant to be combined, 0 if it is none of that kind. The values show
 * it: three or more are powers of two, and there are more than three of these for each of the other values, 0 and
 * the sum of all flags not counted. */
uint64_t type_flags(const struct type *type);

/* Writes a type as a C programmer or the language writes it: "uint64", "string[64]", "struct task_struct *",
 * "(int64,string[16])", "count_t". */
void type_describe(struct text *out, const struct type *type);
const char *type_text(struct arena *arena, const struct type *type);

#endif
