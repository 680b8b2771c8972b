/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions called a known number of times with known values: calls [ROUNDS] [MILLISECONDS AT THE END].
 * Each function is called once a round, in the order in which they stand here, with the round (from 0) in
 * its arguments. Nothing is inlined, cloned or dropped. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "warm.h"

#define PROBED __attribute__((noinline, noclone, noipa, used))
#define KEEP() __asm__ volatile("" ::: "memory")

struct address {
    uint16_t port;
    uint8_t octets[4];
};

struct packet {
    uint64_t length;
    int32_t kind;
    uint8_t flags : 3, level : 5;
    const char *label;
    char name[16];
    struct address from;
    struct packet *next;
};

PROBED int64_t calls_add(int64_t first, int64_t second)
{
    KEEP();
    return first + second;
}

PROBED int32_t calls_negative(int32_t value)
{
    KEEP();
    return -value;
}

PROBED void calls_widths(int8_t a, int16_t b, int32_t c, int64_t d, uint8_t e, uint16_t f)
{
    KEEP();
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
}

PROBED const char *calls_greet(const char *name)
{
    KEEP();
    return *name == 'w' ? "hello" : "bye";
}

PROBED void calls_deliver(const struct packet *packet)
{
    KEEP();
    (void)packet;
}

PROBED void calls_bytes(const uint8_t *bytes, uint64_t length)
{
    KEEP();
    (void)bytes, (void)length;
}

PROBED void calls_words(const char *const *words)
{
    KEEP();
    (void)words;
}

PROBED int calls_inner(int value)
{
    KEEP();
    return value + 1;
}

PROBED int calls_middle(int value)
{
    int result = calls_inner(value) + 1;
    KEEP();
    return result;
}

PROBED int calls_outer(int value)
{
    int result = calls_middle(value) + 1;
    KEEP();
    return result;
}

PROBED void calls_eight(long a, long b, long c, long d, long e, long f, long g, long h)
{
    KEEP();
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
}

PROBED void calls_last(int rounds)
{
    KEEP();
    (void)rounds;
}

int calls_global = 4711;

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    int pause = argc > 2 ? atoi(argv[2]) : 0;
    static const uint8_t bytes[] = {0, 1, 'A', '"', 0xff, '\n', 'z', 0x7f};
    static const char *const words[] = {"ls", "-l", "/tmp", NULL};
    struct packet second = {.length = 7, .kind = -7, .label = "second", .name = "two"};
    struct packet packet = {.length = 1500,
                            .kind = -3,
                            .flags = 5,
                            .level = 17,
                            .label = "first",
                            .name = "one",
                            .from = {8080, {127, 0, 0, 1}},
                            .next = &second};
    for (int i = 0; i < rounds; i++) {
        calls_add(i, 10 * i);
        calls_negative(i + 1);
        calls_widths(-1, -2, -3, -4, 255, 65535);
        calls_greet(i % 2 ? "moon" : "world");
        calls_deliver(&packet);
        calls_bytes(bytes, sizeof bytes);
        calls_words(words);
        calls_outer(i);
        calls_eight(1, 2, 3, 4, 5, 6, 7, 8);
    }
    calls_last(rounds);
    if (pause)
        usleep((useconds_t)pause * 1000);
    return 0;
}
