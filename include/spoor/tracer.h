/* SPDX-License-Identifier: BSD-3-Clause */
/* spoor/tracer.h: a tracer inside your program, for C and C++ on Linux. Link with -lspoortracer (pkg-config
 * spoortracer).
 *
 *   struct spoor_tracer_options options = {.size = sizeof options};
 *   struct spoor_tracer *tracer;
 *   int64_t opened;
 *
 *   if (spoor_tracer_open(&options, &tracer) ||
 *       spoor_tracer_attach(tracer, "tracepoint:syscalls:sys_enter_openat", "@opened = count();") ||
 *       spoor_tracer_start(tracer))
 *       fprintf(stderr, "%s", spoor_tracer_error(tracer));
 *   while (!spoor_tracer_is_over(tracer))
 *       spoor_tracer_poll(tracer, 100);      // or now and then, from a loop of your own
 *   spoor_tracer_read_integer(tracer, "@opened", &opened);
 *   spoor_tracer_close(tracer);
 *
 * Scripts are those of spoor(1). What they print goes to a callback, maps are read as values with types.
 *
 * The library never ends the process, never writes to its standard output or error stream, and keeps no
 * signal handler: only while it reads debug information there is one for SIGBUS, which a file that somebody
 * cuts short meanwhile raises; other faults go to the handler that was there. It does not look at the
 * environment's SPOOR_ and BPFTRACE_ settings: `config = { … }` in a script does. It forks short-lived
 * helpers, which it waits for itself: one that closes what is slow to close, one that tries where probes may
 * stand, one that reads line numbers.
 *
 * Threads: a program may have any number of tracers. One tracer belongs to one thread at a time: calls for it
 * must not overlap, and callbacks come in the thread that calls. Different tracers in different threads do
 * not disturb each other. Nothing here may be called from a signal handler. After fork, a tracer is the
 * parent's: the child must leave it alone.
 *
 * All functions that return int give 0 (or what is said there) or -errno, and then spoor_tracer_error() says
 * what, where and what to do about it. */
#ifndef SPOOR_TRACER_H
#define SPOOR_TRACER_H

#if !defined(__linux__) || !defined(__LP64__)
#error "spoor/tracer.h needs 64-bit Linux"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPOOR_TRACER_API_ __attribute__((visibility("default")))

struct spoor_tracer;
struct spoor_tracer_event;

/* ======== Making one ======== */

enum spoor_tracer_flags {
    SPOOR_TRACER_UNSAFE = 1,      /* scripts may change the system: signal(), system() … */
    SPOOR_TRACER_JSON = 2,        /* what scripts print is JSON, a line for each record */
    SPOOR_TRACER_FOLLOW = 4,      /* with pids: also what these processes start */
    SPOOR_TRACER_PRINT_MAPS = 8,  /* spoor_tracer_stop prints all maps, as the command does */
    SPOOR_TRACER_CHECK_ONLY = 16, /* compile only: asks nothing of the kernel, and needs no privilege */
};

/* Zero is the default of everything but `size`. A larger struct, from a later version of this header, is refused
 * (-E2BIG) unless the members that this version does not know are zero. */
struct spoor_tracer_options {
    size_t size;      /* sizeof(struct spoor_tracer_options) */
    const char *name; /* name of the script in messages; default: "script" */
    unsigned flags;   /* enum spoor_tracer_flags */
    unsigned reserved;
    /* Traces only these processes; the trace is over when the last one has ended. */
    const pid_t *pids;
    size_t pid_count;
    const char *const *parameters; /* $1, $2 … of scripts */
    size_t parameter_count;
    /* Files of recordings for `trace:` probes: NULL-terminated, or NULL: the newest. */
    const char *const *recordings;
    /* Directories where headers are looked for, and headers that are included before the script; both
     * NULL-terminated, or NULL. */
    const char *const *directories, *const *headers;
    /* Gets what a script prints: whole records, in order, not NUL-terminated. */
    void (*output)(void *state, const char *bytes, size_t length);
    /* Gets what else is reported while it runs: warnings, lost events, errorf(). A text of whole lines. */
    void (*report)(void *state, const char *text);
    /* Gets each printf() or print() with its values. Returns true if it shall not be printed as well. */
    bool (*event)(void *state, const struct spoor_tracer_event *event);
    void *state; /* passed to all three functions */
};

/* Makes a tracer. The options and their strings are copied, except what `state` points to. On failure *tracer is
 * NULL, and spoor_tracer_error(NULL) says why. */
SPOOR_TRACER_API_ int spoor_tracer_open(const struct spoor_tracer_options *options,
                                        struct spoor_tracer **tracer);

/* Adds the text of a script: probes with their blocks, macros, config and so on. Several texts make one script. */
SPOOR_TRACER_API_ int spoor_tracer_add(struct spoor_tracer *tracer, const char *script);

