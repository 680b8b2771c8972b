/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop: a feed goes on, its tables are refreshed now and then, keys are read, the picture is drawn. Or, without a screen,
 * tables are written one below the other. */
#ifndef SPOOR_TOP_RUN_H
#define SPOOR_TOP_RUN_H

#include "top/view.h"

struct top_feed { /* where tables come from */
    void *state;
    /* Lets it go on, for at most so many milliseconds. Returns how much happened, or -errno. */
    int (*step)(void *state, int wait_ms);
    bool (*is_over)(void *state);
    /* Makes the tables anew. Returns 0 or -errno. */
    int (*refresh)(void *state, uint64_t now);
    /* The tables, which may become more. */
    struct top_table *(*tables)(void *state, size_t *count);
    /* Appends everything as JSON. Returns 0 or -errno. */
    int (*save)(void *state, struct text *out);
    /* Writes, only in batch. */
    int (*write)(void *state, const struct text *text);
};

struct top_settings {
    const char *title;
    uint64_t interval; /* ns */
    uint64_t count;    /* of refreshes, after which it is over; 0: no limit */
    unsigned rows;     /* in batch: of each table at most; 0: all */
};

/* Writes tables until it is over. Returns 0 or -errno. */
int top_run_batch(const struct top_feed *feed, const struct top_settings *settings);
/* The same on the terminal that is held. */
int top_run_screen(const struct top_feed *feed, const struct top_settings *settings, struct top_view *view);
/* Reads what was printed past the picture into the lines. */
void top_run_take_printed(struct top_lines *lines);
/* Arranges and draws, and brings it to the terminal. Returns 0 or -ENOMEM. */
int top_run_show(struct top_view *view);

/* batch.c: writes the tables as text. */
void top_batch_write(struct text *out, const struct top_settings *settings, struct top_table *tables,
                     size_t count, uint64_t since, uint64_t now);

#endif
