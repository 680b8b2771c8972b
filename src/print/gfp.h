/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's flags of an allocation (gfp_t) by their names: printf's %gr. */
#ifndef SPOOR_PRINT_GFP_H
#define SPOOR_PRINT_GFP_H

#include <stdint.h>

#include "base/text.h"

/* "GFP_KERNEL|__GFP_ZERO"; "none" for 0; bits without a name as a number. */
void print_gfp(struct text *out, uint64_t flags);

#endif
