/* SPDX-License-Identifier: BSD-3-Clause */
/* printf's formats: parsed once into segments, then printed with typed arguments as often as records come.
 *
 * The checker asks format_accepts() per argument and format_count_problem() once; format_print() itself
 * never fails: an argument that its conversion does not take is printed as %s prints it. What looks like a
 * conversion but is none ("100%\n") is literal text. */
#ifndef SPOOR_PRINT_FORMAT_H
#define SPOOR_PRINT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "print/value.h"
#include "type/type.h"

struct format_segment {
    const char *literal; /* text before the conversion, %% already made % */
    uint32_t literal_length;
    /* Where the conversion is in the format, in bytes; both are equal where there is none, at its end. */
    uint32_t begin, end;
    uint32_t width;
    char conversion; /* one of d i u o x X c p s r g; 0: there is none */
    char variant;    /* variant of %r: 0, x or h */
    uint8_t bits;    /* how many bits of an integer are printed: 8, 16, 32 or 64 */
    bool left, plus, space, zero, alternate;
};

struct format {
    const struct format_segment *segments;
    size_t count;     /* segments; the last may have no conversion */
    size_t arguments; /* how many segments have a conversion */
};

/* Cannot fail: any text is a format. */
const struct format *format_parse(struct arena *arena, const char *text, size_t length);

/* The segment of the nth conversion, 0-based. */
const struct format_segment *format_conversion(const struct format *format, size_t n);
/* Does the conversion take a value of this type? If not the checker says
 * "unsupported format specifier for type 'T': c". */
bool format_accepts(const struct format_segment *segment, const struct type *type);
/* "not enough arguments for format string (0 supplied, 1 expected)", "too many …"; NULL: the count is right.
 */
const char *format_count_problem(struct arena *arena, const struct format *format, size_t supplied);

struct format_argument {
    const struct type *type;
    const void *bytes; /* in storage form */
    bool is_own;       /* the text is written in the script: its newlines are printed as they are */
};
/* Appends the text. Arguments that are missing print nothing. Also in a JSON printer this is plain text: see
 * record_format() in print/record.h for the JSON line. */
void format_print(struct printer *printer, const struct format *format,
                  const struct format_argument *arguments, size_t count);

#endif
