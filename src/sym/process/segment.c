/* SPDX-License-Identifier: BSD-3-Clause */
/* See segment.h. There are two hash tables, of modules and of segments. Segments are in one array, and their
 * numbers are indexes of it. */
#include "sym/process/segment.h"

#include <stdlib.h>
#include <string.h>

#include "base/table.h"

enum { BUCKETS = 4096, ROOM_FIRST = 64 };

struct module_entry {
    struct module_entry *next;
    struct module module;
};

struct segments {
    struct module_entry *modules[BUCKETS];
    uint32_t buckets[BUCKETS]; /* numbers + 1 */
    struct segment *items;
    uint32_t count, room, free; /* free: number + 1 of the first free one */
    size_t module_bytes;
};

struct segments *segments_make(void)
{
    return calloc(1, sizeof(struct segments));
}

void segments_free(struct segments *segments)
{
    for (size_t i = 0; segments && i < BUCKETS; i++)
        for (struct module_entry *entry = segments->modules[i], *next; entry; entry = next) {
            next = entry->next;
            free(entry);
        }
    if (segments)
        free(segments->items);
    free(segments);
}

size_t segments_bytes(const struct segments *segments)
{
    return segments->module_bytes + segments->room * sizeof *segments->items;
}

/* ---- modules ---- */

static struct module_entry **module_bucket(struct segments *segments, const struct module *key,
                                           const char *path)
{
    uint64_t hash =
        table_hash(path, strlen(path)) ^ key->device * 0x9e3779b97f4a7c15u ^ key->inode ^ key->generation;
    return &segments->modules[(hash ^ hash >> 32) % BUCKETS];
}

static struct module *module_take(struct segments *segments, const struct module *key, const char *path)
{
    struct module_entry **bucket = module_bucket(segments, key, path);
    for (struct module_entry *entry = *bucket; entry; entry = entry->next)
        if (entry->module.device == key->device && entry->module.inode == key->inode &&
            entry->module.generation == key->generation && entry->module.is_deleted == key->is_deleted &&
            !strcmp(entry->module.path, path)) {
            entry->module.references++;
            return &entry->module;
        }
    size_t size = sizeof(struct module_entry) + strlen(path) + 1;
    struct module_entry *fresh = malloc(size);
    if (!fresh)
        return NULL;
    fresh->next = *bucket;
    fresh->module.device = key->device;
    fresh->module.inode = key->inode;
    fresh->module.generation = key->generation;
    fresh->module.is_deleted = key->is_deleted;
    fresh->module.references = 1;
    strcpy(fresh->module.path, path);
    *bucket = fresh;
    segments->module_bytes += size;
    return &fresh->module;
}

void module_drop(struct segments *segments, struct module *module)
{
    if (--module->references)
        return;
    struct module_entry **at = module_bucket(segments, module, module->path);
    while (&(*at)->module != module)
        at = &(*at)->next;
    struct module_entry *entry = *at;
    *at = entry->next;
    segments->module_bytes -= sizeof *entry + strlen(module->path) + 1;
    free(entry);
}

/* ---- segments ---- */

static uint32_t *segment_bucket(struct segments *segments, const struct module *module, uint64_t offset,
                                uint64_t size)
{
    uint64_t hash = ((uintptr_t)module ^ offset * 0x9e3779b97f4a7c15u ^ size << 20) * 0x9e3779b97f4a7c15u;
    return &segments->buckets[hash >> 52];
}

/* Returns a place for one more segment: its number + 1; 0: memory ran out. */
static uint32_t segment_place(struct segments *segments)
{
    uint32_t place = segments->free;
    if (place) {
        segments->free = segments->items[place - 1].next;
        return place;
    }
    if (segments->count == segments->room) {
        uint32_t room = segments->room ? segments->room + segments->room / 2 : ROOM_FIRST;
        struct segment *grown = room <= SEGMENTS_MAX ? realloc(segments->items, room * sizeof *grown) : NULL;
        if (!grown)
            return 0;
        segments->items = grown;
        segments->room = room;
    }
    return ++segments->count;
}

bool segment_take(struct segments *segments, const struct module *key, const char *path, uint64_t offset,
                  uint64_t size, uint32_t *number)
{
    struct module *module = module_take(segments, key, path);
    if (!module)
        return false;
    uint32_t *bucket = segment_bucket(segments, module, offset, size), place = *bucket;
    while (place) {
        struct segment *known = &segments->items[place - 1];
        if (known->module == module && known->offset == offset && known->size == size) {
            module_drop(segments, module);
            known->references++;
            *number = place - 1;
            return true;
        }
        place = known->next;
    }
    place = segment_place(segments);
    if (!place) {
        module_drop(segments, module);
        return false;
    }
    segments->items[place - 1] = (struct segment){module, offset, size, 1, *bucket};
    *bucket = place;
    *number = place - 1;
    return true;
}

const struct segment *segment_at(const struct segments *segments, uint32_t number)
{
    return &segments->items[number];
}

void segment_hold(struct segments *segments, uint32_t number)
{
    segments->items[number].references++;
}

void segment_drop(struct segments *segments, uint32_t number)
{
    struct segment *segment = &segments->items[number];
    if (--segment->references)
        return;
    uint32_t *at = segment_bucket(segments, segment->module, segment->offset, segment->size);
    while (*at != number + 1)
        at = &segments->items[*at - 1].next;
    *at = segment->next;
    module_drop(segments, segment->module);
    *segment = (struct segment){.next = segments->free};
    segments->free = number + 1;
}
