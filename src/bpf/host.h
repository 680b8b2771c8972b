/* SPDX-License-Identifier: BSD-3-Clause */
/* A host runs images. One host is the kernel (src/kernel), the other is this process (src/vm); the session works
 * through this table and does not know which of them it has.
 *
 * Calls return 0 or -errno, unless it is said otherwise; those with a parameter `diagnostics` report why. */
#ifndef SPOOR_BPF_HOST_H
#define SPOOR_BPF_HOST_H

#include "bpf/features.h"
#include "bpf/image.h"

struct host;

/* Called for each element of a map. `values` is one value, or in a per-CPU map one after another for each possible CPU
 * (features.cpus of them). A value that is not 0 ends the walk and is returned by it. */
typedef int host_element(void *state, const uint8_t *key, const uint8_t *values);
/* Called for each event record, which begins with struct image_record and lives until the call returns. A value that is
 * not 0 ends the delivery and is returned by it. The record counts as consumed then as well, except for -ENOBUFS, which
 * says that there is no room for it now: it is delivered again. */
typedef int host_record(void *state, const uint8_t *record, size_t length);

/* How often a program has run. */
struct host_runs {
    uint64_t count, ns; /* runs and their time, if the kernel measures it */
    /* Events for which it did not run, as far as the kernel counts them. */
    uint64_t skipped; /* a program was running on that CPU already */
    uint64_t missed; /* a probe's handler was running there already, or too many calls awaited their return */
};

struct host_operations {
    /* Makes all maps of the image and fills those with initial content. To be called once. */
    int (*create_maps)(struct host *host, const struct image *image, struct diagnostics *diagnostics);
    /* Makes the maps that were added to the image since. */
    int (*add_maps)(struct host *host, const struct image *image, struct diagnostics *diagnostics);
    /* Loads one program. If the host refuses it, the diagnostic has the line of the script. -E2BIG: the host found no
     * error in it as far as it got, but the program is too long to verify; for a divisible program there need be no
     * diagnostic then. */
    int (*load)(struct host *host, const struct image *image, size_t program,
                struct diagnostics *diagnostics);
    /* Runs a loaded program once, in this process, as for begin and end. */
    int (*run)(struct host *host, size_t program);

    int (*map_each)(struct host *host, size_t map, host_element *element, void *state);
    int (*map_lookup)(struct host *host, size_t map, const void *key,
                      void *values); /* -ENOENT: no such key */
    /* Only for maps that are not per-CPU. */
    int (*map_update)(struct host *host, size_t map, const void *key, const void *value);
    int (*map_delete)(struct host *host, size_t map, const void *key);
    int (*map_clear)(struct host *host, size_t map); /* removes every key; zeroes the values of an array */
    int (*map_zero)(struct host *host, size_t map);  /* keeps the keys and zeroes the values */

    struct image_control *(*control)(struct host *host); /* the control page; NULL before create_maps */
    /* A descriptor that becomes readable when a ring is filling up; -1 if there is none. */
    int (*descriptor)(struct host *host);
    /* Delivers the records that have arrived, ordered by time over all rings within a bounded window. With `drain` it
     * delivers everything that is there, and does not wait for records that may still belong before it. Returns the
     * number of records that were delivered, what the callback returned if that was negative, or -errno. */
    int (*consume)(struct host *host, bool drain, host_record *record, void *state);
    /* Delivers, at once and in order, the records of programs that ran by run(); they are in the ring events_own. */
    int (*consume_own)(struct host *host, host_record *record, void *state);
    uint64_t (*disorder)(struct host *host); /* records delivered out of order so far */
    uint64_t (*clock)(struct host *host);    /* boot clock, ns */
    struct host_runs (*runs)(struct host *host, size_t program);
    /* Removes the watchpoints at an address; -ENOENT if there are none. */
    int (*unwatch)(struct host *host, uint64_t address);
    void (*close)(struct host *host);
};

struct host {
    const struct host_operations *operations;
    struct features features;
};

#endif
