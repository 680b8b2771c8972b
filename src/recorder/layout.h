/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of a recording: what libspoor writes and every reader reads, live, after a crash, or in a copy.
 *
 * Not here: how records are written (spoor/trace.h, ring.c) and how they are shown (src/reader).
 * The invariant: a reader needs nothing from the writer but this memory, in whatever state it finds it.
 * Everything that is written while others may read is one aligned word, or is guarded by a word that is
 * written in a known order.
 *
 * All integers are in the writer's byte order (`byte_order` says which). Everything is aligned to 8 bytes.
 * "Counter" is the CPU's cycle counter (TSC, CNTVCT_EL0); "word" is 8 bytes. A reader trusts nothing: each
 * offset, length and index is checked against the size of the file and of its area.
 *
 * - offset 0: struct layout_header. Written once, magic last.
 * - control_offset: struct layout_control. One page; changes: lost, clear, filter, clocks, ring states.
 * - enable_offset: one byte per tracepoint. Index = tracepoint id.
 * - owners_offset: struct layout_owner[]. Owners and the history of their descriptions.
 * - sections_offset: sections. What the program declared; more may be appended while it runs.
 * - rings_offset: ring i at rings_offset + i * ring_stride: control page, blocks, tail page. The file grows
 *   ring by ring.
 *
 * The file's name is NAME.PID.spoor, in /dev/shm unless the program or SPOOR_TRACE_DIR says otherwise.
 *
 * Is the writer alive? It holds an exclusive flock on the file; flock(LOCK_SH | LOCK_NB) by a reader fails
 * then. A program that closed all its descriptors has lost the lock: if process `pid` exists and field 22 of
 * /proc/PID/stat equals `start_ticks`, it is alive too.
 *
 * From outside (the writer notices nothing and does nothing for it; take an OFD write lock on byte 0 against
 * other tools first):
 * - enable, disable: write the enable byte: 0 off, else bits of enum layout_enable.
 * - filter: write counts of 0, the ids, the counts in `filter` of the control page, then
 *   LAYOUT_ENABLE_ON | LAYOUT_ENABLE_FILTERED in the enable bytes.
 * - clear: write the counter's present value to `cleared`.
 * - dump: copy everything before rings_offset, then of each ring the control page, those blocks that are new
 *   enough with their neighbours, and the tail page, in this order, to the same offsets of a new file (holes
 * for the rest), and set `from` in the copy's control page. The checks below make any copy a recording; the
 * writer's help is not needed.
 * - drain: see "rings"; publish in `drained` how far it is. The writer never waits.
 */
#ifndef SPOOR_RECORDER_LAYOUT_H
#define SPOOR_RECORDER_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_MAGIC "SPOORREC" /* 8 bytes, no NUL */
#define LAYOUT_VERSION 2        /* a reader refuses a version that it does not know */
#define LAYOUT_BYTE_ORDER 0x01020304u

#define LAYOUT_PAGE 4096u
#define LAYOUT_BLOCK_BYTES 4096u
#define LAYOUT_BLOCK_WORDS 512u
#define LAYOUT_MAX_RINGS 3072u /* ring states fit into the control page */

/* Features: a reader refuses a file with a required bit that it does not know, and ignores unknown optional
 * bits. */
enum layout_required {
    LAYOUT_REQUIRED_NONE = 0,
};
enum layout_optional {
    LAYOUT_OPTIONAL_INVARIANT_COUNTER = 1, /* the CPU says that the counter has one rate for ever */
    /* Nothing relates the counter to another clock: times count from `opened`, of which only the counter is told, at the
     * rate counter_hz. Files that `spoor convert` made. */
    LAYOUT_OPTIONAL_OWN_CLOCK = 2,
};

