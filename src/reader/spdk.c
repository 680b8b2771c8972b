/* SPDX-License-Identifier: BSD-3-Clause */
/* SPDK's trace files, sectioned format: a file, or the shared memory of a running program.
 *
 * The format guards nothing, so all doubt is ours. Of a ring that is being written, only those slots are used
 * that were still behind the writer by more than one event after they had been copied. In a copy (made by cp
 * while the program ran), the position in the header is older than the slots: times tell the order, and where
 * they go back, the writer stood when the copy was made; the event before such a place may be half written
 * and is left out. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <signal.h>

#include "reader/format.h"
#include "reader/spdk.h"

enum {
    ARGUMENTS = 8,
    RELATIONS = 16,
    CHUNK = 2048,        /* slots that are copied at once */
    EVENT_SLOTS = 96,    /* the longest event: 8 arguments of 255 bytes */
    RUNS_MOST = 256,     /* of one lcore of a copy */
    CONTINUATION = 1280, /* the id of slots that go on with the event before */
    LCORES_MOST = 4096,
    TMPFS = 0x01021994,
};

struct run { /* slots [next, end) of an lcore, counted from the first ever written */
    struct recording_source source;
    uint64_t history;    /* offset of its header in the file */
    uint64_t slots;      /* offset of slot 0 */
    uint64_t slot_count; /* num_entries */
    uint32_t lcore;
    uint16_t continuation; /* a second id that marks continuations, or the same */
    char thread[17];
    uint64_t next, end;
    uint64_t lost;
    bool is_torn; /* its last event may be half written */

    struct spdk_slot *chunk; /* slots [chunk_begin, chunk_end) */
    uint64_t chunk_begin, chunk_end;
    uint64_t begin; /* of the event that is ready */
    struct spdk_slot first;
    uint32_t byte_count;
    uint8_t padding[8]; /* so that no offset is 0 */
    uint8_t bytes[(EVENT_SLOTS + 1) * 24];
    uint64_t words[ARGUMENTS];
};

struct state {
    struct spdk_header header;
    uint64_t slot_count; /* of all lcores: they do not overlap */
    struct recording_tracepoint *tracepoints[65536];
    uint16_t sizes[65536]; /* of all arguments, bytes */
};

static bool spdk_recognises(const uint8_t *head, size_t length, uint64_t file_bytes)
{
    struct spdk_header header;
    if (length < sizeof header)
        return false;
    memcpy(&header, head, sizeof header);
    if (header.section_count != SPDK_SECTIONS || header.file_size < sizeof header ||
        !header.offsets[SPDK_SECTION_MAIN])
        return false;
    for (int i = 0; i < SPDK_SECTIONS; i++)
        if (header.offsets[i] >= file_bytes)
            return false;
    return true;
}

/* ---- the model ---- */

/* A section's header, whose first word is the number of its items; 0 if it is not there. */
static uint16_t section_count(const struct recording *recording, int section, uint64_t *items)
{
    const struct state *state = recording->state;
    uint16_t count = 0;
    const uint64_t offset = state->header.offsets[section];
    if (!offset || !recording_read_all(recording, &count, sizeof count, offset))
        return 0;
    *items = offset + SPDK_SECTION_HEADER;
    return count;
}

static void read_types(struct recording *recording, int section, const struct recording_type **types,
                       size_t *count)
{
    uint64_t at = 0;
    const unsigned items = section_count(recording, section, &at);
    struct recording_type *all = arena_array(&recording->arena, items < 255 ? items : 255, sizeof *all);
    *types = all;
    for (unsigned i = 0; i < items && *count < 255; i++) {
        struct spdk_letter letter;
        if (!recording_read_all(recording, &letter, sizeof letter, at + i * sizeof letter))
            break;
        if (letter.prefix > ' ' && letter.prefix < 127)
            all[(*count)++] = (struct recording_type){letter.type, "", letter.prefix};
    }
}

