/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/answer.h"

#include <string.h>

#include "base/cursor.h"

enum { WIRE_NUMBER = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
enum { RESPONSE_PARTIAL = 1, PARTIAL_REJECTED = 1, PARTIAL_MESSAGE = 2, STATUS_MESSAGE = 2 };

struct field {
    uint64_t number;
    unsigned wire;
    uint64_t value;      /* of WIRE_NUMBER */
    struct cursor bytes; /* of WIRE_BYTES */
};

/* Takes the next field of a message; false: there is none, or what follows is none. */
static bool take_field(struct cursor *cursor, struct field *field)
{
    if (cursor->is_bad || !cursor_left(cursor))
        return false;
    const uint64_t key = cursor_take_uleb(cursor);
    *field = (struct field){.number = key >> 3, .wire = key & 7};
    switch (field->wire) {
    case WIRE_NUMBER: field->value = cursor_take_uleb(cursor); break;
    case WIRE_FIXED64: cursor_skip(cursor, 8); break;
    case WIRE_FIXED32: cursor_skip(cursor, 4); break;
    case WIRE_BYTES: field->bytes = cursor_take_part(cursor, cursor_take_uleb(cursor)); break;
    default: cursor->is_bad = true;
    }
    return !cursor->is_bad;
}

static void take_text(struct answer *answer, const struct field *field)
{
    size_t length = cursor_left(&field->bytes);
    length = length < sizeof answer->text ? length : sizeof answer->text - 1;
    if (length)
        memcpy(answer->text, field->bytes.at, length);
    answer->text[length] = 0;
}

static bool read_partial(struct cursor cursor, struct answer *answer)
{
    struct field field;
    while (take_field(&cursor, &field))
        if (field.number == PARTIAL_REJECTED && field.wire == WIRE_NUMBER)
            answer->rejected = (int64_t)field.value > 0 ? field.value : 0;
        else if (field.number == PARTIAL_MESSAGE && field.wire == WIRE_BYTES)
            take_text(answer, &field);
    return !cursor.is_bad;
}

bool answer_read(const void *body, size_t size, bool is_success, struct answer *answer)
{
    struct cursor cursor = cursor_over(body, size);
    struct answer read = {0};
    struct field field;
    bool is_right = true;
    while (is_right && take_field(&cursor, &field)) {
        if (field.wire != WIRE_BYTES)
            continue;
        if (is_success && field.number == RESPONSE_PARTIAL)
            is_right = read_partial(field.bytes, &read);
        else if (!is_success && field.number == STATUS_MESSAGE)
            take_text(&read, &field);
    }
    is_right = is_right && !cursor.is_bad;
    *answer = is_right ? read : (struct answer){0};
    return is_right;
}

bool answer_is_temporary(long status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

bool answer_is_refusal(long status)
{
    return status == 404 || status == 405 || status == 501;
}
