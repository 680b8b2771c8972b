/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct chosen {
    uint64_t life; /* ns */
    uint8_t trace[OTLP_TRACE_ID];
};

int choice_make(struct choice *choice, size_t most, int16_t type)
{
    *choice = (struct choice){.most = most, .type = type};
    choice->slowest = calloc(most + 1, sizeof *choice->slowest);
    return choice->slowest ? 0 : -ENOMEM;
}

static int choose(struct choice *choice, const uint8_t *trace)
{
    return table_set(&choice->traces, trace, OTLP_TRACE_ID, choice);
}

static void consider(struct choice *choice, const struct otlp_span *span)
{
    const uint64_t life = span->end - span->start;
    if (choice->type >= 0 && span->type != choice->type)
        return;
    if (choice->count == choice->most && (!choice->most || life <= choice->slowest[choice->count - 1].life))
        return;
    size_t at = choice->count < choice->most ? choice->count++ : choice->count - 1;
    for (; at > 0 && choice->slowest[at - 1].life < life; at--)
        choice->slowest[at] = choice->slowest[at - 1];
    choice->slowest[at].life = life;
    memcpy(choice->slowest[at].trace, span->trace, sizeof span->trace);
}

int choice_see(struct choice *choice, const struct otlp_span *span)
{
    consider(choice, span);
    if (!span->is_error || choice_has(choice, span))
        return 0;
    if (choice->traces.count < CHOICE_ERRORS_MAX)
        return choose(choice, span->trace);
    choice->errors_left_out++;
    return 0;
}

int choice_end(struct choice *choice)
{
    int error = 0;
    for (size_t i = 0; i < choice->count && !error; i++)
        error = choose(choice, choice->slowest[i].trace);
    return error;
}

bool choice_has(const struct choice *choice, const struct otlp_span *span)
{
    return table_get(&choice->traces, span->trace, sizeof span->trace) != NULL;
}

void choice_free(struct choice *choice)
{
    table_free(&choice->traces);
    free(choice->slowest);
    *choice = (struct choice){0};
}
