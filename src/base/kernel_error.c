/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/kernel_error.h"

#include <string.h>

enum { FIRST = ERESTARTSYS };

static const char *const texts[KERNEL_ERRORS_END - FIRST] = {
    [512 - FIRST] = "Interrupted by a signal (ERESTARTSYS)",
    [513 - FIRST] = "Interrupted by a signal (ERESTARTNOINTR)",
    [514 - FIRST] = "Interrupted by a signal (ERESTARTNOHAND)",
    [515 - FIRST] = "No such ioctl command (ENOIOCTLCMD)",
    [516 - FIRST] = "Interrupted by a signal (ERESTART_RESTARTBLOCK)",
    [517 - FIRST] = "Another driver is needed first (EPROBE_DEFER)",
    [518 - FIRST] = "The opened file is stale (EOPENSTALE)",
    [519 - FIRST] = "Parameter not supported (ENOPARAM)",
    [521 - FIRST] = "Illegal NFS file handle (EBADHANDLE)",
    [522 - FIRST] = "Update synchronization mismatch (ENOTSYNC)",
    [523 - FIRST] = "Stale directory cookie (EBADCOOKIE)",
    [ENOTSUPP - FIRST] = "Not supported (ENOTSUPP)",
    [525 - FIRST] = "Buffer or request too small (ETOOSMALL)",
    [526 - FIRST] = "The server cannot be understood (ESERVERFAULT)",
    [527 - FIRST] = "Type not supported by the server (EBADTYPE)",
    [528 - FIRST] = "Begun, and takes long (EJUKEBOX)",
    [529 - FIRST] = "Queued, the end is told later (EIOCBQUEUED)",
    [530 - FIRST] = "Conflict with a recalled state (ERECALLCONFLICT)",
    [531 - FIRST] = "The lock cannot be reclaimed any more (ENOGRACE)",
};

const char *kernel_error(int error)
{
    int number = -error;
    const char *text = number >= FIRST && number < KERNEL_ERRORS_END ? texts[number - FIRST] : NULL;
    return text ? text : strerror(number);
}
