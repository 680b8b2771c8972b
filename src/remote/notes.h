/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said beside the output, with the hosts that it is of: what several say at about the same time is told once, "a, b: text".
 * So one mistake in a script is one message, however many hosts find it. */
#ifndef SPOOR_REMOTE_NOTES_H
#define SPOOR_REMOTE_NOTES_H

#include "session/session.h"

enum { NOTES_HOLD_MS = 150 };

struct note;
struct notes {
    const char *const *hosts; /* their names */
    size_t host_count;
    void (*report)(void *state, enum report_kind kind, const char *text);
    void *state;
    struct note *first, *last;
    size_t bytes;
};

/* Says a line, without its end, of a host. is_error: with ERROR before it. */
void notes_add(struct notes *notes, size_t host, bool is_error, const char *text, size_t length);
/* Tells what has waited long enough; or all of it. */
void notes_flush(struct notes *notes, bool is_all);
void notes_free(struct notes *notes);

#endif
