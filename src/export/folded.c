/* SPDX-License-Identifier: BSD-3-Clause */
/* Folded stacks, for flame graphs: owner;type;stage and nanoseconds. A stage is the time from one event of an
 * object to its next, and has the name of the first one. If an object is related to another one, its stages are
 * below the stage in which the other one was when they began, and their time is subtracted there.
 *
 * Memory grows with the number of different stacks and with that of objects that live at a time, which are both
 * bounded. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "export/export.h"
#include "export/living.h"

enum {
    DEPTH_MAX = 16, /* deeper ones begin at their owner again, because relations may go round in circles */
    NODES_MAX = 1 << 16,
    COVERS_MAX = 8,
};

struct node {
    const struct node *parent; /* NULL: it is an owner */
    char *label;               /* label of an owner */
    int16_t type;
    const struct recording_tracepoint *stage;
    unsigned depth;
    uint64_t weight; /* ns, without those of nodes below */
};

struct cover { /* a time in which related objects were in stages of their own */
    uint64_t from, to;
};

struct life {
    struct living living;
    struct node *node;               /* node of its stage */
    uint64_t begun, since;           /* when the object and its stage began, ns */
    int16_t parent_type;             /* -1: none */
    uint64_t parent;                 /* id of the parent */
    struct cover covers[COVERS_MAX]; /* of this stage, sorted by time; they do not overlap */
    unsigned cover_count;
};

struct folded {
    const struct recording *recording;
    const struct recording_model *model;
    struct living_table living;
    struct table owners, stages; /* struct node, by label and by struct stage_key */
    struct node other;           /* stands for all others, when there are too many */
    struct text label;           /* a buffer for one label */
};

struct stage_key {
    const struct node *parent;
    const struct recording_tracepoint *stage;
    uint64_t type;
};

/* ---- stacks ---- */

static struct node *find_node(struct folded *folded, struct table *table, const void *key, size_t length,
                              const struct node *like)
{
    struct node *node = table_get(table, key, length);
    if (node)
        return node;
    if (table->count >= NODES_MAX)
        return &folded->other;
    if (!(node = malloc(sizeof *node)))
        return NULL;
    *node = *like;
    if (table_set(table, key, length, node)) {
        free(node);
        return NULL;
    }
    return node;
}

static struct node *owner_node(struct folded *folded, const struct recording_event *event)
{
    struct text *label = &folded->label;
    text_clear(label);
    export_owner_label(label, folded->recording, event);
    if (!label->length)
        text_add(label, "no owner");
    struct node *node =
        find_node(folded, &folded->owners, text_string(label), label->length, &(struct node){0});
    if (node && !node->label && node != &folded->other && !(node->label = strdup(text_string(label))))
        return NULL;
    return node;
}

static struct life *parent_of(const struct folded *folded, const struct life *life)
{
    return life->parent_type < 0
               ? NULL
               : (struct life *)living_find(&folded->living, life->parent_type, life->parent);
}

static struct node *stage_node(struct folded *folded, const struct life *life,
                               const struct recording_event *event)
{
    const struct life *parent = parent_of(folded, life);
    const struct node *above = parent ? parent->node : NULL;
    if (!above || above->depth >= DEPTH_MAX)
        above = owner_node(folded, event);
    if (!above || above == &folded->other)
        return (struct node *)(uintptr_t)above;
    const struct stage_key key = {above, event->tracepoint, (uint64_t)life->living.type};
    return find_node(folded, &folded->stages, &key, sizeof key,
                     &(struct node){.parent = above,
                                    .type = life->living.type,
                                    .stage = event->tracepoint,
                                    .depth = above->depth + 1});
}

/* ---- times ---- */

/* Adds a time that is covered by a related object's stage. Stages come in the order of their ends: a later one may
 * begin before earlier ones did. */
static void cover(struct life *life, uint64_t from, uint64_t to)
{
    from = from > life->since ? from : life->since;
    if (from >= to)
        return;
    while (life->cover_count && life->covers[life->cover_count - 1].to >= from) {
        const uint64_t earlier = life->covers[--life->cover_count].from;
        from = earlier < from ? earlier : from;
    }
    /* the gap between the two oldest covers is counted as covered, too */
    if (life->cover_count == COVERS_MAX) {
        life->covers[1].from = life->covers[0].from;
        memmove(life->covers, life->covers + 1, (COVERS_MAX - 1) * sizeof *life->covers);
        life->cover_count--;
    }
    life->covers[life->cover_count++] = (struct cover){from, to};
}

