/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread, and one loop round poll(): nothing here waits for anything else. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "base/wire.h"
#include "metrics/relay.h"
#include "serve/directory.h"
#include "serve/due.h"
#include "serve/publisher.h"
#include "serve/notify.h"
#include "serve/script.h"
#include "serve/worker.h"

#define SECOND ((uint64_t)NSEC_PER_SEC)
#define GATHER_TIME (2 * SECOND)
#define SETTLE_TIME (SECOND / 5) /* who changes files changes several */
#define READ_AGAIN (5 * SECOND)  /* when the directory cannot be read */
#define TICK SECOND

struct supervisor {
    const struct serve_options *options;
    struct scripts scripts;
    struct child_process publisher;
    uint64_t publisher_at, publisher_back_off; /* as in struct served */
    int signals, watch;                        /* -1: none */
    uint64_t read_at;                          /* when the directory is read; 0: nothing has changed */
    uint64_t gather_until; /* when the publisher gets an answer at the latest; 0: it has not asked */
    uint64_t alive_at, alive_period; /* when the service manager is told, and how often; 0: never */
    double created;
    char *complaint; /* the last error of reading the directory; NULL: it can be read */
    bool has_read, is_told_ready, is_ending;
    int status;
};

static void report(const struct supervisor *supervisor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void report(const struct supervisor *supervisor, const char *format, ...)
{
    struct text line = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&line, format, arguments);
    va_end(arguments);
    text_char(&line, '\n');
    if (!line.failed)
        supervisor->options->report(text_string(&line));
    text_free(&line);
}

static uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* ---- starting ---- */

struct start { /* what a child finds in its copy of this process */
    const struct serve_options *options;
    const struct served *script;
    const struct text *text;
};

static int run_script(void *state, struct frames *supervisor)
{
    const struct start *start = state;
    return worker_run(start->options, start->script->name, start->script->path, start->text, supervisor);
}

static int run_publisher(void *state, struct frames *supervisor)
{
    return publisher_run(state, supervisor);
}

static void start(struct supervisor *supervisor, struct served *script, struct child_process *child,
                  const struct text *text)
{
    struct start what = {supervisor->options, script, text};
    const int error = child_process_start(child, run_script, &what);
    child->patience_ns = supervisor->options->patience_ns;
    script->start_at = 0;
    script->events[SCRIPT_STARTED] += !error;
    if (child == &script->child)
        script->is_paused = script->is_asked = script->has_answer = false;
    if (!error)
        return;
    report(supervisor, "WARNING: %s cannot be started: %s", script->name, strerror(-error));
    script->events[SCRIPT_FAILED]++;
    if (child == &script->child)
        due_again(script, 0, now_ns());
}

/* ---- the directory ---- */

/* A script has another text than before. Where the old one runs, the new one begins beside it: see look_after(). */
static void take_text(struct served *script, struct text *text)
{
    child_process_end(&script->next, now_ns());
    text_free(&script->next_text);
    script->next_text = *text;
    *text = (struct text){0};
    script->has_text = script->has_next = true;
    script->is_stale = false;
    script->back_off = 0;
}

static bool is_new_text(const struct served *script, const struct text *text)
{
    const bool is_next = script->has_next || script->next.pid || script->is_stale;
    const struct text *newest = is_next ? &script->next_text : &script->text;
    return !script->has_text || newest->length != text->length ||
           (text->length && memcmp(newest->bytes, text->bytes, text->length) != 0);
}

static void take_unreadable(const struct supervisor *supervisor, struct served *script,
                            struct script_file *file)
{
    if (!script->unreadable || strcmp(script->unreadable, file->why) != 0)
        report(supervisor, "ERROR: %s cannot be read: %s", file->path, file->why);
    free(script->unreadable);
    script->unreadable = file->why;
    file->why = NULL;
}

static void report_directory(struct supervisor *supervisor, const char *why)
{
    if (why && (!supervisor->complaint || strcmp(supervisor->complaint, why) != 0))
        report(supervisor, "ERROR: the scripts in '%s' cannot be read: %s", supervisor->options->directory,
               why);
    free(supervisor->complaint);
    supervisor->complaint = why ? strdup(why) : NULL;
}

