/* SPDX-License-Identifier: BSD-3-Clause */
/* The example of the documents that started the project: usdt1 at every 100,000 up to a million, then usdt2.
 */
#include <sys/sdt.h>

#include "warm.h"

/* A provider's name may have a hyphen, which is no operator here. */
/* clang-format off */
int main(void)
{
    int x = 0;

    while (x < 1000000) {
        x++;
        if (x % 100000 == 0) {
            DTRACE_PROBE1(usdt-examples, usdt1, x);
        }
    }
    DTRACE_PROBE3(usdt-examples, usdt2, x, "Hello!", 5);
    return 0;
}
