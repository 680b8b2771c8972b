/* SPDX-License-Identifier: BSD-3-Clause */
/* A message is a head of lines, an empty line, and a body of JSON of as many bytes as the head says. Whoever gets the
 * head wrong cannot be understood any more, because nothing tells where the next message begins. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/number.h"
#include "base/whole.h"
#include "cmd/lsp.h"
#include "print/json.h"

enum { HEAD_MAX = 4096, MESSAGE_MAX = 16 << 20, READ_BYTES = 1 << 16 };

ssize_t lsp_read(struct lsp_input *input)
{
    enum { KEPT_BYTES = 1 << 20 };
    const size_t left = input->bytes.length - input->used;
    if (left)
        memmove(input->bytes.bytes, input->bytes.bytes + input->used, left);
    text_truncate(&input->bytes, left);
    input->used = 0;
    if (!left && input->bytes.room > KEPT_BYTES) {
        text_free(&input->bytes);
        input->bytes = (struct text){0};
    }
    if (!text_reserve(&input->bytes, READ_BYTES))
        return -ENOMEM;
    const ssize_t got = read(STDIN_FILENO, input->bytes.bytes + input->bytes.length, READ_BYTES);
    if (got < 0)
        return -errno;
    input->bytes.length += (size_t)got;
    input->bytes.bytes[input->bytes.length] = 0;
    return got;
}

/* Passes over what is left of a message that is too long. */
static void skip(struct lsp_input *input)
{
    const size_t left = input->bytes.length - input->used;
    const size_t skipped = input->skips < left ? (size_t)input->skips : left;
    input->used += skipped;
    input->skips -= skipped;
}

/* Reads a line of the head, whose name and value are parted by a colon. False: it is none, or its length is no number. */
static bool read_line(const char *line, const char *end, uint64_t *length)
{
    static const char wanted[] = "Content-Length";
    const char *colon = memchr(line, ':', (size_t)(end - line));
    if (!colon || colon == line)
        return false;
    if ((size_t)(colon - line) != sizeof wanted - 1 || strncasecmp(line, wanted, sizeof wanted - 1) != 0)
        return true; /* Content-Type */
    for (colon++; colon < end && (*colon == ' ' || *colon == '\t');)
        colon++;
    while (end > colon && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return number_take(&colon, end, 10, length) && colon == end;
}

/* Reads the head at `text`. Returns its bytes; 0: it has no end yet; -EPROTO. */
static ssize_t read_head(const char *text, size_t left, uint64_t *length)
{
    const char *line = text, *end = text + (left < HEAD_MAX ? left : HEAD_MAX);
    *length = UINT64_MAX;
    for (;;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline)
            return end - text == HEAD_MAX ? -EPROTO : 0;
        const char *stop = newline > line && newline[-1] == '\r' ? newline - 1 : newline;
        if (stop == line)
            return *length == UINT64_MAX ? -EPROTO : newline + 1 - text;
        if (!read_line(line, stop, length))
            return -EPROTO;
        line = newline + 1;
    }
}

int lsp_next(struct lsp_input *input, struct json_value *message)
{
    uint64_t length;
    skip(input);
    const char *text = text_string(&input->bytes) + input->used;
    const size_t left = input->bytes.length - input->used;
    const ssize_t head = read_head(text, left, &length);
    if (head <= 0)
        return (int)head;
    if (length > MESSAGE_MAX) {
        input->used += (size_t)head;
        input->skips = length;
        skip(input);
        return -EFBIG;
    }
    if (left - (size_t)head < length)
        return 0;
    *message = (struct json_value){text + head, (size_t)length};
    input->used += (size_t)head + (size_t)length;
    return 1;
}

static bool send_message(struct text *body)
{
    struct text whole = {0};
    text_printf(&whole, "Content-Length: %zu\r\n\r\n", body->length);
    text_append(&whole, text_string(body), body->length);
    const bool is_sent =
        !body->failed && !whole.failed && !whole_write(STDOUT_FILENO, whole.bytes, whole.length, -1);
    text_free(&whole);
    text_free(body);
    return is_sent;
}

bool lsp_send_result(const char *id, const char *result)
{
    struct text body = {0};
    text_printf(&body, "{\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": ", id);
    text_add(&body, result);
    text_add(&body, "}");
    return send_message(&body);
}

bool lsp_send_error(const char *id, enum lsp_error code, const char *message)
{
    struct text body = {0};
    text_printf(&body, "{\"jsonrpc\": \"2.0\", \"id\": %s, \"error\": {\"code\": %d, \"message\": ",
                id ? id : "null", (int)code);
    json_string(&body, message);
    text_add(&body, "}}");
    return send_message(&body);
}

bool lsp_send_notification(const char *method, const char *params)
{
    struct text body = {0};
    text_printf(&body, "{\"jsonrpc\": \"2.0\", \"method\": \"%s\", \"params\": ", method);
    text_add(&body, params);
    text_add(&body, "}");
    return send_message(&body);
}