static int read_directory(struct supervisor *supervisor)
{
    struct script_files files;
    struct text why = {0};
    const int error = directory_read(supervisor->options->directory, &files, &why);
    supervisor->read_at = error ? now_ns() + READ_AGAIN : 0;
    if (!error)
        directory_watch_again(supervisor->watch, supervisor->options->directory);
    report_directory(supervisor, error ? text_string(&why) : NULL);
    text_free(&why);
    for (size_t i = 0; i < supervisor->scripts.count && !error; i++)
        supervisor->scripts.items[i]->is_wanted = false;
    for (size_t i = 0; i < files.count && !error; i++) {
        struct script_file *file = &files.items[i];
        struct served *script = scripts_find(&supervisor->scripts, file->name, file->path);
        if (!script)
            continue; /* without memory nothing changes */
        script->is_wanted = true;
        if (file->why) {
            take_unreadable(supervisor, script, file);
            continue;
        }
        free(script->unreadable);
        script->unreadable = NULL;
        if (is_new_text(script, &file->text))
            take_text(script, &file->text);
    }
    for (size_t i = 0; i < supervisor->scripts.count && !error; i++) {
        struct served *script = supervisor->scripts.items[i];
        if (script->is_wanted)
            continue;
        script->start_at = 0;
        script->has_next = false;
        child_process_end(&script->child, now_ns());
        child_process_end(&script->next, now_ns());
    }
    directory_free(&files);
    scripts_tidy(&supervisor->scripts);
    return error;
}

/* ---- the end of processes ---- */

static void report_ended(const struct supervisor *supervisor, const struct served *script, int status)
{
    if (WIFSIGNALED(status))
        report(supervisor, "WARNING: %s was killed by signal %d: it begins again in %u s", script->name,
               WTERMSIG(status), (unsigned)(script->back_off / SECOND));
    else
        report(supervisor, "WARNING: %s ended with status %d: it begins again in %u s", script->name,
               WEXITSTATUS(status), (unsigned)(script->back_off / SECOND));
}

/* ran: how long, ns; 0: it had not begun. */
static void child_ended(struct supervisor *supervisor, struct served *script, int status, uint64_t ran,
                        bool was_asked)
{
    const bool is_failure = !WIFEXITED(status) || WEXITSTATUS(status);
    const uint64_t now = now_ns();
    script->is_asked = false;
    if (was_asked && script->is_wanted && !supervisor->is_ending)
        script->start_at = now; /* its file had gone, and came back */
    if (was_asked || !script->is_wanted)
        return;
    script->events[SCRIPT_FAILED] += is_failure;
    if (is_failure) {
        due_again(script, ran, now);
        report_ended(supervisor, script, status);
    } else {
        report(supervisor, "NOTE: %s has ended", script->name);
    }
}

static void next_ended(const struct supervisor *supervisor, struct served *script, bool was_asked)
{
    if (was_asked)
        return;
    script->events[SCRIPT_FAILED]++;
    script->is_stale = true;
    report(supervisor, "ERROR: the new text of %s does not run: the old one goes on", script->name);
}

static void end_all(struct supervisor *supervisor);

static void publisher_ended(struct supervisor *supervisor, int status)
{
    const bool was_ready = supervisor->publisher.is_ready;
    child_process_forget(&supervisor->publisher);
    supervisor->gather_until = 0;
    if (supervisor->is_ending)
        return;
    if (!was_ready && !supervisor->is_told_ready) {
        supervisor->status = 1;
        end_all(supervisor);
        return;
    }
    supervisor->publisher_back_off = due_back_off(supervisor->publisher_back_off);
    supervisor->publisher_at = now_ns() + supervisor->publisher_back_off;
    report(supervisor,
           "WARNING: the process that publishes metrics ended with status %d: it begins again in %u s",
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
           (unsigned)(supervisor->publisher_back_off / SECOND));
}

