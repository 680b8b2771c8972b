/* SPDX-License-Identifier: BSD-3-Clause */
/* The members of a story are the object itself, its parent (while the object lives), and all objects whose events
 * say that they are related to a member, but not to the parent. */
#include "reader/story.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct key {
    uint64_t number;
    uint64_t type;
};

/* A member may be in several stories, as the parent of many objects is. */
struct member {
    struct member *next;
    size_t story;
    bool is_parent;
};

int stories_make(struct stories *stories, size_t most, int16_t type)
{
    *stories = (struct stories){.type = type, .most = most < STORIES_MAX ? most : STORIES_MAX};
    stories->objects = calloc(stories->most + 1, sizeof *stories->objects);
    return stories->objects ? 0 : -ENOMEM;
}

void stories_free(struct stories *stories)
{
    for (size_t i = 0; i < stories->members.count; i++)
        for (struct member *member = stories->members.entries[i].value, *next; member; member = next) {
            next = member->next;
            free(member);
        }
    table_free(&stories->members);
    free(stories->objects);
    *stories = (struct stories){0};
}

static uint64_t life(const struct object *object)
{
    return object->last > object->begun ? object->last - object->begun : 0;
}

static void consider(struct stories *stories, const struct object *object)
{
    if (object->number == OBJECT_UNNUMBERED || (stories->type >= 0 && object->type != stories->type) ||
        !stories->most)
        return;
    if (stories->count == stories->most && life(object) <= life(&stories->objects[stories->count - 1]))
        return;
    size_t at = stories->count < stories->most ? stories->count++ : stories->count - 1;
    for (; at > 0 && life(&stories->objects[at - 1]) < life(object); at--)
        stories->objects[at] = stories->objects[at - 1];
    stories->objects[at] = *object;
}

void stories_see(struct stories *stories, const struct recording_event *event, const struct object_step *step)
{
    if (step->ended.type >= 0)
        consider(stories, &step->ended);
    if (step->own->type >= 0 && event->tracepoint->life == RECORDING_ENDS)
        consider(stories, step->own);
}

static void see_living(void *context, const struct object *object)
{
    consider(context, object);
}

void stories_see_living(struct stories *stories, const struct objects *objects)
{
    objects_each(objects, see_living, stories);
}

static struct member *find(const struct stories *stories, int16_t type, uint64_t number)
{
    const struct key key = {number, (uint64_t)type};
    return number == OBJECT_UNNUMBERED || type < 0 ? NULL : table_get(&stories->members, &key, sizeof key);
}

static int add(struct stories *stories, int16_t type, uint64_t number, size_t story, bool is_parent)
{
    const struct key key = {number, (uint64_t)type};
    if (number == OBJECT_UNNUMBERED)
        return 0;
    struct member *member = malloc(sizeof *member);
    if (!member)
        return -ENOMEM;
    *member = (struct member){table_get(&stories->members, &key, sizeof key), story, is_parent};
    const int error = table_set(&stories->members, &key, sizeof key, member);
    if (error)
        free(member);
    return error;
}

int stories_begin(struct stories *stories)
{
    int error = 0;
    for (size_t i = 0; i < stories->count && !error; i++) {
        const struct object *object = &stories->objects[i];
        error = add(stories, object->type, object->number, i, false);
        if (!error && object->parent_type >= 0)
            error = add(stories, object->parent_type, object->parent, i, true);
    }
    return error;
}

int stories_visit(struct stories *stories, const struct recording_event *event,
                  const struct object_step *step, int (*visit)(void *context, size_t story), void *context)
{
    int error = 0;
    const struct member *own = find(stories, step->own->type, step->own->number);
    for (const struct member *member = own; member && !error; member = member->next) {
        const struct object *root = &stories->objects[member->story];
        if (!member->is_parent || (event->stamp >= root->begun && event->stamp <= root->last))
            error = visit(context, member->story);
    }
    for (unsigned i = 0; i < step->related_count && !error; i++)
        for (const struct member *member = find(stories, step->related[i].type, step->related[i].number);
             member && !error; member = member->next) {
            if (member->is_parent)
                continue;
            bool is_listed = false;
            for (const struct member *known = own; known && !is_listed; known = known->next)
                is_listed = known->story == member->story;
            if (is_listed)
                continue;
            error = visit(context, member->story);
            if (!error && step->own->type >= 0)
                error = add(stories, step->own->type, step->own->number, member->story, false);
        }
    return error;
}
