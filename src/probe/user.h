/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kinds with breakpoints in programs share: from the word for a binary to files, the context of a
 * program in user registers, and attaching many sites file by file. */
#ifndef SPOOR_PROBE_USER_H
#define SPOOR_PROBE_USER_H

#include "probe/kind.h"
#include "sym/elf/elf.h"

struct ir;

/* The detail of a site begins with this struct. */
struct user_site {
    const char *path;                      /* the path at which spoor opens the file */
    const struct elf_origin *origin;       /* the file that was there when it was read */
    uint64_t offset;                       /* in the file */
    uint64_t semaphore;                    /* offset in the file, 0: none */
    uint64_t address;                      /* the address, as symbols have it; 0: it is not known */
    bool is_entry;                         /* it is the beginning of a function */
    struct probe_environment *environment; /* for uaddr(); NULL: debug information is not searched */
};

/* One file that the word means. shown: its path without /proc/PID/root, for names. Non-zero stops. */
typedef int user_file_visitor(void *state, struct elf_file *file, const char *path, const char *shown);

/* What the sites that are found in the file were found in; the same pointer for the same file. NULL: it is in
 * memory. */
const struct elf_origin *user_origin(struct probe_environment *environment, const struct elf_file *file);

/* Opens every file that piece n means, each once: a path, a command, a library, a pattern, "*" for all that
 * is mapped now; a missing piece (n == 0: no piece at all) means the program of -p. A pattern passes over
 * files that are not ELF files of this machine; one file that cannot be read is an error. 0 even when there
 * was no file that a pattern matched: the caller says what it missed. quiet: -ENOENT without a diagnostic
 * when the word means no file. */
int user_each_file(struct probe_environment *environment, const struct probe_kind *kind,
                   const struct attach_point *point, size_t n, bool quiet, user_file_visitor *visit,
                   void *state);

/* Sets what all these kinds have: program type, attach type, registers, address space, and `ctx` as struct pt_regs. */
void user_context(struct probe_environment *environment, const struct context_uses *uses,
                  struct probe_variant *variant);
/* user_symbol.c: the callbacks of uaddr(); context->program is the struct user_site of the only site. */
bool user_find_symbol(const struct probe_context *context, const char *name, uint32_t *size);
const struct type *user_symbol_type(const struct probe_context *context, const char *name);
struct ir *user_lower_symbol(struct lowering *l, const struct probe_context *context, const char *name);
/* True: sites of one program must be variants of their own, because nothing tells them apart at run time. */
bool user_sites_apart(const struct probe_environment *environment, const struct context_uses *uses);
int user_attach(struct kernel *kernel, const struct probe_environment *environment,
                const struct probe_variant *variant, struct attach_request *request, bool is_return);

#endif
