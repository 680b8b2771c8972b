/* SPDX-License-Identifier: BSD-3-Clause */
/* The format of a recording, version 3: what libspoor writes, and what a reader meets in a file that is being
 * written, in one that a crash left behind, and in a copy. This file is the specification; a reader can be
 * written from it alone. How records are written stands in spoor/trace.h and ring.c, how they are shown in
 * src/reader.
 *
 * A reader needs nothing from the writer but this memory, in whatever state it finds it. Whatever is written
 * while others may read is one aligned word, or is guarded by a word that is written in a known order.
 *
 * Words used below. "Word": 8 bytes. "Counter": the CPU's cycle counter (TSC on x86-64, CNTVCT_EL0 on
 * aarch64). "Stamp": a value of the counter. All integers are in the writer's byte order, which `byte_order`
 * names. Everything is aligned to 8 bytes. A reader trusts no value: it checks each offset, length and index
 * against the size of the file and of its area.
 *
 * The file:
 *
 *     begins at          holds                       changes
 *     0                  struct layout_header        never; it is written once, `magic` last
 *     control_offset     struct layout_control       always; one page
 *     enable_offset      one byte per tracepoint     from outside; the index is the tracepoint's id
 *     owners_offset      struct layout_owner[]       when owners come, go, and are described anew
 *     sections_offset    sections                    at the end: what the program declares later is appended
 *     directory_offset   struct layout_place[]       when a ring is made or changes its thread
 *     rings_offset       rings                       always; the file grows by one ring at a time
 *
 *     a ring begins where its entry in the directory says, and is
 *
 *     bytes              holds
 *     4096               struct layout_ring, on a page of its own
 *     place.bytes        blocks: struct layout_block[place.bytes / block_bytes]
 *     4096               struct layout_tail, on a page of its own
 *
 * The pages of the directory that have no entry yet may be a hole.
 *
 * The file is named NAME.PID.spoor and lies in /dev/shm, unless the program or SPOOR_TRACE_DIR says otherwise.
 *
 * Whether the writer is alive: it holds an exclusive flock on the file, so that flock(LOCK_SH | LOCK_NB) fails
 * for a reader. A program that closed all its descriptors has lost that lock; it is alive all the same if the
 * process `pid` exists and field 22 of /proc/PID/stat equals `start_ticks`.
 *
 * What others may write. They take an OFD write lock on byte 0 against one another first. The writer notices
 * nothing, and does nothing for it.
 *
 *     enable, disable   Write the enable byte: 0 is off, else bits of enum layout_enable.
 *     filter            In `filter` of the control page write counts of 0, then the ids, then the counts; then
 *                       LAYOUT_ENABLE_ON | LAYOUT_ENABLE_FILTERED into the enable bytes.
 *     clear             Write the counter's present value to `cleared`.
 *     dump              Copy everything before rings_offset. Then copy of each ring, to the same offsets of the
 *                       new file and in this order: the control page, those blocks that are new enough with
 *                       their neighbours, and the tail page; the rest is a hole. Set `from` in the copy. What
 *                       a reader checks (see "Rings") makes any copy a recording, without the writer's help.
 *     drain             See "Draining a ring". Publish in `drained` how far it is. The writer never waits.
 *
 * Version 2 had no directory. Its header ends before directory_offset, and says `ring_stride` where version 3 has
 * `v2_ring_stride`: ring i begins at rings_offset + i * ring_stride and has ring_bytes; its state is the byte i of
 * those that begin at LAYOUT_V2_STATES of the control page, of which there are at most LAYOUT_V2_MAX_RINGS. A thread
 * had one ring. All else is as in version 3.
 */
#ifndef SPOOR_RECORDER_LAYOUT_H
#define SPOOR_RECORDER_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_MAGIC "SPOORREC" /* 8 bytes, no NUL */
#define LAYOUT_VERSION 3        /* a reader refuses a version that it does not know */
#define LAYOUT_BYTE_ORDER 0x01020304u

#define LAYOUT_PAGE 4096u
#define LAYOUT_BLOCK_BYTES 4096u
#define LAYOUT_BLOCK_WORDS 512u
#define LAYOUT_MAX_RINGS 65535u  /* of a recording; index + 1 fits into 16 bits */
#define LAYOUT_RING_FIRST 16384u /* bytes of the first ring of a thread, unless ring_bytes is less */
#define LAYOUT_RING_GROWS 4u     /* how many times as large its next one is, up to ring_bytes */

