/* SPDX-License-Identifier: BSD-3-Clause */
/* See end.h. While the trace runs a thread listens to the other end, and says that this one is alive. */
#include "remote/end.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/whole.h"
#include "base/wire.h"
#include "remote/portable.h"

enum {
    MARK_NS = 100 * NSEC_PER_MSEC, /* between two marks */
    LATE_NS = 50 * NSEC_PER_MSEC,  /* how late an event may come out of the rings */
    ALIVE_MS = 1000,               /* how often it is said that this end is alive */
    PART = 64 << 10,
};

/* ---- sending ---- */

static void send_message(struct remote_end *end, enum remote_message message, struct text *payload)
{
    pthread_mutex_lock(&end->lock);
    remote_put(&end->sending, message, payload);
    if (end->sending.failed) {
        static const char missing[] = "WARNING: there is not enough memory for what is to be sent\n";
        end->sending.failed = false;
        if (write(STDERR_FILENO, missing, sizeof missing - 1) < 0)
            end->is_lost = true;
    } else if (!end->is_lost && whole_write(end->out, end->sending.bytes, end->sending.length, -1)) {
        end->is_lost = true;
    }
    text_clear(&end->sending);
    pthread_mutex_unlock(&end->lock);
    if (payload)
        text_free(payload);
}

static void send_mark(struct remote_end *end, uint64_t time)
{
    struct text payload = {0};
    wire_put(&payload, time);
    send_message(end, REMOTE_MARK, &payload);
}

static void printed(void *state, uint64_t time, const char *bytes, size_t length)
{
    enum { PART_MAX = 16 << 20 };
    struct remote_end *end = state;
    while (length) {
        const size_t part = length < PART_MAX ? length : PART_MAX;
        struct text payload = {0};
        wire_put(&payload, time);
        wire_put(&payload, end->is_end);
        wire_put_bytes(&payload, bytes, part);
        send_message(end, REMOTE_LINES, &payload);
        bytes += part;
        length -= part;
    }
}

void remote_end_report(struct remote_end *end, const char *text)
{
    struct text payload = {0};
    wire_put_text(&payload, text);
    send_message(end, REMOTE_REPORT, &payload);
}

static void map_emptied(void *state, const char *map, uint64_t moment)
{
    struct remote_end *end = state;
    const uint64_t time = moment ? moment : clock_ns(CLOCK_BOOTTIME);
    table_put(&end->emptied, map, (void *)(uintptr_t)time); // NOLINT(performance-no-int-to-ptr)
}

/* Returns when the map was emptied since it was printed before, or 0. */
static uint64_t take_emptied(struct remote_end *end, const char *map)
{
    const uint64_t time = (uintptr_t)table_find(&end->emptied, map);
    if (time)
        table_put(&end->emptied, map, NULL);
    return time;
}

static void map_printed(void *state, struct printer *printer, const struct map_snapshot *map, size_t top,
                        uint64_t divisor)
{
    struct remote_end *end = state;
    struct text payload = {0};
    const uint64_t time = printer->moment ? printer->moment : clock_ns(CLOCK_BOOTTIME);
    const struct portable_print print = {time, end->is_end, end->is_end && !printer->moment,
                                         top,  divisor,     take_emptied(end, map->name)};
    portable_put(&payload, printer, map, &print);
    const bool is_too_long = payload.length > REMOTE_PAYLOAD_MAX;
    if (is_too_long) {
        struct text text = {0};
        text_printf(&text, "WARNING: %s is too large to be sent\nHINT: print(%s, 1000) prints less\n",
                    map->name, map->name);
        remote_end_report(end, text_string(&text));
        text_free(&text);
        text_free(&payload);
    } else {
        send_message(end, REMOTE_MAP, &payload);
    }
}

static void discard(void *state, const char *bytes, size_t length)
{
    (void)state, (void)bytes, (void)length;
}

/* ---- listening ---- */

/* Reads what has come. Returns false if the other end is gone. */
static bool receive(struct remote_end *end)
{
    if (!text_reserve(&end->received, PART))
        return false;
    const ssize_t got = read(end->in, end->received.bytes + end->received.length, PART);
    if (got > 0)
        end->received.length += (size_t)got;
    return got > 0 || (got < 0 && errno == EINTR);
}

static void answer(struct remote_end *end, struct cursor *payload)
{
    struct text answer = {0};
    wire_put(&answer, wire_take(payload));
    remote_put_clocks(&answer);
    send_message(end, REMOTE_PONG, &answer);
}

