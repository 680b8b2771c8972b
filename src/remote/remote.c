/* SPDX-License-Identifier: BSD-3-Clause */
/* See remote.h. */
#include "remote/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/privilege.h"
#include "base/terminal.h"
#include "remote/host.h"

enum {
    LOOK_MS = 50,
    UNTOLD_MS = 3000, /* after so long it is told which hosts the others wait for */
    LEAVE_MS = 10000, /* how long hosts may take to end, once that is asked for */
};

struct remote {
    const struct remote_options *options;
    struct host_common common;
    struct merge_options merge_options;
    struct notes notes;
    struct remote_host *hosts;
    struct pollfd *streams; /* HOST_STREAMS of each host */
    bool has_begun, is_stopping;
    uint64_t begun, stopped;
    bool has_reported_waiting;
};

/* Says a line, also to those who keep what is said. */
static void report(void *state, enum report_kind kind, const char *text)
{
    const struct remote *remote = state;
    const struct session_observer *observer = remote->options->observer;
    for (; observer; observer = observer->next)
        if (observer->reported)
            observer->reported(observer->state, clock_ns(CLOCK_BOOTTIME), kind, text);
    remote->options->say(remote->options->state, text);
}

static void report_warning(void *state, const char *text)
{
    report(state, REPORT_WARNING, text);
}

