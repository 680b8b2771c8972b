/* SPDX-License-Identifier: BSD-3-Clause */
/* Families of metrics as a scraper of Prometheus reads them: written point by point, in one of the formats.
 *
 *     struct metric_writer writer = {.format = &metric_openmetrics, .out = &text};
 *     metric_begin(&writer, &family);
 *     metric_point(&writer, &point);
 *     metric_end(&writer);
 *     metric_finish(&writer);
 *
 * What goes wrong is in the text that is written to (text.failed). */
#ifndef SPOOR_METRICS_FAMILY_H
#define SPOOR_METRICS_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_SUMMARY, METRIC_HISTOGRAM };

/* The values that a row of a histogram counts: from low to high, both inclusive. Both may be infinite. */
struct metric_row {
    double low, high;
};

struct metric_family {
    const char *name; /* of a counter without the suffix _total */
    const char *help;
    const char *unit; /* the last word of the name; NULL: there is none */
    enum metric_kind kind;
    bool has_count; /* of a summary: it has a count beside the sum */
    const char *const *labels;
    size_t label_count;
    const struct metric_row *rows; /* of a histogram, in ascending order */
    uint32_t row_count;
    int schema; /* of a native histogram (native.h) */
    /* The rows that are written as buckets. first > last: there is only the bucket for all values. */
    uint32_t first, last;
};

struct metric_point {
    const char *values;     /* of the labels, in UTF-8, each with a NUL behind it */
    double created;         /* when counting began, in seconds since 1970; 0: unknown */
    double value;           /* of a counter or a gauge; of a summary the sum */
    uint64_t count;         /* of a summary */
    const uint64_t *counts; /* of a histogram: one for each row */
};

struct metric_writer {
    const struct metric_format *format;
    struct text *out;
    const struct metric_family *family; /* the one that is being written */
    size_t begun;                       /* where it begins in `out` */
    bool has_points;
    size_t opened; /* the message of the family; only of protocol buffers */
    void *state;   /* of a format of somebody else's */
};

struct metric_format {
    const char *content_type;
    bool is_openmetrics;
    void (*begin)(struct metric_writer *writer);
    void (*point)(struct metric_writer *writer, const struct metric_point *point);
    void (*end)(struct metric_writer *writer); /* of a family */
    void (*finish)(struct metric_writer *writer);
};

/* The text format of Prometheus, version 0.0.4; OpenMetrics 1.0; the protocol buffers of Prometheus, each message behind its
 * length, in which histograms are native ones beside the classic ones. */
extern const struct metric_format metric_text, metric_openmetrics, metric_protobuf;

/* A family without points is not written. */
void metric_begin(struct metric_writer *writer, const struct metric_family *family);
void metric_point(struct metric_writer *writer, const struct metric_point *point);
void metric_end(struct metric_writer *writer);
/* Writes what stands behind the last family. */
void metric_finish(struct metric_writer *writer);

/* Appends the value of a label and its NUL: what is no UTF-8, and a NUL, become U+FFFD, and so does what is behind the
 * most bytes that a value may have. */
enum { METRIC_VALUE_MAX = 1024 };
void metric_add_value(struct text *out, const char *bytes, size_t length);
/* Appends a name of letters, digits and underscores: every other character becomes an underscore. */
void metric_add_name(struct text *out, const char *name, size_t length);

#endif
