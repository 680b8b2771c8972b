/* SPDX-License-Identifier: BSD-3-Clause */
/* Steers recordings of spoor's own format: see "What others may write" in recorder/layout.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/glob.h"
#include "base/number.h"
#include "reader/control_format.h"
#include "reader/copy.h"
#include "reader/spoor.h"

static const struct layout_header *header_of(const struct control *control)
{
    return &((const struct spoor_state *)control->recording->state)->header;
}

/* ---- enabling ---- */

static const struct recording_tracepoint *tracepoint_at(const struct control *control, uint64_t id)
{
    const struct recording_model *model = recording_model(control->recording);
    return id < model->tracepoint_room && id < header_of(control)->enable_count ? model->tracepoints[id]
                                                                                : NULL;
}

static bool read_byte(const struct control *control, uint64_t id, uint8_t *byte)
{
    return recording_read_all(control->recording, byte, 1, header_of(control)->enable_offset + id);
}

static bool is_enabled(const struct control *control, const struct recording_tracepoint *tracepoint,
                       bool *is_filtered)
{
    uint8_t byte = 0;
    if (tracepoint_at(control, tracepoint->id))
        read_byte(control, tracepoint->id, &byte);
    *is_filtered = byte & LAYOUT_ENABLE_FILTERED;
    return byte & LAYOUT_ENABLE_ON;
}

static bool has_filter(const struct control *control)
{
    struct layout_filter filter;
    return recording_read_all(control->recording, &filter, sizeof filter,
                              header_of(control)->control_offset + offsetof(struct layout_control, filter)) &&
           (filter.owner_count || filter.object_count);
}

static int enable(const struct control *control, const uint8_t *marks, bool on, struct text *why)
{
    const uint8_t value = !on                   ? 0
                          : has_filter(control) ? LAYOUT_ENABLE_ON | LAYOUT_ENABLE_FILTERED
                                                : LAYOUT_ENABLE_ON;
    int error = 0;
    for (uint64_t id = 1; id < LAYOUT_ID_PADDING && !error; id++)
        if (marks[id] && tracepoint_at(control, id))
            error = control_put(control, &value, 1, header_of(control)->enable_offset + id, why);
    return error;
}

/* ---- the filter ---- */

static bool is_owner(const char *text, const struct recording_owner *owner)
{
    uint64_t id;
    if (owner->letter && text[0] == owner->letter && decimal_parse(text + 1, &id))
        return id == owner->id;
    return (number_parse(text, &id) && id == owner->id) ||
           (owner->description_length && glob_match(text, owner->description));
}

static int add_owners(const struct control *control, const char *word, struct layout_filter *filter,
                      struct text *why)
{
    struct recording_owner owner;
    bool any = false;
    for (size_t i = 0; recording_owner_at(control->recording, i, &owner); i++) {
        if (owner.until != UINT64_MAX || !is_owner(word, &owner))
            continue;
        if (filter->owner_count == LAYOUT_FILTER_IDS) {
            text_printf(why, "a filter holds up to %d owners", LAYOUT_FILTER_IDS);
            return -E2BIG;
        }
        filter->owners[filter->owner_count++] = owner.id;
        any = true;
    }
    if (any)
        return 0;
    text_printf(why, "no owner is called '%s' now; `spoor ctl show` lists them", word);
    return -ENOENT;
}

static int add_object(const char *word, struct layout_filter *filter, struct text *why)
{
    uint64_t id;
    if (!number_parse(word, &id)) {
        text_printf(why, "an object is named by its recorded id (0x…), not '%s'", word);
        return -EINVAL;
    }
    if (filter->object_count == LAYOUT_FILTER_IDS) {
        text_printf(why, "a filter holds up to %d objects", LAYOUT_FILTER_IDS);
        return -E2BIG;
    }
    filter->objects[filter->object_count++] = id;
    return 0;
}

