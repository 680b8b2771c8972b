/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread stands still in a page fault inside the tracer's program while others run the program on the same CPU:
 * stuck OUTPUT COUNT LINE.
 *
 * The first thread calls stuck_call(7777, text) with text on a page that only this program can provide
 * (userfaultfd), so that reading it from a probe does not return. Then a second thread on the same CPU calls
 * stuck_call(1…COUNT, "other"), and the program waits until the tracer's output, the file OUTPUT, has the LINE.
 * Only then is the page provided. It says on stdout whether the first thread stood still and whether the others'
 * records came meanwhile. Status 77: this kernel provides no userfaultfd. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, FAULT_WAIT_MS = 3000, OUTPUT_WAIT_MS = 5000, STEP_MS = 10 };

__attribute__((noinline, noclone, noipa, used)) void stuck_call(long id, const char *text)
{
    __asm__ volatile("" ::: "memory");
    (void)id, (void)text;
}

static void stay_on_first_cpu(void)
{
    cpu_set_t allowed, first;
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&first);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_SET(cpu, &first);
            break;
        }
    sched_setaffinity(0, sizeof first, &first);
}

static void *call_stuck(void *page)
{
    stay_on_first_cpu();
    stuck_call(7777, page);
    return NULL;
}

static void *call_others(void *count)
{
    stay_on_first_cpu();
    for (long i = 1; i <= *(long *)count; i++)
        stuck_call(i, "other");
    return NULL;
}

static bool holds(const char *path, const char *line)
{
    static char text[1 << 20];
    int file = open(path, O_RDONLY);
    ssize_t got = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = 0;
    return strstr(text, line) != NULL;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    long count = atol(argv[2]);
    int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    struct uffdio_api api = {.api = UFFD_API};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api)) {
        puts("there is no userfaultfd");
        return 77;
    }
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)page, PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (page == MAP_FAILED || ioctl(faults, UFFDIO_REGISTER, &range))
        return 1;

    pthread_t stuck, others;
    pthread_create(&stuck, NULL, call_stuck, page);
    struct pollfd fault = {faults, POLLIN, 0};
    bool stands = poll(&fault, 1, FAULT_WAIT_MS) == 1;
    pthread_create(&others, NULL, call_others, &count);
    pthread_join(others, NULL);
    bool came = false;
    for (int waited = 0; waited < OUTPUT_WAIT_MS && !(came = holds(argv[1], argv[3])); waited += STEP_MS)
        usleep(STEP_MS * 1000);

    static char content[PAGE] __attribute__((aligned(4096))) = "at last";
    struct uffdio_copy copy = {.dst = (uintptr_t)page, .src = (uintptr_t)content, .len = PAGE};
    ioctl(faults, UFFDIO_COPY, &copy);
    pthread_join(stuck, NULL);
    printf("first thread: %s\n", stands ? "stood still" : "did not stand still");
    printf("the others' records: %s\n", came ? "came meanwhile" : "did not come");
    return 0;
}
