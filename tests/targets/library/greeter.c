/* SPDX-License-Identifier: BSD-3-Clause */
/* A shared library with a function and a USDT probe; opened by the target `opens`. */
#include <sys/sdt.h>

int greeter_greet(const char *name, int times);

__attribute__((noinline)) int greeter_greet(const char *name, int times)
{
    DTRACE_PROBE2(greeter, greet, name, times);
    return times * 2;
}
