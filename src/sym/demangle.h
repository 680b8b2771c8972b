/* SPDX-License-Identifier: BSD-3-Clause */
/* Names as their language writes them, from mangled ones. Those are others' texts, and a short one may stand for a name
 * that no memory holds: so it is done in a process without privileges (sym/apart.h), with a limit of length and time. */
#ifndef SPOOR_SYM_DEMANGLE_H
#define SPOOR_SYM_DEMANGLE_H

#include <stddef.h>

#include "sym/elf/elf.h"

/* "ns::f(int)" for "_ZN2ns1fEi" (C++, Rust). NULL when the name is not mangled, when what it stands for is longer than
 * 16 KiB, or when it cannot be found out in time. To be freed. Any thread. */
char *symbol_demangle(const char *name);
/* The same for several names at once, which takes less time than one by one. Stores an answer for each. */
void symbol_demangle_all(const char *const *names, size_t count, char **answers);
/* Each function of the file whose name is mangled, as elf_file_each_function(). The visitor may keep no name. -EFBIG:
 * all names together are longer than those of any program. */
typedef int demangled_visitor(void *context, const struct elf_symbol *symbol, const char *demangled);
int demangle_each_function(struct elf_file *file, demangled_visitor *visit, void *context);
/* Ends the process; the next name makes another. */
void demangle_end(void);

#endif