static const struct recording_group *group_of(struct recording *recording,
                                              const struct recording_group **groups, uint32_t id)
{
    enum { GROUPS = 65536 / 64, IN_GROUP = 64 };
    static_assert(GROUPS == 1024, "ids have 16 bits");
    const uint32_t group = id / IN_GROUP;
    if (!groups[group]) {
        struct recording_group *made = arena_new(&recording->arena, struct recording_group);
        *made = (struct recording_group){group, arena_printf(&recording->arena, "%" PRIu32, group), ""};
        groups[group] = made;
    }
    return groups[group];
}

static const uint8_t kinds[] = {RECORDING_SIGNED, RECORDING_POINTER, RECORDING_STRING};

static void read_tracepoint(struct recording *recording, const struct spdk_tracepoint *layout,
                            const struct recording_group **groups)
{
    struct state *state = recording->state;
    struct recording_model *model = &recording->model;
    if (!layout->name[0])
        return;
    if (layout->argument_count > ARGUMENTS || layout->id == CONTINUATION || layout->id == UINT16_MAX ||
        state->tracepoints[layout->id]) {
        recording->counts.damaged++;
        return;
    }
    struct recording_tracepoint *tracepoint = arena_new(&recording->arena, struct recording_tracepoint);
    *tracepoint = (struct recording_tracepoint){
        .id = layout->id,
        .name = recording_name(&recording->arena, layout->name, sizeof layout->name),
        .group = group_of(recording, groups, layout->id),
        .index = layout->id % 64,
        .object = (int16_t)(layout->object_type ? recording_type_index(model->objects, model->object_count,
                                                                       layout->object_type)
                                                : -1),
        .owner = (int16_t)(layout->owner_type
                               ? recording_type_index(model->owners, model->owner_count, layout->owner_type)
                               : -1),
        .life = layout->new_object ? RECORDING_BEGINS : RECORDING_USES,
        .argument_count = layout->argument_count,
    };
    unsigned bytes = 0;
    for (unsigned i = 0; i < layout->argument_count; i++) {
        const struct spdk_argument *argument = &layout->arguments[i];
        if (argument->type >= sizeof kinds || argument->size == 0 ||
            (argument->type != 2 && argument->size > 8)) {
            recording->counts.damaged++;
            return;
        }
        tracepoint->arguments[i] = (struct recording_argument){
            .name = recording_name(&recording->arena, argument->name, sizeof argument->name),
            .type = "",
            .kind = kinds[argument->type],
            .size = argument->size,
        };
        bytes += argument->size;
    }
    for (unsigned i = 0; i < RELATIONS && layout->relations[i].object_type; i++) {
        const int object =
            recording_type_index(model->objects, model->object_count, layout->relations[i].object_type);
        const uint8_t index = layout->relations[i].argument;
        if (object >= 0 && index < layout->argument_count &&
            tracepoint->arguments[index].kind != RECORDING_STRING)
            tracepoint->relations[tracepoint->relation_count++] =
                (struct recording_relation){index, (uint8_t)object};
    }
    state->tracepoints[layout->id] = tracepoint;
    state->sizes[layout->id] = (uint16_t)bytes;
    if (layout->id >= model->tracepoint_room)
        model->tracepoint_room = layout->id + 1u;
}

static int read_model(struct recording *recording)
{
    struct state *state = recording->state;
    struct recording_model *model = &recording->model;
    jmp_buf nowhere;
    if (arena_guard(&recording->arena, nowhere))
        return -ENOMEM;
    read_types(recording, SPDK_SECTION_OWNER_TYPES, &model->owners, &model->owner_count);
    read_types(recording, SPDK_SECTION_OBJECTS, &model->objects, &model->object_count);
    const struct recording_group **groups = arena_array(&recording->arena, 1024, sizeof *groups);
    uint64_t at = 0;
    const unsigned count = section_count(recording, SPDK_SECTION_TRACEPOINTS, &at);
    for (unsigned i = 0; i < count; i++) {
        struct spdk_tracepoint layout;
        if (!recording_read_all(recording, &layout, sizeof layout, at + i * sizeof layout))
            break;
        read_tracepoint(recording, &layout, groups);
    }
    model->tracepoints = (const struct recording_tracepoint *const *)state->tracepoints;
    return 0;
}

