/* SPDX-License-Identifier: BSD-3-Clause */
/* One program for every compiler, language and option: usdt_header.sh builds it in two parts (the second with
 * -DOTHER) and examines its notes. It prints how often arguments were evaluated. */
#include "usdt_header.h"

#ifdef OTHER

int other_unit(uint64_t id)
{
    SPOOR_FIRE(matrix, done, id, 2, "other");
    SPOOR_PROBE(matrix, other, id);
    return 0;
}

#else

#include <stdio.h>

static int evaluated;

static const char *describe(void)
{
    evaluated++;
    return "text";
}

struct request {
    uint64_t id;
    unsigned depth;
    const char *name;
    char text[8];
};

static __attribute__((noinline)) void declared(uint64_t id, int status)
{
    SPOOR_FIRE(matrix, done, id, status, describe());
    SPOOR_FIRE(matrix, idle);
    if (SPOOR_LISTENED(matrix, phase))
        puts("somebody listens");
    SPOOR_FIRE(matrix, phase, PHASE_SECOND, status > 2, NULL);
    SPOOR_FIRE(matrix, twelve, -1, 200, -300, 60000, -70000, 4000000000u, -5000000000, 18000000000000000000u,
               true, describe(), &evaluated, 'l');
}

static __attribute__((noinline)) void undeclared(struct request *request, const volatile int8_t *narrow,
                                                 int n)
{
    const uint16_t small = (uint16_t)n;
    enum phase phase = (enum phase)(n & 1);
    void (*function)(struct request *, const volatile int8_t *, int) = undeclared;
    /* clang-format off */
    SPOOR_PROBE(matrix-inline, queue-depth, request->id, request->depth);
    SPOOR_PROBE(matrix-inline, none);
    SPOOR_PROBE(matrix-inline, kinds, *narrow, small, phase, request->name, request->text, "text", function,
                (void *)request, (bool)n, 5, 'c', -7ll);
    if (n)
        SPOOR_PROBE(matrix-inline, branch, n);
    else
        SPOOR_PROBE(matrix-inline, branch, (uint8_t)n);
    /* clang-format on */
}

#ifdef __cplusplus
enum class scoped : short { first = -1 };
namespace inner
{
SPOOR_PROBE_DECLARE(matrix, scoped, (scoped, value), (const int *, pointer));
template <typename T> struct holder {
    T value;
    void show() const
    {
        SPOOR_PROBE(matrix, templated, value, &value, nullptr);
    }
};
static void more()
{
    SPOOR_FIRE(matrix, scoped, scoped::first, nullptr);
    SPOOR_PROBE(matrix, scoped_inline, scoped::first);
    holder<uint16_t>{1}.show();
    holder<const char *>{"x"}.show();
    auto inside = [](int x) { SPOOR_PROBE(matrix, lambda, x); };
    inside(3);
}
} // namespace inner
#endif

int main(int argc, char **argv)
{
    struct request request = {1, 2, argv[0], "text"};
    int8_t narrow = -3;
    for (int i = 0; i < 3; i++) {
        declared((uint64_t)i, -i);
        undeclared(&request, &narrow, argc + i - 1);
    }
#ifdef __cplusplus
    inner::more();
#endif
    printf("evaluated %d\n", evaluated);
    return other_unit(7);
}

#endif
