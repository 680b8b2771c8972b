/* SPDX-License-Identifier: BSD-3-Clause */
/* Types on their way from a process that reads debug information (sym/apart.h). There each type that is told gets
 * a number; a struct's fields are told when somebody looks inside. Here the types are made anew, and nothing is
 * taken that could not be a type: sizes fit, fields lie within their struct. */
#ifndef SPOOR_SYM_TYPE_WIRE_H
#define SPOOR_SYM_TYPE_WIRE_H

#include "base/table.h"
#include "base/wire.h"
#include "type/type.h"

/* ---- there ---- */

struct type_writer {
    struct table numbers; /* by the type's address */
    const struct type **items;
    size_t count, room;
};

/* NULL arrives as NULL. */
void type_put(struct type_writer *writer, struct text *out, const struct type *type);
/* Answers the question for the fields of the type with that number: 0 or -errno. */
int type_put_fields(struct type_writer *writer, struct text *out, uint64_t number);
void type_writer_free(struct type_writer *writer);

/* ---- here ---- */

struct type_hearer {
    struct arena *arena; /* must live as long as the types */
    struct type **items; /* by number */
    size_t count, room;
    unsigned depth;
    /* Asks for the fields of a type; the answer goes to type_take_fields. NULL: nobody can be asked any more. */
    void (*ask)(void *state, uint64_t number, struct type *type);
    void *state;
};

/* NULL: NULL was put, or the message is bad. */
const struct type *type_take(struct type_hearer *hearer, struct cursor *in);
void type_take_fields(struct type_hearer *hearer, struct cursor *in, struct type *type);
/* What has not been looked into by now stays closed. */
void type_hearer_end(struct type_hearer *hearer);

#endif
