/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/stop.h"

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static volatile int *stop_asked;

/* A write may begin to block after the signal that should have interrupted it, so that an alarm follows every 200
 * ms. */
static void stop(int signal)
{
    static const struct itimerval often = {{0, 200000}, {0, 200000}};
    if (signal == SIGALRM)
        return;
    if (!*stop_asked)
        setitimer(ITIMER_REAL, &often, NULL);
    ++*stop_asked;
}

void stop_on_signals(volatile int *asked)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
    const struct sigaction action = {.sa_handler = stop}; /* without SA_RESTART */
    struct sigaction before;
    stop_asked = asked;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i] != SIGHUP || sigaction(SIGHUP, NULL, &before) ||
            before.sa_handler != SIG_IGN) /* nohup has set it */
            sigaction(signals[i], &action, NULL);
}

bool stop_is_asked(void)
{
    return stop_asked && *stop_asked;
}
