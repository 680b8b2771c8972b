/* SPDX-License-Identifier: BSD-3-Clause */
/* Steers recordings of SPDK's format. Its programs read only the masks of the groups in the shared memory before
 * they record. So tracepoints can be enabled and disabled, and what was recorded so far can be declared old, but
 * there is no filter. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "reader/control_format.h"
#include "reader/drain.h"
#include "reader/spdk_state.h"

static const struct spdk_state *state_of(const struct control *control)
{
    return control->recording->state;
}

/* Returns the offset of a group's mask; 0: it has none. */
static uint64_t mask_offset(const struct control *control, uint32_t group)
{
    uint64_t masks = 0;
    const unsigned count = spdk_section_count(control->recording, SPDK_SECTION_MASKS, &masks);
    return group < count ? masks + group * sizeof(uint64_t) : 0;
}

static bool is_enabled(const struct control *control, const struct recording_tracepoint *tracepoint,
                       bool *is_filtered)
{
    uint64_t mask = 0;
    const uint64_t offset = mask_offset(control, tracepoint->id / SPDK_IN_GROUP);
    *is_filtered = false;
    return offset && recording_read_all(control->recording, &mask, sizeof mask, offset) &&
           mask >> tracepoint->index & 1;
}

static int must_be_in_memory(const struct control *control, struct text *why)
{
    if (!state_of(control)->is_stream)
        return 0;
    text_printf(why, "%s was drained or dumped: no program looks at it", recording_path(control->recording));
    return -EINVAL;
}

static int enable(const struct control *control, const uint8_t *marks, bool on, struct text *why)
{
    int error = must_be_in_memory(control, why);
    for (uint32_t group = 0; group < SPDK_GROUPS && !error; group++) {
        uint64_t bits = 0, mask;
        for (uint32_t i = 0; i < SPDK_IN_GROUP; i++)
            bits |= (uint64_t)marks[group * SPDK_IN_GROUP + i] << i;
        if (!bits)
            continue;
        const uint64_t offset = mask_offset(control, group);
        if (!offset || !recording_read_all(control->recording, &mask, sizeof mask, offset)) {
            text_printf(why, "%s has no mask for group %" PRIu32 ": its program cannot be told",
                        recording_path(control->recording), group);
            return -EOPNOTSUPP;
        }
        mask = on ? mask | bits : mask & ~bits;
        error = control_put(control, &mask, sizeof mask, offset, why);
    }
    return error;
}

static int filter(const struct control *control, const char *owners, const char *objects, struct text *why)
{
    (void)owners, (void)objects;
    text_printf(why,
                "%s is in SPDK's format, which has no filter: its program asks nothing but the masks of the "
                "groups. `spoor report --owner` and --object choose when it is read",
                recording_path(control->recording));
    return -EOPNOTSUPP;
}

static int clear(const struct control *control, struct text *why)
{
    const uint64_t now = recording_counter_now();
    const int error = must_be_in_memory(control, why);
    return error ? error
                 : control_put(control, &now, sizeof now,
                               state_of(control)->header.offsets[SPDK_SECTION_MAIN] +
                                   offsetof(struct spdk_main, clear_tsc),
                               why);
}

/* Returns the stamp of the newest event, for a program that records no more. */
static uint64_t newest(const struct control *control)
{
    const struct recording_options options = {.only_cpu = -1, .whole = true};
    struct recording *recording;
    struct recording_event event;
    struct text why = {0};
    uint64_t stamp = 0;
    if (!recording_again(control->recording, &options, &recording, &why)) {
        while (recording_next(recording, &event) == 1)
            stamp = event.stamp;
        recording_close(recording);
    }
    text_free(&why);
    return stamp;
}

static int dump(const struct control *control, uint64_t nanoseconds, const char *path, struct text *why)
{
    struct drain_options options = {.output = path};
    struct drain *drain;
    if (nanoseconds) {
        const uint64_t now =
            recording_is_live(control->recording) ? recording_counter_now() : newest(control);
        const unsigned __int128 span =
            (unsigned __int128)nanoseconds * recording_rate(control->recording) / NSEC_PER_SEC;
        options.from = span < now ? now - (uint64_t)span : 1;
    }
    struct recording *source;
    const struct recording_options reading = {.only_cpu = -1, .model_only = true, .relate = true};
    int error = recording_again(control->recording, &reading, &source, why);
    if (!error)
        error = drain_open_recording(source, &options, &drain, why);
    if (error)
        return error;
    error = drain_finish(drain, why);
    drain_close(drain);
    if (error)
        unlink(path);
    return error;
}

const struct control_format control_format_spdk = {
    .is_enabled = is_enabled,
    .enable = enable,
    .filter = filter,
    .clear = clear,
    .dump = dump,
};
