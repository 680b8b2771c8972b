/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and ends the server. Each step sends its work to the threads and goes on when the answer comes; a signal
 * that arrives during the start turns it into the end at the next step. */
#define _GNU_SOURCE
#include "target.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <spoor/compat/spdk_usdt.h>

#include "connection.h"
#include "control.h"

enum { CONNECTIONS_MAX = 4096, DESCRIPTORS_KEPT = 128 };

static void target_set_state(struct target *target, enum target_state state)
{
    target->state = state;
    SPDK_DTRACE_PROBE1(target_state, state);
}

static void target_fail(struct target *target, const char *what, int error)
{
    fprintf(stderr, "blockd: %s: %s\n", what, strerror(-error));
    if (target->status == 0)
        target->status = error;
    target->stopping = true;
}

/* ---- the end ---- */

static void target_stop_exports(struct target *target);

/* Sends all threads the message to end. The first thread, which runs this, finishes its turn before it ends. */
static void target_destroy(void *context)
{
    struct target *target = context;
    target_set_state(target, TARGET_DESTROY_TARGET);
    for (unsigned i = 0; i < target->set.count; i++)
        thread_send_msg(target->set.threads[i], thread_stop, target->set.threads[i]);
}

static void groups_left(void *context, int status)
{
    struct target *target = context;
    (void)status;
    io_device_unregister(&target->groups, target_destroy);
}

static void poll_group_leave(struct io_channel_iter *iter)
{
    struct io_channel *channel = io_channel_iter_channel(iter);
    poll_group_close_connections(io_channel_context(channel));
    put_io_channel(channel); /* the connections put their references when they have ended */
    for_each_channel_continue(iter, 0);
}

static void export_stopped(void *context, int status)
{
    (void)status;
    target_stop_exports(context);
}

/* Stops the exports one after another. Exports that are changing come back here when they have changed. */
static void target_stop_exports(struct target *target)
{
    struct export *export = TAILQ_FIRST(&target->exports);
    if (export) {
        if (!export->changing)
            target_remove_export(target, export, export_stopped, target);
        return;
    }
    if (target->closing > 0 || target->state >= TARGET_DESTROY_POLL_GROUPS)
        return;
    target_set_state(target, TARGET_DESTROY_POLL_GROUPS);
    for_each_channel(&target->groups, poll_group_leave, target, groups_left);
}

static void target_stop(struct target *target)
{
    if (target->state >= TARGET_STOP_EXPORTS)
        return;
    target_set_state(target, TARGET_STOP_EXPORTS);
    listener_close(&target->tcp);
    listener_close(&target->socket);
    control_close(target->control);
    target->control = NULL;
    target_stop_exports(target);
}

/* ---- exports ---- */

struct export_change {
    struct target *target;
    struct export *export;
    export_changed_fn done;
    void *context;
    int status;
};

static struct export_change *change_begin(struct target *target, struct export *export,
                                          export_changed_fn done, void *context)
{
    struct export_change *change = memory_get(sizeof *change);
    *change = (struct export_change){target, export, done, context, 0};
    return change;
}

static void change_end(struct export_change *change, int status)
{
    struct export_change copy = *change;
    free(change);
    copy.done(copy.context, status);
    if (copy.target->state == TARGET_STOP_EXPORTS)
        target_stop_exports(copy.target);
}

struct export *target_find_export(struct target *target, const char *name)
{
    struct export *export;
    TAILQ_FOREACH(export, &target->exports, link)
    if (strcmp(export->name, name) == 0)
        return export;
    return NULL;
}

static void export_closed(void *context)
{
    struct export_change *change = context;
    change->target->closing--;
    change_end(change, change->status);
}

static void export_inactive(void *context, int status)
{
    struct export_change *change = context;
    struct target *target = change->target;
    (void)status; /* a thread without the export has nothing to release */
    TAILQ_REMOVE(&target->exports, change->export, link);
    target->export_count--;
    target->closing++;
    export_destroy(change->export, export_closed, change);
}

