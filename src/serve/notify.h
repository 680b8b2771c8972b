/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports the state of the service to the service manager, as sd_notify(3) describes: datagrams to the socket that $NOTIFY_SOCKET
 * names. Without that variable nothing happens. */
#ifndef SPOOR_SERVE_NOTIFY_H
#define SPOOR_SERVE_NOTIFY_H

#include <stdint.h>

void notify(const char *state); /* "READY=1", several with line breaks between them */
/* Returns how often WATCHDOG=1 has to be reported: ns; 0: the manager does not expect it. */
uint64_t notify_period(void);

#endif
