/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/* The tracepoints of spoor_device: packets and their length, of each receipt and each transmission. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM spoor_device

#if !defined(SPOOR_DEVICE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SPOOR_DEVICE_H

#include <linux/tracepoint.h>

/* clang-format off */
DECLARE_EVENT_CLASS(spoor_device_transfer,
    TP_PROTO(int packets, size_t length),
    TP_ARGS(packets, length),
    TP_STRUCT__entry(
        __field(int, packets)
        __field(size_t, length)
    ),
    TP_fast_assign(
        __entry->packets = packets;
        __entry->length = length;
    ),
    TP_printk("packets=%d length=%zu", __entry->packets, __entry->length)
);

DEFINE_EVENT(spoor_device_transfer, spoor_device_receive,
    TP_PROTO(int packets, size_t length),
    TP_ARGS(packets, length)
);

DEFINE_EVENT(spoor_device_transfer, spoor_device_transmit,
    TP_PROTO(int packets, size_t length),
    TP_ARGS(packets, length)
);
/* clang-format on */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE spoor_device
#include <trace/define_trace.h>