enum layout_kind {
    LAYOUT_KIND_RINGS = 1, /* as libspoor writes it, or a copy, or a dump */
    LAYOUT_KIND_STREAM =
        2, /* as `spoor record` writes it: from rings_offset on blocks of LAYOUT_BLOCK_BYTES one after
            * another, of any ring, as they were drained; within one ring in order of their sequence. There
            * are no ring control pages: a block says its ring, thread and name itself. What is missing
            * between two blocks of a ring was overwritten; their numbers say how many records.
            * A block may come again with the same sequence, fuller than before, if it was drained while it
            * was being filled: the last one of a sequence counts. A file that follows another (after a
            * rotation) begins with a block without records for each ring that was drained before: `first` is
            * LAYOUT_BLOCK_BYTES, `sequence` that of the ring's last block in the file before, and `number`
            * the number of the next record, so that what stands there is not taken for lost. `from`
            * is not 0 in such a file: it is no beginning. */
};

enum layout_counter {
    LAYOUT_COUNTER_TSC = 1,
    LAYOUT_COUNTER_CNTVCT = 2,
};

/* One instant on three clocks. `check` is LAYOUT_CLOCK_CHECK ^ counter ^ monotonic ^ boottime ^ error: a
 * triple that does not fit was caught while it was being written, or never written. */
#define LAYOUT_CLOCK_CHECK 0x5bd1e995c0ffee11ull
struct layout_clock {
    uint64_t counter;
    uint64_t monotonic; /* CLOCK_MONOTONIC, ns */
    uint64_t boottime;  /* CLOCK_BOOTTIME, ns */
    uint64_t error;     /* the clocks were read within +- this many counter units of `counter` */
    uint64_t check;
};

struct layout_header {
    uint8_t magic[8]; /* written last: a file without it is not ready */
    uint32_t version;
    uint32_t byte_order;
    uint32_t header_bytes; /* sizeof(struct layout_header) of the writer; it may grow */
    uint32_t kind;         /* enum layout_kind */
    uint64_t required;     /* enum layout_required */
    uint64_t optional;     /* enum layout_optional */

    uint32_t counter_kind;
    uint32_t pid;
    uint32_t parent_pid; /* of a recording that began in the child of a fork: the parent's, whose owners it
                            inherited; else 0 */
    uint32_t reserved;
    uint64_t counter_hz; /* rate of the counter as measured at open: a start; pairs of clock triples give it
                            better */
    uint64_t
        start_ticks;   /* field 22 of /proc/PID/stat: with pid it names a process for ever (until reboot) */
    uint64_t realtime; /* CLOCK_REALTIME at open, ns */
    struct layout_clock opened;

    uint64_t control_offset, control_bytes;
    uint64_t enable_offset, enable_count;
    uint64_t owners_offset, owner_count, owner_bytes; /* entries of the table (most unused), size of one */
    uint64_t sections_offset, sections_bytes; /* the area; how much is used: layout_control.sections_used */
    uint64_t rings_offset, ring_stride,
        ring_limit;         /* ring i exists when ring_states[i] != LAYOUT_RING_UNUSED */
    uint64_t ring_bytes;    /* of blocks in one ring, a power of two; the control page comes before them */
    uint64_t block_bytes;   /* LAYOUT_BLOCK_BYTES */
    uint64_t device, inode; /* of the file that was mapped: a file with others is a copy, see "rings" */
};

enum layout_ring_state {
    LAYOUT_RING_UNUSED = 0,
    LAYOUT_RING_MAKING = 1, /* being made or given to another thread: skip it, look again later */
    LAYOUT_RING_USED = 2, /* of thread `tid`, which may have ended since: nobody is told when a thread ends */
    LAYOUT_RING_ENDED = 3, /* its thread was found to have ended; kept until it is needed */
};

enum layout_lost {
    LAYOUT_LOST_LIMIT = 0, /* ring_limit threads have rings */
    LAYOUT_LOST_SPACE =
        1, /* no space for one more ring, or the process's file size limit, or its descriptors were closed */
    LAYOUT_LOST_MAKING = 2, /* a signal handler recorded while its thread's ring was being made, or another
                               thread made the recording */
    LAYOUT_LOST_NESTED = 3, /* signal handlers that interrupted a record filled the ring up to its block */
    LAYOUT_LOST_COUNT = 4,
};

