/* SPDX-License-Identifier: BSD-3-Clause */
/* Debug information of the programs that a script probes: DWARF, else a section of BTF. It is opened when it is
 * first asked for and closed with the environment. */
#ifndef SPOOR_PROBE_PROGRAM_H
#define SPOOR_PROBE_PROGRAM_H

#include "probe/kind.h"
#include "sym/dwarf/dwarf.h"

/* The debug information of a program; NULL: there is none. path: where spoor opens it. origin: the file that must be
 * there; NULL: any. */
struct dwarf_file *probe_dwarf(struct probe_environment *environment, const char *path,
                               const struct elf_origin *origin);
/* Notes that the script has a probe in a program, whose names it may therefore use. */
void probe_program_add(struct probe_environment *environment, const char *path,
                       const struct elf_origin *origin);
void probe_programs_close(struct probe_environment *environment);

#endif
