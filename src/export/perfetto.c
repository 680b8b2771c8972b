/* SPDX-License-Identifier: BSD-3-Clause */
/* Perfetto's trace format: packets of track events.
 *
 * One recorded event is one packet that has the event's name, its group as category and its arguments as debug
 * annotations. An event about an object is put on the object's track: the object is a slice, and in it each stage,
 * from an event to the next, is another. Tracks of objects are lanes: an object takes a free one of its type and
 * owner, so that there are as many as objects live at a time; the viewer shows those of a type as one. Events about
 * no object are instants on their thread's track. An event that names a related object draws an arrow between the
 * two, which needs an instant on the other one's lane.
 *
 * Numbers of fields are those of Perfetto's trace_packet.proto and the files that it includes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "export/export.h"
#include "export/living.h"
#include "base/proto.h"
#include "print/event.h"

enum field {
    TRACE_PACKET = 1,

    PACKET_CLOCKS = 6,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,

    CLOCKS_CLOCK = 1,
    CLOCKS_PRIMARY = 2,
    CLOCK_ID = 1,
    CLOCK_TIME = 2,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    PROCESS_LABELS = 8, /* a viewer shows them beside the name */
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,

    EVENT_CATEGORY_ID = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48,

    ANNOTATION_NAME_ID = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_UNSIGNED = 3,
    ANNOTATION_SIGNED = 4,
    ANNOTATION_REAL = 5,
    ANNOTATION_STRING = 6,
    ANNOTATION_POINTER = 7,
    ANNOTATION_NAME = 10,

    INTERNED_CATEGORIES = 1,
    INTERNED_NAMES = 2,
    INTERNED_ANNOTATIONS = 3,
    ENTRY_ID = 1,
    ENTRY_NAME = 2,
};
enum event_type { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };
enum flags { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { CLOCK_REALTIME_ID = 1, CLOCK_BOOTTIME_ID = 6, SEQUENCE = 1 };

enum {
    TRACKS_MAX = 16384, /* tracks of threads, and of owners; further ones share that of the process */
    ROOT = 1,           /* the uuid of the process's track */
};

struct lane {
    uint64_t uuid;
    struct lanes *home;
    struct lane *next; /* the next free one */
    struct lane *next_of_all;
};
struct lanes { /* lanes of the objects of one type that one owner has */
    uint64_t parent;
    struct lane *free;
};
struct place { /* the track of a thread or an owner */
    uint64_t uuid;
    struct place *next;
    struct lanes *lanes; /* by type of object; NULL: it has none yet */
};
struct life {
    struct living living;
    struct lane *lane;
    uint64_t last; /* time of its newest event, ns */
    bool has_stage;
};
struct perfetto {
    const struct recording *recording;
    const struct recording_model *model;
    struct living_table living;
    struct table threads, owners; /* struct place, by thread and by owner */
    struct place *places;         /* all */
    struct lane *lanes;           /* all */
    struct place root;
    uint64_t uuids, flows; /* how many have been given */
    uint8_t interned[65536 / 8];
    bool has_explicit_ends[256]; /* by type of object */
    struct text label;           /* a buffer for one label */
};

/* ---- packets ---- */

static size_t open_packet(struct text *out, uint64_t flags)
{
    const size_t packet = proto_open(out, TRACE_PACKET);
    proto_number(out, PACKET_SEQUENCE, SEQUENCE);
    proto_number(out, PACKET_FLAGS, flags);
    return packet;
}

struct packet { /* a packet with a track event */
    size_t packet, event;
};

static struct packet open_event(struct text *out, uint64_t time, uint64_t track, enum event_type type)
{
    struct packet opened = {.packet = open_packet(out, FLAG_NEEDS_STATE)};
    proto_number(out, PACKET_TIME, time);
    opened.event = proto_open(out, PACKET_EVENT);
    proto_number(out, EVENT_TYPE, type);
    proto_number(out, EVENT_TRACK, track);
    return opened;
}

static void close_event(struct text *out, struct packet opened)
{
    proto_close(out, opened.event);
    proto_close(out, opened.packet);
}

static void end_slice(struct text *out, uint64_t time, uint64_t track)
{
    close_event(out, open_event(out, time, track, SLICE_END));
}

static void put_text(struct text *out, unsigned field, const struct text *text)
{
    out->failed |= text->failed;
    proto_string(out, field, text_string(text), text->length);
}

static void put_string(struct text *out, unsigned field, const char *string)
{
    proto_string(out, field, string, strlen(string));
}

/* Writes a track with a name, below another one. */
static void put_track(struct text *out, uint64_t uuid, uint64_t parent, const char *name, size_t length)
{
    const size_t packet = open_packet(out, 0), track = proto_open(out, PACKET_TRACK);
    proto_number(out, TRACK_UUID, uuid);
    if (parent)
        proto_number(out, TRACK_PARENT, parent);
    proto_string(out, TRACK_NAME, name, length);
    proto_close(out, track);
    proto_close(out, packet);
}

static void put_named_track(struct text *out, uint64_t uuid, uint64_t parent, const struct text *name)
{
    out->failed |= name->failed;
    put_track(out, uuid, parent, text_string(name), name->length);
}

static void put_entry(struct text *out, unsigned field, uint64_t id, const char *name)
{
    const size_t entry = proto_open(out, field);
    proto_number(out, ENTRY_ID, id);
    put_string(out, ENTRY_NAME, name);
    proto_close(out, entry);
}

static uint64_t name_id(const struct recording_tracepoint *tracepoint)
{
    return tracepoint->id + 1;
}

static uint64_t argument_id(const struct recording_tracepoint *tracepoint, unsigned argument)
{
    enum { OF_ONE = 16 };
    return (uint64_t)tracepoint->id * OF_ONE + argument + 1;
}

/* Writes the name of a tracepoint, which is in the trace once, before it is used. */
static void intern(struct perfetto *perfetto, struct text *out, const struct recording_tracepoint *tracepoint)
{
    uint8_t *known = &perfetto->interned[(tracepoint->id & 0xffff) / 8];
    const uint8_t bit = (uint8_t)(1 << tracepoint->id % 8);
    if (*known & bit)
        return;
    *known |= bit;
    const size_t packet = open_packet(out, FLAG_NEEDS_STATE), interned = proto_open(out, PACKET_INTERNED);
    put_entry(out, INTERNED_CATEGORIES, name_id(tracepoint),
              tracepoint->group->name[0] ? tracepoint->group->name : "?");
    put_entry(out, INTERNED_NAMES, name_id(tracepoint), tracepoint->name);
    for (unsigned i = 0; i < tracepoint->argument_count; i++)
        put_entry(out, INTERNED_ANNOTATIONS, argument_id(tracepoint, i), tracepoint->arguments[i].name);
    proto_close(out, interned);
    proto_close(out, packet);
}

/* ---- annotations ---- */

static void put_argument(struct perfetto *perfetto, struct text *out, const struct recording_event *event,
                         unsigned index)
{
    const struct recording_argument *argument = &event->tracepoint->arguments[index];
    const uint64_t word = event->words[index];
    const char *name = argument->enumeration ? recording_enumerator(argument->enumeration, word) : NULL;
    const size_t annotation = proto_open(out, EVENT_ANNOTATION);
    proto_number(out, ANNOTATION_NAME_ID, argument_id(event->tracepoint, index));
    if (name)
        put_string(out, ANNOTATION_STRING, name);
    else
        switch (argument->kind) {
        case RECORDING_SIGNED: proto_signed(out, ANNOTATION_SIGNED, (int64_t)word); break;
        case RECORDING_POINTER: proto_number(out, ANNOTATION_POINTER, word); break;
        case RECORDING_REAL: proto_fixed(out, ANNOTATION_REAL, word); break;
        case RECORDING_BOOL: proto_number(out, ANNOTATION_BOOL, word != 0); break;
        case RECORDING_STRING:
            text_clear(&perfetto->label);
            export_string(&perfetto->label, event, index);
            put_text(out, ANNOTATION_STRING, &perfetto->label);
            break;
        default: proto_number(out, ANNOTATION_UNSIGNED, word);
        }
    proto_close(out, annotation);
}

static void put_note(struct text *out, const char *name, unsigned field, uint64_t value)
{
    const size_t annotation = proto_open(out, EVENT_ANNOTATION);
    put_string(out, ANNOTATION_NAME, name);
    proto_number(out, field, value);
    proto_close(out, annotation);
}

static void put_text_note(struct text *out, const char *name, const char *bytes, size_t length)
{
    const size_t annotation = proto_open(out, EVENT_ANNOTATION);
    put_string(out, ANNOTATION_NAME, name);
    proto_string(out, ANNOTATION_STRING, bytes, length);
    proto_close(out, annotation);
}

/* Writes name, category and arguments of an event into its packet. */
static void put_event(struct perfetto *perfetto, struct text *out, const struct export_event *at)
{
    const struct recording_event *event = at->event;
    const struct recording_tracepoint *tracepoint = event->tracepoint;
    proto_number(out, EVENT_CATEGORY_ID, name_id(tracepoint));
    proto_number(out, EVENT_NAME_ID, name_id(tracepoint));
    for (unsigned i = 0; i < tracepoint->argument_count; i++)
        put_argument(perfetto, out, event, i);
    if (event->size)
        put_note(out, "size", ANNOTATION_UNSIGNED, event->size);
    text_clear(&perfetto->label);
    export_owner_label(&perfetto->label, perfetto->recording, event);
    out->failed |= perfetto->label.failed;
    if (perfetto->label.length)
        put_text_note(out, "owner", perfetto->label.bytes, perfetto->label.length);
    put_note(out, "thread", ANNOTATION_UNSIGNED, event->thread);
    if (event->thread_name[0])
        put_text_note(out, "thread_name", event->thread_name, strlen(event->thread_name));
}

/* ---- tracks ---- */

static struct place *make_place(struct perfetto *perfetto, struct table *table, const void *key,
                                size_t length)
{
    struct place *place = calloc(1, sizeof *place);
    if (!place || table_set(table, key, length, place)) {
        free(place);
        return NULL;
    }
    place->uuid = ++perfetto->uuids;
    place->next = perfetto->places;
    perfetto->places = place;
    return place;
}

static struct place *thread_place(struct perfetto *perfetto, struct text *out,
                                  const struct recording_event *event)
{
    struct place *place = table_get(&perfetto->threads, &event->thread, sizeof event->thread);
    if (place)
        return place;
    if (perfetto->threads.count >= TRACKS_MAX)
        return &perfetto->root;
    place = make_place(perfetto, &perfetto->threads, &event->thread, sizeof event->thread);
    if (!place)
        return NULL;
    const bool is_lcore = recording_is_spdk(perfetto->recording); /* an lcore has no thread id */
    if (is_lcore || !perfetto->model->pid) {
        text_clear(&perfetto->label);
        text_printf(&perfetto->label, "%s %" PRIu32 "%s%s", is_lcore ? "lcore" : "thread", event->thread,
                    event->thread_name[0] ? " " : "", event->thread_name);
        put_named_track(out, place->uuid, ROOT, &perfetto->label);
        return place;
    }
    const size_t packet = open_packet(out, 0), track = proto_open(out, PACKET_TRACK);
    proto_number(out, TRACK_UUID, place->uuid);
    proto_number(out, TRACK_PARENT, ROOT);
    const size_t thread = proto_open(out, TRACK_THREAD);
    proto_signed(out, THREAD_PID, (int32_t)perfetto->model->pid);
    proto_signed(out, THREAD_TID, (int32_t)event->thread);
    if (event->thread_name[0])
        put_string(out, THREAD_NAME, event->thread_name);
    proto_close(out, thread);
    proto_close(out, track);
    proto_close(out, packet);
    return place;
}

/* Returns the track of an event's owner. An id that was given to another owner is another track. */
static struct place *owner_place(struct perfetto *perfetto, struct text *out,
                                 const struct recording_event *event)
{
    struct recording_owner owner;
    text_clear(&perfetto->label);
    export_owner_label(&perfetto->label, perfetto->recording, event);
    out->failed |= perfetto->label.failed;
    if (!perfetto->label.length)
        return &perfetto->root;
    const bool is_known = recording_owner(perfetto->recording, event, &owner);
    const uint64_t key[2] = {event->owner, is_known ? owner.since : 0};
    struct place *place = table_get(&perfetto->owners, key, sizeof key);
    if (place)
        return place;
    if (perfetto->owners.count >= TRACKS_MAX)
        return &perfetto->root;
    place = make_place(perfetto, &perfetto->owners, key, sizeof key);
    if (place)
        put_named_track(out, place->uuid, ROOT, &perfetto->label);
    return place;
}

static struct lane *take_lane(struct perfetto *perfetto, struct text *out, struct place *owner, int16_t type)
{
    if (!owner->lanes && !(owner->lanes = calloc(perfetto->model->object_count, sizeof *owner->lanes)))
        return NULL;
    struct lanes *lanes = &owner->lanes[type];
    struct lane *lane = lanes->free;
    if (lane) {
        lanes->free = lane->next;
        return lane;
    }
    if (!(lane = calloc(1, sizeof *lane)))
        return NULL;
    lane->uuid = ++perfetto->uuids;
    lane->home = lanes;
    lane->next_of_all = perfetto->lanes;
    perfetto->lanes = lane;
    text_clear(&perfetto->label);
    export_type_label(&perfetto->label, &perfetto->model->objects[type]);
    put_named_track(out, lane->uuid, owner->uuid, &perfetto->label);
    return lane;
}

/* ---- objects ---- */

static void end_life(struct perfetto *perfetto, struct text *out, struct life *life, uint64_t time)
{
    if (life->has_stage)
        end_slice(out, time, life->lane->uuid);
    end_slice(out, time, life->lane->uuid);
    life->lane->next = life->lane->home->free;
    life->lane->home->free = life->lane;
    living_remove(&perfetto->living, &life->living);
}

static struct life *begin_life(struct perfetto *perfetto, struct text *out, const struct export_event *at)
{
    const struct object *own = at->step->own;
    struct place *owner = owner_place(perfetto, out, at->event);
    struct life *life = calloc(1, sizeof *life), *surplus = (struct life *)living_surplus(&perfetto->living);
    if (surplus)
        end_life(perfetto, out, surplus, surplus->last);
    if (!owner || !life || !(life->lane = take_lane(perfetto, out, owner, own->type)) ||
        living_add(&perfetto->living, &life->living, own->type, own->id)) {
        free(life);
        return NULL;
    }
    const struct packet packet = open_event(out, at->time, life->lane->uuid, SLICE_BEGIN);
    text_clear(&perfetto->label);
    event_print_object(&perfetto->label, perfetto->model, own->type, own->number, own->id);
    put_text(out, EVENT_NAME, &perfetto->label);
    put_note(out, "object", ANNOTATION_POINTER, own->id);
    close_event(out, packet);
    return life;
}

/* Writes the other end of an arrow, on the lane of the related object. */
static void put_related(struct perfetto *perfetto, struct text *out, const struct export_event *at,
                        const struct life *related, enum field field, uint64_t flow)
{
    const struct packet packet = open_event(out, at->time, related->lane->uuid, INSTANT);
    text_clear(&perfetto->label);
    event_print_object(&perfetto->label, perfetto->model, at->step->own->type, at->step->own->number,
                       at->step->own->id);
    text_printf(&perfetto->label, " %s", at->event->tracepoint->name);
    put_text(out, EVENT_NAME, &perfetto->label);
    proto_fixed(out, field, flow);
    close_event(out, packet);
}

static int put_object_event(struct perfetto *perfetto, struct text *out, const struct export_event *at)
{
    const struct object_step *step = at->step;
    struct life *life = (struct life *)living_find(&perfetto->living, step->own->type, step->own->id);
    const struct life *related[RECORDING_RELATIONS_MAX];
    unsigned related_count = 0;
    if (life && step->is_first) { /* the end of the one before is not in the export */
        end_life(perfetto, out, life, life->last);
        life = NULL;
    }
    const bool is_first = !life;
    if (is_first && !(life = begin_life(perfetto, out, at)))
        return -ENOMEM;
    for (unsigned i = 0; i < step->related_count; i++) {
        const struct life *other =
            (struct life *)living_find(&perfetto->living, step->related[i].type, step->related[i].id);
        if (other && other != life)
            related[related_count++] = other;
    }
    living_touch(&perfetto->living, &life->living);
    life->last = at->time;
    if (life->has_stage)
        end_slice(out, at->time, life->lane->uuid);
    /* To an object that begins the arrow comes from the related one: an arrow begins at the event that is written
     * first. */
    const uint64_t flow = perfetto->flows;
    perfetto->flows += related_count;
    for (unsigned i = 0; i < related_count && is_first; i++)
        put_related(perfetto, out, at, related[i], EVENT_FLOW, flow + i + 1);
    const bool is_last = at->event->tracepoint->life == RECORDING_ENDS;
    const struct packet packet = open_event(out, at->time, life->lane->uuid, is_last ? INSTANT : SLICE_BEGIN);
    put_event(perfetto, out, at);
    for (unsigned i = 0; i < related_count; i++)
        proto_fixed(out, is_first ? EVENT_LAST_FLOW : EVENT_FLOW, flow + i + 1);
    close_event(out, packet);
    for (unsigned i = 0; i < related_count && !is_first; i++)
        put_related(perfetto, out, at, related[i], EVENT_LAST_FLOW, flow + i + 1);
    life->has_stage = !is_last;
    if (is_last)
        end_life(perfetto, out, life, at->time);
    return 0;
}

/* ---- the format ---- */

static void put_head(struct perfetto *perfetto, struct text *out)
{
    const struct recording_model *model = perfetto->model;
    const uint64_t start = recording_start(perfetto->recording),
                   wall = recording_realtime(perfetto->recording);
    size_t packet = open_packet(out, FLAG_CLEARED);
    const size_t clocks = proto_open(out, PACKET_CLOCKS);
    const struct {
        uint64_t id, time;
    } all[] = {{CLOCK_BOOTTIME_ID, start}, {CLOCK_REALTIME_ID, start + wall}};
    for (size_t i = 0; i < (wall ? 2 : 1); i++) {
        const size_t clock = proto_open(out, CLOCKS_CLOCK);
        proto_number(out, CLOCK_ID, all[i].id);
        proto_number(out, CLOCK_TIME, all[i].time);
        proto_close(out, clock);
    }
    proto_number(out, CLOCKS_PRIMARY, CLOCK_BOOTTIME_ID);
    proto_close(out, clocks);
    proto_close(out, packet);

    const char *name = model->name && model->name[0] ? model->name : "recording";
    if (!model->pid) {
        put_track(out, ROOT, 0, name, strlen(name));
        return;
    }
    packet = open_packet(out, 0);
    const size_t track = proto_open(out, PACKET_TRACK);
    proto_number(out, TRACK_UUID, ROOT);
    const size_t process = proto_open(out, TRACK_PROCESS);
    proto_signed(out, PROCESS_PID, (int32_t)model->pid);
    put_string(out, PROCESS_NAME, name);
    if (model->host[0])
        put_string(out, PROCESS_LABELS, model->host);
    proto_close(out, process);
    proto_close(out, track);
    proto_close(out, packet);
}

static int begin(struct export *export)
{
    struct perfetto *perfetto = calloc(1, sizeof *perfetto);
    if (!perfetto)
        return -ENOMEM;
    export->state = perfetto;
    perfetto->recording = export->recording;
    perfetto->model = recording_model(export->recording);
    perfetto->root.uuid = perfetto->uuids = ROOT;
    for (size_t i = 0; i < perfetto->model->object_count; i++)
        perfetto->has_explicit_ends[i] = recording_has_explicit_ends(perfetto->model, (int16_t)i);
    put_head(perfetto, &export->out);
    return 0;
}

static int event(struct export *export, const struct export_event *at)
{
    struct perfetto *perfetto = export->state;
    struct text *out = &export->out;
    struct place *thread = NULL;
    if ((at->event->lost || at->step->own->type < 0) && !(thread = thread_place(perfetto, out, at->event)))
        return -ENOMEM;
    if (at->event->lost) {
        const struct packet packet = open_event(out, at->time, thread->uuid, INSTANT);
        put_string(out, EVENT_NAME, "overwritten before this");
        put_note(out, "events", ANNOTATION_UNSIGNED, at->event->lost);
        close_event(out, packet);
    }
    intern(perfetto, out, at->event->tracepoint);
    int error = 0;
    if (at->step->own->type >= 0)
        error = put_object_event(perfetto, out, at);
    else {
        const struct packet packet = open_event(out, at->time, thread->uuid, INSTANT);
        put_event(perfetto, out, at);
        close_event(out, packet);
    }
    return perfetto->label.failed ? -ENOMEM : error;
}

/* Writes the end. Objects that live go on beyond it; if no event ever says that an object ends, its last event is
 * its end. */
static int end(struct export *export)
{
    struct perfetto *perfetto = export->state;
    for (struct living *at = perfetto->living.oldest, *next; at; at = next) {
        next = at->newer;
        if (!perfetto->has_explicit_ends[at->type])
            end_life(perfetto, &export->out, (struct life *)at, ((struct life *)at)->last);
    }
    return 0;
}

static void release(struct export *export)
{
    struct perfetto *perfetto = export->state;
    if (!perfetto)
        return;
    living_free(&perfetto->living);
    for (struct place *place = perfetto->places, *next; place; place = next) {
        next = place->next;
        free(place->lanes);
        free(place);
    }
    for (struct lane *lane = perfetto->lanes, *next; lane; lane = next) {
        next = lane->next_of_all;
        free(lane);
    }
    free(perfetto->root.lanes);
    table_free(&perfetto->threads);
    table_free(&perfetto->owners);
    text_free(&perfetto->label);
    free(perfetto);
}

const struct export_format export_perfetto = {
    "perfetto", "https://ui.perfetto.dev shows it, with %s opened there",
    false,      true,
    begin,      event,
    NULL,       end,
    release,    NULL,
    false};
