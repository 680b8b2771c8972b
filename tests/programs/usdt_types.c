/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain probes whose arguments are variables, members, globals and expressions that are none of these. The program
 * itself prints what the tracer must print. */
#include <stdio.h>
#include <sys/sdt.h>

enum state { IDLE = 2, ACTIVE, DONE = 9 };
struct owner {
    int id;
    const char *name;
};
struct request {
    struct owner *owner;
    struct {
        short tag;
        enum state state;
    } inner;
    unsigned long length;
};
struct {
    int unused;
    enum state now;
} whole;
static struct request *current;

__attribute__((noinline)) static void by_pointer(struct request *request, enum state state, char letter)
{
    DTRACE_PROBE3(types, pointer, request, state, letter);
    printf("pointer %d %s %d %c\n", request->owner->id, request->owner->name, state == ACTIVE, letter);
}

/* In optimised code the members are operands themselves, or in registers that no variable has. */
__attribute__((noinline)) static void by_member(struct request *request)
{
    STAP_PROBE2(types, member, request->owner, request->inner.state);
    printf("member %d\n", request->owner->id);
}

__attribute__((noinline)) static void by_global(void)
{
    STAP_PROBE2(types, global, current, whole.now);
    printf("global %lu\n", current->length);
}

static inline __attribute__((always_inline)) void inlined(struct owner *who)
{
    STAP_PROBE1(types, inlined, who);
    printf("inlined %s\n", who->name);
}

__attribute__((noinline)) static void by_sum(long a, long b)
{
    STAP_PROBE2(types, sum, a + b, 7);
    printf("sum %ld\n", a + b);
}

int main(void)
{
    struct owner first = {7, "seven"}, second = {-8, "minus eight"};
    struct request one = {&first, {1, ACTIVE}, 4096}, two = {&second, {2, DONE}, 1ul << 40};
    __asm__ volatile("" : : "r"(&one), "r"(&two) : "memory");
    by_pointer(&one, ACTIVE, 'x');
    by_pointer(&two, DONE, 'y');
    by_member(&two);
    current = &one;
    whole.now = IDLE;
    by_global();
    inlined(&first);
    inlined(&second);
    by_sum(40, 2);
    return 0;
}
