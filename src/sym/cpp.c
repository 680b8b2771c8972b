/* SPDX-License-Identifier: BSD-3-Clause */
#include "sym/cpp.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

static const char operator_word[] = "operator";

/* Returns the position behind the signs of an operator, which may be parentheses and angles, if "operator" is at
 * `at`; else `at`. */
static const char *skip_operator(const char *begin, const char *at)
{
    static const char *const signs[] = {"()", "<=>", "<<=", ">>=", "->*", "<<",
                                        ">>", "<=",  ">=",  "->",  "<",   ">"};
    size_t length = sizeof operator_word - 1;
    if (strncmp(at, operator_word, length) != 0 || (at > begin && at[-1] != ':' && at[-1] != ' '))
        return at;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (!strncmp(at + length, signs[i], strlen(signs[i])))
            return at + length + strlen(signs[i]);
    return at;
}

const char *cpp_name(const char *demangled, size_t *length)
{
    const char *begin = demangled, *at = demangled;
    unsigned angles = 0, braces = 0;
    bool is_operator = false;
    for (; *at; at++) {
        const char *behind = angles + braces ? at : skip_operator(begin, at);
        if (behind != at) {
            at = behind - 1;
            is_operator = true;
            continue;
        }
        if (*at == '<')
            angles++;
        else if (*at == '>' && angles)
            angles--;
        else if (!angles && *at == '{') /* {lambda(int)#1} */
            braces++;
        else if (*at == '}' && braces)
            braces--;
        else if (angles || braces)
            continue;
        else if (*at == '(' && !strncmp(at, "(anonymous namespace)", 21))
            at += 20;
        else if (*at == '(')
            break;
        else if (*at == ' ' && !is_operator && strncmp(begin, operator_word, sizeof operator_word - 1) != 0 &&
                 !strstr(begin, "::operator "))
            begin = at + 1;
    }
    *length = (size_t)(at - begin);
    return begin;
}

bool cpp_matches(const char *pattern, const char *demangled)
{
    if (!strcmp(pattern, demangled) || glob_match(pattern, demangled))
        return true;
    size_t length;
    const char *name = cpp_name(demangled, &length);
    if (strchr(pattern, '(') && glob_match(pattern, name)) /* the name to its end, with the parameters */
        return true;
    char *alone = strndup(name, length);
    bool is_match = alone && (!strcmp(pattern, alone) || glob_match(pattern, alone));
    free(alone);
    return is_match;
}
