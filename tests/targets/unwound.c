/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls reached(N) below frames of every shape that compilers make without frame pointers: 1 through the C library,
 * 2 a stack that grows by a variable size, 3 recursion a hundred deep, 4 in the handler of a signal, 5 an aligned
 * stack, 6 a library that was opened meanwhile. `unwound spin` then spins in leaf() below the C library, `unwound
 * again` repeats 6 a thousand times a second; both until they are killed. `unwound mapping` does 1 three thousand times, while
 * other threads map and unmap memory. */
#ifndef __clang__
#pragma GCC optimize("O2", "omit-frame-pointer", "no-optimize-sibling-calls")
#endif
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, used))

volatile int unwound_sink;
static volatile int is_spinning;

KEEP void reached(int number)
{
    unwound_sink = number;
}

KEEP void leaf(void)
{
    while (is_spinning)
        unwound_sink = unwound_sink + 1;
}

static KEEP int compare(const void *a, const void *b)
{
    if (is_spinning)
        leaf();
    else
        reached(1);
    unwound_sink = unwound_sink + 1;
    return *(const int *)a - *(const int *)b;
}

static KEEP void by_library(void)
{
    int values[2] = {2, 1};
    qsort(values, 2, sizeof *values, compare);
    unwound_sink = unwound_sink + 1;
}

static KEEP void by_growing(int bytes)
{
    char *memory = alloca((size_t)bytes);
    memset(memory, 1, (size_t)bytes);
    reached(2);
    unwound_sink = unwound_sink + memory[bytes / 2];
}

static KEEP void by_recursion(int deeper)
{
    if (deeper)
        by_recursion(deeper - 1);
    else
        reached(3);
    unwound_sink = unwound_sink + 1;
}

static KEEP void handle(int number)
{
    (void)number;
    reached(4);
    unwound_sink = unwound_sink + 1;
}

static KEEP void by_signal(void)
{
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    unwound_sink = unwound_sink + 1;
}

static KEEP void by_aligned(int bytes)
{
    volatile char aligned[128] __attribute__((aligned(128)));
    char *memory = alloca((size_t)bytes);
    memset(memory, 1, (size_t)bytes);
    aligned[0] = 1;
    reached(5);
    unwound_sink = unwound_sink + memory[bytes / 2] + aligned[0];
}

static KEEP void by_opened(int again)
{
    void *library = dlopen("./unwound_library.so", RTLD_NOW);
    void (*call)(void (*)(int), int) =
        library ? (void (*)(void (*)(int), int))dlsym(library, "unwound_library_call") : NULL;
    do {
        if (call)
            call(reached, 6);
        usleep(1000);
        unwound_sink = unwound_sink + 1;
    } while (again);
}

static void *map(void *unused)
{
    enum { BYTES = 1 << 16 };
    for (;;) {
        void *memory = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED)
            munmap(memory, BYTES);
    }
    return unused;
}

static KEEP void by_mapping(void)
{
    enum { THREADS = 3, TIMES = 3000 };
    pthread_t thread;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, map, NULL))
            abort();
    for (int i = 0; i < TIMES; i++)
        by_library();
}

int main(int count, char **words)
{
    const char *word = count > 1 ? words[1] : "";
    if (!strcmp(word, "mapping")) {
        by_mapping();
        return 0;
    }
    by_library();
    by_growing(100);
    by_recursion(100);
    by_signal();
    by_aligned(100);
    by_opened(!strcmp(word, "again"));
    is_spinning = !strcmp(word, "spin");
    if (is_spinning)
        by_library();
    return 0;
}
