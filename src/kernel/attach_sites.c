/* SPDX-License-Identifier: BSD-3-Clause */
/* How many sites of uprobes and kprobes are attached, from the cheapest way to the one that always works:
 *
 *   one multi link for all sites                     closes in 30 ms, however many; those of uprobes at once
 *   one event of tracefs for all with one cookie     closes in 100 ms each; also for a single kretprobe
 *   one perf event for each site                     closes in 100 ms each, strictly one after the other
 *
 * Cookies go through links to perf events, where the kernel has them; without, sites share an event whatever
 * their cookies say, because no program will read them.
 *
 * Each way takes all sites or none, and the kernel does not say which one it refuses: bisection finds out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/kernel_error.h"
#include "kernel/state.h"
#include "kernel/syscalls.h"

/* A multi link takes this many sites at once, so that an interruption is noticed in between. Functions of the
 * kernel take longer: all of them are changed by one, and the CPUs wait. */
enum { MULTI_CHUNK = 16384, MULTI_CHUNK_KERNEL = 2048 };

/* Whether a single site can be the reason for this error. */
static bool site_error(int error)
{
    return error == -ENOTSUPP || error == -EINVAL || error == -EILSEQ || error == -ESRCH ||
           error == -ENOENT || error == -EOPNOTSUPP || error == -EIO || error == -EFAULT ||
           error == -ERANGE || error == -EADDRNOTAVAIL;
}

/* ---- multi links ---- */

/* The first site that makes a link over the sites up to it fail. */
static int multi_bisect(const struct attach_strategy *strategy, size_t first, size_t count, size_t *bad)
{
    /* Lengths of prefixes of the list: `good` sites can be linked, `failing` sites cannot. */
    size_t good = 0, failing = count;
    while (good + 1 < failing) {
        size_t middle = good + (failing - good) / 2;
        int fd = strategy->multi(strategy, first, middle);
        if (fd >= 0)
            close(fd);
        else if (!site_error(fd))
            return fd;
        if (fd >= 0)
            good = middle;
        else
            failing = middle;
        int error = attach_progress(strategy->request, middle, count);
        if (error)
            return error;
    }
    *bad = first + failing - 1;
    return 0;
}

static int sites_by_multi(const struct attach_strategy *strategy, size_t *bad)
{
    struct attachment *attachment = attachment_new(strategy->kernel);
    if (!attachment)
        return -ENOMEM;
    attachment->closes_at_once = !strategy->is_kprobe;
    size_t chunk = strategy->is_kprobe ? MULTI_CHUNK_KERNEL : MULTI_CHUNK;
    int error = 0;
    for (size_t first = 0; first < strategy->count && !error; first += chunk) {
        size_t count = strategy->count - first < chunk ? strategy->count - first : chunk;
        int fd = strategy->multi(strategy, first, count);
        error = fd < 0 ? fd : attachment_add(attachment, fd);
        if (fd < 0 && site_error(fd)) {
            int other = multi_bisect(strategy, first, count, bad);
            if (other)
                error = other;
        }
        if (!error)
            error = attach_progress(strategy->request, first + count, strategy->count);
    }
    attachment_describe(attachment, "%s_multi %zu site%s %s", strategy->is_kprobe ? "kprobe" : "uprobe",
                        strategy->count, strategy->count == 1 ? "" : "s", strategy->where);
    return error;
}

/* ---- events ---- */

static int event_of_group(const struct attach_strategy *strategy, uint32_t id)
{
    struct perf_event_attr event = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof event,
        .config = id,
        .sample_period = 1,
        .wakeup_events = 1,
        .disabled = 1,
    };
    return syscall_perf_event_open(&event, strategy->pid > 0 ? strategy->pid : -1,
                                   strategy->pid > 0 ? -1 : (int)strategy->kernel->online[0]);
}

static int group_try(const struct attach_strategy *strategy, const size_t *order, size_t count,
                     bool has_cookie, size_t *bad)
{
    struct attachment *attachment = attachment_new(strategy->kernel);
    if (!attachment)
        return -ENOMEM;
    uint32_t id;
    int error = trace_events_make(strategy, attachment, order, count, &id, bad);
    if (error)
        return error;
    int fd = event_of_group(strategy, id);
    error = fd < 0 ? fd
                   : attach_to_event(attachment, strategy->program, fd, has_cookie,
                                     strategy->cookie(strategy, order[0]));
    if (!error)
        error = trace_events_hold(attachment);
    attachment_describe(attachment, "%s_events %zu site%s %s", strategy->is_kprobe ? "kprobe" : "uprobe",
                        count, count == 1 ? "" : "s", strategy->where);
    return error;
}

/* Attaches the sites of one cookie under one event of tracefs. *bad: place in order. */
static int sites_by_group(const struct attach_strategy *strategy, const size_t *order, size_t count,
                          bool has_cookie, size_t *bad)
{
    size_t before = strategy->kernel->attachment_count;
    int error = group_try(strategy, order, count, has_cookie, bad);
    if (!error || *bad < count || !site_error(error))
        return error;
    size_t good = 0, failing = count;
    while (good + 1 < failing) {
        size_t middle = good + (failing - good) / 2, unused;
        kernel_detach_from(strategy->kernel, before);
        int other = group_try(strategy, order, middle, has_cookie, &unused);
        if (other && !site_error(other))
            return other;
        if (other)
            failing = middle;
        else
            good = middle;
        other = attach_progress(strategy->request, middle, count);
        if (other)
            return other;
    }
    *bad = failing - 1;
    return error;
}

