/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of libspoortracer, and included by no others.
 *
 *     tracer.c   a tracer's life: options, scripts, start, poll, stop
 *     map.c      maps, read and printed
 *     value.c    values with types */
#ifndef SPOOR_TRACER_STATE_H
#define SPOOR_TRACER_STATE_H

#include <spoor/tracer.h>

#include "builtin/event_handler.h"
#include "print/map.h"
#include "session/session.h"

enum tracer_stage { TRACER_OPEN, TRACER_COMPILED, TRACER_RUNS, TRACER_STOPPED, TRACER_FAILED };

struct spoor_tracer {
    enum tracer_stage stage;
    bool is_busy; /* a callback is being called from within start, poll or stop */
    struct spoor_tracer_options options;
    struct arena arena; /* what the options point to */
    struct text script, error, warnings;
    struct source source;
    struct session *session; /* from the compiler on */
    size_t reported;         /* of its diagnostics: in error and warnings */
};

struct spoor_tracer_event {
    struct spoor_tracer *tracer;
    const struct event_handler *handler;
    const struct action *action;
    const uint8_t *record;
};

/* Says what is wrong, and gives the error back. */
int tracer_fail(struct spoor_tracer *tracer, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* 0; -EINVAL when there are no maps yet. */
int tracer_needs_maps(struct spoor_tracer *tracer);

/* A value in storage form; rows and series as map_snapshot_each() hands them out. */
void value_make(struct spoor_tracer_value *value, struct spoor_tracer *tracer, const struct type *type,
                const void *bytes);

#endif
