/* SPDX-License-Identifier: BSD-3-Clause */
/* The NBD protocol as it goes over the wire: numbers only. All are big-endian there. */
#ifndef BLOCKD_NBD_H
#define BLOCKD_NBD_H

#include <stdint.h>

#define NBD_MAGIC UINT64_C(0x4e42444d41474943)        /* "NBDMAGIC" */
#define NBD_OPTION_MAGIC UINT64_C(0x49484156454f5054) /* "IHAVEOPT" */
#define NBD_REPLY_MAGIC UINT64_C(0x3e889045565a9)     /* before an answer to an option */
#define NBD_REQUEST_MAGIC UINT32_C(0x25609513)
#define NBD_SIMPLE_MAGIC UINT32_C(0x67446698) /* before an answer to a request */

enum { NBD_NAME_MAX = 4096, NBD_LENGTH_MAX = 32 << 20 };

/* Flags of the handshake, for the server and the client alike. */
enum { NBD_FLAG_FIXED_NEWSTYLE = 1, NBD_FLAG_NO_ZEROES = 2 };

enum nbd_option {
    NBD_OPT_EXPORT_NAME = 1,
    NBD_OPT_ABORT = 2,
    NBD_OPT_LIST = 3,
    NBD_OPT_INFO = 6,
    NBD_OPT_GO = 7,
};

#define NBD_REP_ACK UINT32_C(1)
#define NBD_REP_SERVER UINT32_C(2)
#define NBD_REP_INFO UINT32_C(3)
#define NBD_REP_ERR_UNSUP UINT32_C(0x80000001)
#define NBD_REP_ERR_INVALID UINT32_C(0x80000003)
#define NBD_REP_ERR_UNKNOWN UINT32_C(0x80000006)
#define NBD_REP_ERR_SHUTDOWN UINT32_C(0x80000007)
#define NBD_REP_ERR_TOO_BIG UINT32_C(0x80000009)

enum { NBD_INFO_EXPORT = 0, NBD_INFO_NAME = 1, NBD_INFO_DESCRIPTION = 2, NBD_INFO_BLOCK_SIZE = 3 };

enum {
    NBD_EXPORT_HAS_FLAGS = 1 << 0,
    NBD_EXPORT_FLUSH = 1 << 2,
    NBD_EXPORT_FUA = 1 << 3,
    NBD_EXPORT_TRIM = 1 << 5,
    NBD_EXPORT_WRITE_ZEROES = 1 << 6,
    NBD_EXPORT_MULTI_CONN = 1 << 8,
};

enum nbd_command {
    NBD_CMD_READ,
    NBD_CMD_WRITE,
    NBD_CMD_DISC,
    NBD_CMD_FLUSH,
    NBD_CMD_TRIM,
    NBD_CMD_CACHE,
    NBD_CMD_WRITE_ZEROES,
};

enum { NBD_CMD_FLAG_FUA = 1, NBD_CMD_FLAG_NO_HOLE = 2 };

/* Errors of requests. */
enum { NBD_EIO = 5, NBD_ENOMEM = 12, NBD_EINVAL = 22, NBD_ENOSPC = 28, NBD_ESHUTDOWN = 108 };

struct nbd_option_header {
    uint64_t magic;
    uint32_t option, length;
};

struct nbd_option_reply {
    uint64_t magic;
    uint32_t option, type, length;
} __attribute__((packed));

struct nbd_request {
    uint32_t magic;
    uint16_t flags, command;
    uint64_t handle, offset;
    uint32_t length;
} __attribute__((packed));

struct nbd_reply {
    uint32_t magic, error;
    uint64_t handle;
} __attribute__((packed));

#endif
