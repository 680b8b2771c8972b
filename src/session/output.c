/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the output of the script: all of it, in order, or with an error. When the reader has gone (EPIPE) the trace ends. A
 * reader that pauses makes spoor wait, while events wait in the rings and are counted as lost when these are full; but it
 * never keeps a signal from ending the trace. So no more is written to a pipe, a socket or a terminal at once than it takes
 * without waiting. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/create.h"
#include "base/terminal.h"
#include "session/state.h"

enum {
    HELD_BYTES = 1 << 20,
    PART_BYTES = 4096, /* what a pipe that can be written takes without waiting */
    MEANWHILE_MS = 20, /* between two calls of options.meanwhile */
    PATIENCE_MS = 600, /* how long a reader that does not read is waited for, once the end is asked for */
    ENDS_MAX = 2,      /* the second signal passes over what is not printed, the third gives up the reader */
};

struct output {
    struct text event_ends; /* a size_t for each event in session.out: where its text ends */
    uint64_t unwritten;     /* events that were handled and whose text could not be written whole */
    bool is_held;           /* it is kept for now, up to HELD_BYTES */
    bool is_broken;         /* it cannot be written any more */
    bool reader_left;       /* because its reader closed it, as `head` does */
    bool is_known, waits;   /* whether its reader can make us wait, once it is known */
    struct observe observe;
    uint64_t bytes;            /* in the present file */
    unsigned long long number; /* how many files were finished before it */
};

void session_output_open(struct session *session)
{
    session->output = arena_new(&session->arena, struct output);
}

void session_output_close(struct session *session)
{
    text_free(&session->output->event_ends);
}

struct observe *output_observe(const struct session *session)
{
    return &session->output->observe;
}

void output_hold(struct session *session, bool holds)
{
    session->output->is_held = holds;
}

bool output_is_broken(const struct session *session)
{
    return session->output->is_broken;
}

void output_discard(struct session *session)
{
    session->output->is_broken = true;
}

void session_write_directly(struct session *session)
{
    session->options.write = NULL;
}

static void fail(struct session *session, const char *format, const char *what)
{
    session->output->is_broken = true;
    diagnose_error(&session->diagnostics, (struct span){0}, format, what);
}

/* Waits until the output can be written. Returns false if the user asked for the end and the reader still does not read. */
static bool wait_for_reader(struct session *session)
{
    for (;;) {
        const bool is_asked = interrupt_is_asked(session);
        const bool has_more = session->options.meanwhile && !is_asked;
        struct pollfd ready[] = {{session->options.output, POLLOUT, 0},
                                 {interrupt_descriptor(session), POLLIN, 0}};
        int count = poll(ready, 2, is_asked ? PATIENCE_MS : has_more ? MEANWHILE_MS : -1);
        if (count == 0 && has_more) {
            session->options.meanwhile(session->options.state);
            continue;
        }
        if (count < 0 && errno != EINTR)
            return true; /* then writing will say what is wrong */
        if (count > 0 && ready[0].revents)
            return true;
        if (count == 0 || (session_interrupted(session) && session->handler.stop_signals > ENDS_MAX))
            return false;
    }
}

/* Goes on with a new file of output: FILE.2, FILE.3 and so on, the newest with the highest number. Removes the oldest when
 * there are more than the options keep. */
static void rotate(struct session *session)
{
    const struct session_options *options = &session->options;
    struct text path = {0};
    unsigned long long number = ++session->output->number + 1;
    text_printf(&path, "%s.%llu", options->output_path, number);
    int file = path.failed ? -ENOMEM : create_file(text_string(&path));
    if (file < 0 || dup3(file, options->output, O_CLOEXEC) < 0)
        fail(session, "cannot go on with a new file of output: %s", create_error(file < 0 ? file : -errno));
    if (file >= 0)
        close(file);
    if (options->keep_files && number > options->keep_files) {
        text_clear(&path);
        text_printf(&path, "%s.%llu", options->output_path, number - options->keep_files);
        if (unlink(text_string(&path)) && errno != ENOENT)
            fail(session, "cannot remove an old file of output: %s", strerror(errno));
    }
    text_free(&path);
    session->output->bytes = 0;
}

/* Returns how many bytes go to the present file: whole lines, unless one is longer than a file may be. */
static size_t part_of_file(struct session *session, const char *at, size_t left)
{
    uint64_t most = session->options.rotate_bytes;
    if (!most)
        return left;
    if (session->output->bytes + left <= most)
        return left;
    size_t room = session->output->bytes < most ? (size_t)(most - session->output->bytes) : 0;
    const char *end = room ? memrchr(at, '\n', room) : NULL;
    if (end)
        return (size_t)(end + 1 - at);
    if (session->output->bytes)
        return 0;
    end = memchr(at, '\n', left);
    return end ? (size_t)(end + 1 - at) : left;
}

