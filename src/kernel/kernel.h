/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel as host: the only folder with bpf(2) and perf_event_open(2).
 *
 *   syscalls.c       the two system calls, nothing else
 *   features.c       what this kernel can do, found by trying
 *   helpers.c        which functions its programs may call, for --info
 *   permission.c     why the kernel refuses something
 *   kernel.c         opening, closing, the table of operations
 *   create.c         maps, made and filled
 *   map.c            maps, read and changed
 *   load.c           programs
 *   object.c         what others have loaded: programs, modules' BTF
 *   refusal.c        what the verifier refused, in terms of the script
 *   ring.c           event rings, merged by time
 *   attach.c         the list of what is attached; tracepoints and perf events
 *   attach_tracing.c programs that were loaded for what they attach to, by BTF: functions, iterators
 *   attach_sites.c   strategies for many sites, from the cheapest to the one that always works
 *   attach_uprobe.c, attach_kprobe.c   how the strategies differ for these two
 *   trace_events.c   many sites under one event of tracefs
 *   pad.c            which nop of a declared USDT probe is the fastest that is safe
 *   watch.c          notices that programs map code
 *   quiesce.c        waits until programs that were running have returned
 *   timer.c          runs the programs of interval probes
 *   leave.c          the end: a child closes what is slow to close
 *   state.h          what these files share
 */
#ifndef SPOOR_KERNEL_KERNEL_H
#define SPOOR_KERNEL_KERNEL_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/host.h"

struct perf_event_attr;

struct kernel_options {
    const char *without; /* names of features that are not to be used, separated by commas; or NULL */
    unsigned verbose;    /* not 0: the verifier's log of every program is kept, for kernel_log() */
    uint32_t log_size;   /* bytes for the verifier's log; less than 128: 1 MB */
    const char *license; /* license of the programs; NULL: GPL */
};

struct kernel; /* its first member is struct host */

/* Finds out what this kernel can do. Fails with -EPERM and a diagnostic that names the missing capability, or with
 * -ENOSYS on kernels before 5.10. */
int kernel_open(const struct kernel_options *options, struct diagnostics *diagnostics, struct kernel **out);
struct host *kernel_host(struct kernel *kernel);
/* The verifier's log of a program, if logs are kept; else NULL. */
const char *kernel_log(struct kernel *kernel, size_t program);
/* Writes the table for --info: for every feature and helper yes, or no, why, and what is done instead. */
void kernel_describe(struct kernel *kernel, struct text *out);
/* Writes the part of it that takes no rights: which kernel it is, and the rights of this process. */
void kernel_describe_rights(struct text *out);
/* Whether the feature of that name is missing; then `out` gets the reason. */
bool kernel_lacks(const struct kernel *kernel, const char *feature, struct text *out);
/* Calls `visit` for each feature that the kernel lacks, with its name, what it is, why it is not there, and what
 * follows: "instead, …" or "then … is an error". From then on kernel_lacks() knows, too, what only attaching shows. */
typedef void kernel_feature_visitor(void *state, const char *name, const char *what, const char *why,
                                    const char *follows);
void kernel_each_missing(struct kernel *kernel, kernel_feature_visitor *visit, void *state);
/* Takes the features of a --no-feature list away; -EINVAL with a diagnostic if it has an unknown name. */
int features_without(struct features *features, const char *names, struct diagnostics *diagnostics);

/* The rings of many CPUs begin small and grow where events come (ring_growth.c). Called before the maps are created, they
 * have their full size at once. */
void kernel_rings_are_full(struct kernel *kernel);

/* ---- Rights ---- */

/* What this process may do, and what forbids it even to root. */
enum { KERNEL_RIGHTS = 4 };
struct kernel_permission {
    struct kernel_right {
        const char *name, *use; /* "CAP_BPF", and what takes it */
        bool is_needed;         /* nothing is traced without it */
        bool has;               /* also by CAP_SYS_ADMIN, where that stands for it */
    } rights[KERNEL_RIGHTS];
    bool is_enough;         /* it has all that are needed */
    bool in_user_namespace; /* its rights are those of a namespace only */
    char lockdown[32];      /* "none", "integrity", "confidentiality"; "" where it cannot be read */
};
void kernel_permission(struct kernel_permission *out);

/* ---- Attaching ----
 *
 * Each function attaches a loaded program, and on failure reports the reason at the span of the request. Descriptors
 * belong to struct kernel; kernel_leave() or close() closes them. What was attached before a failure stays attached,
 * since closing takes long: it is left to kernel_leave(), or to kernel_detach_from() if the trace goes on. */

/* Called now and then during long work, with the steps that are done and all steps. A value that is not 0 cancels the
 * work, which then fails with -EINTR. */
typedef int kernel_progress(void *state, size_t done, size_t total);
struct elf_origin;
struct attach_request {
    size_t program;   /* index of the program in the image */
    const char *name; /* name of the probe, for messages */
    struct span span;
    struct diagnostics *diagnostics;
    const struct elf_origin *origin; /* for uprobes: the file that has the sites; NULL: not known */
    kernel_progress *progress;       /* or NULL */
    void *state;
};

int kernel_attach_raw_tracepoint(struct kernel *kernel, const struct attach_request *request,
                                 const char *event);
int kernel_attach_tracepoint(struct kernel *kernel, const struct attach_request *request, uint64_t event_id);
/* Attaches to a perf event of one process, or with a `pid` of -1 on all CPUs that are online. */
int kernel_attach_perf_event(struct kernel *kernel, const struct attach_request *request,
                             const struct perf_event_attr *attributes, pid_t pid);

