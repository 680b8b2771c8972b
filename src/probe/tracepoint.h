/* SPDX-License-Identifier: BSD-3-Clause */
/* What tracepoint.c and tracepoint_syscall.c share. No other file includes this. */
#ifndef SPOOR_PROBE_TRACEPOINT_H
#define SPOOR_PROBE_TRACEPOINT_H

#include "probe/kind.h"

struct tracepoint_site { /* detail of a site */
    const char *subsystem, *event;
    bool from_pattern;
    const struct type *args; /* fields that can be read; made when a block reads args, see tracepoint_args */
    int syscall;             /* the number of the system call; -1: it is no event of one */
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

/* Whether one program can serve many system calls: the kernel has the type information that this needs. */
bool tracepoint_dispatch_works(struct probe_environment *environment);
/* Completes a variant whose sites are system calls, all at entry or all at exit. */
void tracepoint_dispatch_fill(struct probe_environment *environment, const struct context_uses *uses,
                              struct probe_variant *variant);
/* The probe_key of system calls that may share a program. */
void tracepoint_dispatch_key(struct probe_environment *environment, const struct context_uses *uses,
                             const struct probe_site *site, struct text *key);
/* The hook: "sys_enter" or "sys_exit". */
const char *tracepoint_dispatch_event(const struct probe_variant *variant);

/* Why there are no arguments: those that have no numbers have names. */
static inline const char *tracepoint_args_missing(const struct context_uses *uses)
{
    return uses->args ? "its fields are not known"
                      : "its arguments have names: args.NAME; spoor -lv lists them";
}

#endif
