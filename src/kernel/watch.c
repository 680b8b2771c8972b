/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports that some process has mapped code: a program, or a library that was loaded later. The kernel writes a
 * record of each such mapping to a small ring per CPU; the records are not read, because the caller looks at /proc
 * anyway. A full ring says as much as one with a single record. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/state.h"
#include "kernel/syscalls.h"

enum { DATA_PAGES = 2 };

struct watch {
    int fd;
    struct perf_event_mmap_page *page;
};

static size_t watch_bytes(void)
{
    return (1 + DATA_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

static int watch_open(struct watch *watch, unsigned cpu)
{
    struct perf_event_attr event = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof event,
        .config = PERF_COUNT_SW_DUMMY,
        .mmap = 1,
    };
    watch->fd = syscall_perf_event_open(&event, -1, (int)cpu);
    if (watch->fd < 0)
        return watch->fd;
    void *page = mmap(NULL, watch_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, watch->fd, 0);
    if (page == MAP_FAILED) {
        int error = -errno;
        close(watch->fd);
        return error;
    }
    watch->page = page;
    return 0;
}

int kernel_watch_mappings(struct kernel *kernel)
{
    int error = 0;
    kernel->watches = calloc(kernel->online_count, sizeof *kernel->watches);
    if (!kernel->watches)
        return -ENOMEM;
    while (!error && kernel->watch_count < kernel->online_count) {
        error = watch_open(&kernel->watches[kernel->watch_count], kernel->online[kernel->watch_count]);
        kernel->watch_count += !error;
    }
    if (error)
        watch_close(kernel);
    return error;
}

bool kernel_mapped(struct kernel *kernel)
{
    bool any = false;
    for (size_t i = 0; i < kernel->watch_count; i++) {
        struct perf_event_mmap_page *page = kernel->watches[i].page;
        uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        any |= head != page->data_tail;
        __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    }
    return any;
}

void watch_close(struct kernel *kernel)
{
    for (size_t i = 0; i < kernel->watch_count; i++) {
        munmap(kernel->watches[i].page, watch_bytes());
        close(kernel->watches[i].fd);
    }
    free(kernel->watches);
    kernel->watches = NULL;
    kernel->watch_count = 0;
}
