/* SPDX-License-Identifier: BSD-3-Clause */
/* The stub of a probe declared with spoor/probe.h has three nops in a row, of 1, 5 and 10 bytes; the note
 * names the first. A probe on the first works on every kernel and costs a trap. Some kernels replace one of
 * the longer ones by a call, which is twice as fast; others refuse it, or take it and never fire. Which it
 * is, is not asked by version but proved: on a stub of our own, in a child that may come to harm. */
#ifndef SPOOR_KERNEL_PAD_H
#define SPOOR_KERNEL_PAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel;

enum pad { PAD_NOP1, PAD_NOP5, PAD_NOP10, PADS };
enum { PADS_BYTES = 16 }; /* all three */

extern const struct pad_form {
    const char *name; /* "5-byte nop" */
    uint8_t offset;   /* from the first */
    uint8_t size;
    uint8_t bytes[10];
} pad_forms[PADS];

/* Returns whether the bytes at the place that a note names hold all three pads. */
bool pad_found(const uint8_t *code, size_t size);

/* The longer pad that did everything right just now, or the first. What a proof opened stays open in fds
 * until the caller closes it, which takes the kernel tens of milliseconds. Needs uprobe_multi links. */
struct pad_proof {
    enum pad pad;
    const char *why[PADS]; /* why a pad is not used; NULL: it is, or another is */
    int fds[1 + 2 * PADS];
    unsigned count;
};
void pad_prove(struct pad_proof *proof);
void pad_proof_close(struct pad_proof *proof);

/* The same, proved once for each kernel host, whose attachments keep what it opened. */
enum pad kernel_pad(struct kernel *kernel);

#endif
