/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/create.h"
#include "top/terminal.h"

enum {
    WAIT_MIN_MS = 1,
    WAIT_MAX_MS = 20,
    COST_SHARE = 10,
    FILTER_PATIENCE_NS = 50000000,
    FIRST_NS = 200000000
};

/* ---- when tables are refreshed ---- */

struct refreshing {
    const struct top_feed *feed;
    uint64_t interval, due, count;
    int wait_ms;
};

/* A refresh that takes long is rare: at most a tenth of the time goes into refreshes. */
static int refresh(struct refreshing *refreshing, uint64_t now)
{
    const uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const int error = refreshing->feed->refresh(refreshing->feed->state, now);
    const uint64_t cost = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) * COST_SHARE;
    const uint64_t pause = cost > refreshing->interval ? cost : refreshing->interval;
    refreshing->due = refreshing->due + pause > now ? refreshing->due + pause : now + pause;
    refreshing->count++;
    return error;
}

/* Lets the feed go on until something happens or the time of the next refresh comes, and not longer than a key may wait. */
static int step(struct refreshing *refreshing)
{
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    const uint64_t left = refreshing->due > now ? (refreshing->due - now) / NSEC_PER_MSEC + 1 : 0;
    const int wait = left < (uint64_t)refreshing->wait_ms ? (int)left : refreshing->wait_ms;
    const int got = refreshing->feed->step(refreshing->feed->state, wait);
    refreshing->wait_ms = got > 0                                 ? WAIT_MIN_MS
                          : refreshing->wait_ms * 2 < WAIT_MAX_MS ? refreshing->wait_ms * 2
                                                                  : WAIT_MAX_MS;
    return got < 0 ? got : 0;
}

/* ---- without a screen ---- */

int top_run_batch(const struct top_feed *feed, const struct top_settings *settings)
{
    const uint64_t started = clock_ns(CLOCK_MONOTONIC);
    struct refreshing refreshing = {feed, settings->interval, started + settings->interval, 0, WAIT_MIN_MS};
    struct text text = {0};
    int error = 0;
    while (!error && !feed->is_over(feed->state)) {
        error = step(&refreshing);
        const uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (error || now < refreshing.due || feed->is_over(feed->state))
            continue;
        error = refresh(&refreshing, now);
        size_t count;
        struct top_table *tables = feed->tables(feed->state, &count);
        text_clear(&text);
        top_batch_write(&text, settings, tables, count, started, now);
        if (!error)
            error = text.failed ? -ENOMEM : feed->write(feed->state, &text);
        if (refreshing.count == settings->count)
            break;
    }
    text_free(&text);
    return error;
}

/* ---- on the screen ---- */

void top_run_take_printed(struct top_lines *lines)
{
    enum { READS_MAX = 16 };
    char bytes[4096];
    size_t length;
    for (int i = 0; i < READS_MAX && (length = terminal_read_printed(bytes, sizeof bytes)); i++)
        top_lines_add(lines, bytes, length);
}

/* Writes a name for the file, of letters and digits: spoor-top-biolatency-20261127-120000. */
static void write_file_name(const char *title, struct text *out)
{
    const time_t now = time(NULL);
    struct tm local;
    char date[32] = "";
    const char *base = strrchr(title, '/') ? strrchr(title, '/') + 1 : title;
    const size_t length = strcspn(base, ".");
    text_add(out, "spoor-top-");
    for (size_t i = 0; i < length && i < 40; i++)
        text_char(out, (base[i] >= 'a' && base[i] <= 'z') || (base[i] >= 'A' && base[i] <= 'Z') ||
                               (base[i] >= '0' && base[i] <= '9')
                           ? base[i]
                           : '-');
    if (localtime_r(&now, &local))
        strftime(date, sizeof date, "%Y%m%d-%H%M%S", &local);
    text_printf(out, "-%s", date);
}

static int write_whole(int file, const struct text *text)
{
    for (size_t done = 0; done < text->length;) {
        const ssize_t written = write(file, text->bytes + done, text->length - done);
        if (written < 0 && errno != EINTR)
            return -errno;
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static void save(const struct top_feed *feed, const struct top_settings *settings, struct top_view *view)
{
    enum { NAMES_MAX = 100 };
    struct text json = {0}, name = {0};
    int file = -EEXIST, error = feed->save(feed->state, &json);
    for (int i = 1; !error && file == -EEXIST && i <= NAMES_MAX; i++) {
        text_clear(&name);
        write_file_name(settings->title, &name);
        if (i > 1)
            text_printf(&name, "-%d", i);
        text_add(&name, ".json");
        file = name.failed ? -ENOMEM : create_new_file(AT_FDCWD, text_string(&name));
    }
    if (!error && file < 0)
        error = file;
    if (!error && (error = write_whole(file, &json)))
        unlink(text_string(&name));
    if (file >= 0)
        close(file);
    if (error)
        top_view_status(view, true, "not saved: %s", create_error(error));
    else
        top_view_status(view, false, "saved as %s", text_string(&name));
    text_free(&json);
    text_free(&name);
}

int top_run_show(struct top_view *view)
{
    const int fitted = terminal_fit(&view->canvas);
    if (fitted < 0)
        return fitted;
    top_view_draw(view);
    terminal_show(&view->canvas);
    return 0;
}

static void arrange(struct top_view *view)
{
    if (!top_view_table(view))
        return;
    top_table_arrange(top_view_table(view), FILTER_PATIENCE_NS);
    top_view_arranged(view);
}

/* Reads all keys. Returns true if the user wants the end. *changed: whether there were any. */
static bool read_keys(const struct top_feed *feed, const struct top_settings *settings, struct top_view *view,
                      bool *changed)
{
    uint32_t key;
    while ((key = terminal_key())) {
        if (key == UINT32_MAX)
            return true;
        *changed = true;
        switch (top_view_key(view, key)) {
        case VIEW_QUIT: return true;
        case VIEW_SAVE: save(feed, settings, view); break;
        case VIEW_ARRANGE: arrange(view); break;
        case VIEW_NOTHING: break;
        }
    }
    return false;
}

int top_run_screen(const struct top_feed *feed, const struct top_settings *settings, struct top_view *view)
{
    const uint64_t started = clock_ns(CLOCK_MONOTONIC);
    struct refreshing refreshing = {feed, settings->interval, started + FIRST_NS, 0, WAIT_MIN_MS};
    uint64_t lines = 0;
    view->started = view->now = started;
    view->interval = settings->interval;
    for (int error = 0; !feed->is_over(feed->state);) {
        bool changed = false;
        error = step(&refreshing);
        top_run_take_printed(view->lines);
        const uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (read_keys(feed, settings, view, &changed))
            return 0;
        if (!error && now >= refreshing.due && !view->is_paused) {
            if (settings->count && refreshing.count == settings->count)
                return 0;
            error = refresh(&refreshing, now);
            view->tables = feed->tables(feed->state, &view->table_count);
            view->now = now;
            arrange(view);
            changed = true;
        } else if (now >= refreshing.due) {
            refreshing.due = now + settings->interval;
        }
        struct canvas before = view->canvas;
        if (!error && terminal_fit(&view->canvas))
            changed = true;
        changed |= view->is_stale || before.rows != view->canvas.rows ||
                   (!view->is_paused && lines != view->lines->count);
        lines = view->lines->count;
        if (!error && changed)
            error = top_run_show(view);
        if (error)
            return error;
    }
    return 0;
}
