/* SPDX-License-Identifier: BSD-3-Clause */
/* What a receiver answers, which may be anything. */
#ifndef SPOOR_OTLP_ANSWER_H
#define SPOOR_OTLP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANSWER_TEXT_MAX = 256 };

struct answer {
    uint64_t rejected;          /* how many items the receiver did not take */
    char text[ANSWER_TEXT_MAX]; /* what it says about that, or "" */
};

/* Reads the body of an answer: the response to an export if is_success, else a google.rpc.Status. False: it is neither,
 * and says nothing. */
bool answer_read(const void *body, size_t size, bool is_success, struct answer *answer);

/* Whether a request that was answered so may be sent again. */
bool answer_is_temporary(long status);
/* Whether the receiver has nothing at this address that takes requests. */
bool answer_is_refusal(long status);

#endif