/* Features: a reader refuses a file with a required bit that it does not know, and ignores unknown optional
 * bits. */
enum layout_required {
    LAYOUT_REQUIRED_NONE = 0,
};
enum layout_optional {
    LAYOUT_OPTIONAL_INVARIANT_COUNTER = 1, /* the CPU says that the counter has one rate for ever */
    /* Nothing relates the counter to another clock: of `opened` only `counter` is known, and times count from it
     * at the rate counter_hz. `spoor convert` makes such files. */
    LAYOUT_OPTIONAL_OWN_CLOCK = 2,
};

enum layout_kind {
    /* What libspoor writes, a copy of it, or a dump. */
    LAYOUT_KIND_RINGS = 1,
    /* What `spoor record` writes. From rings_offset on there are blocks of LAYOUT_BLOCK_BYTES, one after another,
     * of any ring, in the order in which they were drained; within one ring their sequences rise. There are no
     * control pages of rings: a block says its ring, thread and thread name itself. What is missing between two
     * blocks of a ring was overwritten; their numbers say how many records.
     *
     * A block that was drained while it was being filled may come again with the same sequence, and holds more
     * then: the last one of a sequence counts.
     *
     * A file that follows another after a rotation begins with a block without records for each ring that was
     * drained before: its `first` is LAYOUT_BLOCK_BYTES, its `sequence` that of the ring's last block in the
     * file before, and its `number` that of the next record. So what stands in the earlier file does not count
     * as lost. In such a file `from` is not 0: the recording began before it. */
    LAYOUT_KIND_STREAM = 2,
};

enum layout_counter {
    LAYOUT_COUNTER_TSC = 1,
    LAYOUT_COUNTER_CNTVCT = 2,
};

/* One instant on three clocks. A triple whose `check` is not
 * LAYOUT_CLOCK_CHECK ^ counter ^ monotonic ^ boottime ^ error was caught while it was being written, or was
 * never written. */
#define LAYOUT_CLOCK_CHECK 0x5bd1e995c0ffee11ull
struct layout_clock {
    uint64_t counter;
    uint64_t monotonic; /* CLOCK_MONOTONIC, ns */
    uint64_t boottime;  /* CLOCK_BOOTTIME, ns */
    uint64_t error;     /* the clocks were read at most this many counter units before or after `counter` */
    uint64_t check;
};

struct layout_header {
    uint8_t magic[8];      /* LAYOUT_MAGIC, written last: a file without it is not ready */
    uint32_t version;      /* LAYOUT_VERSION */
    uint32_t byte_order;   /* LAYOUT_BYTE_ORDER in the writer's byte order */
    uint32_t header_bytes; /* sizeof(struct layout_header) of the writer; later versions may have more */
    uint32_t kind;         /* enum layout_kind */
    uint64_t required;     /* bits of enum layout_required */
    uint64_t optional;     /* bits of enum layout_optional */

    uint32_t counter_kind; /* enum layout_counter */
    uint32_t pid;
    /* Of a recording that began in the child of a fork: the process id of the parent, whose owners it
     * inherited. Else 0. */
    uint32_t parent_pid;
    uint32_t reserved;
    /* Rate of the counter as measured when the recording was opened. Two clock triples that lie far apart give
     * it more exactly. */
    uint64_t counter_hz;
    /* Field 22 of /proc/PID/stat. With `pid` it names one process, until the machine starts anew. */
    uint64_t start_ticks;
    uint64_t realtime; /* CLOCK_REALTIME when the recording was opened, ns */
    struct layout_clock opened;

    /* The areas; see the table at the head of this file. */
    uint64_t control_offset, control_bytes;
    uint64_t enable_offset, enable_count;
    uint64_t owners_offset, owner_count, owner_bytes;  /* entries, most of them unused; bytes of one */
    uint64_t sections_offset, sections_bytes;          /* the room; layout_control.sections_used is in use */
    uint64_t rings_offset, v2_ring_stride, ring_limit; /* entries of the directory */
    uint64_t ring_bytes;                               /* of the blocks of the largest ring, a power of two */
    uint64_t block_bytes;                              /* LAYOUT_BLOCK_BYTES */
    /* Of the file that the writer mapped. A file that has others itself is a copy; see "Copies". */
    uint64_t device, inode;
    uint64_t directory_offset, place_bytes; /* the directory, and the bytes of one entry */
};

