/* SPDX-License-Identifier: BSD-3-Clause */
/* The place where metrics go, as --openmetrics names it: an address at which scrapers are answered, or a file. What goes wrong
 * there while it is used is reported once, until it is something else or all is well again. */
#ifndef SPOOR_METRICS_PLACE_H
#define SPOOR_METRICS_PLACE_H

#include "metrics/address.h"
#include "metrics/serve.h"
#include "metrics/textfile.h"

struct metric_place {
    const char *name;      /* as the option names it */
    metric_source *source; /* writes all families */
    void *state;           /* the source's */
    /* Gets messages, in whole lines. */
    void (*report)(void *state, const char *text);
    void *report_state;

    struct metric_address address;
    struct metric_server *server; /* NULL: a file */
    struct textfile file;
    int failed; /* the error that was reported last; 0: all is well */
};

/* Opens the place, whose first members are set. Returns 0, or -errno with the reason and perhaps a hint. */
int metric_place_open(struct metric_place *place, struct text *why, struct text *hint);
void metric_place_close(struct metric_place *place); /* also of one that could not be opened */
/* Answers who has asked meanwhile; does not wait. Returns whether somebody did. */
bool metric_place_serve(struct metric_place *place);
/* Writes the file anew. */
void metric_place_write(struct metric_place *place);
/* Reports an error; 0: there is none. */
void metric_place_note(struct metric_place *place, int error);
/* Reports something, with its end of line. */
void metric_place_report(const struct metric_place *place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