static int parse_filter(const struct control *control, const char *text, bool is_owners,
                        struct layout_filter *filter, struct text *why)
{
    char *words = strdup(text ? text : ""), *rest;
    int error = words ? 0 : -ENOMEM;
    for (char *word = error ? NULL : strtok_r(words, ",", &rest); word && !error;
         word = strtok_r(NULL, ",", &rest))
        error = is_owners ? add_owners(control, word, filter, why) : add_object(word, filter, why);
    free(words);
    return error;
}

/* Sets or clears the bit of all enabled tracepoints that makes them read the filter. */
static int mark_filtered(const struct control *control, bool filtered, struct text *why)
{
    int error = 0;
    for (uint64_t id = 1; id < LAYOUT_ID_PADDING && !error; id++) {
        uint8_t byte;
        if (!tracepoint_at(control, id) || !read_byte(control, id, &byte) || !(byte & LAYOUT_ENABLE_ON))
            continue;
        byte = filtered ? LAYOUT_ENABLE_ON | LAYOUT_ENABLE_FILTERED : LAYOUT_ENABLE_ON;
        error = control_put(control, &byte, 1, header_of(control)->enable_offset + id, why);
    }
    return error;
}

static int filter(const struct control *control, const char *owners, const char *objects, struct text *why)
{
    const uint64_t offset = header_of(control)->control_offset + offsetof(struct layout_control, filter);
    struct layout_filter wanted = {0};
    const uint32_t none[2] = {0};
    int error = parse_filter(control, owners, true, &wanted, why);
    if (!error)
        error = parse_filter(control, objects, false, &wanted, why);
    if (error)
        return error;
    const bool filters = wanted.owner_count || wanted.object_count;
    if (!filters) {
        error = mark_filtered(control, false, why);
        return error ? error : control_put(control, none, sizeof none, offset, why);
    }
    /* First the ids are written, then their number, and at last the bits that make tracepoints read the filter. */
    error = control_put(control, (uint8_t *)&wanted + sizeof none, sizeof wanted - sizeof none,
                        offset + sizeof none, why);
    if (!error)
        error = control_put(control, &wanted, sizeof none, offset, why);
    return error ? error : mark_filtered(control, true, why);
}

static int clear(const struct control *control, struct text *why)
{
    const uint64_t now = recording_counter_now();
    return control_put(control, &now, sizeof now,
                       header_of(control)->control_offset + offsetof(struct layout_control, cleared), why);
}

/* ---- dump ---- */

/* Returns the stamp of the newest block, for a program that records no more. */
static uint64_t newest_counter(const struct control *control)
{
    const struct spoor_state *state = control->recording->state;
    uint64_t newest = state->control.closed;
    for (uint32_t i = 0; i < state->ring_end; i++) {
        const struct spoor_ring *ring = state->rings[i];
        uint64_t counter;
        if (ring && ring->place_count &&
            recording_read_all(control->recording, &counter, sizeof counter,
                               ring->places[ring->place_count - 1].offset +
                                   offsetof(struct layout_block, counter)) &&
            counter > newest)
            newest = counter;
    }
    return newest;
}

/* Whether a block may have records from the counter `from` on: it may if its successor began later. */
static bool is_wanted(const struct control *control, uint64_t first, uint64_t blocks, uint64_t slot,
                      uint64_t from)
{
    struct layout_block block, after;
    if (!recording_read_all(control->recording, &block, LAYOUT_BLOCK_HEADER_BYTES,
                            first + slot % blocks * LAYOUT_BLOCK_BYTES) ||
        !block.sequence)
        return false;
    return !recording_read_all(control->recording, &after, LAYOUT_BLOCK_HEADER_BYTES,
                               first + (slot + 1) % blocks * LAYOUT_BLOCK_BYTES) ||
           after.sequence != block.sequence + 1 || after.counter >= from;
}

/* Called at a slot that is not wanted and whose successor is not either. If a hole begins there, returns the slot
 * before the last one of the hole, so that the next slot has data behind it, or is the ring's last; else the slot
 * itself. A hole costs the owner of a file nothing, so its slots must cost little here. */
