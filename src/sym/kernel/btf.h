/* SPDX-License-Identifier: BSD-3-Clause */
/* BTF: the kernel's own description of its types and functions.
 *
 * Maps /sys/kernel/btf/vmlinux (or reads it where it cannot be mapped) and indexes it by name at the first
 * look-up. Types are made in the caller's arena when asked for; a struct's fields when somebody looks inside
 * (type_complete), so the arena must live as long as the btf_file and be guarded. Pointers get SPACE_KERNEL.
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

/* path NULL: /sys/kernel/btf/vmlinux. base: for a module's BTF, that of vmlinux, else NULL; it must stay
 * open. -ENOENT: this kernel has none. */
int btf_file_open(const char *path, struct btf_file *base, struct arena *arena, struct btf_file **out);
/* bytes must outlive the file. */
int btf_file_open_memory(const void *bytes, size_t size, struct btf_file *base, struct arena *arena,
                         struct btf_file **out);
/* Pointers lead to user memory: of a program's own BTF. Before the first type is made. */
void btf_file_set_space(struct btf_file *file, enum address_space space);
void btf_file_close(struct btf_file *file);
uint32_t btf_file_type_count(const struct btf_file *file); /* ids are below it; 0 is void */

/* What kind of name is meant; C has separate name spaces. */
enum btf_name {
    BTF_NAME_STRUCT,
    BTF_NAME_UNION,
    BTF_NAME_ENUM,
    BTF_NAME_TYPEDEF,
    BTF_NAME_FUNCTION,
    BTF_NAME_INTEGER,
    BTF_NAME_VARIABLE /* the kernel describes those that every CPU has one of */
};

/* The type id, 0 when there is none. A definition is taken before a forward declaration. */
uint32_t btf_file_id(struct btf_file *file, enum btf_name kind, const char *name);

/* The same for a function, for who asks once: without the index, which takes ten times as long to make. */
uint32_t btf_file_find_function(const struct btf_file *file, const char *name);

/* NULL when there is none. Written as in C: "struct task_struct", "union x", "enum pid_type", "u64",
 * "unsigned long", or a bare name (typedef, else struct, union, enum, integer). */
const struct type *btf_file_type(struct btf_file *file, const char *name);
const struct type *btf_file_type_by_id(struct btf_file *file, uint32_t id);

/* The value of an enumerator of any enum, by its name. */
int btf_file_enumerator(struct btf_file *file, const char *name, int64_t *value);
/* The same, and its enum; NULL: there is none of that name. */
const struct type *btf_file_enumerator_type(struct btf_file *file, const char *name, int64_t *value);

/* btf_print.c. A type as C writes it where no name follows: "const char *", "struct file *", "int (*)(void
 * *)". */
void btf_file_describe(const struct btf_file *file, uint32_t id, struct text *out);
/* The definition of a struct, union or enum, over several lines that end in "};" and a newline. */
void btf_file_define(const struct btf_file *file, uint32_t id, struct text *out);

/* ---- functions ---- */
struct btf_parameter {
    const char *name; /* "" when BTF has none */
    const struct type *type;
    uint32_t id; /* of the type as declared: const, typedef and all */
};
struct btf_prototype {
    uint32_t id;               /* of the FUNC or typedef */
    const struct type *result; /* TYPE_NONE for void */
    uint32_t result_id;
    const struct btf_parameter *parameters;
    uint32_t count;
    bool is_variadic;
};
/* 0, or -ENOENT. */
int btf_file_function(struct btf_file *file, const char *name, struct btf_prototype *out);
/* The hook of a tracepoint, from typedef btf_trace_<event>, without its first parameter (void *data).
 * out->id is the typedef's: what tp_btf programs give as attach_btf_id. */
int btf_file_tracepoint(struct btf_file *file, const char *event, struct btf_prototype *out);

/* Names of functions, or of tracepoints (without "btf_trace_"), in the order of BTF. Non-zero stops. */
typedef int btf_visitor(void *context, const char *name, uint32_t id);
int btf_file_each_function(struct btf_file *file, const char *pattern, btf_visitor *visit, void *context);
int btf_file_each_tracepoint(struct btf_file *file, const char *pattern, btf_visitor *visit, void *context);
/* Structs, unions and enums, for listing. The name comes with its keyword: "struct task_struct". */
int btf_file_each_type(struct btf_file *file, const char *pattern, btf_visitor *visit, void *context);

#endif
