/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: one kernel host and what it owns. Nobody else includes it.
 *
 * Invariant: every descriptor in here belongs to the host and is in exactly one place, so that close and
 * leave find each once. */
#ifndef SPOOR_KERNEL_STATE_H
#define SPOOR_KERNEL_STATE_H

#include "kernel/kernel.h"
#include "kernel/pad.h"

struct tracefs;

struct kernel_map {
    int fd;
    enum bpf_map_type type;
    uint32_t key_size, value_size, max_entries;
    uint32_t stride; /* of one value as bpf(2) copies it: rounded up to 8 where per CPU */
    uint32_t values; /* how many there are of them: CPUs, or 1 */
    uint32_t ring;   /* rings for each CPU: where they begin among all rings */
};

struct kernel_program {
    int fd; /* -1: not loaded */
    enum bpf_prog_type type;
    uint32_t expected_attach_type; /* as loaded: decides which attachments the kernel accepts */
    char *log;
};

/* One ring of events and how far it has been read. */
struct ring {
    int fd;
    uint32_t size;                 /* of its data, a power of two */
    unsigned long *consumer;       /* mapped; ours to write */
    const unsigned long *producer; /* mapped; the kernel's */
    const uint8_t *data;           /* mapped twice in a row, so that no record is cut */
    /* While consuming: */
    unsigned long position, end, published; /* where we read; producer as seen; consumer as told */
    const uint8_t *record;                  /* at position, NULL: none can be read */
    uint32_t length;
    uint64_t time;       /* of that record */
    uint64_t busy_since; /* a reserved record that is not committed stands at position; 0: none */
    bool given_up;       /* the others do not wait for it any longer */
};
struct rings {
    struct ring *items;
    uint32_t count;
    int epoll;
    uint64_t delivered_time, disorder;
};

struct attachment {
    int *fds; /* in the order in which they are to be closed: links before what they are linked to */
    size_t count, room;
    uint64_t watched; /* address of a watchpoint, also of one that was removed; 0: something else */
    size_t program;   /* of kprobes: its index */
    bool is_kprobe;
    bool is_iterator; /* fds[0] is to be read to its end: kernel_walk() */
    char *group;      /* of tracefs events to be removed after; or NULL */
    bool group_is_kprobe;
    int eof_fd, hold_fds[2]; /* with a group: see trace_events.c */
    char *description;       /* one line */
};

struct kernel {
    struct host host;
    int lacked[FEATURES]; /* before options left some out */
    unsigned verbose;
    uint32_t log_size;
    const char *license;
    struct kernel_map *maps;
    size_t map_count;
    struct kernel_program *programs;
    size_t program_count;
    uint32_t copy_from_user_str; /* its number, once a program called it */
    struct image_control *control;
    size_t control_size;
    struct rings rings, own_rings; /* own: of image.events_own */
    struct attachment *attachments;
    size_t attachment_count, attachment_room;
    struct tracefs *tracefs; /* opened when an attachment needs it */
    int tracefs_error;       /* it could not be opened, and is not tried again */
    unsigned group_number;
    struct watch *watches; /* one per online CPU: see watch.c */
    size_t watch_count;
    enum pad pad; /* the fastest that was proved; see pad.c */
    bool pad_is_known;
    unsigned *online; /* CPUs that were online at the start */
    size_t online_count;
};

static inline struct kernel *kernel_of(struct host *host)
{
    return (struct kernel *)host;
}

/* features.c */
/* errors: why the kernel has not what it has not, 0 for what it has. */
int features_probe(struct features *features, int errors[FEATURES]);
/* The number that this kernel knows one of enum image_kfunc by; 0: it does not. */
uint32_t features_kfunc(int64_t number);
/* What takes longer to find out. */
void features_probe_thoroughly(struct features *features, int errors[FEATURES]);
/* used: without those that nobody wanted. */
void features_describe(const struct features *used, const int errors[FEATURES], struct text *out);
/* Whether a feature is missing; then says why. */
bool features_lacks(const struct features *used, const int errors[FEATURES], const char *name,
                    struct text *out);
/* The type of a perf event source of /sys/bus/event_source/devices; -errno. */
int features_event_source(const char *name);

/* helpers.c: for --info. */
void helpers_describe(struct text *out);
/* Whether a kprobe's program may call it: 0 or -errno. */
int features_try_helper(bool is_sleepable, int helper);

/* permission.c: why the kernel said EPERM, as the user can act on it. */
void permission_explain(struct diagnostics *diagnostics, struct span span, const char *what);
bool permission_is_enough(void);
void permission_describe(struct text *out);
bool permission_is_locked_down(const char *mode); /* "integrity", "confidentiality" */
/* Some words on who it may have been. */
void permission_reason(struct text *out);

