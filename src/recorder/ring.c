/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings: what the inlined record path does not do itself. Making a thread's ring, and going on to the next
 * block.
 *
 * All of this may run in a signal handler that interrupted any other part of it in the same thread. It is
 * right because the position moves by one instruction (spoor_exchange_), which fails if a handler moved it in
 * between; what is then written belongs to the one who moved it. The only step before the move is a word that
 * is only ever raised.
 */
#include "recorder/state.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static_assert(SPOOR_BLOCK_WORDS_ == LAYOUT_BLOCK_WORDS && SPOOR_BLOCK_WORDS_ * 8 == LAYOUT_PAGE,
              "trace.h and layout.h differ");
static_assert(SPOOR_BLOCK_HEADER_ * 8 == LAYOUT_BLOCK_HEADER_BYTES, "trace.h and layout.h differ");
static_assert(SPOOR_BLOCK_ROOM_ * 8 == sizeof(((struct layout_block *)0)->words),
              "trace.h and layout.h differ");
static_assert(SPOOR_RECORD_WORDS_ * 8 == LAYOUT_RECORD_BYTES, "trace.h and layout.h differ");
static_assert(SPOOR_NUMBER_SHIFT_ == LAYOUT_POSITION_BITS, "trace.h and layout.h differ");
static_assert((int)SPOOR_ENABLE_FILTERED_ == (int)LAYOUT_ENABLE_FILTERED, "trace.h and layout.h differ");
static_assert((int)SPOOR_KIND_UNSIGNED_ == (int)LAYOUT_KIND_UNSIGNED &&
                  (int)SPOOR_KIND_BOOL_ == (int)LAYOUT_KIND_BOOL,
              "trace.h and layout.h differ");
static_assert((int)SPOOR_BEGINS == (int)LAYOUT_LIFE_BEGINS && (int)SPOOR_ENDS == (int)LAYOUT_LIFE_ENDS,
              "trace.h and layout.h differ");

/* A thread without a ring. Never written: its block is always full. */
static const uint64_t no_positions[2];
#define NO_POSITIONS ((uint64_t *)(uintptr_t)no_positions)

_Thread_local struct spoor_ring_v1 spoor_ring_v1
    __attribute__((tls_model("initial-exec"))) = {NO_POSITIONS, 0};

enum { RING_KEPT = 8 };

static _Thread_local struct {
    struct layout_ring *ring;
    unsigned generation;       /* of the recording that the ring is in */
    volatile int making;       /* a handler that records meanwhile can have no ring */
    uint64_t refused_until;    /* counter: no ring was to be had; do not ask again before */
    enum layout_lost refused;  /* why */
    uint64_t unfinished;       /* what was committed when the ring had gone round above it */
    uint64_t unfinished_since; /* counter */
    uint64_t kept[RING_KEPT];  /* sequences of blocks that are not used again, see give_up; 0: free */
    bool keeps;                /* there may be any */
    struct layout_clock clock;
} thread __attribute__((tls_model("initial-exec")));

void ring_forget(void)
{
    spoor_ring_v1 = (struct spoor_ring_v1){NO_POSITIONS, 0};
    thread.ring = NULL;
    thread.generation = 0;
    thread.refused_until = 0;
    thread.making = 0;
    thread.clock.counter = 0;
}

void ring_lost(enum layout_lost reason)
{
    struct layout_control *control = __atomic_load_n(&recorder.recording.control, __ATOMIC_ACQUIRE);
    if (control != NULL &&
        !recorder.forked) /* a child without a recording of its own must not count in its parent's */
        __atomic_fetch_add(&control->lost[reason], 1, __ATOMIC_RELAXED);
}

uint64_t spoor_trace_lost(void)
{
    struct layout_control *control = __atomic_load_n(&recorder.recording.control, __ATOMIC_ACQUIRE);
    uint64_t lost = 0;
    for (int reason = 0; control != NULL && reason < LAYOUT_LOST_COUNT; reason++)
        lost += __atomic_load_n(&control->lost[reason], __ATOMIC_RELAXED);
    return lost;
}

