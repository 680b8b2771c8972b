/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "history/history.h"

enum {
    PART_BYTES = 1 << 20,
    LINE_BYTES = 16, /* what a line takes besides its text */
};

static void free_part(struct history_part *part)
{
    free(part->times.values);
    free(part->kinds.values);
    free(part->lengths.values);
    text_free(&part->bytes);
}

static size_t part_size(const struct history_part *part)
{
    return part->bytes.length + LINE_BYTES * part->times.count;
}

/* Returns the part that has room for a line; NULL: there is no memory. */
static struct history_part *open_part(struct history_lines *lines)
{
    if (lines->count && part_size(&lines->parts[lines->count - 1]) < PART_BYTES)
        return &lines->parts[lines->count - 1];
    if (lines->bytes >= HISTORY_LINES_MAX) {
        lines->left += lines->parts[0].times.count;
        lines->bytes -= part_size(&lines->parts[0]);
        free_part(&lines->parts[0]);
        memmove(lines->parts, lines->parts + 1, --lines->count * sizeof *lines->parts);
    }
    if (!vector_make_room(lines->parts, lines->count, lines->room))
        return NULL;
    lines->parts[lines->count] = (struct history_part){0};
    return &lines->parts[lines->count++];
}

static void add_line(struct history *history, enum history_line kind, uint64_t time, const char *bytes,
                     size_t length)
{
    struct history_lines *lines = &history->lines;
    struct history_part *part = open_part(lines);
    bool is_kept = part && text_reserve(&part->bytes, length);
    is_kept = is_kept && numbers_add(&part->times, time);
    if (is_kept && !numbers_add(&part->kinds, kind)) {
        part->times.count--;
        is_kept = false;
    }
    if (is_kept && !numbers_add(&part->lengths, length)) {
        part->times.count--;
        part->kinds.count--;
        is_kept = false;
    }
    if (is_kept) {
        text_append(&part->bytes, bytes, length);
        lines->bytes += length + LINE_BYTES;
    } else {
        history->failed = true;
        lines->left++;
    }
}

static void add_printed(void *history, uint64_t time, const char *line, size_t length)
{
    add_line(history, HISTORY_PRINTED, time, line, length);
}

void history_lines_begin(struct history *history)
{
    history->lines.splitter = (struct line_splitter){.visit = add_printed, .state = history};
}

void history_end_line(struct history *history)
{
    struct line_splitter *splitter = &history->lines.splitter;
    lines_end(splitter);
    history->failed |= splitter->failed;
}

void history_add_text(struct history *history, uint64_t time, const char *bytes, size_t length)
{
    struct line_splitter *splitter = &history->lines.splitter;
    lines_add(splitter, time, bytes, length);
    history->failed |= splitter->failed;
}

void history_add_message(struct history *history, uint64_t time, const char *text)
{
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        length--;
    add_line(history, HISTORY_MESSAGE, time, text, length);
}

void history_lines_free(struct history_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free_part(&lines->parts[i]);
    free(lines->parts);
    lines_free(&lines->splitter);
}
