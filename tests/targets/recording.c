/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that records requests over I/Os, for tests of what reads recordings.
 *
 *   recording NAME REQUESTS THREADS PAUSE [ring KiB]
 *
 * Each thread makes REQUESTS requests (0: until it is killed), with PAUSE µs between them, of 10 events each;
 * then the program prints how many events it recorded and waits until its standard input ends. SPOOR_TRACE
 * and SPOOR_TRACE_DIR are as usual; with ANNOUNCE in the environment it says how its recording is read, with
 * BECOME=USER it gives up its rights for those of that user (a number) when its recording is open. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spoor/trace.h>

SPOOR_GROUP(bdev, "block devices");
SPOOR_GROUP(tcp, "requests");
SPOOR_OWNER(bdev, 'b');
SPOOR_OWNER(connection, 't');
SPOOR_OBJECT(bdev_io, 'i');
SPOOR_OBJECT(tcp_req, 'r');
enum io_type { IO_READ = 1, IO_WRITE = 2, IO_FLUSH = 3 };
SPOOR_ENUM(io_type, SPOOR_VALUE(IO_READ), SPOOR_VALUE(IO_WRITE), SPOOR_VALUE(IO_FLUSH));
SPOOR_TRACEPOINT(tcp, TCP_REQ_NEW, tcp_req, SPOOR_BEGINS, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_REQ_NEED_BUFFER, tcp_req, SPOOR_USES, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_REQ_RDY_TO_EXECUTE, tcp_req, SPOOR_USES, (const void *, qpair));
SPOOR_TRACEPOINT(bdev, BDEV_IO_START, bdev_io, SPOOR_BEGINS, (enum io_type, type, io_type),
                 (const void *, ctx), (uint64_t, offset), (uint32_t, len));
SPOOR_TRACEPOINT(bdev, BDEV_IO_DONE, bdev_io, SPOOR_ENDS, (const void *, ctx), (int, status));
SPOOR_TRACEPOINT(tcp, TCP_REQ_EXECUTED, tcp_req, SPOOR_USES, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_REQ_COMPLETED, tcp_req, SPOOR_ENDS, (const void *, qpair));
SPOOR_TRACEPOINT(tcp, TCP_NOTE, none, SPOOR_USES, (const char *, text), (double, load), (_Bool, busy));
SPOOR_RELATION(BDEV_IO_START, ctx, tcp_req);
SPOOR_RELATION(BDEV_IO_DONE, ctx, tcp_req);

SPOOR_TRACEPOINT_HERE(TCP_REQ_NEW);
SPOOR_TRACEPOINT_HERE(TCP_REQ_NEED_BUFFER);
SPOOR_TRACEPOINT_HERE(TCP_REQ_RDY_TO_EXECUTE);
SPOOR_TRACEPOINT_HERE(BDEV_IO_START);
SPOOR_TRACEPOINT_HERE(BDEV_IO_DONE);
SPOOR_TRACEPOINT_HERE(TCP_REQ_EXECUTED);
SPOOR_TRACEPOINT_HERE(TCP_REQ_COMPLETED);
SPOOR_TRACEPOINT_HERE(TCP_NOTE);

enum { EVENTS = 8 }; /* events of a request */

static uint64_t requests;
static unsigned pause_us;
static uint32_t device;

struct request {
    char bytes[64];
};

static void *work(void *argument)
{
    const size_t index = (size_t)argument;
    char name[16];
    struct request pool[8], ios[8];
    snprintf(name, sizeof name, "reactor_%zu", index);
    spoor_trace_thread(name);
    const uint32_t connection = spoor_owner_register(&spoor_owner_connection, name);
    for (uint64_t i = 0; !requests || i < requests; i++) {
        struct request *request = &pool[i % 8], *io = &ios[(i * 3) % 8];
        SPOOR_RECORD(TCP_REQ_NEW, connection, request, &pool);
        SPOOR_RECORD(TCP_REQ_NEED_BUFFER, connection, request, &pool);
        SPOOR_RECORD(TCP_REQ_RDY_TO_EXECUTE, connection, request, &pool);
        SPOOR_RECORD_SIZED(BDEV_IO_START, 512, device, io, i % 4 == 3 ? IO_WRITE : IO_READ, request, i * 8,
                           8);
        SPOOR_RECORD(BDEV_IO_DONE, device, io, request, -(int)(i % 2));
        SPOOR_RECORD(TCP_REQ_EXECUTED, connection, request, &pool);
        SPOOR_RECORD(TCP_NOTE, SPOOR_NO_OWNER, 0, i % 3 ? "steady as she goes" : NULL, (double)i / 2, i % 2);
        SPOOR_RECORD(TCP_REQ_COMPLETED, connection, request, &pool);
        if (pause_us)
            nanosleep(&(struct timespec){pause_us / 1000000, pause_us % 1000000 * 1000}, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fputs("usage: recording NAME REQUESTS THREADS PAUSE [ring KiB]\n", stderr);
        return 2;
    }
    const struct spoor_trace_options options = {
        .size = sizeof options,
        .name = argv[1],
        .enable = getenv("SPOOR_TRACE") ? NULL : "all",
        .flags = getenv("ANNOUNCE") ? SPOOR_TRACE_ANNOUNCE : 0,
        .ring_bytes = argc > 5 ? strtoull(argv[5], NULL, 10) << 10 : 0,
    };
    requests = strtoull(argv[2], NULL, 10);
    const unsigned threads = (unsigned)strtoul(argv[3], NULL, 10);
    pause_us = (unsigned)strtoul(argv[4], NULL, 10);
    if (spoor_trace_open(&options)) {
        fprintf(stderr, "%s\n", spoor_trace_error());
        return 1;
    }
    const char *become = getenv("BECOME");
    if (become && setuid((uid_t)atoi(become))) {
        perror("setuid");
        return 1;
    }
    device = spoor_owner_register(&spoor_owner_bdev, "null0");
    printf("%s\n", spoor_trace_path());
    fflush(stdout);
    pthread_t *all = calloc(threads + 1, sizeof *all);
    for (size_t i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, work, (void *)i);
    for (size_t i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    printf("%" PRIu64 "\n", requests * threads * EVENTS);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    free(all);
    return 0;
}
