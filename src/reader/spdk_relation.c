/* SPDX-License-Identifier: BSD-3-Clause */
/* SPDK's counter and the boot clock (relation.h): whether this machine's counter is the one that a file's program
 * uses for its stamps, and readings of a living program or a drained file.
 *
 * The file has only numbers. That they are of this counter, and of this boot, follows from a process that has the
 * file mapped for writing, here and now. It is doubted if its newest stamp is later than now or earlier than the
 * process. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "reader/relation.h"
#include "reader/spdk_state.h"
#include "reader/liveness.h"
#include "sym/process/mapped_file.h"

enum { SOON = 20000000 /* ns between the first two readings */ };

/* ---- whose counter is it? ---- */

/* Returns the newest stamp that the rings have now; 0: there is none. */
static uint64_t newest_of_rings(const struct recording *recording)
{
    uint64_t at = 0, offset, newest = 0;
    const unsigned lcores = spdk_section_count(recording, SPDK_SECTION_LCORES, &at);
    for (unsigned i = 0; i < lcores && i < SPDK_LCORES_MAX; i++) {
        struct spdk_history history;
        struct spdk_slot slot;
        if (!recording_read_all(recording, &offset, sizeof offset, at + i * sizeof offset) || !offset ||
            !recording_read_all(recording, &history, sizeof history, offset) || !history.next_entry ||
            !history.num_entries || history.num_tpoint_ids > 65536 ||
            history.num_entries > recording->file_bytes / sizeof slot)
            continue;
        const uint64_t last = (history.next_entry - 1) % history.num_entries;
        if (recording_read_all(recording, &slot, sizeof slot,
                               offset + sizeof history + history.num_tpoint_ids * 8 + last * sizeof slot) &&
            slot.tsc > newest)
            newest = slot.tsc;
    }
    return newest;
}

/* Whether a stamp is from before the process began, even if the rate is wrong. */
static bool is_older_than(const struct liveness *liveness, uint64_t age, uint64_t rate, uint64_t now)
{
    const uint64_t second = (uint64_t)sysconf(_SC_CLK_TCK);
    if (!liveness->has_begun)
        return false;
    const unsigned __int128 ago = (unsigned __int128)age * NSEC_PER_SEC / rate,
                            begun = (unsigned __int128)liveness->begun * NSEC_PER_SEC / second;
    return ago - ago / 50 + begun > (unsigned __int128)now + NSEC_PER_SEC / second;
}

const char *spdk_relation_refusal(struct recording *recording)
{
    const struct liveness_question question = {
        .named = spdk_writer(recording), .is_spdk = true, .is_clock = true};
    const struct liveness liveness = liveness_of(recording, &question);
    const int mapped = liveness.mapped;
    if (liveness.refusal)
        return liveness.refusal;
    if (question.named > 0 && mapped <= MAPPED_NOT && mapped != -EACCES && mapped != -EPERM)
        return "its program does not live here";
    if (question.named == 0 && mapped <= MAPPED_NOT)
        return "no process is to be seen that has it mapped and writes to it";
    const uint64_t newest = newest_of_rings(recording);
    const struct layout_clock now = relation_look();
    if (newest > now.counter)
        return "its newest event is later than now by this machine's counter: it is not stamped with that";
    if (newest && is_older_than(&liveness, now.counter - newest, recording->timeline.rate, now.boottime))
        return "its newest event is from before its program began by this machine's counter: it is not "
               "stamped "
               "with that";
    return NULL;
}

/* ---- a program that is followed ---- */

static const char uneven[] = "its counter did not go on evenly, or not at the rate that the file says";

/* Takes two readings, so that the counter's rate is measured. */
static int begin(struct recording *recording)
{
    struct relation relation;
    struct timeline *timeline = &recording->timeline;
    int error = 0;
    recording->unrelated = spdk_relation_refusal(recording);
    if (recording->unrelated)
        return 0;
    relation_begin(&relation, timeline->rate);
    nanosleep(&(struct timespec){.tv_nsec = SOON}, NULL);
    const struct layout_clock second = relation_look();
    if (relation_is_broken(&relation.clocks[0], &second, timeline->rate)) {
        recording->unrelated = uneven;
        return 0;
    }
    relation_add(&relation, &second, timeline->rate);
    recording->unrelated = relation_use(&relation, timeline, &error);
    recording->realtime = relation.realtime;
    recording->window = relation.since;
    recording->related_from = relation.clocks[0].counter;
    recording->related_to = second.counter;
    return error;
}

