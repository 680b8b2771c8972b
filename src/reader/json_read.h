/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON as others wrote it: is it that, and what are the members of an object? Nothing is built; a value is a
 * piece of the text. */
#ifndef SPOOR_READER_JSON_READ_H
#define SPOOR_READER_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct json_value { /* from its first byte to its last; bytes NULL: none */
    const char *bytes;
    size_t length;
};

struct json_wanted { /* a member of the outermost object */
    const char *name;
    struct json_value value; /* of the first with this name */
};

/* Is the text one whole object? Fills in what is wanted. */
bool json_read_object(const char *text, size_t length, struct json_wanted *wanted, size_t count);
/* A string's text, as UTF-8; false: it is no string. */
bool json_read_string(const struct json_value *value, struct text *out);
/* A whole number that is not negative, or a string of one; false: it is neither. */
bool json_read_unsigned(const struct json_value *value, uint64_t *number);

#endif
