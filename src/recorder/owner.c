/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners: who did what is recorded (SPDK's word), such as a thread or a queue. They may be registered before there
 * is a recording, so those that exist are kept here as well. Ids are never used again, so that a late record cannot
 * be shown with a wrong name. */
#include "recorder/state.h"

#include <stdlib.h>
#include <string.h>

struct owner {
    uint32_t id;
    int64_t entry; /* index of its entry in the file's table; -1: it has none */
    char *type, *description;
};

static struct owner *owners; /* those that are registered, in the order of their ids */
static size_t owner_count, owner_room;
static uint32_t next_id = 1;
static uint64_t entries_used; /* how many entries of the file's table have been used, from the first on */

uint32_t owner_next(void)
{
    return next_id;
}

unsigned owner_table_needed(void)
{
    return (unsigned)(owner_count < 1u << 24 ? owner_count : 1u << 24);
}

static struct owner *find(uint32_t id)
{
    size_t low = 0, high = owner_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (owners[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < owner_count && owners[low].id == id ? &owners[low] : NULL;
}

static struct layout_owner *entry_at(const struct recording *recording, uint64_t index)
{
    const struct layout_header *header = recording->header;
    return (struct layout_owner *)(recording->memory + header->owners_offset + index * header->owner_bytes);
}

/* Returns the index of an entry that may be written: one that was never used, else that of the owner that ended
 * longest ago. -1: the owners of all entries still exist. */
static int64_t take_entry(const struct recording *recording)
{
    const uint64_t count = recording->header->owner_count;
    if (entries_used < count)
        return (int64_t)entries_used++;
    int64_t oldest = -1;
    uint64_t until = UINT64_MAX;
    for (uint64_t i = 0; i < count; i++)
        if (entry_at(recording, i)->until < until) {
            until = entry_at(recording, i)->until;
            oldest = (int64_t)i;
        }
    return oldest;
}

/* While the entry is changed its version is odd. A reader that sees the same even version before and after reading
 * has read a whole entry. */
static void change_begin(struct layout_owner *entry)
{
    __atomic_store_n(&entry->version, entry->version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void change_end(struct layout_owner *entry)
{
    __atomic_store_n(&entry->version, entry->version + 1, __ATOMIC_RELEASE);
}

static void end_entry(const struct recording *recording, struct owner *owner, uint64_t now)
{
    if (owner->entry < 0)
        return;
    struct layout_owner *entry = entry_at(recording, (uint64_t)owner->entry);
    change_begin(entry);
    entry->until = now;
    change_end(entry);
    owner->entry = -1;
}

static void begin_entry(struct recording *recording, struct owner *owner, uint64_t now)
{
    owner->entry = take_entry(recording);
    if (owner->entry < 0) {
        __atomic_fetch_add(&recording->control->owners_lost, 1, __ATOMIC_RELAXED);
        return;
    }
    struct layout_owner *entry = entry_at(recording, (uint64_t)owner->entry);
    size_t length = owner->description != NULL ? strlen(owner->description) : 0;
    if (length > sizeof entry->description)
        length = sizeof entry->description;
    change_begin(entry);
    entry->since = now;
    entry->until = UINT64_MAX;
    entry->id = owner->id;
    entry->type = (uint16_t)registry_owner_type(recorder.registry, owner->type);
    entry->description_bytes = (uint16_t)length;
    memset(entry->description, 0, sizeof entry->description);
    if (length > 0)
        memcpy(entry->description, owner->description, length);
    change_end(entry);
}

void owner_publish(void)
{
    entries_used = 0;
    for (size_t i = 0; i < owner_count; i++)
        /* Nothing was recorded before, so these owners may count as registered since the counter's 0. */
        begin_entry(&recorder.recording, &owners[i], 0);
}

uint32_t spoor_owner_register(const struct spoor_owner_type *type, const char *description)
{
    uint32_t id = SPOOR_NO_OWNER;
    recorder_lock();
    struct recording *recording = recorder_own();
    if (owner_count == owner_room) {
        const size_t room = owner_room * 2 + 16;
        struct owner *grown = realloc(owners, room * sizeof *owners);
        if (grown != NULL) {
            owners = grown;
            owner_room = room;
        }
    }
    struct owner owner = {.id = next_id,
                          .entry = -1,
                          .type = strdup(type->name),
                          .description = strdup(description != NULL ? description : "")};
    if (owner_count < owner_room && owner.type != NULL && owner.description != NULL &&
        next_id != UINT32_MAX) {
        id = next_id++;
        owners[owner_count] = owner;
        if (recording != NULL)
            begin_entry(recording, &owners[owner_count], spoor_counter_());
        owner_count++;
    } else {
        free(owner.type);
        free(owner.description);
    }
    recorder_unlock();
    return id;
}

void spoor_owner_describe(uint32_t id, const char *description)
{
    recorder_lock();
    struct recording *recording = recorder_own();
    struct owner *owner = find(id);
    char *copy = owner != NULL ? strdup(description != NULL ? description : "") : NULL;
    if (copy != NULL) {
        free(owner->description);
        owner->description = copy;
        if (recording != NULL) {
            const uint64_t now = spoor_counter_();
            end_entry(recording, owner, now);
            begin_entry(recording, owner, now);
        }
    }
    recorder_unlock();
}

void spoor_owner_unregister(uint32_t id)
{
    recorder_lock();
    struct recording *recording = recorder_own();
    struct owner *owner = find(id);
    if (owner != NULL) {
        if (recording != NULL)
            end_entry(recording, owner, spoor_counter_());
        free(owner->type);
        free(owner->description);
        memmove(owner, owner + 1, (size_t)(owners + owner_count - (owner + 1)) * sizeof *owner);
        owner_count--;
    }
    recorder_unlock();
}
