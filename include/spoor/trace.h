/* SPDX-License-Identifier: BSD-3-Clause */
/* spoor/trace.h: tracepoints into a flight recorder, for C programs on Linux (gcc, clang; x86-64, aarch64;
 * C11). Link with -lspoor.
 *
 *   // bdev_trace.h: what can be recorded, defined once
 *   SPOOR_GROUP(bdev, "block devices");
 *   SPOOR_OWNER(bdev, 'b');
 *   SPOOR_OBJECT(bdev_io, 'i');
 *   SPOOR_ENUM(io_type, SPOOR_VALUE(IO_READ), SPOOR_VALUE(IO_WRITE));
 *   SPOOR_TRACEPOINT(bdev, BDEV_IO_START, bdev_io, SPOOR_BEGINS, (enum io_type, type, io_type),
 *                    (uint64_t, offset), (uint32_t, len));
 *   SPOOR_TRACEPOINT(bdev, BDEV_IO_DONE, bdev_io, SPOOR_ENDS, (const void *, ctx));
 *
 *   // bdev.c
 *   SPOOR_TRACEPOINT_HERE(BDEV_IO_START);    // the tracepoint's one home in the program
 *   SPOOR_TRACEPOINT_HERE(BDEV_IO_DONE);
 *   …
 *   SPOOR_RECORD(BDEV_IO_START, io->bdev->owner, io, io->type, io->offset, io->len);
 *
 *   // main.c
 *   struct spoor_trace_options options = {.size = sizeof options, .name = "blockd", .enable = "bdev"};
 *   if (spoor_trace_open(&options) != 0)
 *       fprintf(stderr, "%s\n", spoor_trace_error());
 *
 * The recording is a file in shared memory that `spoor report` reads: while the program runs, after it was
 * killed, or from a copy.
 *
 * Off, a tracepoint costs two loads, a test and a branch; its arguments are not evaluated. On, it costs
 * little more than reading the CPU's cycle counter: no lock, no system call, no allocation. Recording is safe
 * in every thread and in signal handlers, leaves errno alone, and never fails in a way that the program could
 * notice: what cannot be recorded is counted as lost.
 *
 * A signal handler that may record must not leave by longjmp. fork: the child gets a recording of its own
 * when it first records; a child made by a bare clone system call or _Fork must not record before exec.
 *
 * Names that end in _ or carry _v1 or _v2 serve the macros: do not use them.
 */
#ifndef SPOOR_TRACE_H
#define SPOOR_TRACE_H

#if defined(__cplusplus)
#error "spoor/trace.h is for C; spoor/probe.h serves C++"
#endif
#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__)) || !defined(__LP64__)
#error "spoor/trace.h needs Linux on x86-64 or aarch64"
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SPOOR_TRACE_API_ __attribute__((visibility("default")))

/* ======== Declarations: at file scope, mostly in a header ======== */

/* A group of tracepoints. `name` is a C identifier: what users write in "-e name". `text` says what it is
 * about. */
