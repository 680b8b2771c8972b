/* SPDX-License-Identifier: BSD-3-Clause */
/* What an action can do when its record arrives: write to the script's output, touch maps, ask for the end.
 * Made by the session, handed to the act callback of builtins. */
#ifndef SPOOR_BUILTIN_EVENT_HANDLER_H
#define SPOOR_BUILTIN_EVENT_HANDLER_H

#include "bpf/action.h"
#include "bpf/host.h"
#include "print/value.h"

struct event_file;

struct event_handler {
    struct text *out;        /* the script's output; the session writes it away */
    struct printer *printer; /* writes to out */
    struct host *host;
    const struct image *image;
    bool is_json, no_warnings;
    bool is_broken; /* nothing can be written to the output any more: what is told goes among the messages */
    uint32_t max_cat_bytes;
    size_t record_length; /* of the record being acted on */
    bool *zeroed;       /* for each map: its values were made 0, and are printed although they are nothing */
    uint64_t contained; /* lines that printf_containing() let through */
    bool exit_requested;
    int exit_code;
    /* Writes out what is pending: before a child process writes to the same place. */
    void (*flush)(struct event_handler *handler);
    int output_descriptor; /* where a child's output goes */
    /* Signals that asked for the end, so far. More may have come when the descriptor is readable (-1: none
     * are heard); look() counts them. */
    unsigned stop_signals;
    int signals;
    void (*look)(struct event_handler *handler);
    bool (*hurries)(
        struct event_handler *handler); /* the end was asked for: the rest of a long work is to be left */
    struct event_file *files;           /* open for writing: skboutput */
    /* A failure while acting: printed on the error stream with the place of the call. */
    void (*warn)(struct event_handler *handler, struct span span, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    /* The same for what the script itself has to say. */
    void (*report)(struct event_handler *handler, enum severity severity, struct span span, const char *text);
};

/* The bytes of a field in storage form, as the printer wants them. The record has all of its action's size; a
 * packed string that does not lie in it is empty. */
const uint8_t *event_handler_field(const struct event_handler *handler, const struct action *action,
                                   uint32_t field, const uint8_t *record);

void event_handler_close_files(struct event_handler *handler);

#endif
