/* SPDX-License-Identifier: BSD-3-Clause */
/* src/otlp: what comes from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "otlp/address.h"
#include "otlp/answer.h"
#include "otlp/choice.h"
#include "otlp/header.h"
#include "otlp/logs.h"
#include "otlp/traceparent.h"

static bool reads(const char *text, struct traceparent *parent)
{
    return traceparent_read(text, strlen(text), parent);
}

static void test_traceparent(void **state)
{
    static const uint8_t trace[] = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
                                    0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c};
    struct traceparent parent;
    (void)state;
    assert_true(reads("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", &parent));
    assert_memory_equal(parent.trace, trace, sizeof trace);
    assert_true(parent.span == 0xb7ad6b7169203331);
    assert_true(reads("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", &parent));
    static const char *const wrong[] = {
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
        "00-0af7651916cd43dd8448eb211c80319cxb7ad6b7169203331-01",
        "00 0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 01",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(reads(wrong[i], &parent));
}

static void test_answers(void **state)
{
    struct answer answer;
    (void)state;
    assert_true(answer_read("", 0, true, &answer));
    assert_true(answer.rejected == 0);
    assert_true(answer_read("\x0a\x0c\x08\x07\x12\x08too many", 14, true, &answer));
    assert_true(answer.rejected == 7);
    assert_string_equal(answer.text, "too many");
    assert_true(answer_read("\x08\x03\x12\x02no", 6, false, &answer));
    assert_string_equal(answer.text, "no");
    /* Fields that nobody knows are skipped. */
    assert_true(answer_read("\x7d"
                            "abcd"
                            "\x79"
                            "abcdefgh"
                            "\x0a\x02\x08\x01",
                            18, true, &answer));
    assert_true(answer.rejected == 1);
    assert_true(answer_read("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, true, &answer));
    assert_true(answer.rejected == 0);
    assert_false(answer_read("\x0a\x05\x08", 3, true, &answer));
    assert_false(answer_read("\x0b", 1, true, &answer));
    assert_false(answer_read("<html>", 6, true, &answer));
}

static void test_status(void **state)
{
    (void)state;
    assert_true(answer_is_temporary(429) && answer_is_temporary(503));
    assert_false(answer_is_temporary(400) || answer_is_temporary(500) || answer_is_temporary(200));
    assert_true(answer_is_refusal(404) && answer_is_refusal(405) && answer_is_refusal(501));
    assert_false(answer_is_refusal(400) || answer_is_refusal(503) || answer_is_refusal(200));
}

static void test_addresses(void **state)
{
    static const struct {
        const char *given, *metrics, *logs; /* NULL: there is none */
    } cases[] = {
        {"http://host", "http://host/v1/metrics", "http://host/v1/logs"},
        {"HTTPS://host:1/", "HTTPS://host:1/v1/metrics", "HTTPS://host:1/v1/logs"},
        {"http://host/v1/metrics", "http://host/v1/metrics", "http://host/v1/logs"},
        {"http://host/a/v1/metrics?b=/c#d", "http://host/a/v1/metrics?b=/c#d",
         "http://host/a/v1/logs?b=/c#d"},
        {"http://host/a", "http://host/a", NULL},
        {"http://host/?a", "http://host/?a", NULL},
        {"http://host?x=/v1/metrics", "http://host?x=/v1/metrics", NULL},
        {"http://host/v1/metrics/", "http://host/v1/metrics/", NULL},
        {"http:///v1/metrics", NULL, NULL},
        {"ftp://host", NULL, NULL},
        {"http://a b", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text url = {0}, logs = {0}, why = {0};
        const int error = address_make(cases[i].given, ADDRESS_METRICS, &url, &why);
        assert_int_equal(error != 0, !cases[i].metrics);
        if (!error) {
            assert_string_equal(text_string(&url), cases[i].metrics);
            assert_int_equal(address_of_logs(text_string(&url), &logs), cases[i].logs != NULL);
            assert_string_equal(text_string(&logs), cases[i].logs ? cases[i].logs : "");
        } else
            assert_non_null(strstr(text_string(&why), "is no address"));
        text_free(&url);
        text_free(&logs);
        text_free(&why);
    }
}

/* Requests are bounded in records and bytes, and so is their number; what has no room is counted. */
static void test_log_queue(void **state)
{
    static char line[LOGS_BYTES_MAX / 4];
    struct log_queue queue;
    struct log_request request;
    uint64_t taken = 0;
    (void)state;
    memset(line, 'x', sizeof line);
    log_queue_init(&queue, &(struct otlp_service){.name = "test"}, true);
    assert_false(log_queue_take(&queue, true, &request));
    assert_false(log_queue_add(&queue, 1, LOG_INFO, "a", 1));
    assert_false(log_queue_take(&queue, false, &request)); /* it is neither full nor old */
    assert_true(log_queue_take(&queue, true, &request));
    assert_int_equal(request.records, 1);
    assert_non_null(strstr(text_string(&request.text),
                           "{\"timeUnixNano\":\"1\",\"severityNumber\":9,\"severityText\":\"INFO\","));
    assert_non_null(strstr(text_string(&request.text), "\"body\":{\"stringValue\":\"a\"}}]}]}]}"));
    text_free(&request.text);
    for (int i = 0; i < 4; i++)
        assert_int_equal(log_queue_add(&queue, 1, LOG_INFO, line, sizeof line), i == 3);
    for (int i = 0; i < LOGS_RECORDS_MAX * LOGS_REQUESTS_MAX; i++)
        assert_true(log_queue_add(&queue, 1, LOG_INFO, "b", 1));
    assert_int_equal(queue.lost, LOGS_RECORDS_MAX);
    while (log_queue_take(&queue, false, &request)) {
        assert_int_equal(request.records, taken ? LOGS_RECORDS_MAX : 4);
        taken += request.records;
        text_free(&request.text);
    }
    assert_int_equal(taken, 4 + LOGS_RECORDS_MAX * (LOGS_REQUESTS_MAX - 1));
    log_queue_add(&queue, 1, LOG_INFO, "c", 1);
    log_queue_free(&queue);
}

static int gather(void *context, const char *line)
{
    text_printf(context, "%s\n", line);
    return 0;
}

static void test_listed_headers(void **state)
{
    static const char *const given[] = {"X-Given=1", NULL};
    static const struct {
        const char *list, *lines; /* NULL: it is refused */
    } cases[] = {
        {"", ""},
        {" , ,", ""},
        {"api-key=secret", "api-key: secret\n"},
        {" a = b c , d=,e=f=g ", "a: b c\nd;\ne: f=g\n"},
        {"authorization=Basic%20YTpi%3d%2C", "authorization: Basic YTpi=,\n"},
        {"x-given=2,y=3", "y: 3\n"},
        {"a=1,b", NULL},
        {"=x", NULL},
        {"a b=x", NULL},
        {"a=%2", NULL},
        {"a=%xy", NULL},
        {"a=%00", NULL},
        {"a=x%0d%0aY: z", NULL},
        {"a%3d=x", "a%3d: x\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text lines = {0}, why = {0};
        const int error = headers_listed(HEADERS_VARIABLE, cases[i].list, given,
                                         &(struct header_receiver){gather, &lines}, &why);
        assert_int_equal(error != 0, !cases[i].lines);
        if (cases[i].lines)
            assert_string_equal(text_string(&lines), cases[i].lines);
        else
            assert_non_null(strstr(text_string(&why), "OTEL_EXPORTER_OTLP_HEADERS: member "));
        text_free(&lines);
        text_free(&why);
    }
    struct text none = {0};
    assert_int_equal(
        headers_listed(HEADERS_VARIABLE, NULL, NULL, &(struct header_receiver){gather, &none}, &none), 0);
    assert_int_equal(none.length, 0);
}

/* Of each type those above the percentile, at least one, and no others. */
static void test_percentile(void **state)
{
    static struct choice choice;
    enum { COUNT = 1000, CHOSEN = 25, OTHER = 7 };
    struct otlp_span span = {.type = 3},
                     other = {.type = OTHER, .end = 1, .trace = {[OTLP_TRACE_ID - 1] = 1}};
    (void)state;
    choice_make_percentile(&choice, 97500, -1);
    for (int reading = 0; reading < 3; reading++) {
        for (uint64_t i = 0; i < COUNT; i++) {
            const uint64_t life = i * 7919 % COUNT; /* each from 0 on, once */
            span.end = life;
            memcpy(span.trace, &life, sizeof life);
            if (reading == 0)
                choice_count(&choice, &span);
            else if (reading == 1)
                assert_int_equal(choice_see(&choice, &span), 0);
            else
                assert_int_equal(choice_has(&choice, &span), life >= COUNT - CHOSEN);
        }
        if (reading == 0) {
            choice_count(&choice, &other);
            choice_counted(&choice);
        } else if (reading == 1) {
            assert_int_equal(choice_see(&choice, &other), 0);
            assert_int_equal(choice_end(&choice), 0);
        } else
            assert_true(choice_has(&choice, &other));
    }
    assert_int_equal(choice.objects_left_out, 0);
    choice_free(&choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traceparent), cmocka_unit_test(test_answers),
        cmocka_unit_test(test_status),      cmocka_unit_test(test_listed_headers),
        cmocka_unit_test(test_addresses),   cmocka_unit_test(test_log_queue),
        cmocka_unit_test(test_percentile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
