/* SPDX-License-Identifier: BSD-3-Clause */
/* Emulates a network device, as the documents that started the project trace it: device ROUNDS.
 *
 * Each round receives one packet of 64 << (round % 6) bytes, whose length is an argument and the result of
 * device_receive(). Then it transmits (round % 4) packets of 100 bytes each: device_flush() passes the probe
 * device:tx-length for each of them and returns how many there were. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/sdt.h>

#include "warm.h"

#define PROBED __attribute__((noinline, noclone, noipa, used))

/* clang-format off */
PROBED long device_receive(void *queue, const uint8_t *bytes, size_t size)
{
    size_t offset = 0;
    int packets = 0;
    while (offset < size) {
        offset += size - offset > 1024 ? 1024 : size - offset;
        packets++;
    }
    DTRACE_PROBE2(device, rx-end, packets, size);
    (void)queue, (void)bytes;
    return (long)size;
}

static long send_packet(long length)
{
    __asm__ volatile("" ::: "memory");
    return length;
}

PROBED int32_t device_flush(int waiting)
{
    int32_t packets = 0;
    while (packets < waiting) {
        long sent = send_packet(100);
        packets++;
        DTRACE_PROBE1(device, tx-length, sent);
    }
    return packets;
}
/* clang-format on */

int main(int argc, char **argv)
{
    static uint8_t bytes[4096];
    const int rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < rounds; i++) {
        device_receive(NULL, bytes, (size_t)64 << i % 6);
        device_flush(i % 4);
    }
    return 0;
}
