/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose first argument is a format and whose others are its values: printf and its kin. Their record
 * holds the values; call.data is the parsed format. */
#ifndef SPOOR_BUILTIN_FORMATTED_H
#define SPOOR_BUILTIN_FORMATTED_H

#include "bpf/lower.h"
#include "builtin/event_handler.h"

enum { FORMATTED_ARGUMENTS = 64 };

/* The callbacks of such a builtin. */
const struct type *formatted_check(struct checker *checker, struct node *node);
struct ir *formatted_lower(struct lowering *l, struct node *node, struct memory *into);
/* The text that a record of it says. */
enum formatted_for {
    FORMATTED_BYTES,   /* a command, a path: as it is */
    FORMATTED_OUTPUT,  /* what the output takes: on a terminal it cannot command it */
    FORMATTED_MESSAGE, /* the same, wherever it goes */
};
void formatted_text(struct event_handler *handler, const struct action *action, const uint8_t *record,
                    enum formatted_for purpose, struct text *text);
/* Constants, or a choice between them: nobody else had a part in it. */
bool formatted_is_own(const struct node *node);

#endif