static int read_owners(struct recording *recording)
{
    const struct state *state = recording->state;
    struct {
        uint16_t count, description;
    } head;
    const uint64_t offset = state->header.offsets[SPDK_SECTION_OWNERS];
    if (!offset || !recording_read_all(recording, &head, sizeof head, offset) || !head.count ||
        head.description > 4096)
        return 0;
    const size_t size = sizeof(struct spdk_owner) + head.description;
    uint8_t *copy = malloc(size * head.count);
    struct recording_owner_entry *entries = calloc(head.count, sizeof *entries);
    jmp_buf nowhere;
    arena_free(&recording->owner_arena);
    recording->owner_count = 0;
    if (!copy || !entries || arena_guard(&recording->owner_arena, nowhere)) {
        free(copy), free(entries);
        return -ENOMEM;
    }
    const size_t got =
        recording_read(recording, copy, size * head.count, offset + SPDK_SECTION_HEADER) / size;
    size_t kept = 0;
    for (size_t i = 0; i < got; i++) {
        struct spdk_owner owner;
        memcpy(&owner, copy + i * size, sizeof owner);
        if (!owner.tsc)
            continue;
        struct recording_owner_entry *entry = &entries[kept++];
        *entry = (struct recording_owner_entry){
            .since = owner.tsc,
            .until = UINT64_MAX,
            .id = (uint32_t)i,
            .type = (int16_t)recording_type_index(recording->model.owners, recording->model.owner_count,
                                                  owner.type),
            .description = recording_name(&recording->owner_arena, (char *)copy + i * size + sizeof owner,
                                          head.description),
        };
        entry->length = (uint16_t)strlen(entry->description);
    }
    free(copy);
    free(recording->owners);
    recording->owners = entries;
    recording->owner_count = kept;
    recording_sort_owners(recording);
    return 0;
}

/* ---- lcores ---- */

static uint64_t next_entry(const struct recording *recording, const struct run *run)
{
    uint64_t next = 0;
    recording_read_all(recording, &next, sizeof next,
                       run->history + offsetof(struct spdk_history, next_entry));
    return next;
}

static struct run *make_run(struct recording *recording, const struct run *like)
{
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    if (like)
        *run = *like;
    run->source.index = (uint32_t)recording->source_count;
    run->chunk = malloc(CHUNK * sizeof *run->chunk);
    if (!run->chunk || recording_add_source(recording, &run->source)) {
        free(run->chunk);
        free(run);
        return NULL;
    }
    return run;
}

/* Copies slots from `slot` on. False: none. */
static bool load_chunk(struct recording *recording, struct run *run, uint64_t slot)
{
    const uint64_t index = slot % run->slot_count;
    uint64_t count = run->slot_count - index;
    if (count > CHUNK)
        count = CHUNK;
    if (count > run->end - slot)
        count = run->end - slot;
    const size_t got = recording_read(recording, run->chunk, count * sizeof *run->chunk,
                                      run->slots + index * sizeof *run->chunk);
    run->chunk_begin = slot;
    run->chunk_end = slot + got / sizeof *run->chunk;
    recording->counts.done += got;
    return run->chunk_end > slot;
}

static const struct spdk_slot *slot_at(struct recording *recording, struct run *run, uint64_t slot)
{
    if (slot < run->chunk_begin || slot >= run->chunk_end)
        if (slot >= run->end || !load_chunk(recording, run, slot))
            return NULL;
    return &run->chunk[slot - run->chunk_begin];
}

/* The next slot that may have been written after this one, which was not: files with holes can be of any
 * size. */
static uint64_t skip_unwritten(const struct recording *recording, const struct run *run, uint64_t slot)
{
    const uint64_t index = slot % run->slot_count, left = run->slot_count - index;
    if (slot != run->chunk_begin)
        return slot + 1;
    const uint64_t offset = run->slots + index * sizeof(struct spdk_slot),
                   data = recording_skip_hole(recording, offset);
    const uint64_t skipped = data > offset ? (data - offset) / sizeof(struct spdk_slot) : 0;
    return slot + (skipped > left ? left : skipped ? skipped : 1);
}

/* Live: after slots from `slot` on were copied, are they still behind the writer? If not, goes on where it is
 * safe. */
