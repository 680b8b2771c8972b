/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as a recording (recordings.h), turned into everything that spoor makes of one: text, JSON,
 * tables of latencies, stories, every export. */
#include "export/export.h"
#include "print/event.h"
#include "reader/latency.h"
#include "reader/reader.h"
#include "reader/story.h"
#include "recordings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ignore(void *context, const char *file, const void *bytes, size_t length)
{
    (void)context, (void)file, (void)bytes, (void)length;
    return 0;
}

static void read_all(struct recording *recording)
{
    struct recording_event event;
    struct object_step step;
    struct event_printer printer;
    struct latency_table table;
    struct stories stories;
    struct text out = {0};
    struct objects *objects = objects_make(recording);
    size_t events = 0;
    static const struct {
        const struct export_format *format;
        enum export_rows rows;
    } all[] = {{&export_perfetto, 0},         {&export_ctf, 0},
               {&export_folded, 0},           {&export_csv, EXPORT_EVENTS},
               {&export_csv, EXPORT_OBJECTS}, {&export_ndjson, EXPORT_OBJECTS}};
    enum { ALL = sizeof all / sizeof all[0] };
    struct export exports[ALL];
    bool begun[ALL];
    for (size_t i = 0; i < ALL; i++)
        begun[i] =
            !export_begin(&exports[i], all[i].format, recording, &(struct export_choice){all[i].rows, NULL},
                          &(struct export_sink){NULL, ignore});
    event_printer_init(&printer, recording);
    const int failed = latency_table_make(&table, recording) | stories_make(&stories, 3, -1);
    event_json_head(&out, recording);
    if (!failed && objects)
        while (recording_next(recording, &event) == 1 && !objects_follow(objects, &event, &step)) {
            printer.width = events++ % 2 ? 60 : 0;
            event_print(&printer, &out, &event, &step);
            event_json(&out, recording, &event, &step, false);
            latency_table_add(&table, &event, &step);
            stories_see(&stories, &event, &step);
            text_clear(&out);
            for (size_t i = 0; i < ALL; i++)
                if (begun[i])
                    export_event(&exports[i], &event, &step);
        }
    if (!failed && objects) {
        stories_see_living(&stories, objects);
        stories_begin(&stories);
        latency_table_finish(&table, objects);
    }
    for (size_t i = 0; i < ALL; i++) {
        exports[i].objects = objects;
        if (begun[i])
            export_end(&exports[i]);
        export_free(&exports[i]);
    }
    stories_free(&stories);
    latency_table_free(&table);
    objects_free(objects);
    text_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const int file = hostile_recording(data, size);
    const struct recording_options options = {.only_cpu = -1, .whole = data[0] & 32, .relate = data[0] & 128};
    struct recording *recording;
    struct text why = {0};
    if (!recording_open_file(file, "fuzz", &options, &recording, &why)) {
        read_all(recording);
        recording_close(recording);
    }
    text_free(&why);
    return 0;
}
