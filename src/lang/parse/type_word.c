/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of the language that name types. */
#include "lang/parse/type_word.h"

#include <string.h>

static const struct {
    const char *name;
    const struct type *type;
} type_words[] = {
    {"int8", &type_i8},   {"int16", &type_i16},           {"int32", &type_i32},  {"int64", &type_i64},
    {"uint8", &type_u8},  {"uint16", &type_u16},          {"uint32", &type_u32}, {"uint64", &type_u64},
    {"bool", &type_bool}, {"string", &type_string_empty}, {"void", &type_none},
};

/* C's words come in any order and number: "long unsigned int". Sizes are those of traced programs of 64 bits. */
enum { C_SIGNED, C_UNSIGNED, C_CHAR, C_SHORT, C_INT, C_LONG, C_WORDS };
static const char *const c_words[C_WORDS] = {"signed", "unsigned", "char", "short", "int", "long"};

static const struct type *c_type_find(const char *name)
{
    unsigned seen[C_WORDS] = {0};
    while (*name) {
        size_t length = strcspn(name, " ");
        unsigned word = 0;
        while (word < C_WORDS &&
               (strlen(c_words[word]) != length || memcmp(c_words[word], name, length) != 0))
            word++;
        if (word == C_WORDS || ++seen[word] > (word == C_LONG ? 2u : 1u))
            return NULL;
        name += length;
        name += strspn(name, " ");
    }
    bool is_contradiction = (seen[C_SIGNED] && seen[C_UNSIGNED]) ||
                            (seen[C_CHAR] != 0) + (seen[C_SHORT] != 0) + (seen[C_LONG] != 0) > 1 ||
                            (seen[C_CHAR] && seen[C_INT]);
    if (is_contradiction)
        return NULL;
    return type_integer(seen[C_CHAR] ? 1 : seen[C_SHORT] ? 2 : seen[C_LONG] ? 8 : 4, !seen[C_UNSIGNED]);
}

const struct type *type_word_find(const char *name)
{
    if (!name || !*name)
        return NULL;
    for (size_t i = 0; i < sizeof type_words / sizeof *type_words; i++)
        if (strcmp(name, type_words[i].name) == 0)
            return type_words[i].type;
    return c_type_find(name);
}
