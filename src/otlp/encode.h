/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of OTLP in both of its encodings: protocol buffers, and JSON as the specification has it (ids in hexadecimal,
 * numbers of 64 bits as strings). What a message contains is said once:
 *
 *     encode_list(&encoder, "attributes");
 *     encode_open(&encoder, ITEM(9));
 *     encode_string(&encoder, FIELD(1, "key"), "lba", 3);
 *     encode_close(&encoder);
 *     encode_list_end(&encoder);
 *
 * What goes wrong is in the text that is written to (text.failed). */
#ifndef SPOOR_OTLP_ENCODE_H
#define SPOOR_OTLP_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct encoded_field {
    unsigned number;
    const char *name; /* NULL: it is an item of a list */
};
#define FIELD(number, name) ((struct encoded_field){number, name})
#define ITEM(number) ((struct encoded_field){number, NULL})

enum { ENCODED_DEPTH_MAX = 12 };

struct encoder {
    struct text *out;
    bool is_json;
    unsigned depth;
    size_t opened[ENCODED_DEPTH_MAX]; /* messages that are being written */
};

/* Begins a message in another one, or in a list. In JSON the message that stands in no other is opened with ITEM(0). */
void encode_open(struct encoder *encoder, struct encoded_field field);
void encode_close(struct encoder *encoder);
/* Begins a list of messages; in protocol buffers it has no beginning. */
void encode_list(struct encoder *encoder, const char *name);
void encode_list_end(struct encoder *encoder);
/* Adds items that another encoder wrote, with its own text, to a list. */
void encode_items(struct encoder *encoder, const struct text *items);

void encode_string(struct encoder *encoder, struct encoded_field field, const char *bytes, size_t length);
void encode_text(struct encoder *encoder, struct encoded_field field, const char *string);
void encode_id(struct encoder *encoder, struct encoded_field field, const void *id, size_t length);
void encode_span(struct encoder *encoder, struct encoded_field field,
                 uint64_t id); /* its highest byte first */
void encode_small(struct encoder *encoder, struct encoded_field field, uint32_t value);       /* and enums */
void encode_signed_small(struct encoder *encoder, struct encoded_field field, int32_t value); /* sint32 */
void encode_integer(struct encoder *encoder, struct encoded_field field, int64_t value);
void encode_fixed(struct encoder *encoder, struct encoded_field field, uint64_t value); /* fixed64 */
void encode_real(struct encoder *encoder, struct encoded_field field, double value);
void encode_bool(struct encoder *encoder, struct encoded_field field, bool value);

/* Begins a list of numbers, whose items are of one type: uint64, fixed64 or double. */
void encode_numbers(struct encoder *encoder, struct encoded_field field);
void encode_number_item(struct encoder *encoder, uint64_t value);
void encode_fixed_item(struct encoder *encoder, uint64_t value);
void encode_real_item(struct encoder *encoder, double value);
void encode_numbers_end(struct encoder *encoder);

#endif