static void reap(struct supervisor *supervisor)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        struct child_process *child = NULL;
        if (pid == supervisor->publisher.pid) {
            publisher_ended(supervisor, status);
            continue;
        }
        struct served *script = scripts_of_process(&supervisor->scripts, pid, &child);
        if (!script)
            continue;
        const bool was_asked = child->kill_at || supervisor->is_ending;
        const uint64_t ran = child->is_ready ? now_ns() - child->begun : 0;
        child_process_forget(child);
        if (child == &script->child)
            child_ended(supervisor, script, status, ran, was_asked);
        else if (child == &script->next)
            next_ended(supervisor, script, was_asked);
    }
    scripts_tidy(&supervisor->scripts);
}

/* ---- messages ---- */

/* The next text runs: the one before ends. */
static void replace(struct served *script, uint64_t now)
{
    script->last = script->child;
    child_process_end(&script->last, now);
    script->child = script->next;
    script->next = (struct child_process){.frames.fd = -1};
    text_free(&script->text);
    script->text = script->next_text;
    script->next_text = (struct text){0};
    script->is_paused = script->is_asked = script->has_answer = false;
    script->start_at = 0;
}

static void handle_message(struct served *script, struct child_process *child, enum frame_kind kind,
                           struct text *payload)
{
    const uint64_t now = now_ns();
    if (kind == FRAME_READY) {
        child->is_ready = true;
        if (child == &script->next) {
            replace(script, now);
            child = &script->child;
        }
    }
    if (child != &script->child)
        return;
    script->active_at = now;
    if (kind == FRAME_PAUSED || kind == FRAME_RESUMED) {
        script->is_paused = kind == FRAME_PAUSED;
        script->events[SCRIPT_PAUSED] += script->is_paused;
    } else if (kind == FRAME_ANSWER && script->is_asked) {
        script->is_asked = false;
        script->has_answer = true;
        text_free(&script->answer);
        script->answer = *payload;
        *payload = (struct text){0};
    }
}

/* Reads what a child says. Of one that says nonsense or is gone nothing is read any more. */
static void read_messages(struct supervisor *supervisor, struct served *script, struct child_process *child)
{
    struct text payload = {0};
    enum frame_kind kind;
    int got = 0, error = frames_receive(&child->frames);
    const pid_t pid = child->pid;
    while (script && scripts_of_process(&supervisor->scripts, pid, &child) == script &&
           (got = frames_next(&child->frames, &kind, &payload)) > 0)
        handle_message(script, child, kind, &payload);
    text_free(&payload);
    if (got < 0)
        kill(pid, SIGKILL);
    if (error || got < 0)
        frames_close(&child->frames);
}

static void begin_gathering(struct supervisor *supervisor)
{
    supervisor->gather_until = now_ns() + GATHER_TIME;
    for (size_t i = 0; i < supervisor->scripts.count; i++) {
        struct served *script = supervisor->scripts.items[i];
        script->has_answer = false; /* one that came too late for the question before */
        if (!script->child.is_ready || script->child.kill_at || script->child.frames.fd < 0 ||
            script->is_asked)
            continue; /* one that owes an answer gives it now, perhaps */
        script->is_asked = true;
        frames_send(&script->child.frames, FRAME_QUESTION, NULL);
    }
}

static void listen_to_publisher(struct supervisor *supervisor)
{
    struct text payload = {0};
    enum frame_kind kind;
    int got = 0, error = frames_receive(&supervisor->publisher.frames);
    while ((got = frames_next(&supervisor->publisher.frames, &kind, &payload)) > 0) {
        if (kind == FRAME_READY && !supervisor->publisher.is_ready && !supervisor->has_read)
            supervisor->read_at = now_ns();
        supervisor->publisher.is_ready |= kind == FRAME_READY;
        if (kind == FRAME_QUESTION)
            begin_gathering(supervisor);
    }
    text_free(&payload);
    if (got < 0)
        kill(supervisor->publisher.pid, SIGKILL);
    if (error || got < 0)
        frames_close(&supervisor->publisher.frames);
}

