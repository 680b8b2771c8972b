/* SPDX-License-Identifier: BSD-3-Clause */
/* The probes of usdt_header.c, in C and in C++. */
#ifndef USDT_HEADER_H
#define USDT_HEADER_H

#include <spoor/probe.h>
#include <stdbool.h>
#include <stdint.h>

enum phase { PHASE_FIRST, PHASE_SECOND };
struct request;

SPOOR_PROBE_DECLARE(matrix, done, (uint64_t, id), (int32_t, status), (const char *, text));
SPOOR_PROBE_DECLARE(matrix, phase, (enum phase, now), (bool, failed), (const struct request *, request));
SPOOR_PROBE_DECLARE(matrix, idle);
SPOOR_PROBE_DECLARE(matrix, twelve, (int8_t, a), (uint8_t, b), (int16_t, c), (uint16_t, d), (int32_t, e),
                    (uint32_t, f), (int64_t, g), (uint64_t, h), (bool, i), (const char *, j), (void *, k),
                    (char, l));

#ifdef __cplusplus
extern "C" {
#endif
int other_unit(uint64_t id);
#ifdef __cplusplus
}
#endif

#endif
