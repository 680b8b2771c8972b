/* SPDX-License-Identifier: BSD-3-Clause */
/* What an action block can read at its probe, told by the probe kind to the checker and to lowering.
 *
 * A probe kind expands an attach point to sites and groups sites whose contexts are alike into variants;
 * each variant is one program, compiled from a copy of the block with this context. */
#ifndef SPOOR_LANG_CONTEXT_H
#define SPOOR_LANG_CONTEXT_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "type/type.h"

struct ir;
struct lowering;

/* What a block reads of its context: found by scanning the tree before sites are grouped. */
struct context_uses {
    uint32_t arguments;        /* bit N: argN (bit 31: any above) */
    bool args;                 /* args, or a field of it */
    const char *const *fields; /* names of the fields of args that are read; NULL-terminated; */
    bool all_fields;           /* args is used as a whole */
    bool retval, ctx, site;    /* site: probe or func */
    bool registers;            /* reg() */
    bool kstack;               /* the kernel's stack */
    bool unwinds;              /* the stack of user space by call frame information */
    bool symbols;              /* uaddr() */
    bool user_memory;          /* something reads text or memory through a pointer: str, buf, *p, p->f */
};

struct probe_context {
    const char *kind; /* "uprobe": for messages */
    enum bpf_prog_type program_type;
    uint32_t expected_attach_type;
    uint32_t attach_btf_id;
    const char *attach_module; /* whose BTF has that id; NULL: the kernel itself, or */
    uint32_t attach_program;   /* the BPF program of this id; 0: none */
    enum address_space space;  /* of integers and untyped pointers that are followed */
    bool is_preemptible;       /* program can be preempted or stopped in a fault: uprobe, uretprobe, usdt */
    bool may_sleep;            /* may be loaded as sleepable */
    bool reads_memory;         /* its arguments are in traced memory, which may have to be paged in */
    bool has_registers;        /* ctx is a struct pt_regs: reg() works */
    bool is_return;            /* retval exists in principle */
    bool is_entry;             /* it is the first instruction of a function of a program */
    bool ignores_stop;         /* runs also after the trace was stopped: end */
    bool is_alone;             /* runs while no other program does: begin, end */
    bool filters_pid;          /* attachment itself honours -p with one process, and -c */
    bool ignores_pid_filter;   /* it happens to us or by our clock: no filter of processes is meant */
    bool is_of_command;        /* with -c, it is for the command's own process */
    bool keeps_result;         /* what the block returns is kept in the control page */
    bool has_record; /* ctx is an event of a recording (struct image_event): object, owner, lifetime … */
    bool record_in_control;  /* and lies in the control page: the kernel runs the program */
    bool writes_sequence;    /* what is printed goes to whoever reads the pinned iterator */
    const struct type *ctx;  /* type of `ctx`; NULL: none */
    const struct type *args; /* struct of the arguments by name; NULL: none, and args_missing says why */
    const char *args_missing;
    /* Why a name that the probe knows is no field of args; NULL: it is not known. May be NULL. */
    const char *(*args_absent)(const struct probe_context *context, const char *name);
    const struct type *const *arguments; /* types of arg0…; NULL elements: that one cannot be read */
    uint32_t argument_count;
    const struct type *retval; /* NULL: none, and retval_missing may say why */
    const char *retval_missing;
    uint32_t site_count;       /* sites of the variant; 1: the site is a constant */
    const char *site_function; /* not NULL: `func` of the only site */

    /* Lowering. Each emits code into the current block. NULL where the matching type above is NULL. */
    void (*lower_gate)(struct lowering *l,
                       const struct probe_context *context); /* first thing: return 0 unless
                                                                the event is ours; optional */
    struct ir *(*lower_site)(struct lowering *l,
                             const struct probe_context *context); /* 0 … site_count - 1 */
    struct ir *(*lower_argument)(struct lowering *l, const struct probe_context *context, unsigned number);
    struct ir *(*lower_retval)(struct lowering *l, const struct probe_context *context);
    /* A scalar field of args: its value. Any other field: the address of its bytes, readable directly. */
    struct ir *(*lower_args_field)(struct lowering *l, const struct probe_context *context,
                                   const struct field *field);
    /* Symbols of the probed program, for uaddr(): is there one, and how large; its address at run time. NULL:
     * the probe is not in a program. */
    bool (*find_symbol)(const struct probe_context *context, const char *name, uint32_t *size);
    struct ir *(*lower_symbol)(struct lowering *l, const struct probe_context *context, const char *name);
    /* What it points to, where the program says so; NULL: not known. May be NULL. */
    const struct type *(*symbol_type)(const struct probe_context *context, const char *name);
    const void *program;      /* of these three */
    const char *program_path; /* whose types the block can name; NULL: the probe is in no program */
    uint64_t program_address; /* of the first site in it */
    const void *data;         /* of the probe kind */
};

#endif
