/* SPDX-License-Identifier: BSD-3-Clause */
/* SPDK's probe macros: include this instead of "spdk_internal/usdt.h", and scripts written for SPDK run unchanged.
 *
 * SPDK's macros put an argument of their own before those given, so scripts count from arg1. arg0 is 0, and in the
 * forms with _TICKS the clock, spdk_get_ticks(), which is read whether a tracer listens or not. As with SPDK's
 * macros, a program built with SPDK_UNIT_TEST has no probes. */
#ifndef SPOOR_COMPAT_SPDK_USDT_H
#define SPOOR_COMPAT_SPDK_USDT_H

#include <stdint.h>

#if defined(SPDK_UNIT_TEST) && !defined(SPOOR_NO_PROBES)
#define SPOOR_NO_PROBES 1
#endif
#include <spoor/probe.h>

#ifdef __cplusplus
extern "C" {
#endif
uint64_t spdk_get_ticks(void); /* defined by the program: SPDK's, or one like it */
#ifdef __cplusplus
}
#endif

#define SPDK_DTRACE_PROBE(name) SPOOR_PROBE(spdk, name, 0)
#define SPDK_DTRACE_PROBE1(name, a) SPOOR_PROBE(spdk, name, 0, a)
#define SPDK_DTRACE_PROBE2(name, a, b) SPOOR_PROBE(spdk, name, 0, a, b)
#define SPDK_DTRACE_PROBE3(name, a, b, c) SPOOR_PROBE(spdk, name, 0, a, b, c)
#define SPDK_DTRACE_PROBE4(name, a, b, c, d) SPOOR_PROBE(spdk, name, 0, a, b, c, d)

#define SPDK_DTRACE_PROBE_TICKS(name) SPOOR_PROBE(spdk, name, spdk_get_ticks())
#define SPDK_DTRACE_PROBE1_TICKS(name, a) SPOOR_PROBE(spdk, name, spdk_get_ticks(), a)
#define SPDK_DTRACE_PROBE2_TICKS(name, a, b) SPOOR_PROBE(spdk, name, spdk_get_ticks(), a, b)
#define SPDK_DTRACE_PROBE3_TICKS(name, a, b, c) SPOOR_PROBE(spdk, name, spdk_get_ticks(), a, b, c)
#define SPDK_DTRACE_PROBE4_TICKS(name, a, b, c, d) SPOOR_PROBE(spdk, name, spdk_get_ticks(), a, b, c, d)

#endif
