/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiles of Go's pprof (github.com/google/pprof, proto/profile.proto), compressed as gzip does. A location stands
 * for one function, also if it was inlined; locations have no addresses, since all of them have their names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/proto.h"
#include "profile/profile.h"

enum { LEVEL = 6 }; /* of compression */
enum {              /* numbers of fields, by message */
       PROFILE_SAMPLE_TYPE = 1,
       PROFILE_SAMPLE = 2,
       PROFILE_MAPPING = 3,
       PROFILE_LOCATION = 4,
       PROFILE_FUNCTION = 5,
       PROFILE_STRING = 6,
       PROFILE_TIME = 9,
       PROFILE_DURATION = 10,
       PROFILE_PERIOD_TYPE = 11,
       PROFILE_PERIOD = 12,
       PROFILE_DEFAULT_TYPE = 14,
       TYPE_TYPE = 1,
       TYPE_UNIT = 2,
       SAMPLE_LOCATION = 1,
       SAMPLE_VALUE = 2,
       MAPPING_ID = 1,
       MAPPING_FILE = 5,
       MAPPING_HAS_FUNCTIONS = 7,
       LOCATION_ID = 1,
       LOCATION_MAPPING = 2,
       LOCATION_LINE = 4,
       LINE_FUNCTION = 1,
       LINE_LINE = 2,
       FUNCTION_ID = 1,
       FUNCTION_NAME = 2,
       FUNCTION_SYSTEM_NAME = 3,
       FUNCTION_FILE = 4,
};

struct pprof {
    const struct profile *profile;
    struct text out;
    struct table strings, modules; /* each with its number */
    struct text names;             /* the string table's fields */
    bool failed;
};

/* Returns the number of a key, the next one if it is new. */
static uint64_t number_of(struct pprof *pprof, struct table *table, const char *key, bool *is_new)
{
    const size_t length = strlen(key) + 1; /* with its NUL: the empty one is a key, too */
    const void *found = table_get(table, key, length);
    *is_new = !found;
    if (found)
        return (uint64_t)(uintptr_t)found;
    const uint64_t number = table->count + 1;
    pprof->failed |=
        table_set(table, key, length, (void *)(uintptr_t)number) != 0; // NOLINT(performance-no-int-to-ptr)
    return number;
}

/* Returns the index of a string in the table, whose first one is empty. */
static uint64_t string(struct pprof *pprof, const char *text)
{
    bool is_new;
    const uint64_t number = number_of(pprof, &pprof->strings, text, &is_new);
    if (is_new)
        proto_string(&pprof->names, PROFILE_STRING, text, strlen(text));
    return number - 1;
}

static void write_type(struct pprof *pprof, unsigned field, const char *type, const char *unit)
{
    const size_t opened = proto_open(&pprof->out, field);
    proto_number(&pprof->out, TYPE_TYPE, string(pprof, type));
    proto_number(&pprof->out, TYPE_UNIT, string(pprof, unit));
    proto_close(&pprof->out, opened);
}

/* Writes the stacks; a location has the number of its frame and 1, and the innermost one comes first. Samples of what
 * runs have the CPU time that they stand for as a second value, as Go's own profiles have it. */
static void write_samples(struct pprof *pprof)
{
    const struct profile *profile = pprof->profile;
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct profile_stack *stack = &profile->stacks[i];
        if (!stack->weight)
            continue;
        const size_t opened = proto_open(&pprof->out, PROFILE_SAMPLE);
        for (uint32_t k = stack->count; k; k--)
            proto_number(&pprof->out, SAMPLE_LOCATION, profile->path[stack->first + k - 1] + 1u);
        proto_number(&pprof->out, SAMPLE_VALUE, stack->weight);
        if (profile->period)
            proto_number(&pprof->out, SAMPLE_VALUE, stack->weight * profile->period);
        proto_close(&pprof->out, opened);
    }
}

