/* SPDX-License-Identifier: BSD-3-Clause */
/* `--openmetrics`: what a script's maps count, for Prometheus and programs like it.
 *
 *   family.h    families and points, and the formats in which they are written
 *   text.c      the two text formats
 *   protobuf.c  protocol buffers; native.c, histograms as Prometheus keeps them itself
 *   names.c     names of families and labels
 *   help.c      what the script says about a map in a comment
 *   maps.c      maps as families; counters that go on when a script clears its maps
 *   own.c       what a trace counts about itself
 *   place.c     where they go; address.c, how that is named
 *   relay.c     families from the processes of `spoor serve` to the one that publishes them
 *   serve.c     what scrapers get; http.c, the server; negotiate.c, the format that they want
 *   textfile.c  a file for the textfile collector of the node exporter
 *   run.c       a trace with metrics */
#ifndef SPOOR_METRICS_METRICS_H
#define SPOOR_METRICS_METRICS_H

#include "metrics/family.h"
#include "print/value.h"
#include "session/session.h"

enum { METRICS_SERIES_DEFAULT = 10000, METRICS_PERIOD_S = 15, METRICS_OUTLETS_MAX = 2 };

/* Somebody else to whom metrics go, each period. */
struct metric_outlet {
    void *state;
    const struct metric_outlet *next; /* who gets them, too; or NULL: there are METRICS_OUTLETS_MAX at most */
    const char *place;                /* what it is called in messages */
    uint64_t period_ns;               /* between two calls of publish; 0: METRICS_PERIOD_S */
    bool waits_first;                 /* a period passes before the first one, too */
    /* Reads what `source` writes, and sends it if there is room. Returns 0 or -errno. */
    int (*publish)(void *state, int (*source)(void *of, struct metric_writer *writer), void *of);
    void (*run)(void *state); /* does what can be done now */
    const char *script;       /* what the script is called there; NULL: as its file */
};

struct metrics_options {
    const char *place;                  /* where they go, as the option names it (address.h) */
    const struct metric_outlet *outlet; /* goes there instead; NULL: `place` says where */
    const char *script;                 /* of which names are made; NULL: it has no name */
    uint64_t period_ns;                 /* between two writings of a file; 0: METRICS_PERIOD_S */
    uint64_t series_max;                /* how many series there are at most */
    /* Gets messages while the trace runs, in whole lines. */
    void (*report)(void *state, const char *text);
    void *state;
    const struct map_watcher *next; /* is told of maps, too; NULL: nobody else is */
};

struct metrics;

/* Makes sure that the place can be used. Returns 0, or -errno with the reason and perhaps a hint. */
int metrics_open(const struct metrics_options *options, struct metrics **out, struct text *why,
                 struct text *hint);
/* What session_options.watcher has to be. */
const struct map_watcher *metrics_watcher(const struct metrics *metrics);
/* Runs a compiled session as session_run() does, and publishes what it counts. Returns 0 or -errno. */
int metrics_run(struct metrics *metrics, struct session *session, int *status);
/* Publishes what is due, while the session waits for something else. */
void metrics_meanwhile(struct metrics *metrics);
void metrics_close(struct metrics *metrics);

#endif