int spoor_filter_passes_v1(uint32_t owner, uint64_t object)
{
    const struct layout_control *control = __atomic_load_n(&recorder.recording.control, __ATOMIC_ACQUIRE);
    if (control == NULL)
        return 1;
    const volatile struct layout_filter *filter = &control->filter; /* written from outside */
    const uint32_t owners = filter->owner_count, objects = filter->object_count;
    bool pass = owners == 0;
    for (uint32_t i = 0; i < owners && i < LAYOUT_FILTER_IDS && !pass; i++)
        pass = filter->owners[i] == owner;
    if (!pass)
        return 0;
    pass = objects == 0;
    for (uint32_t i = 0; i < objects && i < LAYOUT_FILTER_IDS && !pass; i++)
        pass = filter->objects[i] == object;
    return pass;
}

/* ---- positions ---- */

static uint64_t mix(uint64_t position, uint64_t number)
{
    return (position & (((uint64_t)1 << LAYOUT_POSITION_BITS) - 1)) | number << LAYOUT_POSITION_BITS;
}

static uint64_t block_begin(uint64_t position)
{
    return position & ~(uint64_t)(LAYOUT_BLOCK_WORDS - 1);
}

/* ---- making ---- */

static struct layout_ring *ring_at(const struct recording *recording, uint64_t index)
{
    const struct layout_header *header = recording->header;
    return (struct layout_ring *)(recording->memory + header->rings_offset + index * header->ring_stride);
}

static uint64_t *ring_blocks(struct layout_ring *ring)
{
    return (uint64_t *)((uint8_t *)ring + LAYOUT_PAGE);
}

/* Nobody tells us that a thread has ended; a system call per ring finds out, when a new ring is needed. */
static bool thread_ended(uint32_t tid, uint32_t self)
{
    return tid == self || (syscall(SYS_tgkill, getpid(), (int)tid, 0) != 0 && errno == ESRCH);
}

