/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "reader/event_wire.h"
#include "reader/recording_wire.h"

enum {
    IDS = 65536,
    TYPES_MAX = 255, /* an index of a type is a byte in a relation */
    OWNER_TYPES_MAX = INT16_MAX,
    SOURCES_MAX = 65536,
    ERROR_MAX = 4095,
};
/* What declarations may take in all: a process that sends new ones for ever is wrong. */
#define MODEL_BYTES_MAX ((size_t)1 << 30)

static int judge(const struct cursor *in)
{
    return in->is_bad ? -EBADMSG : 0;
}

/* ---- what it declares ---- */

static const char *take_name(struct cursor *in, struct arena *arena)
{
    const char *name = wire_take_text(in);
    return name ? recording_name(arena, name, strlen(name)) : "";
}

static void take_groups(struct cursor *in, struct recording *recording)
{
    struct recording_model *model = &recording->model;
    const size_t count = wire_take_count(in, 3 * sizeof(uint64_t));
    struct recording_group *groups = arena_array(&recording->arena, count + 1, sizeof *groups);
    for (size_t i = 0; i < count; i++) {
        groups[i].id = (uint32_t)wire_take(in);
        groups[i].name = take_name(in, &recording->arena);
        groups[i].text = take_name(in, &recording->arena);
    }
    model->groups = groups;
    model->group_count = count;
}

/* Takes types, of which there are never fewer than before: what refers to them stays right. */
static void take_types(struct cursor *in, struct recording *recording, size_t most,
                       const struct recording_type **types, size_t *types_count)
{
    const size_t count = wire_take_count(in, 3 * sizeof(uint64_t));
    if (count > most || count < *types_count)
        in->is_bad = true;
    if (in->is_bad)
        return;
    struct recording_type *all = arena_array(&recording->arena, count + 1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        all[i].id = (uint32_t)wire_take(in);
        const char letter = (char)wire_take(in);
        all[i].letter = letter > ' ' && letter < 127 ? letter : '?';
        all[i].name = take_name(in, &recording->arena);
    }
    *types = all;
    *types_count = count;
}

struct taken_enumerations {
    struct recording_enumeration *items;
    size_t count;
};

static void take_enumerations(struct cursor *in, struct recording *recording, struct taken_enumerations *all)
{
    all->count = wire_take_count(in, 2 * sizeof(uint64_t));
    all->items = arena_array(&recording->arena, all->count + 1, sizeof *all->items);
    for (size_t i = 0; i < all->count && !in->is_bad; i++) {
        all->items[i].id = (uint32_t)wire_take(in);
        const size_t count = wire_take_count(in, 2 * sizeof(uint64_t));
        struct recording_enumerator *values = arena_array(&recording->arena, count + 1, sizeof *values);
        for (size_t k = 0; k < count; k++) {
            values[k].value = (int64_t)wire_take(in);
            values[k].name = take_name(in, &recording->arena);
        }
        all->items[i].values = values;
        all->items[i].count = count;
    }
}

static void take_argument(struct cursor *in, struct recording *recording,
                          const struct taken_enumerations *enumerations, struct recording_argument *argument)
{
    argument->name = take_name(in, &recording->arena);
    argument->type = take_name(in, &recording->arena);
    argument->kind = (uint8_t)wire_take_within(in, RECORDING_BOOL);
    argument->size = (uint8_t)wire_take_within(in, UINT8_MAX);
    argument->name_length = recording_name_length(argument->name);
    const size_t named = (size_t)wire_take_within(in, enumerations->count);
    argument->enumeration = named ? &enumerations->items[named - 1] : NULL;
    if (argument->kind < RECORDING_UNSIGNED)
        in->is_bad = true;
}

static void take_relations(struct cursor *in, const struct recording_model *model,
                           struct recording_tracepoint *tracepoint)
{
    tracepoint->relation_count = (uint8_t)wire_take_within(in, RECORDING_RELATIONS_MAX);
    for (unsigned i = 0; i < tracepoint->relation_count; i++) {
        struct recording_relation *relation = &tracepoint->relations[i];
        relation->argument = (uint8_t)wire_take_within(in, RECORDING_ARGUMENTS_MAX - 1);
        relation->object = (uint8_t)wire_take_within(in, TYPES_MAX);
        if (relation->argument >= tracepoint->argument_count || relation->object >= model->object_count ||
            tracepoint->strings >> relation->argument & 1)
            in->is_bad = true;
    }
}

