/* SPDX-License-Identifier: BSD-3-Clause */
/* What tracepoint.c and tracepoint_syscall.c share; nobody else includes this. */
#ifndef SPOOR_PROBE_TRACEPOINT_H
#define SPOOR_PROBE_TRACEPOINT_H

#include "probe/kind.h"

struct tracepoint_site { /* detail of a site */
    const char *subsystem, *event;
    bool from_pattern;
    const struct type *args; /* fields that can be read; made when a block reads args, see tracepoint_args */
    int syscall;             /* number, -1: not a system call's */
    bool is_exit;
};

/* How the program of a variant is attached; a variant's detail. */
enum tracepoint_method {
    TRACEPOINT_PERF,     /* the event's perf tracepoint: the record is the context */
    TRACEPOINT_RAW,      /* the hook itself, without args */
    TRACEPOINT_DISPATCH, /* raw_syscalls' hooks and a table by number */
};
struct tracepoint_detail {
    enum tracepoint_method method;
    uint32_t map;    /* dispatch: the table's map in the image, set when lowering begins */
    uint32_t status; /* dispatch: offset in task_struct of the word that tells 32-bit calls … */
    uint32_t compat; /* … and its bit; 0: there are none */
};

bool tracepoint_reads_field(const struct context_uses *uses, const char *name);

/* True: the kernel lets us dispatch system calls by hand (it has the type information for it). */
bool tracepoint_dispatch_works(struct probe_environment *environment);
/* Completes the variant: all its sites are system calls, one way (enter or exit). */
void tracepoint_dispatch_fill(struct probe_environment *environment, const struct context_uses *uses,
                              struct probe_variant *variant);
/* What must be alike for two system calls to share a program. */
void tracepoint_dispatch_key(struct probe_environment *environment, const struct context_uses *uses,
                             const struct probe_site *site, struct text *key);
/* The hook: "sys_enter" or "sys_exit". */
const char *tracepoint_dispatch_event(const struct probe_variant *variant);

#endif
