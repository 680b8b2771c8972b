/* SPDX-License-Identifier: BSD-3-Clause */
/* What an event of a recording has besides its arguments. The host fills a struct image_event; here are the
 * names. */
#include "bpf/lower/lower.h"
#include "builtin/all.h"

enum {
    OWNER_NAME = 128,
    FOLLOWS = 1 << 16, /* in .data: the host has to follow objects for it */
    UNKNOWN = 1 << 17, /* times this bit of struct image_event's word of that name: it may not be known */
    LIFETIME = FOLLOWS | UNKNOWN * EVENT_LIFETIME,
    SINCE = FOLLOWS | UNKNOWN * EVENT_SINCE,
};

static bool check_record(struct checker *checker, const struct node *node, const char *name)
{
    if (checker->unit->context->has_record)
        return true;
    check_error(checker, node->span, "%s is not available with %s", name, checker->unit->probe);
    check_hint(checker, "it belongs to events of recordings: trace:GROUP:TRACEPOINT");
    return false;
}

static const struct type *check_word(struct checker *checker, struct node *node)
{
    return check_record(checker, node, node->name.builtin->name) ? &type_u64 : NULL;
}

/* Where what is asked for is not known, there is nothing to go on with: the statement is left out. */
static void leave_unknown(struct lowering *l, int64_t bit, struct span span)
{
    struct ir_builder *b = &l->b;
    struct ir *unknown =
        ir_binary_constant(b, IR_AND, lower_event_word(l, offsetof(struct image_event, unknown)), bit);
    struct ir_if is_unknown = ir_if_unlikely(b, unknown);
    if (l->options->counts_lookups)
        lower_runtime_error(l, RUNTIME_ERROR_UNKNOWN, span, -1, NULL);
    ir_jump(b, lower_statement_end(l));
    ir_end_if(b, &is_unknown);
}

static struct ir *lower_word(struct lowering *l, struct node *node, struct destination *into)
{
    int64_t data = node->name.builtin->data;
    (void)into;
    size_t offset = (size_t)(data & (FOLLOWS - 1));
    l->image->follows_objects |= (data & FOLLOWS) != 0;
    l->image->reads_lifetime |= offset == offsetof(struct image_event, lifetime);
    l->image->reads_since |= offset == offsetof(struct image_event, since);
    if (data >= UNKNOWN)
        leave_unknown(l, data / UNKNOWN, node->span);
    return lower_event_word(l, offset);
}

static const struct type *check_owner_name(struct checker *checker, struct node *node)
{
    return check_record(checker, node, "owner_name") ? type_string(checker->arena, OWNER_NAME) : NULL;
}

static struct ir *lower_owner_name(struct lowering *l, struct node *node, struct destination *into)
{
    l->image->names_owners = true;
    if (destination_is_memory(into))
        lower_read_string(l, into, OWNER_NAME, NULL,
                          lower_event_word(l, offsetof(struct image_event, owner_name)), SPACE_USER,
                          TEXT_PADDED, node->span);
    return NULL;
}

#define WORD(word, flags)                                                                                    \
    {                                                                                                        \
#word, #word, BUILTIN_BARE, .check = check_word, .lower = lower_word,                                \
                                    .data = (int64_t)offsetof(struct image_event, word) | (flags)            \
    }

const struct builtin builtins_recording[] = {
    WORD(object, 0),
    WORD(owner, 0),
    WORD(lifetime, LIFETIME),
    WORD(since, SINCE),
    WORD(related, FOLLOWS),
    {"owner_name", "owner_name", BUILTIN_BARE, .check = check_owner_name, .lower = lower_owner_name},
    {0},
};
