/* SPDX-License-Identifier: BSD-3-Clause */
/* The peer's tracepoints: those of bench/record.c, and those of tests/targets/recording.c with all that a
 * record of theirs carries. LTTng reads this file several times: hence the unusual guard. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng.h"

#if !defined(SPOOR_BENCH_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SPOOR_BENCH_LTTNG_H
#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(bench, none, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(bench, one, LTTNG_UST_TP_ARGS(uint64_t, a),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a)))
LTTNG_UST_TRACEPOINT_EVENT(bench, text, LTTNG_UST_TP_ARGS(const char *, text),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(text, text)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(bench, four,
    LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b, uint64_t, c, uint64_t, d),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint64_t, a, a) lttng_ust_field_integer(uint64_t, b, b)
        lttng_ust_field_integer(uint64_t, c, c) lttng_ust_field_integer(uint64_t, d, d)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, four, bench, four,
    LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b, uint64_t, c, uint64_t, d))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, four, bench, off,
    LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b, uint64_t, c, uint64_t, d))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(bench, request,
    LTTNG_UST_TP_ARGS(uint32_t, owner, const void *, object, const void *, qpair),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, owner, owner)
        lttng_ust_field_integer_hex(uint64_t, object, (uintptr_t)object)
        lttng_ust_field_integer_hex(uint64_t, qpair, (uintptr_t)qpair)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, request, bench, request_new,
    LTTNG_UST_TP_ARGS(uint32_t, owner, const void *, object, const void *, qpair))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, request, bench, request_need_buffer,
    LTTNG_UST_TP_ARGS(uint32_t, owner, const void *, object, const void *, qpair))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, request, bench, request_ready,
    LTTNG_UST_TP_ARGS(uint32_t, owner, const void *, object, const void *, qpair))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, request, bench, request_executed,
    LTTNG_UST_TP_ARGS(uint32_t, owner, const void *, object, const void *, qpair))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, request, bench, request_completed,
    LTTNG_UST_TP_ARGS(uint32_t, owner, const void *, object, const void *, qpair))
LTTNG_UST_TRACEPOINT_ENUM(bench, io_type,
    LTTNG_UST_TP_ENUM_VALUES(
        lttng_ust_field_enum_value("IO_READ", 1) lttng_ust_field_enum_value("IO_WRITE", 2)
        lttng_ust_field_enum_value("IO_FLUSH", 3)))
LTTNG_UST_TRACEPOINT_EVENT(bench, io_start,
    LTTNG_UST_TP_ARGS(uint32_t, owner, const void *, object, uint32_t, size, int, type, const void *, context,
                      uint64_t, offset, uint32_t, length),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, owner, owner)
        lttng_ust_field_integer_hex(uint64_t, object, (uintptr_t)object)
        lttng_ust_field_integer(uint32_t, size, size)
        lttng_ust_field_enum(bench, io_type, int, type, type)
        lttng_ust_field_integer_hex(uint64_t, context, (uintptr_t)context)
        lttng_ust_field_integer(uint64_t, offset, offset)
        lttng_ust_field_integer(uint32_t, length, length)))
LTTNG_UST_TRACEPOINT_EVENT(bench, io_done,
    LTTNG_UST_TP_ARGS(uint32_t, owner, const void *, object, const void *, context, int, status),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, owner, owner)
        lttng_ust_field_integer_hex(uint64_t, object, (uintptr_t)object)
        lttng_ust_field_integer_hex(uint64_t, context, (uintptr_t)context)
        lttng_ust_field_integer(int, status, status)))
LTTNG_UST_TRACEPOINT_EVENT(bench, note,
    LTTNG_UST_TP_ARGS(const char *, text, double, load, int, busy),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_string(text, text) lttng_ust_field_float(double, load, load)
        lttng_ust_field_integer(int8_t, busy, busy)))
/* clang-format on */
#endif

#include <lttng/tracepoint-event.h>
