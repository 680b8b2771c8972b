/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/metrics.h"

#include <math.h>
#include <string.h>

#include "metrics/native.h"
#include "otlp/attribute.h"
#include "otlp/envelope.h"

/* Fields of the messages Metric, Gauge, Sum, Histogram, ExponentialHistogram and Summary, and of their points. */
#define NAME FIELD(1, "name")
#define DESCRIPTION FIELD(2, "description")
#define UNIT FIELD(3, "unit")
enum { DATA_POINTS = 1, CUMULATIVE = 2 };
#define TEMPORALITY FIELD(2, "aggregationTemporality")
#define MONOTONIC FIELD(3, "isMonotonic")
#define POINT_START FIELD(2, "startTimeUnixNano")
#define POINT_TIME FIELD(3, "timeUnixNano")
#define NUMBER_REAL FIELD(4, "asDouble")
#define POINT_COUNT FIELD(4, "count")
#define POINT_SUM FIELD(5, "sum")
#define BUCKET_COUNTS FIELD(6, "bucketCounts")
#define BOUNDS FIELD(7, "explicitBounds")
#define SCALE FIELD(6, "scale")
#define ZEROS FIELD(7, "zeroCount")
#define POSITIVE FIELD(8, "positive")
#define NEGATIVE FIELD(9, "negative")
#define OFFSET FIELD(1, "offset")
#define COUNTS FIELD(2, "bucketCounts")

enum data { DATA_GAUGE, DATA_SUM, DATA_HISTOGRAM, DATA_EXPONENTIAL, DATA_SUMMARY };
static const struct {
    struct encoded_field field;
    bool is_cumulative;
    unsigned attributes; /* the number of that field of a point */
} datas[] = {
    [DATA_GAUGE] = {{5, "gauge"}, false, 7},
    [DATA_SUM] = {{7, "sum"}, true, 7},
    [DATA_HISTOGRAM] = {{9, "histogram"}, true, 9},
    [DATA_EXPONENTIAL] = {{10, "exponentialHistogram"}, true, 1},
    [DATA_SUMMARY] = {{11, "summary"}, false, 7},
};

static bool is_bounded(const struct metric_row *row)
{
    return !isinf(row->low) && !isinf(row->high);
}

/* Whether all rows that have two bounds are equally wide, as those of lhist(). */
static bool is_linear(const struct metric_family *family)
{
    double width = -1;
    for (uint32_t i = 0; i < family->row_count; i++) {
        const struct metric_row *row = &family->rows[i];
        if (is_bounded(row) && width >= 0 && row->high - row->low != width)
            return false;
        if (is_bounded(row))
            width = row->high - row->low;
    }
    return true;
}

static enum data data_of(const struct metric_family *family)
{
    switch (family->kind) {
    case METRIC_COUNTER: return DATA_SUM;
    case METRIC_GAUGE: return DATA_GAUGE;
    case METRIC_SUMMARY: return family->has_count ? DATA_SUMMARY : DATA_SUM;
    case METRIC_HISTOGRAM: break;
    }
    return is_linear(family) ? DATA_HISTOGRAM : DATA_EXPONENTIAL;
}

/* ---- histograms ---- */

/* Writes the buckets that are between the bounds: those of rows that are written, and one for what is above. */
static void put_bounds(struct encoder *encoder, const struct metric_family *family, const uint64_t *counts)
{
    uint64_t count = 0;
    encode_numbers(encoder, BUCKET_COUNTS);
    for (uint32_t i = 0; i < family->row_count; i++) {
        count += counts[i];
        if (i < family->first || i > family->last || isinf(family->rows[i].high))
            continue;
        encode_fixed_item(encoder, count);
        count = 0;
    }
    encode_fixed_item(encoder, count);
    encode_numbers_end(encoder);
    encode_numbers(encoder, BOUNDS);
    for (uint32_t i = family->first; i <= family->last && i < family->row_count; i++)
        if (!isinf(family->rows[i].high))
            encode_real_item(encoder, family->rows[i].high);
    encode_numbers_end(encoder);
}

/* Writes all buckets from the first to the last that counted something. Those of OTLP have their lower bound's number,
 * those of the walk their upper one's. */
