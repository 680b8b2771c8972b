/* SPDX-License-Identifier: BSD-3-Clause */
/* See lines.h. This side: the child, and what it may not do. The child's side: lines_child.c.
 *
 * One socket, one message each way: a question (with the file's descriptor when the child does not have it),
 * and the answer, or none in time. Files take places, the one that was used longest ago makes room. */
#include "sym/lines.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sym/lines_child.h"

enum {
    PATIENCE_MS = 5000, /* the first question about a file reads what leads to its units */
    LOOK_MS = 50,       /* how often it is asked meanwhile whether the answer is still wanted */
    CHILDREN_MOST = 8,  /* that failed, then no more */
};

struct lines {
    int socket; /* -1: no child */
    pid_t child;
    unsigned failures;
    bool (*leaves)(void *state); /* NULL: never */
    void *leaves_state;
    uint64_t keys[LINES_PLACES], used[LINES_PLACES], clock; /* key 0: the place is free */
    char answer[LINES_ANSWER + 1];
    struct line_frame frames[LINES_FRAMES_MOST];
};

struct lines *lines_open(void)
{
    struct lines *lines = calloc(1, sizeof *lines);
    if (lines)
        lines->socket = -1;
    return lines;
}

static void child_end(struct lines *lines)
{
    if (lines->socket < 0)
        return;
    close(lines->socket);
    kill(lines->child, SIGKILL);
    while (waitpid(lines->child, NULL, 0) < 0 && errno == EINTR)
        ;
    lines->socket = -1;
    memset(lines->keys, 0, sizeof lines->keys);
}

void lines_close(struct lines *lines)
{
    if (!lines)
        return;
    child_end(lines);
    free(lines);
}

void lines_may_leave(struct lines *lines, bool (*leaves)(void *state), void *state)
{
    lines->leaves = leaves;
    lines->leaves_state = state;
}

bool lines_in(const struct elf_file *file)
{
    struct elf_section section;
    return elf_file_descriptor(file) >= 0 && elf_file_section_named(file, ".debug_line", &section) &&
           section.type != SHT_NOBITS;
}

/* It keeps the socket and nothing else of ours; it ends with us. */
static void child_run(int socket)
{
    struct rlimit memory = {(rlim_t)LINES_MEMORY, (rlim_t)LINES_MEMORY}, none = {0, 0};
    int fd = 3;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "spoor-lines");
    if (socket != fd)
        dup2(socket, fd);
    syscall(SYS_close_range, fd + 1, ~0U, 0);
#ifndef __SANITIZE_ADDRESS__ /* its shadow alone is larger */
    setrlimit(RLIMIT_AS, &memory);
#else
    (void)memory;
#endif
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    lines_child(fd);
    _exit(0);
}

static int child_start(struct lines *lines)
{
    int pair[2];
    if (lines->failures >= CHILDREN_MOST)
        return -EIO;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return -errno;
    lines->child = fork();
    if (!lines->child)
        child_run(pair[1]);
    close(pair[1]);
    if (lines->child < 0) {
        close(pair[0]);
        return -EIO;
    }
    lines->socket = pair[0];
    return 0;
}

static unsigned place_of(struct lines *lines, uint64_t key, bool *is_new)
{
    unsigned place = 0;
    for (unsigned i = 0; i < LINES_PLACES; i++) {
        if (lines->keys[i] == key) {
            *is_new = false;
            lines->used[i] = ++lines->clock;
            return i;
        }
        if (lines->used[i] < lines->used[place])
            place = i;
    }
    *is_new = true;
    lines->keys[place] = key;
    lines->used[place] = ++lines->clock;
    return place;
}

static int ask(struct lines *lines, const struct lines_question *question, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec vector = {(void *)question, sizeof *question};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (question->is_new) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    }
    if (sendmsg(lines->socket, &message, MSG_NOSIGNAL) != sizeof *question)
        return -EIO;
    struct pollfd ready = {lines->socket, POLLIN, 0};
    int polled = 0;
    for (int waited = 0; waited < PATIENCE_MS && polled <= 0; waited += LOOK_MS) {
        polled = poll(&ready, 1, LOOK_MS);
        if ((polled < 0 && errno != EINTR) ||
            (!polled && lines->leaves && lines->leaves(lines->leaves_state)))
            break;
    }
    ssize_t got = polled > 0 ? recv(lines->socket, lines->answer, LINES_ANSWER, 0) : -1;
    return got > 0 ? (int)got : -EIO;
}

/* For each frame: line, function, file; the child is not trusted either. */
static int take_answer(struct lines *lines, size_t size)
{
    int count = 0;
    const char *at = lines->answer, *end = at + size;
    lines->answer[size] = '\0';
    for (at++; count < LINES_FRAMES_MOST && end - at > (ptrdiff_t)sizeof(uint32_t); count++) {
        uint32_t line;
        memcpy(&line, at, sizeof line);
        const char *function = at + sizeof line, *file = function + strlen(function) + 1;
        if (file >= end)
            break;
        lines->frames[count] = (struct line_frame){*function ? function : NULL, file, line};
        at = file + strlen(file) + 1;
    }
    return count;
}

int lines_find(struct lines *lines, const struct elf_file *file, uint64_t key, uint64_t address,
               const struct line_frame **out)
{
    if (lines->socket < 0 && child_start(lines))
        return -EIO;
    struct lines_question question = {.address = address};
    question.place = place_of(lines, key, &question.is_new);
    int size = ask(lines, &question, elf_file_descriptor(file));
    if (size < 0) {
        lines->failures++;
        child_end(lines);
        return -EIO;
    }
    *out = lines->frames;
    return lines->answer[0] == LINES_NONE ? -EIO : take_answer(lines, (size_t)size);
}