static void take_tracepoint(struct cursor *in, struct recording *recording,
                            const struct taken_enumerations *enumerations,
                            struct recording_tracepoint *tracepoint)
{
    static const struct recording_group no_group = {0, "", ""};
    const struct recording_model *model = &recording->model;
    tracepoint->id = (uint32_t)wire_take_within(in, IDS - 1);
    tracepoint->name = take_name(in, &recording->arena);
    tracepoint->name_length = recording_name_length(tracepoint->name);
    const size_t group = (size_t)wire_take_within(in, model->group_count);
    tracepoint->group = group ? &model->groups[group - 1] : &no_group;
    tracepoint->index = (uint32_t)wire_take(in);
    tracepoint->object = (int16_t)((int64_t)wire_take_within(in, model->object_count) - 1);
    tracepoint->owner = (int16_t)((int64_t)wire_take_within(in, model->owner_count) - 1);
    tracepoint->life = (uint8_t)wire_take_within(in, RECORDING_ENDS);
    tracepoint->argument_count = (uint8_t)wire_take_within(in, RECORDING_ARGUMENTS_MAX);
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        take_argument(in, recording, enumerations, &tracepoint->arguments[i]);
        if (tracepoint->arguments[i].kind == RECORDING_STRING)
            tracepoint->strings |= (uint16_t)(1u << i);
    }
    take_relations(in, model, tracepoint);
}

/* Takes all declarations. What was known stays as it was and where it was, and the rest is added. */
static void take_model(struct cursor *in, struct recording *recording)
{
    struct recording_model *model = &recording->model;
    struct taken_enumerations enumerations;
    if (!model->tracepoints)
        model->tracepoints = arena_array(&recording->arena, IDS, sizeof *model->tracepoints);
    const struct recording_tracepoint **by_id =
        (const struct recording_tracepoint **)(uintptr_t)model->tracepoints;
    model->name = take_name(in, &recording->arena);
    model->command = take_name(in, &recording->arena);
    model->host = take_name(in, &recording->arena);
    model->pid = (uint32_t)wire_take(in);
    take_groups(in, recording);
    take_types(in, recording, TYPES_MAX, &model->objects, &model->object_count);
    take_types(in, recording, OWNER_TYPES_MAX, &model->owners, &model->owner_count);
    take_enumerations(in, recording, &enumerations);
    const size_t count = wire_take_count(in, 9 * sizeof(uint64_t));
    for (size_t i = 0; i < count && !in->is_bad; i++) {
        struct recording_tracepoint *tracepoint = arena_new(&recording->arena, struct recording_tracepoint);
        take_tracepoint(in, recording, &enumerations, tracepoint);
        if (in->is_bad || by_id[tracepoint->id])
            continue;
        by_id[tracepoint->id] = tracepoint;
        if (tracepoint->id >= model->tracepoint_room)
            model->tracepoint_room = tracepoint->id + 1u;
    }
    if (recording->arena.total > MODEL_BYTES_MAX)
        in->is_bad = true;
}

/* ---- what is known now ---- */

static void take_owners(struct cursor *in, struct recording *recording)
{
    const size_t count = wire_take_count(in, 5 * sizeof(uint64_t));
    struct recording_owner_entry *entries = arena_array(&recording->owner_arena, count + 1, sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        entries[i].since = wire_take(in);
        entries[i].until = wire_take(in);
        entries[i].id = (uint32_t)wire_take(in);
        entries[i].type = (int16_t)((int64_t)wire_take_within(in, recording->model.owner_count) - 1);
        entries[i].description = take_name(in, &recording->owner_arena);
        const size_t length = strlen(entries[i].description);
        in->is_bad |= length > UINT16_MAX;
        entries[i].length = (uint16_t)length;
    }
    free(recording->owners); /* events are looked up in it, and no others */
    recording->owners = NULL;
    recording->owner_count = 0;
    if (in->is_bad || !(recording->owners = malloc((count + 1) * sizeof *entries)))
        return;
    memcpy(recording->owners, entries, count * sizeof *entries);
    recording->owner_count = count;
}

static int take_timeline(struct cursor *in, struct recording *recording)
{
    const uint64_t rate = wire_take(in);
    const size_t from = (size_t)wire_take(in);
    size_t count;
    const struct timeline_point *points = wire_take_array(in, sizeof *points, &count);
    if (in->is_bad || !rate)
        return -EBADMSG;
    if (!recording->timeline.rate)
        timeline_init(&recording->timeline, rate);
    return timeline_replace(&recording->timeline, from, points, count);
}

static void take_reason(struct cursor *in, struct recording *recording)
{
    const char *reason = wire_take_text(in);
    if (!reason)
        recording->unrelated = NULL;
    else if (!recording->unrelated || strcmp(recording->unrelated, reason) != 0)
        recording->unrelated = recording_name(&recording->arena, reason, strlen(reason));
}

