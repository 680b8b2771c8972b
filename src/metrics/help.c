/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/help.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct line {
    const char *at;
    size_t length;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Returns the line that contains an offset, without the blanks around it. */
static struct line line_at(const char *script, size_t length, size_t offset)
{
    size_t begin = offset, end = offset;
    while (begin && script[begin - 1] != '\n')
        begin--;
    while (end < length && script[end] != '\n')
        end++;
    while (begin < end && is_blank(script[begin]))
        begin++;
    while (begin < end && is_blank(script[end - 1]))
        end--;
    return (struct line){script + begin, end - begin};
}

static bool begins_with(struct line line, const char *word)
{
    const size_t length = strlen(word);
    return line.length >= length && !memcmp(line.at, word, length);
}

/* Takes the signs of a comment from both ends of a line. */
static struct line bare(struct line line)
{
    while (line.length && (strchr("/*", line.at[0]) || is_blank(line.at[0])) && line.at[0])
        line = (struct line){line.at + 1, line.length - 1};
    while (line.length >= 2 && !memcmp(line.at + line.length - 2, "*/", 2))
        line.length -= 2;
    while (line.length && (is_blank(line.at[line.length - 1]) || line.at[line.length - 1] == '*'))
        line.length--;
    return line;
}

static bool ends_comment(struct line line)
{
    return line.length >= 2 && !memcmp(line.at + line.length - 2, "*/", 2);
}

/* Returns the offset at which the line before the one at `offset` ends, which is also one within it; SIZE_MAX: there is
 * none. */
static size_t line_before(const char *script, size_t offset)
{
    while (offset && script[offset - 1] != '\n')
        offset--;
    return offset ? offset - 1 : SIZE_MAX;
}

/* Returns an offset within the first line of the comment that ends in the line at `last`; SIZE_MAX: no comment does. */
static size_t comment_begin(const char *script, size_t length, size_t last)
{
    const struct line line = line_at(script, length, last);
    size_t begin = SIZE_MAX;
    if (begins_with(line, "//")) {
        for (size_t at = last; at != SIZE_MAX && begins_with(line_at(script, length, at), "//");
             at = line_before(script, at))
            begin = at;
        return begin;
    }
    for (size_t at = last; ends_comment(line) && at != SIZE_MAX; at = line_before(script, at)) {
        if (begins_with(line_at(script, length, at), "/*"))
            return at;
        if (at != last && ends_comment(line_at(script, length, at)))
            break;
    }
    return SIZE_MAX;
}

static void add_lines(struct text *out, const char *script, size_t length, size_t first, size_t last)
{
    for (size_t at = first; at <= last;) {
        const struct line line = bare(line_at(script, length, at));
        if (line.length && out->length)
            text_char(out, ' ');
        text_append(out, line.at, line.length);
        const char *next = memchr(script + at, '\n', length - at);
        if (!next)
            return;
        at = (size_t)(next - script) + 1;
    }
}

/* Appends the comment behind the code of a line. */
static void add_behind(struct text *out, struct line line)
{
    char quote = 0;
    for (size_t i = 0; i + 1 < line.length; i++) {
        if (quote && line.at[i] == '\\')
            i++;
        else if (line.at[i] == '"')
            quote = quote ? 0 : '"';
        else if (!quote && line.at[i] == '/' && (line.at[i + 1] == '/' || line.at[i + 1] == '*')) {
            struct line comment = {line.at + i, line.length - i};
            if (line.at[i + 1] == '/' || ends_comment(comment)) {
                comment = bare(comment);
                text_append(out, comment.at, comment.length);
            }
            return;
        }
    }
}

void metric_help(struct text *out, const char *script, size_t length, size_t offset)
{
    struct text found = {0};
    const size_t above = line_before(script, offset);
    const size_t first = above == SIZE_MAX ? SIZE_MAX : comment_begin(script, length, above);
    if (first != SIZE_MAX)
        add_lines(&found, script, length, first, above);
    if (!found.length)
        add_behind(&found, line_at(script, length, offset));
    text_append(out, text_string(&found), found.length);
    out->failed |= found.failed;
    text_free(&found);
}
