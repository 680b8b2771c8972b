/* SPDX-License-Identifier: BSD-3-Clause */
/* What is recorded: the option string and SPOOR_TRACE, the filter, the list of tracepoints.
 *
 *   what  = item { "," item }
 *   item  = "all" | "help" | group [ ":" ( name | mask ) ] */
#include "recorder/state.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { ITEM_MAX = 256 };

struct item {
    char group[ITEM_MAX];
    /* the part after the colon, in the memory of `group`; NULL: every tracepoint of the group */
    const char *name;
    uint64_t mask;
    bool has_mask;
};

/* Reads the next item of *what and moves *what behind it; empty items are skipped. Returns 1 if there was an item,
 * 0 if none was left, or -errno after recorder_fail(). */
static int next_item(const char **what, struct item *item)
{
    *what += strspn(*what, ", ");
    const size_t length = strcspn(*what, ", ");
    if (length == 0)
        return 0;
    if (length >= ITEM_MAX)
        return recorder_fail(-EINVAL, "what to record: '%.20s…' is too long", *what);
    memset(item, 0, sizeof *item);
    memcpy(item->group, *what, length);
    *what += length;
    char *colon = strchr(item->group, ':');
    if (strcmp(item->group, "all") == 0)
        item->group[0] = '*', item->group[1] = '\0';
    if (colon == NULL)
        return 1;
    *colon = '\0';
    item->name = colon + 1;
    if (item->name[0] >= '0' && item->name[0] <= '9') {
        char *end;
        errno = 0;
        const bool is_hexadecimal = item->name[1] == 'x' || item->name[1] == 'X';
        item->mask = strtoull(item->name, &end, is_hexadecimal ? 16 : 10);
        if (*end != '\0' || errno != 0)
            return recorder_fail(-EINVAL, "'%s' in '%s:%s' is neither a tracepoint's name nor a mask",
                                 item->name, item->group, item->name);
        item->has_mask = true;
    }
    return 1;
}

static bool item_matches(const struct item *item, const struct registry *registry,
                         const struct registry_tracepoint *tracepoint)
{
    if (fnmatch(item->group, registry->groups[tracepoint->group - 1].name, 0) != 0)
        return false;
    if (item->has_mask)
        return tracepoint->index < 64 && (item->mask >> tracepoint->index & 1);
    return item->name == NULL || fnmatch(item->name, tracepoint->name, 0) == 0;
}

bool enable_is_help(const char *what)
{
    struct item item;
    while (what != NULL && next_item(&what, &item) == 1)
        if (strcmp(item.group, "help") == 0 && item.name == NULL)
            return true;
    return false;
}

int enable_check(const struct registry *registry, const char *what)
{
    struct item item;
    int result;
    while ((result = next_item(&what, &item)) == 1) {
        bool group = false, any = false;
        for (unsigned i = 0; i < registry->group_count; i++)
            group |= fnmatch(item.group, registry->groups[i].name, 0) == 0;
        for (unsigned i = 0; i < registry->tracepoint_count; i++)
            any |= item_matches(&item, registry, &registry->tracepoints[i]);
        if (any || (group && item.name == NULL) || strcmp(item.group, "*") == 0)
            continue;
        if (!group)
            return recorder_fail(-EINVAL, "there is no group '%s' of tracepoints; 'help' lists them",
                                 item.group);
        return recorder_fail(-EINVAL, "group '%s' has no tracepoint '%s'; 'help' lists them", item.group,
                             item.name);
    }
    return result;
}

void enable_apply(const struct registry *registry, const char *what, uint8_t *enable, uint8_t value,
                  unsigned first)
{
    struct item item;
    while (next_item(&what, &item) == 1)
        for (unsigned i = first; i < registry->tracepoint_count; i++)
            if (item_matches(&item, registry, &registry->tracepoints[i]))
                __atomic_store_n(&enable[i + 1], value, __ATOMIC_RELAXED);
}

void enable_list(const struct registry *registry, FILE *stream)
{
    for (unsigned group = 0; group < registry->group_count; group++) {
        fprintf(stream, "%s: %s\n", registry->groups[group].name, registry->groups[group].text);
        for (unsigned i = 0; i < registry->tracepoint_count; i++) {
            const struct registry_tracepoint *tracepoint = &registry->tracepoints[i];
            if (tracepoint->group != group + 1)
                continue;
            char mask[24] = "";
            if (tracepoint->index < 64)
                snprintf(mask, sizeof mask, "0x%llx", 1ull << tracepoint->index);
            fprintf(stream, "  %-40s %s\n", tracepoint->name, mask);
        }
    }
}

void spoor_trace_list(FILE *stream)
{
    struct registry *own = NULL;
    recorder_lock();
    if (recorder.registry != NULL)
        enable_list(recorder.registry, stream);
    else if (registry_collect(&own) == 0)
        enable_list(own, stream);
    registry_free(own);
    recorder_unlock();
}

static bool filter_is_on(const struct layout_control *control)
{
    return control->filter.owner_count != 0 || control->filter.object_count != 0;
}

static int change(const char *what, bool on)
{
    int error;
    recorder_lock();
    struct recording *recording = recorder_own();
    if (recording == NULL) {
        error = recorder_fail(-ENOENT, "no recording is open: call spoor_trace_open first");
    } else if ((error = enable_check(recorder.registry, what)) == 0) {
        uint8_t value = 0;
        if (on)
            value = LAYOUT_ENABLE_ON | (filter_is_on(recording->control) ? LAYOUT_ENABLE_FILTERED : 0);
        enable_apply(recorder.registry, what, recording->memory + recording->header->enable_offset, value, 0);
    }
    recorder_unlock();
    return error;
}

int spoor_trace_enable(const char *what)
{
    return change(what, true);
}

int spoor_trace_disable(const char *what)
{
    return change(what, false);
}

int spoor_trace_filter(const uint32_t *owners, unsigned owner_count, const uint64_t *objects,
                       unsigned object_count)
{
    int error = 0;
    recorder_lock();
    struct recording *recording = recorder_own();
    if (recording == NULL) {
        error = recorder_fail(-ENOENT, "no recording is open: call spoor_trace_open first");
    } else if (owner_count > LAYOUT_FILTER_IDS || object_count > LAYOUT_FILTER_IDS) {
        error = recorder_fail(-EINVAL, "a filter has at most %d owners and %d objects", LAYOUT_FILTER_IDS,
                              LAYOUT_FILTER_IDS);
    } else {
        struct layout_filter *filter = &recording->control->filter;
        __atomic_store_n(&filter->owner_count, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&filter->object_count, 0, __ATOMIC_RELEASE);
        for (unsigned i = 0; i < owner_count; i++)
            filter->owners[i] = owners[i];
        for (unsigned i = 0; i < object_count; i++)
            filter->objects[i] = objects[i];
        __atomic_store_n(&filter->owner_count, owner_count, __ATOMIC_RELEASE);
        __atomic_store_n(&filter->object_count, object_count, __ATOMIC_RELEASE);
        uint8_t *enable = recording->memory + recording->header->enable_offset;
        const uint8_t value =
            LAYOUT_ENABLE_ON | (filter_is_on(recording->control) ? LAYOUT_ENABLE_FILTERED : 0);
        for (unsigned i = 1; i <= recorder.registry->tracepoint_count; i++)
            if (enable[i] != 0)
                __atomic_store_n(&enable[i], value, __ATOMIC_RELAXED);
    }
    recorder_unlock();
    return error;
}
