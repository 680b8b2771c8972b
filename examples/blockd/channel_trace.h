/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracepoints of channels for the recorder. */
#ifndef BLOCKD_CHANNEL_TRACE_H
#define BLOCKD_CHANNEL_TRACE_H

#include <spoor/trace.h>

SPOOR_GROUP(thread, "threads and their channels");
SPOOR_TRACEPOINT(thread, THREAD_IOCH_GET, none, SPOOR_USES, (const char *, device), (uint32_t, refcnt));
SPOOR_TRACEPOINT(thread, THREAD_IOCH_PUT, none, SPOOR_USES, (const char *, device), (uint32_t, refcnt));

#endif
