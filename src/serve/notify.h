/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the service manager how the service is, as sd_notify(3) describes: datagrams to the socket that $NOTIFY_SOCKET
 * names. Without that variable nothing happens. */
#ifndef SPOOR_SERVE_NOTIFY_H
#define SPOOR_SERVE_NOTIFY_H

#include <stdint.h>

void notify(const char *state); /* "READY=1", several with line breaks between them */
/* How often WATCHDOG=1 has to be told: ns; 0: nobody waits for it. */
uint64_t notify_period(void);

#endif