enum { PART_HEAD = 1024 }; /* bytes; more than the name of a file and two lengths */

static void put_part(struct text *out, const char *script, const struct text *families)
{
    wire_put_text(out, script);
    wire_put_bytes(out, families->bytes, families->length);
}

/* Answers the publisher when all scripts have answered, or it is time. */
static void answer_publisher(struct supervisor *supervisor, uint64_t now)
{
    struct text own = {0}, all = {0};
    struct metric_writer writer = {.format = &metric_relay, .out = &own};
    bool is_whole = true;
    for (size_t i = 0; i < supervisor->scripts.count; i++)
        is_whole &= !supervisor->scripts.items[i]->is_asked;
    if (!supervisor->gather_until || (!is_whole && now < supervisor->gather_until))
        return;
    scripts_write(&supervisor->scripts, supervisor->created, &writer);
    put_part(&all, NULL, &own);
    all.failed |= own.failed;
    for (size_t i = 0; i < supervisor->scripts.count; i++) {
        struct served *script = supervisor->scripts.items[i];
        const bool fits = all.length + script->answer.length + PART_HEAD <= FRAME_MAX;
        script->events[SCRIPT_UNANSWERED] += script->is_asked || (script->has_answer && !fits);
        if (script->has_answer && fits)
            put_part(&all, script->name, &script->answer);
        script->has_answer = false;
        text_free(&script->answer);
    }
    if (supervisor->publisher.frames.fd >= 0)
        frames_send(&supervisor->publisher.frames, FRAME_ANSWER, &all);
    supervisor->gather_until = 0;
    text_free(&own);
    text_free(&all);
}

/* ---- what is due ---- */

static void start_what_is_due(struct supervisor *supervisor, struct served *script, uint64_t now)
{
    if (script->has_next && script->child.pid && !script->next.pid && !script->last.pid) {
        script->has_next = false;
        start(supervisor, script, &script->next, &script->next_text);
    } else if (script->has_next && !script->child.pid && !script->next.pid) {
        script->has_next = false;
        text_free(&script->text);
        script->text = script->next_text;
        script->next_text = (struct text){0};
        start(supervisor, script, &script->child, &script->text);
    } else if (script->start_at && now >= script->start_at && !script->child.pid) {
        start(supervisor, script, &script->child, &script->text);
    }
}

/* A script that does not begin keeps nobody else waiting. */
static void end_if_stuck(const struct supervisor *supervisor, const struct served *script,
                         struct child_process *child, uint64_t now)
{
    if (!due_is_stuck(child, now))
        return;
    report(supervisor, "WARNING: %s has not begun after %u s: it is killed", script->name,
           (unsigned)DUE_START_MAX_S);
    kill(child->pid, SIGKILL);
    child->begun = now;
}

static void look_after(struct supervisor *supervisor, struct served *script, uint64_t now)
{
    if (!supervisor->is_ending)
        start_what_is_due(supervisor, script, now);
    end_if_stuck(supervisor, script, &script->child, now);
    end_if_stuck(supervisor, script, &script->next, now);
    child_process_hurry(&script->child, now);
    child_process_hurry(&script->next, now);
    child_process_hurry(&script->last, now);
    if (!script->child.is_ready || script->child.kill_at || script->child.frames.fd < 0)
        return;
    if (due_is_asked(script, now)) {
        frames_send(&script->child.frames, FRAME_PING, NULL);
        script->pinged = now;
    }
    if (due_is_silent(script, now)) {
        report(supervisor, "WARNING: %s does not answer: it is killed", script->name);
        kill(script->child.pid, SIGKILL);
        script->active_at = now;
    }
}

