/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/terminal.h"
#include "cmd/lsp.h"
#include "print/json.h"

/* Returns where the line at `at` ends, before its line break. */
static size_t line_end(const char *text, size_t length, size_t at)
{
    while (at < length && text[at] != '\n' && text[at] != '\r')
        at++;
    return at;
}

/* Returns where the next line begins; `at` is the end of a line. */
static size_t next_line(const char *text, size_t length, size_t at)
{
    return at + 1 + (text[at] == '\r' && at + 1 < length && text[at + 1] == '\n');
}

/* Returns the bytes of the character at `text`, and in *units how the protocol counts them. */
static size_t character(const char *text, size_t left, bool is_utf8, size_t *units)
{
    const size_t bytes = utf8_length(text, left);
    *units = is_utf8 ? (bytes ? bytes : 1) : bytes == 4 ? 2 : 1;
    return bytes ? bytes : 1;
}

size_t lsp_offset(const char *text, size_t length, struct lsp_position position, bool is_utf8)
{
    size_t at = 0, units;
    for (uint64_t line = 0; line < position.line; line++) {
        at = line_end(text, length, at);
        if (at == length)
            return length;
        at = next_line(text, length, at);
    }
    const size_t end = line_end(text, length, at);
    for (uint64_t passed = 0; at < end; passed += units) {
        const size_t bytes = character(text + at, end - at, is_utf8, &units);
        if (passed + units > position.character)
            break;
        at += bytes;
    }
    return at;
}

struct lsp_position lsp_position(const char *text, size_t length, size_t offset, bool is_utf8)
{
    struct lsp_position position = {0};
    size_t at = 0, units;
    for (;;) {
        const size_t end = line_end(text, length, at);
        if (end == length || next_line(text, length, end) > offset)
            break;
        at = next_line(text, length, end);
        position.line++;
    }
    const size_t end = line_end(text, length, at);
    while (at < end) {
        at += character(text + at, end - at, is_utf8, &units);
        if (at > offset)
            break;
        position.character += units;
    }
    return position;
}

char *lsp_path(const char *uri)
{
    static const char scheme[] = "file://";
    if (strncmp(uri, scheme, sizeof scheme - 1) != 0)
        return strdup("stdin");
    uri += sizeof scheme - 1;
    uri += strcspn(uri, "/"); /* a host */
    char *path = strdup(uri), *out = path;
    for (const char *in = path; path && *in; in++) {
        uint64_t byte;
        const char *digits = in + 1;
        if (*in == '%' && in[1] && in[2] && number_take(&digits, in + 3, 16, &byte) && digits == in + 3) {
            *out++ = (char)byte;
            in += 2;
        } else {
            *out++ = *in;
        }
    }
    if (path)
        *out = 0;
    return path;
}

void lsp_uri(struct text *out, const char *path)
{
    text_add(out, "file://");
    for (; *path; path++) {
        const bool is_plain = digit_value(*path) != NO_DIGIT || strchr("/-._~", *path);
        text_printf(out, is_plain ? "%c" : "%%%02X", (unsigned char)*path);
    }
}
