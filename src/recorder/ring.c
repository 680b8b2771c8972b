/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings: what the inlined record path does not do itself, which is making a thread's ring and opening the next
 * block.
 *
 * All of this may run in a signal handler that interrupted any other part of it in the same thread. It is right
 * because the position moves by one instruction (spoor_exchange_), which fails if a handler moved it in between;
 * the space that is passed belongs to the code that moved it. Before the move only words are written that never get
 * smaller. */
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

/* The positions of a thread without a ring. They are never written, because its block always looks full. */
static const uint64_t no_positions[2];
#define NO_POSITIONS ((uint64_t *)(uintptr_t)no_positions)

_Thread_local struct spoor_ring_v1 spoor_ring_v1
    __attribute__((tls_model("initial-exec"))) = {NO_POSITIONS, 0};

enum { RING_KEPT = 8 };

static _Thread_local struct {
    struct layout_ring *ring;
    unsigned generation; /* of the recording that the ring is in */
    volatile int making; /* set while the ring is made; a handler that records meanwhile gets none */
    /* Counter until which no ring is asked for again, because there was none; 0: ask. */
    uint64_t refused_until;
    enum layout_lost refused;  /* the reason why there was none */
    uint64_t stays_until;      /* the same for a larger ring */
    uint64_t unfinished;       /* the committed position above which the ring was about to go round */
    uint64_t unfinished_since; /* since when, as a counter */
    /* sequence numbers of blocks that are not used again, see give_up(); 0: a free element */
    uint64_t kept[RING_KEPT];
    bool keeps; /* `kept` may have elements */
    struct layout_clock clock;
} thread __attribute__((tls_model("initial-exec")));

void ring_forget(void)
{
    spoor_ring_v1 = (struct spoor_ring_v1){NO_POSITIONS, 0};
    thread.ring = NULL;
    thread.generation = 0;
    thread.refused_until = 0;
    thread.stays_until = 0;
    thread.making = 0;
    thread.clock.counter = 0;
}

void ring_lost(enum layout_lost reason)
{
    struct layout_control *control = __atomic_load_n(&recorder.recording.control, __ATOMIC_ACQUIRE);
    /* The child of a fork that has no recording of its own yet must not count in its parent's. */
    if (control != NULL && !recorder.forked)
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
    /* `spoor ctl` writes it from another process */
    const volatile struct layout_filter *filter = &control->filter;
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

/* A ring with its mask. `thread.ring` may be another ring after any instruction, because a handler that records
 * makes a larger one, or one in another recording. */
struct window {
    struct layout_ring *ring;
    uint64_t mask;
};

static struct layout_block *block_at(const struct window *own, uint64_t sequence)
{
    return (struct layout_block *)(ring_blocks(own->ring) + (sequence * LAYOUT_BLOCK_WORDS & own->mask));
}

/* The words in the neighbouring pages that say whether a block is whole: see struct layout_block. */
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

static void commit(struct layout_ring *ring)
{
    uint64_t now;
    do {
        now = __atomic_load_n(&ring->reserved, __ATOMIC_RELAXED);
        __atomic_store_n(&ring->committed, now, __ATOMIC_RELEASE);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&ring->reserved, __ATOMIC_RELAXED) != now);
}

/* Raises a word to a value. Handlers may have raised it higher since the caller read it. */
static void raise_to(uint64_t *word, uint64_t value)
{
    uint64_t now;
    do
        now = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (now < value && !spoor_exchange_(word, now, value));
}

/* ---- leaving a ring for a larger one ---- */

/* Fills the block, so that nothing more is reserved in the ring: not by code either that had found the ring, and had
 * reserved nothing, when a signal handler interrupted it and left the ring. Such code may come back to the ring at
 * any time; so it is given to no other thread before this one has ended. */
static void leave_ring(const struct window *own)
{
    struct layout_ring *ring = own->ring;
    uint64_t before, position, end;
    do {
        before = __atomic_load_n(&ring->reserved, __ATOMIC_RELAXED);
        position = layout_position(before, ring->position_base);
        end = block_begin(position + LAYOUT_BLOCK_WORDS - 1);
    } while (!spoor_exchange_(&ring->reserved, before, mix(end, layout_number(before, ring->number_base))));
    if (position < end)
        __atomic_store_n(&ring_blocks(ring)[position & own->mask],
                         layout_record_start(position, LAYOUT_ID_PADDING, (uint32_t)(end - position) * 8),
                         __ATOMIC_RELEASE);
    /* Above an unfinished record, that one commits this, too. */
    if (__atomic_load_n(&ring->committed, __ATOMIC_RELAXED) != before)
        return;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    raise_to(closed_word(own, end / LAYOUT_BLOCK_WORDS - 1), end / LAYOUT_BLOCK_WORDS - 1);
    commit(ring);
}