static void put_buckets(struct encoder *encoder, struct encoded_field field, struct native_walk walk)
{
    int32_t index, next = 0;
    uint64_t count;
    bool has_bucket = native_next(&walk, &index, &count);
    if (!has_bucket)
        return;
    encode_open(encoder, field);
    encode_signed_small(encoder, OFFSET, index - 1);
    encode_numbers(encoder, COUNTS);
    for (next = index; has_bucket; has_bucket = native_next(&walk, &index, &count)) {
        for (; next < index; next++)
            encode_number_item(encoder, 0);
        encode_number_item(encoder, count);
        next++;
    }
    encode_numbers_end(encoder);
    encode_close(encoder);
}

static void put_histogram(struct encoder *encoder, const struct metric_family *family, const uint64_t *counts)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < family->row_count; i++)
        count += counts[i];
    encode_fixed(encoder, POINT_COUNT, count); /* nobody knows the sum */
    if (data_of(family) == DATA_HISTOGRAM) {
        put_bounds(encoder, family, counts);
        return;
    }
    encode_signed_small(encoder, SCALE, family->schema);
    encode_fixed(encoder, ZEROS, native_zeros(family, counts));
    put_buckets(encoder, POSITIVE, (struct native_walk){family, counts, false, 0});
    put_buckets(encoder, NEGATIVE, (struct native_walk){family, counts, true, 0});
}

/* ---- the format ---- */

/* Returns the unit as UCUM writes it. */
static const char *unit_code(const char *unit)
{
    return !strcmp(unit, "bytes") ? "By" : !strcmp(unit, "seconds") ? "s" : unit;
}

static void begin(struct metric_writer *writer)
{
    const struct metric_family *family = writer->family;
    struct encoder *encoder = &((struct metric_encoder *)writer->state)->encoder;
    encode_open(encoder, ITEM(ENVELOPE_ITEMS));
    encode_text(encoder, NAME, family->name);
    encode_text(encoder, DESCRIPTION, family->help);
    if (family->unit)
        encode_text(encoder, UNIT, unit_code(family->unit));
    encode_open(encoder, datas[data_of(family)].field);
    if (datas[data_of(family)].is_cumulative)
        encode_small(encoder, TEMPORALITY, CUMULATIVE);
    if (family->kind == METRIC_COUNTER)
        encode_bool(encoder, MONOTONIC, true);
    encode_list(encoder, "dataPoints");
}

static void put_point(struct metric_writer *writer, const struct metric_point *point)
{
    const struct metric_family *family = writer->family;
    struct metric_encoder *state = writer->state;
    struct encoder *encoder = &state->encoder;
    const unsigned attributes = datas[data_of(family)].attributes;
    const char *value = point->values;
    state->points++;
    encode_open(encoder, ITEM(DATA_POINTS));
    encode_list(encoder, "attributes");
    for (size_t i = 0; i < family->label_count; i++, value += strlen(value) + 1)
        attribute_text(encoder, attributes, family->labels[i], value);
    encode_list_end(encoder);
    if (point->created > 0) { /* a series that is new was met after the reading had begun */
        const uint64_t created = (uint64_t)(point->created * 1e9);
        encode_fixed(encoder, POINT_START, created < state->time ? created : state->time);
    }
    encode_fixed(encoder, POINT_TIME, state->time);
    switch (data_of(family)) {
    case DATA_GAUGE:
    case DATA_SUM: encode_real(encoder, NUMBER_REAL, point->value); break;
    case DATA_SUMMARY:
        encode_fixed(encoder, POINT_COUNT, point->count);
        encode_real(encoder, POINT_SUM, point->value);
        break;
    case DATA_HISTOGRAM:
    case DATA_EXPONENTIAL: put_histogram(encoder, family, point->counts); break;
    }
    encode_close(encoder);
}

static void end(struct metric_writer *writer)
{
    struct encoder *encoder = &((struct metric_encoder *)writer->state)->encoder;
    encode_list_end(encoder);
    encode_close(encoder);
    encode_close(encoder);
}

const struct metric_format metric_otlp = {"application/x-protobuf", false, begin, put_point, end, NULL};

void metrics_request(struct encoder *encoder, const struct text *metrics, const struct otlp_service *service)
{
    struct text resource = {0};
    struct encoder of_resource = {.out = &resource, .is_json = encoder->is_json};
    envelope_resource(&of_resource, service);
    envelope_begin(encoder, &envelope_metrics, &resource);
    encode_items(encoder, metrics);
    envelope_end(encoder);
    text_free(&resource);
}
