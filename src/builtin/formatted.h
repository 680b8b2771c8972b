/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose first argument is a format and whose others are its values: printf and its kin. Their record
 * holds the values; call.data is the parsed format. */
#ifndef SPOOR_BUILTIN_FORMATTED_H
#define SPOOR_BUILTIN_FORMATTED_H

#include "bpf/lower.h"
#include "builtin/actor.h"

enum { FORMATTED_ARGUMENTS = 64 };

/* The callbacks of such a builtin. */
const struct type *formatted_check(struct checker *checker, struct node *node);
struct ir *formatted_lower(struct lowering *l, struct node *node, struct memory *into);
/* The text that a record of it says. */
void formatted_text(struct actor *actor, const struct action *action, const uint8_t *record,
                    struct text *text);

#endif
