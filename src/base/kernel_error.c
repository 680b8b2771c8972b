/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/kernel_error.h"

#include <string.h>

const char *kernel_error(int error)
{
    switch (-error) {
    case ERESTARTSYS:
    case ERESTARTNOINTR: return "Interrupted by a signal";
    case ENOTSUPP: return "Not supported";
    default: return strerror(-error);
    }
}