static struct layout_clock reading(const struct timeline_point *point)
{
    return (struct layout_clock){.counter = point->counter, .boottime = point->time, .error = point->error};
}

int spdk_relation_go_on(struct recording *recording)
{
    struct timeline *timeline = &recording->timeline;
    const uint64_t looks = recording->own_clocks;
    const int error = recording_look_at_clock(recording);
    if (error || looks == recording->own_clocks || timeline->count < 2)
        return error;
    const struct timeline_point *last = &timeline->points[timeline->count - 1];
    const struct layout_clock before = reading(last - 1), now = reading(last);
    /* Times of events up to this reading were computed without it. */
    timeline->count--;
    const uint64_t most = relation_error(timeline, recording->related_from, now.counter);
    timeline->count++;
    recording->related_error = most > recording->related_error ? most : recording->related_error;
    if (relation_is_broken(&before, &now, timeline->rate)) {
        /* The counter stopped or began anew: earlier events have no known time. */
        const uint64_t rate = timeline->rate;
        timeline_free(timeline);
        timeline_init(timeline, rate);
        recording->window = recording->related_from = now.counter;
        if (timeline_add(timeline, now.counter, now.boottime, now.error))
            return -ENOMEM;
    }
    timeline_finish(timeline);
    recording->related_to = now.counter;
    return 0;
}

/* ---- a drained file ---- */

static int read_readings(struct recording *recording)
{
    struct spdk_state *state = recording->state;
    const uint64_t at = sizeof state->header + sizeof state->stream;
    static const char none[] =
        "no relation to the boot clock was kept in it: `spoor record` keeps one while the program lives";
    recording->unrelated = none;
    for (int i = 0; i < SPDK_SECTIONS; i++)
        if (state->header.offsets[i] && state->header.offsets[i] < at + sizeof(struct relation))
            return 0;
    struct relation *relation = malloc(sizeof *relation);
    int error = relation ? 0 : -ENOMEM;
    if (relation && recording_read_all(recording, relation, sizeof *relation, at))
        recording->unrelated = relation_use(relation, &recording->timeline, &error);
    if (relation && !recording->unrelated) {
        recording->realtime = relation->realtime;
        state->relation_since = relation->since;
    }
    free(relation);
    return error;
}

int spdk_relation_open(struct recording *recording)
{
    const struct spdk_state *state = recording->state;
    recording->unrelated =
        "it holds its program's counter alone; what `spoor record` makes while the program lives can be "
        "merged";
    if (!recording->options.relate || recording->options.model_only)
        return 0;
    if (state->is_stream)
        return read_readings(recording);
    return recording->live && recording->options.follow ? begin(recording) : 0;
}

int spdk_relation_settle(struct recording *recording, uint64_t newest, uint64_t *covered)
{
    const struct spdk_state *state = recording->state;
    if (recording->unrelated)
        return 0;
    recording->related_from = recording->related_to = recording->timeline.points[0].counter;
    if (!newest)
        return 0; /* there is no event */
    if (newest < state->relation_since) {
        const uint64_t rate = recording->timeline.rate;
        recording->unrelated =
            "this machine has slept and its counter may have stopped meanwhile, or that does not go at "
            "the rate that the file says: `spoor record` keeps what is recorded from now on";
        recording->realtime = 0;
        timeline_free(&recording->timeline);
        timeline_init(&recording->timeline, rate);
        return 0;
    }
    *covered = state->relation_since > *covered ? state->relation_since : *covered;
    uint64_t oldest = newest;
    for (size_t i = 0; i < recording->source_count; i++)
        if (recording->sources[i]->ready && recording->sources[i]->stamp < oldest)
            oldest = recording->sources[i]->stamp;
    recording->related_from = oldest > *covered ? oldest : *covered;
    recording->related_to = newest;
    return 0;
}
