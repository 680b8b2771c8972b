/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording as one page for a browser: what its parts share.
 *
 *   format.c   the format: the order of what is written, scripts and lines between the events
 *   places.c   threads, owners and tracks, which get numbers as they are met
 *   lives.c    the objects that live: which track and lane they have, what is known of them
 *   chunk.c    some ten thousand events as columns (column.h), each chunk readable without the others
 *   sums.c     what is drawn where there are too many events to draw: how many there are in each instant, and in which
 *              steps objects are; the heat maps
 *   tables.c   names, counts, latencies and notes as JSON, at the end of the page
 *   deflate.c  zlib
 *
 * The page itself, its style and its script, is in src/page. Memory is bounded: chunks are written when they are full,
 * sums have a fixed number of instants that become longer with the recording. */
#ifndef SPOOR_EXPORT_HTML_PAGE_H
#define SPOOR_EXPORT_HTML_PAGE_H

#include "base/table.h"
#include "export/export.h"
#include "export/html/column.h"
#include "export/html/deflate.h"
#include "export/living.h"
#include "reader/latency.h"

enum {
    PAGE_CHUNK = 1 << 16, /* events; of very many objects up to PAGE_CHUNK_MAX */
    PAGE_CHUNK_MAX = 1 << 19,
    PAGE_TEXTS = 1 << 22,      /* bytes of strings in a chunk */
    PAGE_PLACES_MAX = 1 << 12, /* threads, owners, tracks; what comes later shares number 0 */
    PAGE_INSTANTS = 1 << 13,
    PAGE_SERIES_MAX = 256,
    PAGE_TOTAL = 1 << 30, /* in place of a track: all tracks of a type, which is added */
    PAGE_HEAT_COLUMNS = 256,
    PAGE_HEAT_ROWS = 8 * 48, /* 8 for each power of two, up to 2^48 ns */
    PAGE_HEATS_MAX = 64,
    PAGE_SLOWEST = 20,
    PAGE_LINES = 1 << 14, /* of another output, in a part */
};

struct series {      /* how many things there are at a time: those that began, without those that ended */
    int64_t *counts; /* PAGE_INSTANTS of them */
    int64_t *times;  /* of the same, how far from the instant's beginning they were, summed */
};

struct thread {
    uint32_t id, index;
    char name[RECORDING_NAME];
    uint64_t events;
    uint32_t *counts; /* events in each instant; NULL: there are too many threads */
};

struct track { /* the objects of one type that one owner has */
    uint32_t index, owner;
    int16_t type;
    uint64_t *lanes; /* a bit for each lane: it is in use */
    size_t words, free_word, lane_count;
};

struct life {
    struct living living;
    uint64_t serial;      /* counts all objects of the page from 0 */
    uint64_t number;      /* or OBJECT_UNNUMBERED */
    uint64_t begun, last; /* ns since the start */
    struct track *track;
    size_t lane;
    uint32_t last_tracepoint; /* index */
    uint64_t chunk, local;    /* the chunk that has it, and its number there */
    uint64_t last_chunk;      /* chunk of its last event */
};

struct heat { /* how often which latency was at which time */
    int16_t type;
    int32_t from, to; /* indexes of tracepoints; -1: the whole life */
    uint32_t *cells;  /* PAGE_HEAT_COLUMNS × PAGE_HEAT_ROWS */
};

struct slow {
    uint64_t serial, number, id, begun, ended;
    int16_t type;
};

struct step_series { /* the steps of a track, or of a type, that begin with one tracepoint */
    uint32_t track, tracepoint;
    struct series series;
};

struct sums {
    uint64_t instant; /* ns: how long one is */
    struct step_series *series;
    size_t series_count, series_room;
    struct table by_key;
    uint64_t column; /* ns: how long a column of the heat maps is */
    struct heat *heats;
    size_t heat_count, heat_room;
    struct table heat_by_key;
    uint64_t left_out; /* steps in no series */
};

struct rows {             /* the events of one tracepoint in the chunk */
    struct numbers words; /* argument after argument, event after event */
    struct text strings[RECORDING_ARGUMENTS_MAX];
};

struct chunk {
    uint64_t number;
    uint64_t begun, ended; /* ns */
    size_t text_bytes;     /* of all strings */
    struct numbers times, tracepoints, threads, owners, objects, sizes;
    struct numbers lost;                   /* pairs: index of the event, how many are missing before it */
    struct numbers related_masks, related; /* per event of a tracepoint with relations; per bit of a mask */
    struct numbers serials, tracks, lanes, numbers, ids, begins; /* of the objects */
    struct rows *rows;                                           /* by index of the tracepoint */
    size_t row_room;
};

struct page {
    const struct recording *recording;
    const struct recording_model *model;
    struct text compressed; /* the buffer of page_deflate() */
    struct text bytes;      /* of what is compressed next */
    uint64_t start, last;   /* ns: what times count from; the newest time, since then */
    uint64_t first;
    bool has_ends[256];

    uint32_t tracepoint_indexes[65536]; /* by id: index + 1 */
    const struct recording_tracepoint **tracepoints;
    size_t tracepoint_count, tracepoint_room;

    struct table threads, owners, tracks;
    struct text label;

    struct living_table living;
    uint64_t serials;
    struct chunk chunk;
    struct numbers chunks;      /* triples: events, first and last time */
    struct numbers crossing[8]; /* steps that go on from one chunk into another: see chunk.c */
    struct numbers line_times, line_lengths;
    struct text line_bytes;
    uint64_t lines, events;
    struct sums sums;
    struct latency_table latency;
    struct slow *slowest[256];
    size_t slowest_count[256];
};

/* All of these return 0 or -errno where they return an int. */

/* places.c: what is new gets the next number. NULL or -1: there is no memory. */
struct thread *page_thread(struct page *page, const struct recording_event *event);
int64_t page_owner(struct page *page, const struct recording_event *event); /* 0: none */
struct track *page_track(struct page *page, uint32_t owner, int16_t type);
int64_t page_tracepoint(struct page *page, const struct recording_tracepoint *tracepoint);
int64_t track_take_lane(struct track *track);
void track_give_lane(struct track *track, size_t lane);
void page_places_free(struct page *page);

/* lives.c */
int page_follow(struct page *page, const struct export_event *at, uint64_t time, uint32_t owner,
                struct life **result);
/* Called when the event of page_follow() was added to the chunk: an object that ends with it is removed. */
int page_followed(struct page *page, const struct export_event *at, struct life *life);
/* Ends all lives: where events say that objects end, they go on to the end. */
int page_end_lives(struct page *page);

/* chunk.c */
int chunk_add(struct page *page, const struct export_event *at, uint64_t time, const struct thread *thread,
              uint32_t owner, struct life *life);
bool chunk_is_full(const struct page *page);
int chunk_write(struct page *page, struct text *out);
/* Keeps a step for those who look at a part of the page that has neither of its ends. */
int chunk_cross(struct page *page, const struct life *life, uint64_t until);
int chunk_write_crossing(struct page *page, struct text *out, size_t much);
void chunk_free(struct page *page);
/* Writes the collected bytes as an element that the page's script finds by its name. */
int page_write_data(struct page *page, struct text *out, const char *name);

/* sums.c */
int sums_step(struct page *page, const struct life *life, uint64_t until);
int sums_event(struct page *page, struct thread *thread, uint64_t time);
int sums_latency(struct page *page, int16_t type, int32_t from, int32_t to, uint64_t time, uint64_t latency);
int sums_write(struct page *page, struct text *out);
void sums_free(struct page *page);

/* tables.c */
void page_write_tables(struct page *page, struct text *out, const struct export *export);

#endif
