/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ready-made tools watch, a fixed number of times: actions KIND COUNT [A SECOND [FILE]]. With a rate
 * that is not 0 the actions are spread evenly over time, by spinning. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spoor/probe.h"

static const char *path = "/dev/null";

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void do_exec(void)
{
    pid_t child;
    char *arguments[] = {(char *)"/bin/true", (char *)"with", (char *)"some", (char *)"arguments", NULL};
    if (posix_spawn(&child, arguments[0], NULL, NULL, arguments, NULL))
        fail("posix_spawn");
    waitpid(child, NULL, 0);
}

static void do_open(void)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        fail(path);
    close(file);
}

static void do_syscall(void)
{
    getppid();
}

static void do_stat(void)
{
    struct stat status;
    if (stat(path, &status))
        fail(path);
}

/* Two processes on one CPU that wait for each other: two switches for each action. */
static void do_switch(void)
{
    static int to[2], from[2];
    static pid_t child;
    char byte = 0;
    if (!child) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(0, &cpus);
        sched_setaffinity(0, sizeof cpus, &cpus);
        if (pipe(to) || pipe(from) || (child = fork()) < 0)
            fail("pipe");
        if (!child) {
            close(to[1]);
            close(from[0]);
            while (read(to[0], &byte, 1) == 1 && write(from[1], &byte, 1) == 1) {
            }
            _exit(0);
        }
    }
    if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
        fail("pipe");
}

static void do_read(void)
{
    static int file = -1;
    static void *buffer;
    static off_t place;
    if (file < 0 &&
        ((file = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC)) < 0 || posix_memalign(&buffer, 4096, 4096)))
        fail(path);
    ssize_t got = pread(file, buffer, 4096, place);
    if (got < 0)
        fail(path);
    place = got ? place + 4096 : 0;
}

static void do_sync(void)
{
    static int file = -1;
    if (file < 0 && (file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0)
        fail(path);
    fsync(file);
}

static void do_tcp(void)
{
    static int listener = -1;
    static struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    if (listener < 0) {
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16) ||
            getsockname(listener, (struct sockaddr *)&address, &length))
            fail("listen");
    }
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), server = -1;
    if (connect(client, (struct sockaddr *)&address, sizeof address) ||
        (server = accept(listener, NULL, NULL)) < 0)
        fail("connect");
    struct linger linger = {.l_onoff = 1}; /* no port stays reserved */
    setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(client);
    close(server);
}

static void do_resolve(void)
{
    struct addrinfo *found;
    if (!getaddrinfo("127.0.0.1", NULL, NULL, &found))
        freeaddrinfo(found);
}

static void do_query(void)
{
    SPOOR_PROBE(postgresql, query__start, "SELECT abalance FROM pgbench_accounts WHERE aid = 65226");
    SPOOR_PROBE(postgresql, query__done, "SELECT abalance FROM pgbench_accounts WHERE aid = 65226");
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"exec", do_exec},       {"open", do_open},   {"syscall", do_syscall}, {"stat", do_stat},
    {"switch", do_switch},   {"read", do_read},   {"sync", do_sync},       {"tcp", do_tcp},
    {"resolve", do_resolve}, {"query", do_query},
};

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    long count = argc > 2 ? atol(argv[2]) : 0;
    double every = argc > 3 && atol(argv[3]) > 0 ? 1e9 / (double)atol(argv[3]) : 0, begin = now_ns();
    if (argc > 4)
        path = argv[4];
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, argv[1]))
            continue;
        for (long k = 0; k < count; k++) {
            while (every > 0 && now_ns() - begin < every * (double)k) {
            }
            kinds[i].run();
        }
        return 0;
    }
    return fprintf(stderr, "usage: actions KIND COUNT [A SECOND [FILE]]\n"), 2;
}
