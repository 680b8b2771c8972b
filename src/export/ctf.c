/* SPDX-License-Identifier: BSD-3-Clause */
/* The Common Trace Format, version 1.8: a directory with one stream for each ring, and `metadata`, which describes
 * them. A stream consists of packets. Each is collected here until it is large enough, or until events are missing
 * before the next: readers compute their number from the difference between two packets. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/ctf.h"
#include "export/export.h"
#include "print/event.h"

static_assert(sizeof(struct ctf_packet) == 64, "layout");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the metadata says so");

enum { PACKET_MUCH = 1 << 16 };

struct stream {
    struct text packet; /* space for its head, then events; empty: no packet was begun */
    uint64_t begin, end, number, discarded;
};
struct ctf {
    struct stream *streams; /* by the number of the ring */
    size_t stream_room;
    struct text label; /* a buffer for one label */
};

static void put(struct text *out, const void *bytes, size_t length)
{
    text_append(out, bytes, length);
}

/* Appends a string, which ends with its NUL: one inside would end it earlier. */
static void put_string(struct text *out, const char *bytes, size_t length)
{
    text_append(out, bytes, strnlen(bytes, length));
    text_char(out, 0);
}

static int write_packet(struct export *export, size_t ring)
{
    struct ctf *ctf = export->state;
    struct stream *stream = &ctf->streams[ring];
    char name[32];
    if (stream->packet.failed)
        return -ENOMEM;
    if (!stream->packet.length)
        return 0;
    const struct ctf_packet head = {
        .magic = CTF_MAGIC,
        .instance = ring,
        .begin = stream->begin,
        .end = stream->end,
        .content_bits = stream->packet.length * 8,
        .packet_bits = stream->packet.length * 8,
        .number = stream->number++,
        .discarded = stream->discarded,
    };
    memcpy(stream->packet.bytes, &head, sizeof head);
    snprintf(name, sizeof name, "stream_%zu", ring);
    const int error =
        export->sink.write(export->sink.context, name, stream->packet.bytes, stream->packet.length);
    text_clear(&stream->packet);
    return error;
}

static struct stream *find_stream(struct ctf *ctf, size_t ring)
{
    if (ring >= ctf->stream_room) {
        const size_t room = ring + 16;
        struct stream *grown = realloc(ctf->streams, room * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + ctf->stream_room, 0, (room - ctf->stream_room) * sizeof *grown);
        ctf->streams = grown;
        ctf->stream_room = room;
    }
    return &ctf->streams[ring];
}

static void begin_packet(struct stream *stream, uint64_t time)
{
    const struct ctf_packet room = {0};
    put(&stream->packet, &room, sizeof room);
    stream->begin = time;
}

/* Writes an empty packet before the first one, so that a reader can compute how many events are missing before it. */
static int write_beginning(struct export *export, size_t ring, uint64_t time)
{
    struct ctf *ctf = export->state;
    struct stream *stream = &ctf->streams[ring];
    const uint64_t start = recording_start(export->recording);
    begin_packet(stream, start < time ? start : time);
    stream->end = stream->begin;
    return write_packet(export, ring);
}

static void put_text(struct text *out, const struct text *text)
{
    out->failed |= text->failed;
    put_string(out, text_string(text), text->length);
}

static void put_context(const struct export *export, struct text *out, const struct export_event *at)
{
    struct ctf *ctf = export->state;
    struct text *label = &ctf->label;
    const struct recording_model *model = recording_model(export->recording);
    const struct object_step *step = at->step;
    put(out, &at->event->thread, sizeof at->event->thread);
    put_string(out, at->event->thread_name, strlen(at->event->thread_name));
    text_clear(label);
    export_owner_label(label, export->recording, at->event);
    put_text(out, label);
    text_clear(label);
    if (step->own->type >= 0)
        event_print_object(label, model, step->own->type, step->own->number, step->own->id);
    put_text(out, label);
    put(out, &at->event->object, sizeof at->event->object);
    text_clear(label);
    for (unsigned i = 0; i < step->related_count; i++) {
        text_add(label, i ? " " : "");
        event_print_object(label, model, step->related[i].type, step->related[i].number, step->related[i].id);
    }
    put_text(out, label);
    put(out, &at->event->size, sizeof at->event->size);
}

static void put_argument(struct ctf *ctf, struct text *out, const struct recording_event *event,
                         unsigned index)
{
    const uint64_t word = event->words[index];
    const struct recording_argument *argument = &event->tracepoint->arguments[index];
    switch (argument->kind) {
    case RECORDING_STRING:
        text_clear(&ctf->label);
        export_string(&ctf->label, event, index);
        put_text(out, &ctf->label);
        break;
    case RECORDING_BOOL:
        if (!argument->enumeration) {
            text_char(out, word != 0);
            break;
        }
        __attribute__((fallthrough));
    default: put(out, &word, sizeof word);
    }
}

static int begin(struct export *export)
{
    struct ctf *ctf = calloc(1, sizeof *ctf);
    struct text metadata = {0};
    if (!ctf)
        return -ENOMEM;
    export->state = ctf;
    ctf_metadata(&metadata, export->recording);
    const int error = metadata.failed ? -ENOMEM
                                      : export->sink.write(export->sink.context, "metadata", metadata.bytes,
                                                           metadata.length);
    text_free(&metadata);
    return error;
}

static int event(struct export *export, const struct export_event *at)
{
    struct ctf *ctf = export->state;
    const struct recording_event *event = at->event;
    const uint16_t id = (uint16_t)event->tracepoint->id;
    struct stream *stream = find_stream(ctf, event->source);
    int error = stream ? 0 : -ENOMEM;
    if (!error && (event->lost || stream->packet.length >= PACKET_MUCH))
        error = write_packet(export, event->source);
    if (!error && event->lost && !stream->number)
        error = write_beginning(export, event->source, at->time);
    if (error)
        return error;
    stream->discarded += event->lost;
    if (!stream->packet.length)
        begin_packet(stream, at->time);
    stream->end = at->time;
    put(&stream->packet, &id, sizeof id);
    put(&stream->packet, &at->time, sizeof at->time);
    put_context(export, &stream->packet, at);
    for (unsigned i = 0; i < event->tracepoint->argument_count; i++)
        put_argument(ctf, &stream->packet, event, i);
    return stream->packet.failed ? -ENOMEM : 0;
}

static int end(struct export *export)
{
    struct ctf *ctf = export->state;
    int error = 0;
    for (size_t i = 0; i < ctf->stream_room && !error; i++)
        error = write_packet(export, i);
    return error;
}

static void release(struct export *export)
{
    struct ctf *ctf = export->state;
    if (!ctf)
        return;
    for (size_t i = 0; i < ctf->stream_room; i++)
        text_free(&ctf->streams[i].packet);
    free(ctf->streams);
    text_free(&ctf->label);
    free(ctf);
}

const struct export_format export_ctf = {"ctf",   "babeltrace2 %s prints it, Trace Compass shows it",
                                         true,    true,
                                         begin,   event,
                                         NULL,    end,
                                         release, NULL,
                                         false};