/* The service is ready when each script has come as far as it comes. */
static void notify_manager(struct supervisor *supervisor, uint64_t now)
{
    struct text state = {0};
    size_t up = 0, coming = 0, wanted = 0;
    for (size_t i = 0; i < supervisor->scripts.count; i++) {
        const struct served *script = supervisor->scripts.items[i];
        const bool is_up = script->child.pid && script->child.is_ready;
        wanted += script->is_wanted;
        up += is_up;
        coming += script->child.pid && !is_up;
    }
    if (!supervisor->is_told_ready && supervisor->has_read && !coming && !supervisor->is_ending) {
        supervisor->is_told_ready = true;
        text_printf(&state, "READY=1\nSTATUS=%zu of %zu scripts run", up, wanted);
        notify(text_string(&state));
        report(supervisor, "%zu of %zu scripts run; metrics are at '%s'", up, wanted,
               supervisor->options->place);
    }
    text_free(&state);
    if (supervisor->alive_period && now >= supervisor->alive_at) {
        notify("WATCHDOG=1");
        supervisor->alive_at = now + supervisor->alive_period;
    }
}

static void look_after_all(struct supervisor *supervisor)
{
    const uint64_t now = now_ns();
    if (supervisor->read_at && now >= supervisor->read_at && !supervisor->is_ending) {
        if (read_directory(supervisor) && !supervisor->has_read) {
            supervisor->status = 1;
            end_all(supervisor);
        }
        supervisor->has_read = true;
    }
    if (supervisor->publisher_at && now >= supervisor->publisher_at && !supervisor->is_ending) {
        supervisor->publisher_at = 0;
        if (child_process_start(&supervisor->publisher, run_publisher, (void *)supervisor->options))
            supervisor->publisher_at =
                now + (supervisor->publisher_back_off = due_back_off(supervisor->publisher_back_off));
    }
    for (size_t i = 0; i < supervisor->scripts.count; i++)
        look_after(supervisor, supervisor->scripts.items[i], now);
    answer_publisher(supervisor, now);
    notify_manager(supervisor, now);
}

/* ---- the loop ---- */

static void end_all(struct supervisor *supervisor)
{
    const uint64_t now = now_ns();
    if (!supervisor->is_ending)
        notify("STOPPING=1");
    supervisor->is_ending = true;
    for (size_t i = 0; i < supervisor->scripts.count; i++) {
        struct served *script = supervisor->scripts.items[i];
        child_process_end(&script->child, now);
        child_process_end(&script->next, now);
    }
}

static void take_signals(struct supervisor *supervisor)
{
    struct signalfd_siginfo signal;
    while (read(supervisor->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGCHLD)
            reap(supervisor);
        else if (signal.ssi_signo == SIGHUP)
            supervisor->read_at = now_ns();
        else
            end_all(supervisor);
    }
}

static bool scripts_are_gone(const struct supervisor *supervisor)
{
    for (size_t i = 0; i < supervisor->scripts.count; i++) {
        const struct served *script = supervisor->scripts.items[i];
        if (script->child.pid || script->next.pid || script->last.pid)
            return false;
    }
    return true;
}

/* The child that a descriptor of poll() belongs to; script NULL: the publisher. */
struct polled {
    struct served *script;
    pid_t pid;
};

static void add_child(struct pollfd *descriptor, struct polled *polled, size_t *count, struct served *script,
                      const struct child_process *child)
{
    if (child->frames.fd < 0)
        return;
    descriptor[*count] =
        (struct pollfd){child->frames.fd, (short)(POLLIN | (frames_wait(&child->frames) ? POLLOUT : 0)), 0};
    polled[(*count)++] = (struct polled){script, child->pid};
}

static void act(struct supervisor *supervisor, const struct pollfd *descriptor, const struct polled *polled)
{
    struct child_process *child = &supervisor->publisher;
    if (polled->script && scripts_of_process(&supervisor->scripts, polled->pid, &child) != polled->script)
        return; /* it has ended meanwhile */
    if (child->frames.fd < 0)
        return;
    if (descriptor->revents & POLLOUT && frames_flush(&child->frames))
        frames_close(&child->frames);
    else if (descriptor->revents & ~POLLOUT && polled->script)
        read_messages(supervisor, polled->script, child);
    else if (descriptor->revents & ~POLLOUT)
        listen_to_publisher(supervisor);
}

