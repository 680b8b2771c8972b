/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the kernel that the C library does not know: they are meant to stay within it and reach programs all the
 * same. */
#ifndef SPOOR_BASE_KERNEL_ERROR_H
#define SPOOR_BASE_KERNEL_ERROR_H

enum {
    ERESTARTSYS = 512, /* a signal came */
    ERESTARTNOINTR = 513,
    ENOTSUPP = 524, /* this file, place or kind of program cannot do that; not the same as ENOTSUP */
};

/* What an error means, given as -errno: the texts of strerror(), and texts of our own for these. */
const char *kernel_error(int error);

#endif
