/* SPDX-License-Identifier: BSD-3-Clause */
/* The fixed newstyle handshake, until the client has chosen an export. */
#ifndef BLOCKD_HANDSHAKE_H
#define BLOCKD_HANDSHAKE_H

#include "connection.h"

void handshake_greet(struct connection *connection);
enum step handshake_step(struct connection *connection);

#endif