#define SPOOR_GROUP(name_, text_)                                                                            \
    static const struct spoor_group spoor_group_##name_                                                      \
        __attribute__((unused)) = {#name_, text_, __FILE__, __LINE__};                                       \
    SPOOR_ENTRY_(spoor_group_entry_##name_, SPOOR_ENTRY_GROUP_, &spoor_group_##name_, NULL)

/* A type of objects that begin and end (requests, I/Os). `letter` precedes the number that a reader gives to each:
 * i429. */
#define SPOOR_OBJECT(name_, letter_)                                                                         \
    SPOOR_LETTER_(letter_);                                                                                  \
    static const struct spoor_object spoor_object_##name_                                                    \
        __attribute__((unused)) = {#name_, __FILE__, __LINE__, letter_};                                     \
    SPOOR_ENTRY_(spoor_object_entry_##name_, SPOOR_ENTRY_OBJECT_, &spoor_object_##name_, NULL)

/* A type of owners, which act on objects (a queue pair, a device); `letter` as above: b2. Owners are registered at
 * run time. */
#define SPOOR_OWNER(name_, letter_)                                                                          \
    SPOOR_LETTER_(letter_);                                                                                  \
    static const struct spoor_owner_type spoor_owner_##name_                                                 \
        __attribute__((unused)) = {#name_, __FILE__, __LINE__, letter_};                                     \
    SPOOR_ENTRY_(spoor_owner_entry_##name_, SPOOR_ENTRY_OWNER_, &spoor_owner_##name_, NULL)

/* Names for the values of an argument: SPOOR_ENUM(state, SPOOR_VALUE(IDLE), SPOOR_VALUE(BUSY)), then (enum
 * state, now, state). */
#define SPOOR_ENUM(name_, ...)                                                                               \
    static const struct spoor_enumerator spoor_enum_##name_[]                                                \
        __attribute__((unused)) = {__VA_ARGS__, {NULL, 0}}
#define SPOOR_VALUE(name_)                                                                                   \
    {                                                                                                        \
#name_, (int64_t)(name_)                                                                             \
    }

/* What an event means for its object: the argument `life` of SPOOR_TRACEPOINT. */
enum spoor_life {
    SPOOR_USES = 0,
    SPOOR_BEGINS = 1, /* a new instance */
    SPOOR_ENDS = 2,
};

/* SPOOR_TRACEPOINT(group, NAME, object, life, (type, argument)…): up to 12 arguments. object `none`: the event is
 * about no object. A type is an integer, enum, bool, pointer, double or float; char * and const char * are strings:
 * the text is recorded (up to about 3900 bytes, shared by all strings of the record; a text that is cut is marked),
 * and NULL is allowed. A third word in the parentheses names an SPOOR_ENUM. Types that need text after the name
 * (function pointers) go through a typedef. A name is one tracepoint in the whole program, whatever its group. */
#define SPOOR_TRACEPOINT(group_, name_, object_, ...)                                                        \
    static inline int spoor_tracepoint_##name_##_listened(void)                                              \
    {                                                                                                        \
        return 0;                                                                                            \
    }                                                                                                        \
    SPOOR_DEFINE_(spoor_tracepoint_##name_, #name_, spoor_group_##group_, spoor_object_##object_, 0,         \
                  SPOOR_NOTHING_, ~, __VA_ARGS__)

/* As SPOOR_TRACEPOINT, and the tracepoint is a USDT probe group:NAME, too; its arguments are owner, object, then
 * those given: up to 10. Needs #include <spoor/probe.h> before. The probe fires for every listener, whether the
 * recorder is on or not. */
#define SPOOR_TRACEPOINT_USDT(group_, name_, object_, ...)                                                   \
    SPOOR_PROBE_DECLARE(group_, name_, (uint32_t, owner),                                                    \
                        (const void *, object)SPOOR_EACH_(SPOOR_PAIR_, ~, __VA_ARGS__));                     \
    static inline int spoor_tracepoint_##name_##_listened(void)                                              \
    {                                                                                                        \
        return !!SPOOR_LISTENED(group_, name_);                                                              \
    }                                                                                                        \
    SPOOR_DEFINE_(spoor_tracepoint_##name_, #name_, spoor_group_##group_, spoor_object_##object_,            \
                  SPOOR_FLAG_USDT_, SPOOR_FIRE_, (group_, name_), __VA_ARGS__)

/* Once per tracepoint, in one .c file of the program (or of the shared library that has it). Forgotten, the linker
 * misses a symbol SPOOR_TRACEPOINT_HERE.NAME; written twice, it finds two. Before the header is included, a program
 * may define SPOOR_TRACEPOINT_SCOPE as __attribute__((visibility("hidden"))): then other shared libraries cannot use
 * its tracepoints, and sites in position-independent libraries save a load. */
#define SPOOR_TRACEPOINT_HERE(name_)                                                                         \
    struct spoor_tracepoint spoor_tracepoint_##name_ = {&spoor_zero_,                                        \
                                                        &spoor_tracepoint_##name_##_definition, 0};          \
    SPOOR_ENTRY_(spoor_tracepoint_##name_##_entry, SPOOR_ENTRY_TRACEPOINT_, &spoor_tracepoint_##name_,       \
                 &spoor_tracepoint_##name_##_definition)

#ifndef SPOOR_TRACEPOINT_SCOPE
#define SPOOR_TRACEPOINT_SCOPE
#endif

/* Says that argument `argument_` of this tracepoint holds the id of an object of that type: readers then show the
 * two objects together. Any module may say so, typically the layer above. */
#define SPOOR_RELATION(tracepoint_, argument_, object_)                                                      \
    SPOOR_RELATION_(SPOOR_PASTE_(spoor_relation_##tracepoint_##_##argument_##_##object_, __LINE__),          \
                    spoor_tracepoint_##tracepoint_, #tracepoint_, argument_, #argument_,                     \
                    spoor_object_##object_)

/* ======== Recording ======== */

/* SPOOR_RECORD(NAME, owner, object, arguments…) records an event. owner: from spoor_owner_register, or
 * SPOOR_NO_OWNER. object: what identifies the instance while it lives: a pointer, or a uint64_t. The compiler
 * checks count and types of the arguments. */
#define SPOOR_RECORD(tracepoint_, owner_, ...) SPOOR_RECORD_SIZED(tracepoint_, 0, owner_, __VA_ARGS__)

/* SPOOR_RECORD_SIZED(NAME, size, owner, object, arguments…): as SPOOR_RECORD, with a uint32_t size that readers
 * show in a column of its own. */
#define SPOOR_RECORD_SIZED(tracepoint_, size_, owner_, ...)                                                  \
    do {                                                                                                     \
        const unsigned char spoor_enabled_ = SPOOR_ENABLED_(spoor_tracepoint_##tracepoint_);                 \
        if (__builtin_expect(spoor_enabled_ | spoor_tracepoint_##tracepoint_##_listened(), 0))               \
            SPOOR_PASTE_(SPOOR_CALL_, SPOOR_ONE_OR_MORE_(__VA_ARGS__))                                       \
        (spoor_tracepoint_##tracepoint_##_record, size_, owner_, __VA_ARGS__);                               \
    } while (0)

/* Whether SPOOR_RECORD would do anything now. For a caller that must prepare something costly. */
#define SPOOR_RECORDING(tracepoint_)                                                                         \
    __builtin_expect(                                                                                        \
        SPOOR_ENABLED_(spoor_tracepoint_##tracepoint_) | spoor_tracepoint_##tracepoint_##_listened(), 0)

#define SPOOR_NO_OWNER 0u

/* ======== Owners: not for signal handlers; any thread; also before spoor_trace_open ======== */

struct spoor_owner_type;

/* Registers a new owner: spoor_owner_register(&spoor_owner_bdev, "null0"). description: up to 224 bytes, longer
 * ones are cut; NULL or "": none. Returns the owner's id, never 0; SPOOR_NO_OWNER when memory is short. A recording
 * without a free entry counts that and shows the bare id. */
SPOOR_TRACE_API_ uint32_t spoor_owner_register(const struct spoor_owner_type *type, const char *description);

/* Changes an owner's description: earlier records are still shown with the old one. Unknown ids are ignored. */
SPOOR_TRACE_API_ void spoor_owner_describe(uint32_t owner, const char *description);

/* Ends an owner. Its id is not used again. */
SPOOR_TRACE_API_ void spoor_owner_unregister(uint32_t owner);

/* ======== The recording: not for signal handlers, unless said otherwise; any thread ======== */

enum spoor_trace_flags {
    SPOOR_TRACE_ANNOUNCE = 1,       /* print to stderr how to read the recording */
    SPOOR_TRACE_REMOVE = 2,         /* spoor_trace_close removes the file (after a crash it stays) */
    SPOOR_TRACE_NO_ENVIRONMENT = 4, /* do not look at SPOOR_TRACE and SPOOR_TRACE_DIR */
};

/* Zero is the default of everything but `size`. */
struct spoor_trace_options {
    size_t size; /* sizeof(struct spoor_trace_options) */
    /* The first part of the file's name: letters, digits, . _ - (up to 64); default: the program's name. */
    const char *name;
    /* As for spoor_trace_enable, or "help"; default: the environment's SPOOR_TRACE, else nothing. */
    const char *enable;
    /* Default: the environment's SPOOR_TRACE_DIR, else /dev/shm. */
    const char *directory;
    /* The size of a thread's largest ring: a power of two from 8 KiB to 1 GiB; default 1 MiB. A thread begins with
     * a ring of 16 KiB, and goes on in one four times as large each time that its ring is full, up to this one. */
    size_t ring_bytes;
    /* How many threads at one time can have a ring of ring_bytes; default 256, at most 65535. It limits memory: all
     * rings take at most what those of so many threads do, with the smaller ones that each had before. Of threads
     * that record little many more have rings: 14,000 by default. */
    unsigned threads;
    /* How many rings of each size, of ended threads, are kept before one is used again; default 16. */
    unsigned kept;
    /* Entries for owners and the history of their descriptions; default 1024, at most 65536. */
    unsigned owners;
    unsigned flags; /* enum spoor_trace_flags */
    /* A signal that makes a dump; 0: none. Its disposition is taken over until spoor_trace_close. */
    int dump_signal;
    /* How many seconds the signal's dump covers; 0: everything. */
    unsigned dump_seconds;
    /* Where the signal's dumps go: DUMP_PATH.PID.1.spoor, DUMP_PATH.PID.2.spoor, …; default: /tmp/NAME. */
    const char *dump_path;
};

/* Begins the recording of this process. 0 or -errno; then spoor_trace_error() says what is wrong, and every
 * tracepoint stays off:
 * - EINVAL: an option is wrong, or `enable` names what is not there.
 * - EEXIST: two definitions have one name, or two letters are alike: the text names both files. Or the
 *   recording's file is there and in use.
 * - EALREADY: there is a recording already.
 * - ECANCELED: `enable` was "help": the list was printed to stderr.
 * - others, of the system: directory not writable, no space, … */
SPOOR_TRACE_API_ int spoor_trace_open(const struct spoor_trace_options *options);

/* Ends the recording: all tracepoints are off, the file stays (unless SPOOR_TRACE_REMOVE). Records that other
 * threads are just writing may be lost. Another recording may be opened afterwards. A recording also ends with the
 * process. */
SPOOR_TRACE_API_ void spoor_trace_close(void);

/* Returns the text of this thread's last failure (not of spoor_trace_dump); "" if none. Valid until the next call. */
SPOOR_TRACE_API_ const char *spoor_trace_error(void);

/* Returns the path of the recording's file; NULL if none is open. Valid until spoor_trace_close. */
SPOOR_TRACE_API_ const char *spoor_trace_path(void);

/* Switches tracepoints on, off. `what`, comma separated: `group` or `group:*`, `group:NAME`, `group:mask` (a
 * number, 0x for hexadecimal: bit i is the group's tracepoint i as the list shows it), `all`. Groups and
 * names may have * and ?. 0 or -errno: -EINVAL, then nothing was changed; -ENOENT: no recording. */
SPOOR_TRACE_API_ int spoor_trace_enable(const char *what);
SPOOR_TRACE_API_ int spoor_trace_disable(const char *what);

/* Records from now on only what one of these owners (up to 8) does to one of these objects (up to 8); no owners or
 * no objects: all of them. Returns 0 or -errno. */
SPOOR_TRACE_API_ int spoor_trace_filter(const uint32_t *owners, unsigned owner_count, const uint64_t *objects,
                                        unsigned object_count);

/* Lists groups and tracepoints with their masks. */
SPOOR_TRACE_API_ void spoor_trace_list(FILE *stream);

/* Writes the newest `seconds` (0: everything) of the recording to a new file, which is a recording too; an
 * existing file is not overwritten (-EEXIST). The program goes on recording meanwhile. 0 or -errno. Safe in
 * signal handlers. */
SPOOR_TRACE_API_ int spoor_trace_dump(const char *path, unsigned seconds);

/* Makes the calling thread's ring now, of ring_bytes (or less where that is not to be had) and with memory behind it,
 * instead of a small one at its first record, and names it (NULL: by the kernel's name of the thread; up to 15
 * bytes). A thread that has a ring gets the name alone. Returns 0 or -errno. */
SPOOR_TRACE_API_ int spoor_trace_thread(const char *name);

/* Returns how many records of the open recording could not be recorded. Safe in signal handlers. */
SPOOR_TRACE_API_ uint64_t spoor_trace_lost(void);

/* ======== What the macros are made of ======== */

struct spoor_group {
    const char *name, *text, *file;
    int line;
};

struct spoor_object {
    const char *name, *file;
    int line;
    char letter;
};

struct spoor_owner_type {
    const char *name, *file;
    int line;
    char letter;
};

struct spoor_enumerator {
    const char *name;
    int64_t value;
};

struct spoor_argument {
    const char *type, *name;
    const struct spoor_enumerator *values; /* ends with a null name */
    uint8_t kind, size;
};

struct spoor_definition {
    const char *name, *file;
    const struct spoor_group *group;
    const struct spoor_object *object;
    const struct spoor_argument *arguments;
    int line;
    uint8_t argument_count, life, flags;
};

struct spoor_tracepoint {
    const volatile unsigned char
        *enabled; /* spoor_zero_ until a recording is open, then a byte in its shared page */
    const struct spoor_definition *definition;
    uint32_t id; /* << 16 */
};

struct spoor_relation {
    const char *tracepoint, *argument, *file;
    const struct spoor_object *object;
    int line;
};

enum spoor_argument_kind_ {
    SPOOR_KIND_NONE_, /* no such argument: does not compile */
    SPOOR_KIND_UNSIGNED_,
    SPOOR_KIND_SIGNED_,
    SPOOR_KIND_POINTER_,
    SPOOR_KIND_STRING_,
    SPOOR_KIND_REAL_,
    SPOOR_KIND_BOOL_,
};

enum { SPOOR_FLAG_USDT_ = 1 };
enum { SPOOR_ENABLE_FILTERED_ = 2 };

static const volatile unsigned char spoor_zero_ __attribute__((unused)) = 0;
static const struct spoor_object spoor_object_none __attribute__((unused)) = {NULL, NULL, 0, 0};
static const struct spoor_enumerator spoor_enum_none[] __attribute__((unused)) = {{NULL, 0}};

/* ---- registration: each module (program or shared library) hands its section of entries to the library ----
 */
enum spoor_entry_kind_ {
    SPOOR_ENTRY_GROUP_ = 1,
    SPOOR_ENTRY_OBJECT_,
    SPOOR_ENTRY_OWNER_,
    SPOOR_ENTRY_TRACEPOINT_,
    SPOOR_ENTRY_RELATION_,
};

struct spoor_entry {
    uint64_t kind;
    const void *what;   /* for a tracepoint: the descriptor; another module's, if that has the same name */
    const void *detail; /* for a tracepoint: its definition here */
};

#if defined(__has_attribute)
#if __has_attribute(retain)
#define SPOOR_RETAIN_ , retain
#endif
#endif
#ifndef SPOOR_RETAIN_
#define SPOOR_RETAIN_
#endif
#define SPOOR_ENTRY_(identifier_, kind_, what_, detail_)                                                     \
    static struct spoor_entry identifier_                                                                    \
        __attribute__((section("spoor_entries"), used, aligned(8) SPOOR_RETAIN_)) = {kind_, what_, detail_}

SPOOR_TRACE_API_ void spoor_module_register_v1(struct spoor_entry *first, struct spoor_entry *end);
SPOOR_TRACE_API_ void spoor_module_unregister_v1(struct spoor_entry *first);

#ifndef SPOOR_TRACE_LIBRARY_
extern struct spoor_entry __start_spoor_entries[] __attribute__((weak, visibility("hidden")));
extern struct spoor_entry __stop_spoor_entries[] __attribute__((weak, visibility("hidden")));
static void __attribute__((constructor, used)) spoor_module_begin_(void)
{
    spoor_module_register_v1(__start_spoor_entries,
                             __stop_spoor_entries); /* once per module, however often called */
}
static void __attribute__((destructor, used)) spoor_module_end_(void)
{
    spoor_module_unregister_v1(__start_spoor_entries);
}
#endif

/* ---- the record path ----
 * A ring consists of blocks of 4 KiB, written by one thread and its signal handlers; its layout is in libspoor's
 * layout.h, and what is inlined here is version 1 of it. positions[0] is what is reserved, positions[1] what is
 * committed: the low 44 bits are a position in words, the bits above it the number of records. Reserving is one
 * instruction that no signal handler can interrupt; it fails if a handler recorded since the position was read, and
 * then the clock is read again, so that times never go back along a ring. */
struct spoor_ring_v1 {
    /* the blocks begin a page behind it. A thread without a ring has zeros here, which look like a full block */
    uint64_t *positions;
    uint64_t mask; /* words of the ring - 1 */
};

extern SPOOR_TRACE_API_ _Thread_local struct spoor_ring_v1 spoor_ring_v1
    __attribute__((tls_model("initial-exec")));

/* Opens the next block if nothing was reserved since `before`, or makes the thread's ring. Returns 0 if the record
 * is lost. */
SPOOR_TRACE_API_ int spoor_open_block_v2(uint64_t before);
SPOOR_TRACE_API_ int spoor_filter_passes_v1(uint32_t owner, uint64_t object);

enum {
    SPOOR_RECORD_WORDS_ = 4,
    SPOOR_BLOCK_HEADER_ = 14,
    SPOOR_BLOCK_WORDS_ = 512,
    SPOOR_BLOCK_ROOM_ = SPOOR_BLOCK_WORDS_ - SPOOR_BLOCK_HEADER_,
    SPOOR_NUMBER_SHIFT_ = 44,
};

struct spoor_place_ {
    uint64_t *positions;
    uint64_t *record;
    uint64_t before, after; /* what was reserved before this record, and with it */
    uint64_t stamp;
};

static inline __attribute__((always_inline)) uint64_t spoor_counter_(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#else
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#endif
}

/* Sets *at to value if it is `old`: atomic for this thread and its signal handlers; other threads see it before
 * what is written next. */
static inline __attribute__((always_inline)) int spoor_exchange_(uint64_t *at, uint64_t old, uint64_t value)
{
#if defined(__x86_64__)
    unsigned char done;
    __asm__ volatile("cmpxchgq %[value], %[at]"
                     : "=@ccz"(done), "+a"(old), [at] "+m"(*at)
                     : [value] "r"(value)
                     : "memory");
    return done;
#else
    const int done = __atomic_compare_exchange_n(at, &old, value, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return done;
#endif
}

static inline __attribute__((always_inline)) int spoor_reserve_(struct spoor_place_ *place, uint64_t words)
{
    for (;;) {
        /* The mask is read before the exchange: when a handler gives the thread another ring, the exchange fails. */
        uint64_t *positions = __atomic_load_n(&spoor_ring_v1.positions, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_ACQUIRE);
        const uint64_t mask = __atomic_load_n(&spoor_ring_v1.mask, __ATOMIC_RELAXED);
        const uint64_t before = __atomic_load_n(&positions[0], __ATOMIC_RELAXED);
        if (__builtin_expect(
                ((before - SPOOR_BLOCK_HEADER_) & (SPOOR_BLOCK_WORDS_ - 1)) > SPOOR_BLOCK_ROOM_ - words, 0)) {
            if (!spoor_open_block_v2(before))
                return 0;
            continue;
        }
        const uint64_t after = before + (words | (uint64_t)1 << SPOOR_NUMBER_SHIFT_);
        place->stamp = spoor_counter_();
        if (__builtin_expect(!spoor_exchange_(&positions[0], before, after), 0))
            continue;
        place->after = after;
        place->positions = positions;
        place->before = before;
        place->record = positions + SPOOR_BLOCK_WORDS_ + (before & mask);
        return 1;
    }
}

/* The outermost of nested records commits all of them. If a handler records while it does so, it commits again. */
static inline __attribute__((always_inline)) void spoor_commit_(const struct spoor_place_ *place,
                                                                uint64_t id_and_bytes)
{
    uint64_t *positions = place->positions, now = place->after;
    __atomic_store_n(place->record, place->before << 32 | id_and_bytes, __ATOMIC_RELEASE);
    if (__builtin_expect(__atomic_load_n(&positions[1], __ATOMIC_RELAXED) != place->before, 0))
        return;
    for (;;) {
        __atomic_store_n(&positions[1], now, __ATOMIC_RELEASE);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        const uint64_t reserved = __atomic_load_n(&positions[0], __ATOMIC_RELAXED);
        if (__builtin_expect(reserved == now, 1))
            return;
        now = reserved;
    }
}

static inline uint64_t spoor_measure_(const char *text)
{
    return text != NULL ? __builtin_strlen(text) : 0;
}

static inline __attribute__((always_inline)) uint64_t spoor_room_(uint64_t length, uint64_t limit)
{
    return ((length < limit ? length : limit) + 7) / 8;
}

static inline __attribute__((always_inline)) unsigned spoor_store_text_(uint64_t *record, unsigned at,
                                                                        unsigned text_at, const char *text,
                                                                        uint64_t length, uint64_t limit)
{
    if (text == NULL) {
        record[at] = 0;
        return text_at;
    }
    const uint64_t here = length < limit ? length : limit, words = spoor_room_(length, limit);
    record[at] = (length < UINT32_MAX ? length : UINT32_MAX) << 32 | (uint64_t)text_at * 8 << 16 | here;
    if (words > 0) {
        record[text_at + words - 1] = 0;
        size_t bytes = here;
        __asm__("" : "+r"(bytes)); /* a compiler that knows its range copies it in a slower way */
        __builtin_memcpy(record + text_at, text, bytes);
    }
    return text_at + (unsigned)words;
}

static inline __attribute__((always_inline)) uint64_t spoor_real_(double value)
{
    uint64_t word;
    __builtin_memcpy(&word, &value, sizeof word);
    return word;
}

/* ---- lists of arguments: SPOOR_EACH_(macro, context, life, pairs…) is macro(context, pair)… ---- */
#define SPOOR_PASTE_(a_, b_) SPOOR_PASTE2_(a_, b_)
#define SPOOR_PASTE2_(a_, b_) a_##b_
#define SPOOR_TEXT_(a_) SPOOR_TEXT2_(a_)
#define SPOOR_TEXT2_(a_) #a_
#define SPOOR_FIRST_(a_, ...) a_
#define SPOOR_SECOND_(a_, b_, ...) b_
#define SPOOR_ARGUMENTS_(...)                                                                                \
    SPOOR_ARGUMENTS2_(__VA_ARGS__, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~)
#define SPOOR_ARGUMENTS2_(l_, a_, b_, c_, d_, e_, f_, g_, h_, i_, j_, k_, m_, n_, o_, p_, count_, ...) count_
#define SPOOR_ONE_OR_MORE_(...)                                                                              \
    SPOOR_ARGUMENTS2_(__VA_ARGS__, more, more, more, more, more, more, more, more, more, more, more, more,   \
                      more, more, more, one, ~)
#define SPOOR_CALL_one(record_, size_, owner_, object_)                                                      \
    record_(spoor_enabled_, size_, owner_, (uintptr_t)(object_))
#define SPOOR_CALL_more(record_, size_, owner_, object_, ...)                                                \
    record_(spoor_enabled_, size_, owner_, (uintptr_t)(object_), __VA_ARGS__)
#define SPOOR_EACH_(macro_, context_, ...)                                                                   \
    SPOOR_PASTE_(SPOOR_EACH_, SPOOR_ARGUMENTS_(__VA_ARGS__))(macro_, context_, __VA_ARGS__)
#define SPOOR_EACH_0(m_, c_, l_)
#define SPOOR_EACH_1(m_, c_, l_, p_) m_(c_, p_)
#define SPOOR_EACH_2(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_1(m_, c_, l_, __VA_ARGS__)
#define SPOOR_EACH_3(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_2(m_, c_, l_, __VA_ARGS__)
#define SPOOR_EACH_4(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_3(m_, c_, l_, __VA_ARGS__)
#define SPOOR_EACH_5(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_4(m_, c_, l_, __VA_ARGS__)
#define SPOOR_EACH_6(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_5(m_, c_, l_, __VA_ARGS__)
#define SPOOR_EACH_7(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_6(m_, c_, l_, __VA_ARGS__)
#define SPOOR_EACH_8(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_7(m_, c_, l_, __VA_ARGS__)
#define SPOOR_EACH_9(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_8(m_, c_, l_, __VA_ARGS__)
#define SPOOR_EACH_10(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_9(m_, c_, l_, __VA_ARGS__)
#define SPOOR_EACH_11(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_10(m_, c_, l_, __VA_ARGS__)
#define SPOOR_EACH_12(m_, c_, l_, p_, ...) m_(c_, p_) SPOOR_EACH_11(m_, c_, l_, __VA_ARGS__)
/* SPOOR_DEFINE_ says what is wrong with these: */
#define SPOOR_EACH_13(m_, c_, l_, ...)
#define SPOOR_EACH_14(m_, c_, l_, ...)
#define SPOOR_EACH_15(m_, c_, l_, ...)

#define SPOOR_LETTER_(letter_)                                                                               \
    _Static_assert((letter_) > ' ' && (letter_) < 0x7f, "a prefix letter is a printable character")

/* ---- one argument: (type, name) or (type, name, names of values) ---- */
#define SPOOR_NOTHING_(...)
#define SPOOR_ONE_(context_, pair_) +1
#define SPOOR_PAIR_(context_, pair_) , (SPOOR_PAIR2_ pair_)
#define SPOOR_PAIR2_(type_, ...) type_, SPOOR_FIRST_(__VA_ARGS__, ~)
#define SPOOR_PARAMETER_(context_, pair_) , SPOOR_PARAMETER2_ pair_
#define SPOOR_PARAMETER2_(type_, ...) type_ SPOOR_FIRST_(__VA_ARGS__, ~)
#define SPOOR_MEMBER_(context_, pair_) SPOOR_PARAMETER2_ pair_;
#define SPOOR_VALUE_OF_(context_, pair_) , SPOOR_VALUE_OF2_ pair_
#define SPOOR_VALUE_OF2_(type_, ...) SPOOR_FIRST_(__VA_ARGS__, ~)
#define SPOOR_FIRE_(provider_and_name_, ...)                                                                 \
    SPOOR_FIRE2_(SPOOR_FIRST_ provider_and_name_, SPOOR_SECOND2_ provider_and_name_, __VA_ARGS__)
#define SPOOR_SECOND2_(a_, b_) b_
#define SPOOR_FIRE2_(provider_, name_, ...) SPOOR_FIRE3_(provider_, name_, __VA_ARGS__)
#define SPOOR_FIRE3_(provider_, name_, ...)                                                                  \
    SPOOR_FIRE(provider_, name_, spoor_owner_,                                                               \
               (const void *)(uintptr_t)spoor_id_ SPOOR_EACH_(SPOOR_VALUE_OF_, ~, __VA_ARGS__));

#define SPOOR_KIND_OF_(value_)                                                                               \
    _Generic((value_),                                                                                                 \
        char *: SPOOR_KIND_STRING_,                                                                                    \
        const char *: SPOOR_KIND_STRING_,                                                                              \
        float: SPOOR_KIND_REAL_,                                                                                       \
        double: SPOOR_KIND_REAL_,                                                                                      \
        long double: SPOOR_KIND_NONE_,                                                                                 \
        _Bool: SPOOR_KIND_BOOL_,                                                                                       \
        char: (char)-1 < 0 ? SPOOR_KIND_SIGNED_ : SPOOR_KIND_UNSIGNED_,                                                \
        signed char: SPOOR_KIND_SIGNED_,                                                                               \
        short: SPOOR_KIND_SIGNED_,                                                                                     \
        int: SPOOR_KIND_SIGNED_,                                                                                       \
        long: SPOOR_KIND_SIGNED_,                                                                                      \
        long long: SPOOR_KIND_SIGNED_,                                                                                 \
        unsigned char: SPOOR_KIND_UNSIGNED_,                                                                           \
        unsigned short: SPOOR_KIND_UNSIGNED_,                                                                          \
        unsigned int: SPOOR_KIND_UNSIGNED_,                                                                            \
        unsigned long: SPOOR_KIND_UNSIGNED_,                                                                           \
        unsigned long long: SPOOR_KIND_UNSIGNED_,                                                                      \
        default: SPOOR_KIND_POINTER_)
#define SPOOR_DESCRIBE_(context_, pair_) SPOOR_DESCRIBE2_ pair_
#define SPOOR_DESCRIBE2_(type_, ...)                                                                         \
    {#type_, SPOOR_TEXT_(SPOOR_FIRST_(__VA_ARGS__, ~)),                                                      \
     SPOOR_PASTE_(spoor_enum_, SPOOR_SECOND_(__VA_ARGS__, none, ~)), SPOOR_KIND_OF_((type_)0),               \
     sizeof(type_)},
#define SPOOR_CHECK_(context_, pair_) SPOOR_CHECK2_ pair_
#define SPOOR_CHECK2_(type_, ...)                                                                            \
    _Static_assert(SPOOR_KIND_OF_((type_)0) != SPOOR_KIND_NONE_ && sizeof(type_) <= 8,                       \
                   "an argument is an integer, enum, bool, pointer, string, float or double");
#define SPOOR_IS_STRING_(value_) (SPOOR_KIND_OF_(value_) == SPOOR_KIND_STRING_)
#define SPOOR_ADD_STRING_(context_, pair_) SPOOR_ADD_STRING2_ pair_
#define SPOOR_ADD_STRING2_(type_, ...) +SPOOR_IS_STRING_((type_)0)
#define SPOOR_MEASURE_(context_, pair_) SPOOR_MEASURE2_ pair_
#define SPOOR_MEASURE2_(type_, ...) SPOOR_MEASURE3_(SPOOR_FIRST_(__VA_ARGS__, ~))
#define SPOOR_MEASURE3_(name_) SPOOR_MEASURE4_(name_)
#define SPOOR_MEASURE4_(name_)                                                                               \
    const uint64_t spoor_length_##name_ =                                                                    \
        SPOOR_IS_STRING_(name_) ? spoor_measure_((const char *)(uintptr_t)(name_)) : 0;
#define SPOOR_ADD_ROOM_(context_, pair_) SPOOR_ADD_ROOM2_ pair_
#define SPOOR_ADD_ROOM2_(type_, ...)                                                                         \
    +spoor_room_(SPOOR_PASTE_(spoor_length_, SPOOR_FIRST_(__VA_ARGS__, ~)), spoor_limit_)
#define SPOOR_STORE_(context_, pair_) SPOOR_STORE2_ pair_
#define SPOOR_STORE2_(type_, ...) SPOOR_STORE3_(SPOOR_FIRST_(__VA_ARGS__, ~))
#define SPOOR_STORE3_(name_) SPOOR_STORE4_(name_)
#define SPOOR_STORE4_(name_)                                                                                 \
    if (SPOOR_IS_STRING_(name_))                                                                             \
        spoor_text_ =                                                                                        \
            spoor_store_text_(place_.record, spoor_at_, spoor_text_, (const char *)(uintptr_t)(name_),       \
                              spoor_length_##name_, spoor_limit_);                                           \
    else if (SPOOR_KIND_OF_(name_) == SPOOR_KIND_REAL_)                                                      \
        place_.record[spoor_at_] = spoor_real_(_Generic((name_), float                                       \
                                                        : (name_), double                                    \
                                                        : (name_), default : 0.0));                          \
    else                                                                                                     \
        place_.record[spoor_at_] = (uint64_t)(uintptr_t)(name_);                                             \
    spoor_at_++;

/* ---- a tracepoint: its description, and the function that records ---- */
#define SPOOR_ENABLED_(tag_)                                                                                 \
    __atomic_load_n(__atomic_load_n(&(tag_).enabled, __ATOMIC_RELAXED), __ATOMIC_RELAXED)
#define SPOOR_DEFINE_(tag_, text_, group_, object_, flags_, fire_, fire_context_, ...)                       \
    _Static_assert(SPOOR_ARGUMENTS_(__VA_ARGS__) <= 12, "a tracepoint has at most 12 arguments");            \
    SPOOR_EACH_(SPOOR_CHECK_, ~, __VA_ARGS__)                                                                \
    struct tag_##_shape {                                                                                    \
        char spoor_nothing_;                                                                                 \
        SPOOR_EACH_(SPOOR_MEMBER_, ~, __VA_ARGS__)                                                           \
    };                                                                                                       \
    static const struct spoor_argument tag_##_arguments[]                                                    \
        __attribute__((unused)) = {SPOOR_EACH_(SPOOR_DESCRIBE_, ~, __VA_ARGS__){NULL, NULL, NULL, 0, 0}};    \
    static const struct spoor_definition tag_##_definition                                                   \
        __attribute__((unused)) = {text_,                                                                    \
                                   __FILE__,                                                                 \
                                   &group_,                                                                  \
                                   &object_,                                                                 \
                                   tag_##_arguments,                                                         \
                                   __LINE__,                                                                 \
                                   0 SPOOR_EACH_(SPOOR_ONE_, ~, __VA_ARGS__),                                \
                                   SPOOR_FIRST_(__VA_ARGS__, ~),                                             \
                                   flags_};                                                                  \
    extern SPOOR_TRACEPOINT_SCOPE struct spoor_tracepoint tag_ __asm__("SPOOR_TRACEPOINT_HERE." text_);      \
    static inline __attribute__((unused, always_inline)) void tag_##_record(                                 \
        unsigned char spoor_enabled_, uint32_t spoor_size_, uint32_t spoor_owner_,                           \
        uint64_t spoor_id_ SPOOR_EACH_(SPOOR_PARAMETER_, ~, __VA_ARGS__))                                    \
    {                                                                                                        \
        enum {                                                                                               \
            spoor_words_ = SPOOR_RECORD_WORDS_ SPOOR_EACH_(SPOOR_ONE_, ~, __VA_ARGS__),                      \
            spoor_strings_ = 0 SPOOR_EACH_(SPOOR_ADD_STRING_, ~, __VA_ARGS__),                               \
            spoor_limit_ = (SPOOR_BLOCK_ROOM_ - spoor_words_) / (spoor_strings_ ? spoor_strings_ : 1) * 8,   \
        };                                                                                                   \
        fire_(fire_context_, __VA_ARGS__) if ((flags_) != 0 && spoor_enabled_ == 0) return;                  \
        if (__builtin_expect(spoor_enabled_ & SPOOR_ENABLE_FILTERED_, 0) &&                                  \
            !spoor_filter_passes_v1(spoor_owner_, spoor_id_))                                                \
            return;                                                                                          \
        SPOOR_EACH_(SPOOR_MEASURE_, ~, __VA_ARGS__)                                                          \
        const uint64_t spoor_all_ = spoor_words_ SPOOR_EACH_(SPOOR_ADD_ROOM_, ~, __VA_ARGS__);               \
        struct spoor_place_ place_;                                                                          \
        if (!spoor_reserve_(&place_, spoor_all_))                                                            \
            return;                                                                                          \
        unsigned spoor_at_ = SPOOR_RECORD_WORDS_, spoor_text_ = spoor_words_;                                \
        SPOOR_EACH_(SPOOR_STORE_, ~, __VA_ARGS__)                                                            \
        (void)spoor_at_, (void)spoor_text_;                                                                  \
        place_.record[1] = place_.stamp;                                                                     \
        place_.record[2] = spoor_id_;                                                                        \
        place_.record[3] = (uint64_t)spoor_size_ << 32 | spoor_owner_;                                       \
        spoor_commit_(&place_, __atomic_load_n(&tag_.id, __ATOMIC_RELAXED) | spoor_all_ * 8);                \
    }                                                                                                        \
    _Static_assert(1, "")
#define SPOOR_RELATION_(identifier_, tag_, tracepoint_text_, argument_, argument_text_, object_)             \
    static const struct spoor_relation identifier_ = {                                                       \
        tracepoint_text_, &argument_text_[0 * sizeof(((struct tag_##_shape *)0)->argument_)], __FILE__,      \
        &object_, __LINE__};                                                                                 \
    SPOOR_ENTRY_(SPOOR_PASTE_(identifier_, _entry), SPOOR_ENTRY_RELATION_, &identifier_, NULL)
#endif
