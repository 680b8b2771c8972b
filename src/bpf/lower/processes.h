/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which processes' events count: the tests that programs begin with, and spoor's own programs that keep the
 * set of traced processes up to date while processes fork and exit. */
#ifndef SPOOR_BPF_LOWER_PROCESSES_H
#define SPOOR_BPF_LOWER_PROCESSES_H

#include "bpf/lower/lower.h"

enum pid_set_program_kind { PID_SET_LOCATE, PID_SET_FORK, PID_SET_EXIT, PID_SET_COUNT };
struct pid_set_program {
    bool is_needed;
    size_t program;    /* in the image */
    const char *event; /* the raw tracepoint that it is for; NULL: it is run once, before all others */
};

/* The map of the set, if there is one. */
void lower_process_map(const struct compilation *compilation);
/* Appends the programs that are needed to the image; `out` has room for PID_SET_COUNT. 0, or -errno with a
 * diagnostic. */
int lower_pid_set_programs(const struct compilation *compilation, struct pid_set_program *out);
/* Leaves the program unless the event is of a process that counts. */
void lower_test_process(struct lowering *l);

#endif
