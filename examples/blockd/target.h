/* SPDX-License-Identifier: BSD-3-Clause */
/* The server as a whole: it goes from state to state, up to RUNNING and down again. It belongs to the first thread,
 * as do its exports. */
#ifndef BLOCKD_TARGET_H
#define BLOCKD_TARGET_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "export.h"
#include "listener.h"
#include "options.h"

enum target_state {
    TARGET_NONE,
    TARGET_CREATE_TARGET,
    TARGET_CREATE_POLL_GROUPS,
    TARGET_START_EXPORTS,
    TARGET_RUNNING,
    TARGET_STOP_EXPORTS,
    TARGET_DESTROY_POLL_GROUPS,
    TARGET_DESTROY_TARGET,
    TARGET_STOPPED,
};

struct control;

/* How many connections a thread was given: the first thread chooses the thread for a new one by it. */
struct thread_share {
    uint32_t thread, given;
};

struct target {
    const struct options *options;
    enum target_state state;
    struct thread_set set;
    struct io_device groups; /* its channels are the threads' poll groups */
    TAILQ_HEAD(, export) exports;
    unsigned export_count, closing; /* closing: removed, but not yet gone */
    unsigned next_option;           /* the next export to be made at the start */
    bool stopping;
    int status; /* how the server ended: 0 or -errno */
    struct listener tcp, socket;
    struct control *control;
    struct source signals;
    unsigned connections_most;
    struct thread_share shares[THREAD_MAX]; /* shares of the threads from the second on */
    _Atomic unsigned connections, groups_created;
};

/* Runs the server until a signal ends it. Returns 0 or -errno. */
int target_run(struct target *target, const struct options *options);

/* For the control socket. `done` is called at the end with 0 or -errno. Meanwhile target_find_export knows the
 * export, and it is `changing`. */
struct export *target_find_export(struct target *target, const char *name);
void target_add_export(struct target *target, const char *kind, const char *name, uint64_t size,
                       export_changed_fn done, void *context);
void target_remove_export(struct target *target, struct export *export, export_changed_fn done,
                          void *context);
/* Changes an export to EXPORT_ACTIVE or EXPORT_PAUSED. */
void target_change_export(struct target *target, struct export *export, enum export_state state,
                          export_changed_fn done, void *context);

#endif
