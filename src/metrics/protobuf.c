/* SPDX-License-Identifier: BSD-3-Clause */
/* Protocol buffers: messages io.prometheus.client.MetricFamily, each behind its length. */
#include <math.h>
#include <string.h>

#include "base/proto.h"
#include "metrics/family.h"
#include "metrics/native.h"

/* The numbers of fields, message by message. */
enum { FAMILY_NAME = 1, FAMILY_HELP = 2, FAMILY_TYPE = 3, FAMILY_METRIC = 4, FAMILY_UNIT = 5 };
enum {
    METRIC_LABEL_FIELD = 1,
    METRIC_GAUGE_FIELD = 2,
    METRIC_COUNTER_FIELD = 3,
    METRIC_SUMMARY_FIELD = 4,
    METRIC_HISTOGRAM_FIELD = 7
};
enum { LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { VALUE = 1, COUNTER_CREATED = 3 };
enum { SUMMARY_COUNT = 1, SUMMARY_SUM = 2, SUMMARY_CREATED = 4 };
enum {
    HISTOGRAM_COUNT = 1,
    HISTOGRAM_SUM = 2,
    HISTOGRAM_BUCKET = 3,
    HISTOGRAM_SCHEMA = 5,
    HISTOGRAM_ZERO_THRESHOLD = 6,
    HISTOGRAM_ZERO_COUNT = 7,
    HISTOGRAM_NEGATIVE_SPAN = 9,
    HISTOGRAM_NEGATIVE_DELTA = 10,
    HISTOGRAM_POSITIVE_SPAN = 12,
    HISTOGRAM_POSITIVE_DELTA = 13,
    HISTOGRAM_CREATED = 15
};
enum { BUCKET_COUNT = 1, BUCKET_BOUND = 2 };
enum { SPAN_OFFSET = 1, SPAN_LENGTH = 2 };
enum { TIME_SECONDS = 1, TIME_NANOSECONDS = 2 };

static const struct {
    unsigned type, field;
} kinds[] = {
    [METRIC_COUNTER] = {0, METRIC_COUNTER_FIELD},
    [METRIC_GAUGE] = {1, METRIC_GAUGE_FIELD},
    [METRIC_SUMMARY] = {2, METRIC_SUMMARY_FIELD},
    [METRIC_HISTOGRAM] = {4, METRIC_HISTOGRAM_FIELD},
};

static void put_text(struct text *out, unsigned field, const char *text)
{
    proto_bytes(out, field, text, strlen(text));
}

static void put_created(struct text *out, unsigned field, double created)
{
    if (!(created > 0))
        return;
    const size_t opened = proto_open(out, field);
    proto_number(out, TIME_SECONDS, (uint64_t)created);
    proto_number(out, TIME_NANOSECONDS, (uint64_t)((created - (double)(uint64_t)created) * 1e9));
    proto_close(out, opened);
}

/* ---- native histograms ---- */

/* Writes the runs of buckets that follow each other: where each begins, counted from the end of the one before, and its
 * length. */
static void put_spans(struct text *out, unsigned field, struct native_walk walk)
{
    int32_t index, begin = 0, end = 0;
    uint64_t count;
    bool has_bucket = native_next(&walk, &index, &count);
    while (has_bucket) {
        const int32_t offset = index - end;
        begin = end = index;
        while (has_bucket && index == end) {
            end++;
            has_bucket = native_next(&walk, &index, &count);
        }
        const size_t opened = proto_open(out, field);
        proto_zigzag(out, SPAN_OFFSET, offset);
        proto_number(out, SPAN_LENGTH, (uint64_t)(end - begin));
        proto_close(out, opened);
    }
}

/* Writes by how much each bucket's count differs from the one before. */
static void put_deltas(struct text *out, unsigned field, struct native_walk walk)
{
    int32_t index;
    uint64_t count, before = 0;
    for (; native_next(&walk, &index, &count); before = count)
        proto_zigzag(out, field, (int64_t)(count - before));
}

static void put_native(struct text *out, const struct metric_family *family, const uint64_t *counts)
{
    const struct native_walk positive = {family, counts, false, 0}, negative = {family, counts, true, 0};
    proto_zigzag(out, HISTOGRAM_SCHEMA, family->schema);
    /* The smallest threshold that is usual. It is what makes a histogram without values a native one. */
    proto_double(out, HISTOGRAM_ZERO_THRESHOLD, 0x1p-128);
    proto_number(out, HISTOGRAM_ZERO_COUNT, native_zeros(family, counts));
    put_spans(out, HISTOGRAM_NEGATIVE_SPAN, negative);
    put_deltas(out, HISTOGRAM_NEGATIVE_DELTA, negative);
    put_spans(out, HISTOGRAM_POSITIVE_SPAN, positive);
    put_deltas(out, HISTOGRAM_POSITIVE_DELTA, positive);
}

/* ---- messages ---- */

static void put_bucket(struct text *out, uint64_t count, double bound)
{
    const size_t opened = proto_open(out, HISTOGRAM_BUCKET);
    proto_number(out, BUCKET_COUNT, count);
    proto_double(out, BUCKET_BOUND, bound);
    proto_close(out, opened);
}

static void put_histogram(struct text *out, const struct metric_family *family, const uint64_t *counts)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < family->row_count; i++)
        count += counts[i];
    proto_number(out, HISTOGRAM_COUNT, count);
    proto_double(out, HISTOGRAM_SUM, NAN); /* nobody knows it */
    count = 0;
    for (uint32_t i = 0; i < family->row_count; i++) {
        count += counts[i];
        if (i >= family->first && i <= family->last && !isinf(family->rows[i].high))
            put_bucket(out, count, family->rows[i].high);
    }
    put_native(out, family, counts);
}

