/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of the tracer's own. They have the rights that their maker has at that moment, and keep them when it gives up
 * some: to be made after that. */
#ifndef SPOOR_BASE_THREAD_H
#define SPOOR_BASE_THREAD_H

#include <pthread.h>

/* One that hears no signals: they are for who waits for them, and in another program for that one. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *state);

#endif
