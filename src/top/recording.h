/* SPDX-License-Identifier: BSD-3-Clause */
/* A source of tables: the events of a recording. Tracepoints, owners, threads, and for each type of object the steps from one
 * tracepoint to the next, with how long they take and their share of the time of all of them: where the time goes. */
#ifndef SPOOR_TOP_RECORDING_H
#define SPOOR_TOP_RECORDING_H

#include "reader/latency.h"
#include "top/table.h"

enum { TOP_RECORDING_TABLES = 3, TOP_RECORDING_TABLES_MAX = TOP_RECORDING_TABLES + 256 };

struct top_recording;

/* Returns 0 or -ENOMEM. */
int top_recording_make(const struct recording *recording, struct top_recording **result);
void top_recording_free(struct top_recording *top);
/* Counts an event. Returns 0 or -ENOMEM. */
int top_recording_add(struct top_recording *top, const struct recording_event *event,
                      const struct object_step *step);
/* What was counted since the last refresh does not belong to the next one. */
void top_recording_forget_last(struct top_recording *top);
/* Makes the tables anew. seconds: for rates, the time of everything that was counted; 0: only what came since the refresh
 * before counts, and the time since then. */
void top_recording_refresh(struct top_recording *top, uint64_t now, double seconds);
struct top_table *top_recording_tables(const struct top_recording *top, size_t *count);
struct latency_table *top_recording_latencies(struct top_recording *top);

#endif
