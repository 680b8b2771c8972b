/* SPDX-License-Identifier: BSD-3-Clause */
/* What all formats share: opening, merging the rings by time, owners. */
#include "reader/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "reader/ask.h"
#include "reader/copy.h"
#include "reader/drain.h"
#include "reader/format.h"
#include "reader/merge.h"
#include "reader/relation.h"
#include "base/glob.h"

static const struct recording_format *const formats[] = {&recording_format_spoor, &recording_format_spdk};

/* ---- for the formats ---- */

size_t recording_read(const struct recording *recording, void *buffer, size_t bytes, uint64_t offset)
{
    size_t got = 0;
    while (got < bytes) {
        if (offset + got > INT64_MAX)
            break;
        const ssize_t now = pread(recording->file, (char *)buffer + got, bytes - got, (off_t)(offset + got));
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            __atomic_store_n(recording->read_error, errno, __ATOMIC_RELAXED);
        if (now <= 0)
            break;
        got += (size_t)now;
    }
    return got;
}

bool recording_read_all(const struct recording *recording, void *buffer, size_t bytes, uint64_t offset)
{
    return recording_read(recording, buffer, bytes, offset) == bytes;
}

uint64_t recording_skip_hole(const struct recording *recording, uint64_t offset)
{
    if (offset > INT64_MAX)
        return UINT64_MAX;
    const off_t data = lseek(recording->file, (off_t)offset, SEEK_DATA);
    return data >= 0 ? (uint64_t)data : errno == ENXIO ? UINT64_MAX : offset;
}

uint64_t recording_data_end(const struct recording *recording, uint64_t offset)
{
    const off_t hole = offset > INT64_MAX ? -1 : lseek(recording->file, (off_t)offset, SEEK_HOLE);
    return hole >= 0 ? (uint64_t)hole : offset;
}

