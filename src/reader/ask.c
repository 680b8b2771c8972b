/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/ask.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "reader/recording_wire.h"
#include "reader/service.h"

enum { PATIENCE_MS = 10000 };
#define MEMORY ((uint64_t)4 << 30)
static const uint64_t LOOK_AFTER = 100000000; /* ns between two looks whether the program lives */

struct ask {
    struct apart *apart;        /* NULL: the process is gone */
    struct service *here;       /* where no process is made (apart_pretend()) it serves here */
    bool is_lost;               /* it was lost before the recording ended */
    struct apart_answer answer; /* the last one, in which events are */
    struct cursor in;           /* its events that were not taken yet */
    size_t together;            /* how many of them were handed out together with the last one */
    bool has_more;              /* there are more than in this answer */
    struct liveness_question who;
    struct liveness liveness;
    uint64_t looked; /* when that was looked at, ns; 0: never */
};

/* Gives up the process: it died, does not answer, or has sent what it cannot have read. */
static void lose(struct ask *ask)
{
    apart_end(ask->apart);
    ask->apart = NULL;
    ask->is_lost = true;
    ask->has_more = false;
}

/* Asks, after which the events of the answer before are no longer there. Returns 0, or the error of the process;
 * -EBADMSG: it is lost. */
static int ask_for(struct ask *ask, enum service_question kind, const struct text *question, int file)
{
    apart_answer_free(&ask->answer);
    ask->in = (struct cursor){0};
    ask->together = 0;
    ask->has_more = false;
    if (!ask->apart)
        return -EBADMSG;
    const int error = apart_ask(ask->apart, kind, question, file, &ask->answer);
    ask->in = ask->answer.in;
    if (error)
        ask->in = (struct cursor){0};
    if (error == -EBADMSG)
        lose(ask);
    return error;
}

/* What came cannot be used. */
static int reject(struct ask *ask, int error)
{
    ask->in = (struct cursor){0};
    ask->together = 0;
    if (error == -EBADMSG)
        lose(ask);
    return error;
}

static void put_liveness(struct recording *recording, struct text *question)
{
    struct ask *ask = recording->state;
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (!ask->looked || now - ask->looked > LOOK_AFTER) {
        ask->liveness = liveness_look(recording->file, recording->path, &ask->who, &recording->writer);
        ask->looked = now;
    }
    liveness_put(question, &ask->liveness);
}

/* ---- taking ---- */

static int take_batch(struct recording *recording)
{
    struct ask *ask = recording->state;
    ask->has_more = wire_take_within(&ask->in, 1);
    const int error = recording_take_counts(&ask->in, recording);
    return error ? reject(ask, error) : 0;
}

static int take_refreshed(struct recording *recording)
{
    struct ask *ask = recording->state;
    const int error = recording_take_state(&ask->in, recording);
    return error ? reject(ask, error) : take_batch(recording);
}

/* Finds the next events that were handed out together. Returns 1; 0: there are none; or -errno. */
static int find_together(struct recording *recording)
{
    struct ask *ask = recording->state;
    while (!ask->together) {
        if (!cursor_left(&ask->in)) {
            if (!ask->has_more)
                return 0;
            int error = ask_for(ask, SERVICE_NEXT, NULL, -1);
            error = error ? error : take_batch(recording);
            if (error)
                return error;
            continue;
        }
        const int error = recording_take_together(&ask->in, recording, &ask->together);
        if (error)
            return reject(ask, error);
    }
    return 1;
}

static int events(struct recording *recording, struct recording_event *all, int most)
{
    struct ask *ask = recording->state;
    int count = 0;
    const int found = find_together(recording);
    if (found <= 0)
        return found == -EBADMSG ? 0 : found;
    for (; count < most && ask->together; count++, ask->together--)
        if (recording_take_event(&ask->in, recording, &all[count])) {
            reject(ask, -EBADMSG);
            break;
        }
    if (count)
        timeline_expect(&recording->timeline, all[count - 1].stamp);
    return count;
}

/* ---- asking ---- */

