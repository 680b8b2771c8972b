/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks and dates. */
#include <string.h>

#include "bpf/lower.h"
#include "builtin/actor.h"
#include "builtin/all.h"
#include "print/record.h"

static struct ir *lower_nsecs(struct lowering *l, struct node *node, struct memory *into)
{
    (void)node, (void)into;
    return lower_time(l);
}

static struct ir *lower_elapsed(struct lowering *l, struct node *node, struct memory *into)
{
    (void)node, (void)into;
    struct ir *start = ir_load(&l->b, lower_control(l), offsetof(struct image_control, start), 8, false);
    return ir_binary(&l->b, IR_SUB, lower_time(l), start);
}

static const struct type *check_strftime(struct checker *checker, struct node *node)
{
    struct type *type = arena_new(checker->arena, struct type);
    *type = *type_simple(checker->arena, TYPE_TIMESTAMP);
    type->format = check_literal(check_argument(node, 0));
    return type;
}

static struct ir *lower_strftime(struct lowering *l, struct node *node, struct memory *into)
{
    struct ir *ns = lower_scalar(l, check_argument(node, 1));
    if (into)
        ir_store(&l->b, into->base, into->offset, 8, ns);
    return NULL;
}

static struct ir *lower_print_time(struct lowering *l, struct node *node, struct memory *into)
{
    (void)into;
    struct event_field field = {.value = lower_time(l), .type = &type_u64};
    lower_event(l, node, node->call.builtin, &field, 1);
    return NULL;
}

static void act_print_time(struct actor *actor, const struct action *action, const uint8_t *record)
{
    const struct node *format = check_argument(action->call, 0);
    int64_t now;
    memcpy(&now, actor_field(actor, action, 0, record), sizeof now);
    if (actor->printer->names && actor->printer->names->boot_to_wall)
        now += actor->printer->names->boot_to_wall(actor->printer->names->owner);
    struct text text = {0};
    print_time(&text, format ? check_literal(format) : "%H:%M:%S\n", now);
    record_text(actor->printer, "time", text_string(&text), text.length);
    text_free(&text);
}

enum { EITHER = BUILTIN_BARE | BUILTIN_CALL };

const struct builtin builtins_time[] = {
    {"nsecs", "nsecs", EITHER, .result = &type_u64, .lower = lower_nsecs},
    {"elapsed", "elapsed", EITHER, .result = &type_u64, .lower = lower_elapsed},
    {"strftime",
     "strftime(format, nsecs)",
     BUILTIN_CALL,
     2,
     2,
     {PARAMETER_LITERAL_STRING, PARAMETER_INTEGER},
     .check = check_strftime,
     .lower = lower_strftime},
    {"time",
     "time([format])",
     BUILTIN_CALL,
     0,
     1,
     {PARAMETER_LITERAL_STRING},
     .result = &type_none,
     .lower = lower_print_time,
     .act = act_print_time},
    {0},
};
