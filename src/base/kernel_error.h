/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the kernel that the C library does not know: they are meant to stay within the kernel, but reach
 * programs all the same. */
#ifndef SPOOR_BASE_KERNEL_ERROR_H
#define SPOOR_BASE_KERNEL_ERROR_H

enum {
    ERESTARTSYS = 512, /* a signal interrupted the call */
    ENOTSUPP = 524,    /* this file, place or kind of program cannot do that; not the same as ENOTSUP */
    KERNEL_ERRORS_END = 532,
};

/* Returns what an error, given as -errno, means: a text of strerror(), or one of spoor's own, which end with the
 * kernel's name: "Not supported (ENOTSUPP)". */
const char *kernel_error(int error);

#endif
