/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes one system call (getpgid of 4711) at the bottom of some functions, and ends at once. With an
 * argument: the library of that name is loaded and does it. A test that runs beside others who look for this call asks for
 * another number. */
#ifndef FIRES_NUMBER
#define FIRES_NUMBER 4711
#endif
#ifdef WITH_LIBRARY
#include <dlfcn.h>
#endif
#include <stddef.h>

#define KEEP() __asm__ volatile("" ::: "memory")

static inline __attribute__((always_inline)) long fire(void)
{
#ifdef __x86_64__
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(121), "D"((long)FIRES_NUMBER) : "rcx", "r11", "memory");
#else
    register long number __asm__("x8") = 155;
    register long result __asm__("x0") = FIRES_NUMBER;
    __asm__ volatile("svc #0" : "+r"(result) : "r"(number) : "memory");
#endif
    return result;
}

static inline __attribute__((always_inline)) long fires_inlined(long value)
{
    KEEP();
    return fire() + value;
}

__attribute__((noinline)) long fires_leaf(long value)
{
    /* A function that calls nobody gets a frame only if it needs one. */
    __asm__ volatile("" : : "r"(__builtin_frame_address(0)));
    long result = fires_inlined(value) + 1;
    KEEP();
    return result;
}

/* Not exported: only a symbol table or debug information knows it. */
__attribute__((noinline)) static long local_middle(long value)
{
    long result = fires_leaf(value) * 2;
    KEEP();
    return result;
}

#ifdef ASTRAY
/* As functions do that have no frame pointer: the register holds something else while others are called. */
__attribute__((noinline)) long fires_astray(long value)
{
    static unsigned long data[] = {0, 0x1234, 0, 0};
    long result;
    data[0] = (unsigned long)&data[2];
    __asm__ volatile("push %%rbp; mov %1, %%rbp; mov %2, %%rdi; call fires_leaf; pop %%rbp"
                     : "=a"(result)
                     : "r"(data), "r"(value)
                     : "rdi", "rsi", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory");
    return result;
}
#endif

__attribute__((noinline)) long fires_outer(long value)
{
#ifdef ASTRAY
    long result = fires_astray(value) + local_middle(0);
#else
    long result = local_middle(value) + 3;
#endif
    KEEP();
    return result;
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
    (void)argc, (void)argv;
#ifdef WITH_LIBRARY
    void *library = dlopen(argv[1], RTLD_NOW);
    long (*outer)(long) = library ? (long (*)(long))dlsym(library, "fires_outer") : NULL;
    long result = outer ? outer(1) : 1;
#else
    long result = fires_outer(argc);
#endif
    KEEP();
    return result == FIRES_NUMBER;
}
#endif
