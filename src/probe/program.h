/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs that a script probes say about themselves: DWARF, else a section of BTF. Each is opened
 * when somebody asks and closed with the environment. */
#ifndef SPOOR_PROBE_PROGRAM_H
#define SPOOR_PROBE_PROGRAM_H

#include "probe/kind.h"
#include "sym/dwarf.h"

/* NULL: there is no debug information. path: as we open it; origin: what must be there, NULL: anything. */
struct dwarf_file *probe_dwarf(struct probe_environment *environment, const char *path,
                               const struct elf_origin *origin);
/* The script has a probe in that program: its names may be used. */
void probe_program_add(struct probe_environment *environment, const char *path,
                       const struct elf_origin *origin);
void probe_programs_close(struct probe_environment *environment);

#endif
