/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: messages about a recording from the process that reads it (reader/recording_wire.h), and everything that is
 * done with what was taken. The input's first byte chooses the recording of which good messages are made first; the rest
 * changes them: where (two bytes), how, and a number. */
#include <errno.h>

#include "print/event.h"
#include "reader/ask.h"
#include "reader/objects.h"
#include "reader/recording_wire.h"
#include "recordings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOGETHER = 3, CHANGE = 4 };

/* Makes the messages: a state, counts, events, and the same once more of another recording. */
static void make(struct text *out, uint8_t first)
{
    for (int turn = 0; turn < 2; turn++) {
        const uint8_t which[] = {(uint8_t)((first + turn * (first >> 4 & 1)) % 3), 0};
        const struct recording_options options = {.only_cpu = -1, .follow = true};
        struct recording_sent sent = {.has_begun = turn};
        struct recording_event events[TOGETHER];
        struct recording *recording;
        struct text why = {0};
        if (recording_open_file(hostile_recording(which, sizeof which), "fuzz", &options, &recording, &why))
            abort();
        recording_put_state(out, recording, &sent);
        recording_put_counts(out, recording);
        for (int count; (count = recording_next_few(recording, events, TOGETHER)) > 0;)
            recording_put_events(out, recording, events, (size_t)count, &sent);
        recording_put_events(out, recording, NULL, 0, &sent);
        recording_close(recording);
        recording_sent_free(&sent);
        text_free(&why);
    }
}

static void change(struct text *message, const uint8_t *data, size_t size)
{
    static const uint64_t borders[] = {0,     1,         2,          12,        64,        255,
                                       65535, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    for (; size >= CHANGE; data += CHANGE, size -= CHANGE) {
        const size_t at = (data[0] | (size_t)data[1] << 8) % (message->length - 8);
        const uint64_t value = borders[data[3] % (sizeof borders / sizeof *borders)];
        switch (data[2] % 4) {
        case 0: memcpy(message->bytes + at / 8 * 8, &value, sizeof value); break;
        case 1: message->bytes[at / 8 * 8] = (char)data[3]; break;
        case 2: message->bytes[at] ^= (char)data[3]; break;
        default: text_truncate(message, data[3] ? message->length : at / 8 * 8 + 16); break;
        }
    }
}

static int see_events(struct cursor *in, struct recording *recording, struct objects *objects)
{
    struct event_printer printer;
    struct recording_event event;
    struct object_step step;
    struct recording_owner owner;
    struct text out = {0};
    size_t together = 1;
    int error = 0;
    event_printer_init(&printer, recording);
    event_json_head(&out, recording);
    for (size_t i = 0; recording_owner_at(recording, i, &owner); i++)
        text_append(&out, owner.description, owner.description_length);
    while (!error && together && !(error = recording_take_together(in, recording, &together)))
        for (size_t i = 0; i < together && !error; i++)
            if (!(error = recording_take_event(in, recording, &event)) &&
                !(error = objects_follow(objects, &event, &step))) {
                event_print(&printer, &out, &event, &step);
                event_json(&out, recording, &event, &step, true);
                text_clear(&out);
            }
    recording_describe_older(recording, &out);
    recording_describe_relation(recording, &out);
    recording_behind(recording);
    text_free(&out);
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct text good[256];
    struct text message = {0};
    if (size < 1)
        return 0;
    if (!good[data[0]].length)
        make(&good[data[0]], data[0]);
    text_append(&message, good[data[0]].bytes, good[data[0]].length);
    change(&message, data + 1, size - 1);
    struct recording *recording = calloc(1, sizeof *recording);
    recording->read_error = calloc(1, sizeof *recording->read_error);
    recording->path = strdup("fuzz");
    recording->file = -1;
    recording->format = &recording_format_apart;
    struct cursor in = cursor_over(message.bytes, message.length);
    struct objects *objects = objects_make(recording);
    for (int turn = 0, error = 0; turn < 2 && !error; turn++) {
        error = recording_take_state(&in, recording);
        if (!error)
            error = recording_take_counts(&in, recording);
        if (!error)
            error = see_events(&in, recording, objects);
        if (error && error != -EBADMSG)
            abort();
    }
    objects_free(objects);
    for (size_t i = 0; i < recording->source_count; i++)
        free(recording->sources[i]);
    recording_close(recording);
    text_free(&message);
    return 0;
}
