/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/json_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/json_read.h"

enum {
    WINDOW_LINES = 4096,
    WINDOW_BYTES = 16 << 20,
    LINE_BYTES_MAX = 16 << 20,
    PART = 1 << 16,
};

struct item {
    uint64_t time;
    uint64_t number; /* of the line: of lines of one time the first comes first */
    bool has_time;
    size_t length; /* of the line, which follows this struct, and behind it the text that was printed */
    size_t text_length;
    bool is_text;
    char bytes[];
};

struct json_lines {
    int file;
    const volatile int *stop;
    char part[PART]; /* what was read from the file */
    size_t part_length, part_at;
    bool is_over;
    struct text line, said;            /* buffers for one line */
    struct item *window[WINDOW_LINES]; /* lines that wait to be put in order: a heap, the oldest first */
    struct item *handed_out;
    size_t count, bytes;
    uint64_t time, reached; /* time of the last line that was read, and of the newest that was handed out */
    struct json_lines_counts counts;
};

int json_lines_open(const char *path, const volatile int *stop, struct json_lines **result, struct text *why)
{
    *result = NULL;
    struct json_lines *lines = calloc(1, sizeof *lines);
    if (!lines)
        return -ENOMEM;
    lines->stop = stop;
    lines->file = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : STDIN_FILENO;
    if (lines->file < 0) {
        const int error = -errno;
        text_printf(why, "cannot open %s: %s", path, strerror(errno));
        free(lines);
        return error;
    }
    *result = lines;
    return 0;
}

/* Waits until there is something to read, or the end. Returns 0, or -errno. */
static int wait_for_input(const struct json_lines *lines)
{
    enum { LOOK_AGAIN_MS = 200 };
    for (;;) {
        if (lines->stop && *lines->stop)
            return -EINTR;
        const int ready = poll(&(struct pollfd){.fd = lines->file, .events = POLLIN}, 1, LOOK_AGAIN_MS);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
    }
}

/* Reads a line into lines->line. Returns 1; 0 if there are no more; else -errno. A line that is too long is cut,
 * and so is no JSON. */
static int read_line(struct json_lines *lines)
{
    text_clear(&lines->line);
    for (bool any = false;; any = true) {
        if (lines->part_at == lines->part_length) {
            const int error = wait_for_input(lines);
            if (error)
                return error;
            const ssize_t got = read(lines->file, lines->part, sizeof lines->part);
            if (got < 0 && (errno == EINTR || errno == EAGAIN))
                continue;
            if (got < 0)
                return -errno;
            if (got == 0)
                return any && lines->line.length;
            lines->part_length = (size_t)got;
            lines->part_at = 0;
        }
        const char *begin = lines->part + lines->part_at;
        const size_t left = lines->part_length - lines->part_at;
        const char *end = memchr(begin, '\n', left);
        const size_t length = end ? (size_t)(end - begin) : left;
        const size_t room = LINE_BYTES_MAX - lines->line.length;
        text_append(&lines->line, begin, length < room ? length : room);
        lines->part_at += length + (end != NULL);
        if (lines->line.failed)
            return -ENOMEM;
        if (end)
            return 1;
    }
}

static bool is_printed(const struct json_value *kind)
{
    static const char *const kinds[] = {"\"printf\"", "\"time\"", "\"cat\"", "\"join\"", "\"syscall\""};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kind->bytes && strlen(kinds[i]) == kind->length && !memcmp(kinds[i], kind->bytes, kind->length))
            return true;
    return false;
}

static bool is_before(const struct item *x, const struct item *y)
{
    return x->time != y->time ? x->time < y->time : x->number < y->number;
}

static void join_window(struct json_lines *lines, struct item *item)
{
    size_t place = lines->count++;
    for (; place && is_before(item, lines->window[(place - 1) / 2]); place = (place - 1) / 2)
        lines->window[place] = lines->window[(place - 1) / 2];
    lines->window[place] = item;
    lines->bytes += item->length;
}

/* Takes the oldest line out of the window, which is not empty. */
static struct item *leave_window(struct json_lines *lines)
{
    struct item *oldest = lines->window[0], *last = lines->window[--lines->count];
    size_t place = 0;
    for (size_t below = 1; below < lines->count; below = 2 * place + 1) {
        below += below + 1 < lines->count && is_before(lines->window[below + 1], lines->window[below]);
        if (!is_before(lines->window[below], last))
            break;
        lines->window[place] = lines->window[below];
        place = below;
    }
    lines->window[place] = last;
    lines->bytes -= oldest->length;
    return oldest;
}

static int add_line(struct json_lines *lines)
{
    const struct text *line = &lines->line;
    struct json_wanted wanted[] = {{.name = "type"}, {.name = "time_ns"}, {.name = "data"}};
    if (line->length == 0)
        return 0;
    if (!json_read_object(line->bytes, line->length, wanted, sizeof wanted / sizeof wanted[0])) {
        lines->counts.refused++;
        return 0;
    }
    uint64_t time;
    const bool has_time = json_read_unsigned(&wanted[1].value, &time);
    text_clear(&lines->said);
    const bool is_text = is_printed(&wanted[0].value) && json_read_string(&wanted[2].value, &lines->said);
    struct item *item = malloc(sizeof *item + line->length + lines->said.length + 1);
    if (!item || lines->said.failed) {
        free(item);
        return -ENOMEM;
    }
    *item = (struct item){
        .time = has_time ? time : lines->time,
        .number = lines->counts.lines,
        .has_time = has_time,
        .length = line->length,
        .text_length = lines->said.length,
        .is_text = is_text,
    };
    memcpy(item->bytes, line->bytes, line->length);
    memcpy(item->bytes + line->length, text_string(&lines->said), lines->said.length + 1);
    lines->time = item->time;
    lines->counts.lines++;
    lines->counts.timed += has_time;
    join_window(lines, item);
    return 0;
}

int json_lines_next(struct json_lines *lines, uint64_t before, struct json_line *line)
{
    free(lines->handed_out);
    lines->handed_out = NULL;
    while (!lines->is_over && lines->count < WINDOW_LINES && lines->bytes < WINDOW_BYTES) {
        const int got = read_line(lines);
        const int error = got == 1 ? add_line(lines) : got;
        if (error < 0)
            return error;
        lines->is_over = got == 0;
    }
    if (!lines->count || (lines->window[0]->time >= before && before != UINT64_MAX))
        return 0;
    struct item *item = leave_window(lines);
    lines->handed_out = item;
    lines->counts.late += item->time < lines->reached;
    lines->reached = item->time > lines->reached ? item->time : lines->reached;
    *line = (struct json_line){
        .time = item->time,
        .has_time = item->has_time,
        .json = item->bytes,
        .length = item->length,
        .text = item->is_text ? item->bytes + item->length : NULL,
        .text_length = item->text_length,
    };
    return 1;
}

struct json_lines_counts json_lines_counts(const struct json_lines *lines)
{
    return lines->counts;
}

void json_lines_close(struct json_lines *lines)
{
    if (!lines)
        return;
    for (size_t i = 0; i < lines->count; i++)
        free(lines->window[i]);
    free(lines->handed_out);
    text_free(&lines->line);
    text_free(&lines->said);
    if (lines->file != STDIN_FILENO)
        close(lines->file);
    free(lines);
}