static bool change_state(uint8_t *state, uint8_t from, uint8_t to)
{
    return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* When its newest block was opened. */
static uint64_t last_use(const struct recording *recording, struct layout_ring *ring)
{
    const uint64_t mask = recording->header->ring_bytes / 8 - 1;
    const uint64_t position = block_begin(ring->position_base);
    return ((struct layout_block *)(ring_blocks(ring) + (position & mask)))->counter;
}

/* Index of a slot that is ours now, in state MAKING; -1: none. */
static int64_t claim_slot(struct recording *recording, uint32_t self, bool *fresh)
{
    uint8_t *states = recording->control->ring_states;
    const uint64_t limit = recording->header->ring_limit;
    for (;;) {
        int64_t unused = -1, oldest = -1;
        uint64_t oldest_use = UINT64_MAX;
        unsigned ended = 0;
        for (uint64_t i = 0; i < limit; i++) {
            uint8_t state = __atomic_load_n(&states[i], __ATOMIC_ACQUIRE);
            if (state == LAYOUT_RING_UNUSED) {
                unused = (int64_t)i; /* they are taken in order: no used ones behind it, save for a race */
                break;
            }
            if (state == LAYOUT_RING_USED && thread_ended(ring_at(recording, i)->tid, self) &&
                change_state(&states[i], LAYOUT_RING_USED, LAYOUT_RING_ENDED))
                state = LAYOUT_RING_ENDED;
            if (state == LAYOUT_RING_ENDED) {
                const uint64_t use = last_use(recording, ring_at(recording, i));
                ended++;
                if (use < oldest_use) {
                    oldest_use = use;
                    oldest = (int64_t)i;
                }
            }
        }
        if (oldest >= 0 && (ended > recorder.settings.kept || unused < 0)) {
            *fresh = false;
            if (change_state(&states[oldest], LAYOUT_RING_ENDED, LAYOUT_RING_MAKING))
                return oldest;
        } else if (unused >= 0) {
            *fresh = true;
            if (change_state(&states[unused], LAYOUT_RING_UNUSED, LAYOUT_RING_MAKING))
                return unused;
        } else {
            return -1;
        }
    }
}

static void set_name(struct layout_ring *ring, const char *name)
{
    char text[16] = "";
    if (name != NULL)
        strncpy(text, name, sizeof text - 1);
    else
        prctl(PR_GET_NAME, text);
    memcpy(ring->thread, text, sizeof text);
}

int ring_make(const char *name, bool populate)
{
    struct recording *recording = &recorder.recording;
    const struct layout_header *header = recording->header;
    const unsigned generation = __atomic_load_n(&recorder.generation, __ATOMIC_ACQUIRE);
    const uint32_t self = (uint32_t)syscall(SYS_gettid);
    bool fresh = false;
    const int64_t index = claim_slot(recording, self, &fresh);
    if (index < 0)
        return -EAGAIN;
    uint8_t *state = &recording->control->ring_states[index];
    if (fresh) {
        const int error = file_extend(recording, header->rings_offset + (uint64_t)index * header->ring_stride,
                                      header->ring_stride);
        if (error != 0) {
            __atomic_store_n(state, LAYOUT_RING_UNUSED, __ATOMIC_RELEASE);
            return error;
        }
    }
    struct layout_ring *ring = ring_at(recording, (uint64_t)index);
#ifdef MADV_POPULATE_WRITE
    if (populate)
        madvise(ring, header->ring_stride,
                MADV_POPULATE_WRITE); /* only to save page faults: an old kernel refuses it */
#else
    (void)populate;
#endif

    /* A new thread begins a new block: a block is of one thread. */
    uint64_t position = LAYOUT_BLOCK_WORDS, number = 0;
    if (!fresh) {
        position = layout_position(ring->reserved, ring->position_base);
        number = layout_number(ring->reserved, ring->number_base);
        position = block_begin(position + LAYOUT_BLOCK_WORDS - 1);
    }
    ring->index = (uint32_t)index;
    ring->tid = self;
    ring->tenants++;
    ring->made = spoor_counter_();
    set_name(ring, name);
    ring->position_base = position;
    ring->number_base = number;
    const uint64_t mixed = mix(position, number);
    __atomic_store_n(&ring->reserved, mixed, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->committed, mixed, __ATOMIC_RELEASE);
    __atomic_store_n(state, LAYOUT_RING_USED, __ATOMIC_RELEASE);

    /* Until the generation is right, a handler that records finds that the ring is being made. */
    spoor_ring_v1.positions = NO_POSITIONS;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread.ring = ring;
    thread.clock.counter = 0;
    thread.unfinished = 0;
    thread.keeps = false;
    memset(thread.kept, 0, sizeof thread.kept);
    spoor_ring_v1.mask = header->ring_bytes / 8 - 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    spoor_ring_v1.positions = &ring->reserved;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread.generation = generation;
    return 0;
}

static bool has_ring(void)
{
    return thread.ring != NULL &&
           thread.generation == __atomic_load_n(&recorder.generation, __ATOMIC_ACQUIRE);
}

/* From here on handlers leave the making to us. False: one has made the ring just before. */
static bool begin_making(void)
{
    thread.making = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!has_ring())
        return true;
    thread.making = 0;
    return false;
}

static bool refuse(enum layout_lost reason, uint64_t until)
{
    thread.refused = reason;
    thread.refused_until = until;
    ring_lost(reason);
    return false;
}

static bool try_ring(uint64_t now)
{
    const uint64_t later = now + recorder.recording.header->counter_hz; /* ask again in a second */
    if (__atomic_load_n(&recorder.forked, __ATOMIC_ACQUIRE)) {
        if (!recorder_try_lock())
            return refuse(LAYOUT_LOST_MAKING, 0);
        const int error = recorder.forked ? inherit_open() : 0;
        recorder_unlock();
        if (error != 0)
            return refuse(LAYOUT_LOST_SPACE, later);
    }
    if (__atomic_load_n(&recorder.generation, __ATOMIC_ACQUIRE) == 0) {
        ring_forget(); /* closed meanwhile */
        return false;
    }
    const int error = ring_make(NULL, false);
    if (error != 0)
        return refuse(error == -EAGAIN ? LAYOUT_LOST_LIMIT : LAYOUT_LOST_SPACE, later);
    thread.refused_until = 0;
    return true;
}

