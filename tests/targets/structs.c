/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs of every shape, for scripts that define or include them: structs [MILLISECONDS AT THE END]. Calls,
 * once each, structs_submit(request) with two requests in a list, and structs_wire(wire). */
#include "structs.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "warm.h"

#define PROBED __attribute__((noinline, noclone, noipa, used))

PROBED int structs_submit(struct request *request, enum kind kind)
{
    __asm__ volatile("" ::: "memory");
    return request->count + (int)kind;
}

PROBED void structs_wire(struct wire *wire, size_t count)
{
    __asm__ volatile("" ::: "memory");
    (void)wire, (void)count;
}

static int done(struct request *request, int status)
{
    return request->count == status;
}

int main(int argc, char **argv)
{
    struct request *first = calloc(1, sizeof *first + 4 * sizeof(uint32_t));
    struct request *second = calloc(1, sizeof *second);
    if (!first || !second)
        return 1;
    first->kind = KIND_WRITE;
    first->small = SMALL_NONE;
    strcpy(first->name, "first");
    first->label = "a label";
    first->inner = (struct inner){.low = 5, .middle = -33, .high = 0xabcdef0123, .flag = true, .after = 77};
    first->wire = (struct wire){
        .tag = 9, .length = 100000, .parts = {1, 2, 65535}, .wide = 0x1234567890abcdef, .rest = 6};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
            first->points[i][k] = (point_t){10 * i + k, -(10 * i + k)};
    first->word = 0x01020304;
    first->done = done;
    first->next = second;
    first->peer.sin_family = AF_INET;
    first->peer.sin_port = htons(8080);
    first->peer.sin_addr.s_addr = htonl(0x7f000001);
    first->aligned = 0xfeedfacecafebeef;
    first->count = 4;
    for (uint32_t i = 0; i < 4; i++)
        first->values[i] = 1000 + i;
    second->kind = (enum kind)42;
    memcpy(second->name, "sixteen letters!", sizeof second->name); /* full: without a NUL */
    int result = structs_submit(first, KIND_FLUSH);
    structs_wire(&first->wire, 1);
    if (argc > 1)
        usleep((useconds_t)atoi(argv[1]) * 1000);
    free(second);
    free(first);
    return result == 10 ? 0 : 1;
}
