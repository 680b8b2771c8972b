/* SPDX-License-Identifier: BSD-3-Clause */
/* What btf.c, btf_types.c and btf_print.c share; no other file includes it. */
#ifndef SPOOR_SYM_KERNEL_BTF_PRIVATE_H
#define SPOOR_SYM_KERNEL_BTF_PRIVATE_H

#include <linux/btf.h>
#include <stdbool.h>

#include "sym/kernel/btf.h"

#define BTF_TRACE_PREFIX "btf_trace_"
enum { BTF_PROBES = 256 };

struct btf_file {
    const uint8_t *bytes;
    size_t size;
    enum { BTF_BORROWED, BTF_MAPPED, BTF_ALLOCATED } owned;
    struct btf_file *base;
    struct arena *arena;
    const uint8_t *types;
    uint32_t types_size;
    const char *strings;
    uint32_t strings_size;
    uint32_t first_id, count; /* ids first_id … first_id + count - 1 */
    uint32_t first_string;    /* strings of a module count on from those of its base */
    uint32_t *offsets;        /* where each record begins in `types` */
    struct type **made;       /* the types that have been made, by their ids */
    struct btf_names {
        uint32_t *slots; /* a hash table of names with indexes + 1; NULL until the first look-up */
        uint32_t mask;
    } names[2];
    enum address_space space; /* the address space of pointers */
    bool enums_have_sign;     /* it was made by a tool that marks signed enums */
};

/* NULL: it is void, or there is no such type */
const struct btf_type *btf_record(const struct btf_file *file, uint32_t id);
const char *btf_string(const struct btf_file *file, uint32_t offset);

#endif
