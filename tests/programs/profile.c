/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of which is known what it spends where: profile MODE [SECONDS].
 *   burn: seconds of CPU time, three quarters in burn_long, a quarter in burn_short
 *   wait: sleeps so long in wait_here, and half as long in a thread, in wait_there
 *   allocate: 1,000,000 bytes in allocate_much, 50,000 in allocate_little
 *   touch: 2000 pages in touch_pages */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A call in front of the end, so that none of these is a tail call. */
#define DEFINE_BURN(name, milliseconds)                                                                      \
    __attribute__((noinline)) void name(void)                                                                \
    {                                                                                                        \
        for (double end = cpu_seconds() + (milliseconds) / 1e3; cpu_seconds() < end;)                        \
            for (unsigned long i = 0; i < 200000; i++)                                                       \
                sum += i;                                                                                    \
        sum++;                                                                                               \
    }
DEFINE_BURN(burn_long, 15)
DEFINE_BURN(burn_short, 5)

__attribute__((noinline)) void nap(double seconds)
{
    const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
#ifdef __x86_64__ /* not through the C library, whose functions may have no frame pointer */
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(SYS_nanosleep), "D"(&time), "S"(NULL)
                     : "rcx", "r11", "memory");
#else
    nanosleep(&time, NULL);
#endif
    sum++;
}

__attribute__((noinline)) void *wait_there(void *seconds)
{
    nap(*(double *)seconds / 2);
    sum++;
    return NULL;
}

__attribute__((noinline)) void wait_here(double seconds)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_there, &seconds);
    nap(seconds);
    pthread_join(thread, NULL);
    sum++;
}

__attribute__((noinline)) void allocate_much(void)
{
    for (int i = 0; i < 1000; i++)
        sum += (unsigned long)malloc(1000);
}

__attribute__((noinline)) void allocate_little(void)
{
    for (int i = 0; i < 500; i++)
        sum += (unsigned long)calloc(10, 10);
}

__attribute__((noinline)) void touch_pages(void)
{
    enum { PAGES = 2000, PAGE = 4096 };
    char *pages =
        mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    for (int i = 0; i < PAGES; i++)
        ((volatile char *)pages)[(size_t)i * PAGE] = 1;
    sum++;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const double seconds = argc > 2 ? atof(argv[2]) : 1;
    if (!strcmp(mode, "burn"))
        while (cpu_seconds() < seconds) {
            burn_long();
            burn_short();
        }
    else if (!strcmp(mode, "wait"))
        wait_here(seconds);
    else if (!strcmp(mode, "allocate")) {
        allocate_much();
        allocate_little();
    } else if (!strcmp(mode, "touch"))
        touch_pages();
    else
        return 1;
    return sum == 1;
}
