/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of rings: finding a place for the ring of a thread. Nothing announces that a thread has ended; its
 * rings are found when others are wanted. All of this belongs to the record path. */
#include "recorder/state.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

void directory_begin(void)
{
    recorder.ended = 0;
    recorder.looked_at = recorder.taken = 0;
    recorder.look_at_all = 0;
}

struct layout_place *directory_place(const struct recording *recording, uint64_t index)
{
    return (struct layout_place *)(recording->memory + recording->header->directory_offset) + index;
}

struct layout_ring *directory_ring(const struct recording *recording, const struct layout_place *place)
{
    return (struct layout_ring *)(recording->memory + place->offset);
}

/* Whether the thread of a ring has ended. Nothing announces it, so that a system call for each ring finds out when
 * a new ring is needed. Also true for the caller's own id: an earlier thread had it. */
static bool thread_ended(uint32_t tid, uint32_t self)
{
    return tid == self || (syscall(SYS_tgkill, getpid(), (int)tid, 0) != 0 && errno == ESRCH);
}

static bool has_state(const struct layout_place *place, uint32_t state)
{
    return __atomic_load_n(&place->state, __ATOMIC_ACQUIRE) == state;
}

static bool change_state(struct layout_place *place, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&place->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* The counter at which the newest block of the ring was opened. */
static uint64_t last_use(const struct recording *recording, const struct layout_place *place)
{
    struct layout_ring *ring = directory_ring(recording, place);
    const uint64_t position = block_begin(ring->position_base);
    return ((struct layout_block *)(ring_blocks(ring) + (position & (place->bytes / 8 - 1))))->counter;
}

static uint64_t behind(uint64_t index, uint64_t rings)
{
    return index + 1 < rings ? index + 1 : 0;
}

/* Looks at `most` rings, from where the look before ended on, and marks those ENDED whose threads have ended. A look
 * at every ring at each claim would cost a program with many threads the square of their number. `until_first`: one
 * is enough. Returns whether it found one. */
static bool find_ended(const struct recording *recording, uint32_t self, uint64_t rings, uint64_t most,
                       bool until_first)
{
    uint64_t i = __atomic_load_n(&recorder.looked_at, __ATOMIC_RELAXED);
    bool found = false;
    for (; most > 0 && !(found && until_first); most--) {
        i = behind(i, rings);
        struct layout_place *place = directory_place(recording, i);
        if (has_state(place, LAYOUT_RING_USED) && thread_ended(directory_ring(recording, place)->tid, self) &&
            change_state(place, LAYOUT_RING_USED, LAYOUT_RING_ENDED)) {
            __atomic_add_fetch(&recorder.ended, 1, __ATOMIC_RELAXED);
            found = true;
        }
    }
    __atomic_store_n(&recorder.looked_at, i, __ATOMIC_RELAXED);
    return found;
}

/* Which rings are wanted: of at least and at most so many bytes. */
struct sizes {
    uint64_t least, most;
};

/* Returns an ENDED ring that is none of the `kept` whose threads recorded last: the oldest of kept + 1 of them, or
 * of all if there are fewer and these may be taken. NULL: there is none. */
static struct layout_place *oldest_ended(const struct recording *recording, uint64_t rings,
                                         struct sizes sizes, bool takes_kept)
{
    struct layout_place *oldest = NULL;
    const uint64_t kept = recorder.settings.kept;
    uint64_t oldest_use = UINT64_MAX, found = 0, i = __atomic_load_n(&recorder.taken, __ATOMIC_RELAXED);
    for (uint64_t looks = 0; looks < rings && found <= kept; looks++) {
        i = behind(i, rings);
        struct layout_place *place = directory_place(recording, i);
        if (!has_state(place, LAYOUT_RING_ENDED) || place->bytes < sizes.least || place->bytes > sizes.most)
            continue;
        found++;
        const uint64_t use = last_use(recording, place);
        if (use < oldest_use) {
            oldest_use = use;
            oldest = place;
        }
    }
    __atomic_store_n(&recorder.taken, i, __ATOMIC_RELAXED);
    return takes_kept || found > kept ? oldest : NULL;
}

/* Claims a ring of an ended thread. NULL: there is none. */
static struct layout_place *claim_ended(const struct recording *recording, uint64_t rings, struct sizes sizes,
                                        bool takes_kept)
{
    /* A signal handler that leaves by longjmp makes `ended` inexact: it is not asked where every ring counts. */
    while (takes_kept ||
           __atomic_load_n(&recorder.ended, __ATOMIC_RELAXED) > (int64_t)recorder.settings.kept) {
        struct layout_place *oldest = oldest_ended(recording, rings, sizes, takes_kept);
        if (oldest == NULL)
            break;
        if (change_state(oldest, LAYOUT_RING_ENDED, LAYOUT_RING_MAKING)) {
            __atomic_sub_fetch(&recorder.ended, 1, __ATOMIC_RELAXED);
            return oldest;
        }
    }
    return NULL;
}

/* Looks at every ring, because all are in use. When that was in vain, the next look comes a hundredth of a second
 * later. Returns whether a thread has ended. */
static bool look_at_all(const struct recording *recording, uint32_t self, uint64_t rings)
{
    const uint64_t now = spoor_counter_(), next = __atomic_load_n(&recorder.look_at_all, __ATOMIC_RELAXED);
    if (next != 0 && (int64_t)(now - next) < 0)
        return false;
    const bool found = find_ended(recording, self, rings, rings, true);
    if (!found)
        __atomic_store_n(&recorder.look_at_all, now + recording->header->counter_hz / 100, __ATOMIC_RELAXED);
    return found;
}

/* Takes the next entry of the directory, whose page it reserves if the entry is the first there. Returns 0, -EAGAIN
 * if the directory is full, or another error. */
static int take_entry(const struct recording *recording, uint64_t *index)
{
    enum { PAGE_PLACES = LAYOUT_PAGE / sizeof(struct layout_place) };
    const struct layout_header *header = recording->header;
    *index = __atomic_load_n(&recording->control->rings, __ATOMIC_RELAXED);
    do {
        const uint64_t offset = header->directory_offset + *index * sizeof(struct layout_place);
        if (*index >= header->ring_limit)
            return -EAGAIN;
        const int error = *index % PAGE_PLACES == 0 ? file_extend(recording, offset, LAYOUT_PAGE) : 0;
        if (error != 0)
            return error;
    } while (!__atomic_compare_exchange_n(&recording->control->rings, index, *index + 1, false,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return 0;
}

/* Makes a place for a ring behind the others, in state MAKING. Space is reserved before the place is taken, so that
 * nothing is lost where there is none. Returns 0, -EAGAIN if rings take all they may, or another error. */
static int claim_new(const struct recording *recording, uint64_t bytes, struct layout_place **place)
{
    struct layout_control *control = recording->control;
    const uint64_t stride = LAYOUT_PAGE + bytes + LAYOUT_PAGE;
    uint64_t end = __atomic_load_n(&control->rings_end, __ATOMIC_RELAXED), index;
    do {
        if (end > recording->mapped || stride > recording->mapped - end ||
            __atomic_load_n(&control->rings, __ATOMIC_RELAXED) >= recording->header->ring_limit)
            return -EAGAIN;
        const int error = file_extend(recording, end, stride);
        if (error != 0)
            return error;
    } while (!__atomic_compare_exchange_n(&control->rings_end, &end, end + stride, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    const int error = take_entry(recording, &index);
    if (error != 0)
        return error;
    *place = directory_place(recording, index);
    (*place)->offset = end;
    (*place)->bytes = (uint32_t)bytes;
    __atomic_store_n(&(*place)->state, LAYOUT_RING_MAKING, __ATOMIC_RELEASE);
    return 0;
}

/* Claims a place for a ring, which is then in state MAKING: that of a thread that ended if enough others are kept,
 * a new one, or any of a thread that ended. *fresh: it never held a ring. Returns 0 or -errno. */
int directory_claim(const struct recording *recording, uint32_t self, uint64_t bytes, bool *fresh,
                    struct layout_place **place)
{
    enum {
        LOOKS = 16
    }; /* more than one for each new ring, so that ended threads are found as fast as they end */
    const struct sizes same = {bytes, bytes}, larger = {bytes, UINT64_MAX};
    const uint64_t limit = recording->header->ring_limit;
    uint64_t rings = __atomic_load_n(&recording->control->rings, __ATOMIC_ACQUIRE);
    if (rings > limit)
        rings = limit;
    *fresh = false;
    find_ended(recording, self, rings, rings < LOOKS ? rings : LOOKS, false);
    if ((*place = claim_ended(recording, rings, same, false)) != NULL)
        return 0;
    const int error = claim_new(recording, bytes, place);
    *fresh = error == 0;
    if (error == 0)
        return 0;
    *place = claim_ended(recording, rings, larger, true);
    if (*place == NULL && look_at_all(recording, self, rings))
        *place = claim_ended(recording, rings, larger, true);
    return *place != NULL ? 0 : error;
}
