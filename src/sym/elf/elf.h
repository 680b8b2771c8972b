/* SPDX-License-Identifier: BSD-3-Clause */
/* One ELF file: its segments, sections, symbols and build id.
 *
 * Reads 64-bit little-endian files with pread (or from memory) and never maps them, so a file that shrinks
 * or is full of lies gives -errno, not a crash. Nothing here takes more memory than the file has bytes.
 *
 * Three numbers name a place in a program: the address that its symbols carry, the offset in its file (what
 * uprobes take), and the address at run time (address + load bias, see sym/process/proc.h and sym/symbolize.h).
 *
 * Errors: -ENOENT, -EACCES … from opening; -ENOEXEC not an ELF file that we read (no regular file, not ELF,
 * 32-bit, big-endian, neither executable nor shared library nor core-less debug file); -EBADMSG damaged;
 * -EFBIG a table too large to be true; -ENOMEM. */
#ifndef SPOOR_SYM_ELF_ELF_H
#define SPOOR_SYM_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sym/machine/machine.h"

struct elf_file;

int elf_file_open(const char *path, struct elf_file **out); /* see base/open_foreign.h */
int elf_file_open_fd(int fd, struct elf_file **out);        /* keeps a duplicate; fd stays the caller's */
/* Part of a file, such as a member of an archive. Offsets count from its beginning. */
int elf_file_open_part(int fd, uint64_t base, uint64_t size, struct elf_file **out);
uint64_t elf_file_base(const struct elf_file *file); /* where in its file it begins: usually 0 */
/* bytes must outlive the file. For the vDSO and for tests. */
int elf_file_open_memory(const void *bytes, size_t size, struct elf_file **out);
void elf_file_close(struct elf_file *file);          /* NULL is fine */
uint64_t elf_file_size(const struct elf_file *file); /* bytes in the file */
size_t elf_file_memory(const struct elf_file *file); /* bytes that its tables take now */
int elf_file_descriptor(
    const struct elf_file *file); /* the file's own; -1: it is in memory, or part of another */

/* What tells the file that was read from another one that has its name by now, and from itself after a
 * change: probes are put where its tables said, so it must be the same when they are. */
struct elf_origin {
    struct stat status;  /* device, inode, size and time of change; the rest is zero, so bytes compare */
    uint64_t base, size; /* of the part that is ours */
    uint8_t build_id[64];
    size_t build_id_size; /* 0: it has none */
};
/* False: it is in memory. */
bool elf_file_origin(const struct elf_file *file, struct elf_origin *out);
/* Is it what a descriptor leads to, unchanged? 0, else -ESTALE or -errno. */
int elf_origin_check(const struct elf_origin *origin, int fd);
/* As elf_file_open, of that file; origin NULL: of any. */
int elf_origin_open(const struct elf_origin *origin, const char *path, struct elf_file **out);

enum elf_kind {
    ELF_EXECUTABLE,
    ELF_SHARED,
    ELF_OTHER
}; /* a position-independent executable is ELF_EXECUTABLE
      when it names an interpreter or DF_1_PIE */
enum elf_kind elf_file_kind(const struct elf_file *file);
enum machine elf_file_machine(const struct elf_file *file);
/* The bytes of the build id, NULL when there is none. */
const uint8_t *elf_file_build_id(const struct elf_file *file, size_t *size);

/* Address <-> offset, through the loadable segments. -ENOENT: in none (for offset: also .bss). */
int elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *offset);
int elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *address);
/* As elf_file_address, but only executable segments count, and the rest of the page in front of one belongs
 * to it, as it does when it is mapped. */
int elf_file_code_address(const struct elf_file *file, uint64_t offset, uint64_t *address);

/* ---- symbols ---- */
struct elf_symbol {
    const char *name; /* lives as long as the file; a version suffix (@V, @@V) is cut off */
    uint64_t address;
    uint64_t size;
    uint64_t offset; /* in the file; only where is_function, or has_offset */
    bool has_offset; /* the symbol lies in bytes of the file */
    bool is_function;
    bool is_ifunc; /* its code chooses the function at load time: a probe there fires once */
    bool is_global;
    bool is_old_version; /* foo@V1 where programs linked today get foo@@V2 */
};

/* The function of that name; of several: the version that is linked today, a plain function before an ifunc,
 * a global one before a local one, the first. -ENOENT: there is none. */
int elf_file_function(struct elf_file *file, const char *name, struct elf_symbol *out);
/* The same over functions and data. */
int elf_file_symbol(struct elf_file *file, const char *name, struct elf_symbol *out);

/* Every function whose name matches, by address, then name; one (name, offset) pair once. A visitor's
 * non-zero answer stops the walk and is returned. Ifuncs are included, marked. */
typedef int elf_symbol_visitor(void *context, const struct elf_symbol *symbol);
int elf_file_each_function(struct elf_file *file, const char *pattern, elf_symbol_visitor *visit,
                           void *context);

/* The function that contains the address; of several names the plainest (global, fewest underscores,
 * shortest). -ENOENT when none does. A function without a size reaches to the next one. */
int elf_file_nearest(struct elf_file *file, uint64_t address, struct elf_symbol *out);

/* ---- raw access, for readers of notes and debug information ---- */
struct elf_section {
    const char *name;
    uint32_t type;
    uint64_t flags, address, offset, size;
};
size_t elf_file_section_count(const struct elf_file *file);
bool elf_file_section(const struct elf_file *file, size_t index, struct elf_section *out);
bool elf_file_section_named(const struct elf_file *file, const char *name, struct elf_section *out);
/* All bytes of a section in fresh memory (free it), with a NUL after the last one. */
int elf_file_section_read(const struct elf_file *file, const struct elf_section *section, void **bytes,
                          size_t *size);
int elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size);

#endif