#define LAYOUT_CLOCK_SLOTS 16
#define LAYOUT_FILTER_IDS 8

struct layout_filter { /* a record passes if its owner is among `owners`, and its object among `objects`; an
                          empty list passes all */
    uint32_t owner_count, object_count;
    uint32_t owners[LAYOUT_FILTER_IDS];
    uint64_t objects[LAYOUT_FILTER_IDS];
};

struct layout_control {
    uint64_t sections_used;           /* bytes; raised after an appended section is whole */
    uint64_t lost[LAYOUT_LOST_COUNT]; /* records that no ring could take, by reason: see "rings" */
    uint64_t owners_lost;             /* registrations and descriptions that found no free entry */
    uint64_t cleared;                 /* records with a stamp below are to be ignored */
    uint64_t from;                    /* in a dump: the same, because they may be incomplete; else 0 */
    uint64_t closed;                  /* counter when spoor_trace_close was called, else 0 */
    uint64_t drainer;                 /* for readers: pid of the one that drains, 0 none */
    struct layout_filter filter;
    uint64_t clock_next; /* triples written so far; slot = number % LAYOUT_CLOCK_SLOTS */
    struct layout_clock clocks[LAYOUT_CLOCK_SLOTS]; /* the newest: at least a second apart, taken when blocks
                                                       are opened, and at close */
    uint8_t ring_states[LAYOUT_MAX_RINGS];          /* enum layout_ring_state */
};

enum layout_enable {
    LAYOUT_ENABLE_ON = 1,
    LAYOUT_ENABLE_FILTERED = 2, /* only with ON: ask the filter first */
};

/* ---- owners ----
 *
 * A registration takes an entry; so does each change of a description (with the same id), which ends the
 * entry before it. An owner is shown with the description of the entry where since <= stamp of the record <
 * until. When the table is full, the entry that ended longest ago is taken. `version` is odd while the entry
 * changes: read it, the entry, and it again; 0: never used. */
struct layout_owner {
    uint64_t version;
    uint64_t since; /* counter */
    uint64_t until; /* counter; UINT64_MAX: still so */
    uint32_t id;    /* from 1 */
    uint16_t type;  /* id of an owner type */
    uint16_t description_bytes;
    char description[224]; /* not terminated; empty when there is none */
};

/* ---- sections ----
 *
 * One after another from sections_offset, until sections_used. A section is a table: its header, `count`
 * items of `item_bytes` (more than the structs here in later versions: step by item_bytes), then text. A
 * reader skips types that it does not know. Names are offsets from the section's start to NUL-terminated text
 * within it; 0 is no text. A type may come several times: modules loaded later append theirs. Ids are unique
 * over all sections of a type, and begin with 1; 0 is none. */
struct layout_section {
    uint32_t type; /* enum layout_section_type */
    uint32_t item_bytes;
    uint32_t count;
    uint32_t reserved;
    uint64_t bytes; /* of all: header, items, text, padding to 8 */
};

enum layout_section_type {
    LAYOUT_SECTION_PROCESS = 1,
    LAYOUT_SECTION_GROUPS = 2,
    LAYOUT_SECTION_OBJECTS = 3,
    LAYOUT_SECTION_OWNER_TYPES = 4,
    LAYOUT_SECTION_TRACEPOINTS = 5,
    LAYOUT_SECTION_ARGUMENTS = 6,
    LAYOUT_SECTION_ENUMERATORS = 7,
    LAYOUT_SECTION_RELATIONS = 8,
};

struct layout_process {
    uint32_t name;       /* of the recording: the first part of the file's name */
    uint32_t executable; /* path */
    uint32_t command;    /* command line, arguments separated by spaces */
    uint32_t host;       /* node name */
};

struct layout_group {
    uint32_t id;
    uint32_t name, text;
    uint32_t file, line; /* where it is defined */
    uint32_t reserved;
};

