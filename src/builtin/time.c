/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks and dates. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bpf/lower/lower.h"
#include "builtin/event_handler.h"
#include "builtin/all.h"
#include "print/record.h"

/* ---- nsecs, nsecs(clock) ---- */

static const char *const clocks[] = {"boot", "monotonic", "tai", "sw_tai"};
enum clock { CLOCK_OF_BOOT, CLOCK_OF_MONOTONIC, CLOCK_OF_TAI, CLOCK_OF_SW_TAI, CLOCKS };

static enum clock clock_named(const struct node *word)
{
    unsigned clock = word ? 0 : CLOCK_OF_BOOT;
    while (word && clock < CLOCKS && (word->kind != NODE_NAME || strcmp(word->name.name, clocks[clock])))
        clock++;
    return (enum clock)clock;
}

static const struct type *check_nsecs(struct checker *checker, struct node *node)
{
    const struct node *word = check_argument(node, 0);
    if (clock_named(word) < CLOCKS)
        return &type_u64;
    check_error(checker, word->span, "nsecs(): expected boot, monotonic, tai or sw_tai");
    return NULL;
}

/* CLOCK_TAI - CLOCK_BOOTTIME. The middle clock is read between two readings of the other; the quickest of
 * some attempts is the best. */
static int64_t tai_offset(void)
{
    int64_t offset = 0, shortest = INT64_MAX;
    for (int i = 0; i < 8; i++) {
        int64_t begin = (int64_t)clock_ns(CLOCK_BOOTTIME), tai = (int64_t)clock_ns(CLOCK_TAI);
        int64_t took = (int64_t)clock_ns(CLOCK_BOOTTIME) - begin;
        if (took < shortest) {
            shortest = took;
            offset = tai - (begin + took / 2);
        }
    }
    return offset;
}

static struct ir *lower_nsecs(struct lowering *l, struct node *node, struct destination *into)
{
    enum clock clock = clock_named(check_argument(node, 0));
    (void)into;
    if (clock == CLOCK_OF_TAI && !l->options->features->tai_clock && !l->context->has_record) {
        diagnose_error(l->diagnostics, node->span,
                       "nsecs(tai) needs bpf_ktime_get_tai_ns: Linux 6.1 or newer");
        diagnose_hint(l->diagnostics, "nsecs(sw_tai) is nearly the same on every kernel");
    }
    if (l->context->has_record && (clock == CLOCK_OF_MONOTONIC || clock == CLOCK_OF_TAI))
        return lower_event_word(l, clock == CLOCK_OF_TAI ? offsetof(struct image_event, tai)
                                                         : offsetof(struct image_event, monotonic));
    switch (clock) {
    case CLOCK_OF_MONOTONIC: return ir_call(&l->b, BPF_FUNC_ktime_get_ns, 0);
    case CLOCK_OF_TAI: return ir_call(&l->b, BPF_FUNC_ktime_get_tai_ns, 0);
    case CLOCK_OF_SW_TAI: return ir_binary(&l->b, IR_ADD, lower_time(l), ir_constant(&l->b, tai_offset()));
    default: return lower_time(l);
    }
}

static struct ir *lower_elapsed(struct lowering *l, struct node *node, struct destination *into)
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

static struct ir *lower_strftime(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir *ns = lower_scalar(l, check_argument(node, 1));
    if (destination_is_memory(into))
        ir_store(&l->b, into->memory.base, into->memory.offset, 8, ns);
    return NULL;
}

static struct ir *lower_print_time(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    struct event_field field = {.value = lower_time(l), .type = &type_u64};
    lower_event(l, node, node->call.builtin, &field, 1);
    return NULL;
}

static void handle_print_time(struct event_handler *handler, const struct action *action,
                              const uint8_t *record)
{
    const struct node *format = check_argument(action->call, 0);
    int64_t now;
    memcpy(&now, event_handler_field(handler, action, 0, record), sizeof now);
    if (handler->printer->names && handler->printer->names->boot_to_wall)
        now += handler->printer->names->boot_to_wall(handler->printer->names->owner);
    struct text text = {0};
    print_time(&text, format ? check_literal(format) : "%H:%M:%S\n", now);
    record_text(handler->printer, "time", &text);
    text_free(&text);
}

enum { EITHER = BUILTIN_BARE | BUILTIN_CALL };

const struct builtin builtins_time[] = {
    {"nsecs", "nsecs([clock])", EITHER, 0, 1, {PARAMETER_WORD}, .check = check_nsecs, .lower = lower_nsecs},
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
     .handle = handle_print_time},
    {0},
};
