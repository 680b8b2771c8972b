/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads JSON that other programs wrote: checks that it is an object, and finds its members. Nothing is built; a
 * value is a piece of the text. */
#ifndef SPOOR_READER_JSON_READ_H
#define SPOOR_READER_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct json_value { /* a value's text, from its first byte to its last; bytes NULL: there is none */
    const char *bytes;
    size_t length;
};

struct json_wanted { /* a member of the outermost object */
    const char *name;
    struct json_value value; /* value of the first member with this name */
};

/* Whether the text is one whole object. Fills in the values of the members that are wanted. */
bool json_read_object(const char *text, size_t length, struct json_wanted *wanted, size_t count);
/* Finds a value in an object that json_read_object() has read: "params.position.line" names a member of a member.
 * bytes NULL: there is none. */
struct json_value json_find(struct json_value object, const char *path);
/* Takes the next item of an array that is a part of such an object; *at is 0 at first. False: there is no other one,
 * or the value is no array. */
bool json_next_item(struct json_value array, size_t *at, struct json_value *item);
/* Whether the value is a string of just this text. */
bool json_is_string(struct json_value value, const char *text);
/* Appends the text of a string, as UTF-8. False: the value is no string. */
bool json_read_string(const struct json_value *value, struct text *out);
/* Reads a whole number that is not negative, or a string of one. False: the value is neither. */
bool json_read_unsigned(const struct json_value *value, uint64_t *number);

#endif