struct layout_object { /* type of objects */
    uint32_t id;
    uint32_t name;
    uint32_t file, line;
    uint32_t letter;
    uint32_t reserved;
};

struct layout_owner_type {
    uint32_t id;
    uint32_t name;
    uint32_t file, line;
    uint32_t letter;
    uint32_t reserved;
};

enum layout_life { /* what the event means for its object */
                   LAYOUT_LIFE_USES = 0,
                   LAYOUT_LIFE_BEGINS =
                       1, /* a new instance, also when an instance with this object id lives already */
                   LAYOUT_LIFE_ENDS = 2,
};

enum layout_tracepoint_flags {
    LAYOUT_TRACEPOINT_USDT =
        1, /* also a USDT probe: provider = group, name = name, arguments: owner, object, then those here */
    /* Times the id of the type that the owners of its events have, up to 255; 0: not told. Files that `spoor convert`
     * made: SPDK's format tells it. */
    LAYOUT_TRACEPOINT_OWNER = 0x100,
};

struct layout_tracepoint {
    uint32_t id; /* 1 to 65534: what records carry, and the index of the enable byte */
    uint32_t group;
    uint32_t object; /* type, 0: none */
    uint8_t life;
    uint8_t argument_count; /* 0 to 12 */
    uint16_t flags;
    uint32_t name;
    uint32_t file, line;
    uint32_t index; /* within its group: its bit in "group:mask" */
};

enum layout_argument_kind {
    LAYOUT_KIND_UNSIGNED = 1,
    LAYOUT_KIND_SIGNED = 2,
    LAYOUT_KIND_POINTER = 3,
    LAYOUT_KIND_STRING = 4,
    LAYOUT_KIND_REAL = 5, /* the word holds a double, whatever `size` says */
    LAYOUT_KIND_BOOL = 6,
};

struct layout_argument {
    uint32_t tracepoint;
    uint8_t index; /* 0 to 11 */
    uint8_t kind;  /* enum layout_argument_kind; an enum is SIGNED or UNSIGNED with an enumeration, or with a
                      `type` of "enum …" */
    uint8_t size;  /* of the C type, bytes; the record holds a whole word, sign- or zero-extended */
    uint8_t reserved;
    uint32_t enumeration; /* 0: none */
    uint32_t name;
    uint32_t type; /* C type as written */
    uint32_t reserved2;
};

struct layout_enumerator {
    uint32_t enumeration;
    uint32_t name;
    int64_t value;
};

struct layout_relation { /* argument `argument` of `tracepoint` holds the id of an object of type `object` */
    uint32_t tracepoint;
    uint32_t argument;
    uint32_t object;
    uint32_t file, line;
    uint32_t reserved;
};

