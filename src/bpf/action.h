/* SPDX-License-Identifier: BSD-3-Clause */
/* The action table: what the reader does with each kind of event record. Made by lowering, one entry for
 * each asynchronous call of each program; the record's `action` is the index. */
#ifndef SPOOR_BPF_ACTION_H
#define SPOOR_BPF_ACTION_H

#include "bpf/image.h"
#include "lang/registry.h"

struct action_field {
    const struct type *type;
    uint32_t offset; /* in the record */
    bool is_packed;  /* a string: struct image_string at offset, its text behind the fixed part */
    int fault,
        truncated; /* is_packed: the runtime errors that the reader sees and counts; -1: the program does */
    const uint8_t *constant; /* not in the record: what the script says it is, in storage form; or NULL */
};

struct action {
    const struct builtin *builtin;
    const struct node *call;
    struct action_field *fields;
    uint32_t field_count;
    uint32_t size;     /* of a record without packed strings */
    const char *probe; /* text of the probe, for messages */
};

struct action_table {
    struct action *items;
    size_t count, room;
};

/* What a field holds in a record of `length` bytes, in storage form; a packed string ends at its NUL or fills
 * its capacity. Zeros where the record is senseless. */
const uint8_t *action_field(const struct action *action, uint32_t field, const uint8_t *record,
                            size_t length);
/* Counts what its strings say that programs leave to the reader. */
void action_count_runtime_errors(const struct action *action, const uint8_t *record, size_t length,
                                 struct image_control *control);

#endif