/* Writes the bytes. Returns how many of them are left because the output cannot be written any more. */
static size_t write_all(struct session *session, const char *at, size_t left)
{
    if (!session->output->is_known) {
        struct stat file;
        session->output->waits = fstat(session->options.output, &file) || !S_ISREG(file.st_mode);
        session->output->is_known = true;
    }
    while (left && !session->output->is_broken) {
        size_t part = part_of_file(session, at, left);
        if (!part) {
            rotate(session);
            continue;
        }
        if (session->output->waits) {
            if (!wait_for_reader(session)) {
                fail(session, "%s", "nobody reads the output: the rest of it is lost");
                return left;
            }
            if (part > PART_BYTES)
                part = PART_BYTES;
        }
        ssize_t written = write(session->options.output, at, part);
        if (written > 0) {
            at += written;
            left -= (size_t)written;
            session->output->bytes += (size_t)written;
        } else if (written < 0 && errno == EPIPE)
            session->output->is_broken = session->output->reader_left = true;
        else if (written < 0 && errno != EINTR && errno != EAGAIN)
            fail(session, "cannot write the output: %s", strerror(errno));
    }
    return left;
}

/* ---- events whose text is not written ---- */

void output_event(struct session *session, bool was_broken)
{
    size_t end = session->out.length;
    if (session->output->is_broken) {
        session->output->unwritten += (end || !was_broken) && !session->output->reader_left;
        text_clear(&session->out);
        observe_skip(session);
    } else if (end && !session->options.write)
        text_append(&session->output->event_ends, (const char *)&end, sizeof end);
}

static void count_unwritten_events(struct session *session, size_t written)
{
    size_t end, count = session->output->event_ends.length / sizeof end;
    for (; count && session->output->is_broken && !session->output->reader_left; count--) {
        memcpy(&end, session->output->event_ends.bytes + (count - 1) * sizeof end, sizeof end);
        if (end <= written)
            break;
        session->output->unwritten++;
    }
    text_clear(&session->output->event_ends);
}

void session_flush(struct session *session)
{
    observe_text(session);
    if (session->output->is_held && session->out.length < HELD_BYTES)
        return;
    if (session->out.failed) { /* its rest is lost, and what comes after would hide that */
        session->out.failed = false;
        fail(session, "%s", "there is not enough memory for the output: it is not complete");
    }
    if (session->options.write && session->out.length && !session->output->is_broken)
        session->options.write(session->options.state, session->out.bytes, session->out.length);
    else {
        size_t length = session->out.length, left = length;
        if (!session->output->is_broken)
            left = write_all(session, session->out.bytes, length);
        count_unwritten_events(session, length - left);
    }
    text_clear(&session->out);
    observe_skip(session);
}

void output_count_unwritten(struct session *session)
{
    session->output->unwritten += !session->output->reader_left;
}

void output_report_unwritten(struct session *session)
{
    if (session->output->unwritten)
        session_report(session, "Lost %llu events that could not be written\n",
                       (unsigned long long)session->output->unwritten);
}

void output_release_behind(struct session *session, void (*print)(struct session *session))
{
    observe_text(session);
    struct text held = session->out, ends = session->output->event_ends;
    session->out = session->output->event_ends = (struct text){0};
    session->output->is_held = false;
    observe_skip(session);
    print(session);
    session_flush(session);
    text_append(&session->out, text_string(&held), held.length);
    session->out.failed |= held.failed;
    observe_skip(session);
    text_free(&held);
    text_free(&session->output->event_ends);
    session->output->event_ends = ends;
    session_flush(session);
}

void session_report_text(struct session *session, enum report_kind kind, const struct text *text)
{
    const char *message =
        text->failed ? "WARNING: there is not enough memory for a message\n" : text_string(text);
    session_flush(session); /* what was printed before stands before it */
    observe_message(session, text->failed ? REPORT_WARNING : kind, message);
    session->options.report(session->options.state, message);
}

static enum report_kind kind_of(const char *format)
{
    static const struct {
        const char *word;
        enum report_kind kind;
    } beginnings[] = {{"ERROR: ", REPORT_ERROR}, {"WARNING: ", REPORT_WARNING}, {"Lost ", REPORT_WARNING}};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (!strncmp(format, beginnings[i].word, strlen(beginnings[i].word)))
            return beginnings[i].kind;
    return REPORT_NOTE;
}

void session_report(struct session *session, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&text, format, arguments);
    va_end(arguments);
    session_report_text(session, kind_of(format), &text);
    text_free(&text);
}
