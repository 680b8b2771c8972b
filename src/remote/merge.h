/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes one output of those of several hosts: lines in order of time, and maps that several hosts print as one (remote/round.h).
 *
 * What has arrived waits until every host that still runs has said that it has sent all that is older, at most MERGE_HOLD_MS.
 * A map waits as long for the others to print theirs: so maps that are printed by the same interval are one, although their answers
 * arrive one after the other, and a host that is slow or silent delays no more than that. What is printed at the end of
 * the trace waits until all hosts have ended, and is in the order of each of them: headings stay above their maps. All times are those of this machine's boot clock. */
#ifndef SPOOR_REMOTE_MERGE_H
#define SPOOR_REMOTE_MERGE_H

#include "lang/registry.h"
#include "print/value.h"
#include "remote/portable.h"
#include "session/session.h"

enum { MERGE_HOLD_MS = 1000, MERGE_BYTES_MAX = 64 << 20 };

struct merge_options {
    const char *const *hosts; /* their names, `host_count` of them */
    size_t host_count;
    const struct builtin_table *builtins;
    bool per_host;
    bool json, is_terminal, bcc_histograms;
    const struct map_watcher *watcher; /* is called for maps that are printed, not for their text; or NULL */
    const struct session_observer *observer; /* is called without a session; or NULL */
    void (*print)(void *state, const char *bytes, size_t length);
    void (*warn)(void *state, const char *text);
    void *state;
};

struct merge;
/* NULL: there is no memory. The options must live as long. */
struct merge *merge_new(const struct merge_options *options);
/* The trace begins. */
void merge_begin(struct merge *merge);
/* What a host's script printed; is_end: when its trace had ended. Lines end when their newline comes. Returns 0 or -ENOMEM, or
 * -EBADMSG if it is more than a host may say at the end. */
int merge_lines(struct merge *merge, size_t host, uint64_t time, bool is_end, const char *bytes,
                size_t length);
/* The message of a map; behind: what is to be added to its time. Returns 0, -ENOMEM, or -EBADMSG. */
int merge_map(struct merge *merge, size_t host, struct cursor message, int64_t behind);
/* The host has sent everything until then. */
void merge_mark(struct merge *merge, size_t host, uint64_t time);
/* It sends nothing any more. */
void merge_over(struct merge *merge, size_t host);
/* Prints what need not wait any longer. */
void merge_go_on(struct merge *merge);
/* Whether so much waits that no more should be read from a host. */
bool merge_is_full(const struct merge *merge, size_t host);
/* Prints all that waits, then what is of the end. Types of maps live until the merge is freed. */
void merge_finish(struct merge *merge);
void merge_free(struct merge *merge);

#endif