static void put_value(struct text *out, const struct metric_family *family, const struct metric_point *point)
{
    const size_t opened = proto_open(out, kinds[family->kind].field);
    switch (family->kind) {
    case METRIC_COUNTER:
        proto_double(out, VALUE, point->value);
        put_created(out, COUNTER_CREATED, point->created);
        break;
    case METRIC_GAUGE: proto_double(out, VALUE, point->value); break;
    case METRIC_SUMMARY:
        proto_number(out, SUMMARY_COUNT, point->count);
        proto_double(out, SUMMARY_SUM, point->value);
        put_created(out, SUMMARY_CREATED, point->created);
        break;
    case METRIC_HISTOGRAM:
        put_histogram(out, family, point->counts);
        put_created(out, HISTOGRAM_CREATED, point->created);
        break;
    }
    proto_close(out, opened);
}

static void begin(struct metric_writer *writer)
{
    const struct metric_family *family = writer->family;
    struct text *out = writer->out;
    writer->opened = proto_begin(out);
    const size_t name = proto_open(out, FAMILY_NAME);
    text_add(out, family->name);
    if (family->kind == METRIC_COUNTER)
        text_add(out, "_total");
    proto_close(out, name);
    put_text(out, FAMILY_HELP, family->help);
    proto_number(out, FAMILY_TYPE, kinds[family->kind].type);
    if (family->unit)
        put_text(out, FAMILY_UNIT, family->unit);
}

static void write_point(struct metric_writer *writer, const struct metric_point *point)
{
    const struct metric_family *family = writer->family;
    struct text *out = writer->out;
    const size_t metric = proto_open(out, FAMILY_METRIC);
    const char *value = point->values;
    for (size_t i = 0; i < family->label_count; i++, value += strlen(value) + 1) {
        const size_t label = proto_open(out, METRIC_LABEL_FIELD);
        put_text(out, LABEL_NAME, family->labels[i]);
        put_text(out, LABEL_VALUE, value);
        proto_close(out, label);
    }
    put_value(out, family, point);
    proto_close(out, metric);
}

static void end(struct metric_writer *writer)
{
    proto_close(writer->out, writer->opened);
}

const struct metric_format metric_protobuf = {
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
    false,
    begin,
    write_point,
    end,
    NULL};
