/* SPDX-License-Identifier: BSD-3-Clause */
#include "export/convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sorted.h"
#include "base/vector.h"
#include "base/whole.h"

static const char *const notes[CONVERT_NOTES] = {
    [CONVERT_TRACEPOINT_NAMES] = "names of tracepoints are cut to 23 characters",
    [CONVERT_ARGUMENT_NAMES] = "names of arguments are cut to 13 characters",
    [CONVERT_ARGUMENTS] = "arguments are left out: a tracepoint of SPDK's format has 8 at most",
    [CONVERT_RELATIONS] = "relations are left out with their arguments",
    [CONVERT_ENDS] = "tracepoints end their objects, which SPDK's format cannot say",
    [CONVERT_VALUE_NAMES] = "arguments have no names for their values there, only numbers",
    [CONVERT_REALS] = "arguments with fractions are text there",
    [CONVERT_NAMES] = "groups and types have no names there, only numbers and letters",
    [CONVERT_THREADS] = "threads have the number of an lcore instead of their id",
    [CONVERT_STRINGS] = "strings are cut: to 254 bytes, or before a NUL",
    [CONVERT_NULLS] = "null strings are empty there",
    [CONVERT_NEGATIVE] = "unsigned values are so large that SPDK's reader prints them as negative",
    [CONVERT_DESCRIPTIONS] = "older descriptions of owners stand under numbers of their own",
    [CONVERT_OWNERS] =
        "events had an owner that is not known at that time; it is shown without a description",
    [CONVERT_CLOCK] = "times count from the first event there: SPDK's format cannot say when that was",
    [CONVERT_CUT_DESCRIPTIONS] = "descriptions of owners are cut to 224 bytes",
    [CONVERT_OWNER_ZERO] = "owner has the number 65536 instead of 0, which is nobody there",
    [CONVERT_TRACEPOINT_ZERO] = "tracepoint has another number instead of 0, which is none there",
    [CONVERT_TIMES] = "times went back; they are the time of the event before",
    [CONVERT_OVERWRITTEN_ENTRIES] =
        "entries, one or more of an event, were overwritten in the recording; the file says so",
    [CONVERT_OVERWRITTEN_EVENTS] = "events were overwritten in the recording; the file says so",
    [CONVERT_UNRECORDED] = "events could not be recorded by the program; the file says so",
    [CONVERT_LEFT_OUT] = "damaged or undeclared parts of the recording are left out; the file says so",
};

const char *convert_note_text(enum convert_note note, bool *is_alone)
{
    *is_alone = note == CONVERT_CLOCK; /* this one is said without a number */
    return notes[note];
}

int64_t convert_thread(struct convert_threads *threads, uint32_t id)
{
    const size_t first = partition_point(threads->count, i, threads->places[i].id < id);
    if (first < threads->count && threads->places[first].id == id)
        return threads->places[first].index;
    if (!vector_make_room(threads->places, threads->count, threads->room))
        return -1;
    memmove(&threads->places[first + 1], &threads->places[first],
            (threads->count - first) * sizeof *threads->places);
    threads->places[first] = (struct convert_thread_place){id, threads->count};
    return threads->count++;
}

void convert_threads_free(struct convert_threads *threads)
{
    free(threads->places);
}

void convert_count_missing(const struct recording *recording, struct convert_result *result)
{
    const struct recording_counts counts = recording_counts(recording);
    result->notes[recording_is_spdk(recording) ? CONVERT_OVERWRITTEN_ENTRIES : CONVERT_OVERWRITTEN_EVENTS] =
        counts.overwritten;
    result->notes[CONVERT_UNRECORDED] = counts.lost;
    result->notes[CONVERT_LEFT_OUT] = counts.damaged + counts.unknown;
}

int convert_check_read(const struct recording *recording, struct text *why)
{
    const int error = recording_counts(recording).read_error;
    if (error)
        text_printf(why, "cannot read everything in %s: %s", recording_path(recording), strerror(error));
    return -error;
}

int convert_set_length(int file, uint64_t length, struct text *why)
{
    if (!ftruncate(file, (off_t)length))
        return 0;
    const int error = -errno;
    text_printf(why, "cannot write the file: %s", strerror(-error));
    return error;
}

int convert_write(int file, const void *bytes, size_t length, uint64_t offset, struct text *why)
{
    const int error = whole_write_at(file, bytes, length, offset);
    if (error)
        text_printf(why, "cannot write the file: %s", strerror(-error));
    return error;
}
