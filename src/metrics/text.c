/* SPDX-License-Identifier: BSD-3-Clause */
/* Both text formats: a line for each number. They differ in few things: OpenMetrics names a family of counters without
 * _total, has lines for units and for the time at which counting began, and ends with a line of its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/family.h"
#include "print/json.h"

/* ---- what all formats share ---- */

void metric_begin(struct metric_writer *writer, const struct metric_family *family)
{
    writer->family = family;
    writer->begun = writer->out->length;
    writer->has_points = false;
    writer->format->begin(writer);
}

void metric_point(struct metric_writer *writer, const struct metric_point *point)
{
    writer->has_points = true;
    writer->format->point(writer, point);
}

void metric_end(struct metric_writer *writer)
{
    if (!writer->has_points)
        text_truncate(writer->out, writer->begun);
    else if (writer->format->end)
        writer->format->end(writer);
}

void metric_finish(struct metric_writer *writer)
{
    if (writer->format->finish)
        writer->format->finish(writer);
}

void metric_add_value(struct text *out, const char *bytes, size_t length)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const size_t most = length < METRIC_VALUE_MAX ? length : METRIC_VALUE_MAX;
    size_t at = 0;
    while (at < most) {
        const size_t step = bytes[at] ? utf8_length(bytes + at, length - at) : 0;
        if (at + step > most)
            break;
        text_append(out, step ? bytes + at : replacement, step ? step : sizeof replacement - 1);
        at += step ? step : 1;
    }
    if (at < length)
        text_add(out, replacement);
    text_char(out, 0);
}

void metric_add_name(struct text *out, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char c = name[i];
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        text_char(out, is_plain ? c : '_');
    }
}

/* ---- words ---- */

/* Writes a number in the shortest way that reads as the same number. is_real: also a whole one has a point. */
static void write_number(struct text *out, double number, bool is_real)
{
    enum { DIGITS_MAX = 17, DIGITS_USUAL = 15 };
    char digits[40];
    if (isnan(number) || isinf(number)) {
        text_add(out, isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (fabs(number) < 0x1p63 && number == (double)(int64_t)number) {
        text_printf(out, is_real ? "%.0f.0" : "%.0f", number);
        return;
    }
    for (int precision = DIGITS_USUAL; precision <= DIGITS_MAX; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number)
            break;
    }
    text_add(out, digits);
}

/* In both formats a backslash and a line feed are escaped, and quotes within the values of labels; in OpenMetrics they are
 * in texts of help, too. */
static void write_escaped(struct text *out, const char *text, bool with_quotes)
{
    for (; *text; text++)
        if (*text == '\n')
            text_add(out, "\\n");
        else if (*text == '\\' || (with_quotes && *text == '"'))
            text_printf(out, "\\%c", *text);
        else
            text_char(out, *text);
}

/* ---- lines ---- */

static void begin(struct metric_writer *writer)
{
    static const char *const words[] = {[METRIC_COUNTER] = "counter",
                                        [METRIC_GAUGE] = "gauge",
                                        [METRIC_SUMMARY] = "summary",
                                        [METRIC_HISTOGRAM] = "histogram"};
    const struct metric_family *family = writer->family;
    const bool is_openmetrics = writer->format->is_openmetrics;
    const char *suffix = family->kind == METRIC_COUNTER && !is_openmetrics ? "_total" : "";
    text_printf(writer->out, "# HELP %s%s ", family->name, suffix);
    write_escaped(writer->out, family->help, is_openmetrics);
    text_printf(writer->out, "\n# TYPE %s%s %s\n", family->name, suffix, words[family->kind]);
    if (is_openmetrics && family->unit)
        text_printf(writer->out, "# UNIT %s %s\n", family->name, family->unit);
}

/* Writes the begin of a line up to its number. bound: of a bucket; NULL: the line is no bucket's. */
static void write_head(struct metric_writer *writer, const struct metric_point *point, const char *suffix,
                       const double *bound)
{
    const struct metric_family *family = writer->family;
    const char *value = point->values;
    struct text *out = writer->out;
    text_printf(out, "%s%s", family->name, suffix);
    for (size_t i = 0; i < family->label_count; i++, value += strlen(value) + 1) {
        text_printf(out, "%s%s=\"", i ? "," : "{", family->labels[i]);
        write_escaped(out, value, true);
        text_char(out, '"');
    }
    if (bound) {
        text_printf(out, "%sle=\"", family->label_count ? "," : "{");
        write_number(out, *bound, writer->format->is_openmetrics);
        text_char(out, '"');
    }
    text_add(out, bound || family->label_count ? "} " : " ");
}

static void write_line(struct metric_writer *writer, const struct metric_point *point, const char *suffix,
                       double number)
{
    write_head(writer, point, suffix, NULL);
    write_number(writer->out, number, false);
    text_char(writer->out, '\n');
}

static void write_buckets(struct metric_writer *writer, const struct metric_point *point)
{
    const struct metric_family *family = writer->family;
    uint64_t count = 0;
    for (uint32_t i = 0; i < family->row_count; i++) {
        count += point->counts[i];
        if (i < family->first || i > family->last || isinf(family->rows[i].high))
            continue;
        write_head(writer, point, "_bucket", &family->rows[i].high);
        text_printf(writer->out, "%llu\n", (unsigned long long)count);
    }
    write_head(writer, point, "_bucket", &(double){INFINITY});
    text_printf(writer->out, "%llu\n", (unsigned long long)count);
    write_line(writer, point, "_count", (double)count);
}

static void write_point(struct metric_writer *writer, const struct metric_point *point)
{
    const struct metric_family *family = writer->family;
    switch (family->kind) {
    case METRIC_COUNTER: write_line(writer, point, "_total", point->value); break;
    case METRIC_GAUGE: write_line(writer, point, "", point->value); return;
    case METRIC_SUMMARY:
        if (family->has_count)
            write_line(writer, point, "_count", (double)point->count);
        write_line(writer, point, "_sum", point->value);
        break;
    case METRIC_HISTOGRAM: write_buckets(writer, point); break;
    }
    if (writer->format->is_openmetrics && point->created > 0) {
        write_head(writer, point, "_created", NULL);
        text_printf(writer->out, "%.3f\n", point->created);
    }
}

static void write_eof(struct metric_writer *writer)
{
    text_add(writer->out, "# EOF\n");
}

const struct metric_format metric_text = {
    "text/plain; version=0.0.4; charset=utf-8", false, begin, write_point, NULL, NULL};
const struct metric_format metric_openmetrics = {
    "application/openmetrics-text; version=1.0.0; charset=utf-8", true, begin, write_point, NULL, write_eof};
