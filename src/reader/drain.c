/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/whole.h"
#include "reader/drain_format.h"
#include "reader/format.h"

int drain_fail(struct text *why, const char *what, const char *path, int error)
{
    text_printf(why, "cannot %s %s: %s", what, path, strerror(-error));
    return error;
}

int drain_write(struct drain *drain, const void *bytes, size_t length, uint64_t offset, struct text *why)
{
    const int error = whole_write_at(drain->file, bytes, length, offset);
    return error ? drain_fail(why, "write", drain->path, error) : 0;
}

int drain_append(struct drain *drain, const void *bytes, size_t length, struct text *why)
{
    const int error = drain->append ? drain->append(drain, bytes, length)
                                    : drain_write(drain, bytes, length, drain->written, why);
    drain->written += error ? 0 : length;
    return error;
}

/* ---- the output files ---- */

static int describe(struct drain *drain, struct text *why)
{
    drain->described = clock_seconds(CLOCK_MONOTONIC);
    return drain->format->describe(drain, why);
}

static int remove_old(const struct drain *drain, struct text *why)
{
    char *path;
    if (!drain->options.keep || drain->number <= drain->options.keep)
        return 0;
    if (asprintf(&path, "%s.%llu", drain->options.output,
                 (unsigned long long)(drain->number - drain->options.keep)) < 0)
        return -ENOMEM;
    const int error = unlink(path) && errno != ENOENT ? drain_fail(why, "remove", path, -errno) : 0;
    free(path);
    return error;
}

static int open_output(struct drain *drain, struct text *why)
{
    const bool rotates = drain->options.rotate_bytes || drain->options.rotate_seconds;
    drain->number++;
    drain->counts.files++;
    free(drain->path);
    drain->path = NULL;
    if (!rotates)
        drain->path = strdup(drain->options.output);
    else if (asprintf(&drain->path, "%s.%llu", drain->options.output, (unsigned long long)drain->number) < 0)
        drain->path = NULL;
    if (!drain->path)
        return -ENOMEM;
    drain->file = open(drain->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (drain->file < 0)
        return drain_fail(why, "create", drain->path, -errno);
    drain->opened = clock_seconds(CLOCK_MONOTONIC);
    drain->written = drain->begin;
    int error = describe(drain, why);
    if (!error)
        error = remove_old(drain, why);
    if (!error && drain->number > 1)
        error = drain->format->resume(drain, why);
    drain->first = drain->written;
    return error;
}

static int close_output(struct drain *drain, struct text *why)
{
    int error = 0;
    if (drain->file < 0)
        return 0;
    error = describe(drain, why);
    if (close(drain->file) && !error)
        error = drain_fail(why, "write", drain->path, -errno);
    drain->file = -1;
    drain->counts.bytes += drain->written;
    return error;
}

static bool must_rotate(const struct drain *drain)
{
    return drain->written > drain->first &&
           ((drain->options.rotate_bytes && drain->written - drain->first >= drain->options.rotate_bytes) ||
            (drain->options.rotate_seconds &&
             (uint64_t)(clock_seconds(CLOCK_MONOTONIC) - drain->opened) >= drain->options.rotate_seconds));
}

int drain_rotate(struct drain *drain, struct text *why)
{
    if (!must_rotate(drain))
        return 0;
    const int error = close_output(drain, why);
    return error ? error : open_output(drain, why);
}

/* ---- a recording ---- */

int drain_round(struct drain *drain, struct text *why)
{
    const int result = drain->format->round(drain, DRAIN_FULL, why);
    if (result < 0)
        return result;
    const int error = clock_seconds(CLOCK_MONOTONIC) != drain->described ? describe(drain, why) : 0;
    return error ? error : result;
}

bool drain_is_live(struct drain *drain)
{
    return drain->source->format->is_live(drain->source);
}

int drain_finish(struct drain *drain, struct text *why)
{
    const int result = drain->format->round(drain, DRAIN_LAST, why);
    const int error = close_output(drain, why);
    /* Parts that could not be read are missing from the copy. This is an error, although everything else was
     * written. */
    const int unread = *drain->source->read_error;
    if (result >= 0 && !error && unread)
        return drain_fail(why, "read everything in", recording_path(drain->source), -unread);
    return result < 0 ? result : error;
}

const char *drain_unrelated(const struct drain *drain)
{
    return drain->source->unrelated;
}

struct drain_counts drain_counts(const struct drain *drain)
{
    return drain->counts;
}

int drain_open_recording(struct recording *source, const struct drain_options *options, struct drain **result,
                         struct text *why)
{
    struct drain *drain = calloc(1, sizeof *drain);
    *result = NULL;
    if (!drain) {
        recording_close(source);
        return -ENOMEM;
    }
    drain->options = *options;
    drain->file = -1;
    drain->source = source;
    drain->format = recording_is_spdk(source) ? &drain_format_spdk : &drain_format_spoor;
    int error = drain->format->open(drain, why);
    if (!error)
        error = open_output(drain, why);
    if (error)
        drain_close(drain);
    else
        *result = drain;
    return error;
}

int drain_open(const char *path, const struct drain_options *options, struct drain **result, struct text *why)
{
    const struct recording_options reading = {
        .only_cpu = -1, .whole = true, .model_only = true, .relate = true};
    struct recording *source;
    const int error = recording_open(path, &reading, &source, why);
    *result = NULL;
    return error ? error : drain_open_recording(source, options, result, why);
}

void drain_close(struct drain *drain)
{
    if (!drain)
        return;
    drain->format->close(drain);
    if (drain->file >= 0)
        close(drain->file);
    recording_close(drain->source);
    free(drain->path);
    free(drain);
}

int drain_to_memory(struct recording *source, struct text *why)
{
    const struct drain_format *format = recording_is_spdk(source) ? &drain_format_spdk : &drain_format_spoor;
    char path[] = "a copy in memory";
    struct drain drain = {
        .source = source, .format = format, .path = path, .file = memfd_create("recording", MFD_CLOEXEC)};
    if (drain.file < 0)
        return drain_fail(why, "make", path, -errno);
    int error = format->open(&drain, why);
    drain.written = drain.begin;
    if (!error)
        error = format->describe(&drain, why);
    if (!error)
        error = format->round(&drain, DRAIN_LAST, why);
    if (error >= 0 && source->options.relate) { /* the relation to the boot clock is read at the end, too */
        const int described = format->describe(&drain, why);
        error = described ? described : error;
    }
    format->close(&drain);
    if (error >= 0)
        return drain.file;
    close(drain.file);
    return error;
}
