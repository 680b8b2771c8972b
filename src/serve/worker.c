/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/whole.h"
#include "metrics/relay.h"
#include "serve/guard.h"

enum {
    ANSWER_MS = 5000, /* how long the supervisor may take to read an answer */
    PERIOD_NS = 1000, /* the outlet looks for questions each time that the trace goes round */
    LINE_MAX_BYTES = 64 << 10,
};

/* A process has one script. */
static struct {
    const char *name;
    struct frames *supervisor;
    struct guard guard;
    struct text lines; /* that were printed and have no end yet */
    bool is_known, is_ready, is_asked, is_alone, gave_up;
} self;

/* ---- what it prints ---- */

/* Who reads a stream. The trace goes on, and answers, also when nobody does. */
struct reader {
    int fd;
    bool is_stuck, is_torn; /* is_torn: a line was written in part */
    uint64_t lost;          /* lines */
};

/* Writes what the reader takes within some time. Returns whether that is all. */
static bool write_in_time(struct reader *reader, const char *bytes, size_t size)
{
    enum { PART = 4096, PATIENCE_MS = 200 }; /* PART: what a pipe that is ready takes at once */
    for (size_t at = 0; at < size;) {
        const size_t part = size - at < PART ? size - at : PART;
        if (!poll(&(struct pollfd){reader->fd, POLLOUT, 0}, 1, reader->is_stuck ? 0 : PATIENCE_MS)) {
            reader->is_stuck = true;
            reader->is_torn |= at > 0;
            return false;
        }
        if (whole_write(reader->fd, bytes + at, part, 0))
            break; /* there is nobody to write to */
        at += part;
    }
    reader->is_stuck = reader->is_torn = false;
    return true;
}

static void write_line(int fd, const char *line, size_t length)
{
    static struct reader readers[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
    struct reader *reader = &readers[fd == STDERR_FILENO];
    struct text whole = {0};
    if (reader->is_torn)
        text_char(&whole, '\n');
    if (reader->lost)
        terminal_print(&whole, "%s: NOTE: %llu lines are missing here: nobody read them\n", self.name,
                       (unsigned long long)reader->lost);
    terminal_print(&whole, "%s: ", self.name);
    text_append(&whole, line, length);
    if (!length || line[length - 1] != '\n')
        text_char(&whole, '\n');
    reader->lost = whole.failed || !write_in_time(reader, whole.bytes, whole.length) ? reader->lost + 1 : 0;
    text_free(&whole);
}

static void print(void *state, const char *bytes, size_t length)
{
    (void)state;
    const char *end;
    while (length && (end = memchr(bytes, '\n', length))) {
        const size_t part = (size_t)(end - bytes) + 1;
        text_append(&self.lines, bytes, part);
        write_line(STDOUT_FILENO, text_string(&self.lines), self.lines.length);
        text_free(&self.lines);
        bytes += part;
        length -= part;
    }
    if (self.lines.length < LINE_MAX_BYTES)
        text_append(&self.lines, bytes, length);
}

static void report(void *state, const char *text)
{
    (void)state;
    for (size_t length; *text; text += length) {
        length = strcspn(text, "\n");
        length += text[length] == '\n';
        write_line(STDERR_FILENO, text, length);
    }
}

/* ---- the guard ---- */

static void paused(void *state, struct session *session, bool is_paused, double share, unsigned seconds)
{
    (void)state;
    if (is_paused)
        session_report(session, "WARNING: its probes took %.1f %% of a CPU: they are paused for %u s\n",
                       share * 100, seconds);
    else
        session_report(session, "NOTE: its probes go on\n");
    frames_send(self.supervisor, is_paused ? FRAME_PAUSED : FRAME_RESUMED, NULL);
}

static void gave_up(void *state, struct session *session, double share)
{
    (void)state;
    session_report(session, "ERROR: its probes take %.1f %% of a CPU even while they are paused\n",
                   share * 100);
    self.gave_up = true;
    raise(SIGTERM);
}

/* A script may want less than it is allowed. */
static void take_limit(const struct session *session)
{
    const double wanted = session_settings(session)->max_cpu / 100.0;
    if (wanted > 0 && (self.guard.share <= 0 || wanted < self.guard.share))
        self.guard.share = wanted;
}

static void passed(void *state, struct session *session, uint64_t time, bool is_end)
{
    (void)state, (void)time;
    if (!self.is_known)
        take_limit(session);
    if (!self.is_known && !self.gave_up && self.guard.share > 0 && !session_has_time(session))
        session_report(
            session,
            "WARNING: the kernel does not measure what its probes take, so that --max-cpu has no effect\n"
            "HINT: sysctl kernel.bpf_stats_enabled=1, or CAP_SYS_ADMIN\n");
    self.is_known = true;
    if (!is_end && !self.gave_up)
        guard_look(&self.guard, session);
}

/* ---- the supervisor ---- */

static void listen(void *state)
{
    (void)state;
    struct text payload = {0};
    enum frame_kind kind;
    if (!self.is_ready)
        frames_send(self.supervisor, FRAME_READY, NULL);
    self.is_ready = true;
    int error = frames_receive(self.supervisor);
    while (frames_next(self.supervisor, &kind, &payload) > 0) {
        if (kind == FRAME_PING)
            frames_send(self.supervisor, FRAME_PONG, NULL);
        self.is_asked |= kind == FRAME_QUESTION;
    }
    text_free(&payload);
    if (!error)
        error = frames_flush(self.supervisor);
    if (error && !self.is_alone) {
        self.is_alone = true;
        raise(SIGTERM); /* without a supervisor there is nobody for whom it runs */
    }
}

static int publish(void *state, int (*source)(void *of, struct metric_writer *writer), void *of)
{
    (void)state;
    if (!self.is_asked)
        return 0;
    struct text families = {0};
    struct metric_writer writer = {.format = &metric_relay, .out = &families};
    self.is_asked = false;
    int error = source(of, &writer);
    if (!error)
        error = families.failed ? -ENOMEM : families.length > FRAME_MAX ? -EFBIG : 0;
    if (error)
        text_clear(&families);
    families.failed = false;
    frames_send(self.supervisor, FRAME_ANSWER, &families);
    text_free(&families);
    const int late = frames_flush_all(self.supervisor, ANSWER_MS);
    return error ? error : late;
}

int worker_run(const struct serve_options *options, const char *name, const char *path,
               const struct text *text, struct frames *supervisor)
{
    const struct metric_outlet outlet = {
        .place = options->place, .period_ns = PERIOD_NS, .publish = publish, .run = listen, .script = name};
    const struct session_observer observer = {.passed = passed};
    const struct serve_script script = {.path = path,
                                        .text = text,
                                        .outlet = &outlet,
                                        .observer = &observer,
                                        .write = print,
                                        .report = report};
    self.name = name;
    self.supervisor = supervisor;
    self.guard = (struct guard){.share = options->share, .paused = paused, .gave_up = gave_up};
    const int status = options->run(options->state, &script);
    if (self.lines.length)
        write_line(STDOUT_FILENO, text_string(&self.lines), self.lines.length);
    text_free(&self.lines);
    return self.gave_up ? 1 : status;
}
