/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the symbols of a stripped file: in a file of their own, which is found by build id or by the name in
 * .gnu_debuglink, or compressed in .gnu_debugdata. A separate file is used only if it proves that it belongs to the
 * stripped one: by the same build id, else by its checksum. */
#ifndef SPOOR_SYM_ELF_DEBUG_FILE_H
#define SPOOR_SYM_ELF_DEBUG_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "sym/elf/elf.h"

/* Opens the separate file of debug information. path: that of the file, as the process sees it. pid: the process
 * whose root is searched besides this one's; 0: none. given: files that are tried first, NULL-terminated, or NULL.
 * -ENOENT: there is none. */
int debug_file_open(const struct elf_file *file, const char *path, pid_t pid, const char *const *given,
                    struct elf_file **out);
/* Sets directories that are searched before the usual ones; one that is no absolute path is relative to the
 * directory of the file. NULL-terminated, or NULL; it must live as long as files are searched. To be called before
 * the first search. */
void debug_file_directories(const char *const *directories);
/* Finds something in each of these directories, for a file with the given path: the path of it. Returns how many of
 * `room` there are; a directory that is not there or empty is passed over. */
size_t debug_file_in_directories(struct arena *arena, const char *path, const char **out, size_t room);
enum { DEBUG_ID_MAX = 64 };
/* Opens the file with what dwz has moved out of several files: the one that .gnu_debugaltlink names, with the build
 * id that is stored there. `id`, of DEBUG_ID_MAX bytes, and *id_size are set even if it is not found; size 0: the
 * file names none. Returns 0 or -ENOENT. */
int debug_alternative_open(const struct elf_file *file, uint8_t *id, size_t *id_size, struct elf_file **out);
/* Opens the ELF file in .gnu_debugdata; *bytes (or NULL) must live as long as it, and the caller frees it. -ENOENT:
 * the file has no such section; -ENOTSUP: liblzma is not installed; -EBADMSG, -EFBIG: its content is bad. */
int debug_data_open(const struct elf_file *file, void **bytes, struct elf_file **out);
/* Whether liblzma is installed. */
bool debug_data_is_readable(void);

#endif