/* Lets the record path use a ring, and no other one any more. A handler that interrupts this does the same, after
 * which it is done once more. */
static void use_ring(struct layout_ring *ring)
{
    uint64_t *positions = spoor_ring_v1.positions;
    if (positions != NO_POSITIONS && positions != &ring->reserved)
        leave_ring(&(struct window){(struct layout_ring *)positions, spoor_ring_v1.mask});
    spoor_ring_v1.positions = NO_POSITIONS;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    spoor_ring_v1.mask = ring->bytes / 8 - 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    spoor_ring_v1.positions = &ring->reserved;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* ---- making ---- */

static void set_name(struct layout_ring *ring, const char *name)
{
    char text[16] = "";
    if (name != NULL)
        strncpy(text, name, sizeof text - 1);
    else
        prctl(PR_GET_NAME, text);
    memcpy(ring->thread, text, sizeof text);
}

/* Begins the ring for the calling thread. */
static void begin_ring(struct layout_ring *ring, const struct layout_place *place, uint64_t index,
                       uint32_t self, bool fresh)
{
    /* A block belongs to one thread, so that a new thread begins a new one. */
    uint64_t position = LAYOUT_BLOCK_WORDS, number = 0;
    if (!fresh) {
        position = layout_position(ring->reserved, ring->position_base);
        number = layout_number(ring->reserved, ring->number_base);
        position = block_begin(position + LAYOUT_BLOCK_WORDS - 1);
    }
    ring->index = (uint32_t)index;
    ring->bytes = place->bytes;
    ring->begin = position;
    ring->tid = self;
    ring->tenants++;
    ring->made = spoor_counter_();
    ring->position_base = position;
    ring->number_base = number;
    const uint64_t mixed = mix(position, number);
    __atomic_store_n(&ring->reserved, mixed, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->committed, mixed, __ATOMIC_RELEASE);
}

/* Makes a ring of this size, or a larger one if only that is left, and makes it the thread's. `thread.ring` changes
 * first: from then on a signal handler that finds no room in the ring before goes on in the new one. In a thread
 * that has no ring yet handlers find, until thread.generation is set, that the ring is still being made. */
static int make_ring(const char *name, uint64_t bytes, bool populate)
{
    struct recording *recording = &recorder.recording;
    const unsigned generation = __atomic_load_n(&recorder.generation, __ATOMIC_ACQUIRE);
    const uint32_t self = (uint32_t)syscall(SYS_gettid);
    const bool grows = thread.ring != NULL && thread.generation == generation;
    bool fresh = false;
    struct layout_place *place;
    /* The rings that this thread left are not those of an earlier thread with its id. */
    const int error = directory_claim(recording, grows ? 0 : self, bytes, &fresh, &place);
    if (error != 0)
        return error;
    struct layout_ring *ring = directory_ring(recording, place);
#ifdef MADV_POPULATE_WRITE
    if (populate)
        madvise(ring, LAYOUT_PAGE + place->bytes + LAYOUT_PAGE,
                MADV_POPULATE_WRITE); /* This only saves page faults later; an old kernel refuses it. */
#else
    (void)populate;
#endif
    begin_ring(ring, place, (uint64_t)(place - directory_place(recording, 0)), self, fresh);
    ring->after = grows ? thread.ring->index + 1 : 0;
    if (grows)
        memcpy(ring->thread, thread.ring->thread, sizeof ring->thread);
    else
        set_name(ring, name);
    __atomic_store_n(&place->state, LAYOUT_RING_USED, __ATOMIC_RELEASE);

    if (!grows)
        spoor_ring_v1.positions = NO_POSITIONS;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread.ring = ring;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!grows)
        thread.clock.counter = 0;
    thread.unfinished = 0;
    thread.keeps = false;
    memset(thread.kept, 0, sizeof thread.kept);
    use_ring(ring);
    thread.generation = generation;
    return 0;
}

