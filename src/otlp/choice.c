/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

struct chosen {
    uint64_t life; /* ns */
    uint8_t trace[OTLP_TRACE_ID];
};

void choice_make(struct choice *choice, size_t most, int16_t type)
{
    *choice = (struct choice){.type = type};
    choice->slowest[0].most = most;
}

void choice_make_percentile(struct choice *choice, uint32_t percentile, int16_t type)
{
    *choice = (struct choice){.percentile = percentile, .type = type};
}

/* Returns those to which a span belongs; NULL: none. */
static struct slowest *slowest_of(struct choice *choice, const struct otlp_span *span)
{
    if (choice->type >= 0 && span->type != choice->type)
        return NULL;
    return &choice->slowest[choice->percentile ? (size_t)span->type % CHOICE_TYPES_MAX : 0];
}

void choice_count(struct choice *choice, const struct otlp_span *span)
{
    struct slowest *slowest = slowest_of(choice, span);
    if (slowest)
        slowest->all++;
}

void choice_counted(struct choice *choice)
{
    for (size_t i = 0; i < CHOICE_TYPES_MAX; i++) {
        struct slowest *slowest = &choice->slowest[i];
        const unsigned __int128 above =
            (unsigned __int128)slowest->all * (PERCENTILE_ALL - choice->percentile);
        const uint64_t wanted = (uint64_t)((above + PERCENTILE_ALL - 1) / PERCENTILE_ALL);
        slowest->most = wanted < CHOICE_OBJECTS_MAX ? (size_t)wanted : CHOICE_OBJECTS_MAX;
        choice->objects_left_out += wanted - slowest->most;
    }
}

static int choose(struct choice *choice, const uint8_t *trace)
{
    return table_set(&choice->traces, trace, OTLP_TRACE_ID, choice);
}

/* Puts an object into the place at `at` or below, where the heap has one with a shorter life. */
static void sink(struct slowest *slowest, size_t at, struct chosen object)
{
    for (size_t below; (below = 2 * at + 1) < slowest->count; at = below) {
        if (below + 1 < slowest->count && slowest->heap[below + 1].life < slowest->heap[below].life)
            below++;
        if (object.life <= slowest->heap[below].life)
            break;
        slowest->heap[at] = slowest->heap[below];
    }
    slowest->heap[at] = object;
}

/* Puts an object behind the last one, or above those that have longer lives. */
static int rise(struct slowest *slowest, struct chosen object)
{
    if (!vector_make_room(slowest->heap, slowest->count, slowest->room))
        return -ENOMEM;
    size_t at = slowest->count++;
    for (size_t above; at && object.life < slowest->heap[above = (at - 1) / 2].life; at = above)
        slowest->heap[at] = slowest->heap[above];
    slowest->heap[at] = object;
    return 0;
}

static int consider(struct choice *choice, const struct otlp_span *span)
{
    struct slowest *slowest = slowest_of(choice, span);
    struct chosen object = {.life = span->end - span->start};
    memcpy(object.trace, span->trace, sizeof object.trace);
    if (!slowest || !slowest->most)
        return 0;
    if (slowest->count < slowest->most)
        return rise(slowest, object);
    if (object.life > slowest->heap[0].life)
        sink(slowest, 0, object);
    return 0;
}

int choice_see(struct choice *choice, const struct otlp_span *span)
{
    const int error = consider(choice, span);
    if (error || !span->is_error || choice_has(choice, span))
        return error;
    if (choice->traces.count < CHOICE_ERRORS_MAX)
        return choose(choice, span->trace);
    choice->errors_left_out++;
    return 0;
}

int choice_end(struct choice *choice)
{
    int error = 0;
    for (size_t i = 0; i < CHOICE_TYPES_MAX; i++) {
        struct slowest *slowest = &choice->slowest[i];
        for (size_t k = 0; k < slowest->count && !error; k++)
            error = choose(choice, slowest->heap[k].trace);
        free(slowest->heap); /* from now on only their traces are needed */
        *slowest = (struct slowest){0};
    }
    return error;
}

bool choice_has(const struct choice *choice, const struct otlp_span *span)
{
    return table_get(&choice->traces, span->trace, sizeof span->trace) != NULL;
}

void choice_free(struct choice *choice)
{
    table_free(&choice->traces);
    for (size_t i = 0; i < CHOICE_TYPES_MAX; i++)
        free(choice->slowest[i].heap);
    *choice = (struct choice){0};
}