int recording_take_state(struct cursor *in, struct recording *recording)
{
    jmp_buf nowhere;
    if (arena_guard(&recording->arena, nowhere))
        return -ENOMEM;
    recording->owner_arena.out_of_memory = &nowhere;
    const bool is_first = !recording->model.tracepoints;
    if (is_first)
        recording->is_spdk = wire_take_within(in, 1);
    if (wire_take_within(in, 1))
        take_model(in, recording);
    if (!recording->model.tracepoints)
        in->is_bad = true;
    if (in->is_bad)
        return -EBADMSG;
    if (wire_take_within(in, 1)) {
        arena_free(&recording->owner_arena);
        take_owners(in, recording);
    }
    const int error = judge(in) ? -EBADMSG : take_timeline(in, recording);
    if (error)
        return error;
    recording->live = wire_take_within(in, 1);
    take_reason(in, recording);
    for (size_t i = 0; i < sizeof recording_numbers / sizeof *recording_numbers; i++)
        *(uint64_t *)((char *)recording + recording_numbers[i]) = wire_take(in);
    const uint64_t now = recording_counter_now();
    if (recording->limit != UINT64_MAX && recording->limit > now)
        recording->limit = now;
    if (recording->arena.total > MODEL_BYTES_MAX)
        in->is_bad = true;
    return judge(in);
}

int recording_take_counts(struct cursor *in, struct recording *recording)
{
    struct recording_counts *counts = &recording->counts;
    for (size_t i = 0; i < sizeof recording_counted / sizeof *recording_counted; i++)
        *(uint64_t *)((char *)counts + recording_counted[i]) = wire_take(in);
    counts->is_all = wire_take_within(in, 1);
    counts->sources = (unsigned)wire_take_within(in, SOURCES_MAX);
    *recording->read_error = (int)wire_take_within(in, ERROR_MAX);
    return judge(in);
}

/* ---- events ---- */

/* Makes sources until there are so many. What is missing before their first events is counted where they are read. */
static int make_sources(struct recording *recording, size_t count)
{
    while (recording->source_count < count) {
        struct recording_source *source = calloc(1, sizeof *source);
        if (!source || recording_add_source(recording, source)) {
            free(source);
            return -ENOMEM;
        }
        source->has_begun = true;
    }
    return 0;
}

int recording_take_together(struct cursor *in, struct recording *recording, size_t *count)
{
    *count = wire_take_count(in, sizeof(struct event_head));
    const size_t sources = (size_t)wire_take_within(in, SOURCES_MAX);
    const uint64_t gap_end = wire_take(in);
    const bool has_gaps = wire_take_within(in, 1);
    if (in->is_bad || sources < recording->source_count ||
        (has_gaps && sources > cursor_left(in) / sizeof(uint64_t)))
        return -EBADMSG;
    const int error = make_sources(recording, sources);
    if (error)
        return error;
    recording->gap_end = gap_end;
    for (size_t i = 0; has_gaps && i < sources; i++)
        recording->sources[i]->gap_end = wire_take(in);
    return judge(in);
}

/* Makes texts null pointers that are not inside of the event. */
static void check_texts(uint64_t *words, unsigned strings, size_t behind_words, size_t bytes)
{
    for (; strings; strings &= strings - 1) {
        uint64_t *word = &words[__builtin_ctz(strings)];
        const size_t offset = *word >> 16 & 0xffff, length = *word & 0xffff;
        if (offset < behind_words || offset > bytes || length > bytes - offset)
            *word = 0;
    }
}

int recording_take_event(struct cursor *in, const struct recording *recording, struct recording_event *event)
{
    const struct recording_model *model = &recording->model;
    struct event_head *head = (struct event_head *)(uintptr_t)in->at;
    if (in->is_bad || cursor_left(in) < sizeof *head || head->bytes % 8 || head->bytes < sizeof *head ||
        !cursor_take_bytes(in, head->bytes))
        return -EBADMSG;
    const struct recording_tracepoint *tracepoint =
        head->tracepoint < model->tracepoint_room ? model->tracepoints[head->tracepoint] : NULL;
    const size_t behind_words = tracepoint ? sizeof *head + tracepoint->argument_count * sizeof(uint64_t) : 0;
    if (!tracepoint || head->source >= recording->source_count || head->bytes < behind_words)
        return -EBADMSG;
    uint64_t *words = (uint64_t *)(head + 1);
    check_texts(words, tracepoint->strings, behind_words, head->bytes);
    recording_clean_thread(head->thread_name);
    *event = (struct recording_event){
        .stamp = head->stamp,
        .tracepoint = tracepoint,
        .object = head->object,
        .owner = head->owner,
        .size = head->size,
        .thread = head->thread,
        .thread_name = head->thread_name,
        .source = head->source,
        .words = words,
        .bytes = (const uint8_t *)head,
        .gap_end = recording->gap_end,
        .lost = head->lost,
        .is_outside = head->is_outside != 0,
    };
    return 0;
}