int ring_make(const char *name, bool whole)
{
    const uint64_t most = recorder.recording.header->ring_bytes;
    const uint64_t first = most < LAYOUT_RING_FIRST ? most : LAYOUT_RING_FIRST;
    uint64_t bytes = whole ? most : first;
    int error = make_ring(name, bytes, whole);
    for (; error != 0 && bytes > first; error = make_ring(name, bytes, whole))
        bytes = bytes / LAYOUT_RING_GROWS > first ? bytes / LAYOUT_RING_GROWS : first;
    return error;
}

static bool has_ring(void)
{
    return thread.ring != NULL &&
           thread.generation == __atomic_load_n(&recorder.generation, __ATOMIC_ACQUIRE);
}

/* Marks that the ring is being made: from here on, handlers do not make it themselves. False: a handler has made it
 * just before. */
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
    /* when a ring is asked for again: in a second */
    const uint64_t later = now + recorder.recording.header->counter_hz;
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

/* Goes on in a larger ring, if there is one, when the thread comes round to what it wrote in this one itself. False:
 * it stays. */
static bool grow(const struct window *own, uint64_t before)
{
    const struct layout_ring *ring = own->ring;
    const struct layout_header *header = recorder.recording.header;
    if (ring->bytes >= header->ring_bytes || __atomic_load_n(&ring->reserved, __ATOMIC_RELAXED) != before)
        return false; /* a handler has recorded: the caller looks again */
    const uint64_t position = layout_position(before, ring->position_base), now = spoor_counter_();
    uint64_t bytes = ring->bytes * LAYOUT_RING_GROWS;
    if (bytes > header->ring_bytes)
        bytes = header->ring_bytes;
    if (thread.making || block_begin(position + LAYOUT_BLOCK_WORDS - 1) - ring->begin <= own->mask ||
        (thread.stays_until != 0 && (int64_t)(thread.stays_until - now) > 0))
        return false;
    thread.making = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    /* A handler may have done it just before. */
    const int error = thread.ring == ring && has_ring() ? make_ring(NULL, bytes, false) : 0;
    thread.stays_until = error != 0 ? now + header->counter_hz : 0;
    thread.making = 0;
    return error == 0;
}

/* Gives the calling thread a ring at its first record, also in the child of a fork. False: there is none, and the
 * record is counted as lost. */
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

/* Whether the ring would go round above a record that is not finished: a handler interrupted it, and it would be
 * finished in a block that is in use again. */
static bool is_above_unfinished(const struct window *own, uint64_t next, uint64_t committed)
{
    return next - block_begin(layout_position(committed, next)) > own->mask;
}

/* Whether a record is to be given up: it is not finished a tenth of a second after the ring came round to it,
 * because the handler left by longjmp or the thread stood still. */
static bool is_late(uint64_t committed, uint64_t now)
{
    if (thread.unfinished != committed) {
        /* Set before `unfinished`, because a handler may come between the two and compare. */
        thread.unfinished_since = now;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        thread.unfinished = committed;
    }
    return (int64_t)(now - thread.unfinished_since) > (int64_t)(recorder.recording.header->counter_hz / 10);
}

/* Returns the position where the finished records of a block end: at a word without its mark, at the end of the
 * block, or at `end`. Adds their number to *number. */
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

/* Whether every record of this block is finished. */
static bool is_finished(const struct window *own, uint64_t sequence)
{
    uint64_t number = 0;
    return __atomic_load_n(&block_at(own, sequence)->sequence, __ATOMIC_ACQUIRE) == sequence &&
           finished_until(own, sequence, UINT64_MAX, &number) == (sequence + 1) * LAYOUT_BLOCK_WORDS;
}

/* Returns the sequence number of the block that is kept in this block's slot, 0 if there is none. A kept block
 * whose records have been finished meanwhile is released. */
static uint64_t kept_instead(const struct window *own, uint64_t sequence)
{
    uint64_t kept = 0;
    for (unsigned i = 0; i < RING_KEPT; i++) {
        const uint64_t other = __atomic_load_n(&thread.kept[i], __ATOMIC_RELAXED);
        if (other == 0 || block_at(own, other) != block_at(own, sequence))
            continue;
        if (is_finished(own, other))
            /* an exchange, because a handler may have put another one there */
            spoor_exchange_(&thread.kept[i], other, 0);
        else
            kept = other;
    }
    return kept;
}

