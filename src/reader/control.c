/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/control.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/copy.h"
#include "reader/spoor.h"

struct control {
    struct recording *recording;
    const struct layout_header *header;
    int file; /* for writing */
};

static int fail(struct text *why, const char *what, const char *path, int error)
{
    text_printf(why, "cannot %s %s: %s", what, path, strerror(-error));
    return error;
}

const struct recording *control_recording(const struct control *control)
{
    return control->recording;
}

int control_open(const char *path, struct control **result, struct text *why)
{
    const struct recording_options options = {.only_cpu = -1};
    struct control *control = calloc(1, sizeof *control);
    *result = NULL;
    if (!control)
        return -ENOMEM;
    control->file = -1;
    int error = recording_open(path, &options, &control->recording, why);
    if (!error && recording_is_spdk(control->recording)) {
        text_printf(why,
                    "%s is in SPDK's format: its program is steered by SPDK's own rpc "
                    "(trace_enable_tpoint_group, trace_clear, …)",
                    path);
        error = -EOPNOTSUPP;
    }
    if (!error) {
        const struct spoor_state *state = control->recording->state;
        control->header = &state->header;
        control->file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (control->file < 0)
            error = fail(why, "open for writing", path, -errno);
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    if (!error && fcntl(control->file, F_OFD_SETLKW, &lock) && errno != EINVAL)
        error = fail(why, "lock", path, -errno);
    if (error)
        control_close(control);
    else
        *result = control;
    return error;
}

void control_close(struct control *control)
{
    if (!control)
        return;
    if (control->file >= 0)
        close(control->file);
    recording_close(control->recording);
    free(control);
}

static int put(const struct control *control, const void *bytes, size_t length, uint64_t offset,
               struct text *why)
{
    const ssize_t done = pwrite(control->file, bytes, length, (off_t)offset);
    if (done == (ssize_t)length)
        return 0;
    return fail(why, "write", recording_path(control->recording), done < 0 ? -errno : -EIO);
}

/* ---- enabling ---- */

static const struct recording_tracepoint *tracepoint_at(const struct control *control, uint64_t id)
{
    const struct recording_model *model = recording_model(control->recording);
    return id < model->tracepoint_room && id < control->header->enable_count ? model->tracepoints[id] : NULL;
}

static bool read_byte(const struct control *control, uint64_t id, uint8_t *byte)
{
    return recording_read_all(control->recording, byte, 1, control->header->enable_offset + id);
}

bool control_is_enabled(struct control *control, const struct recording_tracepoint *tracepoint,
                        bool *is_filtered)
{
    uint8_t byte = 0;
    if (tracepoint_at(control, tracepoint->id))
        read_byte(control, tracepoint->id, &byte);
    *is_filtered = byte & LAYOUT_ENABLE_FILTERED;
    return byte & LAYOUT_ENABLE_ON;
}

struct selection {     /* one of the words between commas */
    const char *group; /* pattern; NULL: all */
    const char *name;  /* pattern; NULL: all */
    bool has_mask;
    uint64_t mask;
};

static struct selection parse_selection(char *word)
{
    struct selection selection = {0};
    if (!strcmp(word, "all"))
        return selection;
    char *colon = strchr(word, ':');
    selection.group = word;
    if (!colon)
        return selection;
    *colon = 0;
    selection.name = colon + 1;
    if (isdigit((unsigned char)*selection.name)) {
        char *end;
        errno = 0;
        selection.mask = strtoull(selection.name, &end, 0);
        selection.has_mask = !*end && !errno;
    }
    return selection;
}

static bool is_selected(const struct selection *selection, const struct recording_tracepoint *tracepoint)
{
    if (selection->group && fnmatch(selection->group, tracepoint->group->name, 0))
        return false;
    if (selection->has_mask)
        return tracepoint->index < 64 && selection->mask >> tracepoint->index & 1;
    return !selection->name || !fnmatch(selection->name, tracepoint->name, 0);
}

/* Marks what a word selects; false: nothing. */
static bool mark(const struct control *control, const struct selection *selection, uint8_t *marks)
{
    bool any = false;
    for (uint64_t id = 1; id < LAYOUT_ID_PADDING; id++) {
        const struct recording_tracepoint *tracepoint = tracepoint_at(control, id);
        if (!tracepoint || !is_selected(selection, tracepoint))
            continue;
        marks[id] = 1;
        any = true;
    }
    return any;
}

static bool has_filter(const struct control *control)
{
    struct layout_filter filter;
    return recording_read_all(control->recording, &filter, sizeof filter,
                              control->header->control_offset + offsetof(struct layout_control, filter)) &&
           (filter.owner_count || filter.object_count);
}

/* Writes the enable bytes that are marked. */
static int switch_marked(const struct control *control, const uint8_t *marks, uint8_t value, struct text *why)
{
    int error = 0;
    for (uint64_t id = 1; id < LAYOUT_ID_PADDING && !error; id++)
        if (marks[id])
            error = put(control, &value, 1, control->header->enable_offset + id, why);
    return error;
}

int control_enable(struct control *control, const char *what, bool on, struct text *why)
{
    char *words = strdup(what), *rest;
    uint8_t *marks = calloc(65536, 1);
    int error = words && marks ? 0 : -ENOMEM;
    bool any = false;
    for (char *word = error ? NULL : strtok_r(words, ", ", &rest); word && !error;
         word = strtok_r(NULL, ", ", &rest)) {
        const struct selection selection = parse_selection(word);
        any = true;
        if (!mark(control, &selection, marks)) {
            text_printf(why, "no tracepoint is called '%s%s%s' in %s; `spoor ctl show` lists them", word,
                        selection.name ? ":" : "", selection.name ? selection.name : "",
                        recording_path(control->recording));
            error = -ENOENT;
        }
    }
    if (!error && !any) {
        text_add(why, "which tracepoints? group, group:NAME, group:mask or all, separated by commas");
        error = -EINVAL;
    }
    if (!error)
        error = switch_marked(control, marks,
                              !on                   ? 0
                              : has_filter(control) ? LAYOUT_ENABLE_ON | LAYOUT_ENABLE_FILTERED
                                                    : LAYOUT_ENABLE_ON,
                              why);
    free(words);
    free(marks);
    return error;
}

/* ---- the filter ---- */

static bool is_owner(const char *text, const struct recording_owner *owner)
{
    char *end;
    if (owner->letter && text[0] == owner->letter && isdigit((unsigned char)text[1]))
        return strtoull(text + 1, &end, 10) == owner->id && !*end;
    if (isdigit((unsigned char)text[0]) && strtoull(text, &end, 10) == owner->id && !*end)
        return true;
    return owner->description_length && !fnmatch(text, owner->description, 0);
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
    char *end;
    errno = 0;
    const uint64_t id = strtoull(word, &end, 0);
    if (*end || errno || !isdigit((unsigned char)*word)) {
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

/* The bit of all that are on. */
static int mark_filtered(const struct control *control, bool filtered, struct text *why)
{
    int error = 0;
    for (uint64_t id = 1; id < LAYOUT_ID_PADDING && !error; id++) {
        uint8_t byte;
        if (!tracepoint_at(control, id) || !read_byte(control, id, &byte) || !(byte & LAYOUT_ENABLE_ON))
            continue;
        byte = filtered ? LAYOUT_ENABLE_ON | LAYOUT_ENABLE_FILTERED : LAYOUT_ENABLE_ON;
        error = put(control, &byte, 1, control->header->enable_offset + id, why);
    }
    return error;
}

int control_filter(struct control *control, const char *owners, const char *objects, struct text *why)
{
    const uint64_t offset = control->header->control_offset + offsetof(struct layout_control, filter);
    struct layout_filter filter = {0};
    const uint32_t none[2] = {0};
    int error = parse_filter(control, owners, true, &filter, why);
    if (!error)
        error = parse_filter(control, objects, false, &filter, why);
    if (error)
        return error;
    const bool filters = filter.owner_count || filter.object_count;
    if (!filters) {
        error = mark_filtered(control, false, why);
        return error ? error : put(control, none, sizeof none, offset, why);
    }
    /* The ids first, then how many; then all that are on ask. */
    error = put(control, (uint8_t *)&filter + sizeof none, sizeof filter - sizeof none, offset + sizeof none,
                why);
    if (!error)
        error = put(control, &filter, sizeof none, offset, why);
    return error ? error : mark_filtered(control, true, why);
}

int control_clear(struct control *control, struct text *why)
{
    const uint64_t now = recording_counter_now();
    return put(control, &now, sizeof now,
               control->header->control_offset + offsetof(struct layout_control, cleared), why);
}

/* ---- dump ---- */

/* Stamp of the newest block, for a program that records no more. */
static uint64_t newest_counter(const struct control *control)
{
    const struct spoor_state *state = control->recording->state;
    uint64_t newest = state->control.closed;
    for (uint32_t i = 0; i < LAYOUT_MAX_RINGS; i++) {
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

/* Those blocks of a ring that may hold something from `from` on: all whose successor began later. */
static int dump_ring(const struct control *control, int to, uint32_t index, uint64_t from)
{
    const struct layout_header *header = control->header;
    const uint64_t offset = header->rings_offset + index * header->ring_stride,
                   blocks = header->ring_bytes / LAYOUT_BLOCK_BYTES;
    const int source = recording_file(control->recording);
    int error = copy_range(source, to, offset, LAYOUT_PAGE);
    for (uint64_t slot = 0; slot < blocks && !error; slot++) {
        struct layout_block block, after;
        const uint64_t at = offset + LAYOUT_PAGE + slot * LAYOUT_BLOCK_BYTES;
        const uint64_t next = offset + LAYOUT_PAGE + (slot + 1) % blocks * LAYOUT_BLOCK_BYTES;
        if (!recording_read_all(control->recording, &block, LAYOUT_BLOCK_HEADER_BYTES, at) || !block.sequence)
            continue;
        const bool has_next =
            recording_read_all(control->recording, &after, LAYOUT_BLOCK_HEADER_BYTES, next) &&
            after.sequence == block.sequence + 1;
        if (!has_next || after.counter >= from)
            error = copy_range(source, to, at, LAYOUT_BLOCK_BYTES);
    }
    return error;
}

static int dump_newest(const struct control *control, int to, uint64_t nanoseconds)
{
    const struct layout_header *header = control->header;
    const struct spoor_state *state = control->recording->state;
    const uint64_t now =
        recording_is_live(control->recording) ? recording_counter_now() : newest_counter(control);
    const unsigned __int128 span = (unsigned __int128)nanoseconds * header->counter_hz / 1000000000u;
    const uint64_t from = span < now ? now - (uint64_t)span : 1;
    int error = copy_range(recording_file(control->recording), to, 0, header->rings_offset);
    for (uint32_t i = 0; i < header->ring_limit && !error; i++)
        if (state->control.ring_states[i] == LAYOUT_RING_USED ||
            state->control.ring_states[i] == LAYOUT_RING_ENDED)
            error = dump_ring(control, to, i, from);
    if (!error &&
        pwrite(to, &from, sizeof from,
               (off_t)(header->control_offset + offsetof(struct layout_control, from))) != sizeof from)
        error = -EIO;
    return error;
}

int control_dump(struct control *control, uint64_t nanoseconds, const char *path, struct text *why)
{
    const struct layout_header *header = control->header;
    const bool whole = !nanoseconds || header->kind != LAYOUT_KIND_RINGS;
    if (nanoseconds && whole) {
        text_printf(why, "%s is no live recording: cp it, and read it with --from",
                    recording_path(control->recording));
        return -EINVAL;
    }
    const int to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0)
        return fail(why, "create", path, -errno);
    const int error =
        whole ? copy_file(recording_file(control->recording), to) : dump_newest(control, to, nanoseconds);
    if (close(to) || error) {
        const int problem = error ? error : -errno;
        unlink(path);
        return fail(why, "write", path, problem);
    }
    return 0;
}
