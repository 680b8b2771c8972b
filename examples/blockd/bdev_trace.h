/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracepoints of block I/O for the recorder. `ctx` is what an I/O is done for; the layer above says what that is. */
#ifndef BLOCKD_BDEV_TRACE_H
#define BLOCKD_BDEV_TRACE_H

#include <spoor/trace.h>

#include "bdev.h"

SPOOR_GROUP(bdev, "block devices");
SPOOR_OWNER(bdev, 'b');
SPOOR_OBJECT(bdev_io, 'i');
SPOOR_ENUM(bdev_io_type, SPOOR_VALUE(BDEV_READ), SPOOR_VALUE(BDEV_WRITE), SPOOR_VALUE(BDEV_FLUSH),
           SPOOR_VALUE(BDEV_TRIM), SPOOR_VALUE(BDEV_WRITE_ZEROES));
SPOOR_TRACEPOINT(bdev, BDEV_IO_START, bdev_io, SPOOR_BEGINS, (enum bdev_io_type, type, bdev_io_type),
                 (const void *, ctx), (uint64_t, offset), (uint32_t, len));
SPOOR_TRACEPOINT(bdev, BDEV_IO_DONE, bdev_io, SPOOR_ENDS, (const void *, ctx));

#endif
