/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions with the names that a C++ compiler would give them, each called once, in this order:
 *   ns::area(int), ns::area(char const*), int ns::twice<int>(int), ns::(anonymous namespace)::hidden(int),
 *   ns::Shape::operator()(int), ns::Shape::Shape(int) */
#define PROBED __attribute__((noinline, noclone, noipa, used))
#define NAMED(function, mangled) int function(int value) __asm__(mangled)

NAMED(area_of_int, "_ZN2ns4areaEi");
NAMED(area_of_text, "_ZN2ns4areaEPKc");
NAMED(twice, "_ZN2ns5twiceIiEET_S1_");
NAMED(hidden, "_ZN2ns12_GLOBAL__N_16hiddenEi");
NAMED(call, "_ZN2ns5ShapeclEi");
NAMED(make, "_ZN2ns5ShapeC1Ei");
NAMED(make_base, "_ZN2ns5ShapeC2Ei") __attribute__((alias("_ZN2ns5ShapeC1Ei")));

#define DEFINE(function)                                                                                     \
    PROBED int function(int value)                                                                           \
    {                                                                                                        \
        __asm__ volatile("" ::: "memory");                                                                   \
        return 2 * value;                                                                                    \
    }
DEFINE(area_of_int)
DEFINE(area_of_text)
DEFINE(twice)
DEFINE(hidden)
DEFINE(call)
DEFINE(make)

int main(void)
{
    return area_of_int(1) + area_of_text(2) + twice(3) + hidden(4) + call(5) + make(6) != 42;
}
