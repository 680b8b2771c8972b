/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: one kernel host and what it owns. No other folder includes it.
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
    uint32_t stride; /* bytes of one value as bpf(2) copies it: rounded up to 8 in maps per CPU */
    uint32_t values; /* how many values an element has: one for each CPU in maps per CPU, else 1 */
    uint32_t ring;   /* for a map of rings: the index of its first ring in struct rings */
};

struct kernel_program {
    int fd; /* -1: not loaded */
    enum bpf_prog_type type;
    uint32_t expected_attach_type; /* as loaded: decides which attachments the kernel accepts */
    char *log;                     /* what the verifier wrote, or NULL */
};

/* One ring of events and how far it has been read. */
struct ring {
    int fd;
    uint32_t size;                 /* bytes of data, a power of two */
    unsigned long *consumer;       /* mapped: the position up to which this process has read */
    const unsigned long *producer; /* mapped: the position up to which programs have reserved records */
    const uint8_t *data;           /* mapped twice in a row, so that no record is cut at the end */
    /* While records are consumed: */
    unsigned long position;  /* where the next record is read */
    unsigned long end;       /* the producer's position when it was read last */
    unsigned long published; /* the position that *consumer has now */
    const uint8_t *record;   /* the record at `position`; NULL: none can be read */
    uint32_t length;         /* bytes of that record */
    uint64_t time;           /* when that record was made, ns of the boot clock */
    uint64_t busy_since; /* since when the record at `position` is reserved and not committed; 0: it is not */
    bool given_up;       /* other rings no longer wait for that record */
    bool can_grow, is_half_full; /* see ring_growth.c; as it was found to be before it was read last */
};
struct contender { /* a ring in the tournament of ring.c */
    uint64_t key;  /* twice the time before which nothing comes from it any more, and 1 if it has no record */
    uint32_t ring;
};
struct rings {
    struct ring *items;
    uint32_t count;
    struct contender *tree; /* [0] has won; [1] to [count - 1] have lost the match that was played there */
    int epoll;
    uint64_t delivered_time, disorder;
    bool is_half_full; /* one that can grow is */
};

struct attachment {
    int *fds; /* in the order in which they are to be closed: links before what they are linked to */
    size_t count, room;
    uint64_t watched; /* the address of a watchpoint, also of one that was removed; 0: it is no watchpoint */
    size_t program;   /* with is_kprobe: the index of its program */
    bool is_kprobe;
    bool closes_at_once; /* its descriptors are links that close.c closes */
    bool is_iterator;    /* kernel_walk() reads fds[0] to its end */
    char *group; /* the group of tracefs events that is removed after the descriptors are closed; or NULL */
    bool group_is_kprobe;
    int eof_fd, hold_fds[2]; /* with a group: see trace_events.c */
    char *description;       /* one line for kernel_describe_attachments() */
};

struct kernel {
    struct host host;
    int lacked[FEATURES]; /* why the kernel lacks each feature, 0 if it has it; options do not change it */
    unsigned verbose;
    uint32_t log_size;
    const char *license;
    struct kernel_map *maps;
    size_t map_count;
    struct kernel_program *programs;
    size_t program_count;
    uint32_t copy_from_user_str; /* BTF id of this kfunc; 0: no program has called it yet */
    struct image_control *control;
    size_t control_size;
    struct rings rings, own_rings; /* the rings of image.events and of image.events_own */
    uint64_t ring_budget;          /* bytes that all rings take at first; 0: as ring_growth.c has it */
    struct growth *growth;         /* NULL: the rings are as large as they may be */
    struct attachment *attachments;
    size_t attachment_count, attachment_room;
    struct tracefs *tracefs; /* NULL until an attachment needs it */
    int tracefs_error; /* why it could not be opened, which is not tried again; 0: it was not tried or is open */
    unsigned group_number;
    struct timers *timers; /* NULL: there are none; see timer.c */
    struct watch *watches; /* one for each CPU that was online: see watch.c */
    size_t watch_count;
    enum pad pad; /* the result of kernel_pad(), if pad_is_known */
    bool pad_is_known;
    bool counts_time; /* has the kernel measure how long programs run */
    unsigned *online; /* numbers of the CPUs that were online when the host was opened */
    size_t online_count;
};

static inline struct kernel *kernel_of(struct host *host)
{
    return (struct kernel *)host;
}

/* features.c */
/* Finds out which features this kernel has, by trying. errors[feature] is 0, or the -errno that says why it is
 * missing. */
int features_probe(struct features *features, int errors[FEATURES]);
/* The BTF id by which this kernel knows a function, one of enum image_kfunc; 0: it does not have it. */
uint32_t features_kfunc(int64_t number);
/* Tries also what takes longer, for --info. */
void features_probe_thoroughly(struct features *features, int errors[FEATURES]);
/* Writes a line for each feature. `used` lacks those that options left out. */
void features_describe(const struct features *used, const int errors[FEATURES], struct text *out);
void features_each_missing(const struct features *used, const int errors[FEATURES],
                           kernel_feature_visitor *visit, void *state);
/* Whether the feature of that name is missing; then *out gets the reason. */
bool features_lacks(const struct features *used, const int errors[FEATURES], const char *name,
                    struct text *out);
/* The perf event type of a source named in /sys/bus/event_source/devices, or -errno. */
int features_event_source(const char *name);