void target_remove_export(struct target *target, struct export *export, export_changed_fn done, void *context)
{
    struct export_change *change = change_begin(target, export, done, context);
    export_change_state(export, &target->groups, EXPORT_INACTIVE, export_inactive, change);
}

static void export_active(void *context, int status)
{
    struct export_change *change = context;
    if (status == 0) {
        change_end(change, 0);
        return;
    }
    /* One thread failed to take the export: it is removed from the others, too. */
    change->status = status;
    export_change_state(change->export, &change->target->groups, EXPORT_INACTIVE, export_inactive, change);
}

void target_add_export(struct target *target, const char *kind_name, const char *name, uint64_t size,
                       export_changed_fn done, void *context)
{
    const struct bdev_kind *kind = bdev_find_kind(kind_name);
    struct export *export;
    int error = !kind || !export_name_good(name)   ? -EINVAL
                : target_find_export(target, name) ? -EEXIST
                : target->export_count >= EXPORTS_MAX
                    ? -E2BIG
                    : export_create(&export, name, kind, size, &target->set);
    if (error) {
        done(context, error);
        return;
    }
    TAILQ_INSERT_TAIL(&target->exports, export, link);
    target->export_count++;
    export_change_state(export, &target->groups, EXPORT_ACTIVE, export_active,
                        change_begin(target, export, done, context));
}

static void export_changed(void *context, int status)
{
    change_end(context, status);
}

void target_change_export(struct target *target, struct export *export, enum export_state state,
                          export_changed_fn done, void *context)
{
    export_change_state(export, &target->groups, state, export_changed,
                        change_begin(target, export, done, context));
}

/* ---- the start ---- */

static void connection_accepted(void *context, int fd, const char *peer)
{
    struct target *target = context;
    if (atomic_load(&target->connections) >= target->connections_most) {
        fprintf(stderr, "blockd: %s: refused, there are %u connections\n", peer, target->connections_most);
        close(fd);
        return;
    }
    atomic_fetch_add(&target->connections, 1);
    /* The first thread serves no clients. */
    const unsigned servers = target->set.count - 1;
    unsigned chosen = 0;
    for (unsigned i = 0; i < servers; i++) {
        target->shares[i].thread = thread_id(target->set.threads[1 + i]);
        if (target->shares[i].given < target->shares[chosen].given)
            chosen = i;
    }
    target->shares[chosen].given++;
    SPDK_DTRACE_PROBE3(schedule, target->shares, servers, chosen);
    struct thread *thread = target->set.threads[1 + chosen];
    connection_start(thread, &target->groups, fd, peer, &target->connections);
}

static int target_listen(struct target *target, struct listener *listener, int error, const char *where)
{
    if (!error)
        error = listener_start(listener, connection_accepted, target);
    if (error)
        target_fail(target, where, error);
    else
        printf("blockd: listens on %s\n", listener->address);
    return error;
}

static void target_running(struct target *target)
{
    const struct options *options = target->options;
    int error = 0;
    if (options->tcp)
        error =
            target_listen(target, &target->tcp,
                          listener_open_tcp(&target->tcp, options->address, options->port), options->address);
    if (!error && options->socket)
        error = target_listen(target, &target->socket, listener_open_unix(&target->socket, options->socket),
                              options->socket);
    if (!error && options->control) {
        error = control_open(&target->control, target, options->control);
        if (error)
            target_fail(target, options->control, error);
    }
    if (error) {
        target_stop(target);
        return;
    }
    target_set_state(target, TARGET_RUNNING);
    printf("blockd: running, pid %d, %u threads\n", (int)getpid(), target->set.count - 1);
    fflush(stdout);
}

static void next_export(void *context, int status)
{
    struct target *target = context;
    const struct options *options = target->options;
    if (status < 0)
        target_fail(target, options->exports[target->next_option - 1].name, status);
    if (target->stopping) {
        target_stop(target);
    } else if (target->next_option == options->export_count) {
        target_running(target);
    } else {
        const struct export_option *export = &options->exports[target->next_option++];
        target_add_export(target, export->kind, export->name, export->size, next_export, target);
    }
}

