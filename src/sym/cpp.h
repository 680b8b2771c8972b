/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of C++ functions as people write them: "ns::f", "ns::f(int)", with wildcards. */
#ifndef SPOOR_SYM_CPP_H
#define SPOOR_SYM_CPP_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the name proper in a demangled one: without the type of the result, which templates have in front, and
 * without parameters and what follows them. */
const char *cpp_name(const char *demangled, size_t *length);
/* A pattern is compared with the name alone, and with its parameters if it has parentheses. */
bool cpp_matches(const char *pattern, const char *demangled);

#endif