static bool was_overtaken(struct recording *recording, struct run *run, uint64_t slot)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const uint64_t next = next_entry(recording, run);
    if (next < slot || next - slot + EVENT_SLOTS <= run->slot_count)
        return false;
    uint64_t safe =
        next - run->slot_count + EVENT_SLOTS + run->slot_count / 8; /* a lead, or it happens again at once */
    if (safe > run->end)
        safe = run->end;
    run->lost += safe - slot;
    recording->counts.overwritten += safe - slot;
    run->next = safe;
    run->chunk_begin = run->chunk_end = 0;
    return true;
}

static bool is_continuation(const struct state *state, const struct run *run, const struct spdk_slot *slot)
{
    return slot->id == CONTINUATION || (slot->id == run->continuation && !state->tracepoints[slot->id]);
}

/* The whole event that begins at `slot`, into `bytes`. How many slots it takes; 0: it is not whole. */
static unsigned assemble(struct recording *recording, struct run *run, uint64_t slot)
{
    const struct state *state = recording->state;
    const unsigned size = state->sizes[run->first.id];
    unsigned slots = 1;
    memcpy(run->bytes, run->first.arguments, sizeof run->first.arguments);
    run->byte_count = sizeof run->first.arguments;
    while (run->byte_count < size) {
        const struct spdk_slot *more = slot_at(recording, run, slot + slots);
        if (!more || more->tsc != run->first.tsc || !is_continuation(state, run, more))
            return 0;
        memcpy(run->bytes + run->byte_count, (const uint8_t *)more + offsetof(struct spdk_slot, owner),
               SPDK_CONTINUATION_BYTES);
        run->byte_count += SPDK_CONTINUATION_BYTES;
        slots++;
    }
    return slots;
}

static void spdk_advance(struct recording *recording, struct recording_source *source)
{
    struct run *run = (struct run *)source;
    const struct state *state = recording->state;
    if (source->ready)
        run->lost = 0;
    source->ready = false;
    while (run->next < run->end) {
        const uint64_t slot = run->next;
        const bool fresh = slot >= run->chunk_end || slot < run->chunk_begin;
        const struct spdk_slot *first = slot_at(recording, run, slot);
        if (!first) {
            run->end = run->next;
            return;
        }
        if (fresh && recording->live && was_overtaken(recording, run, slot))
            continue;
        run->first = *first;
        if (!first->tsc) {
            run->next = skip_unwritten(recording, run, slot);
            continue;
        }
        if (is_continuation(state, run, first)) {
            run->next++; /* its beginning was overwritten */
            continue;
        }
        if (first->tsc < recording->ignore) {
            run->next++;
            continue;
        }
        if (!state->tracepoints[first->id]) {
            recording->counts.unknown++;
            run->next++;
            continue;
        }
        const uint64_t chunk_end = run->chunk_end;
        const unsigned slots = assemble(recording, run, slot);
        if (run->chunk_end != chunk_end && recording->live && was_overtaken(recording, run, slot))
            continue;
        if (!slots) {
            recording->counts.damaged += !recording->live || slot + EVENT_SLOTS < run->end;
            run->next++;
            continue;
        }
        if (run->is_torn && slot + slots >= run->end) {
            run->next = run->end;
            return;
        }
        run->next = slot + slots;
        source->stamp = run->first.tsc;
        source->ready = true;
        return;
    }
}

static void spdk_take(struct recording *recording, struct recording_source *source,
                      struct recording_event *event)
{
    struct run *run = (struct run *)source;
    const struct state *state = recording->state;
    const struct recording_tracepoint *tracepoint = state->tracepoints[run->first.id];
    unsigned at = 0;
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        const struct recording_argument *argument = &tracepoint->arguments[i];
        const uint8_t *bytes = run->bytes + at;
        uint64_t word = 0;
        if (argument->kind == RECORDING_STRING) {
            const uint64_t length = strnlen((const char *)bytes, argument->size);
            word = length << 32 | (uint64_t)(at + sizeof run->padding) << 16 | length;
        } else {
            memcpy(&word, bytes, argument->size);
            const unsigned unused = 64 - 8 * argument->size;
            if (argument->kind == RECORDING_SIGNED)
                word = (uint64_t)((int64_t)(word << unused) >> unused);
        }
        run->words[i] = word;
        at += argument->size;
    }
    *event = (struct recording_event){
        .tracepoint = tracepoint,
        .object = run->first.object,
        .owner = run->first.owner,
        .size = run->first.size,
        .thread = run->lcore,
        .thread_name = run->thread,
        .words = run->words,
        .bytes = (const uint8_t *)run + offsetof(struct run, padding),
        .lost = run->lost,
    };
}

