/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts threads of the tracer. A thread keeps the rights that its creator had when it was started: start it after
 * rights were given up. */
#ifndef SPOOR_BASE_THREAD_H
#define SPOOR_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread in which all signals are blocked, so that they reach the threads that wait for them, and in an
 * embedding program that program's threads. Returns 0 or -errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *state);

#endif