static void go_round(struct supervisor *supervisor)
{
    enum { SIGNALS, WATCH, CHILDREN, CHILDREN_MAX = CHILDREN + 3 * 2 * DIRECTORY_SCRIPTS_MAX + 1 };
    static struct pollfd ready[CHILDREN_MAX];
    static struct polled polled[CHILDREN_MAX];
    size_t count = CHILDREN;
    ready[SIGNALS] = (struct pollfd){supervisor->signals, POLLIN, 0};
    ready[WATCH] = (struct pollfd){supervisor->watch, POLLIN, 0};
    add_child(ready, polled, &count, NULL, &supervisor->publisher);
    for (size_t i = 0; i < supervisor->scripts.count && count + 3 <= CHILDREN_MAX; i++) {
        struct served *script = supervisor->scripts.items[i];
        add_child(ready, polled, &count, script, &script->child);
        add_child(ready, polled, &count, script, &script->next);
        add_child(ready, polled, &count, script, &script->last);
    }
    const uint64_t now = now_ns();
    uint64_t until =
        now + (supervisor->alive_period && supervisor->alive_period < TICK ? supervisor->alive_period : TICK);
    if (supervisor->read_at && supervisor->read_at < until)
        until = supervisor->read_at;
    if (supervisor->gather_until && supervisor->gather_until < until)
        until = supervisor->gather_until;
    poll(ready, count, until > now ? (int)((until - now) / NSEC_PER_MSEC) + 1 : 0);
    for (size_t i = CHILDREN; i < count; i++)
        if (ready[i].revents)
            act(supervisor, &ready[i], &polled[i]);
    if (ready[WATCH].revents) {
        directory_forget(supervisor->watch);
        supervisor->read_at = now_ns() + SETTLE_TIME;
    }
    take_signals(supervisor);
    look_after_all(supervisor);
}

static int take_over_signals(void)
{
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGTERM);
    sigaddset(&taken, SIGINT);
    sigaddset(&taken, SIGHUP);
    sigaddset(&taken, SIGCHLD);
    sigprocmask(SIG_BLOCK, &taken, NULL);
    signal(SIGPIPE, SIG_IGN); /* also in children: whoever reads what they print may go */
    return signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int open_all(struct supervisor *supervisor)
{
    if ((supervisor->signals = take_over_signals()) < 0)
        return -errno;
    supervisor->watch = directory_watch(supervisor->options->directory);
    if (supervisor->watch < 0) {
        report(supervisor, "ERROR: the directory '%s' cannot be watched: %s", supervisor->options->directory,
               strerror(-supervisor->watch));
        return supervisor->watch;
    }
    int error = child_process_start(&supervisor->publisher, run_publisher, (void *)supervisor->options);
    if (error)
        report(supervisor, "ERROR: no process can be started: %s", strerror(-error));
    return error;
}

/* Ends the publisher behind all scripts: closing its stream lets it remove its socket. */
static void end_publisher(struct supervisor *supervisor)
{
    enum { STEP_NS = 10000000, STEPS = 200 };
    const pid_t pid = supervisor->publisher.pid;
    child_process_forget(&supervisor->publisher);
    for (unsigned step = 0; pid && waitpid(pid, NULL, WNOHANG) == 0; step++) {
        if (step == STEPS)
            kill(pid, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
    }
}

int serve(const struct serve_options *options)
{
    struct supervisor supervisor = {.options = options,
                                    .publisher.frames.fd = -1,
                                    .signals = -1,
                                    .watch = -1,
                                    .alive_period = notify_period(),
                                    .created = (double)clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC};
    if (open_all(&supervisor)) {
        supervisor.status = 1;
        end_all(&supervisor);
    }
    while (!supervisor.is_ending || !scripts_are_gone(&supervisor))
        go_round(&supervisor);
    end_publisher(&supervisor);
    scripts_free(&supervisor.scripts);
    free(supervisor.complaint);
    if (supervisor.watch >= 0)
        close(supervisor.watch);
    if (supervisor.signals >= 0)
        close(supervisor.signals);
    return supervisor.status;
}
