/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments in, exit status out: the only folder that prints to the terminal and decides what is fatal. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/on.h"
#include "cmd/recordings.h"
#include "cmd/tools.h"

/* Opens /dev/null in the place of standard streams that are closed. Otherwise the next file to be opened would take
 * the place, and what is meant for the user would be written to it. They are opened so that they cannot be used,
 * and reading or writing reports it. */
static int hold_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd) {
            fputs("ERROR: cannot open /dev/null in the place of a standard stream that is closed\n", stderr);
            return 1;
        }
    return 0;
}

/* Makes the C library return large pieces of memory when they are freed. By default it keeps them after the first
 * ones to be faster, and a trace of days would keep what it needed once. */
static void hand_memory_back(void)
{
    enum { LARGE = 1 << 20 };
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, LARGE);
}

static int run(int argc, char **argv)
{
    hand_memory_back();
    if (hold_standard_streams())
        return 1;
    if (getuid() != geteuid() || getgid() != getegid()) {
        fputs("ERROR: spoor is not made to be set-user-ID: whoever may run it could read everything\n"
              "HINT: let sudo decide who may, or give the file the capabilities it needs: see "
              "docs/SECURITY.md\n",
              stderr);
        return 1;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that must not grow is an error, as a full disk is */
    const bool is_bpftrace = peer_is_called(argc, argv); /* bpftrace has no commands */
    const struct command_line *command = argc > 1 && !is_bpftrace ? command_find(argv[1]) : NULL;
    if (command)
        return command->run(argc - 1, argv + 1);
    if (argc == 1 && !is_bpftrace)
        return command_print_menu(), 0;
    static struct options options; /* its lists live as long as the process */
    options.is_peer = is_bpftrace;
    if (options_parse(&options, argc, argv)) {
        if (is_bpftrace)
            peer_usage(stderr);
        return 1;
    }
    if (options.on.is_remote_end)
        return command_remote_end();
    if (options.help) {
        if (options.file && !is_bpftrace && !tool_help(options.file))
            return 0;
        is_bpftrace ? peer_usage(stdout) : options_help(stdout);
        return 0;
    }
    if (options.version) {
        is_bpftrace ? peer_version() : (void)fputs("spoor " SPOOR_VERSION "\n", stdout);
        return 0;
    }
    if (options.lists_tools)
        return tools_list(stdout), 0;
    if (options.info)
        return command_info(&options);
    if (options.lists && !options.script_count && !options.file)
        return command_list(&options);
    return command_script(&options);
}

int main(int argc, char **argv)
{
    const int status = run(argc, argv);
    /* Files of others are opened by what /proc/self/fd names: without it each of them seems not to be there. */
    if (status && access("/proc/self/fd", F_OK) && errno == ENOENT)
        fputs("HINT: /proc is not mounted, and without it files are not found: mount -t proc proc /proc\n",
              stderr);
    return status;
}
