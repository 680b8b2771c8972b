/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kinds that run on perf events share: timers, counters, watchpoints. A site's detail is a struct
 * perf_site.
 */
#ifndef SPOOR_PROBE_PERF_EVENT_H
#define SPOOR_PROBE_PERF_EVENT_H

#include <linux/perf_event.h>

#include "probe/kind.h"

struct perf_site {
    struct perf_event_attr attributes;
    /* It watches memory of a process: with -p or -c it is set in the threads of that process, not on every CPU. */
    bool of_process;
};

int perf_event_plan(const struct probe_kind *kind, struct probe_environment *environment,
                    const struct context_uses *uses, const struct probe_sites *sites,
                    struct probe_variants *variants);
int perf_event_attach(struct probe_environment *environment, struct kernel *kernel,
                      const struct probe_variant *variant, struct attach_request *request);

#endif