/* Waits for a message, and answers those that only measure. payload: valid until the next call. Returns false if the
 * other end is gone. */
static bool next(struct remote_end *end, enum remote_message *message, struct cursor *payload)
{
    for (;;) {
        const int got = remote_take(&end->received, &end->read, message, payload);
        if (got < 0 || (!got && !receive(end)))
            return false;
        if (got && *message != REMOTE_PING)
            return true;
        if (got)
            answer(end, payload);
    }
}

/* Asks the session for the end in the same way as a user does, so that it is heard also while an event is
 * handled. */
static void handle_messages(struct remote_end *end)
{
    enum remote_message message;
    struct cursor payload;
    int got = 1;
    while (!end->is_lost && (got = remote_take(&end->received, &end->read, &message, &payload)) > 0)
        if (message == REMOTE_STOP)
            kill(getpid(), SIGINT);
    if (got < 0 || end->is_lost) {
        end->is_lost = true;
        kill(getpid(), SIGINT);
    }
}

static void read_messages(struct remote_end *end)
{
    if (!receive(end))
        end->is_lost = true;
    handle_messages(end);
}

static void *listen_to(void *state)
{
    struct remote_end *end = state;
    handle_messages(end); /* who ends the trace as soon as it is started sends both at once */
    while (!end->is_lost) {
        struct pollfd in = {end->in, POLLIN, 0};
        if (poll(&in, 1, ALIVE_MS) <= 0) {
            send_mark(end, 0);
            continue;
        }
        read_messages(end);
    }
    return NULL;
}

static void passed(void *state, struct session *session, uint64_t time, bool is_end)
{
    struct remote_end *end = state;
    const uint64_t now = clock_ns(CLOCK_BOOTTIME);
    pthread_t thread;
    (void)session;
    end->is_end |= is_end;
    if (!end->listens) { /* what need not be kept was given up before, so that the thread has it neither */
        end->listens = true;
        if (thread_start(&thread, listen_to, end))
            kill(getpid(), SIGINT);
    }
    if (now - end->marked >= MARK_NS) {
        send_mark(end, time > LATE_NS ? time - LATE_NS : 0);
        end->marked = now;
    }
}

/* While many probes are attached, in which time no thread listens. */
static void progress(void *state, size_t done, size_t total)
{
    struct remote_end *end = state;
    (void)done, (void)total;
    send_mark(end, 0);
    if (!end->listens && !end->is_lost && poll(&(struct pollfd){end->in, POLLIN, 0}, 1, 0) > 0)
        read_messages(end);
}

/* ---- the order of things ---- */

int remote_end_open(struct remote_end *end, struct remote_request *request)
{
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    enum remote_message message;
    struct cursor payload;
    struct text hello = {0};
    *end = (struct remote_end){.in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3),
                               .out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3),
                               .lock = PTHREAD_MUTEX_INITIALIZER};
    if (null < 0 || end->in < 0 || end->out < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        fputs("ERROR: the standard streams cannot be used\n", stderr);
        return 1;
    }
    close(null);
    wire_put(&hello, REMOTE_PROTOCOL);
    send_message(end, REMOTE_HELLO, &hello);
    if (!next(end, &message, &payload) || message != REMOTE_REQUEST ||
        !remote_take_request(&payload, request)) {
        fputs("ERROR: --remote-end is what spoor --on starts on another machine\n", stderr);
        return 1;
    }
    end->received =
        (struct text){0}; /* the request stays where it is, and nothing follows it before its answer */
    end->read = 0;
    return 0;
}

void remote_end_watch(struct remote_end *end, struct session_options *options)
{
    end->observer = (struct session_observer){.state = end, .printed = printed, .passed = passed};
    end->watcher = (struct map_watcher){.state = end, .printed = map_printed, .emptied = map_emptied};
    options->observer = &end->observer;
    options->watcher = &end->watcher;
    options->write = discard;
    options->progress = progress;
}

bool remote_end_compiled(struct remote_end *end, bool is_sound)
{
    enum remote_message message;
    struct cursor unused;
    struct text payload = {0};
    wire_put(&payload, is_sound);
    send_message(end, REMOTE_COMPILED, &payload);
    return is_sound && next(end, &message, &unused) && message == REMOTE_START;
}

void remote_end_close(struct remote_end *end, int status)
{
    struct text payload = {0};
    wire_put(&payload, (uint64_t)(uint8_t)status);
    send_message(end, REMOTE_END, &payload);
    end->is_lost = true; /* nothing follows */
}