const char *recording_name(struct arena *arena, const char *text, size_t most)
{
    char *copy = arena_copy(arena, text, strnlen(text, most));
    for (char *at = copy; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = '?';
    return copy;
}

void recording_clean_thread(char name[RECORDING_NAME])
{
    size_t length = 0;
    for (; length + 1 < RECORDING_NAME && name[length]; length++)
        if ((unsigned char)name[length] < ' ' || name[length] == 127)
            name[length] = '?';
    memset(name + length, 0, RECORDING_NAME - length);
}

int recording_type_index(const struct recording_type *types, size_t count, uint32_t id)
{
    for (size_t i = 0; i < count; i++)
        if (types[i].id == id)
            return (int)i;
    return -1;
}

int recording_add_source(struct recording *recording, struct recording_source *source)
{
    if (!vector_make_room(recording->sources, recording->source_count, recording->source_room))
        return -ENOMEM;
    source->index = (uint32_t)recording->source_count;
    recording->sources[recording->source_count++] = source;
    recording->counts.sources = (unsigned)recording->source_count;
    return 0;
}

static int by_id_then_since(const void *one, const void *other)
{
    const struct recording_owner_entry *a = one, *b = other;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->since < b->since ? -1 : a->since > b->since;
}

void recording_sort_owners(struct recording *recording)
{
    if (recording->owner_count)
        qsort(recording->owners, recording->owner_count, sizeof *recording->owners, by_id_then_since);
}

/* ---- merging ---- */

static int heap_build(struct recording *recording)
{
    if (recording->heap_room < recording->source_count) {
        struct recording_source **grown = realloc(recording->heap, recording->source_count * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        recording->heap = grown;
        recording->heap_room = recording->source_count;
    }
    recording->heap_count = 0;
    for (size_t i = 0; i < recording->source_count; i++)
        if (recording->sources[i]->ready && recording->sources[i] != recording->current)
            recording->heap[recording->heap_count++] = recording->sources[i];
    for (size_t i = recording->heap_count / 2; i-- > 0;)
        merge_down(recording, i);
    return 0;
}

void merge_add_gap(struct recording *recording, struct recording_source *source)
{
    struct recording_source *first = merge_first(source);
    if (!first->has_begun)
        return;
    recording->gaps++;
    first->gap_end = source->ready ? source->stamp : UINT64_MAX;
    recording->gap_end = 0;
    for (size_t i = 0; i < recording->source_count; i++)
        if (recording->sources[i]->gap_end > recording->gap_end)
            recording->gap_end = recording->sources[i]->gap_end;
}

int recording_next_few(struct recording *recording, struct recording_event *events, int most)
{
    return recording->format->events(recording, events, most);
}

int recording_next(struct recording *recording, struct recording_event *event)
{
    return recording->format->events(recording, event, 1);
}

/* ---- live ---- */

/* Returns the counter up to which all events are visible if the rings are read after `now`, unless a thread was
 * stopped for longer than the delay between reading the counter and finishing the record. */
static uint64_t safe_limit(const struct recording *recording, uint64_t now)
{
    const uint64_t delay = recording->timeline.rate / 50;
    return now > delay ? now - delay : 0;
}

uint64_t recording_behind(const struct recording *recording)
{
    if (recording->limit == UINT64_MAX || !recording->timeline.rate)
        return 0;
    const double behind =
        (double)(recording_counter_now() - recording->limit) * 1e9 / (double)recording->timeline.rate;
    return behind < 1e18 ? (uint64_t)behind : (uint64_t)1e18; /* a rate may be anything */
}

int recording_look_at_clock(struct recording *recording)
{
    enum {
        YOUNG = 64,
        OFTEN = 16
    }; /* a program that records little stores clocks seldom, and rates are rough */
    const uint64_t rate = recording->timeline.rate,
                   apart = recording->own_clocks < YOUNG ? rate / OFTEN : rate;
    if (!recording->live || (recording->own_clocks && recording_counter_now() - recording->own_clock < apart))
        return 0;
    const struct layout_clock clock = relation_look();
    recording->own_clocks++;
    recording->own_clock = clock.counter;
    return timeline_add(&recording->timeline, clock.counter, clock.boottime, clock.error);
}

/* ---- opening ---- */

/* Returns a copy of the recording in memory, as it is now. SPDK's rings are copied slot by slot, because nothing in
 * them says what is whole. */
static int copy_now(struct recording *recording, struct text *why)
{
    return recording_is_spdk(recording) ? drain_to_memory(recording, why) : copy_to_memory(recording->file);
}

/* Replaces the recording by a copy in memory. */
static int freeze(struct recording **recording, struct text *why)
{
    const struct recording_options options = (*recording)->options;
    struct recording *frozen;
    int error = copy_now(*recording, why);
    if (error >= 0)
        error = recording_open_file(error, (*recording)->path, &options, &frozen, why);
    else if (!why->length)
        text_printf(why, "cannot copy the recording to memory: %s", strerror(-error));
    if (!error && frozen->unrelated && (*recording)->unrelated)
        /* the reason that was found from the program is better than that of the copy */
        frozen->unrelated = (*recording)->unrelated;
    recording_close(*recording);
    *recording = error ? NULL : frozen;
    return error;
}

/* Takes from the follower what was recorded since the last look. */
static int look(struct recording *recording)
{
    struct follower_look look;
    int error = follower_take(recording->follower, &look);
    for (struct piece *piece = look.pieces, *next; piece; piece = next) {
        next = piece->next;
        const int added = recording->format->add_piece(recording, piece);
        error = error ? error : added;
    }
    if (look.has_ended) /* written only here, because the thread reads it until then */
        recording->live = false;
    recording->limit = recording->live ? safe_limit(recording, look.seen) : UINT64_MAX;
    const int refreshed = recording->format->refresh(recording);
    for (size_t i = 0; i < recording->source_count; i++)
        merge_note_gap(recording, recording->sources[i]);
    return error ? error : refreshed;
}

static int read_events(struct recording *recording, struct text *why)
{
    if (!recording->live)
        return recording->format->read(recording);
    const int error = follower_make(recording, &recording->follower, why);
    return error ? error : look(recording);
}

enum { HEAD_BYTES = 512 };

static const struct recording_format *recognise(const struct recording *recording, uint8_t head[HEAD_BYTES],
                                                size_t *length)
{
    *length = recording_read(recording, head, HEAD_BYTES, 0);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i]->recognises(head, *length, recording->file_bytes))
            return formats[i];
    return NULL;
}

