/* SPDX-License-Identifier: BSD-3-Clause */
/* One ELF file: its segments, sections, symbols and build id.
 *
 * Files of 64 bits, little-endian, are read with pread (or from memory) and never mapped, so that a file that
 * shrinks, or in which every number is wrong, gives -errno and no crash. No function needs more memory than the
 * file has bytes.
 *
 * A place in a program has three numbers: the address that its symbols carry, the offset in its file (as uprobes
 * take it), and the address at run time (address + load bias, see sym/process/proc.h and sym/symbolize.h).
 *
 * Errors: -ENOENT, -EACCES … from opening; -ENOEXEC: no ELF file that can be read here (no regular file, not ELF,
 * 32-bit, big-endian, neither executable nor shared library nor debug file); -EBADMSG: damaged; -EFBIG: a table is
 * too large to be true; -ENOMEM. */
#ifndef SPOOR_SYM_ELF_ELF_H
#define SPOOR_SYM_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sym/machine/machine.h"

struct elf_file;

int elf_file_open(const char *path, struct elf_file **out); /* see base/open_foreign.h */
int elf_file_open_fd(int fd, struct elf_file **out);        /* keeps a duplicate; fd stays the caller's own */
/* Opens a part of a file, such as a member of an archive. Offsets count from the part's beginning. */
int elf_file_open_part(int fd, uint64_t base, uint64_t size, struct elf_file **out);
uint64_t elf_file_base(const struct elf_file *file); /* where it begins in its file: usually 0 */
/* Opens a file in memory, for the vDSO and for tests. `bytes` must outlive it. */
int elf_file_open_memory(const void *bytes, size_t size, struct elf_file **out);
void elf_file_close(struct elf_file *file);          /* NULL does nothing */
uint64_t elf_file_size(const struct elf_file *file); /* bytes in the file */
size_t elf_file_memory(const struct elf_file *file); /* bytes that its tables take now */
/* the file's own descriptor; -1: it is in memory, or a part of another file */
int elf_file_descriptor(const struct elf_file *file);

/* Distinguishes the file that was read from another one that has its name by now, and from itself after a change.
 * Probes are put where its tables say, so it must be the same file then. */
struct elf_origin {
    struct stat status;  /* device, inode, size and time of change; the rest is zero, so bytes compare */
    uint64_t base, size; /* of the part that was opened */
    uint8_t build_id[64];
    size_t build_id_size; /* 0: it has none */
};
/* Returns the origin of a file. False: it is in memory. */
bool elf_file_origin(const struct elf_file *file, struct elf_origin *out);
/* Checks that a descriptor leads to the file of an origin, unchanged. Returns 0, -ESTALE or another -errno. */
int elf_origin_check(const struct elf_origin *origin, int fd);
/* As elf_file_open(), of the file of an origin only; NULL: of any. */
int elf_origin_open(const struct elf_origin *origin, const char *path, struct elf_file **out);

enum elf_kind {
    ELF_EXECUTABLE,
    ELF_SHARED,
    ELF_OTHER
}; /* a position-independent executable is ELF_EXECUTABLE
      when it names an interpreter or DF_1_PIE */
enum elf_kind elf_file_kind(const struct elf_file *file);
enum machine elf_file_machine(const struct elf_file *file);
/* Returns the address at which a program begins. 0: it has none. */
uint64_t elf_file_entry(const struct elf_file *file);
/* Returns the bytes of the build id, or NULL if there is none. */
const uint8_t *elf_file_build_id(const struct elf_file *file, size_t *size);

/* Convert between addresses and offsets by the loadable segments. -ENOENT: it is in none of them (for an offset
 * also: in .bss). */
int elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *offset);
int elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *address);
/* As elf_file_address(), but only for executable segments, and the rest of the page in front of a segment belongs
 * to it, as it does in memory. */
int elf_file_code_address(const struct elf_file *file, uint64_t offset, uint64_t *address);

/* ---- symbols ---- */
struct elf_symbol {
    const char *name; /* lives as long as the file; a version suffix (@V, @@V) is cut off */
    uint64_t address;
    uint64_t size;
    uint64_t offset; /* its offset in the file, if is_function or has_offset is set */
    bool has_offset; /* it is in bytes of the file */
    bool is_function;
    bool is_ifunc; /* its code chooses the function at load time: a probe at it fires once */
    bool is_global;
    bool is_old_version; /* it is foo@V1, and programs that are linked today get foo@@V2 */
};

/* Finds the function of a name. Of several it is the version that is linked today, a plain function before an
 * ifunc, a global one before a local one, else the first. -ENOENT: there is none. */
int elf_file_function(struct elf_file *file, const char *name, struct elf_symbol *out);
/* As elf_file_function(), among functions and data. */
int elf_file_symbol(struct elf_file *file, const char *name, struct elf_symbol *out);

/* Calls `visit` for every function whose name matches, in the order of address and name, and once for each pair of
 * name and offset. An answer that is not 0 ends the walk and is returned. Ifuncs are among them, and marked. */
typedef int elf_symbol_visitor(void *context, const struct elf_symbol *symbol);
int elf_file_each_function(struct elf_file *file, const char *pattern, elf_symbol_visitor *visit,
                           void *context);

/* Finds the function that contains an address; of several names the plainest (global, fewest underscores,
 * shortest). -ENOENT: there is none. A function without a size reaches to the next one. */
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
/* Reads all bytes of a section into memory that the caller frees, with a NUL behind the last one. */
int elf_file_section_read(const struct elf_file *file, const struct elf_section *section, void **bytes,
                          size_t *size);
int elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size);

#endif