static void spdk_thread(const struct recording_source *source, struct recording_thread *thread)
{
    const struct run *run = (const struct run *)source;
    thread->id = run->lcore;
    memcpy(thread->name, run->thread, sizeof run->thread);
}

/* A file that nobody writes: in ring order from the header's position on, runs in which times do not go back.
 */
static int split_runs(struct recording *recording, struct run *run, uint64_t next, uint64_t *covered)
{
    uint64_t oldest = UINT64_MAX;
    const uint64_t count = run->slot_count;
    const uint64_t base = next % count; /* slots count from here, modulo their number */
    uint64_t before = 0;
    struct run *current = NULL;
    struct run scan = *run;
    unsigned runs = 0;
    scan.next = base;
    scan.end = base + count;
    if (!(scan.chunk = malloc(CHUNK * sizeof *scan.chunk)))
        return -ENOMEM;
    for (uint64_t at = base, after; at < base + count; at = after) {
        const struct spdk_slot *slot = slot_at(recording, &scan, at);
        if (!slot)
            break;
        after = slot->tsc ? at + 1 : skip_unwritten(recording, &scan, at);
        if (current && (slot->tsc < before || !slot->tsc)) {
            current->end = at;
            current->is_torn = at % count != base;
            current = NULL;
        }
        before = slot->tsc;
        if (slot->tsc && slot->tsc < oldest)
            oldest = slot->tsc;
        if (!slot->tsc || current)
            continue;
        if (runs++ == RUNS_MOST) {
            recording->counts.damaged++;
            break;
        }
        if (!(current = make_run(recording, run))) {
            free(scan.chunk);
            return -ENOMEM;
        }
        current->next = at;
        current->end = base + count;
        current->is_torn = false;
        current->lost = runs == 1 ? run->lost : 0;
    }
    recording->counts.total += count * sizeof(struct spdk_slot);
    recording->counts.done = 0;
    if (covered && oldest != UINT64_MAX && oldest > *covered)
        *covered = oldest;
    free(scan.chunk);
    return 0;
}

