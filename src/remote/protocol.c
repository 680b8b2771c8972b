/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/wire.h"

void remote_put(struct text *out, enum remote_message message, const struct text *payload)
{
    const size_t size = payload ? payload->length : 0;
    const struct remote_head head = {message, (uint32_t)size};
    if (size > REMOTE_PAYLOAD_MAX || (payload && payload->failed)) {
        out->failed = true;
        return;
    }
    text_append(out, (const char *)&head, sizeof head);
    if (size)
        text_append(out, payload->bytes, size);
}

int remote_take(const struct text *bytes, size_t *at, enum remote_message *message, struct cursor *payload)
{
    struct remote_head head;
    const size_t left = bytes->length - *at;
    if (left < sizeof head)
        return 0;
    memcpy(&head, bytes->bytes + *at, sizeof head);
    if (head.message >= REMOTE_MESSAGES || head.size > REMOTE_PAYLOAD_MAX)
        return -EBADMSG;
    if (left - sizeof head < head.size)
        return 0;
    *message = (enum remote_message)head.message;
    *payload = cursor_over(bytes->bytes + *at + sizeof head, head.size);
    *at += sizeof head + head.size;
    return 1;
}

static void put_texts(struct text *out, const char *const *texts, size_t count)
{
    wire_put(out, count);
    for (size_t i = 0; i < count; i++)
        wire_put_text(out, texts[i]);
}

/* Returns NULL if the message is bad, or there is no memory. */
static const char *const *take_texts(struct cursor *payload, size_t *count)
{
    *count = wire_take_count(payload, sizeof(uint64_t));
    payload->is_bad |= *count > REMOTE_WORDS_MAX;
    const char **texts = payload->is_bad ? NULL : calloc(*count + 1, sizeof *texts);
    for (size_t i = 0; texts && i < *count; i++) {
        texts[i] = wire_take_text(payload);
        payload->is_bad |= !texts[i];
    }
    payload->is_bad |= !texts;
    return texts;
}

void remote_put_request(struct text *out, const struct remote_request *request)
{
    struct text payload = {0};
    wire_put(&payload, REMOTE_PROTOCOL);
    wire_put(&payload, request->is_terminal);
    put_texts(&payload, request->words, request->word_count);
    put_texts(&payload, request->names, request->name_count);
    remote_put(out, REMOTE_REQUEST, &payload);
    text_free(&payload);
}

bool remote_take_request(struct cursor *payload, struct remote_request *request)
{
    payload->is_bad |= wire_take(payload) != REMOTE_PROTOCOL;
    request->is_terminal = wire_take_within(payload, 1);
    request->words = take_texts(payload, &request->word_count);
    request->names = take_texts(payload, &request->name_count);
    return cursor_is_done(payload);
}

void remote_put_clocks(struct text *out)
{
    wire_put(out, clock_ns(CLOCK_BOOTTIME));
    wire_put(out, clock_ns(CLOCK_REALTIME));
}

struct remote_clocks remote_take_clocks(struct cursor *payload)
{
    struct remote_clocks clocks = {.boot = wire_take(payload)};
    clocks.real = wire_take(payload);
    return clocks;
}
