/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a trace, or of a watchpoint, asked for by the script. */
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/event_handler.h"
#include "builtin/all.h"

static struct ir *lower_exit(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *code = check_argument(node, 0);
    struct event_field field = {.value = code ? lower_scalar(l, code) : ir_constant(&l->b, 0),
                                .type = &type_i64};
    (void)into;
    lower_event(l, node, node->call.builtin, &field, 1);
    lower_return(l, NULL);
    return NULL;
}

static void handle_exit(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    int64_t code;
    memcpy(&code, event_handler_field(handler, action, 0, record), sizeof code);
    handler->exit_requested = true;
    handler->exit_code = (int)code;
}

/* ---- unwatch: when the reader gets to it, so some more events may come ---- */

static struct ir *lower_unwatch(struct lowering *l, struct node *node, struct destination *into)
{
    enum address_space space;
    struct event_field field = {.value = lower_pointer(l, check_argument(node, 0), &space),
                                .type = &type_u64};
    (void)into;
    lower_event(l, node, node->call.builtin, &field, 1);
    return NULL;
}

static void handle_unwatch(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    uint64_t address;
    memcpy(&address, event_handler_field(handler, action, 0, record), sizeof address);
    if (handler->host->operations->unwatch(handler->host, address))
        handler->warn(handler, action->call->span, "unwatch: no watchpoint is at 0x%llx",
                      (unsigned long long)address);
}

const struct builtin builtins_control[] = {
    {"exit",
     "exit([code])",
     BUILTIN_CALL | BUILTIN_NO_LOOP | BUILTIN_ENDS,
     0,
     1,
     {PARAMETER_INTEGER},
     .result = &type_none,
     .lower = lower_exit,
     .handle = handle_exit},
    {"unwatch",
     "unwatch(address)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_POINTER},
     .result = &type_none,
     .lower = lower_unwatch,
     .handle = handle_unwatch},
    {0},
};
