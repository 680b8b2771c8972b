/* SPDX-License-Identifier: BSD-3-Clause */
/* How long, how much: --duration, --max-memory. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "session/state.h"

enum { OWN_MIN = 32 << 20, HASH_NODE = 48, HASH_BUCKET = 16 };

static uint64_t whole_words(uint64_t bytes)
{
    return (bytes + 7) & ~(uint64_t)7;
}

/* How much memory the kernel takes for a map that is full. */
static uint64_t map_bytes(const struct image_map *map, const struct features *features)
{
    uint64_t cpus = features->cpus;
    uint64_t value = whole_words(map->value_size), entries = map->max_entries;
    if (map->is_ring_per_cpu)
        return (uint64_t)map->value_size * features->rings;
    if (map->members)
        return 0; /* the maps in it are counted themselves */
    if (map->inner_bytes)
        return entries * map->inner_bytes;
    switch (map->type) {
    case BPF_MAP_TYPE_RINGBUF: return entries ? entries : map->value_size;
    case BPF_MAP_TYPE_ARRAY: return entries * value;
    case BPF_MAP_TYPE_PERCPU_ARRAY: return entries * value * cpus;
    case BPF_MAP_TYPE_PERCPU_HASH:
    case BPF_MAP_TYPE_LRU_PERCPU_HASH: value *= cpus; /* fall through */
    default: return entries * (HASH_NODE + HASH_BUCKET + whole_words(map->key_size) + value);
    }
}

int limits_memory(struct session *session)
{
    const uint64_t wanted = session->options.settings.max_memory, allowed = session->options.max_memory;
    const uint64_t most = wanted && (!allowed || wanted < allowed) ? wanted : allowed;
    uint64_t sum = 0, largest = 0;
    const char *name = "";
    if (!most)
        return 0;
    for (size_t i = 0; i < session->image.map_count; i++) {
        uint64_t bytes = map_bytes(&session->image.maps[i], &session->environment.features);
        if (bytes > largest) {
            largest = bytes;
            name = session->image.maps[i].name;
        }
        sum += bytes;
    }
    if (sum > most || most - sum < OWN_MIN) {
        diagnose_error(&session->diagnostics, (struct span){0},
                       "the maps of this script need up to %llu KB and spoor %d KB, and %s allows %llu KB",
                       (unsigned long long)(sum >> 10), OWN_MIN >> 10,
                       most == wanted ? "its setting max_memory" : "--max-memory",
                       (unsigned long long)(most >> 10));
        diagnose_hint(
            &session->diagnostics,
            "most of it is for '%s', with %llu KB: the settings max_map_keys and perf_rb_pages make maps and "
            "rings smaller",
            name, (unsigned long long)(largest >> 10));
        return -ENOMEM;
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit))
        return -errno;
    session->target.child.data_limit = limit.rlim_cur;
    if (limit.rlim_cur > most - sum)
        limit.rlim_cur = most - sum;
    session->target.child.has_data_limit = !setrlimit(RLIMIT_DATA, &limit);
    return session->target.child.has_data_limit ? 0 : -errno;
}

void limits_of_command(const struct session *session)
{
    struct rlimit limit;
    if (session->target.child.has_data_limit && !getrlimit(RLIMIT_DATA, &limit)) {
        limit.rlim_cur = session->target.child.data_limit;
        setrlimit(RLIMIT_DATA, &limit);
    }
}

/* The end of the time is a signal like others that ask for the end. */
void limits_time(struct session *session, bool begins)
{
    uint64_t us = session->options.duration_ns / 1000;
    struct itimerval timer = {.it_value = {(time_t)(us / 1000000), (suseconds_t)(us % 1000000)}};
    if (!us)
        return;
    if (!begins)
        memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
}