static uint64_t over_hole(const struct control *control, uint64_t first, uint64_t slot, uint64_t blocks)
{
    const uint64_t data = recording_skip_hole(control->recording, first + (slot + 1) * LAYOUT_BLOCK_BYTES);
    const uint64_t next =
        data < first + blocks * LAYOUT_BLOCK_BYTES ? (data - first) / LAYOUT_BLOCK_BYTES : blocks;
    return next > slot + 2 ? next - 2 : slot;
}

/* Writes those blocks of a ring that may have records from `from` on, and their neighbours, whose pages say whether
 * they are whole. */
static int dump_ring(const struct control *control, int to, const struct layout_place *place, uint64_t from)
{
    const uint64_t offset = place->offset, first = offset + LAYOUT_PAGE,
                   blocks = place->bytes / LAYOUT_BLOCK_BYTES;
    const int source = recording_file(control->recording);
    int error = copy_range(source, to, offset, LAYOUT_PAGE);
    bool before = is_wanted(control, first, blocks, blocks - 1, from);
    bool here = is_wanted(control, first, blocks, 0, from);
    for (uint64_t slot = 0; slot < blocks && !error; slot++) {
        const bool behind = is_wanted(control, first, blocks, slot + 1, from);
        if (before || here || behind)
            error = copy_range(source, to, first + slot * LAYOUT_BLOCK_BYTES, LAYOUT_BLOCK_BYTES);
        else
            slot = over_hole(control, first, slot, blocks);
        before = here;
        here = behind;
    }
    return error ? error : copy_range(source, to, first + place->bytes, LAYOUT_PAGE);
}

static int dump_newest(const struct control *control, int to, uint64_t nanoseconds)
{
    const struct layout_header *header = header_of(control);
    const struct spoor_state *state = control->recording->state;
    const uint64_t now =
        recording_is_live(control->recording) ? recording_counter_now() : newest_counter(control);
    const unsigned __int128 span = (unsigned __int128)nanoseconds * header->counter_hz / NSEC_PER_SEC;
    const uint64_t from = span < now ? now - (uint64_t)span : 1;
    int error = copy_range(recording_file(control->recording), to, 0, header->rings_offset);
    for (size_t i = 0; i < state->directory.count && !error; i++)
        if (spoor_place_is_used(&state->directory.places[i]))
            error = dump_ring(control, to, &state->directory.places[i], from);
    /* The copy is as long as the recording even if that ends with a hole. */
    struct stat status;
    if (!error && (fstat(to, &status) || ((uint64_t)status.st_size < control->recording->file_bytes &&
                                          ftruncate(to, (off_t)control->recording->file_bytes))))
        error = -errno;
    if (!error &&
        pwrite(to, &from, sizeof from,
               (off_t)(header->control_offset + offsetof(struct layout_control, from))) != sizeof from)
        error = -EIO;
    return error;
}

static int dump(const struct control *control, uint64_t nanoseconds, const char *path, struct text *why)
{
    const struct layout_header *header = header_of(control);
    const bool whole = !nanoseconds || header->kind != LAYOUT_KIND_RINGS;
    if (nanoseconds && whole) {
        text_printf(why, "%s is no live recording: cp it, and read it with --from",
                    recording_path(control->recording));
        return -EINVAL;
    }
    const int to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0)
        return control_fail(why, "create", path, -errno);
    const int error =
        whole ? copy_file(recording_file(control->recording), to) : dump_newest(control, to, nanoseconds);
    if (close(to) || error) {
        const int problem = error ? error : -errno;
        unlink(path);
        return control_fail(why, "write", path, problem);
    }
    return 0;
}

const struct control_format control_format_spoor = {
    .is_enabled = is_enabled,
    .enable = enable,
    .filter = filter,
    .clear = clear,
    .dump = dump,
};
