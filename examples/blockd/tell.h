/* SPDX-License-Identifier: BSD-3-Clause */
/* The other end of the control socket: what `blockd --control PATH COMMAND…` does. */
#ifndef BLOCKD_TELL_H
#define BLOCKD_TELL_H

/* Sends the command and prints the answer. Returns 0, -EREMOTEIO if the server answered with an error, or -errno
 * after a message. */
int tell(const char *path, char *const words[]);

#endif
