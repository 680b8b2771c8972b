/* SPDX-License-Identifier: BSD-3-Clause */
/* The control socket: commands in lines. Each is answered by lines, the last of which is "ok" or begins with
 * "error: ". The answer comes when the change has been made on every thread. */
#ifndef BLOCKD_CONTROL_H
#define BLOCKD_CONTROL_H

struct control;
struct target;

int control_open(struct control **control, struct target *target, const char *path); /* 0 or -errno */
void control_close(struct control *control);                                         /* NULL is allowed */

#endif
