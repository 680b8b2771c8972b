/* SPDX-License-Identifier: BSD-3-Clause */
/* Speedscope's file format: a list of frames, and stacks as lists of their indexes, each with its weight. */
#include <inttypes.h>
#include <string.h>

#include "print/json.h"
#include "profile/profile.h"

static void write_string(struct text *out, const char *key, const char *value)
{
    text_printf(out, "\"%s\":\"", key);
    json_escape(out, value, strlen(value));
    text_char(out, '"');
}

static void write_frame(struct text *out, const struct profile *profile, const struct profile_frame *frame)
{
    const struct profile_function *function = &profile->functions[frame->function];
    text_char(out, '{');
    write_string(out, "name", function->name);
    if (frame->file[0] || function->module[0]) {
        text_char(out, ',');
        write_string(out, "file", frame->file[0] ? frame->file : function->module);
    }
    if (frame->line)
        text_printf(out, ",\"line\":%" PRIu32, frame->line);
    text_char(out, '}');
}

static const char *unit_of(const struct profile *profile)
{
    return !strcmp(profile->unit, "nanoseconds") || !strcmp(profile->unit, "bytes") ? profile->unit : "none";
}

static int write_speedscope(const struct profile *profile, const struct profile_look *look, struct text *out)
{
    (void)look;
    text_add(out, "{\"$schema\":\"https://www.speedscope.app/"
                  "file-format-schema.json\",\"exporter\":\"spoor " SPOOR_VERSION "\",");
    write_string(out, "name", profile->title);
    text_add(out, ",\"shared\":{\"frames\":[");
    for (size_t i = 0; i < profile->frame_count; i++) {
        text_add(out, i ? ",\n" : "\n");
        write_frame(out, profile, &profile->frames[i]);
    }
    text_add(out, "]},\"profiles\":[{\"type\":\"sampled\",");
    write_string(out, "name", profile->title);
    text_printf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"samples\":[",
                unit_of(profile), profile->total);
    const char *separator = "\n";
    for (size_t i = 0; i < profile->stack_count; i++) {
        if (!profile->stacks[i].weight)
            continue;
        text_add(out, separator);
        text_char(out, '[');
        for (uint32_t k = 0; k < profile->stacks[i].count; k++)
            text_printf(out, k ? ",%" PRIu32 : "%" PRIu32, profile->path[profile->stacks[i].first + k]);
        text_char(out, ']');
        separator = ",\n";
    }
    text_add(out, "],\"weights\":[");
    separator = "";
    for (size_t i = 0; i < profile->stack_count; i++) {
        if (!profile->stacks[i].weight)
            continue;
        text_printf(out, "%s%" PRIu64, separator, profile->stacks[i].weight);
        separator = ",";
    }
    text_add(out, "]}]}\n");
    return 0;
}

const struct profile_format profile_speedscope = {.name = "speedscope",
                                                  .endings = ".speedscope.json .json",
                                                  .opens = "https://www.speedscope.app opens it",
                                                  .write = write_speedscope};
