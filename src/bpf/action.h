/* SPDX-License-Identifier: BSD-3-Clause */
/* The action table says what user space does for an event. Lowering makes one entry for each call of a builtin that has
 * a handler; an event record holds the index of its entry in `action`. */
#ifndef SPOOR_BPF_ACTION_H
#define SPOOR_BPF_ACTION_H

#include "bpf/image.h"
#include "lang/registry.h"

struct action_field {
    const struct type *type;
    uint32_t offset; /* in the record */
    bool is_packed;  /* it is a string: struct image_string at `offset`, and its text behind the fixed part */
    /* For a packed string: indexes of the runtime errors that user space finds in it and counts; -1 if the program
     * counts them. */
    int fault, truncated;
    const uint8_t
        *constant; /* a constant of the script in storage form, which is not in the record; or NULL */
};

struct action {
    const struct builtin *builtin;
    const struct node *call;
    struct action_field *fields;
    uint32_t field_count;
    uint32_t size;     /* bytes of a record, without the texts of packed strings */
    const char *probe; /* the probe as the script writes it, for messages */
};

struct action_table {
    struct action *items;
    size_t count, room;
};

/* The value of a field in a record of `length` bytes, in storage form. A packed string ends with its NUL, or fills its
 * capacity. Where the record makes no sense the value is zeros. */
const uint8_t *action_field(const struct action *action, uint32_t field, const uint8_t *record,
                            size_t length);
/* Counts the runtime errors in the record's packed strings that programs leave to user space. */
void action_count_runtime_errors(const struct action *action, const uint8_t *record, size_t length,
                                 struct image_control *control);

#endif
