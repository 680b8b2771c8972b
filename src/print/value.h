/* SPDX-License-Identifier: BSD-3-Clause */
/* One value as text or as JSON: a type, and the bytes in the storage layout that type.h describes.
 *
 * What is only a number in the bytes (a stack id, a symbol's address, a probe's index) gets its name from
 * the callbacks of struct print_names; without them, or when they know nothing, the number is printed.
 * Bytes and types may come from a hostile program: nothing is read beyond type_storage(type) bytes.
 * Nothing is allocated per value except growth of the texts. */
#ifndef SPOOR_PRINT_VALUE_H
#define SPOOR_PRINT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "sym/dwarf/lines.h"
#include "type/type.h"

/* What an address is. Strings live until the next call into print_names. */
struct print_symbol {
    const char *name;        /* NULL: the address is in `module`, in no known function */
    uint64_t offset;         /* from the start of name */
    const char *module;      /* path of the file, or kernel module; NULL: unknown */
    const uint8_t *build_id; /* build id of the file; NULL: it has none */
    size_t build_id_size;
    uint64_t file_offset; /* offset of the address in the file */
    bool is_not_code;     /* a return address that no call leads to: the walk over the stack went astray */
    const struct line_frame *lines; /* source, innermost first; the last one is the function's own */
    size_t line_count;
};

/* Names for numbers. Every callback may be NULL; owner is handed to each. */
struct print_stack {
    const uint64_t *frames; /* innermost first; they live until the next call */
    size_t count;
    bool is_exact;   /* none of them is by chance */
    const char *end; /* why there are no more; NULL: that was all, or as many as were wanted */
};

struct print_names {
    void *owner;
    /* False: nothing is known about the address. */
    bool (*kernel_symbol)(void *owner, uint64_t address, struct print_symbol *out);
    /* is_return: the address is where a call returns to. */
    bool (*user_symbol)(void *owner, uint32_t pid, uint64_t address, bool is_return,
                        struct print_symbol *out);
    /* The frames of a stack. False: there is no such stack. */
    bool (*stack)(void *owner, const struct type *type, uint64_t id, struct print_stack *out);
    /* TYPE_NAME: the probe or function with this index; NULL: no such name. */
    const char *(*name)(void *owner, uint64_t index);
    const char *(*username)(void *owner, uint64_t uid); /* NULL: no such user */
    /* "unified:/a/b"; filter: of hierarchies, or NULL. NULL: no such group. Lives until the next call. */
    const char *(*cgroup_path)(void *owner, uint64_t number, const char *filter);
    /* The id of the container of a group, or the uid of its pod; "": it is none's; NULL: there is no such group. */
    const char *(*container)(void *owner, uint64_t number, bool is_pod);
    /* CLOCK_REALTIME - CLOCK_BOOTTIME in nanoseconds, for timestamps. */
    int64_t (*boot_to_wall)(void *owner);
};

/* Somebody else who is told of maps while they are printed: those who draw them. Maps' names are with their @. */
struct printer;
struct map_snapshot;
struct map_watcher {
    void *state;
    /* Called when a map is printed: only the last `top` entries of its order (0: all), integers divided (0: not). May be
     * NULL. */
    void (*printed)(void *state, struct printer *printer, const struct map_snapshot *map, size_t top,
                    uint64_t divisor);
    /* clear() or zero() was called for a map, at a moment of the boot clock; 0: unknown. May be NULL. */
    void (*emptied)(void *state, const char *map, uint64_t moment);
    void (*ended)(void *state);     /* called when the text of the map is in printer->out. May be NULL. */
    const struct map_watcher *next; /* who is told after this one; or NULL */
};

struct printer {
    struct text *out;
    const struct print_names *names; /* or NULL */
    const char *trunc_trailer;       /* after a string that filled its buffer; NULL: ".." */
    bool json;
    const struct map_watcher *watcher; /* or NULL */
    uint64_t moment;                   /* time of the event that is handled, boot clock; 0: none is */
    uint64_t time;               /* time of the event, boot clock: JSON lines contain it; 0: they do not */
    bool json_enum_names;        /* JSON: enumerators, not their numbers */
    bool json_stack_text;        /* JSON: a stack is one string with newlines, not an array of frames */
    bool is_terminal;            /* text: what others put into strings must not command it, */
    bool keeps_lines;            /* and newlines in them are the script's own */
    bool bcc_histograms;         /* text: as BCC's print_log2_hist() lays them out */
    bool orders_by_key;          /* maps: by their keys, where these have an order, and not by their values */
    const char *histogram_title; /* title of their first column; NULL: "value" */
    struct text scratch;         /* internal; zero-initialise, printer_free() */
};
void printer_free(struct printer *printer);

/* The value as `print` would write it, without a newline at the end; as JSON when printer->json.
 * An aggregation's bytes are already summed over the CPUs (aggregation_sum in print/map.h); a hist or lhist
 * has its array of rows, and prints as the rows, each with its newline (JSON: the array of buckets). */
void print_value(struct printer *printer, const struct type *type, const void *bytes);
/* Prints like print_value(), with integers and averages divided (print's third argument; 0 counts as 1). */
void print_value_divided(struct printer *printer, const struct type *type, const void *bytes,
                         uint64_t divisor);
/* Always the text form, also in a JSON printer: what %s of printf and the keys of JSON objects are made of.
 */
void print_text(struct printer *printer, const struct type *type, const void *bytes);
/* A map's key: a tuple without its outermost parentheses. In text "a, b"; in JSON the inside of a string,
 * escaped, "a,b" (the caller writes the quotes). */
void print_key(struct printer *printer, const struct type *type, const void *bytes);

/* The three forms of printf's %r, %rx and %rh: printable characters and \xNN, all \xNN, "NN NN". */
enum buffer_form { BUFFER_ASCII, BUFFER_ESCAPED, BUFFER_HEX };
void print_buffer(struct printer *printer, const struct type *type, const void *bytes, enum buffer_form form);

/* The number in a scalar's storage, sign- or zero-extended as it is stored. */
uint64_t value_integer(const struct type *type, const void *bytes);
/* A scalar member of a struct as it lies in traced memory, extended as storage keeps it. */
uint64_t value_member(const struct field *field, const void *bytes, size_t left);
/* An array of characters: a text, where it is a member of a struct. */
bool value_is_text(const struct type *type);
/* The text in a string's storage, without what follows its NUL. *truncated: there was no NUL. */
size_t value_string_length(const struct type *type, const void *bytes, bool *truncated);

/* strftime with %f (microseconds, 6 digits), %l (milliseconds, 3 digits) and %k (nanoseconds, 9 digits) of
 * the second, of a time in ns since 1970, local time. */
void print_time(struct text *out, const char *format, int64_t wall_ns);

#endif