static void fail(const struct remote *remote, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(const struct remote *remote, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    text_add(&text, "ERROR: ");
    va_start(arguments, format);
    terminal_vprint(&text, format, arguments);
    va_end(arguments);
    text_char(&text, '\n');
    report((void *)remote, REPORT_ERROR, text_string(&text));
    text_free(&text);
}

static void print(void *state, const char *bytes, size_t length)
{
    const struct remote *remote = state;
    remote->options->print(remote->options->state, bytes, length);
}

static size_t count_in(const struct remote *remote, enum host_state least, enum host_state most)
{
    size_t count = 0;
    for (size_t i = 0; i < remote->options->host_count; i++)
        count += remote->hosts[i].state >= least && remote->hosts[i].state <= most;
    return count;
}

/* ---- the beginning ---- */

static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int prepare(struct remote *remote)
{
    const struct remote_options *options = remote->options;
    struct host_common *common = &remote->common;
    remote->merge_options = (struct merge_options){.hosts = options->hosts,
                                                   .host_count = options->host_count,
                                                   .builtins = options->builtins,
                                                   .per_host = options->per_host,
                                                   .json = options->json,
                                                   .is_terminal = options->is_terminal,
                                                   .bcc_histograms = options->bcc_histograms,
                                                   .watcher = options->watcher,
                                                   .observer = options->observer,
                                                   .print = print,
                                                   .warn = report_warning,
                                                   .state = remote};
    remote->notes = (struct notes){
        .hosts = options->hosts, .host_count = options->host_count, .report = report, .state = remote};
    common->options = options;
    common->notes = &remote->notes;
    common->merge = merge_new(&remote->merge_options);
    common->command = ssh_command(options->ssh ? options->ssh : "ssh");
    remote->hosts = calloc(options->host_count, sizeof *remote->hosts);
    remote->streams = calloc(options->host_count * HOST_STREAMS, sizeof *remote->streams);
    if (!common->merge || !common->command || !remote->hosts || !remote->streams) {
        fail(remote, "there is not enough memory");
        return -ENOMEM;
    }
    struct text why = {0};
    const int error = remote_binaries_open(options->binaries, &common->binaries, &why);
    if (error)
        fail(remote, "%s", text_string(&why));
    text_free(&why);
    if (error)
        return error;
    ssh_script(&common->script, &common->binaries, options->sudo);
    remote_put_request(&common->request, &options->request);
    if (common->request.failed)
        fail(remote, "the script is too long to be sent");
    return common->script.failed || common->request.failed ? -ENOMEM : 0;
}

/* Says by how much clocks differ: "its clock is 0.51 ms ahead". */
static void report_clock(struct remote *remote, const struct remote_host *host)
{
    const int64_t ahead = host->wall_ahead;
    const double ms = (double)(ahead < 0 ? -ahead : ahead) / NSEC_PER_MSEC;
    struct text text = {0};
    text_printf(&text, "its clock is %.3f ms %s, give or take %.3f ms", ms, ahead < 0 ? "behind" : "ahead",
                (double)host->round_trip / 2 / NSEC_PER_MSEC);
    notes_add(&remote->notes, host->index, false, text_string(&text), text.length);
    text_free(&text);
}

static void report_waiting(struct remote *remote)
{
    static const char text[] = "NOTE: the others wait for it";
    if (remote->has_reported_waiting || clock_ms(CLOCK_MONOTONIC) - remote->begun < UNTOLD_MS)
        return;
    for (size_t i = 0; i < remote->options->host_count; i++)
        if (remote->hosts[i].state < HOST_READY)
            notes_add(&remote->notes, i, false, text, sizeof text - 1);
    remote->has_reported_waiting = true;
}

/* All begin together, so that intervals of different hosts come at the same time. */
static void start_together(struct remote *remote)
{
    if (!count_in(remote, HOST_READY, HOST_READY))
        return;
    if (count_in(remote, HOST_LOGGING_IN, HOST_COMPILING)) {
        report_waiting(remote);
        return;
    }
    remote->has_begun = true;
    merge_begin(remote->common.merge);
    for (size_t i = 0; i < remote->options->host_count; i++) {
        struct remote_host *host = &remote->hosts[i];
        if (host->state != HOST_READY)
            continue;
        if (!remote->options->is_quiet)
            report_clock(remote, host);
        host_send(host, REMOTE_START);
        host->state = HOST_RUNNING;
    }
}

/* ---- the end ---- */

static void stop(struct remote *remote)
{
    remote->is_stopping = true;
    remote->stopped = clock_ms(CLOCK_MONOTONIC);
    for (size_t i = 0; i < remote->options->host_count; i++) {
        struct remote_host *host = &remote->hosts[i];
        if (host->state == HOST_RUNNING)
            host_send(host, REMOTE_STOP);
        else if (host->state < HOST_RUNNING)
            host_leave(host);
    }
}

/* Hosts that are late are left, or, if the user does not want to wait, all that have not ended. */
static void give_up(struct remote *remote, bool is_late)
{
    for (size_t i = 0; i < remote->options->host_count; i++)
        if (remote->hosts[i].state == HOST_RUNNING)
            host_fail(&remote->hosts[i], is_late ? "it has not ended within %d s" : "it had not ended yet",
                      LEAVE_MS / 1000);
}

static int result(const struct remote *remote)
{
    struct text failed = {0};
    size_t count = 0;
    int status = 0;
    for (size_t i = 0; i < remote->options->host_count; i++) {
        const struct remote_host *host = &remote->hosts[i];
        if (host->has_failed)
            text_printf(&failed, "%s%s", count++ ? ", " : "", host->name);
        status = host->status > status ? host->status : status;
    }
    if (count && remote->options->host_count > 1)
        fail(remote, "%zu of %zu hosts failed: %s", count, remote->options->host_count, text_string(&failed));
    text_free(&failed);
    return count ? 1 : status;
}

/* ---- the loop ---- */

static void go_round(struct remote *remote)
{
    const size_t count = remote->options->host_count;
    for (size_t i = 0; i < count; i++)
        host_wait(&remote->hosts[i], &remote->streams[i * HOST_STREAMS]);
    if (poll(remote->streams, count * HOST_STREAMS, LOOK_MS) > 0)
        for (size_t i = 0; i < count; i++)
            host_act(&remote->hosts[i], &remote->streams[i * HOST_STREAMS]);
    const uint64_t now = clock_ms(CLOCK_MONOTONIC);
    for (size_t i = 0; i < count; i++)
        host_look(&remote->hosts[i], now);
    start_together(remote);
    merge_go_on(remote->common.merge);
    notes_flush(&remote->notes, false);
    const bool is_asked = *remote->options->is_asked || remote->options->is_broken(remote->options->state);
    if (is_asked && !remote->is_stopping)
        stop(remote);
    /* The clock is looked at again: what was printed meanwhile took as long as its reader wanted. */
    const bool is_late = remote->is_stopping && clock_ms(CLOCK_MONOTONIC) - remote->stopped > LEAVE_MS;
    if (is_late || *remote->options->is_asked > 1)
        give_up(remote, is_late);
}

static void free_all(struct remote *remote)
{
    struct host_common *common = &remote->common;
    for (size_t i = 0; remote->hosts && i < remote->options->host_count; i++)
        host_leave(&remote->hosts[i]);
    notes_free(&remote->notes);
    if (common->merge)
        merge_free(common->merge);
    remote_binaries_close(&common->binaries);
    text_free(&common->script);
    text_free(&common->request);
    ssh_command_free(common->command);
    free(remote->hosts);
    free(remote->streams);
}

int remote_run(const struct remote_options *options)
{
    struct remote remote = {.options = options, .begun = clock_ms(CLOCK_MONOTONIC)};
    int status = 1;
    allow_descriptors();
    if (!prepare(&remote)) {
        for (size_t i = 0; i < options->host_count; i++) {
            struct remote_host *host = &remote.hosts[i];
            host->common = &remote.common;
            host->name = options->hosts[i];
            host->index = i;
            host_begin(host);
        }
        privilege_keep(0); /* what hosts send is read with as few rights as can be */
        while (count_in(&remote, HOST_LOGGING_IN, HOST_LEAVING))
            go_round(&remote);
        merge_finish(remote.common.merge);
        notes_flush(&remote.notes, true);
        status = result(&remote);
        if (remote.has_begun && options->finish && options->finish(options->finish_state) && !status)
            status = 1;
    } else {
        for (size_t i = 0; remote.hosts && i < options->host_count; i++)
            remote.hosts[i].state = HOST_OVER;
    }
    free_all(&remote);
    return status;
}
