/* SPDX-License-Identifier: BSD-3-Clause */
/* `--otlp`: where it goes, a file or an address, and how that is named on the command line. */
#ifndef SPOOR_CMD_OTLP_H
#define SPOOR_CMD_OTLP_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/command_line.h"
#include "cmd/output.h"
#include "otlp/sender.h"

struct otlp_options {
    const char *place;          /* --otlp; NULL: it was not given */
    const char *const *headers; /* --otlp-header; NULL: none */
    uint64_t patience_ns;       /* --otlp-wait; 0: as usual */
};

#define OTLP_ROWS(type, field, places, help, patience)                                                       \
    {0, "otlp", places, help, OPTION_STORES(TEXT, type, field.place), .completes = COMPLETE_FILES},          \
        {0, "otlp-header", "NAME=VALUE", "with this header, as receivers want it who ask for a key",         \
         OPTION_STORES(LIST, type, field.headers)},                                                          \
    {                                                                                                        \
        0, "otlp-wait", "TIME",                                                                              \
            "how long a receiver is waited for that takes nothing (default: " patience ")",                  \
            OPTION_STORES(DURATION, type, field.patience_ns)                                                 \
    }
#define OTLP_RULES                                                                                           \
    {"--otlp-header", OPTION_NEEDS, "--otlp", NULL},                                                         \
    {                                                                                                        \
        "--otlp-wait", OPTION_NEEDS, "--otlp", NULL                                                          \
    }

struct otlp_target { /* where requests go; one may be of several writers, and is closed by who opened it */
    const char *place;
    struct sender *sender; /* NULL: a file */
    struct output file;
    uint64_t written;                              /* items in the file */
    void (*report)(void *state, const char *text); /* gets messages, a line each, without its end */
    void *report_state;
};

struct otlp_use { /* see struct sender_options */
    const char *path;
    bool goes_on;
    const char *refusable;
    const volatile int *stop;
    void (*report)(void *state, const char *text); /* NULL: messages are printed at once */
    void *report_state;
};

/* For struct otlp_use: prints a message, which is lost if nobody reads it soon, because something else must not wait. */
void otlp_report_in_time(void *state, const char *text);
/* Opens what the options name. Returns 0, or 1 after a message. */
int otlp_open(struct otlp_target *target, const struct otlp_options *options, const struct otlp_use *use);
/* Sends a request about so many items. Returns 0 or -errno. */
int otlp_send(struct otlp_target *target, struct text *request, uint64_t items);
/* Reports something to whom otlp_open() was told. */
void otlp_say(const struct otlp_target *target, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports items that did not arrive at a receiver or in a file. is_late: the last ones are among them. */
void otlp_report_missing(const struct otlp_target *target, const char *items, uint64_t missing, uint64_t all,
                         bool is_late);
/* Waits for what is under way, closes, and reports how many items arrived. is_whole: nothing failed before. Returns 0, or 1
 * after a message: something was lost. */
int otlp_close(struct otlp_target *target, const char *items, bool is_whole);
/* Closes what nothing was sent to, without a word; a file is removed. */
void otlp_abandon(struct otlp_target *target);

#endif