static uint64_t mapping(struct pprof *pprof, const char *module)
{
    bool is_new;
    const uint64_t number = number_of(pprof, &pprof->modules, module, &is_new);
    if (is_new) {
        const uint64_t file = string(pprof, module);
        const size_t opened = proto_open(&pprof->out, PROFILE_MAPPING);
        proto_number(&pprof->out, MAPPING_ID, number);
        proto_number(&pprof->out, MAPPING_FILE, file);
        proto_number(&pprof->out, MAPPING_HAS_FUNCTIONS, 1);
        proto_close(&pprof->out, opened);
    }
    return number;
}

static void write_locations(struct pprof *pprof)
{
    const struct profile *profile = pprof->profile;
    for (size_t i = 0; i < profile->frame_count; i++) {
        const struct profile_frame *frame = &profile->frames[i];
        const uint64_t module = mapping(pprof, profile->functions[frame->function].module);
        const size_t location = proto_open(&pprof->out, PROFILE_LOCATION);
        proto_number(&pprof->out, LOCATION_ID, i + 1);
        proto_number(&pprof->out, LOCATION_MAPPING, module);
        const size_t line = proto_open(&pprof->out, LOCATION_LINE);
        proto_number(&pprof->out, LINE_FUNCTION, frame->function + 1u);
        if (frame->line)
            proto_number(&pprof->out, LINE_LINE, frame->line);
        proto_close(&pprof->out, line);
        proto_close(&pprof->out, location);
    }
}

static void write_functions(struct pprof *pprof)
{
    const struct profile *profile = pprof->profile;
    const char **files = calloc(profile->function_count + 1, sizeof *files);
    pprof->failed |= !files;
    for (size_t i = 0; files && i < profile->frame_count; i++)
        if (profile->frames[i].file[0])
            files[profile->frames[i].function] = profile->frames[i].file;
    for (size_t i = 0; files && i < profile->function_count; i++) {
        const size_t opened = proto_open(&pprof->out, PROFILE_FUNCTION);
        const uint64_t name = string(pprof, profile->functions[i].name);
        proto_number(&pprof->out, FUNCTION_ID, i + 1);
        proto_number(&pprof->out, FUNCTION_NAME, name);
        proto_number(&pprof->out, FUNCTION_SYSTEM_NAME, name);
        if (files[i])
            proto_number(&pprof->out, FUNCTION_FILE, string(pprof, files[i]));
        proto_close(&pprof->out, opened);
    }
    free(files);
}

static int write_pprof(const struct profile *profile, const struct profile_look *look, struct text *out)
{
    struct pprof pprof = {.profile = profile};
    const bool is_bytes = !strcmp(profile->unit, "bytes"), is_time = !strcmp(profile->unit, "nanoseconds");
    const char *type = is_bytes ? "alloc_space" : is_time ? "off_cpu" : profile->unit;
    const char *unit = is_bytes || is_time ? profile->unit : "count";
    (void)look;
    string(&pprof, "");
    write_type(&pprof, PROFILE_SAMPLE_TYPE, type, unit);
    if (profile->period)
        write_type(&pprof, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    write_samples(&pprof);
    write_locations(&pprof);
    write_functions(&pprof);
    if (profile->wall_ns)
        proto_number(&pprof.out, PROFILE_TIME, profile->wall_ns);
    if (profile->lasted)
        proto_number(&pprof.out, PROFILE_DURATION, profile->lasted);
    if (profile->period) {
        write_type(&pprof, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
        proto_number(&pprof.out, PROFILE_PERIOD, profile->period);
    }
    text_append(&pprof.out, text_string(&pprof.names), pprof.names.length);
    pprof.out.failed |= pprof.names.failed || pprof.failed;
    const int error =
        pprof.out.failed ? -ENOMEM : gzip_append(out, text_string(&pprof.out), pprof.out.length, LEVEL);
    table_free(&pprof.strings);
    table_free(&pprof.modules);
    text_free(&pprof.names);
    text_free(&pprof.out);
    return error;
}

const struct profile_format profile_pprof = {.name = "pprof",
                                             .endings = ".pb.gz .pprof",
                                             .is_binary = true,
                                             .opens = "go tool pprof opens it",
                                             .write = write_pprof};