static int read_lcore(struct recording *recording, uint64_t offset, uint64_t *covered)
{
    struct state *state = recording->state;
    struct spdk_history history;
    if (!recording_read_all(recording, &history, sizeof history, offset) || !history.num_entries ||
        history.num_tpoint_ids > 65536 || offset > recording->file_bytes ||
        history.num_entries > (recording->file_bytes - offset) / sizeof(struct spdk_slot) ||
        (state->slot_count += history.num_entries) > recording->file_bytes / sizeof(struct spdk_slot)) {
        recording->counts.damaged++;
        return 0;
    }
    if (recording->options.only_cpu >= 0 && history.lcore != recording->options.only_cpu)
        return 0;
    struct run run = {
        .history = offset,
        .slots = offset + sizeof history + history.num_tpoint_ids * 8,
        .slot_count = history.num_entries,
        .lcore = (uint32_t)history.lcore,
        .continuation = history.num_tpoint_ids && history.num_tpoint_ids <= UINT16_MAX
                            ? (uint16_t)history.num_tpoint_ids
                            : CONTINUATION,
    };
    memcpy(run.thread, history.thread_name, sizeof history.thread_name);
    for (char *c = run.thread; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    if (history.next_entry > history.num_entries) {
        /* Entries, not events: how many there were of these is not kept. */
        run.lost = history.next_entry - history.num_entries;
        recording->counts.overwritten += run.lost;
    }
    const bool is_full = history.next_entry > history.num_entries;
    if (!recording->live)
        return split_runs(recording, &run, history.next_entry, is_full ? covered : NULL);
    struct spdk_slot oldest;
    if (is_full &&
        recording_read_all(recording, &oldest, sizeof oldest,
                           run.slots + history.next_entry % run.slot_count * sizeof oldest) &&
        oldest.tsc > *covered)
        *covered = oldest.tsc;
    struct run *live = make_run(recording, &run);
    if (!live)
        return -ENOMEM;
    live->end = history.next_entry;
    live->next = live->end > live->slot_count ? live->end - live->slot_count : 0;
    recording->counts.total += live->slot_count * sizeof(struct spdk_slot);
    return 0;
}

static bool spdk_is_live(struct recording *recording)
{
    /* NAME_trace.pidPID says who writes; NAME_trace.ID does not. */
    const char *name = strrchr(recording->path, '/');
    const char *suffix = strstr(name ? name : recording->path, "_trace.");
    struct statfs system;
    if (!suffix || fstatfs(recording->file, &system) || system.f_type != TMPFS)
        return false;
    suffix += strlen("_trace.");
    if (strncmp(suffix, "pid", 3))
        return true;
    const long pid = strtol(suffix + 3, NULL, 10);
    return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

static int spdk_open(struct recording *recording, struct text *why)
{
    struct state *state = calloc(1, sizeof *state);
    struct spdk_main main_section;
    if (!state)
        return -ENOMEM;
    recording->state = state;
    recording->model.name = recording->model.command = "";
    if (!recording_read_all(recording, &state->header, sizeof state->header, 0) ||
        !recording_read_all(recording, &main_section, sizeof main_section,
                            state->header.offsets[SPDK_SECTION_MAIN]) ||
        !main_section.tsc_rate) {
        text_printf(why, "%s is damaged: its counter has no rate", recording->path);
        return -EINVAL;
    }
    recording->live = spdk_is_live(recording);
    recording->ignore = main_section.clear_tsc;
    int error = read_model(recording);
    if (!error)
        error = read_owners(recording);
    uint64_t at = 0, covered = 0;
    const unsigned lcores = section_count(recording, SPDK_SECTION_LCORES, &at);
    for (unsigned i = 0; i < lcores && i < LCORES_MOST && !error; i++) {
        uint64_t offset;
        if (!recording_read_all(recording, &offset, sizeof offset, at + i * sizeof offset))
            break;
        if (offset)
            error = read_lcore(recording, offset, &covered);
    }
    if (error)
        return error;
    if (!recording->options.whole && covered > recording->ignore)
        recording->ignore = covered;
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < recording->source_count; i++) {
        spdk_advance(recording, recording->sources[i]);
        if (recording->sources[i]->ready && recording->sources[i]->stamp < first)
            first = recording->sources[i]->stamp;
    }
    timeline_init(&recording->timeline, main_section.tsc_rate);
    error = timeline_add(&recording->timeline, first == UINT64_MAX ? 0 : first, 0, 0);
    timeline_finish(&recording->timeline);
    return error;
}

static int spdk_refresh(struct recording *recording)
{
    for (size_t i = 0; i < recording->source_count; i++) {
        struct run *run = (struct run *)recording->sources[i];
        const uint64_t next = next_entry(recording, run);
        if (next <= run->end)
            continue;
        if (next - run->next > run->slot_count) {
            const uint64_t oldest = next - run->slot_count;
            if (!run->source.ready) {
                run->lost += oldest - run->next;
                recording->counts.overwritten += oldest - run->next;
                run->next = oldest;
            }
        }
        run->end = next;
        run->chunk_begin = run->chunk_end = 0;
        if (!run->source.ready)
            spdk_advance(recording, &run->source);
    }
    return read_owners(recording);
}

static void spdk_close(struct recording *recording)
{
    for (size_t i = 0; i < recording->source_count; i++) {
        struct run *run = (struct run *)recording->sources[i];
        free(run->chunk);
        free(run);
    }
    free(recording->state);
}

const struct recording_format recording_format_spdk = {
    .name = "SPDK",
    .recognises = spdk_recognises,
    .open = spdk_open,
    .take = spdk_take,
    .advance = spdk_advance,
    .refresh = spdk_refresh,
    .thread = spdk_thread,
    .is_live = spdk_is_live,
    .close = spdk_close,
};
