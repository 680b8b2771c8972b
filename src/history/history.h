/* SPDX-License-Identifier: BSD-3-Clause */
/* What a trace prints, with its time, as one page for a browser: maps with their change over time, lines, messages.
 *
 *   collect.c  is told of what is printed, and looks at maps that are not
 *   states.c   the states of one map, as bytes; their number is bounded by leaving out every second one
 *   lines.c    printed lines and messages; the oldest are left out when they are too many
 *   write.c    all of it as a page: data of src/export/html, read by src/page/history
 *
 * A map that the script prints has the states that were printed. Of others, a state is taken now and then: at first
 * after LOOK_NS, and half as often whenever a map has HISTORY_STATES_MAX of them. */
#ifndef SPOOR_HISTORY_HISTORY_H
#define SPOOR_HISTORY_HISTORY_H

#include "base/lines.h"
#include "base/table.h"
#include "export/html/column.h"
#include "print/map.h"
#include "session/session.h"

enum {
    HISTORY_STATES_MAX = 1000,    /* of a map */
    HISTORY_KEYS_MAX = 500,       /* of a state: those with the largest values */
    HISTORY_ALL_KEYS_MAX = 10000, /* of a map, in all its states */
    HISTORY_TEXT_MAX = 4096,      /* bytes of a key or of a value that is a text */
    HISTORY_BYTES_MAX = 64 << 20, /* of all states, keys and texts */
    HISTORY_LINES_MAX = 32 << 20, /* bytes of lines, with 16 for each line */
};

enum history_kind {
    HISTORY_NUMBERS,
    HISTORY_STATS, /* average, count, total */
    HISTORY_ROWS,  /* a histogram */
    HISTORY_SERIES,
    HISTORY_TEXTS, /* whatever else is printed */
};

struct history_state {
    uint64_t time;     /* boot clock, ns */
    uint64_t emptied;  /* when the map was emptied last before; 0: never */
    struct text cells; /* see states.c */
};

struct history_map {
    struct history_map *next;
    char *name; /* with its @ */
    enum history_kind kind;
    bool is_signed, adds_up, is_keyed;
    bool is_printed;  /* by the script, while the trace runs: then only states that were printed are kept */
    struct text head; /* what the page is told of its type: members of a JSON object */
    struct table keys,
        texts; /* each with its number and 1; the texts of a key's parts are separated by NUL */
    struct history_state *states;
    size_t count, room;
    size_t stride, skipped; /* of printed states, every stride-th is kept */
    uint64_t emptied;
    bool is_slow;                  /* looks at it take so long that there is one at the end only */
    size_t keys_left, states_left; /* what is not in the page: keys of a state at most; states */
};

struct history_lines {
    struct history_part { /* some lines, one after the other */
        struct numbers times, kinds, lengths;
        struct text bytes;
    } * parts;
    size_t count, room;
    size_t bytes;                  /* of all parts */
    uint64_t left;                 /* lines that are not in the page any more */
    struct line_splitter splitter; /* of what is printed */
};

enum history_line { HISTORY_PRINTED, HISTORY_MESSAGE };

struct history {
    struct map_watcher watcher;       /* for session_options.watcher, */
    struct session_observer observer; /* and for .observer */
    const char *title;
    bool is_json;   /* what is printed is JSON */
    bool is_replay; /* times are those of recordings */
    bool is_ending; /* what is printed now is printed at the end */
    bool failed;    /* memory ran out: something is missing */
    bool has_begun;
    uint64_t start, end;   /* boot clock, ns */
    int64_t realtime;      /* how far the clock of the wall is ahead of that */
    uint64_t period, next; /* of looks at maps; 0: the trace has not begun */
    uint64_t next_look;    /* not before this time, monotonic clock */
    size_t bytes;
    struct history_map *maps;
    struct history_lines lines;
};

/* Begins to collect. title: what the page is of; it must live as long as the history. */
void history_begin(struct history *history, const char *title, bool is_json);
void history_free(struct history *history);
/* Writes the page. Returns 0 or -ENOMEM. */
int history_write(struct history *history, struct text *out);

/* ---- between the files of this folder ---- */

/* Keeps a state of a map, of which only the last `top` entries were printed (0: all), divided. */
void history_keep(struct history *history, struct printer *printer, const struct map_snapshot *snapshot,
                  uint64_t time, size_t top, uint64_t divisor, bool is_own);
struct history_map *history_find(struct history *history, const char *name);
void history_maps_free(struct history *history);

void history_lines_begin(struct history *history);
void history_add_text(struct history *history, uint64_t time, const char *bytes, size_t length);
void history_add_message(struct history *history, uint64_t time, const char *text);
void history_end_line(struct history *history);
void history_lines_free(struct history_lines *lines);

#endif
