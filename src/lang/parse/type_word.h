/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of the language that name types: uint64, bool, char … Names from outside the script (structs,
 * typedefs) are the type provider's. */
#ifndef SPOOR_LANG_PARSE_TYPE_WORD_H
#define SPOOR_LANG_PARSE_TYPE_WORD_H

#include "type/type.h"

/* A singleton, or NULL. "string" gives type_string_empty: its capacity is the caller's to say. */
const struct type *type_word_find(const char *name);

#endif