/* The first record of a thread, or of a child. */
static bool get_ring(void)
{
    const uint64_t now = spoor_counter_();
    if (thread.making) {
        ring_lost(LAYOUT_LOST_MAKING);
        return false;
    }
    if (thread.refused_until != 0 && (int64_t)(thread.refused_until - now) > 0) {
        ring_lost(thread.refused);
        return false;
    }
    if (!begin_making())
        return true;
    const bool made = try_ring(now);
    thread.making = 0;
    return made;
}

/* ---- blocks ---- */

static void commit(struct layout_ring *ring)
{
    uint64_t now;
    do {
        now = __atomic_load_n(&ring->reserved, __ATOMIC_RELAXED);
        __atomic_store_n(&ring->committed, now, __ATOMIC_RELEASE);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&ring->reserved, __ATOMIC_RELAXED) != now);
}

/* Handlers may have raised it further since the caller looked. */
static void raise_to(uint64_t *word, uint64_t value)
{
    uint64_t now;
    do
        now = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (now < value && !spoor_exchange_(word, now, value));
}

/* A ring with its mask. That of the thread may be of another one at any instruction: a handler that records in
 * another recording makes a ring there. */
struct window {
    struct layout_ring *ring;
    uint64_t mask;
};

static struct layout_block *block_at(const struct window *own, uint64_t sequence)
{
    return (struct layout_block *)(ring_blocks(own->ring) + (sequence * LAYOUT_BLOCK_WORDS & own->mask));
}

/* What the pages around a block tell about it: see struct layout_block. */
static uint64_t *opened_word(const struct window *own, uint64_t sequence)
{
    struct layout_block *behind = block_at(own, sequence) + 1;
    const bool is_last = (uint64_t *)behind == ring_blocks(own->ring) + own->mask + 1;
    return is_last ? &((struct layout_tail *)behind)->opened_before : &behind->opened_before;
}

static uint64_t *closed_word(const struct window *own, uint64_t sequence)
{
    struct layout_block *block = block_at(own, sequence);
    const bool is_first = (uint64_t *)block == ring_blocks(own->ring);
    return is_first ? &own->ring->closed_behind : &(block - 1)->closed_behind;
}

/* Would the ring go round above a record that is not finished? A handler interrupted it, and it would be
 * finished in a block of ours. */
static bool is_above_unfinished(const struct window *own, uint64_t next, uint64_t committed)
{
    return next - block_begin(layout_position(committed, next)) > own->mask;
}

/* Should a record be given up? It is not finished a tenth of a second after the ring came round to it: the
 * handler left by longjmp, or the thread stood still. */
static bool is_late(uint64_t committed, uint64_t now)
{
    if (thread.unfinished != committed) {
        thread.unfinished_since = now; /* before `unfinished`: a handler may come between and compare */
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        thread.unfinished = committed;
    }
    return (int64_t)(now - thread.unfinished_since) > (int64_t)(recorder.recording.header->counter_hz / 10);
}

/* Where the records end that are finished: at a word without its mark, at the end of the block, or at `end`.
 * Counts them. */
static uint64_t finished_until(const struct window *own, uint64_t sequence, uint64_t end, uint64_t *number)
{
    const uint64_t *words = ring_blocks(own->ring), mask = own->mask;
    const uint64_t behind = (sequence + 1) * LAYOUT_BLOCK_WORDS;
    uint64_t position = sequence * LAYOUT_BLOCK_WORDS + SPOOR_BLOCK_HEADER_;
    if (end > behind)
        end = behind;
    while (position < end) {
        const uint64_t start = __atomic_load_n(&words[position & mask], __ATOMIC_ACQUIRE);
        const uint64_t length = layout_record_bytes(start) / 8;
        if (layout_record_mark(start) != (uint32_t)position || length == 0 || length > end - position)
            break;
        *number += layout_record_id(start) != LAYOUT_ID_PADDING;
        position += length;
    }
    return position;
}

