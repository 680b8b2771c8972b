/* SPDX-License-Identifier: BSD-3-Clause */
/* What an event of a recording has besides its arguments. The host fills a struct image_event; here are the
 * names. */
#include "bpf/lower.h"
#include "builtin/all.h"

enum { OWNER_NAME = 128, FOLLOWS = 1 << 16 /* in .data: the host has to follow objects */ };

static bool check_record(struct checker *checker, const struct node *node, const char *name)
{
    if (checker->unit->context->has_record)
        return true;
    check_error(checker, node->place, "%s is not available with %s", name, checker->unit->probe);
    check_hint(checker, "it belongs to events of recordings: trace:GROUP:TRACEPOINT");
    return false;
}

static const struct type *check_word(struct checker *checker, struct node *node)
{
    return check_record(checker, node, node->name.builtin->name) ? &type_u64 : NULL;
}

static struct ir *lower_word(struct lowering *l, struct node *node, struct memory *into)
{
    int64_t data = node->name.builtin->data;
    (void)into;
    size_t offset = (size_t)(data & ~FOLLOWS);
    l->image->follows_objects |= (data & FOLLOWS) != 0;
    l->image->reads_lifetime |= offset == offsetof(struct image_event, lifetime);
    l->image->reads_since |= offset == offsetof(struct image_event, since);
    return lower_event_word(l, offset);
}

static const struct type *check_owner_name(struct checker *checker, struct node *node)
{
    return check_record(checker, node, "owner_name") ? type_string(checker->arena, OWNER_NAME) : NULL;
}

static struct ir *lower_owner_name(struct lowering *l, struct node *node, struct memory *into)
{
    l->image->names_owners = true;
    if (into)
        lower_read_string(l, *into, OWNER_NAME, NULL,
                          lower_event_word(l, offsetof(struct image_event, owner_name)), SPACE_USER,
                          TEXT_PADDED, node->place);
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
    WORD(lifetime, FOLLOWS),
    WORD(since, FOLLOWS),
    WORD(related, FOLLOWS),
    {"owner_name", "owner_name", BUILTIN_BARE, .check = check_owner_name, .lower = lower_owner_name},
    {0},
};
