/* SPDX-License-Identifier: BSD-3-Clause */
#include "print/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

/* Elements one after another in one buffer: key, then the summed value, both as wide as the map has them. */
struct snapshot {
    const struct image_map *map;
    unsigned cpus;
    bool per_cpu, rows; /* rows: a keyed histogram, a number per row */
    size_t key_bytes, value_bytes;
    uint8_t *bytes;
    size_t count, room;
};

static int snapshot_element(void *state, const uint8_t *key, const uint8_t *values)
{
    struct snapshot *snapshot = state;
    size_t size = snapshot->key_bytes + snapshot->value_bytes;
    /* A struct within the last value may be looked at as if it were padded too, so there is room for one more. */
    if (snapshot->count + 1 >= snapshot->room) {
        uint8_t *bytes = vector_grow(snapshot->bytes, &snapshot->room, SIZE_MAX, size);
        if (!bytes)
            return -ENOMEM;
        snapshot->bytes = bytes;
    }
    uint8_t *at = snapshot->bytes + snapshot->count * size;
    if (key)
        memcpy(at, key, snapshot->key_bytes);
    at += snapshot->key_bytes;
    if (snapshot->rows) {
        uint64_t sum = aggregation_sum_row((const uint64_t *)(const void *)values, snapshot->cpus);
        memcpy(at, &sum, sizeof sum);
    } else if (snapshot->per_cpu)
        aggregation_sum(snapshot->map->value, values, snapshot->cpus, at);
    else
        memcpy(at, values, snapshot->value_bytes);
    snapshot->count++;
    return 0;
}

static bool snapshot_is_unset(const struct image_map *map, const uint8_t *value, size_t size)
{
    if ((!type_is_aggregation(map->value) || map->value->aggregation->starts_at_zero) && !map->is_emptied)
        return false;
    for (size_t i = 0; i < size; i++)
        if (value[i])
            return false;
    return true;
}

/* The caller frees snapshot->bytes and *entries, also after an error. */
static int snapshot_take(struct host *host, const struct image *image, size_t index,
                         struct snapshot *snapshot, struct map_snapshot *taken, struct map_entry **entries)
{
    const struct image_map *map = &image->maps[index];
    *snapshot = (struct snapshot){
        .map = map,
        .cpus = host->features.cpus,
        .per_cpu = type_is_per_cpu(map->value),
        .rows = type_has_shape(map->value, AGGREGATION_ROWS) && map->key,
        .key_bytes = map->key ? map->key_size : 0,
        .value_bytes = map->value_size,
    };
    *entries = NULL;
    int error = host->operations->map_each(host, index, snapshot_element, snapshot);
    if (error)
        return error;
    *entries = calloc(snapshot->count + 1, sizeof **entries);
    if (!*entries)
        return -ENOMEM;
    size_t size = snapshot->key_bytes + snapshot->value_bytes;
    for (size_t i = 0; i < snapshot->count; i++) {
        const uint8_t *at = snapshot->bytes + i * size;
        (*entries)[i] = (struct map_entry){at, at + snapshot->key_bytes};
    }
    *taken = (struct map_snapshot){map->name, map->key, map->value, *entries, snapshot->count};
    return 0;
}

int snapshot_print(struct printer *printer, struct host *host, const struct image *image, size_t index,
                   uint64_t top, uint64_t divisor, bool is_last)
{
    struct snapshot snapshot;
    struct map_snapshot taken;
    struct map_entry *entries;
    int error = snapshot_take(host, image, index, &snapshot, &taken, &entries);
    bool is_nothing = !error && is_last && !taken.key && snapshot.count &&
                      snapshot_is_unset(snapshot.map, snapshot.bytes, snapshot.count * snapshot.value_bytes);
    if (!error && !is_nothing)
        error = print_map(printer, &taken, (size_t)top, divisor);
    free(entries);
    free(snapshot.bytes);
    return error;
}

int snapshot_read(struct host *host, const struct image *image, size_t index, snapshot_visitor *visit,
                  void *state)
{
    struct snapshot snapshot;
    struct map_snapshot taken;
    struct map_entry *entries;
    int error = snapshot_take(host, image, index, &snapshot, &taken, &entries);
    if (!error)
        visit(state, &taken);
    free(entries);
    free(snapshot.bytes);
    return error;
}

int snapshot_each(struct host *host, const struct image *image, size_t index, uint64_t top,
                  map_visitor *visit, void *state)
{
    struct snapshot snapshot;
    struct map_snapshot taken;
    struct map_entry *entries;
    int error = snapshot_take(host, image, index, &snapshot, &taken, &entries);
    if (!error)
        error = map_snapshot_each(NULL, &taken, (size_t)top, visit, state);
    free(entries);
    free(snapshot.bytes);
    return error;
}