/* Is nothing of this block unfinished? */
static bool is_finished(const struct window *own, uint64_t sequence)
{
    uint64_t number = 0;
    return __atomic_load_n(&block_at(own, sequence)->sequence, __ATOMIC_ACQUIRE) == sequence &&
           finished_until(own, sequence, UINT64_MAX, &number) == (sequence + 1) * LAYOUT_BLOCK_WORDS;
}

/* The block that is kept in this block's slot, 0: none. One that was finished after all is kept no longer. */
static uint64_t kept_instead(const struct window *own, uint64_t sequence)
{
    uint64_t kept = 0;
    for (unsigned i = 0; i < RING_KEPT; i++) {
        const uint64_t other = __atomic_load_n(&thread.kept[i], __ATOMIC_RELAXED);
        if (other == 0 || block_at(own, other) != block_at(own, sequence))
            continue;
        if (is_finished(own, other))
            spoor_exchange_(&thread.kept[i], other, 0); /* a handler may have put another there */
        else
            kept = other;
    }
    return kept;
}

/* False: too many are kept already. */
static bool keep(uint64_t sequence)
{
    thread.keeps = true;
    for (unsigned i = 0; i < RING_KEPT; i++) {
        const uint64_t other = __atomic_load_n(&thread.kept[i], __ATOMIC_RELAXED);
        if (other == sequence || (other == 0 && spoor_exchange_(&thread.kept[i], 0, sequence)))
            return true;
    }
    return false;
}

/* The first block from this position on that may be used. 0: there is none. */
static uint64_t usable_block(const struct window *own, uint64_t next)
{
    if (__builtin_expect(!thread.keeps, 1))
        return next;
    for (uint64_t tried = 0; tried <= own->mask; tried += LAYOUT_BLOCK_WORDS)
        if (kept_instead(own, (next + tried) / LAYOUT_BLOCK_WORDS) == 0)
            return next + tried;
    return 0;
}

/* The ring goes round above unfinished records nevertheless. Should they be finished one day, it must be in
 * blocks of their own: these are kept, never to be used again before that. Sets the next block, and what is
 * committed then: up to the first record that is unfinished in a block that stays. False: not possible. */
static __attribute__((noinline)) bool give_up(const struct window *own, uint64_t before, uint64_t *committed,
                                              uint64_t *next)
{
    const uint64_t end = layout_position(before, own->ring->position_base);
    uint64_t sequence = layout_position(*committed, end) / LAYOUT_BLOCK_WORDS, now = *committed;
    for (; sequence * LAYOUT_BLOCK_WORDS < end; sequence++) {
        const struct layout_block *block = block_at(own, sequence);
        const bool is_behind = *next - sequence * LAYOUT_BLOCK_WORDS > own->mask;
        const uint64_t kept = kept_instead(own, sequence);
        if (kept != 0 && kept != sequence) /* it was never opened */
            continue;
        if (__atomic_load_n(&block->sequence, __ATOMIC_ACQUIRE) == sequence) {
            uint64_t number = block->number;
            const uint64_t until = finished_until(own, sequence, end, &number);
            now = mix(until, number);
            if (until == end || until == (sequence + 1) * LAYOUT_BLOCK_WORDS)
                continue;
        }
        if (!is_behind)
            break;
        if (!keep(sequence) || (*next = usable_block(own, *next)) == 0)
            return false;
    }
    *committed = sequence * LAYOUT_BLOCK_WORDS < end ? now : before;
    return true;
}

static void write_header(const struct layout_ring *ring, struct layout_block *block, uint64_t sequence,
                         uint64_t number, uint64_t now)
{
    const uint64_t rate = recorder.recording.header->counter_hz;
    if (thread.clock.counter == 0 || now - thread.clock.counter > rate / 100) {
        const struct layout_clock clock = clock_read();
        thread.clock = clock;
        clock_publish(&recorder.recording, &clock);
    }
    block->number = number;
    block->counter = now;
    block->clock = thread.clock;
    block->ring = ring->index;
    block->tid = ring->tid;
    memcpy(block->thread, ring->thread, sizeof block->thread);
    block->first = LAYOUT_BLOCK_HEADER_BYTES;
    memset(block->reserved, 0, sizeof block->reserved);
    __atomic_store_n(&block->sequence, sequence, __ATOMIC_RELEASE);
}