/* Keeps a block from being used again. False: too many are kept already. */
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

/* Returns the position of the first block from `next` on that may be used; 0: there is none. */
static uint64_t usable_block(const struct window *own, uint64_t next)
{
    if (__builtin_expect(!thread.keeps, 1))
        return next;
    for (uint64_t tried = 0; tried <= own->mask; tried += LAYOUT_BLOCK_WORDS)
        if (kept_instead(own, (next + tried) / LAYOUT_BLOCK_WORDS) == 0)
            return next + tried;
    return 0;
}

/* Prepares the ring to go round above unfinished records. In case they are finished one day, their blocks are kept
 * and not used again before that. Sets *next to the next block, and *committed to what is committed then:
 * everything before the first unfinished record in a block that stays. False: this is not possible. */
static __attribute__((noinline)) bool give_up(const struct window *own, uint64_t before, uint64_t *committed,
                                              uint64_t *next)
{
    const uint64_t end = layout_position(before, own->ring->position_base);
    uint64_t sequence = layout_position(*committed, end) / LAYOUT_BLOCK_WORDS, now = *committed;
    for (; sequence * LAYOUT_BLOCK_WORDS < end; sequence++) {
        const struct layout_block *block = block_at(own, sequence);
        const bool is_behind = *next - sequence * LAYOUT_BLOCK_WORDS > own->mask;
        const uint64_t kept = kept_instead(own, sequence);
        if (kept != 0 && kept != sequence) /* that block was never opened */
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
    block->after = (uint16_t)ring->after;
    memset(block->reserved, 0, sizeof block->reserved);
    __atomic_store_n(&block->sequence, sequence, __ATOMIC_RELEASE);
}

/* Opens the next block. `before` is what `reserved` was when the caller found no room. False: the record is lost,
 * and counted. True: the caller looks again, also when a handler has changed the ring and nothing was done. */
static bool open_block(const struct window *own, uint64_t before)
{
    struct layout_ring *ring = own->ring;
    uint64_t *words = ring_blocks(own->ring);
    const uint64_t committed = __atomic_load_n(&ring->committed, __ATOMIC_RELAXED);
    const uint64_t position = layout_position(before, ring->position_base);
    const uint64_t number = layout_number(before, ring->number_base);
    const uint64_t end = block_begin(position + LAYOUT_BLOCK_WORDS - 1); /* where the block before ends */
    /* If a handler records after this, the exchange below fails, so that time does not go back. */
    const uint64_t now = spoor_counter_();
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
        /* up to and with the new block, since which blocks are kept may change as well */
        raise_to(opened_word(own, passed), passed);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (!spoor_exchange_(&ring->reserved, before, mix(first, number)))
        return true;                       /* a handler has recorded: the caller looks again */
    raise_to(&ring->position_base, first); /* handlers may have gone far beyond */
    raise_to(&ring->number_base, number);

    if (position < end) /* fill the rest of the block before with padding */
        __atomic_store_n(&words[position & own->mask],
                         layout_record_start(position, LAYOUT_ID_PADDING, (uint32_t)(end - position) * 8),
                         __ATOMIC_RELEASE);
    if (committed == before) {
        __atomic_thread_fence(__ATOMIC_RELEASE);
        raise_to(closed_word(own, end / LAYOUT_BLOCK_WORDS - 1), end / LAYOUT_BLOCK_WORDS - 1);
    }
    write_header(ring, block_at(own, sequence), sequence, number, now);

    if (commits != committed)
        spoor_exchange_(&ring->committed, committed, commits); /* fails if a handler gave up more */
    /* Opening a block is committed like a record. Code that gives up records counts the padding as finished, but
     * not the header. */
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
        /* If a handler changes the ring in between, the position of this one is no longer `before`. */
        struct layout_ring *ring = thread.ring;
        const struct window own = {ring, ring->bytes / 8 - 1};
        if (spoor_ring_v1.positions != &ring->reserved)
            use_ring(ring); /* the thread was interrupted when it changed to this ring */
        else if (!grow(&own, before))
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
                          error == -EAGAIN
                              ? "all memory for rings is in use (that of %u threads): raise `threads`"
                              : "cannot reserve space for one more ring (%u threads)",
                          recorder.settings.threads);
    }
    recorder_unlock();
    return error;
}
