/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of the language that name types. */
#include "lang/type_word.h"

#include <string.h>

/* C's own names are for casts to pointers, as in (char *)arg0; the C types of traced programs on 64 bits. */
static const struct {
    const char *name;
    const struct type *type;
} type_words[] = {
    {"int8", &type_i8},           {"int16", &type_i16},
    {"int32", &type_i32},         {"int64", &type_i64},
    {"uint8", &type_u8},          {"uint16", &type_u16},
    {"uint32", &type_u32},        {"uint64", &type_u64},
    {"bool", &type_bool},         {"string", &type_string_empty},
    {"void", &type_none},         {"char", &type_i8},
    {"short", &type_i16},         {"int", &type_i32},
    {"long", &type_i64},          {"signed char", &type_i8},
    {"unsigned char", &type_u8},  {"unsigned short", &type_u16},
    {"unsigned int", &type_u32},  {"unsigned", &type_u32},
    {"unsigned long", &type_u64}, {"long long", &type_i64},
    {"unsigned long long", &type_u64},
};

const struct type *type_word_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof type_words / sizeof *type_words; i++)
        if (strcmp(name, type_words[i].name) == 0)
            return type_words[i].type;
    return NULL;
}
