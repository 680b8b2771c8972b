/* SPDX-License-Identifier: BSD-3-Clause */
/* The macros of <sys/sdt.h> for programs that already have them: include this instead. DTRACE_PROBE, DTRACE_PROBE0
 * to DTRACE_PROBE12, DTRACE_PROBEV, and the same as STAP_PROBE. Each is one nop and a note that every tracer reads;
 * the values are computed whether a tracer listens or not.
 *
 * If _SDT_HAS_SEMAPHORES is defined, every probe counts its listeners in the program's own
 *     unsigned short PROVIDER_NAME_semaphore __attribute__((section(".probes")));
 * as <sys/sdt.h> does. New programs have less to write with SPOOR_PROBE_DECLARE (spoor/probe.h). Missing here:
 * STAP_PROBE_ASM, and floating-point values. */
#ifndef SPOOR_COMPAT_SDT_H
#define SPOOR_COMPAT_SDT_H

#ifdef _SYS_SDT_H
#error "spoor/compat/sdt.h stands in for sys/sdt.h: include one of them"
#endif
#define _SYS_SDT_H 1

#include <spoor/probe.h>

#if defined(_SDT_HAS_SEMAPHORES) && !defined(SPOOR_NO_PROBES)
/* The mention of the semaphore keeps it in the program. */
#define SPOOR_SDT_MENTION(...) SPOOR_SDT_MENTION_(__VA_ARGS__, end)
#define SPOOR_SDT_MENTION_(provider, name, ...) SPOOR_SDT_KEEP(provider##_##name##_semaphore)
#define SPOOR_SDT_KEEP(semaphore) __asm__ __volatile__("" ::"m"(semaphore))
#define SPOOR_SDT_TEXT(...) SPOOR_SDT_TEXT_(__VA_ARGS__, end)
#define SPOOR_SDT_TEXT_(provider, name, ...) #provider "_" #name "_semaphore"
#define STAP_PROBEV(...)                                                                                     \
    do {                                                                                                     \
        SPOOR_SDT_MENTION(__VA_ARGS__);                                                                      \
        SPOOR_PROBE_WITH_SEMAPHORE(SPOOR_SDT_TEXT(__VA_ARGS__), __VA_ARGS__);                                \
    } while (0)
#else
#define STAP_PROBEV(...) SPOOR_PROBE(__VA_ARGS__)
#endif

#define DTRACE_PROBEV(...) STAP_PROBEV(__VA_ARGS__)

#define STAP_PROBE(provider, name) STAP_PROBEV(provider, name)
#define STAP_PROBE0(provider, name) STAP_PROBEV(provider, name)
#define STAP_PROBE1(provider, name, a) STAP_PROBEV(provider, name, a)
#define STAP_PROBE2(provider, name, a, b) STAP_PROBEV(provider, name, a, b)
#define STAP_PROBE3(provider, name, a, b, c) STAP_PROBEV(provider, name, a, b, c)
#define STAP_PROBE4(provider, name, a, b, c, d) STAP_PROBEV(provider, name, a, b, c, d)
#define STAP_PROBE5(provider, name, a, b, c, d, e) STAP_PROBEV(provider, name, a, b, c, d, e)
#define STAP_PROBE6(provider, name, a, b, c, d, e, f) STAP_PROBEV(provider, name, a, b, c, d, e, f)
#define STAP_PROBE7(provider, name, a, b, c, d, e, f, g) STAP_PROBEV(provider, name, a, b, c, d, e, f, g)
#define STAP_PROBE8(provider, name, a, b, c, d, e, f, g, h)                                                  \
    STAP_PROBEV(provider, name, a, b, c, d, e, f, g, h)
#define STAP_PROBE9(provider, name, a, b, c, d, e, f, g, h, i)                                               \
    STAP_PROBEV(provider, name, a, b, c, d, e, f, g, h, i)
#define STAP_PROBE10(provider, name, a, b, c, d, e, f, g, h, i, j)                                           \
    STAP_PROBEV(provider, name, a, b, c, d, e, f, g, h, i, j)
#define STAP_PROBE11(provider, name, a, b, c, d, e, f, g, h, i, j, k)                                        \
    STAP_PROBEV(provider, name, a, b, c, d, e, f, g, h, i, j, k)
#define STAP_PROBE12(provider, name, a, b, c, d, e, f, g, h, i, j, k, l)                                     \
    STAP_PROBEV(provider, name, a, b, c, d, e, f, g, h, i, j, k, l)

#define DTRACE_PROBE(provider, name) STAP_PROBEV(provider, name)
#define DTRACE_PROBE0(provider, name) STAP_PROBEV(provider, name)
#define DTRACE_PROBE1(provider, name, a) STAP_PROBEV(provider, name, a)
#define DTRACE_PROBE2(provider, name, a, b) STAP_PROBEV(provider, name, a, b)
#define DTRACE_PROBE3(provider, name, a, b, c) STAP_PROBEV(provider, name, a, b, c)
#define DTRACE_PROBE4(provider, name, a, b, c, d) STAP_PROBEV(provider, name, a, b, c, d)
#define DTRACE_PROBE5(provider, name, a, b, c, d, e) STAP_PROBEV(provider, name, a, b, c, d, e)
#define DTRACE_PROBE6(provider, name, a, b, c, d, e, f) STAP_PROBEV(provider, name, a, b, c, d, e, f)
#define DTRACE_PROBE7(provider, name, a, b, c, d, e, f, g) STAP_PROBEV(provider, name, a, b, c, d, e, f, g)
#define DTRACE_PROBE8(provider, name, a, b, c, d, e, f, g, h)                                                \
    STAP_PROBEV(provider, name, a, b, c, d, e, f, g, h)
#define DTRACE_PROBE9(provider, name, a, b, c, d, e, f, g, h, i)                                             \
    STAP_PROBEV(provider, name, a, b, c, d, e, f, g, h, i)
#define DTRACE_PROBE10(provider, name, a, b, c, d, e, f, g, h, i, j)                                         \
    STAP_PROBEV(provider, name, a, b, c, d, e, f, g, h, i, j)
#define DTRACE_PROBE11(provider, name, a, b, c, d, e, f, g, h, i, j, k)                                      \
    STAP_PROBEV(provider, name, a, b, c, d, e, f, g, h, i, j, k)
#define DTRACE_PROBE12(provider, name, a, b, c, d, e, f, g, h, i, j, k, l)                                   \
    STAP_PROBEV(provider, name, a, b, c, d, e, f, g, h, i, j, k, l)

#endif
