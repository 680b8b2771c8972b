/* SPDX-License-Identifier: BSD-3-Clause */
/* Types on their way from a service that reads debug information (sym/apart.h). There each type that is sent gets a
 * number; the fields of a struct are sent when they are needed. The types are made anew from the messages, and
 * nothing is accepted that cannot be a type: sizes fit, fields are inside of their struct. */
#ifndef SPOOR_SYM_TYPE_WIRE_H
#define SPOOR_SYM_TYPE_WIRE_H

#include "base/table.h"
#include "base/wire.h"
#include "type/type.h"

/* ---- in the service ---- */

struct type_writer {
    struct table numbers; /* by the type's address */
    const struct type **items;
    size_t count, room;
};

/* Sends a type. NULL arrives as NULL. */
void type_put(struct type_writer *writer, struct text *out, const struct type *type);
/* Sends the fields of the type with a number. Returns 0 or -errno. */
int type_put_fields(struct type_writer *writer, struct text *out, uint64_t number);
void type_writer_free(struct type_writer *writer);

/* ---- in the process that asks ---- */

struct type_hearer {
    struct arena *arena; /* must live as long as the types */
    struct type **items; /* by number */
    size_t count, room;
    unsigned depth;
    /* Asks for the fields of a type; the answer is given to type_take_fields(). NULL: the service has ended. */
    void (*ask)(void *state, uint64_t number, struct type *type);
    void *state;
};

/* Receives a type. NULL: NULL was sent, or the message is bad. */
const struct type *type_take(struct type_hearer *hearer, struct cursor *in);
void type_take_fields(struct type_hearer *hearer, struct cursor *in, struct type *type);
/* To be called when the service ends: structs whose fields have not been asked for stay without them. */
void type_hearer_end(struct type_hearer *hearer);

#endif
