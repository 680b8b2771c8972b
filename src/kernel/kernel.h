/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel as host: the only folder with bpf(2) and perf_event_open(2).
 *
 *   syscalls.c       the two system calls, nothing else
 *   features.c       what this kernel can do, found by trying
 *   helpers.c        which functions its programs may call, for --info
 *   permission.c     why it says no
 *   kernel.c         opening, closing, the table of operations
 *   create.c         maps, made and filled
 *   map.c            maps, read and changed
 *   load.c           programs
 *   object.c         what others have loaded: programs, modules' BTF
 *   refusal.c        what the verifier refused, in terms of the script
 *   ring.c           event rings, merged by time
 *   attach.c         the books of what is attached; tracepoints and perf events
 *   attach_tracing.c programs that were loaded for their place by BTF: functions, iterators
 *   attach_sites.c   the ladder for many sites, from the cheapest rung to the one that always works
 *   attach_uprobe.c, attach_kprobe.c   what the two have of their own on it
 *   trace_events.c   many sites under one event of tracefs
 *   pad.c            which nop of a declared USDT probe is the fastest that is safe
 *   watch.c          tells when programs map code
 *   leave.c          the end: a child closes what is slow to close
 *   state.h          what they share; private
 */
#ifndef SPOOR_KERNEL_KERNEL_H
#define SPOOR_KERNEL_KERNEL_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/host.h"

struct perf_event_attr;

struct kernel_options {
    const char
        *without; /* names of features to do without, comma separated: for tests and --no-feature; or NULL */
    unsigned verbose;    /* keeps the verifier's log of every program: kernel_log() */
    uint32_t log_size;   /* bytes for the verifier's log, default 1 MB */
    const char *license; /* of programs; NULL: GPL */
};

struct kernel; /* its first member is struct host */

/* Probes what is needed and returns. -EPERM with a diagnostic that names the missing capability; -ENOSYS for
 * kernels before 5.10. */
int kernel_open(const struct kernel_options *options, struct diagnostics *diagnostics, struct kernel **out);
struct host *kernel_host(struct kernel *kernel);
/* The verifier's log of a program, when verbose. NULL: none. */
const char *kernel_log(struct kernel *kernel, size_t program);
/* Text for --info: every feature and helper with yes, or no, why, and what is done instead. */
void kernel_describe(struct kernel *kernel, struct text *out);
/* Whether the feature of that name is missing; then says why. */
bool kernel_lacks(const struct kernel *kernel, const char *feature, struct text *out);
/* -EINVAL with a diagnostic for an unknown name in a --no-feature list. */
int features_without(struct features *features, const char *names, struct diagnostics *diagnostics);

/* ---- attaching: `program` is the index in the image of a loaded program. Descriptors belong to the kernel
 * and are closed by kernel_leave or close. Each explains a failure in diagnostics at `span`. What was attached
 * before the failure stays, because closing takes long: it is left to kernel_leave, or to kernel_detach_from
 * if the trace goes on. ---- */

/* Called now and then during long work with steps done and to do; non-zero cancels with -EINTR. */
typedef int kernel_progress(void *state, size_t done, size_t total);
struct elf_origin;
struct attach_request {
    size_t program;
    const char *name; /* of the probe, for messages */
    struct span span;
    struct diagnostics *diagnostics;
    const struct elf_origin *origin; /* of uprobes: the file whose tables said where; NULL: not known */
    kernel_progress *progress;       /* or NULL */
    void *state;
};

int kernel_attach_raw_tracepoint(struct kernel *kernel, const struct attach_request *request,
                                 const char *event);
int kernel_attach_tracepoint(struct kernel *kernel, const struct attach_request *request, uint64_t event_id);
/* On one CPU, or on every online one when cpu is -1; pid -1: all. */
int kernel_attach_perf_event(struct kernel *kernel, const struct attach_request *request,
                             const struct perf_event_attr *attributes, pid_t pid, int cpu);

/* fentry and fexit: the program knows its function since it was loaded. */
int kernel_attach_function(struct kernel *kernel, const struct attach_request *request);
/* For each object of one sort ("task", "bpf_map"): kernel_walk() runs the program over all of them. pid, not
 * 0: those of one process. pin, not NULL: a file that runs it whenever it is read, also when we are gone. */
int kernel_attach_iterator(struct kernel *kernel, const struct attach_request *request, const char *target,
                           pid_t pid, const char *pin);
/* Runs every iterator that is attached and not pinned, once, to its end. 0 or -errno. */
int kernel_walk(struct kernel *kernel);

struct uprobe_site {
    uint64_t offset;    /* in the file */
    uint64_t semaphore; /* offset in the file of the 16-bit USDT semaphore; 0: none */
    uint64_t cookie;
    const char *name; /* for messages */
    bool is_found;    /* by a pattern: where no uprobe can stand it is left out, with a warning */
};
/* pid 0: every process. Rungs: uprobe_multi link; perf events with links (few sites); many sites under one
 * tracefs event. The kernel is given the descriptor that was compared with the request's origin. With cookies
 * only where features say so. A bad site is found by checking and bisection and named; what can be attached
 * is attached only if all can. */
int kernel_attach_uprobes(struct kernel *kernel, const struct attach_request *request, const char *path,
                          const struct uprobe_site *sites, size_t count, bool is_return, pid_t pid);

struct kprobe_site {
    const char *symbol; /* or NULL: address */
    const char *module; /* or NULL */
    uint64_t offset;    /* from symbol; or the address */
    uint64_t cookie;
    bool is_shared; /* found by a pattern, and others have the name: left out where that needs an address */
};
int kernel_attach_kprobes(struct kernel *kernel, const struct attach_request *request,
                          const struct kprobe_site *sites, size_t count, bool is_return);

/* Whether programs of a type may call the function of the kernel's with this BTF id. */
bool kernel_function_allowed(uint32_t program_type, uint32_t expected_attach_type, uint32_t attach_btf_id,
                             uint32_t function);
/* Every BPF program in the kernel that says what its functions are called. The bytes live until the call
 * returns. Non-zero stops. */
struct kernel_bpf_program {
    uint32_t id;
    const char *name; /* of its first function */
    const void *btf;
    size_t btf_size;
};
typedef int kernel_program_visitor(void *state, const struct kernel_bpf_program *program);
int kernel_each_bpf_program(kernel_program_visitor *visit, void *state);

/* From now on kernel_mapped() tells whether any process has mapped code since it was asked last. 0 or -errno.
 */
int kernel_watch_mappings(struct kernel *kernel);
bool kernel_mapped(struct kernel *kernel);

/* Puts a new array into a slot of a map of arrays (image_map.inner_bytes). The memory of its value, shared
 * with programs; munmap() it. 0 or -errno. */
int kernel_add_array(struct kernel *kernel, const struct image *image, size_t map, uint32_t slot,
                     void **memory);

/* Lets the kernel count how long programs run, until we end: host's runs(). 0 or -errno. */
int kernel_count_time(struct kernel *kernel);

size_t kernel_attached(const struct kernel *kernel);
/* Detaches all but the first `count` attachments, in up to a tenth of a second for each site. */
void kernel_detach_from(struct kernel *kernel, size_t count);
/* Which rung each attachment took, for -v and tests: "uprobe_multi 34 sites /usr/bin/x", one a line. */
void kernel_describe_attachments(const struct kernel *kernel, struct text *out);

/* Leaves fast: hands all attachment descriptors to a child in its own session that closes them.
 * Programs must have been told to stop. After it only close() may be called. */
void kernel_leave(struct kernel *kernel);

#endif
