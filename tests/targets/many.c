/* SPDX-License-Identifier: BSD-3-Clause */
/* A thousand functions, many_000 to many_999, each of which is called once. */
#include "many.h"

#define ONE(n)                                                                                               \
    __attribute__((noinline, used)) void many_##n(void);                                                     \
    void many_##n(void)                                                                                      \
    {                                                                                                        \
        __asm__ volatile("" ::: "memory");                                                                   \
    }
#define CALL(n) many_##n();

THOUSAND(ONE)

int main(void)
{
    THOUSAND(CALL)
    return 0;
}