/* create.c, map.c, load.c, ring.c, run: the host's operations. */
int create_maps(struct host *host, const struct image *image, struct diagnostics *diagnostics);
int add_maps(struct host *host, const struct image *image, struct diagnostics *diagnostics);
int create_task_storage(const char *name, uint32_t value_size); /* a map's descriptor, or -errno */
int load_program(struct host *host, const struct image *image, size_t program,
                 struct diagnostics *diagnostics);
int load_run(struct host *host, size_t program);
struct host_runs load_runs(struct host *host, size_t program);
int map_each(struct host *host, size_t map, host_element *element, void *state);
int map_lookup(struct host *host, size_t map, const void *key, void *values);
int map_update(struct host *host, size_t map, const void *key, const void *value);
int map_delete(struct host *host, size_t map, const void *key);
int map_clear(struct host *host, size_t map);
int map_zero(struct host *host, size_t map);
int ring_open(struct rings *rings, const int *fds, uint32_t count, uint32_t size);
int ring_consume(struct host *host, bool drain, host_record *record, void *state);
int ring_consume_own(struct host *host, host_record *record, void *state);
void ring_close(struct rings *rings);
/* Which of a map's rings a CPU has. */
uint32_t ring_of_cpu(const struct kernel *kernel, uint32_t cpu);

/* watch.c */
void watch_close(struct kernel *kernel);

/* object.c: descriptors, or -errno. */
int object_open_program(uint32_t id);
int object_open_module(const char *module); /* its BTF */

/* refusal.c: what the verifier wrote, in the script's terms. */
int refusal_explain(struct diagnostics *diagnostics, const struct image_program *program, int error,
                    const char *log);

/* attach.c: the books, and what has a single site. */
struct attachment *attachment_new(struct kernel *kernel);  /* NULL: out of memory */
int attachment_add(struct attachment *attachment, int fd); /* closes fd when it fails */
void attachment_describe(struct attachment *attachment, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int attach_unwatch(struct host *host, uint64_t address); /* the host's operation */
/* The loaded program of a request; NULL with a diagnostic when it is not loaded. */
/* By the hook's name, or where a program that was loaded for its place goes (NULL). 0 or -errno, undiagnosed.
 */
int attach_raw(struct kernel *kernel, const struct kernel_program *program, const char *event,
               const char *description);
const struct kernel_program *attach_program(struct kernel *kernel, const struct attach_request *request);
/* Connects a program to a perf event: by a link with the cookie where has_cookie, else directly. Adds both
 * descriptors to the attachment; `event` is closed when it fails. */
int attach_to_event(struct attachment *attachment, const struct kernel_program *program, int event,
                    bool has_cookie, uint64_t cookie);
int attach_progress(const struct attach_request *request, size_t done, size_t total); /* 0 or -EINTR */
const char *attach_error(int error);                                                  /* as strerror */

/* attach_sites.c: the strategy below the multi links, alike for uprobes and kprobes. */
struct attach_strategy {
    struct kernel *kernel;
    const struct attach_request *request;
    const struct kernel_program *program;
    const void *sites;
    size_t count;
    pid_t pid;
    bool is_kprobe, is_return;
    const char *where; /* for descriptions: the path, or "kernel" */
    void (*spec)(const struct attach_strategy *strategy, size_t site,
                 struct text *out); /* in a line of tracefs */
    uint64_t (*cookie)(const struct attach_strategy *strategy, size_t site);
    int (*open)(const struct attach_strategy *strategy, size_t site); /* one perf event for one site */
    int (*multi)(const struct attach_strategy *strategy, size_t first,
                 size_t count); /* a link's descriptor */
    void *state;
};
/* Attaches all sites; on failure *bad is the site that the kernel refuses, or count if it is none. */
int attach_sites(const struct attach_strategy *strategy, size_t *bad);
/* Events of a program that its kprobes missed, as far as the kernel tells. */
uint64_t sites_missed(const struct kernel *kernel, size_t program);

/* trace_events.c: uprobe_events and kprobe_events of tracefs. */
int trace_events_open(struct kernel *kernel); /* -errno: not reachable */
/* Whoever opened a tracepoint or uprobe event now would hang for ever: see tracefs_open. */
bool trace_events_stuck(struct kernel *kernel);
/* Makes one event of several sites and puts the group's name into the attachment, which removes it when it is
 * dropped, also after a failure. *bad is then the place in `order` of the site that the kernel refuses. */
int trace_events_make(const struct attach_strategy *strategy, struct attachment *attachment,
                      const size_t *order, size_t count, uint32_t *id, size_t *bad);
/* To be called as soon as the attachment has the perf event. */
int trace_events_hold(struct attachment *attachment);
/* Closes the attachment's own ends and removes the group's event as soon as nobody has it any more. Gives up
 * after `patience` milliseconds and leaves the definition: it does nothing. Only system calls: usable after
 * fork. All other descriptors of the attachment must be closed. */
void trace_events_remove(int directory, const struct attachment *attachment, int patience);

#endif
