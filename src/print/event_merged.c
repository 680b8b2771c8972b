/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of another output between the events of a recording. They are few beside those. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "print/event.h"
#include "print/json.h"

/* The columns in front: a mark in place of the thread, the time in its usual width. */
static void put_front(const struct event_printer *printer, struct text *out, const struct json_line *line)
{
    enum { TIME_WIDTH = 10, STEP_WIDTH = 13 };
    text_fill(out, ' ', printer->number_width - 1);
    text_add(out, ">: ");
    if (!line->has_time) {
        text_fill(out, ' ', TIME_WIDTH + 1 + (printer->with_step ? STEP_WIDTH : 0));
        return;
    }
    const bool is_before = line->time < printer->origin;
    const uint64_t since = is_before ? printer->origin - line->time : line->time - printer->origin;
    char time[32];
    snprintf(time, sizeof time, "%s%" PRIu64 ".%03u", is_before ? "-" : "", since / 1000,
             (unsigned)(since % 1000));
    text_printf(out, "%*s ", TIME_WIDTH, time);
    if (printer->with_step) {
        const uint64_t step =
            printer->begun && line->time > printer->before ? line->time - printer->before : 0;
        text_printf(out, "(+%5" PRIu64 ".%03u) ", step / 1000, (unsigned)(step % 1000));
    }
}

/* Nothing that a script printed can steer a terminal either. */
static void put_text(struct text *out, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if ((c >= ' ' && c != 127) || c == '\t')
            text_char(out, (char)c);
        else
            text_printf(out, "\\x%02x", c);
    }
}

void event_print_line(struct event_printer *printer, struct text *out, const struct json_line *line)
{
    const char *at = line->text ? line->text : line->json;
    const char *end = at + (line->text ? line->text_length : line->length);
    do {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        put_front(printer, out, line);
        put_text(out, at, (size_t)(stop - at));
        text_char(out, '\n');
        at = newline ? newline + 1 : end;
    } while (at < end);
    if (line->has_time && printer->with_step) {
        printer->before = line->time;
        printer->begun = true;
    }
}

void event_json_line(struct text *out, const struct json_line *line, bool is_first)
{
    text_add(out, is_first ? "\n{" : ",\n{");
    if (line->has_time) {
        text_add(out, "\"time_ns\": ");
        json_unsigned(out, line->time);
        text_add(out, ", ");
    }
    text_add(out, "\"merged\": ");
    json_escape_again(out, line->json, line->length);
    text_char(out, '}');
}