static int open_apart(struct recording *recording, struct text *why)
{
    struct ask *ask = recording->state;
    struct text question = {0};
    wire_put_text(&question, recording->path);
    int error = ask_for(ask, SERVICE_WRITER, &question, recording->file);
    text_free(&question);
    if (error)
        return error;
    ask->who.is_clock = ask->who.is_spdk = wire_take_within(&ask->in, 1);
    ask->who.named = (pid_t)((int64_t)wire_take_within(&ask->in, (uint64_t)INT32_MAX + 1) - 1);
    if (ask->in.is_bad)
        return -EBADMSG;
    wire_put(&question, recording->options.relate);
    put_liveness(recording, &question);
    ask->who.is_clock = false;
    error = ask_for(ask, SERVICE_OPEN, &question, -1);
    text_free(&question);
    if (error)
        return error;
    const int refused = -(int)wire_take_within(&ask->in, 4095);
    const char *reason = refused ? wire_take_text(&ask->in) : NULL;
    if (reason)
        text_add(why, reason);
    return ask->in.is_bad ? -EBADMSG : refused ? refused : take_refreshed(recording);
}

int ask_open(struct recording *recording, struct text *why)
{
    struct ask *ask = recording->state = calloc(1, sizeof *ask);
    if (!ask || !(ask->here = service_make()))
        return -ENOMEM;
    const struct apart_options options = {.name = "spoor-recording",
                                          .serve = service_serve,
                                          .state = ask->here,
                                          .idle = service_idle,
                                          .memory = MEMORY,
                                          .patience_ms = PATIENCE_MS};
    int error = apart_start(&options, &ask->apart);
    if (error) {
        text_printf(why, "cannot make a process that reads %s: %s", recording->path, strerror(-error));
        return error;
    }
    recording->limit = UINT64_MAX;
    error = open_apart(recording, why);
    if (error == -EBADMSG && !why->length)
        text_printf(why, "cannot read %s: the process that was to read it has ended or sent nonsense",
                    recording->path);
    return error;
}

int ask_keep_up(struct recording *recording)
{
    struct ask *ask = recording->state;
    struct apart_answer answer;
    if (!ask->apart)
        return 0;
    /* The answer with the events that wait is kept. */
    const int error = apart_ask(ask->apart, SERVICE_KEEP_UP, NULL, -1, &answer);
    apart_answer_free(&answer);
    if (error == -EBADMSG)
        lose(ask);
    return error == -EBADMSG ? 0 : error;
}

int ask_refresh(struct recording *recording)
{
    struct ask *ask = recording->state;
    struct text question = {0};
    if (ask->together || cursor_left(&ask->in) || ask->has_more)
        return 1; /* what came before is to be handed out first */
    int error = -EBADMSG;
    if (ask->apart) {
        put_liveness(recording, &question);
        error = ask_for(ask, SERVICE_REFRESH, &question, -1);
        text_free(&question);
    }
    const int failed = error ? 0 : -(int)wire_take_within(&ask->in, 4095);
    if (!error)
        error = failed ? failed : take_refreshed(recording);
    if (error == -EBADMSG) { /* then nothing more comes */
        recording->live = false;
        recording->limit = UINT64_MAX;
        return 0;
    }
    return error ? error : recording->live;
}

void ask_may_leave(struct recording *recording, bool (*leaves)(void *state), void *state)
{
    const struct ask *ask = recording->state;
    if (ask->apart)
        apart_may_leave(ask->apart, leaves, state);
}

bool ask_is_lost(const struct recording *recording)
{
    return ((const struct ask *)recording->state)->is_lost;
}

/* ---- as a format ---- */

static void leave(struct recording *recording)
{
    (void)recording;
}

static unsigned rings(const struct recording *recording)
{
    return recording->counts.sources;
}

static void thread(const struct recording_source *source, struct recording_thread *out)
{
    (void)source, (void)out; /* each event says whose it is */
}

static bool is_live(struct recording *recording)
{
    return recording->live;
}

static void close_apart(struct recording *recording)
{
    struct ask *ask = recording->state;
    apart_end(ask->apart);
    apart_answer_free(&ask->answer);
    service_free(ask->here);
    for (size_t i = 0; i < recording->source_count; i++)
        free(recording->sources[i]);
    free(ask);
}

const struct recording_format recording_format_apart = {
    .name = "apart",
    .rings = rings,
    .events = events,
    .leave = leave,
    .thread = thread,
    .is_live = is_live,
    .close = close_apart,
};
