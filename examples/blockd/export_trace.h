/* SPDX-License-Identifier: BSD-3-Clause */
/* The tracepoint of an export's change of state on one thread, for the recorder; it is also a probe,
 * export:EXPORT_STATE. */
#ifndef BLOCKD_EXPORT_TRACE_H
#define BLOCKD_EXPORT_TRACE_H

#include <spoor/probe.h>
#include <spoor/trace.h>

#include "export.h"

SPOOR_GROUP(export, "exports");
SPOOR_ENUM(export_state, SPOOR_VALUE(EXPORT_INACTIVE), SPOOR_VALUE(EXPORT_ACTIVE),
           SPOOR_VALUE(EXPORT_PAUSED));
SPOOR_TRACEPOINT_USDT(export, EXPORT_STATE, none, SPOOR_USES, (const char *, name), (uint32_t, thread),
                      (enum export_state, from, export_state), (enum export_state, to, export_state));

#endif