/* Adds one action: `probe` as spoor -l lists them ("uprobe:/usr/bin/x:main", "usdt:*:request_done",
 * "tracepoint:sched:sched_switch"), `action` as it would be written between the braces. */
SPOOR_TRACER_API_ int spoor_tracer_attach(struct spoor_tracer *tracer, const char *probe, const char *action);

/* Compiles what was added; -EINVAL: mistakes in it. spoor_tracer_start does it too. */
SPOOR_TRACER_API_ int spoor_tracer_compile(struct spoor_tracer *tracer);

/* Loads and attaches the programs; runs begin probes. After a failure only spoor_tracer_error and
 * spoor_tracer_close are of use. -EPERM: privileges are missing. */
SPOOR_TRACER_API_ int spoor_tracer_start(struct spoor_tracer *tracer);

/* Waits up to so many milliseconds until something has arrived, and acts on all that has: output, event and
 * report are called. 0 does not wait. Returns the number of records, which is 0 for recordings: these are
 * read until they end or the time has passed. */
SPOOR_TRACER_API_ int spoor_tracer_poll(struct spoor_tracer *tracer, int milliseconds);

/* Returns a descriptor for poll(2) that becomes readable when a buffer is filling up, which in quiet times may take
 * very long: also call spoor_tracer_poll now and then, say ten times a second. -1: there is none. */
SPOOR_TRACER_API_ int spoor_tracer_descriptor(const struct spoor_tracer *tracer);

/* Returns whether nothing is left to wait for: exit() was called, the processes have ended, or the recordings are
 * at their end. */
SPOOR_TRACER_API_ bool spoor_tracer_is_over(const struct spoor_tracer *tracer);

/* Detaches, acts on the records that are still there, runs end probes. Maps can be read until spoor_tracer_close.
 * Returns what the script gave to exit(), else 0; or -errno. */
SPOOR_TRACER_API_ int spoor_tracer_stop(struct spoor_tracer *tracer);

/* Frees a tracer, running or not; without end probes if spoor_tracer_stop was not called. NULL is allowed. */
SPOOR_TRACER_API_ void spoor_tracer_close(struct spoor_tracer *tracer);

/* Returns what the last failure was: lines as "script:2:14-20: ERROR: …", the script's line, a hint; "" if there
 * was none. Valid until the next call for this tracer. NULL: the last failure of spoor_tracer_open in this thread. */
SPOOR_TRACER_API_ const char *spoor_tracer_error(const struct spoor_tracer *tracer);

/* Warnings of the compiler, in the same form; "" if there are none. */
SPOOR_TRACER_API_ const char *spoor_tracer_warnings(struct spoor_tracer *tracer);

/* ======== Values ======== */

enum spoor_tracer_kind {
    SPOOR_TRACER_NONE,
    SPOOR_TRACER_INTEGER,   /* also bool, enums, pointers; count, sum, min, max */
    SPOOR_TRACER_TEXT,      /* strings, and what has a name: symbols, stacks, addresses, users, times … */
    SPOOR_TRACER_BYTES,     /* buf() */
    SPOOR_TRACER_TUPLE,     /* tuples, records, structs, arrays: has items */
    SPOOR_TRACER_STATS,     /* avg, stats */
    SPOOR_TRACER_HISTOGRAM, /* hist, lhist: has rows */
    SPOOR_TRACER_SERIES,    /* tseries: has points */
};

/* A reference to a value: valid until the callback that got it returns. Only these functions make and read it;
 * copies of the struct refer to the same value. */
struct spoor_tracer_value {
    const void *private_[4];
    uint64_t private_word_[4];
};

SPOOR_TRACER_API_ enum spoor_tracer_kind spoor_tracer_kind(const struct spoor_tracer_value *value);

/* Writes the name of the value's type in the script's language: "uint64", "string[64]", "count_t". Returns the
 * name's length, as snprintf does; so do all functions here that write a text. */
SPOOR_TRACER_API_ size_t spoor_tracer_type(const struct spoor_tracer_value *value, char *text, size_t size);

/* INTEGER: its value (unsigned ones of 2^63 and more are negative). STATS: the average. TEXT: the number
 * behind a name: an address, an id, nanoseconds. Others: 0. */
SPOOR_TRACER_API_ int64_t spoor_tracer_integer(const struct spoor_tracer_value *value);
SPOOR_TRACER_API_ bool spoor_tracer_is_signed(const struct spoor_tracer_value *value);

/* Writes a value of any kind as print() does; a histogram with its rows. Returns the length without the NUL, which
 * may be `size` or more: then the text was cut. */
SPOOR_TRACER_API_ size_t spoor_tracer_text(const struct spoor_tracer_value *value, char *text, size_t size);

/* TEXT of a string, BYTES: the bytes themselves; else NULL. */
SPOOR_TRACER_API_ const void *spoor_tracer_bytes(const struct spoor_tracer_value *value, size_t *length);

