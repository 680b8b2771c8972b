/* SPDX-License-Identifier: BSD-3-Clause */
/* Names as their language writes them, from mangled ones. Mangled names are untrusted, and a short one may stand
 * for a name that no memory holds. So they are demangled in a process without privileges (sym/apart.h), with a
 * limit of length and time. */
#ifndef SPOOR_SYM_DEMANGLE_H
#define SPOOR_SYM_DEMANGLE_H

#include <stddef.h>

#include "sym/elf/elf.h"

/* Returns "ns::f(int)" for "_ZN2ns1fEi" (C++, Rust), which the caller frees. NULL if the name is not mangled, if
 * what it stands for is longer than 16 KiB, or if it cannot be found out in time. May be called in any thread. */
char *symbol_demangle(const char *name);
/* As symbol_demangle(), for several names at once, which takes less time than one by one. Stores an answer for
 * each. */
void symbol_demangle_all(const char *const *names, size_t count, char **answers);
/* Calls `visit` for each function of the file whose name is mangled, as elf_file_each_function() does. The visitor
 * must not keep the name. -EFBIG: all names together are longer than those of any program. */
typedef int demangled_visitor(void *context, const struct elf_symbol *symbol, const char *demangled);
int demangle_each_function(struct elf_file *file, demangled_visitor *visit, void *context);
/* Ends the service; the next name starts another. */
void demangle_end(void);

#endif