pid_t recording_names_writer(int file, const char *path, bool *is_spdk)
{
    int error = 0;
    struct stat status;
    struct recording recording = {.file = file, .read_error = &error};
    uint8_t head[HEAD_BYTES];
    size_t length;
    *is_spdk = false;
    if (fstat(file, &status) || !S_ISREG(status.st_mode))
        return -1;
    recording.file_bytes = (uint64_t)status.st_size;
    const struct recording_format *format = recognise(&recording, head, &length);
    *is_spdk = format == &recording_format_spdk;
    return format ? format->names(head, length, path) : -1;
}

static int find_format(struct recording *recording, struct text *why)
{
    struct stat status;
    uint8_t head[HEAD_BYTES];
    size_t length;
    if (fstat(recording->file, &status) < 0) {
        text_printf(why, "cannot read %s: %s", recording->path, strerror(errno));
        return -errno;
    }
    if (!S_ISREG(status.st_mode)) {
        text_printf(why, "%s is no regular file", recording->path);
        return -EINVAL;
    }
    recording->file_bytes = (uint64_t)status.st_size;
    recording->format = recognise(recording, head, &length);
    recording->is_spdk = recording->format == &recording_format_spdk;
    if (*recording->read_error) {
        text_printf(why, "cannot read %s: %s", recording->path, strerror(*recording->read_error));
        return -*recording->read_error;
    }
    if (!recording->format)
        text_printf(why, "%s is no recording, neither of spoor nor of SPDK", recording->path);
    return recording->format ? 0 : -EINVAL;
}

/* Opens a recording that this process reads itself. */
static int open_here(struct recording **recording, struct text *why)
{
    const struct recording_options *options = &(*recording)->options;
    int error = find_format(*recording, why);
    if (!error)
        error = (*recording)->format->open(*recording, why);
    if (!error && (*recording)->live && !options->follow && !options->model_only)
        return freeze(recording, why);
    if (!error && !options->model_only)
        error = read_events(*recording, why);
    return error ? error : heap_build(*recording);
}

int recording_open_file(int file, const char *path, const struct recording_options *options,
                        struct recording **result, struct text *why)
{
    struct recording *recording = calloc(1, sizeof *recording);
    int error = -ENOMEM;
    *result = NULL;
    if (!recording) {
        close(file);
        return -ENOMEM;
    }
    recording->file = file;
    recording->options = *options;
    recording->limit = UINT64_MAX;
    recording->read_error = calloc(1, sizeof *recording->read_error);
    recording->path = strdup(path);
    if (recording->read_error && recording->path && options->apart) {
        recording->format = &recording_format_apart;
        error = ask_open(recording, why);
    } else if (recording->read_error && recording->path) {
        error = open_here(&recording, why);
    }
    if (!error) {
        *result = recording;
        return 0;
    }
    if (!why->length)
        text_printf(why, "cannot read %s: %s", path, strerror(-error));
    recording_close(recording);
    return error;
}

int recording_open(const char *path, const struct recording_options *options, struct recording **result,
                   struct text *why)
{
    *result = NULL;
    const int file = foreign_open(path);
    if (foreign_is_not_regular(file))
        text_printf(why, "%s is no regular file", path);
    else if (file < 0)
        text_printf(why, "cannot open %s: %s", path, strerror(-file));
    return file < 0 ? file : recording_open_file(file, path, options, result, why);
}

int recording_again(const struct recording *recording, const struct recording_options *options,
                    struct recording **result, struct text *why)
{
    *result = NULL;
    const int file = foreign_reopen(recording->file, O_RDONLY);
    if (file < 0)
        text_printf(why, "cannot open %s: %s", recording->path, strerror(-file));
    return file < 0 ? file : recording_open_file(file, recording->path, options, result, why);
}

void recording_close(struct recording *recording)
{
    if (!recording)
        return;
    follower_stop(recording->follower);
    if (recording->format && recording->state)
        recording->format->close(recording);
    follower_free(recording->follower);
    timeline_free(&recording->timeline);
    arena_free(&recording->arena);
    arena_free(&recording->owner_arena);
    free(recording->owners);
    free(recording->sources);
    free(recording->heap);
    free(recording->path);
    free(recording->read_error);
    close(recording->file);
    free(recording);
}

