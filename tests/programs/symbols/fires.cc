// SPDX-License-Identifier: BSD-3-Clause
// The same in C++: names that need demangling, a template, a lambda, an anonymous namespace, a function that is inlined.
#include <string>

extern "C" long fires_leaf(long value);

namespace
{
struct hidden {
    template <typename T> __attribute__((noinline)) long run(T value, const std::string &name) const
    {
        long result = fires_leaf(value) + static_cast<long>(name.size());
        __asm__ volatile("" ::: "memory");
        return result;
    }
};
} // namespace

namespace shop::counter
{
__attribute__((noinline)) long sell(int count, const char *what)
{
    auto inner = [&](long more) __attribute__((noinline)) {
        long result = hidden().run(more, what);
        __asm__ volatile("" ::: "memory");
        return result;
    };
    long result = inner(count);
    __asm__ volatile("" ::: "memory");
    return result;
}

inline __attribute__((always_inline)) long offer(int count, const char *what)
{
    return sell(count, what);
}

__attribute__((noinline)) long open(int count)
{
    long result = offer(count, "tea");
    __asm__ volatile("" ::: "memory");
    return result;
}
} // namespace shop::counter

int main(int argc, char **)
{
    long result = shop::counter::open(argc);
    __asm__ volatile("" ::: "memory");
    return result == 4711;
}
