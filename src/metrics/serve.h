/* SPDX-License-Identifier: BSD-3-Clause */
/* What scrapers get over HTTP: /metrics in the format that they ask for, and a page that says so.
 *
 * For each format, scrapers do not take more than one part in METRIC_COST_SHARE of a CPU: who asks again before that has
 * passed gets the same numbers. */
#ifndef SPOOR_METRICS_SERVE_H
#define SPOOR_METRICS_SERVE_H

#include "metrics/address.h"
#include "metrics/family.h"

enum { METRIC_COST_SHARE = 20 };

struct metric_server;

/* Writes all families. Returns 0 or -errno. */
typedef int metric_source(void *state, struct metric_writer *writer);

/* Loads what is needed, and listens. From now on clients can connect; they get answers from metric_server_run(). Returns 0,
 * or -errno with the reason and perhaps a hint. */
int metric_server_open(const struct metric_address *address, const char *place, metric_source *source,
                       void *state, struct metric_server **out, struct text *why, struct text *hint);
/* Answers who has asked meanwhile; does not wait. Returns 1 if metrics were read, else 0; -errno: a scraper did
 * not get them. */
int metric_server_run(struct metric_server *server);
/* Waits until it has something to do, the other descriptor can be read, or so many milliseconds have passed. */
void metric_server_wait(const struct metric_server *server, int other, int milliseconds);
void metric_server_close(struct metric_server *server); /* NULL is allowed */

#endif
