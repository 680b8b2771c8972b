/* SPDX-License-Identifier: BSD-3-Clause */
/* The declared probes of blockd: usdt:blockd:request_done and so on. Changes of state have probes in SPDK's style
 * (SPDK_DTRACE_PROBE…, provider spdk), where they happen: see export.c, target.c. */
#ifndef BLOCKD_PROBES_H
#define BLOCKD_PROBES_H

#include <stdint.h>

#include <spoor/probe.h>

#include "nbd.h"

/* The answer to a request was sent. status: 0, or an error of the protocol. */
SPOOR_PROBE_DECLARE(blockd, request_done, (uint64_t, handle), (enum nbd_command, command), (uint64_t, offset),
                    (uint32_t, length), (uint32_t, status), (const char *, export_name));
SPOOR_PROBE_DECLARE(blockd, connected, (uint32_t, thread), (const char *, peer));
/* A client that does not keep to the protocol will be disconnected. */
SPOOR_PROBE_DECLARE(blockd, refused, (const char *, peer), (const char *, why));

#endif
