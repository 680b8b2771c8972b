/* SPDX-License-Identifier: BSD-3-Clause */
/* What a trace counts about itself: events, errors, the time that its programs take, and this process. */
#ifndef SPOOR_METRICS_OWN_H
#define SPOOR_METRICS_OWN_H

#include "base/table.h"
#include "metrics/family.h"
#include "session/session.h"

struct metric_own;

/* script: what it is called; NULL: as its file. The families' names are put into `taken`. Returns 0 or -ENOMEM. */
int metric_own_make(const struct session *session, const char *script, struct table *taken,
                    struct metric_own **result);
void metric_own_free(struct metric_own *own); /* NULL is allowed */
/* Returns 0 or -ENOMEM. */
int metric_own_write(struct metric_own *own, struct metric_writer *writer);

#endif