enum layout_ring_state {
    LAYOUT_RING_UNUSED = 0,
    LAYOUT_RING_MAKING = 1, /* it is being made, or given to another thread: pass over it, look again later */
    LAYOUT_RING_USED = 2,   /* thread `tid` has it; the writer may not know yet that this thread has ended */
    LAYOUT_RING_ENDED = 3, /* its thread was found to have ended; it is kept until another thread needs one */
};

/* Entry i of the directory says where ring i is. Offset and bytes never change once the state was USED. Rings do not
 * overlap; they may stand in any order. */
struct layout_place {
    uint64_t offset; /* from the beginning of the file, a multiple of LAYOUT_PAGE */
    uint32_t bytes;  /* of the blocks: a power of two from 2 * LAYOUT_BLOCK_BYTES to ring_bytes */
    uint32_t state;  /* enum layout_ring_state; USED is written after everything else */
};

/* Why a record is in no ring; see "What may be lost". */
enum layout_lost {
    /* The rings that threads have take all the memory that rings may take, or the directory is full. */
    LAYOUT_LOST_LIMIT = 0,
    /* There was no space for one more ring, the limit of file sizes was reached, or the recording's descriptor
     * was closed. */
    LAYOUT_LOST_SPACE = 1,
    /* A signal handler recorded while the ring of its thread was being made, or another thread was making the
     * recording. */
    LAYOUT_LOST_MAKING = 2,
    /* Signal handlers that interrupted a record filled the ring up to the block of that record. */
    LAYOUT_LOST_NESTED = 3,
    LAYOUT_LOST_COUNT = 4,
};

#define LAYOUT_CLOCK_SLOTS 16
#define LAYOUT_FILTER_IDS 8

/* A record passes if its owner is among `owners` and its object among `objects`; an empty list passes all. */
struct layout_filter {
    uint32_t owner_count, object_count;
    uint32_t owners[LAYOUT_FILTER_IDS];
    uint64_t objects[LAYOUT_FILTER_IDS];
};

struct layout_control {
    uint64_t sections_used;           /* bytes; raised when an appended section is whole */
    uint64_t lost[LAYOUT_LOST_COUNT]; /* records that are in no ring, by reason */
    uint64_t owners_lost;             /* registrations and descriptions that found no free entry */
    uint64_t cleared;                 /* records with a stamp below are to be ignored */
    uint64_t from;    /* of a dump: as `cleared`, since older records may be missing; else 0 */
    uint64_t closed;  /* the counter when spoor_trace_close() was called, else 0 */
    uint64_t drainer; /* for readers: process id of the one that drains, 0 if none does */
    struct layout_filter filter;
    /* Triples that were written so far; the one with number n stands in slot n % LAYOUT_CLOCK_SLOTS. They are
     * taken when blocks are opened, at least a second apart, and when the recording is closed. */
    uint64_t clock_next;
    struct layout_clock clocks[LAYOUT_CLOCK_SLOTS];
    uint64_t rings;     /* entries of the directory that were taken, from the first on */
    uint64_t rings_end; /* offset behind the last ring */
};

#define LAYOUT_V2_STATES offsetof(struct layout_control, rings)
#define LAYOUT_V2_MAX_RINGS 3072u
#define LAYOUT_V2_HEADER_BYTES offsetof(struct layout_header, directory_offset)

enum layout_enable {
    LAYOUT_ENABLE_ON = 1,
    LAYOUT_ENABLE_FILTERED = 2, /* only with ON: ask the filter first */
};

/* ---- Owners ----
 *
 * A registration takes an entry. So does each change of a description: the new entry has the same id, and ends
 * the one before. A record's owner is shown with the description of the entry for which
 * since <= stamp of the record < until. When the table is full, the entry that ended longest ago is taken.
 *
 * `version` is odd while the entry changes, and 0 if it was never used. A reader reads it, copies the entry,
 * reads it again, and begins anew if the two differ or are odd. */
struct layout_owner {
    uint64_t version;
    uint64_t since; /* counter */
    uint64_t until; /* counter; UINT64_MAX: it has not ended */
    uint32_t id;    /* from 1 */
    uint16_t type;  /* id of an owner type */
    uint16_t description_bytes;
    char description[224]; /* not terminated; empty when there is none */
};

