/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose first argument is a format and whose others are its values: printf and its kin. Their record
 * holds the values; call.data is the parsed format. */
#ifndef SPOOR_BUILTIN_FORMATTED_H
#define SPOOR_BUILTIN_FORMATTED_H

#include "bpf/lower/lower.h"
#include "builtin/event_handler.h"

enum { FORMATTED_ARGUMENTS = 64 };

/* The callbacks of such a builtin. */
const struct type *formatted_check(struct checker *checker, struct node *node);
struct ir *formatted_lower(struct lowering *l, struct node *node, struct destination *into);
/* What the text of a record is made for. */
enum formatted_for {
    FORMATTED_BYTES,   /* for a command or a path: the bytes as they are */
    FORMATTED_OUTPUT,  /* for the script's output: on a terminal nothing in it can control the terminal */
    FORMATTED_MESSAGE, /* for a message: escaped as for a terminal, wherever it goes */
};
void formatted_text(struct event_handler *handler, const struct action *action, const uint8_t *record,
                    enum formatted_for purpose, struct text *text);
/* Whether a text is a constant or a choice between constants, so that it comes from the script alone. */
bool formatted_is_own(const struct node *node);

#endif
