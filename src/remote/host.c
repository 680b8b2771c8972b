/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/wire.h"

enum {
    PINGS = 5,
    LOGIN_MS = 30000,        /* until the host's shell says something */
    COMPILE_MS = 60000,      /* until the script was compiled, and until its probes are attached */
    SILENCE_MS = 10000,      /* at any other time */
    LEAVING_MS = 2000,       /* once it has sent all */
    GREETING_MAX = 64 << 10, /* bytes that a login may print */
    LINE_MAX = 4096,         /* of the error stream */
    PART = 64 << 10,
};

/* ---- reports about the host ---- */

/* Reports each of these lines, with the host's name. */
static void report_lines(const struct remote_host *host, const char *lines, size_t length)
{
    while (length) {
        const char *end = memchr(lines, '\n', length);
        const size_t part = end ? (size_t)(end - lines) : length;
        if (part)
            notes_add(host->common->notes, host->index, false, lines, part);
        lines += part + (end != NULL);
        length -= part + (end != NULL);
    }
}

static void hint(const struct remote_host *host, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void hint(const struct remote_host *host, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    text_add(&text, "HINT: ");
    va_start(arguments, format);
    text_vprintf(&text, format, arguments);
    va_end(arguments);
    notes_add(host->common->notes, host->index, false, text_string(&text), text.length);
    text_free(&text);
}

static void free_texts(struct remote_host *host)
{
    struct text *texts[] = {&host->received, &host->sending, &host->errors, &host->why};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_free(texts[i]);
    host->read = host->sent = 0;
}

/* Reads the host's error stream. Until spoor runs there, its last line is kept as the reason in case the login fails. */
static void read_error_stream(struct remote_host *host)
{
    char part[LINE_MAX];
    const ssize_t got = recv(host->ssh.err, part, sizeof part, 0);
    if (got <= 0 && (got == 0 || (errno != EAGAIN && errno != EINTR))) {
        close(host->ssh.err);
        host->ssh.err = -1;
    }
    if (got > 0) {
        text_append(&host->errors, part, (size_t)got);
        host->error_bytes += (size_t)got;
    }
    const char *from = text_string(&host->errors), *end;
    size_t left = host->errors.length;
    while ((end = left ? memchr(from, '\n', left) : NULL) ||
           (left && (left >= LINE_MAX || host->ssh.err < 0))) {
        const size_t length = end ? (size_t)(end - from) : left;
        const size_t shown = length && from[length - 1] == '\r' ? length - 1 : length;
        if (host->state <= HOST_STARTING) {
            text_clear(&host->why);
            text_append(&host->why, from, shown);
        } else {
            report_lines(host, from, shown);
        }
        from += length + (end != NULL);
        left -= length + (end != NULL);
    }
    struct text rest = {0};
    text_append(&rest, from, left);
    text_free(&host->errors);
    host->errors = rest;
}

/* Reads what the error stream has now, without waiting. */
static void drain_errors(struct remote_host *host)
{
    for (size_t before = SIZE_MAX; host->ssh.err >= 0 && before != host->error_bytes;) {
        before = host->error_bytes;
        read_error_stream(host);
    }
}

static void close_host(struct remote_host *host)
{
    drain_errors(host);
    ssh_end(&host->ssh);
    free_texts(host);
    host->state = HOST_OVER;
    merge_over(host->common->merge, host->index);
}

void host_leave(struct remote_host *host)
{
    if (host->state != HOST_OVER)
        close_host(host);
}

void host_fail(struct remote_host *host, const char *format, ...)
{
    struct text reason = {0};
    va_list arguments;
    if (host->state == HOST_OVER)
        return;
    drain_errors(host);
    va_start(arguments, format);
    text_vprintf(&reason, format, arguments);
    va_end(arguments);
    if (host->state == HOST_RUNNING)
        text_add(&reason, "; what it has counted and not printed is missing");
    notes_add(host->common->notes, host->index, true, text_string(&reason), reason.length);
    text_free(&reason);
    host->has_failed = true;
    close_host(host);
}

/* ---- to the host ---- */

static void send_message(struct remote_host *host, enum remote_message message, const struct text *payload)
{
    remote_put(&host->sending, message, payload);
}

void host_send(struct remote_host *host, enum remote_message message)
{
    send_message(host, message, NULL);
}

static void ping(struct remote_host *host)
{
    struct text payload = {0};
    host->pinged = clock_ns(CLOCK_BOOTTIME);
    wire_put(&payload, host->pinged);
    send_message(host, REMOTE_PING, &payload);
    text_free(&payload);
}

void host_begin(struct remote_host *host)
{
    const struct host_common *common = host->common;
    host->active_at = clock_ms(CLOCK_MONOTONIC);
    host->round_trip = UINT64_MAX;
    host->ssh = (struct ssh){0, -1, -1, -1};
    const int error = ssh_start(&host->ssh, common->command, host->name, text_string(&common->script));
    if (error == -ENOENT)
        host_fail(host, "there is no command '%s' here", common->command[0]);
    else if (error)
        host_fail(host, "cannot start ssh: %s", strerror(-error));
}

/* ---- from its shell ---- */

/* It has no spoor, and there is none for its architecture. */
static void fail_without_binary(struct remote_host *host, const char *machine)
{
    const struct remote_binaries *binaries = &host->common->binaries;
    if (binaries->no_own.length && (!binaries->count || !strcmp(machine, binaries->own_machine))) {
        host_fail(host, "it has no spoor " SPOOR_VERSION ", and this one cannot be copied: %s",
                  text_string(&binaries->no_own));
        hint(host, "--on-binary names a static one (make static), or install spoor there");
        return;
    }
    host_fail(host, "it is of another architecture, %.40s, than the spoor that is to be copied, %s", machine,
              binaries->of[0].machine);
    if (remote_machine_is_known(machine))
        hint(host, "--on-binary names one of its own (make static FOR=%s), or install spoor there", machine);
    else
        hint(host, "install spoor there, if it can be built for %.40s", machine);
}

static void send_binary(struct remote_host *host, const char *machine)
{
    host->binary = remote_binary_for(&host->common->binaries, machine);
    if (host->binary)
        host->state = HOST_COPYING;
    else
        fail_without_binary(host, machine);
}

static void handle_mark(struct remote_host *host, const char *word)
{
    static const char need[] = "need ";
    if (!strncmp(word, need, strlen(need)) && host->state == HOST_LOGGING_IN) {
        send_binary(host, word + strlen(need));
    } else if (!strcmp(word, "have") || !strcmp(word, "copied")) {
        host->state = HOST_STARTING;
    } /* failed: its shell ends, and on its error stream stands why */
}

/* A login may print anything before. Returns false when there is no whole line any more. */
static bool read_shell_line(struct remote_host *host)
{
    struct text line = {0};
    const char *from = text_string(&host->received) + host->read;
    const size_t left = host->received.length - host->read;
    const char *end = left ? memchr(from, '\n', left) : NULL;
    if (!end) {
        if (left > GREETING_MAX)
            host_fail(host, "its login prints without end");
        return false;
    }
    text_append(&line, from, (size_t)(end - from));
    host->read += (size_t)(end - from) + 1;
    const char *mark = strstr(text_string(&line), SSH_MARK);
    if (mark)
        handle_mark(host, mark + strlen(SSH_MARK));
    text_free(&line);
    return true;
}

/* ---- from spoor ---- */

static void handle_pong(struct remote_host *host, struct cursor *payload)
{
    const uint64_t now = clock_ns(CLOCK_BOOTTIME), echoed = wire_take(payload);
    const struct remote_clocks theirs = remote_take_clocks(payload);
    const uint64_t trip = now - host->pinged;
    payload->is_bad |= host->state != HOST_MEASURING || echoed != host->pinged;
    if (payload->is_bad)
        return;
    if (trip < host->round_trip) { /* the shortest tells most */
        const uint64_t middle = host->pinged + trip / 2;
        host->round_trip = trip;
        host->behind = (int64_t)(middle - theirs.boot);
        host->wall_ahead = (int64_t)(theirs.real - (middle + (uint64_t)clock_ahead(CLOCK_REALTIME)));
    }
    if (++host->pings < PINGS) {
        ping(host);
        return;
    }
    host->state = HOST_COMPILING;
    text_append(&host->sending, text_string(&host->common->request), host->common->request.length);
}

static void handle_compiled(struct remote_host *host, struct cursor *payload)
{
    const bool is_sound = wire_take_within(payload, 1);
    payload->is_bad |= host->state != HOST_COMPILING;
    if (payload->is_bad)
        return;
    host->cannot_start = !is_sound;
    host->state = is_sound ? HOST_READY : HOST_COMPILING;
}

static int handle_lines(struct remote_host *host, struct cursor *payload)
{
    const uint64_t time = wire_take(payload);
    const bool is_end = wire_take_within(payload, 1);
    size_t length;
    const char *bytes = wire_take_bytes(payload, &length);
    return payload->is_bad ? -EBADMSG
                           : merge_lines(host->common->merge, host->index, time + (uint64_t)host->behind,
                                         is_end, bytes, length);
}

static void handle_time_mark(struct remote_host *host, uint64_t time)
{
    if (!time)
        return;
    host->is_live = true;
    merge_mark(host->common->merge, host->index, time + (uint64_t)host->behind);
}

static int handle_message(struct remote_host *host, enum remote_message message, struct cursor *payload)
{
    struct merge *merge = host->common->merge;
    const bool runs = host->state == HOST_RUNNING;
    int error = 0;
    switch (message) {
    case REMOTE_HELLO:
        payload->is_bad |= wire_take(payload) != REMOTE_PROTOCOL || host->state != HOST_STARTING;
        host->state = HOST_MEASURING;
        ping(host);
        break;
    case REMOTE_PONG: handle_pong(host, payload); break;
    case REMOTE_COMPILED: handle_compiled(host, payload); break;
    case REMOTE_LINES: error = runs ? handle_lines(host, payload) : -EBADMSG; break;
    case REMOTE_MAP:
        error = runs ? merge_map(merge, host->index, *payload, host->behind) : -EBADMSG;
        cursor_skip(payload, cursor_left(payload));
        break;
    case REMOTE_REPORT: {
        const char *text = wire_take_text(payload);
        payload->is_bad |= !text;
        if (text)
            report_lines(host, text, strlen(text));
        break;
    }
    case REMOTE_MARK: handle_time_mark(host, wire_take(payload)); break;
    case REMOTE_END:
        host->status = (int)wire_take_within(payload, UINT8_MAX);
        host->state = HOST_LEAVING;
        merge_over(merge, host->index);
        break;
    default: error = -EBADMSG;
    }
    return error ? error : host->state != HOST_OVER && !cursor_is_done(payload) ? -EBADMSG : 0;
}

static void handle_received(struct remote_host *host)
{
    while (host->state < HOST_STARTING && read_shell_line(host))
        ;
    for (int got = 1; got > 0 && host->state >= HOST_STARTING && host->state < HOST_LEAVING;) {
        enum remote_message message;
        struct cursor payload;
        got = remote_take(&host->received, &host->read, &message, &payload);
        const int error = got < 0 ? got : got ? handle_message(host, message, &payload) : 0;
        if (error == -EBADMSG)
            host_fail(host, "it has sent what no spoor " SPOOR_VERSION " sends");
        else if (error)
            host_fail(host, "there is not enough memory here for what it sends");
    }
}

/* ---- its streams ---- */

void host_wait(const struct remote_host *host, struct pollfd *streams)
{
    const bool copies = host->state == HOST_COPYING && host->copied < host->binary->size;
    const bool sends = host->ssh.out >= 0 && (copies || host->sending.length > host->sent);
    const bool is_full = merge_is_full(host->common->merge, host->index);
    streams[0] = (struct pollfd){sends ? host->ssh.in : -1, POLLOUT, 0};
    streams[1] = (struct pollfd){is_full ? -1 : host->ssh.out, POLLIN, 0};
    streams[2] = (struct pollfd){host->ssh.err, POLLIN, 0};
}

static void note_activity(struct remote_host *host)
{
    host->active_at = clock_ms(CLOCK_MONOTONIC);
}

static void send_some(struct remote_host *host)
{
    const struct remote_binary *binary = host->binary;
    const bool copies = host->state == HOST_COPYING && host->copied < binary->size;
    const void *bytes = copies ? (const void *)(binary->bytes + host->copied)
                               : (const void *)(text_string(&host->sending) + host->sent);
    const size_t left = copies ? binary->size - host->copied : host->sending.length - host->sent;
    const ssize_t sent = left ? send(host->ssh.in, bytes, left, MSG_NOSIGNAL) : 0;
    if (sent < 0)
        return; /* the reason is reported when its output ends */
    *(copies ? &host->copied : &host->sent) += (size_t)sent;
    if (sent)
        note_activity(host);
    if (host->sent == host->sending.length) {
        text_clear(&host->sending);
        host->sent = 0;
    }
}

static void fail_disconnected(struct remote_host *host)
{
    static const char *const stages[] = {
        [HOST_LOGGING_IN] = "it cannot be logged in to", [HOST_COPYING] = "spoor could not be copied",
        [HOST_STARTING] = "spoor could not be started",  [HOST_MEASURING] = "the connection was lost",
        [HOST_COMPILING] = "the connection was lost",    [HOST_READY] = "the connection was lost",
        [HOST_RUNNING] = "the connection was lost"};
    struct text why = {0};
    drain_errors(host);
    if (host->why.length)
        text_printf(&why, ": %s", text_string(&host->why));
    host_fail(host, "%s%s", stages[host->state], text_string(&why));
    text_free(&why);
}

/* All that it had to say has come. */
static void finish(struct remote_host *host)
{
    if (host->state != HOST_LEAVING)
        fail_disconnected(host);
    else if (host->cannot_start)
        host_fail(host, "the script cannot be started there");
    else
        close_host(host);
}

static void receive(struct remote_host *host)
{
    if (!text_reserve(&host->received, PART)) {
        host_fail(host, "there is not enough memory here for what it sends");
        return;
    }
    const ssize_t got = recv(host->ssh.out, host->received.bytes + host->received.length, PART, 0);
    if (got > 0) {
        host->received.length += (size_t)got;
        note_activity(host);
        handle_received(host);
        if (host->state == HOST_OVER)
            return;
        if (host->read > host->received.length / 2) { /* forget what was read */
            memmove(host->received.bytes, host->received.bytes + host->read,
                    host->received.length - host->read);
            text_truncate(&host->received, host->received.length - host->read);
            host->read = 0;
        }
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(host->ssh.out);
        host->ssh.out = -1;
        note_activity(host);
    }
}

void host_act(struct remote_host *host, const struct pollfd *streams)
{
    if (host->state != HOST_OVER && streams[2].revents)
        read_error_stream(host);
    if (host->state != HOST_OVER && streams[1].revents)
        receive(host);
    if (host->state != HOST_OVER && streams[0].revents)
        send_some(host);
}

void host_look(struct remote_host *host, uint64_t now)
{
    const bool begins = host->state == HOST_COMPILING || (host->state == HOST_RUNNING && !host->is_live);
    const uint64_t bound = host->state == HOST_LOGGING_IN ? LOGIN_MS : begins ? COMPILE_MS : SILENCE_MS;
    /* The connection brings both of its streams in an order of its own. */
    const bool ends = host->state == HOST_LEAVING || (host->state != HOST_OVER && host->ssh.out < 0);
    if (merge_is_full(host->common->merge, host->index)) /* it may be waiting for us */
        note_activity(host);
    else if (ends && ((host->ssh.out < 0 && host->ssh.err < 0) || now - host->active_at > LEAVING_MS))
        finish(host);
    else if (host->state < HOST_LEAVING && host->state != HOST_READY && now - host->active_at > bound)
        host_fail(host, "it has not answered for %u s", (unsigned)(bound / 1000));
    else if (host->state == HOST_READY)
        host->active_at = now;
}
