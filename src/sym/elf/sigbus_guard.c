/* SPDX-License-Identifier: BSD-3-Clause */
/* See sigbus_guard.h. The handler is installed while a thread is between begin and end. It makes only system calls,
 * and calls nothing that must not be called from a signal handler. */
#include "sym/elf/sigbus_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned threads; /* threads that are between begin and end */
static struct sigaction before;
static uintptr_t page_size;
/* The model makes sure that these exist, also in a library, before a handler reads them. */
static _Thread_local volatile unsigned depth __attribute__((tls_model("initial-exec")));
static _Thread_local volatile bool is_cut __attribute__((tls_model("initial-exec")));

static void pass_on(int number, siginfo_t *info, void *context)
{
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        /* the instruction faults again, with the effect that it has without this guard */
        sigaction(number, &before, NULL);
}

static void on_missing_page(int number, siginfo_t *info, void *context)
{
    void *page = (void *)((uintptr_t)info->si_addr & ~(page_size - 1));
    if (depth && info->si_code == BUS_ADRERR &&
        mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page)
        is_cut = true;
    else
        pass_on(number, info, context);
}

void sigbus_guard_begin(void)
{
    if (depth++)
        return;
    struct sigaction action = {.sa_sigaction = on_missing_page, .sa_flags = SA_SIGINFO};
    is_cut = false;
    pthread_mutex_lock(&lock);
    if (!threads++) {
        page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, &before);
    }
    pthread_mutex_unlock(&lock);
}

bool mapped_is_cut(void)
{
    return is_cut;
}

bool sigbus_guard_end(void)
{
    if (--depth)
        return is_cut;
    pthread_mutex_lock(&lock);
    if (!--threads)
        sigaction(SIGBUS, &before, NULL);
    pthread_mutex_unlock(&lock);
    return is_cut;
}
