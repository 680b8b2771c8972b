/* SPDX-License-Identifier: BSD-3-Clause */
/* The user-space host: runs the programs of an image without a kernel, for recordings and for tests.
 *
 * Not here: where events come from (session/replay.c), what programs find in their context (probe/trace.c).
 * The invariant: instructions are untrusted. Everything that they can read or write lies in one piece of
 * memory that belongs to them, maps' values and the context included, and each access is checked against it;
 * what the host itself goes by (buckets, lengths, addresses of code) lies elsewhere. A program can spoil its
 * own results and nothing else, and a budget ends it. */
#ifndef SPOOR_VM_VM_H
#define SPOOR_VM_VM_H

#include "bpf/host.h"

/* The addresses at which programs read texts of the event: numbers that are no address of memory. */
enum { VM_TEXT_OWNER = EVENT_WORDS, VM_TEXTS };
#define VM_TEXT_BASE 0x7e00000000000000u
static inline uint64_t vm_text_address(unsigned text)
{
    return VM_TEXT_BASE + ((uint64_t)text << 32);
}

struct vm_text {
    const char *bytes;
    uint32_t length;
};

/* What helpers answer about the current event: its time, process and texts. */
struct vm_event {
    uint64_t time; /* ns of the boot clock; 0: the present time */
    uint32_t pid, tid, cpu;
    const char *comm;
    /* Finds a text of the event. False: there is none. The bytes must live until the program has ended. */
    bool (*text)(void *state, unsigned which, struct vm_text *text);
    void *state;
};

struct vm;

struct vm_options {
    /* How many jumps back and calls one run may make; 0: the default, enough for some seconds. */
    uint64_t budget;
    uint64_t ring_bytes; /* room for records that were not consumed yet; 0: the default */
};

int vm_open(const struct vm_options *options, struct vm **out); /* 0 or -ENOMEM */
struct host *vm_host(struct vm *vm);
/* The context of programs, to be filled before vm_run(). NULL before the maps are made. */
struct image_event *vm_context(struct vm *vm);
/* Sets the event for programs that run from now on. NULL: none; helpers answer about this process and the present
 * time. */
void vm_event(struct vm *vm, const struct vm_event *event);
/* The event that vm_event() set last, to be changed in place from one event to the next. */
struct vm_event *vm_event_here(struct vm *vm);
/* Runs a loaded program with the context. 0; -EFAULT: it touched memory that is not its own, -ELOOP: it did
 * not come to its end, -EINVAL: it makes no sense. Then `at` is the place in the script, if it is known. */
int vm_run(struct vm *vm, size_t program, struct span *at);
bool vm_has_records(const struct vm *vm); /* whether there are records that were not consumed */
uint64_t vm_spent(const struct vm *vm);   /* how much of its budget the last run used */
/* Whether a program of a recording's event, which a kernel shall run, calls only what would be answered here
 * too: anything else would answer about this process. -EOPNOTSUPP with a diagnostic that says why. */
int vm_check_calls(const struct image_program *program, const char *why, struct diagnostics *diagnostics);
/* What an error of vm_run() means, for messages. */
const char *vm_error(int error);

#endif