/* ---- rings ----
 *
 * One thread writes a ring at a time, and its signal handlers. A ring is endless blocks in a window: the
 * block with sequence s stands in slot s % (ring_bytes / block_bytes). Sequences begin with 1, so that a
 * block of zeros is never valid. The position of a word in a ring is counted from block 0 for ever: block s
 * has positions s * 512 to s * 512 + 511.
 *
 * `reserved` and `committed` are mixed words: the low 44 bits of a position and above them the low 20 bits of
 * the number of records before it. The full values are those nearest to position_base and number_base
 * (layout_extend).
 * - reserved: raised before anything is written there: what stands a whole ring or more below it may be
 *   half overwritten. A block with sequence s is intact if reserved, read after the block was copied (acquire
 *   fence between), has a position below (s + blocks) * 512.
 * - committed: everything before it is wholly written, but for what was given up (see below), which stands a
 *   ring or more below `reserved`. committed <= reserved. They differ while a record is being written; or for
 *   good, when the thread died there. Records beyond `committed` are whole too, if their mark is right.
 *
 * A record is given up when the ring has come round to it, a tenth of a second has passed since, and it is
 * still not finished: the thread stood still, or the signal handler that interrupted it left by longjmp. It
 * may be finished yet, so its block is kept: the writer passes over that slot, and no block gets the sequences
 * that fall there, until all of the block has marks. For readers it is overwritten: `opened_before` says so. A
 * thread keeps at most 8 blocks, and always uses one.
 *
 * How a reader goes: for each slot take the block; `sequence` must fit the slot; then from `first` on records
 * until the end of the block, or the first word that is not a record with the right mark: in the newest block
 * (and in the last one of a thread whose ring another got), the end; in an older one a hole, a record that
 * was never finished.
 *
 * While the writer runs, a block must be copied first, and no order may be expected of the loads that copy
 * it: string instructions of some CPUs load the lines of a page in any order. (Taking the mark in the copy as
 * the proof of what stands behind it gave torn records there.) Order holds between one copy and the next:
 * - It was there before the copy began: what is below `committed`, read before; or what had its mark in a
 * copy made before, so that of a block which is being filled two copies are made.
 * - It was there still when the copy had ended: `reserved`, read after it, see above.
 * A file that is a copy itself (`device` and `inode` of the header are not its own), made from front to back
 * as cp does, holds both answers on the pages around a block. On the page before, which was copied earlier,
 * `closed_behind` is the block's sequence when all of it was written (else what is below the ring's
 * `committed` is certain). On the page behind, which was copied later, `opened_before` is more than the
 * block's sequence when it was being overwritten; so too in the file of a writer that was killed. The page
 * before the first block is the ring's control page; behind the last one is a page for this alone.
 *
 * Records written = number in `reserved`. Overwritten = number of the oldest valid block's first record.
 * Between blocks any gap shows in `number`: these were overwritten too.
 *
 * What may be lost. Every record that the program asks for, while its tracepoint is on and its filter passes,
 * is one of these: in a block, with its number; overwritten, so that a gap in the numbers shows it; or counted
 * in `lost` of the control page, for one of four reasons:
 * - LIMIT, SPACE: its thread could get no ring.
 * - MAKING: a signal handler recorded while its thread's ring was being made, or a child of a fork while
 *   another of its threads made the recording.
 * - NESTED: a signal handler recorded above an unfinished record, and only the block of that one was left in
 *   the ring; for a tenth of a second after that began, then the unfinished one is given up instead. For as
 *   long as it takes, when no further block can be kept.
 * The record that was interrupted is never lost for MAKING or NESTED. Neither counted nor recorded is only
 * what is recorded while or after the recording is closed.
 *
 * A drained ring: keep (sequence, offset, number) of the next record; sleep; go on from there while the block
 * still has the sequence, else from the oldest valid block, and count `number` - expected as overwritten. Where
 * `committed` was beyond the block before it was looked at, nothing more comes: a hole in it was given up, and
 * if its slot holds another block, its sequence was passed over. */
#define LAYOUT_POSITION_BITS 44
#define LAYOUT_NUMBER_BITS 20

struct layout_ring {
    uint64_t reserved;  /* mixed */
    uint64_t committed; /* mixed */
    uint64_t reserved_for_writer[6];
    uint64_t position_base; /* position and number when a block was last opened: full 64 bits */
    uint64_t number_base;
    uint32_t index;   /* of this ring */
    uint32_t tid;     /* of the thread that has it, or had it last */
    char thread[16];  /* its name, NUL-terminated */
    uint64_t made;    /* counter when this thread got the ring */
    uint64_t tenants; /* how many threads had it, this one included */
    uint64_t drained; /* for readers: sequence of the oldest block not yet drained, or 0; the writer does not
                         look */
    uint64_t drained_number;
    uint64_t closed_behind; /* about the first block, see struct layout_block */
};

/* Behind the blocks, on a page of its own. */
struct layout_tail {
    uint64_t opened_before; /* about the last block, see there */
};