int recording_keep_up(struct recording *recording)
{
    if (recording->options.apart)
        return ask_keep_up(recording);
    return recording->follower && recording->live ? follower_start(recording->follower) : 0;
}

int recording_refresh(struct recording *recording)
{
    recording->format->leave(recording);
    if (!recording->live)
        return 0;
    if (recording->options.apart)
        return ask_refresh(recording);
    const int error = look(recording);
    if (!error && recording->current && !recording->current->ready)
        recording->current = NULL;
    const int built = heap_build(recording);
    return error ? error : built ? built : recording->live;
}

int recording_name_values(struct recording *recording, const char *tracepoint, const char *argument,
                          const struct recording_enumerator *values, size_t count, unsigned *named)
{
    const struct recording_model *model = &recording->model;
    jmp_buf nowhere;
    if (arena_guard(&recording->arena, nowhere))
        return -ENOMEM;
    struct recording_enumeration *enumeration = arena_new(&recording->arena, struct recording_enumeration);
    struct recording_enumerator *own = arena_array(&recording->arena, count, sizeof *own);
    for (size_t i = 0; i < count; i++)
        own[i] = (struct recording_enumerator){
            values[i].value, recording_name(&recording->arena, values[i].name, strlen(values[i].name))};
    *enumeration = (struct recording_enumeration){.values = own, .count = count};
    for (size_t i = 0; i < model->tracepoint_room; i++) {
        /* Formats make tracepoints in the arena, so that they may be changed. */
        struct recording_tracepoint *declared =
            (struct recording_tracepoint *)(uintptr_t)model->tracepoints[i];
        for (unsigned j = 0; declared && j < declared->argument_count; j++) {
            struct recording_argument *its = &declared->arguments[j];
            if (strcmp(its->name, argument) || (tracepoint && !glob_match(tracepoint, declared->name)) ||
                (its->kind != RECORDING_SIGNED && its->kind != RECORDING_UNSIGNED))
                continue;
            its->enumeration = enumeration;
            ++*named;
        }
    }
    return 0;
}

/* ---- questions ---- */

const struct recording_model *recording_model(const struct recording *recording)
{
    return &recording->model;
}

static void describe(const struct recording *recording, const struct recording_owner_entry *entry,
                     struct recording_owner *owner)
{
    *owner = (struct recording_owner){
        .id = entry->id,
        .type = entry->type,
        .letter = entry->type >= 0 ? recording->model.owners[entry->type].letter : 0,
        .description = entry->description,
        .description_length = entry->length,
        .since = entry->since,
        .until = entry->until,
    };
}

bool recording_owner_at(const struct recording *recording, size_t index, struct recording_owner *owner)
{
    if (index >= recording->owner_count)
        return false;
    describe(recording, &recording->owners[index], owner);
    return true;
}

/* Whether an owner comes behind the one of an event. Owners are in the order of ids, those with one id in the order
 * of time. */
static bool is_later_than(const struct recording_owner_entry *owner, const struct recording_event *event)
{
    return owner->id > event->owner || (owner->id == event->owner && owner->since > event->stamp);
}

bool recording_owner(const struct recording *recording, const struct recording_event *event,
                     struct recording_owner *owner)
{
    const size_t behind =
        partition_point(recording->owner_count, i, !is_later_than(&recording->owners[i], event));
    if (behind == 0)
        return false;
    const struct recording_owner_entry *entry = &recording->owners[behind - 1];
    if (entry->id != event->owner || event->stamp >= entry->until)
        return false;
    describe(recording, entry, owner);
    return true;
}

uint64_t recording_gap_end(const struct recording *recording, uint32_t source)
{
    return source == RECORDING_ALL_SOURCES    ? recording->gap_end
           : source < recording->source_count ? recording->sources[source]->gap_end
                                              : 0;
}

bool recording_thread(const struct recording *recording, size_t index, struct recording_thread *thread)
{
    if (index >= recording->source_count)
        return false;
    *thread = (struct recording_thread){0};
    recording->format->thread(recording->sources[index], thread);
    return true;
}