static void group_created(void *context)
{
    struct target *target = context;
    if (atomic_fetch_add(&target->groups_created, 1) + 2 < target->set.count)
        return;
    target_set_state(target, TARGET_START_EXPORTS);
    next_export(target, 0);
}

static void create_group(void *context)
{
    struct target *target = context;
    get_io_channel(&target->groups); /* poll_group_create does not fail */
    thread_send_msg(target->set.threads[0], group_created, target);
}

static void create_groups(void *context)
{
    struct target *target = context;
    target_set_state(target, TARGET_CREATE_POLL_GROUPS);
    for (unsigned i = 1; i < target->set.count; i++)
        thread_send_msg(target->set.threads[i], create_group, target);
}

/* ---- the server ---- */

static void signal_ready(void *context, uint32_t events)
{
    struct target *target = context;
    struct signalfd_siginfo info;
    (void)events;
    if (read(target->signals.fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    target->stopping = true;
    if (target->state == TARGET_RUNNING)
        target_stop(target);
}

/* Returns how many connections fit: one descriptor for each, and some for the rest of the server. */
static unsigned connections_most(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 64;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= CONNECTIONS_MAX + DESCRIPTORS_KEPT)
        return CONNECTIONS_MAX;
    return limit.rlim_cur > 2 * DESCRIPTORS_KEPT ? (unsigned)limit.rlim_cur - DESCRIPTORS_KEPT
                                                 : DESCRIPTORS_KEPT / 2;
}

/* Makes the threads, each on a core of its own where there are enough. The first one serves no clients. */
static int create_threads(struct target *target)
{
    cpu_set_t cpus;
    const unsigned cores = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 0;
    unsigned count = target->options->threads ? target->options->threads : cores ? cores : 1;
    if (count > THREAD_MAX - 1)
        count = THREAD_MAX - 1;
    int error = thread_create(&target->set, "app_thread", -1);
    for (unsigned i = 0, core = 0; i < count && !error; i++, core++) {
        char name[16];
        while (cores > 0 && core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &cpus))
            core++;
        snprintf(name, sizeof name, "reactor_%u", i);
        error = thread_create(&target->set, name, count <= cores ? (int)core : -1);
    }
    return error;
}

int target_run(struct target *target, const struct options *options)
{
    sigset_t signals;
    unsigned started = 1;
    *target = (struct target){.options = options, .tcp.source.fd = -1, .socket.source.fd = -1};
    TAILQ_INIT(&target->exports);
    target_set_state(target, TARGET_NONE);
    target->connections_most = connections_most();

    /* The signals are blocked before there are threads, and so in all of them. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);

    int error = create_threads(target);
    if (error)
        goto end;
    target_set_state(target, TARGET_CREATE_TARGET);
    target->signals = (struct source){
        .fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), .ready = signal_ready, .context = target};
    error = target->signals.fd < 0 ? -errno : thread_watch(&target->signals, EPOLLIN);
    target->groups = (struct io_device){.name = "poll_groups",
                                        .set = &target->set,
                                        .context_size = sizeof(struct poll_group),
                                        .create = poll_group_create,
                                        .destroy = poll_group_destroy,
                                        .owner = target};
    io_device_register(&target->groups);
    for (; !error && started < target->set.count; started++)
        error = thread_start(target->set.threads[started]);
    if (error) {
        for (unsigned i = 1; i < started; i++)
            thread_send_msg(target->set.threads[i], thread_stop, target->set.threads[i]);
    } else {
        thread_send_msg(target->set.threads[0], create_groups, target);
        thread_run(target->set.threads[0]);
    }
    for (unsigned i = 1; i < started; i++)
        thread_join(target->set.threads[i]);
end:
    if (error)
        target_fail(target, "threads", error);
    for (unsigned i = 0; i < target->set.count; i++)
        thread_free(target->set.threads[i]);
    if (target->signals.fd > 0)
        close(target->signals.fd);
    target_set_state(target, TARGET_STOPPED);
    return target->status;
}