/* TUPLE: its items, and their names ("" where they have none). -ERANGE: there is no such item. */
SPOOR_TRACER_API_ size_t spoor_tracer_items(const struct spoor_tracer_value *value);
SPOOR_TRACER_API_ int spoor_tracer_item(const struct spoor_tracer_value *value, size_t index,
                                        struct spoor_tracer_value *item);
SPOOR_TRACER_API_ const char *spoor_tracer_item_name(const struct spoor_tracer_value *value, size_t index);

/* STATS. -EINVAL: the value is of another kind. */
struct spoor_tracer_stats {
    uint64_t count;
    int64_t total, average;
};
SPOOR_TRACER_API_ int spoor_tracer_stats(const struct spoor_tracer_value *value,
                                         struct spoor_tracer_stats *stats);

/* HISTOGRAM: the rows that print() shows, from the first to the last that is not 0. */
struct spoor_tracer_row {
    int64_t low, high; /* both inclusive */
    uint64_t count;
    bool has_low, has_high; /* false: the row has everything below, or above, all others */
};
SPOOR_TRACER_API_ size_t spoor_tracer_rows(const struct spoor_tracer_value *value);
SPOOR_TRACER_API_ int spoor_tracer_row(const struct spoor_tracer_value *value, size_t index,
                                       struct spoor_tracer_row *row);

/* SERIES: the intervals that have a value, ordered by time. */
struct spoor_tracer_point {
    uint64_t time; /* when the interval begins, ns since 1970 */
    int64_t value;
};
SPOOR_TRACER_API_ size_t spoor_tracer_points(const struct spoor_tracer_value *value);
SPOOR_TRACER_API_ int spoor_tracer_point(const struct spoor_tracer_value *value, size_t index,
                                         struct spoor_tracer_point *point);

/* ======== Maps: from spoor_tracer_start to spoor_tracer_close ======== */

/* Returns the name of map number `index`, with its @; NULL: there is none. */
SPOOR_TRACER_API_ const char *spoor_tracer_map(const struct spoor_tracer *tracer, size_t index);

/* Calls the visitor for each entry, in the order in which print() shows them; key is NULL where the map has none. A
 * visitor's result other than 0 ends the walk and is returned. -ENOENT: there is no such map. The visitor must not
 * make calls for the tracer, but may use the functions above. */
typedef int spoor_tracer_visitor(void *state, const struct spoor_tracer_value *key,
                                 const struct spoor_tracer_value *value);
SPOOR_TRACER_API_ int spoor_tracer_each(struct spoor_tracer *tracer, const char *map,
                                        spoor_tracer_visitor *visit, void *state);

/* Reads the value of a map without a key, or of one entry: `key` is the text that print() shows between the
 * brackets. -ENOENT: there is no such map or entry. -EINVAL: the value is no integer. */
SPOOR_TRACER_API_ int spoor_tracer_read_integer(struct spoor_tracer *tracer, const char *map, int64_t *value);
SPOOR_TRACER_API_ int spoor_tracer_read_entry(struct spoor_tracer *tracer, const char *map, const char *key,
                                              int64_t *value);

/* Prints a map as print(@map, top, divisor) does (0: all, 1): in one call of write. */
SPOOR_TRACER_API_ int spoor_tracer_print(struct spoor_tracer *tracer, const char *map, uint64_t top,
                                         uint64_t divisor,
                                         void (*write)(void *state, const char *bytes, size_t length),
                                         void *state);

/* clear(@map) and zero(@map). */
SPOOR_TRACER_API_ int spoor_tracer_clear(struct spoor_tracer *tracer, const char *map);
SPOOR_TRACER_API_ int spoor_tracer_zero(struct spoor_tracer *tracer, const char *map);

/* ======== Events: within the callback `event` ======== */

SPOOR_TRACER_API_ const char *
spoor_tracer_event_function(const struct spoor_tracer_event *event); /* "printf" */
SPOOR_TRACER_API_ const char *spoor_tracer_event_probe(const struct spoor_tracer_event *event);
/* Returns nanoseconds of CLOCK_BOOTTIME; 0 where nothing needed the clock. */
SPOOR_TRACER_API_ uint64_t spoor_tracer_event_time(const struct spoor_tracer_event *event);
/* The values behind the format of printf(), or the one of print(). */
SPOOR_TRACER_API_ size_t spoor_tracer_event_values(const struct spoor_tracer_event *event);
SPOOR_TRACER_API_ int spoor_tracer_event_value(const struct spoor_tracer_event *event, size_t index,
                                               struct spoor_tracer_value *value);

/* The version of the library, "0.1.0". */
SPOOR_TRACER_API_ const char *spoor_tracer_version(void);

#ifdef __cplusplus
}
#endif

#endif