/* False: the record is lost. True: look again, also when nothing could be done. */
static bool open_block(const struct window *own, uint64_t before)
{
    struct layout_ring *ring = own->ring;
    uint64_t *words = ring_blocks(own->ring);
    const uint64_t committed = __atomic_load_n(&ring->committed, __ATOMIC_RELAXED);
    const uint64_t position = layout_position(before, ring->position_base);
    const uint64_t number = layout_number(before, ring->number_base);
    const uint64_t end = block_begin(position + LAYOUT_BLOCK_WORDS - 1); /* of the block before */
    const uint64_t now = spoor_counter_(); /* if a handler records after this, the exchange fails */
    uint64_t next = usable_block(own, end), commits = committed;

    /* A handler recorded since the caller found no room: `committed` does not belong to `before`, and there may
     * be room now. */
    if (__atomic_load_n(&ring->reserved, __ATOMIC_RELAXED) != before)
        return true;
    if (next == 0 || (committed != before && is_above_unfinished(own, next, committed) &&
                      (!is_late(committed, now) || !give_up(own, before, &commits, &next)))) {
        ring_lost(LAYOUT_LOST_NESTED);
        return false;
    }
    const uint64_t sequence = next / LAYOUT_BLOCK_WORDS, first = next + SPOOR_BLOCK_HEADER_;
    for (uint64_t passed = end / LAYOUT_BLOCK_WORDS; passed <= sequence; passed++)
        raise_to(opened_word(own, passed), passed); /* what is kept may change as well */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (!spoor_exchange_(&ring->reserved, before, mix(first, number)))
        return true;                       /* a handler recorded: the caller looks again */
    raise_to(&ring->position_base, first); /* handlers may have gone far beyond */
    raise_to(&ring->number_base, number);

    if (position < end) /* fill up the block before */
        __atomic_store_n(&words[position & own->mask],
                         layout_record_start(position, LAYOUT_ID_PADDING, (uint32_t)(end - position) * 8),
                         __ATOMIC_RELEASE);
    if (committed == before) {
        __atomic_thread_fence(__ATOMIC_RELEASE);
        raise_to(closed_word(own, end / LAYOUT_BLOCK_WORDS - 1), end / LAYOUT_BLOCK_WORDS - 1);
    }
    write_header(ring, block_at(own, sequence), sequence, number, now);

    if (commits != committed)
        spoor_exchange_(&ring->committed, committed, commits); /* or a handler gave up more */
    /* Opening a block is committed like a record. Who gives up takes the padding for finished, not the header. */
    const uint64_t unfinished = __atomic_load_n(&ring->committed, __ATOMIC_RELAXED);
    if (unfinished == before || unfinished == mix(end, number))
        commit(ring);
    return true;
}

int spoor_open_block_v2(uint64_t before)
{
    const int error = errno;
    int go_on = 1;
    if (has_ring()) {
        struct window own = {.ring = thread.ring};
        __atomic_signal_fence(
            __ATOMIC_SEQ_CST); /* if it has another ring now, this one is no longer `before` */
        own.mask = spoor_ring_v1.mask;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        go_on = open_block(&own, before);
    } else {
        go_on = get_ring();
    }
    errno = error;
    return go_on;
}

int spoor_trace_thread(const char *name)
{
    recorder_lock();
    int error = 0;
    if (recorder_own() == NULL) {
        error = recorder_fail(-ENOENT, "no recording is open: call spoor_trace_open first");
    } else if (!begin_making()) {
        set_name(thread.ring, name);
    } else {
        error = ring_make(name, true);
        thread.making = 0;
        if (error != 0)
            recorder_fail(error,
                          error == -EAGAIN ? "all %u rings are in use: raise `threads`"
                                           : "cannot reserve space for one more ring (of %u)",
                          recorder.settings.threads);
    }
    recorder_unlock();
    return error;
}
