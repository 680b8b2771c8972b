/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells observers what is printed and when. Of the text that is printed, what maps print is left out: a watcher of maps
 * says where that begins and ends in session.out. */
#include <string.h>

#include "session/state.h"

static void before_map(void *session, struct printer *printer, const struct map_snapshot *map, size_t top,
                       uint64_t divisor)
{
    (void)printer, (void)map, (void)top, (void)divisor;
    observe_text(session);
}

static void behind_map(void *session)
{
    observe_skip(session);
}

const struct map_watcher *observe_watcher(struct session *session)
{
    struct map_watcher *watcher = &output_observe(session)->watcher;
    if (!session->options.observer)
        return session->options.watcher;
    *watcher = (struct map_watcher){
        .state = session, .printed = before_map, .ended = behind_map, .next = session->options.watcher};
    return watcher;
}

/* Returns the time of the event that is handled, or else the present time; over recordings, that of the last event. */
static uint64_t time_of(struct session *session)
{
    const uint64_t moment = session_printer(session)->moment;
    return moment ? moment : session->host->operations->clock(session->host);
}

void observe_text(struct session *session)
{
    const struct session_observer *observer = session->options.observer;
    const size_t told = output_observe(session)->told;
    const uint64_t time = observer && session->out.length > told ? time_of(session) : 0;
    for (; observer && session->out.length > told; observer = observer->next)
        if (observer->printed)
            observer->printed(observer->state, time, session->out.bytes + told, session->out.length - told);
    observe_skip(session);
}

void observe_skip(struct session *session)
{
    output_observe(session)->told = session->out.length;
}

/* Adds a text without its colours. Else there is no escape character in messages. */
static void add_plain(struct text *out, const char *text)
{
    for (const char *escape; (escape = strchr(text, '\033')); text = escape + strcspn(escape, "m") + 1) {
        text_append(out, text, (size_t)(escape - text));
        if (!escape[strcspn(escape, "m")])
            return;
    }
    text_add(out, text);
}

void observe_message(struct session *session, enum report_kind kind, const char *text)
{
    const struct session_observer *observer = session->host ? session->options.observer : NULL;
    const uint64_t time = observer ? time_of(session) : 0;
    struct text plain = {0};
    if (observer)
        add_plain(&plain, text);
    for (; observer; observer = observer->next)
        if (observer->reported)
            observer->reported(observer->state, time, kind, plain.failed ? text : text_string(&plain));
    text_free(&plain);
}

void observe_passing(struct session *session, bool is_end)
{
    const struct session_observer *observer = session->options.observer;
    const uint64_t time = observer ? session->host->operations->clock(session->host) : 0;
    for (; observer; observer = observer->next)
        if (observer->passed)
            observer->passed(observer->state, session, time, is_end);
}
