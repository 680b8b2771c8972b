/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends requests by HTTP, several at a time, and again when the receiver has no time for them.
 *
 * Nothing here waits but sender_send() and sender_finish(), and these only as long as the receiver makes progress: when
 * it has taken nothing for as long as options.patience_ns, all that waits is lost, and so is what comes afterwards. What
 * is lost is counted. Memory is bounded by the number of requests under way. */
#ifndef SPOOR_OTLP_SENDER_H
#define SPOOR_OTLP_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define SENDER_PATIENCE_NS 30000000000ull
/* The environment's name of a file of certificates: with it, a receiver is trusted if one of these vouches for it, and not
 * for those of the system. */
#define SENDER_CERTIFICATE_VARIABLE "OTEL_EXPORTER_OTLP_CERTIFICATE"

struct sender_options {
    const char *url;
    const char *path;           /* if the address has none */
    bool goes_on;               /* after it has given up what waited, it tries what comes later */
    const char *refusable;      /* what a receiver need not take: "log records"; NULL: it has to */
    const char *const *headers; /* NAME=VALUE, NULL-terminated; NULL: none but the environment's (header.h) */
    uint64_t patience_ns;       /* 0: SENDER_PATIENCE_NS */
    const volatile int *stop;   /* when it is set nothing is waited for any more */
    /* Gets messages, a line each, without its end. */
    void (*report)(void *state, const char *text);
    void *report_state;
};

struct sender_counts {
    uint64_t sent, rejected, lost;     /* items */
    uint64_t refused;                  /* items that a receiver does not take: see refusable */
    uint64_t requests, retries, bytes; /* bodies as they were sent */
};

struct sender;

/* Returns 0, or -errno with the reason and perhaps a hint. */
int sender_open(const struct sender_options *options, struct sender **out, struct text *why,
                struct text *hint);
void sender_close(struct sender *sender);
/* Whether sender_send() would not wait. */
bool sender_has_room(const struct sender *sender);
/* Sends a request about so many items, and waits until there is room for it. Returns 0 or -ENOMEM. */
int sender_send(struct sender *sender, const struct text *body, uint64_t items);
/* Does what can be done now, and waits for more at most so long. */
void sender_run(struct sender *sender, int wait_ms);
/* The end is near: what is given up from now on is given up for good. */
void sender_goes_no_further(struct sender *sender);
/* Whether something was neither sent nor lost yet. */
bool sender_is_busy(const struct sender *sender);
/* Waits until everything was sent or is lost. */
void sender_finish(struct sender *sender);
/* The address that requests go to. */
const char *sender_url(const struct sender *sender);
struct sender_counts sender_counts(const struct sender *sender);
/* Why something was lost or rejected, as it was said first; "" if nothing was. */
const char *sender_reason(const struct sender *sender);

#endif
