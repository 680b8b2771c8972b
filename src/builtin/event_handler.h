/* SPDX-License-Identifier: BSD-3-Clause */
/* What a builtin can do when the record of its event arrives: write to the script's output, change maps, ask for the
 * end. The session makes it, and hands it to the `handle` callback of builtins. */
#ifndef SPOOR_BUILTIN_EVENT_HANDLER_H
#define SPOOR_BUILTIN_EVENT_HANDLER_H

#include "bpf/action.h"
#include "bpf/host.h"
#include "print/value.h"

struct event_file;

struct event_handler {
    struct text *out;        /* the script's output, which the session writes away */
    struct printer *printer; /* it writes to `out` */
    struct host *host;
    const struct image *image;
    bool is_json, no_warnings;
    bool is_broken; /* writing to the output has failed: messages go to the error stream instead */
    uint32_t max_cat_bytes;
    size_t record_length; /* bytes of the record that is being handled */
    bool *zeroed;         /* for each map: zero() was called, so that values of 0 are printed */
    uint64_t contained;   /* lines that printf_containing() printed */
    bool exit_requested;
    int exit_code;
    /* Writes out what is pending. To be called before a child writes to the same output. */
    void (*flush)(struct event_handler *handler);
    int output_descriptor; /* where a child's output goes */
    /* How many signals have asked for the end. When the descriptor `signals` is readable, more may have come, and
     * look() counts them; -1: no signals are taken over. */
    unsigned stop_signals;
    int signals;
    void (*look)(struct event_handler *handler);
    /* Whether the end was asked for, so that the rest of long work should be left. */
    bool (*hurries)(struct event_handler *handler);
    struct event_file *files; /* open files of skboutput() */
    /* Reports a failure on the error stream, with the span of the call. */
    void (*warn)(struct event_handler *handler, struct span span, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    /* Reports, in the same way, what the script itself says with warnf() and errorf(). */
    void (*report)(struct event_handler *handler, enum severity severity, struct span span, const char *text);
};

/* The bytes of a field in storage form, as the printer takes them. The caller has checked that the record has the size
 * of its action. A packed string that does not lie within the record is empty. */
const uint8_t *event_handler_field(const struct event_handler *handler, const struct action *action,
                                   uint32_t field, const uint8_t *record);

void event_handler_close_files(struct event_handler *handler);

#endif
