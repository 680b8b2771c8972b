/* SPDX-License-Identifier: BSD-3-Clause */
/* What a block can read at its probe. The probe kind says it; the checker and lowering go by it.
 *
 * A probe kind expands an attach point to sites, and groups those with the same context into variants. A copy of the
 * block is compiled for each variant, with its context, to one program. */
#ifndef SPOOR_LANG_CONTEXT_H
#define SPOOR_LANG_CONTEXT_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "type/type.h"

struct ir;
struct lowering;

/* What a block reads of its context, as found in its tree before sites are grouped. */
struct context_uses {
    uint32_t arguments;        /* bit N stands for argN, bit 31 for all above it, too */
    bool args;                 /* args, or a field of it */
    const char *const *fields; /* names of the fields of args that it reads, NULL-terminated */
    bool all_fields;           /* args as a whole */
    bool retval, ctx;
    bool site;        /* probe or func */
    bool registers;   /* reg() */
    bool kstack;      /* the kernel's stack */
    bool unwinds;     /* the user stack by call frame information */
    bool symbols;     /* uaddr() */
    bool user_memory; /* memory behind a pointer: str(), buf(), *p, p->f */
};

struct probe_context {
    const char *kind; /* name of the probe kind, for messages */
    enum bpf_prog_type program_type;
    uint32_t expected_attach_type;
    uint32_t attach_btf_id;
    /* Names the BTF that has attach_btf_id: this module's, or that of the BPF program with this id; NULL and 0: the
     * kernel's. */
    const char *attach_module;
    uint32_t attach_program;
    enum address_space space; /* in which integers and untyped pointers are addresses */
    bool is_preemptible;      /* a program can be preempted or wait in a fault: uprobe, uretprobe, usdt */
    bool may_sleep;           /* the program may be loaded as sleepable */
    bool reads_memory;        /* arguments are in traced memory, which may have to be paged in */
    bool has_registers;       /* ctx is a struct pt_regs, so that reg() works */
    bool is_return;           /* it is a return, which has a retval if its type is known */
    bool is_entry;            /* it is the first instruction of a function of a program */
    bool ignores_stop;        /* it runs after the trace was stopped, too: end */
    bool is_alone;            /* no other program runs at the same time: begin, end */
    bool filters_pid;         /* the attachment itself is restricted to the process of -p or -c */
    bool runs_in_spoor;       /* a thread of spoor runs it, whose id means nothing to the user */
    bool ignores_pid_filter;  /* it is an event of the tracer or of its clock, and of no traced process */
    bool is_of_command;       /* with -c it is for the process of the command */
    bool keeps_result;        /* the block's result is stored in the control page */
    bool has_record;          /* ctx is the event of a recording, struct image_event */
    bool record_in_control;   /* that event lies in the control page, since the kernel runs the program */
    bool writes_sequence;     /* output goes to the reader of the pinned iterator */
    const struct type *ctx;   /* type of `ctx`; NULL if there is none */
    /* Struct of the arguments by name; NULL if there is none: args_missing says why. */
    const struct type *args;
    const char *args_missing;
    /* Says why `name` is no field of args although the probe has an argument of that name; NULL if it has none. May
     * be NULL. */
    const char *(*args_absent)(const struct probe_context *context, const char *name);
    const struct type *const *arguments; /* types of arg0 and so on; NULL for one that cannot be read */
    uint32_t argument_count;
    const struct type *retval; /* NULL if there is none: retval_missing may say why */
    const char *retval_missing;
    uint32_t site_count;       /* sites of the variant; with 1 the site is a constant */
    const char *site_function; /* `func` of the only site, or NULL */

    /* Each of these makes code in the current block. It is NULL if the type above that belongs to it is NULL. */

    /* Makes code for the beginning of the program that returns 0 from it unless the event is meant. May be NULL. */
    void (*lower_gate)(struct lowering *l, const struct probe_context *context);
    /* The index of the site, from 0 to site_count - 1. */
    struct ir *(*lower_site)(struct lowering *l, const struct probe_context *context);
    struct ir *(*lower_argument)(struct lowering *l, const struct probe_context *context, unsigned number);
    struct ir *(*lower_retval)(struct lowering *l, const struct probe_context *context);
    /* The value of a scalar field of args. Of any other field the address of its bytes, which can be read directly. */
    struct ir *(*lower_args_field)(struct lowering *l, const struct probe_context *context,
                                   const struct field *field);
    /* Symbols of the probed program, for uaddr(). find_symbol() says whether there is one and how large it is, and
     * lower_symbol() makes code for its address. Both are NULL if the probe is not in a program. */
    bool (*find_symbol)(const struct probe_context *context, const char *name, uint32_t *size);
    struct ir *(*lower_symbol)(struct lowering *l, const struct probe_context *context, const char *name);
    /* The type of the symbol, or NULL if the program does not say it. May be NULL. */
    const struct type *(*symbol_type)(const struct probe_context *context, const char *name);
    const void *program;      /* what these three know of the program */
    const char *program_path; /* the program, whose types the block can name; NULL if the probe is in none */
    uint64_t program_address; /* address of the first site in it */
    const void *data;         /* what the probe kind keeps about it */
};

#endif
