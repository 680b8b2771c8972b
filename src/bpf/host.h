/* SPDX-License-Identifier: BSD-3-Clause */
/* A host runs images: the kernel is one, the user-space VM the other. The session works through
 * this table and does not know which it has.
 *
 * All calls return 0 or -errno; with a `diagnostics` parameter they say why in it. */
#ifndef SPOOR_BPF_HOST_H
#define SPOOR_BPF_HOST_H

#include "bpf/features.h"
#include "bpf/image.h"

struct host;

/* One element of a map. values: one after another for each possible CPU (features.cpus of them) where the
 * map is per-CPU, else one. Non-zero stops the walk and is returned. */
typedef int host_element(void *state, const uint8_t *key, const uint8_t *values);
/* One event record (struct image_record first). Non-zero stops consuming and is returned; the record counts
 * as consumed, but for -ENOBUFS: there is no room for it now, and it comes again. The bytes live until the
 * call returns. */
typedef int host_record(void *state, const uint8_t *record, size_t length);

/* Of one program. */
struct host_runs {
    uint64_t count, ns; /* where the kernel counts time */
    /* Events for which it did not run, as far as the kernel counts them: */
    uint64_t skipped; /* a program ran on that CPU already */
    uint64_t
        missed; /* so did the handler of a probe, or more calls were under way than returns are seen of */
};

struct host_operations {
    /* Makes all maps of the image, fills the initial ones. Once. */
    int (*create_maps)(struct host *host, const struct image *image, struct diagnostics *diagnostics);
    /* Makes those that were added to the image since. */
    int (*add_maps)(struct host *host, const struct image *image, struct diagnostics *diagnostics);
    /* Loads one program. A refusal is explained with the script's line. -E2BIG: it is right, as far as the
     * host got, and too much to look at; of a divisible program this need not be explained. */
    int (*load)(struct host *host, const struct image *image, size_t program,
                struct diagnostics *diagnostics);
    /* Runs a loaded program once, now, in this process (begin, end). */
    int (*run)(struct host *host, size_t program);

    int (*map_each)(struct host *host, size_t map, host_element *element, void *state);
    int (*map_lookup)(struct host *host, size_t map, const void *key, void *values); /* -ENOENT */
    int (*map_update)(struct host *host, size_t map, const void *key,
                      const void *value); /* maps of one value a key */
    int (*map_delete)(struct host *host, size_t map, const void *key);
    int (*map_clear)(struct host *host, size_t map); /* removes every key; array maps: as zero */
    int (*map_zero)(struct host *host, size_t map);  /* keeps keys, zeroes values */

    struct image_control *(*control)(struct host *host); /* shared memory; NULL before create_maps */
    /* Becomes readable when a ring is filling up. -1: none. */
    int (*descriptor)(struct host *host);
    /* Delivers what has arrived, in time order over all rings within a bounded window. drain: everything that
     * is there, without waiting for stragglers. Returns the number of records delivered, or the callback's
     * non-zero answer (negative), or -errno. */
    int (*consume)(struct host *host, bool drain, host_record *record, void *state);
    /* The same of the ring events_own: what programs sent that ran by run(), at once and in their order. */
    int (*consume_own)(struct host *host, host_record *record, void *state);
    uint64_t (*disorder)(struct host *host); /* records delivered out of order so far */
    uint64_t (*clock)(struct host *host);    /* boot clock, ns */
    struct host_runs (*runs)(struct host *host, size_t program);
    int (*unwatch)(struct host *host,
                   uint64_t address); /* removes watchpoints at it. -ENOENT: there are none */
    void (*close)(struct host *host);
};

struct host {
    const struct host_operations *operations;
    struct features features;
};

#endif
