/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes as an SPDK program has them: spdk [ROUNDS]. */
#include <spoor/compat/spdk_usdt.h>

#include <stdlib.h>

#include "warm.h"

uint64_t spdk_get_ticks(void)
{
    return 123456789;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < rounds; i++) {
        SPDK_DTRACE_PROBE(bdev_nvme_poll);
        SPDK_DTRACE_PROBE1(bdev_nvme_ctrlr_delete, "Nvme0");
        SPDK_DTRACE_PROBE3(bdev_nvme_create_qpair, "Nvme1", 7u + (unsigned)i, (uint64_t)3);
        SPDK_DTRACE_PROBE4_TICKS(nvmf_poll_group_add_qpair, 1, -2, 3, "group");
    }
    return 0;
}