/* helpers.c */
/* Writes which of the helpers that programs of spoor call this kernel offers, for --info. */
void helpers_describe(struct text *out);
/* Whether a program of a kprobe, or of a sleepable uprobe, may call this helper: 0 or -errno. */
int features_try_helper(bool is_sleepable, int helper);

/* permission.c */
/* Reports why the kernel answered EPERM to `what`, and what the user can do about it. */
void permission_explain(struct diagnostics *diagnostics, struct span span, const char *what);
bool permission_is_enough(void);
void permission_describe(struct text *out);
bool permission_is_locked_down(const char *mode); /* "integrity", "confidentiality" */
/* Writes in a few words what may have forbidden it: lockdown, or a security module. */
void permission_reason(struct text *out);

/* close.c */
/* Closes them all, by several threads, and returns when they are closed. */
void close_at_once(const int *fds, size_t count);

/* create.c, map.c, load.c, ring.c: the host's operations, which bpf/host.h describes. */
int create_maps(struct host *host, const struct image *image, struct diagnostics *diagnostics);
int add_maps(struct host *host, const struct image *image, struct diagnostics *diagnostics);
/* prefill.c: makes the kernel keep some free elements of a map with keys of 8 bytes ready on each CPU. It may fail. */
void prefill_map(const struct kernel *kernel, int map, uint32_t value_size);
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
/* The index of the ring that programs on this CPU write to. */
uint32_t ring_of_cpu(const struct kernel *kernel, uint32_t cpu);
int create_ring(const char *name, uint32_t bytes); /* a descriptor, or -errno */
/* Puts maps into slots of a map of maps, by one call where the kernel can. */
int create_fill(int map, const uint32_t *slots, const int *values, uint32_t count);

/* ring_growth.c */
/* How large rings are at first. */
uint32_t growth_first_bytes(const struct kernel *kernel, const struct image_map *map);
/* From now on the rings of this map grow to so many bytes, if there is memory for that. */
void growth_begin(struct kernel *kernel, const struct kernel_map *map, uint32_t bytes);
/* Called after records were read, if rings.is_half_full. */
void growth_look(struct kernel *kernel);
void growth_end(struct kernel *kernel);

/* watch.c */
void watch_close(struct kernel *kernel);

/* object.c: descriptors, or -errno. */
int object_open_program(uint32_t id);
int object_open_module(const char *module); /* opens the module's BTF */

/* refusal.c */
/* Reports what the verifier refused, at the line of the script that it came from. Returns the error. */
int refusal_explain(struct diagnostics *diagnostics, const struct image_program *program, int error,
                    const char *log);

/* attach.c: the list of attachments, and ways to attach that have a single site. */
struct attachment *attachment_new(struct kernel *kernel);  /* NULL: out of memory */
int attachment_add(struct attachment *attachment, int fd); /* closes fd when it fails */
/* Closes and forgets those behind the first `count`, one after the other. */
void attachment_close_from(struct kernel *kernel, size_t count);
void attachment_describe(struct attachment *attachment, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int attach_unwatch(struct host *host, uint64_t address); /* the host's operation */
/* Attaches to the raw tracepoint of that name; NULL: to the hook that the program was loaded for. 0 or -errno, without a
 * diagnostic. */
int attach_raw(struct kernel *kernel, const struct kernel_program *program, const char *event,
               const char *description);
/* The loaded program of a request; NULL with a diagnostic when it is not loaded. */
const struct kernel_program *attach_program(struct kernel *kernel, const struct attach_request *request);
/* Connects a program to a perf event: by a link with the cookie where has_cookie, else directly. Adds both
 * descriptors to the attachment; `event` is closed when it fails. */
int attach_to_event(struct attachment *attachment, const struct kernel_program *program, int event,
                    bool has_cookie, uint64_t cookie);
int attach_progress(const struct attach_request *request, size_t done, size_t total); /* 0 or -EINTR */

/* attach_sites.c: attaching to many sites, alike for uprobes and kprobes, which differ in these functions. */
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
/* How many events the kprobes of a program missed, as far as this kernel counts them: from Linux 6.7 on. */
uint64_t sites_missed(const struct kernel *kernel, size_t program);

/* timer.c */
void timers_free(struct kernel *kernel);

/* trace_events.c: uprobe_events and kprobe_events of tracefs. */
int trace_events_open(struct kernel *kernel); /* 0, or -errno where tracefs cannot be used */
/* Whether opening a tracepoint or a uprobe event would hang for ever now: see tracefs_open(). */
bool trace_events_stuck(struct kernel *kernel);
/* Makes one event of several sites and puts the group's name into the attachment, which removes it when it is
 * dropped, also after a failure. *bad is then the place in `order` of the site that the kernel refuses. */
int trace_events_make(const struct attach_strategy *strategy, struct attachment *attachment,
                      const size_t *order, size_t count, uint32_t *id, size_t *bad);
/* Keeps the group from being removed while the perf event is open. To be called as soon as it is. */
int trace_events_hold(struct attachment *attachment);
/* Closes the attachment's own ends and removes the group's event as soon as no process has it any more. Gives up
 * after `patience` milliseconds and leaves the definition: it does nothing. Makes only system calls: usable after
 * fork. All other descriptors of the attachment must be closed. */
void trace_events_remove(int directory, const struct attachment *attachment, int patience);

#endif
