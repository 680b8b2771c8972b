/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/header.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/terminal.h"

static bool is_token(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("!#$%&'*+-.^_`|~", name[i]))
            return false;
    return length > 0;
}

static bool is_header(const char *header)
{
    const char *equals = strchr(header, '=');
    return equals && is_token(header, (size_t)(equals - header)) && !strpbrk(equals, "\r\n");
}

static int hand_out(const char *header, const struct header_receiver *receiver)
{
    const size_t name = strcspn(header, "=");
    const char *value = header + name + 1;
    struct text line = {0};
    text_printf(&line, *value ? "%.*s: %s" : "%.*s;%s", (int)name, header, value);
    const int error = line.failed ? -ENOMEM : receiver->add(receiver->context, line.bytes);
    text_free(&line);
    return error;
}

int headers_given(const char *const *headers, const struct header_receiver *receiver, struct text *why)
{
    int error = 0;
    for (; !error && headers && *headers; headers++) {
        if (!is_header(*headers)) {
            terminal_print(why, "'%s' is no header: NAME=VALUE, in one line", *headers);
            return -EINVAL;
        }
        error = hand_out(*headers, receiver);
    }
    return error;
}

static bool is_given(const char *header, const char *const *given)
{
    const size_t length = strcspn(header, "=");
    for (; given && *given; given++)
        if (strcspn(*given, "=") == length && !strncasecmp(*given, header, length))
            return true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Puts a member of the list into `header`, without blanks at its ends and around the first =, and with the bytes that %XX
 * stand for. Returns whether it could be read. */
static bool read_member(const char *member, size_t length, struct text *header)
{
    text_clear(header);
    bool is_value = false;
    for (size_t i = 0; i < length; i++) {
        char c = member[i];
        if (!is_value && c == '=') {
            while (header->length && is_blank(header->bytes[header->length - 1]))
                header->length--;
            is_value = true;
            while (i + 1 < length && is_blank(member[i + 1]))
                i++;
        } else if (is_value && c == '%') {
            const char *at = member + i + 1;
            uint64_t byte;
            if (length - i < 3 || !number_take(&at, at + 2, 16, &byte) || at != member + i + 3)
                return false;
            c = (char)byte;
            i += 2;
            if (!c)
                return false;
        }
        text_char(header, c);
    }
    return true;
}

int headers_listed(const char *variable, const char *list, const char *const *given,
                   const struct header_receiver *receiver, struct text *why)
{
    struct text header = {0};
    int error = 0;
    for (unsigned number = 1; !error && list && *list; number++) {
        size_t length = strcspn(list, ",");
        const char *member = list, *end = list + length;
        list = *end ? end + 1 : end;
        while (member < end && is_blank(*member))
            member++;
        while (end > member && is_blank(end[-1]))
            end--;
        if (member == end)
            continue;
        if (!read_member(member, (size_t)(end - member), &header) || !is_header(text_string(&header))) {
            text_printf(why,
                        "%s: member %u is no header: NAME=VALUE, separated by commas, other bytes as %%XX",
                        variable, number);
            error = -EINVAL;
        } else if (!is_given(text_string(&header), given)) {
            error = hand_out(text_string(&header), receiver);
        }
    }
    error = error ? error : header.failed ? -ENOMEM : 0;
    text_free(&header);
    return error;
}

int headers_of_environment(const char *const *given, const struct header_receiver *receiver, struct text *why)
{
    const char *own = secure_getenv(OWN_HEADERS_VARIABLE);
    return own ? headers_listed(OWN_HEADERS_VARIABLE, own, given, receiver, why)
               : headers_listed(HEADERS_VARIABLE, secure_getenv(HEADERS_VARIABLE), given, receiver, why);
}
