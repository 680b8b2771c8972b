/* SPDX-License-Identifier: BSD-3-Clause */
/* The other end of the control socket: what `blockd --control PATH COMMAND…` does. */
#ifndef BLOCKD_TELL_H
#define BLOCKD_TELL_H

/* Sends the command and prints the answer. 0; -EREMOTEIO: the server answered with an error; or -errno, and
 * what is wrong was printed. */
int tell(const char *path, char *const words[]);

#endif
