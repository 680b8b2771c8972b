/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that take structs by pointer, laid out as types that every kernel describes: values [ROUNDS]. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "warm.h"

#define PROBED __attribute__((noinline, noclone, noipa, used))
#define KEEP() __asm__ volatile("" ::: "memory")

struct iphdr { /* bit-fields, an anonymous union */
    uint8_t ihl : 4, version : 4;
    uint8_t tos;
    uint16_t tot_len, id, frag_off;
    uint8_t ttl, protocol;
    uint16_t check;
    uint32_t saddr, daddr;
};

struct timespec64 {
    int64_t tv_sec;
    long tv_nsec;
};

struct itimerspec64 { /* nested */
    struct timespec64 it_interval, it_value;
};

struct iovec {
    void *iov_base;
    unsigned long iov_len;
};

struct linger {
    int l_onoff, l_linger;
};

PROBED int values_packet(const struct iphdr *packet)
{
    KEEP();
    return packet->ttl;
}

PROBED int64_t values_timer(const struct itimerspec64 *timer)
{
    KEEP();
    return timer->it_value.tv_sec;
}

PROBED unsigned long values_vector(const struct iovec *vector, unsigned long count)
{
    KEEP();
    return vector[count - 1].iov_len;
}

PROBED int values_linger(const struct linger *linger)
{
    KEEP();
    return linger->l_linger;
}

PROBED int values_numbers(const int32_t *numbers, const int32_t *const *pointers)
{
    KEEP();
    return numbers[0] + *pointers[1];
}

struct floats {
    float f;
    double d, more[4];
};
PROBED int values_floats(const struct floats *floats)
{
    KEEP();
    return (int)floats->f;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1, sum = 0;
    static char text[] = "some text", more[] = "more";
    for (int i = 0; i < rounds; i++) {
        struct iphdr packet = {.ihl = 5,
                               .version = 4,
                               .tos = 16,
                               .tot_len = 84,
                               .id = (uint16_t)i,
                               .ttl = 64,
                               .protocol = 6,
                               .check = 4660,
                               .saddr = 0x0100007f,
                               .daddr = 0x0200007f};
        struct itimerspec64 timer = {{1, 500}, {-2, 250 + i}};
        struct iovec vector[] = {{text, sizeof text}, {more, sizeof more}, {NULL, 7}};
        struct linger linger = {i % 2, 30};
        int32_t numbers[] = {10, -20, 30, 40};
        const int32_t *pointers[] = {&numbers[3], &numbers[1]};
        sum += values_packet(&packet);
        sum += (int)values_timer(&timer);
        sum += (int)values_vector(vector, 3);
        sum += values_linger(&linger);
        sum += values_numbers(numbers, pointers);
        struct floats floats = {1.5F, 0.1, {1e300, -0.0, (double)INFINITY, (double)NAN}};
        sum += values_floats(&floats);
    }
    return sum == 0;
}
