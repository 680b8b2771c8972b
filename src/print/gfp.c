/* SPDX-License-Identifier: BSD-3-Clause */
/* See gfp.h. The numbers are those of kernels since 5.10; flags that depend on the kernel's configuration
 * have bits above these and stay numbers. What stands for several flags comes first, the one with most of
 * them before others. */
#include "print/gfp.h"

#include <inttypes.h>

enum {
    DMA = 1 << 0,
    HIGHMEM = 1 << 1,
    DMA32 = 1 << 2,
    MOVABLE = 1 << 3,
    RECLAIMABLE = 1 << 4,
    HIGH = 1 << 5,
    IO = 1 << 6,
    FS = 1 << 7,
    ZERO = 1 << 8,
    DIRECT_RECLAIM = 1 << 10,
    KSWAPD_RECLAIM = 1 << 11,
    WRITE = 1 << 12,
    NOWARN = 1 << 13,
    RETRY_MAYFAIL = 1 << 14,
    NOFAIL = 1 << 15,
    NORETRY = 1 << 16,
    MEMALLOC = 1 << 17,
    COMP = 1 << 18,
    NOMEMALLOC = 1 << 19,
    HARDWALL = 1 << 20,
    THISNODE = 1 << 21,
    ACCOUNT = 1 << 22,
    RECLAIM = DIRECT_RECLAIM | KSWAPD_RECLAIM,
    KERNEL = RECLAIM | IO | FS,
    USER = KERNEL | HARDWALL,
    HIGHUSER_MOVABLE = USER | HIGHMEM | MOVABLE,
    TRANSHUGE_LIGHT = (HIGHUSER_MOVABLE | COMP | NOMEMALLOC | NOWARN) & ~RECLAIM,
};

#define FLAG(name)                                                                                           \
    {                                                                                                        \
        name, "__GFP_" #name                                                                                 \
    }

static const struct {
    uint32_t bits;
    const char *name;
} flags_known[] = {
    {TRANSHUGE_LIGHT | DIRECT_RECLAIM, "GFP_TRANSHUGE"},
    {TRANSHUGE_LIGHT, "GFP_TRANSHUGE_LIGHT"},
    {HIGHUSER_MOVABLE, "GFP_HIGHUSER_MOVABLE"},
    {USER | HIGHMEM, "GFP_HIGHUSER"},
    {USER, "GFP_USER"},
    {KERNEL | ACCOUNT, "GFP_KERNEL_ACCOUNT"},
    {KERNEL, "GFP_KERNEL"},
    {RECLAIM | IO, "GFP_NOFS"},
    {HIGH | KSWAPD_RECLAIM, "GFP_ATOMIC"},
    {RECLAIM, "GFP_NOIO"},
    {KSWAPD_RECLAIM | NOWARN, "GFP_NOWAIT"},
    {DMA, "GFP_DMA"},
    FLAG(HIGHMEM),
    {DMA32, "GFP_DMA32"},
    FLAG(HIGH),
    FLAG(IO),
    FLAG(FS),
    FLAG(NOWARN),
    FLAG(RETRY_MAYFAIL),
    FLAG(NOFAIL),
    FLAG(NORETRY),
    FLAG(COMP),
    FLAG(ZERO),
    FLAG(NOMEMALLOC),
    FLAG(MEMALLOC),
    FLAG(HARDWALL),
    FLAG(THISNODE),
    FLAG(RECLAIMABLE),
    FLAG(MOVABLE),
    FLAG(ACCOUNT),
    FLAG(WRITE),
    FLAG(DIRECT_RECLAIM),
    FLAG(KSWAPD_RECLAIM),
};

void print_gfp(struct text *out, uint64_t flags)
{
    size_t begin = out->length;
    if (!flags)
        text_add(out, "none");
    for (size_t i = 0; i < sizeof flags_known / sizeof *flags_known; i++) {
        if ((flags & flags_known[i].bits) != flags_known[i].bits)
            continue;
        text_printf(out, "%s%s", out->length > begin ? "|" : "", flags_known[i].name);
        flags &= ~(uint64_t)flags_known[i].bits;
    }
    if (flags)
        text_printf(out, "%s0x%" PRIx64, out->length > begin ? "|" : "", flags);
}