const char *recording_enumerator(const struct recording_enumeration *enumeration, uint64_t value)
{
    const size_t first =
        partition_point(enumeration->count, i, enumeration->values[i].value < (int64_t)value);
    return first < enumeration->count && enumeration->values[first].value == (int64_t)value
               ? enumeration->values[first].name
               : NULL;
}

bool recording_has_explicit_ends(const struct recording_model *model, int16_t type)
{
    for (size_t i = 0; i < model->tracepoint_room; i++)
        if (model->tracepoints[i] && model->tracepoints[i]->object == type &&
            model->tracepoints[i]->life == RECORDING_ENDS)
            return true;
    return false;
}

struct recording_text recording_string(const struct recording_event *event, unsigned argument)
{
    const uint64_t word = event->words[argument];
    const uint32_t offset = word >> 16 & 0xffff;
    struct recording_text text = {
        .bytes = offset ? (const char *)event->bytes + offset : "",
        .length = offset ? word & 0xffff : 0,
        .is_null = !offset,
        .is_cut = offset && word >> 32 > (word & 0xffff),
    };
    return text;
}

uint64_t recording_time(const struct recording *recording, uint64_t stamp)
{
    return timeline_time(&recording->timeline, stamp);
}

uint64_t recording_realtime(const struct recording *recording)
{
    return recording->realtime;
}

uint64_t recording_start(const struct recording *recording)
{
    return recording->start;
}

uint64_t recording_start_stamp(const struct recording *recording)
{
    return recording->start_stamp;
}

uint64_t recording_rate(const struct recording *recording)
{
    return recording->timeline.rate;
}

uint64_t recording_clock_error(const struct recording *recording)
{
    if (!recording_is_spdk(recording) || recording->unrelated)
        return timeline_error(&recording->timeline);
    const uint64_t error =
        relation_error(&recording->timeline, recording->related_from, recording->related_to);
    return error > recording->related_error ? error : recording->related_error;
}

const char *recording_unrelated(const struct recording *recording)
{
    return recording->unrelated;
}

void recording_describe_relation(const struct recording *recording, struct text *out)
{
    const uint64_t error = recording_clock_error(recording), tenths = error / 100 + (error % 100 != 0);
    text_printf(out, "SPDK's counter was related to the boot clock within ±%" PRIu64 ".%" PRIu64 " us",
                tenths / 10, tenths % 10);
}

void recording_describe_older(const struct recording *recording, struct text *out)
{
    const struct recording_counts all = recording_counts(recording), *counts = &all;
    const char *what = recording_is_spdk(recording) ? "entries" : "events";
    if (!counts->older)
        return;
    if (counts->is_all)
        text_printf(
            out, "the recording holds the newest %" PRIu64 " events, the last %.3f ms: ", counts->events,
            (double)(recording_time(recording, counts->to) - recording_time(recording, counts->from)) / 1e6);
    text_printf(out, "%srings went round, and %" PRIu64 " older %s were overwritten",
                counts->is_all ? "its " : "the recording's ", counts->older, what);
}

bool recording_is_live(const struct recording *recording)
{
    return recording->live;
}

bool recording_clock_is_known(const struct recording *recording)
{
    return !recording->unrelated;
}

bool recording_is_spdk(const struct recording *recording)
{
    return recording->is_spdk;
}

void recording_may_leave(struct recording *recording, bool (*leaves)(void *state), void *state)
{
    if (recording->options.apart)
        ask_may_leave(recording, leaves, state);
}

bool recording_is_lost(const struct recording *recording)
{
    return recording->options.apart && ask_is_lost(recording);
}

const char *recording_path(const struct recording *recording)
{
    return recording->path;
}

int recording_file(const struct recording *recording)
{
    return recording->file;
}

struct recording_counts recording_counts(const struct recording *recording)
{
    struct recording_counts counts = recording->counts;
    if (recording->options.model_only)
        counts.sources = recording->format->rings(recording);
    /* sources of which no event has been handed out yet */
    for (size_t i = 0; i < recording->source_count; i++)
        if (!merge_first(recording->sources[i])->has_begun)
            counts.older += recording->sources[i]->lost;
    counts.read_error = __atomic_load_n(recording->read_error, __ATOMIC_RELAXED);
    return counts;
}
