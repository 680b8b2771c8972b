/* SPDX-License-Identifier: BSD-3-Clause */
/* BTF: the kernel's own description of its types and functions.
 *
 * /sys/kernel/btf/vmlinux is mapped (or read where it cannot be mapped) and indexed by name at the first look-up.
 * Types are made in the caller's arena when they are looked up, and a struct's fields when they are needed
 * (type_complete()), so that the arena must live as long as the btf_file and be guarded. Pointers get SPACE_KERNEL.
 * The bytes are untrusted: wrong ones give -EBADMSG or missing names, never a crash or endless recursion. */
#ifndef SPOOR_SYM_KERNEL_BTF_H
#define SPOOR_SYM_KERNEL_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "type/type.h"

struct btf_file;

/* Opens BTF. path NULL: /sys/kernel/btf/vmlinux. base: for a module's BTF that of vmlinux, which must stay open;
 * else NULL. -ENOENT: this kernel has none. */
int btf_file_open(const char *path, struct btf_file *base, struct arena *arena, struct btf_file **out);
/* As btf_file_open(), for bytes in memory, which must outlive the file. */
int btf_file_open_memory(const void *bytes, size_t size, struct btf_file *base, struct arena *arena,
                         struct btf_file **out);
/* Sets the address space of pointers: SPACE_USER for a program's own BTF. To be called before the first type is
 * made. */
void btf_file_set_space(struct btf_file *file, enum address_space space);
void btf_file_close(struct btf_file *file);
uint32_t btf_file_type_count(const struct btf_file *file); /* all ids are smaller; 0 is void */

/* Kinds of names: C has separate name spaces. */
enum btf_name {
    BTF_NAME_STRUCT,
    BTF_NAME_UNION,
    BTF_NAME_ENUM,
    BTF_NAME_TYPEDEF,
    BTF_NAME_FUNCTION,
    BTF_NAME_INTEGER,
    BTF_NAME_VARIABLE /* the kernel describes only variables that every CPU has */
};

/* Returns the id of a type, 0 if there is none. A definition is preferred to a forward declaration. */
uint32_t btf_file_id(struct btf_file *file, enum btf_name kind, const char *name);

/* As btf_file_id() of a function, for callers that need only one: it does without the index, whose making takes ten
 * times as long. */
uint32_t btf_file_find_function(const struct btf_file *file, const char *name);

/* Returns a type, or NULL. Its name is written as in C: "struct task_struct", "union x", "enum pid_type", "u64",
 * "unsigned long", or a bare name (a typedef, else a struct, union, enum, integer). */
const struct type *btf_file_type(struct btf_file *file, const char *name);
const struct type *btf_file_type_by_id(struct btf_file *file, uint32_t id);

/* Finds the value of an enumerator of any enum by its name. Returns 0 or -ENOENT. */
int btf_file_enumerator(struct btf_file *file, const char *name, int64_t *value);
/* As btf_file_enumerator(), and returns its enum; NULL: there is none of that name. */
const struct type *btf_file_enumerator_type(struct btf_file *file, const char *name, int64_t *value);

/* btf_print.c. Writes a type as C does where no name follows: "const char *", "struct file *", "int (*)(void *)". */
void btf_file_describe(const struct btf_file *file, uint32_t id, struct text *out);
/* Writes the definition of a struct, union or enum, over several lines that end with "};" and a newline. */
void btf_file_define(const struct btf_file *file, uint32_t id, struct text *out);

/* ---- functions ---- */
struct btf_parameter {
    const char *name; /* "" if BTF has none */
    const struct type *type;
    uint32_t id; /* id of the type as it is declared, with const and typedefs */
};
struct btf_prototype {
    uint32_t id;               /* id of the FUNC or the typedef */
    const struct type *result; /* TYPE_NONE for void */
    uint32_t result_id;
    const struct btf_parameter *parameters;
    uint32_t count;
    bool is_variadic;
};
/* Finds the prototype of a function. Returns 0 or -ENOENT. */
int btf_file_function(struct btf_file *file, const char *name, struct btf_prototype *out);
/* Finds the prototype of a tracepoint's hook, from typedef btf_trace_<event>, without its first parameter (void
 * *data). out->id is the typedef's, which tp_btf programs have as attach_btf_id. */
int btf_file_tracepoint(struct btf_file *file, const char *event, struct btf_prototype *out);

/* Call `visit` with the names of functions, or of tracepoints (without "btf_trace_"), in the order of BTF. An
 * answer that is not 0 ends the walk. */
typedef int btf_visitor(void *context, const char *name, uint32_t id);
int btf_file_each_function(struct btf_file *file, const char *pattern, btf_visitor *visit, void *context);
int btf_file_each_tracepoint(struct btf_file *file, const char *pattern, btf_visitor *visit, void *context);
/* Calls `visit` with structs, unions and enums, for listing. The name comes with its keyword: "struct
 * task_struct". */
int btf_file_each_type(struct btf_file *file, const char *pattern, btf_visitor *visit, void *context);

#endif
