/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the symbols of a stripped file are: in a file of their own, found by build id or by the name in
 * .gnu_debuglink, or compressed in .gnu_debugdata. A separate file counts only if it proves that it belongs:
 * by the same build id, else by its checksum. */
#ifndef SPOOR_SYM_ELF_DEBUG_FILE_H
#define SPOOR_SYM_ELF_DEBUG_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "sym/elf/elf.h"

/* path: of the file, as the process sees it. pid: whose root is looked into besides ours; 0: nobody's. given:
 * files that are tried first; NULL-terminated, or NULL. -ENOENT: there is none. */
int debug_file_open(const struct elf_file *file, const char *path, pid_t pid, const char *const *given,
                    struct elf_file **out);
/* Directories that are looked into before the usual ones; one that is no absolute path is meant from where the file is.
 * NULL-terminated, or NULL; it must live as long as files are looked for. Before the first question. */
void debug_file_directories(const char *const *directories);
enum { DEBUG_ID_MAX = 64 };
/* What dwz has taken out of a file because others have it too: the file that .gnu_debugaltlink names and whose build
 * id it says. id, of DEBUG_ID_MAX bytes, and *id_size are set also when it is not found; size 0: the file names
 * none. 0 or -ENOENT. */
int debug_alternative_open(const struct elf_file *file, uint8_t *id, size_t *id_size, struct elf_file **out);
/* The ELF file in .gnu_debugdata; *bytes (or NULL) must live as long as it, and is the caller's to free. -ENOENT: the
 * file has no such section; -ENOTSUP: liblzma is not installed; -EBADMSG, -EFBIG: what is in it. */
int debug_data_open(const struct elf_file *file, void **bytes, struct elf_file **out);

#endif
