/* SPDX-License-Identifier: BSD-3-Clause */
/* What structs.c hands to its functions; scripts include it, or copy it. */
#ifndef STRUCTS_H
#define STRUCTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <netinet/in.h>

#define STRUCTS_NAME 16
#define STRUCTS_MAGIC (0x5a << 8 | STRUCTS_NAME)
#define STRUCTS_IS_WRITE(request) ((request)->kind == KIND_WRITE)

enum kind { KIND_READ, KIND_WRITE = 5, KIND_FLUSH };
enum small { SMALL_NONE = -1, SMALL_ONE = 1 } __attribute__((packed));

typedef struct {
    int32_t x, y;
} point_t;

struct inner {
    unsigned low : 3;
    int middle : 7;
    uint64_t high : 40;
    bool flag : 1;
    unsigned : 0;
    unsigned char after;
};

struct __attribute__((packed)) wire {
    uint8_t tag;
    uint32_t length;
    uint16_t parts[3];
    uint64_t wide : 61;
    uint64_t rest : 3;
};

struct request {
    enum kind kind;
    enum small small;
    char name[STRUCTS_NAME];
    const char *label;
    struct inner inner;
    struct wire wire;
    point_t points[2][3];
    union {
        uint32_t word;
        uint8_t bytes[4];
        struct {
            uint16_t low_half, high_half;
        };
    };
    int (*done)(struct request *request, int status);
    struct request *next;
    struct unknown *opaque;
    struct sockaddr_in peer;
    uint64_t aligned __attribute__((aligned(32)));
    uint16_t count;
    uint32_t values[];
};

#endif
