/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that dwarf.sh traces, which compiles it in many ways. Each function prints its arguments, in the
 * words that the script uses: the two must be equal. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum colour { RED, GREEN = 5, BLUE = -3 };
struct point {
    int x;
    short y;
};
struct big {
    char name[224];
    long number;
    int many[40];
};
struct flags {
    unsigned a : 3;
    int b : 5;
    unsigned long c : 40;
};
union word {
    int i;
    unsigned char bytes[4];
};
struct pair {
    long first, second;
};
typedef struct pair pair_t;
struct mixed {
    double real;
    long whole;
};
struct node {
    struct node *next;
    int value;
    enum colour colour;
    const char *label;
    struct point at;
    struct {
        int deep;
    };
    union word word;
    struct flags flags;
};
struct config {
    int level;
    const char *name;
    struct point origin;
};
struct config config = {7, "main", {3, 4}};
static long counter = 41;

static const char *colour_name(enum colour colour)
{
    return colour == RED ? "RED" : colour == GREEN ? "GREEN" : "BLUE";
}

__attribute__((noinline)) int simple(int a, const char *text, bool yes, unsigned char c, enum colour colour)
{
    printf("simple %d %s %d %u %s\n", a, text, yes, c, colour_name(colour));
    return a * -2;
}

__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, int g, struct point h,
                                    char i)
{
    printf("many %ld %ld %ld %ld %ld %ld %d %d %d %d\n", a, b, c, d, e, f, g, h.x, h.y, i);
    return a + g;
}

__attribute__((noinline)) pair_t pairs(struct point p, pair_t q, double d, struct big big, int last)
{
    printf("pairs %d %d %ld %ld %s %ld %d %d\n", p.x, p.y, q.first, q.second, big.name, big.number,
           big.many[39], last);
    return (pair_t){q.second, (long)d + last};
}

/* A value in a floating-point register, or in a struct that has one, cannot be read; what follows can. */
__attribute__((noinline)) long floats(double d, struct mixed mixed, float f, int n, struct pair *out)
{
    printf("floats %d %ld\n", n, out->second);
    return (long)(d + mixed.real + f) + mixed.whole + n;
}

__attribute__((noinline)) struct node *walk(struct node *node, int depth)
{
    printf("walk %d %s %d %s %d %d %u %d %d %lu\n", node->value, colour_name(node->next->colour), depth,
           node->label, node->at.y, node->deep, node->word.bytes[1], node->flags.a, node->flags.b,
           (unsigned long)node->next->flags.c);
    return node->next;
}

__attribute__((noinline)) struct big fill(int seed)
{
    struct big big = {"filled", seed, {0}};
    big.many[39] = seed + 1;
    printf("fill %d\n", seed);
    return big;
}

static inline __attribute__((always_inline)) int inlined(int value)
{
    volatile int twice = value * 2; /* line of inlined */
    return twice;
}

static __attribute__((noinline)) int quiet(int q)
{
    printf("quiet %d %ld %d %d\n", q, counter, config.level, config.origin.y);
    counter += q;
    return q;
}

int main(int argc, char **argv)
{
    struct node second = {NULL, 2, GREEN, "two", {7, 8}, {99}, {0x01020304}, {5, -7, 0x123456789aul}};
    struct node first = {&second, 1, BLUE, "one", {5, 6}, {98}, {0x0a0b0c0d}, {2, 3, 1}};
    struct big big = {{0}, 77, {0}};
    memset(big.name, 'n', sizeof big.name - 1);
    big.many[39] = 39;
    (void)argv;
    printf("simple returns %d\n", simple(-5, "hello", true, 200, GREEN));
    many(1, 2, 3, 4, 5, 6, -7, (struct point){8, 9}, 'i');
    pair_t pair = pairs((struct point){1, -2}, (pair_t){3, -4}, 2.5, big, 11);
    printf("pairs returns %ld %ld\n", pair.first, pair.second);
    floats(1.5, (struct mixed){2.5, 3}, 4.5f, argc + 4, &pair);
    printf("walk returns %d\n", walk(&first, argc)->value);
    big = fill(argc + 20);
    printf("fill returns %s %ld %d\n", big.name, big.number, big.many[39]);
    return quiet(inlined(argc + 10) + inlined(argc + 20)) != 64;
}