/* Has the program, one of BPF_PROG_TYPE_RAW_TRACEPOINT, run every `period` nanoseconds, at most once in 10 us, from
 * kernel_timers_start() on, on whatever CPU. 0 or -ENOMEM. */
int kernel_attach_timer(struct kernel *kernel, const struct attach_request *request, uint64_t period);
/* Starts the thread that runs what kernel_attach_timer() was given; nothing may be added after it. 0 or -errno. */
int kernel_timers_start(struct kernel *kernel);
/* Why the kernel refused to run the program of a timer, after which no timer runs any more: -errno, and the program in
 * *program. 0: it refused none. */
int kernel_timers_failed(const struct kernel *kernel, size_t *program);
/* Runs what is due by now, and ends the thread. To be called before the stop flag is set, after which programs do
 * nothing. */
void kernel_timers_stop(struct kernel *kernel);

/* Attaches a program for fentry or fexit to the function that it was loaded for. */
int kernel_attach_function(struct kernel *kernel, const struct attach_request *request);
/* Attaches an iterator over the objects of one kind ("task", "bpf_map"), which kernel_walk() runs over all of them. A
 * `pid` that is not 0 restricts it to objects of that process. With a `pin` it becomes a file that runs the program
 * whenever it is read, also after the tracer has ended. */
int kernel_attach_iterator(struct kernel *kernel, const struct attach_request *request, const char *target,
                           pid_t pid, const char *pin);
/* Runs all iterators that are attached and not pinned, once and to their end. 0 or -errno. */
int kernel_walk(struct kernel *kernel);

struct uprobe_site {
    uint64_t offset;    /* in the file */
    uint64_t semaphore; /* offset of the 16-bit USDT semaphore in the file; 0: there is none */
    uint64_t cookie;
    const char *name; /* for messages */
    bool is_found;    /* it was found by a pattern: it is left out with a warning if no uprobe can be there */
};
/* Attaches to all sites; fails if the kernel refuses one of them, which is found by checks and by bisection, and named. A
 * `pid` of 0 means all processes. Strategies, in this order: a uprobe_multi link; for few sites perf events with links;
 * many sites under one event of tracefs. The kernel gets the descriptor that was compared with the request's origin.
 * Cookies are used if the features have them. */
int kernel_attach_uprobes(struct kernel *kernel, const struct attach_request *request, const char *path,
                          const struct uprobe_site *sites, size_t count, bool is_return, pid_t pid);

struct kprobe_site {
    const char *symbol; /* NULL: `offset` is an address */
    const char *module; /* or NULL */
    uint64_t offset;    /* from the beginning of the symbol */
    uint64_t cookie;
    /* It was found by a pattern, and other functions have the same name: it is left out if only an address could tell
     * them apart. */
    bool is_shared;
};
int kernel_attach_kprobes(struct kernel *kernel, const struct attach_request *request,
                          const struct kprobe_site *sites, size_t count, bool is_return);

/* Whether programs of this type may call the function of the kernel with this BTF id. */
bool kernel_function_allowed(uint32_t program_type, uint32_t expected_attach_type, uint32_t attach_btf_id,
                             uint32_t function);
/* Visits all BPF programs in the kernel that have names for their functions. What the visitor gets lives until it
 * returns; a value that is not 0 ends the visit. */
struct kernel_bpf_program {
    uint32_t id;
    const char *name; /* name of its first function */
    const void *btf;
    size_t btf_size;
};
typedef int kernel_program_visitor(void *state, const struct kernel_bpf_program *program);
int kernel_each_bpf_program(kernel_program_visitor *visit, void *state);

/* Lets kernel_mapped() say whether any process has mapped code since it was called last. 0 or -errno. */
int kernel_watch_mappings(struct kernel *kernel);
bool kernel_mapped(struct kernel *kernel);

/* Puts a new array into a slot of a map of arrays (image_map.inner_bytes), and points *memory to its value, which is
 * shared with programs and to be released by munmap(). 0 or -errno. */
int kernel_add_array(struct kernel *kernel, const struct image *image, size_t map, uint32_t slot,
                     void **memory);

/* Lets the kernel measure how long programs run, until this process ends; runs() of the host returns it. 0 or -errno. */
int kernel_count_time(struct kernel *kernel);
/* Whether it does now, for whatever reason. */
bool kernel_has_time(const struct kernel *kernel);

/* How many attachments there are. */
size_t kernel_attached(const struct kernel *kernel);
/* Detaches all attachments but the first `count`. It can take a tenth of a second for each site. */
void kernel_detach_from(struct kernel *kernel, size_t count);
/* Writes a line for each attachment with the strategy that was used, such as "uprobe_multi 34 sites /usr/bin/x". */
void kernel_describe_attachments(const struct kernel *kernel, struct text *out);

/* Waits until every program that the kernel was running has returned, which takes about as long as an RCU grace period:
 * tens of milliseconds. After it, what programs that did not see the stop flag wrote is in the rings and maps. A
 * sleepable program that waits for a page of memory is not waited for. Returns at once where nothing is attached. 0 or
 * -errno, after which programs may still run. */
int kernel_await_programs(const struct kernel *kernel);

/* Hands the descriptors of all attachments to a child in a session of its own, which closes them, so that the caller
 * need not wait for it. The stop flag must be set before. After it only close() may be called. */
void kernel_leave(struct kernel *kernel);

#endif