static int sites_by_event(const struct attach_strategy *strategy, const size_t *order, size_t count,
                          bool has_cookie, size_t *bad)
{
    struct attachment *attachment = attachment_new(strategy->kernel);
    if (!attachment)
        return -ENOMEM;
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        int fd = strategy->open(strategy, order[i]);
        error = fd < 0 ? fd
                       : attach_to_event(attachment, strategy->program, fd, has_cookie,
                                         strategy->cookie(strategy, order[i]));
        if (site_error(error))
            *bad = i;
        if (!error)
            error = attach_progress(strategy->request, i + 1, count);
    }
    attachment_describe(attachment, "%s events %zu site%s %s%s", strategy->is_kprobe ? "kprobe" : "uprobe",
                        count, count == 1 ? "" : "s", strategy->where, has_cookie ? " (links)" : "");
    return error;
}

/* ---- choosing ---- */

/* Whether an event of tracefs serves a single site better than a perf event of its own: it alone can be told how many calls
 * are to be followed at once, and left to itself the kernel follows as few as it has CPUs. */
static bool attach_needs_room(const struct attach_strategy *strategy)
{
    return strategy->is_kprobe && strategy->is_return;
}

struct keyed_site {
    uint64_t cookie;
    size_t site;
};

static int keyed_site_compare(const void *a, const void *b)
{
    const struct keyed_site *x = a, *y = b;
    if (x->cookie != y->cookie)
        return x->cookie < y->cookie ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

/* Sites of one cookie stand next to each other in *order. */
static int sites_sorted(const struct attach_strategy *strategy, bool has_cookie, struct keyed_site **keyed,
                        size_t **order)
{
    *keyed = calloc(strategy->count, sizeof **keyed);
    *order = calloc(strategy->count, sizeof **order);
    if (!*keyed || !*order)
        return -ENOMEM;
    for (size_t i = 0; i < strategy->count; i++)
        (*keyed)[i] = (struct keyed_site){has_cookie ? strategy->cookie(strategy, i) : 0, i};
    qsort(*keyed, strategy->count, sizeof **keyed, keyed_site_compare);
    for (size_t i = 0; i < strategy->count; i++)
        (*order)[i] = (*keyed)[i].site;
    return 0;
}

/* Attaches the sites of one cookie, under one event of tracefs or one perf event each. *bad: place in order. */
static int sites_of_cookie(const struct attach_strategy *strategy, const size_t *order, size_t count,
                           bool has_cookie, size_t *bad)
{
    const struct features *features = &strategy->kernel->host.features;
    const size_t before = strategy->kernel->attachment_count;
    bool wants_group = count > 1 || attach_needs_room(strategy);
    *bad = count;
    if (features->trace_events && (wants_group || !features->probe_pmu)) {
        int error = sites_by_group(strategy, order, count, has_cookie, bad);
        /* Where tracefs cannot be used, a return probe with little room is better than none. */
        if (!error || error == -EINTR || *bad < count || count > 1 || !features->probe_pmu)
            return error;
        kernel_detach_from(strategy->kernel, before);
    }
    return sites_by_event(strategy, order, count, has_cookie, bad);
}

static int sites_by_events(const struct attach_strategy *strategy, size_t *bad)
{
    const struct features *features = &strategy->kernel->host.features;
    /* A program that was loaded for multi links cannot be linked to a perf event. */
    bool has_cookie =
        features->perf_link && features->attach_cookie && !strategy->program->expected_attach_type;
    if (!features->probe_pmu && !features->trace_events)
        return -EOPNOTSUPP;
    struct keyed_site *keyed = NULL;
    size_t *order = NULL;
    int error = sites_sorted(strategy, has_cookie, &keyed, &order);
    for (size_t first = 0, count; first < strategy->count && !error; first += count) {
        count = 1;
        while (first + count < strategy->count && keyed[first + count].cookie == keyed[first].cookie)
            count++;
        size_t at;
        error = sites_of_cookie(strategy, order + first, count, has_cookie, &at);
        if (error && at < count)
            *bad = order[first + at];
    }
    free(keyed);
    free(order);
    return error;
}

int attach_sites(const struct attach_strategy *strategy, size_t *bad)
{
    const size_t before = strategy->kernel->attachment_count;
    *bad = strategy->count;
    if (!strategy->count)
        return 0;
    int error = attach_progress(strategy->request, 0, strategy->count);
    if (error)
        return error;
    error = strategy->multi ? sites_by_multi(strategy, bad) : sites_by_events(strategy, bad);
    for (size_t i = before; i < strategy->kernel->attachment_count; i++) {
        strategy->kernel->attachments[i].program = strategy->request->program;
        strategy->kernel->attachments[i].is_kprobe = strategy->is_kprobe;
    }
    return error;
}

/* ---- what they missed ---- */

/* What a link missed; 0 before Linux 6.7. Of an event with several sites the kernel counts those of the first. */
static uint64_t link_missed(int fd)
{
    struct link_info info;
    memset(&info, 0, sizeof info);
    if (syscall_object_info(fd, &info, sizeof info)) /* this descriptor is no link */
        return 0;
    if (info.type == LINK_KPROBE_MULTI)
        return info.kprobe_multi.missed;
    if (info.type == LINK_PERF_EVENT &&
        (info.kprobe.type == PERF_EVENT_KPROBE || info.kprobe.type == PERF_EVENT_KRETPROBE))
        return info.kprobe.missed;
    return 0;
}

uint64_t sites_missed(const struct kernel *kernel, size_t program)
{
    uint64_t missed = 0;
    for (size_t i = 0; i < kernel->attachment_count; i++) {
        const struct attachment *attachment = &kernel->attachments[i];
        for (size_t k = 0; attachment->is_kprobe && attachment->program == program && k < attachment->count;
             k++)
            missed += link_missed(attachment->fds[k]);
    }
    return missed;
}
