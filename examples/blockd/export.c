/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes the state of exports. The owner sends export_state_change_on_group to each thread; the thread enters the
 * new state, which can take until its last I/O is done, and passes the change on. */
#include "export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spoor/compat/spdk_usdt.h>

#include "connection.h"
#include "export_trace.h"
#include "request.h"

SPOOR_TRACEPOINT_HERE(EXPORT_STATE);

struct change {
    struct export *export;
    enum export_state from, to;
    export_changed_fn done;
    void *context;
};

bool export_name_good(const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] > '~' || name[i] == ':')
            return false;
    return length > 0 && length <= EXPORT_NAME_MAX;
}

const char *export_state_name(enum export_state state)
{
    static const char *const names[] = {
        [EXPORT_INACTIVE] = "INACTIVE", [EXPORT_ACTIVE] = "ACTIVE", [EXPORT_PAUSED] = "PAUSED"};
    return names[state];
}

int export_create(struct export **result, const char *name, const struct bdev_kind *kind, uint64_t size,
                  struct thread_set *set)
{
    struct export *export = memory_get(sizeof *export);
    snprintf(export->name, sizeof export->name, "%s", name);
    export->state = EXPORT_INACTIVE;
    const int error = bdev_open(&export->bdev, kind, name, size, set);
    if (error) {
        free(export);
        return error;
    }
    *result = export;
    return 0;
}

void export_destroy(struct export *export, thread_fn done, void *context)
{
    bdev_close(export->bdev, done, context);
    free(export);
}

/* ---- in each thread ---- */

struct group_export *group_export_find(struct poll_group *group, const char *name, uint32_t length)
{
    struct group_export *at;
    TAILQ_FOREACH(at, &group->exports, link)
    if (at->state != EXPORT_INACTIVE &&
        (length == 0 || (strlen(at->export->name) == length && memcmp(at->export->name, name, length) == 0)))
        return at;
    return NULL;
}

static struct group_export *group_export_add(struct poll_group *group, struct export *export)
{
    struct group_export *at = memory_get(sizeof *at);
    at->export = export;
    at->group = group;
    at->channel = get_io_channel(&export->bdev->device);
    if (!at->channel) {
        free(at);
        return NULL;
    }
    TAILQ_INIT(&at->waiting);
    TAILQ_INSERT_TAIL(&group->exports, at, link);
    return at;
}

static struct group_export *group_export_of(struct poll_group *group, const struct export *export)
{
    struct group_export *at;
    TAILQ_FOREACH(at, &group->exports, link)
    if (at->export == export)
        return at;
    return NULL;
}

/* Called when this thread has entered the new state. `at` is NULL where the thread never had the export. */
static void change_finish(struct io_channel_iter *iter, struct group_export *at, int status)
{
    const struct change *change = io_channel_iter_context(iter);
    if (at && change->to == EXPORT_INACTIVE) {
        TAILQ_REMOVE(&at->group->exports, at, link);
        put_io_channel(at->channel);
        free(at);
    }
    SPDK_DTRACE_PROBE4(group_change_state_done, (const char *)change->export->name,
                       thread_id(thread_current()), change->to, status);
    SPOOR_RECORD(EXPORT_STATE, change->export->bdev->owner, 0, change->export->name,
                 thread_id(thread_current()), change->from, change->to);
    for_each_channel_continue(iter, status);
}

static void group_export_close_connections(struct group_export *at)
{
    struct connection *connection, *next;
    for (connection = TAILQ_FIRST(&at->group->connections); connection; connection = next) {
        next = TAILQ_NEXT(connection, link);
        if (connection->export == at)
            connection_close(connection);
    }
}

static void group_export_resume(struct group_export *at)
{
    struct request *request;
    at->state = EXPORT_ACTIVE;
    while ((request = TAILQ_FIRST(&at->waiting))) {
        TAILQ_REMOVE(&at->waiting, request, link);
        request_submit(request);
    }
}

static void export_state_change_on_group(struct io_channel_iter *iter)
{
    struct change *change = io_channel_iter_context(iter);
    struct poll_group *group = io_channel_context(io_channel_iter_channel(iter));
    struct group_export *at = group_export_of(group, change->export);

    SPDK_DTRACE_PROBE3(group_change_state, (const char *)change->export->name, thread_id(thread_current()),
                       change->to);
    if (change->to == EXPORT_ACTIVE) {
        if (!at)
            at = group_export_add(group, change->export);
        if (at)
            group_export_resume(at);
        change_finish(iter, at, at ? 0 : -ENOMEM);
        return;
    }
    if (!at) {
        change_finish(iter, NULL, 0);
        return;
    }
    at->state = change->to;
    if (change->to == EXPORT_INACTIVE)
        group_export_close_connections(at);
    if (at->at_work > 0)
        at->change = iter;
    else
        change_finish(iter, at, 0);
}

void group_export_finished(struct group_export *at)
{
    at->at_work--;
    if (at->at_work == 0 && at->change) {
        struct io_channel_iter *iter = at->change;
        at->change = NULL;
        change_finish(iter, at, 0);
    }
}

/* ---- in the thread that owns the export ---- */

static void export_state_changed(void *context, int status)
{
    struct change change = *(struct change *)context;
    free(context);
    change.export->changing = false;
    if (status == 0)
        change.export->state = change.to;
    SPDK_DTRACE_PROBE4(export_change_state_done, (const char *)change.export->name, change.from, change.to,
                       status);
    change.done(change.context, status);
}

void export_change_state(struct export *export, struct io_device *groups, enum export_state state,
                         export_changed_fn done, void *context)
{
    struct change *change = memory_get(sizeof *change);
    *change = (struct change){export, export->state, state, done, context};
    export->changing = true;
    SPDK_DTRACE_PROBE3(export_change_state, (const char *)export->name, change->from, state);
    for_each_channel(groups, export_state_change_on_group, change, export_state_changed);
}
