/* SPDX-License-Identifier: BSD-3-Clause */
/* See record.h. */
#include "print/record.h"

#include "print/json.h"
#include "base/terminal.h"

static void begin_record(struct text *out, const char *kind)
{
    text_add(out, "{\"type\": ");
    json_string(out, kind);
}

void record_begin(struct printer *printer, const char *kind)
{
    begin_record(printer->out, kind);
    if (!printer->time)
        return;
    text_add(printer->out, ", \"time_ns\": ");
    json_unsigned(printer->out, printer->time);
}

static void end_record(struct text *out)
{
    text_add(out, "}\n");
}

static void add_key(struct text *out, const char *key)
{
    text_add(out, ", \"");
    text_add(out, key);
    text_add(out, "\": ");
}

static void add_string(struct text *out, const char *key, const char *value)
{
    add_key(out, key);
    json_string(out, value ? value : "");
}

void record_text(struct printer *printer, const char *kind, const struct text *text)
{
    printer->out->failed |= text->failed;
    if (!printer->json) {
        text_append(printer->out, text_string(text), text->length);
        return;
    }
    record_begin(printer, kind);
    add_key(printer->out, "data");
    text_char(printer->out, '"');
    json_escape(printer->out, text_string(text), text->length);
    text_char(printer->out, '"');
    end_record(printer->out);
}

void record_foreign_name(const struct printer *printer, struct text *text, const char *name, size_t length)
{
    if (printer->is_terminal && !printer->json)
        terminal_escape(text, name, length, TERMINAL_NAME);
    else
        text_append(text, name, length);
}

void record_foreign_text(struct printer *printer, const char *kind, const struct text *text)
{
    if (printer->is_terminal && !printer->json && !text->failed)
        terminal_escape(printer->out, text_string(text), text->length, TERMINAL_LINES);
    else
        record_text(printer, kind, text);
}

void record_format(struct printer *printer, const char *kind, const struct format *format,
                   const struct format_argument *arguments, size_t count)
{
    if (!printer->json) {
        format_print(printer, format, arguments, count);
        return;
    }
    record_begin(printer, kind);
    add_key(printer->out, "data");
    text_char(printer->out, '"');
    size_t begin = printer->out->length;
    format_print(printer, format, arguments, count);
    json_escape_tail(printer->out, begin, &printer->scratch);
    text_char(printer->out, '"');
    end_record(printer->out);
}

void record_value(struct printer *printer, const struct type *type, const void *bytes, uint64_t divisor)
{
    if (printer->json) {
        record_begin(printer, "value");
        add_key(printer->out, "data");
    }
    print_value_divided(printer, type, bytes, divisor);
    if (printer->json)
        end_record(printer->out);
    else
        text_char(printer->out, '\n');
}

static void record_count(struct text *out, const char *kind, const char *what, uint64_t count,
                         const char *probe, const char *reason)
{
    begin_record(out, kind);
    add_key(out, "count");
    json_unsigned(out, count);
    add_key(out, "data");
    text_char(out, '{');
    json_string(out, what);
    text_add(out, ": ");
    json_unsigned(out, count);
    if (probe)
        add_string(out, "probe", probe);
    if (reason)
        add_string(out, "reason", reason);
    text_char(out, '}');
    end_record(out);
}

void record_attached_probes(struct text *out, uint64_t count)
{
    record_count(out, "attached_probes", "probes", count, NULL, NULL);
}

void record_lost_events(struct text *out, uint64_t count, const char *probe, const char *reason)
{
    record_count(out, "lost_events", "events", count, probe, reason);
}

void record_problem(struct text *out, const struct record_problem *problem)
{
    begin_record(out, problem->kind);
    add_string(out, "msg", problem->message);
    if (problem->helper) {
        add_string(out, "helper", problem->helper);
        add_key(out, "retcode");
        json_signed(out, problem->return_code);
    }
    add_string(out, "filename", problem->file);
    add_key(out, "line");
    json_unsigned(out, problem->line);
    add_key(out, "col");
    json_unsigned(out, problem->column);
    if (problem->count > 1) {
        add_key(out, "count");
        json_unsigned(out, problem->count);
        add_string(out, "probe", problem->probe);
    }
    end_record(out);
}
