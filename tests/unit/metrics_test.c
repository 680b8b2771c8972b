/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of src/metrics: the formats, names of families and labels, and comments of scripts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "metrics/address.h"
#include "metrics/family.h"
#include "metrics/help.h"
#include "metrics/names.h"
#include "metrics/native.h"
#include "metrics/negotiate.h"

/* ---- formats ---- */

static void assert_written(const struct metric_format *format, const struct metric_family *family,
                           const struct metric_point *point, const char *expected)
{
    struct text text = {0};
    struct metric_writer writer = {.format = format, .out = &text};
    metric_begin(&writer, family);
    if (point)
        metric_point(&writer, point);
    metric_end(&writer);
    metric_finish(&writer);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void counters(void **state)
{
    const struct metric_family family = {
        .name = "x_bytes", .help = "a\\b\n\"c\"", .unit = "bytes", .kind = METRIC_COUNTER};
    const struct metric_point point = {.values = "", .value = 18446744073709551615.0, .created = 1.5};
    (void)state;
    assert_written(&metric_text, &family, &point,
                   "# HELP x_bytes_total a\\\\b\\n\"c\"\n# TYPE x_bytes_total counter\n"
                   "x_bytes_total 1.8446744073709552e+19\n");
    assert_written(&metric_openmetrics, &family, &point,
                   "# HELP x_bytes a\\\\b\\n\\\"c\\\"\n# TYPE x_bytes counter\n# UNIT x_bytes bytes\n"
                   "x_bytes_total 1.8446744073709552e+19\nx_bytes_created 1.500\n# EOF\n");
}

static void numbers(void **state)
{
    static const struct {
        double number;
        const char *text;
    } rows[] = {{0, "0"},
                {-5, "-5"},
                {0.1, "0.1"},
                {1e300, "1e+300"},
                {NAN, "NaN"},
                {INFINITY, "+Inf"},
                {-INFINITY, "-Inf"},
                {2.5e-7, "2.5e-07"},
                {1.0 / 3, "0.3333333333333333"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char expected[128];
        const struct metric_family family = {.name = "x", .help = "h", .kind = METRIC_GAUGE};
        snprintf(expected, sizeof expected, "# HELP x h\n# TYPE x gauge\nx %s\n", rows[i].text);
        assert_written(&metric_text, &family, &(struct metric_point){.values = "", .value = rows[i].number},
                       expected);
    }
}

static void labels_are_escaped(void **state)
{
    static const char *const labels[] = {"a", "b"};
    const struct metric_family family = {
        .name = "x", .help = "", .kind = METRIC_GAUGE, .labels = labels, .label_count = 2};
    (void)state;
    assert_written(&metric_text, &family, &(struct metric_point){.values = "q\"\\\n\0end", .value = 1},
                   "# HELP x \n# TYPE x gauge\nx{a=\"q\\\"\\\\\\n\",b=\"end\"} 1\n");
}

static void summaries(void **state)
{
    struct metric_family family = {.name = "x", .help = "h", .kind = METRIC_SUMMARY, .has_count = true};
    const struct metric_point point = {.values = "", .value = -3, .count = 2, .created = 7};
    (void)state;
    assert_written(&metric_text, &family, &point, "# HELP x h\n# TYPE x summary\nx_count 2\nx_sum -3\n");
    family.has_count = false;
    assert_written(&metric_openmetrics, &family, &point,
                   "# HELP x h\n# TYPE x summary\nx_sum -3\nx_created 7.000\n# EOF\n");
}

static void histograms(void **state)
{
    static const struct metric_row rows[] = {{-INFINITY, -1}, {0, 0}, {1, 1}, {2, 3}, {4, INFINITY}};
    static const uint64_t counts[] = {2, 0, 0, 5, 1};
    struct metric_family family = {.name = "x",
                                   .help = "h",
                                   .kind = METRIC_HISTOGRAM,
                                   .rows = rows,
                                   .row_count = 5,
                                   .first = 2,
                                   .last = 4};
    const struct metric_point point = {.values = "", .counts = counts};
    (void)state;
    assert_written(&metric_text, &family, &point,
                   "# HELP x h\n# TYPE x histogram\nx_bucket{le=\"1\"} 2\nx_bucket{le=\"3\"} 7\n"
                   "x_bucket{le=\"+Inf\"} 8\nx_count 8\n");
    assert_written(&metric_openmetrics, &family, &point,
                   "# HELP x h\n# TYPE x histogram\nx_bucket{le=\"1.0\"} 2\nx_bucket{le=\"3.0\"} 7\n"
                   "x_bucket{le=\"+Inf\"} 8\nx_count 8\n# EOF\n");
    family.first = UINT32_MAX;
    family.last = 0;
    assert_written(&metric_text, &family, &point,
                   "# HELP x h\n# TYPE x histogram\nx_bucket{le=\"+Inf\"} 8\nx_count 8\n");
}

static void nothing_without_points(void **state)
{
    (void)state;
    assert_written(&metric_text, &(struct metric_family){.name = "x", .help = "h"}, NULL, "");
}

/* ---- protocol buffers and native histograms ---- */

static void protocol_buffers(void **state)
{
    static const char expected[] =
        "\x1b\x0a\x07x_total\x12\x01h\x18\x00\x22\x0b\x1a\x09\x09\0\0\0\0\0\0\xf0\x3f";
    const struct metric_family family = {.name = "x", .help = "h", .kind = METRIC_COUNTER};
    struct text text = {0};
    struct metric_writer writer = {.format = &metric_protobuf, .out = &text};
    (void)state;
    metric_begin(&writer, &family);
    metric_end(&writer);
    assert_int_equal(text.length, 0);
    metric_begin(&writer, &family);
    metric_point(&writer, &(struct metric_point){.values = "", .value = 1});
    metric_end(&writer);
    metric_finish(&writer);
    assert_int_equal(text.length, sizeof expected - 1);
    assert_memory_equal(text.bytes, expected, sizeof expected - 1);
    text_free(&text);
}

static void assert_buckets(const struct metric_family *family, const uint64_t *counts, bool is_negative,
                           const char *expected)
{
    struct native_walk walk = {family, counts, is_negative, 0};
    struct text text = {0};
    int32_t index;
    uint64_t count;
    while (native_next(&walk, &index, &count))
        text_printf(&text, "%d:%llu ", (int)index, (unsigned long long)count);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void native_histograms(void **state)
{
    static const struct metric_row powers[] = {{-INFINITY, -1}, {0, 0}, {1, 1},
                                               {2, 3},          {4, 7}, {8, INFINITY}};
    static const struct metric_row steps[] = {{-10, -1}, {0, 9}, {10, 19}, {20, 29}, {30, 39}};
    static const uint64_t all[] = {1, 2, 3, 4, 5, 6}, gap[] = {0, 0, 7, 0, 9, 0};
    struct metric_family family = {.rows = powers, .row_count = 6};
    (void)state;
    family.schema = metric_native_schema(powers, 6);
    assert_int_equal(family.schema, 0);
    assert_buckets(&family, all, false, "0:3 2:4 3:5 4:6 ");
    assert_buckets(&family, all, true, "1:1 ");
    assert_int_equal(native_zeros(&family, all), 2);
    assert_buckets(&family, gap, false, "0:7 3:9 ");
    family = (struct metric_family){.rows = steps, .row_count = 5};
    family.schema = metric_native_schema(steps, 5);
    assert_int_equal(family.schema, 0);
    assert_buckets(&family, all, false, "3:2 4:3 5:4 6:5 ");
    assert_buckets(&family, all, true, "3:1 ");
    for (family.schema = NATIVE_SCHEMA_MIN; family.schema <= NATIVE_SCHEMA_MAX; family.schema++) {
        static const struct metric_row row[] = {{1024, 1024}};
        family.rows = row;
        family.row_count = 1;
        struct native_walk walk = {&family, all, false, 0};
        int32_t index;
        uint64_t count;
        assert_true(native_next(&walk, &index, &count));
        assert_int_equal(index, family.schema >= 0 ? 10 << family.schema
                                                   : (10 + (1 << -family.schema) - 1) >> -family.schema);
    }
}

/* ---- values of labels ---- */

static void assert_value(const char *bytes, size_t length, const char *expected)
{
    struct text text = {0};
    metric_add_value(&text, bytes, length);
    assert_string_equal(text_string(&text), expected);
    assert_int_equal(text.length, strlen(expected) + 1);
    text_free(&text);
}

static void values_are_utf8(void **state)
{
    char large[METRIC_VALUE_MAX + 8], expected[METRIC_VALUE_MAX + 8];
    (void)state;
    assert_value("plain", 5, "plain");
    assert_value("\xc3\xa4", 2, "\xc3\xa4");
    assert_value("a\xff\xc3", 3, "a\xef\xbf\xbd\xef\xbf\xbd");
    assert_value("a\0b", 3,
                 "a\xef\xbf\xbd"
                 "b");
    /* Of a character over the end nothing stays. */
    memset(large, 'x', sizeof large);
    memcpy(large + METRIC_VALUE_MAX - 1, "\xc3\xa4", 2);
    memset(expected, 'x', METRIC_VALUE_MAX - 1);
    memcpy(expected + METRIC_VALUE_MAX - 1, "\xef\xbf\xbd", 4);
    assert_value(large, sizeof large, expected);
}

/* ---- names ---- */

static void assert_family(const char *script, const char *prefix, struct table *taken, const char *map,
                          const char *expected)
{
    struct text text = {0};
    const struct metric_naming naming = {script, prefix, "", taken};
    assert_int_equal(metric_name_family(&naming, map, &text), 0);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void names_of_families(void **state)
{
    struct table taken = {0};
    (void)state;
    assert_family("tools/bio-latency.bt", "", &taken, "@usecs", "spoor_bio_latency_usecs");
    assert_family("tools/bio-latency.bt", "", &taken, "@", "spoor_bio_latency");
    assert_family("tools/bio-latency.bt", "", &taken, "@", "spoor_bio_latency_2");
    assert_family(NULL, "", &taken, "@x", "spoor_x");
    assert_family(".hidden", "", &taken, "@x", "spoor__hidden_x");
    assert_family("x", "9 lives", &taken, "@", "_9_lives");
    table_free(&taken);
    assert_string_equal(metric_unit("spoor_x_bytes"), "bytes");
    assert_null(metric_unit("bytes"));
    assert_null(metric_unit("spoor_x_total"));
}

static void assert_labels(const char *setting, const struct image_map *map, const char *expected)
{
    struct text text = {0}, joined = {0};
    const struct metric_naming naming = {NULL, "", setting, NULL};
    const size_t count = metric_name_labels(&naming, map, &text);
    const char *name = text_string(&text);
    for (size_t i = 0; i < count; i++, name += strlen(name) + 1)
        text_printf(&joined, "%s ", name);
    assert_string_equal(text_string(&joined), expected);
    text_free(&text);
    text_free(&joined);
}

static void names_of_labels(void **state)
{
    static const struct field fields[] = {{.name = "", .type = &type_u64},
                                          {.name = "dev", .type = &type_u64}};
    static const struct type tuple = {.kind = TYPE_TUPLE, .count = 2, .fields = fields};
    const struct image_map one = {.name = "@a", .key = &type_u64}, two = {.name = "@b", .key = &tuple},
                           none = {.name = "@c"};
    (void)state;
    assert_labels("", &one, "key0 ");
    assert_labels("", &two, "key0 dev ");
    assert_labels("comm", &none, "");
    assert_labels(" comm , a-b ", &two, "comm a_b ");
    assert_labels("comm", &two, "comm dev ");
    assert_labels("@a: pid; @b: comm", &one, "pid ");
    assert_labels("@a: pid; x", &two, "x dev ");
    assert_labels("le, quantile", &two, "key0 key1 ");
    assert_labels("x,x", &two, "x key1 ");
    assert_labels("key1,__y", &two, "key1 key1_ ");
    assert_labels(";:,@b", &two, "key0 dev ");
}

/* ---- comments ---- */

static void assert_help(const char *script, const char *expected)
{
    struct text text = {0};
    metric_help(&text, script, strlen(script), (size_t)(strchr(script, '@') - script));
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void comments(void **state)
{
    (void)state;
    assert_help("@a", "");
    assert_help("x\n  // One.\n\t//  Two.\n  @a = 1;\n", "One. Two.");
    assert_help("x /* no */\n  @a = 1;\n", "");
    assert_help("// no\n\n@a = 1;", "");
    assert_help("/* One\n * two. */\n@a", "One two.");
    assert_help("/**\n * One\n **/\n@a", "One");
    assert_help("x\n@a = \"//no\"; // yes \n", "yes");
    assert_help("x\n@a = \"\\\"//no\"; /* yes */\n", "yes");
    assert_help("x\n@a = 1; /* begins\n here */\n", "");
    assert_help("here */\n@a", "");
    assert_help("\n@a", "");
}

/* ---- what scrapers want ---- */

static void formats_are_negotiated(void **state)
{
    static const struct {
        const char *accept;
        const struct metric_format *format;
    } rows[] = {
        {NULL, &metric_text},
        {"", &metric_text},
        {"*/*", &metric_text},
        {"text/html, application/json", &metric_text},
        {"application/openmetrics-text", &metric_openmetrics},
        {"application/openmetrics-text; version=1.0.0; charset=utf-8", &metric_openmetrics},
        {"application/openmetrics-text; version=\"1.0.0\"", &metric_openmetrics},
        {"application/openmetrics-text;version=0.0.1,text/plain;q=0.5", &metric_text},
        {"text/plain;q=0.5,application/openmetrics-text;version=1.0.0", &metric_openmetrics},
        {"text/plain,application/openmetrics-text;q=0.9", &metric_text},
        {"application/openmetrics-text;q=0", &metric_text},
        {"APPLICATION/OpenMetrics-Text ; Q=0.9,*/*;q=0.1", &metric_openmetrics},
        {";;;,,;q=,=;q", &metric_text},
        {"application/vnd.google.protobuf", &metric_text},
        {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,*/"
         "*;q=0.1",
         &metric_protobuf},
        {"application/vnd.google.protobuf;proto=other;encoding=delimited;q=0.9,text/plain;q=0.1",
         &metric_text},
        {"application/openmetrics-text;q=nan", &metric_text},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_ptr_equal(metric_negotiate(rows[i].accept), rows[i].format);
    assert_false(metric_allows_gzip(NULL));
    assert_false(metric_allows_gzip("identity, deflate"));
    assert_true(metric_allows_gzip("deflate, gzip;q=0.5"));
    assert_false(metric_allows_gzip("gzip;q=0, *"));
    assert_true(metric_allows_gzip("*"));
}

/* ---- addresses ---- */

static void assert_address(const char *place, int error, int family, const char *host)
{
    struct metric_address address;
    struct text why = {0};
    char shown[INET6_ADDRSTRLEN] = "";
    assert_int_equal(metric_address_read(place, &address, &why), error);
    assert_int_equal(!why.length, !error);
    if (!error)
        assert_int_equal(address.size ? address.socket.ss_family : 0, family);
    if (family == AF_INET)
        inet_ntop(family, &((struct sockaddr_in *)&address.socket)->sin_addr, shown, sizeof shown);
    if (family == AF_INET6)
        inet_ntop(family, &((struct sockaddr_in6 *)&address.socket)->sin6_addr, shown, sizeof shown);
    assert_string_equal(shown, host);
    text_free(&why);
}

static void addresses(void **state)
{
    (void)state;
    assert_address(":9435", 0, AF_INET, "127.0.0.1");
    assert_address("localhost:9435", 0, AF_INET, "127.0.0.1");
    assert_address("0.0.0.0:1", 0, AF_INET, "0.0.0.0");
    assert_address("[::1]:65535", 0, AF_INET6, "::1");
    assert_address("unix:x", 0, AF_UNIX, "");
    assert_address("x.prom", 0, 0, "");
    assert_address("./:9435", 0, 0, "");
    assert_address("", -EINVAL, 0, "");
    assert_address(":0", -EINVAL, 0, "");
    assert_address(":65536", -EINVAL, 0, "");
    assert_address("::1:9435", -EINVAL, 0, "");
    assert_address("[]:9435", -EINVAL, 0, "");
    assert_address("1.2.3:9435", -EINVAL, 0, "");
    assert_address("name:9435", -EINVAL, 0, "");
    assert_address("unix:", -EINVAL, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters),
        cmocka_unit_test(numbers),
        cmocka_unit_test(labels_are_escaped),
        cmocka_unit_test(summaries),
        cmocka_unit_test(histograms),
        cmocka_unit_test(nothing_without_points),
        cmocka_unit_test(protocol_buffers),
        cmocka_unit_test(native_histograms),
        cmocka_unit_test(values_are_utf8),
        cmocka_unit_test(names_of_families),
        cmocka_unit_test(names_of_labels),
        cmocka_unit_test(comments),
        cmocka_unit_test(formats_are_negotiated),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
