/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/front.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/privilege.h"
#include "base/rights.h"
#include "base/terminal.h"
#include "base/wire.h"
#include "metrics/relay.h"
#include "metrics/serve.h"
#include "metrics/textfile.h"
#include "serve/directory.h"

enum { ANSWER_MS = 5000, IDLE_MS = 10000, PARTS_MAX = DIRECTORY_SCRIPTS_MAX + 1 };

struct front {
    const struct serve_options *options;
    struct frames *keeper;
    struct metric_address address;
    struct metric_server *server; /* NULL: a file */
    struct textfile file;
    struct text answer;
    unsigned owed;   /* answers that the keeper has not given yet */
    int failed;      /* the error that was told last */
    size_t left_out; /* parts and families, of which that was told */
};

static void say(const struct front *front, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const struct front *front, const char *format, ...)
{
    struct text line = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&line, format, arguments);
    va_end(arguments);
    if (!line.failed)
        front->options->say(text_string(&line));
    text_free(&line);
}

/* ---- what is published ---- */

/* Asks the keeper. Returns 0 with the answer, or -errno. */
static int ask(struct front *front)
{
    const uint64_t deadline = clock_ms(CLOCK_MONOTONIC) + ANSWER_MS;
    enum frame_kind kind;
    frames_send(front->keeper, FRAME_QUESTION, NULL);
    front->owed++;
    int error = frames_flush_all(front->keeper, ANSWER_MS);
    while (!error && front->owed) { /* those to older questions came too late */
        const int got = frames_next(front->keeper, &kind, &front->answer);
        const uint64_t now = clock_ms(CLOCK_MONOTONIC);
        if (got < 0)
            return got;
        if (got) {
            front->owed -= kind == FRAME_ANSWER;
        } else if (now >= deadline) {
            return -ETIMEDOUT;
        } else {
            poll(&(struct pollfd){front->keeper->fd, POLLIN, 0}, 1, (int)(deadline - now));
            error = frames_receive(front->keeper);
        }
    }
    return error;
}

static int write_families(void *state, struct metric_writer *writer)
{
    struct front *front = state;
    struct metric_part parts[PARTS_MAX];
    size_t count = 0, left_out = 0;
    int error = ask(front);
    if (error)
        return error;
    struct cursor in = cursor_over(front->answer.bytes, front->answer.length);
    for (; cursor_left(&in) && count < PARTS_MAX && !in.is_bad; count++) {
        parts[count].script = wire_take_text(&in);
        parts[count].bytes = wire_take_bytes(&in, &parts[count].size);
    }
    error = in.is_bad ? -EBADMSG : metric_relay_write(parts, count, writer, &left_out);
    if (left_out > front->left_out)
        say(front, "WARNING: %zu families of metrics are left out: they differ from others of the same name",
            left_out);
    front->left_out = left_out;
    text_free(&front->answer);
    return error;
}

/* An error is told once, until it is another one or all is well again. */
static void note(struct front *front, int error)
{
    if (error && error != front->failed)
        say(front, "WARNING: the metrics at '%s' are not up to date: %s", front->options->place,
            strerror(-error));
    if (!error && front->failed)
        say(front, "NOTE: the metrics at '%s' are up to date again", front->options->place);
    front->failed = error;
}

static int replace_file(struct front *front)
{
    struct text body = {0};
    struct metric_writer writer = {.format = &metric_text, .out = &body};
    int error = write_families(front, &writer);
    metric_finish(&writer);
    if (!error)
        error = body.failed ? -ENOMEM : textfile_replace(&front->file, &body);
    text_free(&body);
    return error;
}

/* ---- its life ---- */

static int open_place(struct front *front)
{
    const char *place = front->options->place;
    struct text why = {0}, hint = {0};
    int error = metric_address_read(place, &front->address, &why);
    if (!error && front->address.size)
        error =
            metric_server_open(&front->address, place, write_families, front, &front->server, &why, &hint);
    else if (!error && (error = textfile_open(&front->file, front->address.path)))
        text_printf(&why, "the file '%s' cannot be made: %s", front->address.path, strerror(-error));
    if (error)
        say(front, "ERROR: --openmetrics: %s", why.length ? text_string(&why) : strerror(-error));
    if (error && hint.length)
        say(front, "HINT: %s", text_string(&hint));
    text_free(&why);
    text_free(&hint);
    return error;
}

static bool is_over(struct front *front)
{
    return frames_receive(front->keeper) != 0;
}

static void serve_address(struct front *front)
{
    while (!is_over(front)) {
        metric_server_wait(front->server, front->keeper->fd, IDLE_MS);
        const int asked = metric_server_run(front->server);
        if (asked)
            note(front, asked < 0 ? asked : 0);
    }
}

static void serve_file(struct front *front)
{
    const uint64_t given = front->options->period_ns;
    const uint64_t period_ms = given ? given / NSEC_PER_MSEC + 1 : METRICS_PERIOD_S * 1000;
    while (!is_over(front)) {
        note(front, replace_file(front));
        const int wait = period_ms < INT32_MAX ? (int)period_ms : INT32_MAX;
        poll(&(struct pollfd){front->keeper->fd, POLLIN, 0}, 1, wait);
    }
}

int front_run(const struct serve_options *options, struct frames *keeper)
{
    struct front front = {.options = options, .keeper = keeper};
    if (open_place(&front))
        return 1;
    privilege_keep(front.server ? 0 : PRIVILEGE_OPEN_FILES | PRIVILEGE_REMOVE_FILES);
    if (front.server)
        rights_keep(0);
    frames_send(keeper, FRAME_READY, NULL);
    if (!frames_flush(keeper)) {
        if (front.server)
            serve_address(&front);
        else
            serve_file(&front);
    }
    metric_server_close(front.server);
    textfile_close(&front.file);
    return 0;
}