static void end_stage(struct folded *folded, struct life *life, uint64_t time)
{
    struct life *parent = parent_of(folded, life);
    uint64_t covered = 0;
    for (unsigned i = 0; i < life->cover_count; i++)
        covered += life->covers[i].to - life->covers[i].from;
    life->node->weight += time - life->since - covered;
    if (parent && parent->begun <= life->since) /* it is the same object, and not a later one with its id */
        cover(parent, life->since, time);
}

static struct life *begin_life(struct folded *folded, const struct export_event *at)
{
    const struct living *surplus = living_surplus(&folded->living);
    struct life *life = calloc(1, sizeof *life);
    if (surplus)
        living_remove(&folded->living, (struct living *)(uintptr_t)surplus);
    if (!life || living_add(&folded->living, &life->living, at->step->own->type, at->step->own->id)) {
        free(life);
        return NULL;
    }
    life->begun = at->time;
    life->parent_type = -1;
    return life;
}

/* Finds the parent of an object: the first one that lives and to which it is related. */
static void find_parent(const struct folded *folded, struct life *life, const struct object_step *step)
{
    for (unsigned i = 0; i < step->related_count && life->parent_type < 0; i++) {
        const struct living *other = living_find(&folded->living, step->related[i].type, step->related[i].id);
        if (other && other != &life->living) {
            life->parent_type = other->type;
            life->parent = other->id;
        }
    }
}

/* ---- the format ---- */

static int begin(struct export *export)
{
    struct folded *folded = calloc(1, sizeof *folded);
    if (!folded)
        return -ENOMEM;
    export->state = folded;
    folded->recording = export->recording;
    folded->model = recording_model(export->recording);
    return 0;
}

static int event(struct export *export, const struct export_event *at)
{
    struct folded *folded = export->state;
    const struct object *own = at->step->own;
    if (own->type < 0)
        return 0;
    struct life *life = (struct life *)living_find(&folded->living, own->type, own->id);
    if (life && at->step->is_first) { /* it is unknown how long its last stage took */
        living_remove(&folded->living, &life->living);
        life = NULL;
    }
    if (life)
        end_stage(folded, life, at->time);
    else if (!(life = begin_life(folded, at)))
        return -ENOMEM;
    if (at->event->tracepoint->life == RECORDING_ENDS) {
        living_remove(&folded->living, &life->living);
        return 0;
    }
    living_touch(&folded->living, &life->living);
    find_parent(folded, life, at->step);
    life->since = at->time;
    life->cover_count = 0;
    life->node = stage_node(folded, life, at->event);
    return life->node && !folded->label.failed ? 0 : -ENOMEM;
}

/* Writes the name of a level, in which a semicolon would end it. */
static void put_level(struct text *out, const char *name)
{
    for (; *name; name++)
        text_char(out, *name == ';' ? ':' : *name);
}

static void put_stack(const struct folded *folded, struct text *out, const struct node *node)
{
    if (!node->parent) {
        put_level(out, node->label);
        return;
    }
    put_stack(folded, out, node->parent);
    const struct recording_type *type = &folded->model->objects[node->type];
    text_char(out, ';');
    put_level(out, type->name[0] ? type->name : (const char[]){type->letter, 0});
    text_char(out, ';');
    put_level(out, node->stage->name);
}

static int end(struct export *export)
{
    const struct folded *folded = export->state;
    for (size_t i = 0; i < folded->stages.count; i++) {
        const struct node *node = folded->stages.entries[i].value;
        if (!node->weight)
            continue;
        put_stack(folded, &export->out, node);
        text_printf(&export->out, " %" PRIu64 "\n", node->weight);
    }
    if (folded->other.weight)
        text_printf(&export->out, "other %" PRIu64 "\n", folded->other.weight);
    return 0;
}

static void free_nodes(struct table *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        struct node *node = nodes->entries[i].value;
        free(node->label);
        free(node);
    }
    table_free(nodes);
}

static void release(struct export *export)
{
    struct folded *folded = export->state;
    if (!folded)
        return;
    free_nodes(&folded->owners);
    free_nodes(&folded->stages);
    living_free(&folded->living);
    text_free(&folded->label);
    free(folded);
}

const struct export_format export_folded = {
    "folded", "flamegraph.pl %s >%s.svg draws it", false, false, begin, event, NULL, end, release, NULL,
    false};
