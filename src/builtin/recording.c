/* SPDX-License-Identifier: BSD-3-Clause */
/* What an event of a recording has besides its arguments. The host fills a struct vm_context; here are the
 * names. */
#include "bpf/lower.h"
#include "builtin/all.h"
#include "vm/vm.h"

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
    if (data & FOLLOWS)
        l->image->follows_objects = true;
    return ir_load(&l->b, lower_ctx(l), (int32_t)(data & ~FOLLOWS), 8, false);
}

static const struct type *check_owner_name(struct checker *checker, struct node *node)
{
    return check_record(checker, node, "owner_name") ? type_string(checker->arena, OWNER_NAME) : NULL;
}

static struct ir *lower_owner_name(struct lowering *l, struct node *node, struct memory *into)
{
    if (into)
        lower_read_string(l, *into, OWNER_NAME, NULL,
                          ir_constant(&l->b, (int64_t)vm_text_address(VM_TEXT_OWNER)), SPACE_USER, true,
                          node->place);
    return NULL;
}

#define WORD(word, flags)                                                                                    \
    {                                                                                                        \
#word, #word, BUILTIN_BARE, .check = check_word, .lower = lower_word,                                \
                                    .data = (int64_t)offsetof(struct vm_context, word) | (flags)             \
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