/* ---- Sections ----
 *
 * Sections stand one after another from sections_offset on, sections_used bytes of them:
 *
 *     struct layout_section     the header
 *     items                     `count` of them, `item_bytes` each
 *     text                      NUL-terminated strings
 *     zeros                     to a multiple of 8 bytes
 *
 * Items of later versions may be larger than the structs below: step by item_bytes. A reader passes over types
 * that it does not know. Names, texts, files and types are offsets from the beginning of their section to its
 * text; 0 is none. A type may have several sections: modules that are loaded later append theirs. Ids are unique
 * over all sections of a type and begin with 1; 0 is none. Where `file` and `line` stand, they say where the item
 * is defined in the program's source. */
struct layout_section {
    uint32_t type; /* enum layout_section_type */
    uint32_t item_bytes;
    uint32_t count;
    uint32_t reserved;
    uint64_t bytes; /* of the whole section */
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
    uint32_t name;       /* of the recording: what its file's name begins with */
    uint32_t executable; /* path */
    uint32_t command;    /* command line, arguments separated by spaces */
    uint32_t host;       /* node name */
};

struct layout_group {
    uint32_t id;
    uint32_t name, text;
    uint32_t file, line;
    uint32_t reserved;
};

/* A type of objects. */
struct layout_object {
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

/* What an event means for its object. */
enum layout_life {
    LAYOUT_LIFE_USES = 0,
    LAYOUT_LIFE_BEGINS = 1, /* a new object begins, even if one with the same id has not ended */
    LAYOUT_LIFE_ENDS = 2,
};

enum layout_tracepoint_flags {
    /* It is a USDT probe as well: its provider is the group, its arguments are the owner, the object, and then
     * those of the tracepoint. */
    LAYOUT_TRACEPOINT_USDT = 1,
    /* Times the id, up to 255, of the type that owners of its events have; 0 if that is not known. `spoor convert`
     * writes it, since SPDK's format says it. */
    LAYOUT_TRACEPOINT_OWNER = 0x100,
};

struct layout_tracepoint {
    uint32_t id; /* 1 to 65534: records carry it, and it is the index of the enable byte */
    uint32_t group;
    uint32_t object;        /* type of its objects, 0: none */
    uint8_t life;           /* enum layout_life */
    uint8_t argument_count; /* 0 to 12 */
    uint16_t flags;         /* enum layout_tracepoint_flags */
    uint32_t name;
    uint32_t file, line;
    uint32_t index; /* within its group: the bit that stands for it in GROUP:MASK */
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
    /* enum layout_argument_kind. A C enum is SIGNED or UNSIGNED; it has an enumeration, or its `type` begins with
     * "enum ". */
    uint8_t kind;
    uint8_t size; /* of the C type, bytes; the record holds a whole word, sign- or zero-extended */
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

/* Argument `argument` of `tracepoint` holds the id of an object of type `object`. */
struct layout_relation {
    uint32_t tracepoint;
    uint32_t argument;
    uint32_t object;
    uint32_t file, line;
    uint32_t reserved;
};

/* ---- Rings ----
 *
 * One thread at a time writes a ring, and the signal handlers that interrupt it. A thread begins with a small ring.
 * When that would go round above what the thread wrote there, it goes on in a larger ring, and writes no more into
 * the small one, which stays USED until the thread has ended. Every record there is older than every one in the
 * larger ring. A thread for which there is no larger ring stays, and the ring goes round.
 *
 * A ring is a window on an endless row of blocks: the block with sequence s stands in slot
 * s % (place.bytes / block_bytes). Sequences begin with 1,
 * so that a block of zeros is never valid. The position of a word is counted from block 0 on and never begins
 * anew: block s has the positions s * 512 to s * 512 + 511.
 *
 * `reserved` and `committed` each hold a position and the number of the records before it, cut to fit one word:
 *
 *     63                  44 43                                                0
 *     +---------------------+--------------------------------------------------+
 *     | number              | position                                         |
 *     +---------------------+--------------------------------------------------+
 *
 * The full values are the ones nearest to position_base and number_base; see layout_extend().
 *
 *     reserved     It is raised before anything is written below it. What stands a whole ring or more below it may
 *                  be half overwritten. A block with sequence s is intact if `reserved`, read after the block was
 *                  copied with an acquire fence between, has a position of at most (s + blocks of the ring) * 512.
 *     committed    Everything below it is whole, except for records that were given up, and those stand a ring or
 *                  more below `reserved`. It is never above `reserved`. The two differ while a record is being
 *                  written, and for good if the thread died there. A record above `committed` is whole if its mark
 *                  is right.
 *
 * Giving up. A record that is not finished when the ring has come round to it is given up a tenth of a second
 * later: its thread stands still, or the signal handler that interrupted it left by longjmp(). It may be finished
 * yet. So its block is kept: the writer passes over its slot, and no block gets the sequences that fall there,
 * until every record in the kept block has its mark. For readers the record is overwritten; `opened_before` says so.
 * A thread keeps at most 8 blocks, and always has one to write.
 *
 * ---- Reading a ring ----
 *
 * For each slot take the block, whose `sequence` must fit the slot. From `first` on take records, until the block
 * ends or a word is not the beginning of a record with the right mark. In the newest block, and in the last one of a
 * thread whose ring was given to another, that is the end. In an older block it is a hole: a record that was never
 * finished.
 *
 * While the writer runs, a block is copied before it is looked at. The loads that copy it have no order: string
 * instructions of some CPUs load the lines of a page in any order, so that a mark in the copy says nothing about the
 * bytes behind it. There is order between one copy and the next:
 *
 *     Was it there when the copy began?    Yes, if it stands below `committed`, read before; or if its mark was in a
 *                                          copy made before. Of a block that is being filled two copies are made.
 *     Was it there when the copy ended?    Yes, if `reserved`, read afterwards, says that the block is intact.
 *
 * ---- Copies ----
 *
 * A file whose own device and inode are not those of its header is a copy. If it was made from front to back, as by
 * cp, the pages around a block answer both questions. `closed_behind` stands on the page before, which was copied
 * earlier: it is the block's sequence if all of the block was written by then. (Otherwise what stands below the
 * ring's `committed` is certain.) `opened_before` stands on the page behind, which was copied later: it is more than
 * the block's sequence if the block was being overwritten by then. The same holds in the file of a writer that was
 * killed. The page before the first block is the control page of the ring; the page behind the last is struct
 * layout_tail, which is there for this alone.
 *
 * ---- Draining a ring ----
 *
 * Keep sequence, offset and number of the next record, and sleep. Then go on from there if the block still has that
 * sequence; otherwise from the oldest valid block, and count its `number` less the expected one as overwritten. When
 * `committed` was above a block before the block was looked at, nothing more comes into it: a hole in it was given
 * up, and if its slot holds another block, its sequence was passed over.
 *
 * ---- What may be lost ----
 *
 * The records that were written are the number in `reserved`. Those that were overwritten are the number of the first
 * record in the oldest valid block, and every gap in `number` between two blocks.
 *
 * Every record that the program asks for while its tracepoint is on and its filter passes is one of these: in a
 * block, with its number; overwritten, so that a gap in the numbers shows it; or counted in `lost` of the control
 * page. LIMIT and SPACE: its thread got no ring. MAKING: a signal handler recorded while its thread's ring was
 * being made, or the child of a fork while another of its threads made the recording. NESTED: a signal handler
 * recorded above an unfinished record, and only the block of that one was left in the ring; this lasts a tenth of
 * a second, then the unfinished record is given up instead, unless no further block can be kept. The record that
 * was interrupted is never lost for MAKING or NESTED. Only what is recorded while or after the recording is closed
 * is neither counted nor recorded. */
#define LAYOUT_POSITION_BITS 44
#define LAYOUT_NUMBER_BITS 20

struct layout_ring {
    uint64_t reserved;  /* number and position: see above */
    uint64_t committed; /* number and position */
    uint64_t reserved_for_writer[6];
    uint64_t position_base; /* the full position and number when a block was last opened */
    uint64_t number_base;
    uint32_t index;   /* of this ring */
    uint32_t tid;     /* of the thread that has it, or had it last */
    char thread[16];  /* name of that thread, NUL-terminated */
    uint64_t made;    /* the counter when that thread got the ring */
    uint64_t tenants; /* how many threads have had it, that one included */
    /* For readers: sequence and number of the oldest block that is not yet drained, or 0. The writer does not look
     * at them. */
    uint64_t drained;
    uint64_t drained_number;
    uint64_t closed_behind; /* of the first block; see struct layout_block */
    uint64_t bytes;         /* of its blocks, as in the directory; 0 in version 2, as what follows */
    uint64_t begin;         /* the position at which its thread began */
    uint64_t after;         /* index + 1 of the ring that its thread left for this one; 0: of none */
};

/* It stands behind the blocks, on a page of its own. */
struct layout_tail {
    uint64_t opened_before; /* of the last block; see struct layout_block */
};

/* A block is opened for the first record that does not fit into the one before; a record never crosses blocks. */
struct layout_block {
    uint64_t sequence;
    uint64_t number;  /* of its first record: how many records the ring had before */
    uint64_t counter; /* when it was opened: no record in it is older, none in the block before is newer */
    struct layout_clock clock; /* the newest triple of its thread then, taken at most 10 ms before */
    uint32_t ring;             /* index of the ring */
    uint32_t tid;
    char thread[16]; /* NUL-terminated */
    uint16_t first;  /* offset of the first record in the block, bytes */
    uint16_t after;  /* index + 1 of the ring that the thread left for this one; 0: of none */
    uint16_t reserved[2];
    uint64_t opened_before; /* of the slot before: sequence of its block, raised before that is written to */
    uint64_t closed_behind; /* of the slot behind: sequence of its block, once all of that is written */
    uint64_t words[LAYOUT_BLOCK_WORDS - 14]; /* records, one after another */
};

#define LAYOUT_BLOCK_HEADER_BYTES 112u

/* ---- Records ----
 *
 *     byte    63                              32 31            16 15             0
 *             +---------------------------------+----------------+----------------+
 *        0    | mark                            | id             | bytes          |
 *             +---------------------------------+----------------+----------------+
 *        8    | stamp                                                             |
 *             +-------------------------------------------------------------------+
 *       16    | object                                                            |
 *             +---------------------------------+---------------------------------+
 *       24    | size                            | owner                           |
 *             +---------------------------------+---------------------------------+
 *       32    | argument 0                                                        |
 *             +-------------------------------------------------------------------+
 *             | ... one word for each argument of the tracepoint                  |
 *             +-------------------------------------------------------------------+
 *             | bytes of the strings, each from a word boundary on, then zeros    |
 *             +-------------------------------------------------------------------+
 *
 *     mark      the low 32 bits of the position of this word; this word is written last
 *     id        of the tracepoint, or LAYOUT_ID_PADDING
 *     bytes     of the whole record: a multiple of 8, at least 32, within the block
 *     stamp     never decreases from one record of a thread to the next in its ring
 *     object    id of the object, mostly its address
 *     size      given by the program, in units of its own
 *     owner     id of the owner, 0: none
 *
 * An argument's word holds its value. For a string it is
 *
 *             63                              32 31            16 15             0
 *             +---------------------------------+----------------+----------------+
 *             | length of the whole text        | offset         | bytes          |
 *             +---------------------------------+----------------+----------------+
 *
 * where the text's first `bytes` bytes stand `offset` bytes behind the record's beginning, without a NUL. It was cut
 * if `bytes` is less than the length; a length that does not fit is UINT32_MAX. Offset 0 is a null pointer. */
#define LAYOUT_RECORD_BYTES 32u
/* Id of what fills the rest of a block: one word, whose `bytes` are to be passed over. It is no record and has no
 * number. */
#define LAYOUT_ID_PADDING 0xffffu

/* The beginning of a record. */
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

/* Position and number in a word as `reserved` and `committed` hold it. */
static inline uint64_t layout_position(uint64_t packed, uint64_t position_base)
{
    return layout_extend(packed, position_base, LAYOUT_POSITION_BITS);
}

static inline uint64_t layout_number(uint64_t packed, uint64_t number_base)
{
    return layout_extend(packed >> LAYOUT_POSITION_BITS, number_base, LAYOUT_NUMBER_BITS);
}

static inline uint64_t layout_clock_check(const struct layout_clock *clock)
{
    return LAYOUT_CLOCK_CHECK ^ clock->counter ^ clock->monotonic ^ clock->boottime ^ clock->error;
}

static_assert(sizeof(struct layout_clock) == 40, "layout");
static_assert(sizeof(struct layout_header) == 264, "layout");
static_assert(LAYOUT_V2_HEADER_BYTES == 248, "layout");
static_assert(LAYOUT_V2_STATES + LAYOUT_V2_MAX_RINGS <= LAYOUT_PAGE, "layout");
static_assert(sizeof(struct layout_place) == 16, "layout");
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