struct layout_block {
    uint64_t sequence;
    uint64_t number;  /* of its first record: how many the ring had before */
    uint64_t counter; /* when it was opened: no record in it is older, none in the block before is newer */
    struct layout_clock clock; /* the newest triple of this thread at that time: at most 10 ms before, or
                                  taken for this block */
    uint32_t ring;
    uint32_t tid;
    char thread[16]; /* NUL-terminated */
    uint16_t first;  /* offset of the first record, bytes */
    uint16_t reserved[3];
    uint64_t opened_before; /* about the slot before this one: sequence of its block, raised before anything
                               is written there */
    uint64_t
        closed_behind; /* about the slot behind this one: sequence of its block, once all of it is written */
    uint64_t words[LAYOUT_BLOCK_WORDS - 14]; /* records, one after another */
};

#define LAYOUT_BLOCK_HEADER_BYTES 112u

/* A record is 4 words, one word per argument, then the bytes of strings (each from a word boundary, zeros to
 * the next). 0  mark << 32 | id << 16 | bytes   mark: the low 32 bits of the position of this word; written
 * last 1  stamp                           counter; never decreases within a ring's thread 2  object id
 * (mostly a pointer) 3  size << 32 | owner              owner 0: none `bytes` is a multiple of 8, at least 32
 * and within the block. An argument's word holds its value; of a string: length of the whole text << 32 |
 * offset of the bytes from the record's start << 16 | bytes that are here where offset 0 is a null pointer,
 * and fewer bytes here than the whole length means that it was cut. (A length that does not fit is
 * UINT32_MAX.) No NUL is stored. */
#define LAYOUT_RECORD_BYTES 32u
#define LAYOUT_ID_PADDING                                                                                    \
    0xffffu /* id of what fills the rest of a block: one word, `bytes` to skip; not counted as a record */

struct layout_record {
    uint64_t start;
    uint64_t stamp;
    uint64_t object;
    uint32_t owner;
    uint32_t size;
    uint64_t arguments[];
};

static inline uint32_t layout_record_bytes(uint64_t start)
{
    return (uint32_t)(start & 0xffff);
}

static inline uint32_t layout_record_id(uint64_t start)
{
    return (uint32_t)(start >> 16 & 0xffff);
}

static inline uint32_t layout_record_mark(uint64_t start)
{
    return (uint32_t)(start >> 32);
}

static inline uint64_t layout_record_start(uint64_t position, uint32_t id, uint32_t bytes)
{
    return position << 32 | (uint64_t)id << 16 | bytes;
}

/* The value with these low bits that is nearest to `base`. */
static inline uint64_t layout_extend(uint64_t low, uint64_t base, unsigned bits)
{
    return base + (uint64_t)((int64_t)((low - base) << (64 - bits)) >> (64 - bits));
}

static inline uint64_t layout_position(uint64_t mixed, uint64_t position_base)
{
    return layout_extend(mixed, position_base, LAYOUT_POSITION_BITS);
}

static inline uint64_t layout_number(uint64_t mixed, uint64_t number_base)
{
    return layout_extend(mixed >> LAYOUT_POSITION_BITS, number_base, LAYOUT_NUMBER_BITS);
}

static inline uint64_t layout_clock_check(const struct layout_clock *clock)
{
    return LAYOUT_CLOCK_CHECK ^ clock->counter ^ clock->monotonic ^ clock->boottime ^ clock->error;
}

static_assert(sizeof(struct layout_clock) == 40, "layout");
static_assert(sizeof(struct layout_header) == 248, "layout");
static_assert(sizeof(struct layout_control) <= LAYOUT_PAGE, "layout");
static_assert(sizeof(struct layout_owner) == 256, "layout");
static_assert(sizeof(struct layout_section) == 24, "layout");
static_assert(sizeof(struct layout_tracepoint) == 32, "layout");
static_assert(sizeof(struct layout_argument) == 24, "layout");
static_assert(sizeof(struct layout_ring) <= LAYOUT_PAGE, "layout");
static_assert(offsetof(struct layout_block, words) == LAYOUT_BLOCK_HEADER_BYTES, "layout");
static_assert(sizeof(struct layout_block) == LAYOUT_BLOCK_BYTES, "layout");
static_assert(sizeof(struct layout_record) == LAYOUT_RECORD_BYTES, "layout");

#endif
