/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of the language that name types: uint64, bool, char … Names from outside the script (structs, typedefs)
 * are found by the type provider. */
#ifndef SPOOR_LANG_PARSE_TYPE_WORD_H
#define SPOOR_LANG_PARSE_TYPE_WORD_H

#include "type/type.h"

/* Returns the type that the words name, which is shared and never freed, or NULL. For "string" that is
 * type_string_empty: the caller decides about its capacity. */
const struct type *type_word_find(const char *name);

#endif
