/* SPDX-License-Identifier: BSD-3-Clause */
/* Parent and child share a stream socket. Each message is a head, followed by as many bytes as that says. The file
 * of a question is sent along with its head. A question costs two changes of process: each message is sent and, if it
 * is small, received by one call, because who waits for it would be woken twice by two. */
#include "sym/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rights.h"
#include "base/sandbox.h"
#include "base/whole.h"

enum {
    LOOK_MS = 50,     /* ms between checks whether the answer is still wanted */
    GRACE_MS = 2000,  /* how long a child that was killed may take to die */
    STREAMS = 3,      /* the standard streams */
    NOTICES_MAX = 64, /* how many may come before an answer */
    KEPT_MAX = 8,     /* descriptors that a child may keep */
    AT_ONCE = 4096,   /* bytes of a message that are received with its head */
};
#define MESSAGE_MAX ((uint64_t)512 << 20)

enum frame { FRAME_QUESTION, FRAME_ANSWER, FRAME_NOTICE };
struct head {
    uint32_t frame; /* enum frame */
    uint32_t kind;
    int64_t status; /* in an answer: 0 or -errno */
    uint64_t size;  /* bytes that follow */
};

struct apart {
    struct apart_options options;
    int socket; /* -1: the child is gone */
    pid_t child, parent;
    apart_leaves *leaves;
    void *leaves_state;
    char came[AT_ONCE]; /* what was received and not taken yet */
    size_t taken, come;
};

static int inside = -1; /* the child's socket */
static bool is_pretended;
static const struct apart_options *listener; /* whose question is being answered in this process, for tests */

static bool outlives;

void apart_outlive_threads(void)
{
    outlives = true;
}

bool apart_inside(void)
{
    return inside >= 0 || is_pretended;
}

static unsigned deaths;

unsigned apart_deaths(void)
{
    return deaths;
}

static void (*change_answer)(struct text *answer); /* for tests; NULL: answers are not changed */

void apart_answers_change(void (*change)(struct text *answer))
{
    change_answer = change;
}

void apart_pretend(void)
{
    is_pretended = true;
}

/* ---- the child ---- */

static bool send_inside(const struct head *head, const char *bytes)
{
    struct iovec parts[] = {{(void *)head, sizeof *head}, {(void *)bytes, head->size}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = head->size ? 2 : 1};
    ssize_t sent;
    while ((sent = sendmsg(inside, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    if (sent < 0)
        return false;
    const size_t done = (size_t)sent, of_bytes = done > sizeof *head ? done - sizeof *head : 0;
    return (done >= sizeof *head ||
            !whole_write(inside, (const char *)head + done, sizeof *head - done, -1)) &&
           (of_bytes == head->size || !whole_write(inside, bytes + of_bytes, head->size - of_bytes, -1));
}

void apart_notify(uint32_t kind, const struct text *notice)
{
    if (is_pretended && listener && listener->hear && !notice->failed) {
        struct cursor wire = cursor_over(notice->bytes, notice->length);
        listener->hear(listener->hear_state, kind, &wire);
    }
    struct head head = {.frame = FRAME_NOTICE, .kind = kind, .size = notice->length};
    if (inside >= 0 && !notice->failed && !send_inside(&head, notice->bytes))
        _exit(1);
}

/* Receives a question; only one is under way at any time. */
static bool receive(struct head *head, struct text *bytes, int *fd)
{
    char begin[AT_ONCE];
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec parts[] = {{head, sizeof *head}, {begin, sizeof begin}};
    struct msghdr message = {
        .msg_iov = parts, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got;
    *fd = -1;
    while ((got = recvmsg(inside, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    const size_t of_head = got > 0 ? (size_t)got < sizeof *head ? (size_t)got : sizeof *head : 0;
    if (got <= 0 ||
        (of_head < sizeof *head && whole_read(inside, (char *)head + of_head, sizeof *head - of_head)))
        return false;
    const size_t of_bytes = (size_t)got - of_head;
    if (of_bytes > head->size)
        return false;
    text_clear(bytes);
    text_append(bytes, begin, of_bytes);
    text_fill(bytes, '\0', head->size - of_bytes);
    return !bytes->failed &&
           (of_bytes == head->size || !whole_read(inside, bytes->bytes + of_bytes, head->size - of_bytes));
}

/* Lets the server do what it does meanwhile, until there is a question. */
static void wait_for_question(const struct apart_options *options)
{
    struct pollfd question = {.fd = inside, .events = POLLIN};
    while (options->idle && !poll(&question, 1, options->idle(options->state)))
        ;
}

static void serve(const struct apart_options *options)
{
    struct head head = {0};
    struct text bytes = {0}, answer = {0};
    struct apart_question question;
    while (receive(&head, &bytes, &question.fd)) {
        question.kind = head.kind;
        question.in = cursor_over(bytes.bytes, bytes.length);
        text_clear(&answer);
        int status = options->serve(options->state, &question, &answer);
        if (change_answer)
            change_answer(&answer);
        if (answer.failed || answer.length > MESSAGE_MAX)
            _exit(1);
        if (question.fd >= 0)
            close(question.fd);
        head = (struct head){
            .frame = FRAME_ANSWER, .kind = head.kind, .status = status, .size = status ? 0 : answer.length};
        if (!send_inside(&head, answer.bytes))
            break;
        if (answer.room > (1 << 20))
            text_free(&answer);
        wait_for_question(options);
    }
}

/* Closes all descriptors in the child but the socket and those that it is to keep. The standard streams lead
 * nowhere, except that reports of a sanitizer must be seen. */
static bool close_others(const int *keep)
{
    int kept[STREAMS + 1 + KEPT_MAX], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    size_t count = 0;
    for (int fd = 0; fd < STREAMS; fd++) {
        if (null < 0 || (!(SANDBOX_IS_SANITIZED && fd == STDERR_FILENO) && dup2(null, fd) < 0))
            return false;
        kept[count++] = fd;
    }
    kept[count++] = inside;
    for (; keep && *keep >= 0; keep++) {
        if (count == sizeof kept / sizeof *kept)
            return false;
        kept[count++] = *keep;
    }
    rights_close_others(kept, count);
    return true;
}

static void run(const struct apart_options *options, int socket, pid_t parent)
{
    struct sandbox sandbox = {
        .parent = parent, .memory = options->memory, .outlives = outlives, .may_open = options->may_open};
    struct stat status;
    inside = socket;
    if (options->may_open) {
        if (fstat(options->owned, &status))
            _exit(1);
        sandbox.user = status.st_uid;
        sandbox.group = status.st_gid;
    }
    prctl(PR_SET_NAME, options->name);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    if (!close_others(options->keep) || (options->begin && !options->begin(options->state)) ||
        sandbox_enter(&sandbox))
        _exit(1);
    serve(options);
    _exit(0);
}

/* ---- the parent ---- */

int apart_start(const struct apart_options *options, struct apart **out)
{
    int pair[2];
    struct apart *apart = calloc(1, sizeof *apart);
    if (!apart)
        return -ENOMEM;
    if (is_pretended) {
        *apart = (struct apart){.options = *options, .socket = -1, .parent = getpid()};
        *out = apart;
        return 0;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
        free(apart);
        return -errno;
    }
    *apart = (struct apart){.options = *options, .socket = pair[0], .parent = getpid()};
    apart->child = fork();
    if (!apart->child)
        run(options, pair[1], apart->parent);
    int error = apart->child < 0 ? -errno : 0;
    close(pair[1]);
    if (error) {
        close(pair[0]);
        free(apart);
        return error;
    }
    *out = apart;
    return 0;
}

/* Waits for a child that was killed. One that waits for a file system which does not answer dies only when that
 * answers or goes away: it is no longer waited for then. */
static void reap(pid_t child)
{
    const int process = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd dead = {process, POLLIN, 0};
    if (process >= 0 && !poll(&dead, 1, GRACE_MS))
        child = 0;
    if (process >= 0)
        close(process);
    while (child && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Ends the child. In a process that was forked from the parent the child is not this process's, so that only the
 * socket is closed. */
static void end_child(struct apart *apart)
{
    if (apart->socket < 0)
        return;
    close(apart->socket);
    apart->socket = -1;
    if (apart->parent != getpid())
        return;
    kill(apart->child, SIGKILL);
    reap(apart->child);
}

void apart_end(struct apart *apart)
{
    if (!apart)
        return;
    end_child(apart);
    free(apart);
}

bool apart_is_gone(const struct apart *apart)
{
    return !is_pretended && (apart->socket < 0 || apart->parent != getpid());
}

int apart_need(const struct apart_options *options, struct apart **apart)
{
    if (*apart && !apart_is_gone(*apart))
        return 0;
    apart_end(*apart);
    *apart = NULL;
    return apart_start(options, apart);
}

void apart_may_leave(struct apart *apart, apart_leaves *leaves, void *state)
{
    apart->leaves = leaves;
    apart->leaves_state = state;
}

/* Waits until the socket can be written to, or read from. False: it is too late, or the answer is not wanted any
 * more. */
static bool wait_for(const struct apart *apart, short events, uint64_t deadline)
{
    for (;;) {
        struct pollfd ready = {apart->socket, events, 0};
        const int polled = poll(&ready, 1, LOOK_MS);
        if (polled > 0)
            return true;
        if ((polled < 0 && errno != EINTR) || clock_ms(CLOCK_MONOTONIC) >= deadline ||
            (apart->leaves && apart->leaves(apart->leaves_state)))
            return false;
    }
}

/* Sends a head and its bytes, and a descriptor with the first of them; -1: there is none. */
static bool give(const struct apart *apart, const struct head *head, const char *bytes, int fd)
{
    const uint64_t deadline = clock_ms(CLOCK_MONOTONIC) + (uint64_t)apart->options.patience_ms;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    for (size_t at = 0; at < sizeof *head + head->size;) {
        const size_t of_head = at < sizeof *head ? at : sizeof *head, of_bytes = at - of_head;
        struct iovec parts[] = {{(char *)head + of_head, sizeof *head - of_head},
                                {(char *)bytes + of_bytes, head->size - of_bytes}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = head->size ? 2 : 1};
        if (fd >= 0 && !at) {
            message.msg_control = &control;
            message.msg_controllen = sizeof control;
        }
        const ssize_t sent = sendmsg(apart->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0)
            at += (size_t)sent;
        else if (errno == EAGAIN ? !wait_for(apart, POLLOUT, deadline) : errno != EINTR)
            return false;
    }
    return true;
}

static bool take(struct apart *apart, void *bytes, size_t size, uint64_t deadline)
{
    for (char *at = bytes; size;) {
        const size_t here = apart->come - apart->taken, part = here < size ? here : size;
        memcpy(at, apart->came + apart->taken, part);
        apart->taken += part;
        at += part;
        size -= part;
        if (!size)
            break;
        const bool is_large = size >= sizeof apart->came;
        const ssize_t got = is_large ? recv(apart->socket, at, size, MSG_DONTWAIT)
                                     : recv(apart->socket, apart->came, sizeof apart->came, MSG_DONTWAIT);
        if (got > 0 && is_large) {
            at += got;
            size -= (size_t)got;
        } else if (got > 0) {
            apart->taken = 0;
            apart->come = (size_t)got;
        } else if (!got || (errno == EAGAIN ? !wait_for(apart, POLLIN, deadline) : errno != EINTR)) {
            return false;
        }
    }
    return true;
}

/* Receives one message. NULL: the child is gone, or sent what it must not send. */
static char *take_frame(struct apart *apart, struct head *head)
{
    const uint64_t deadline = clock_ms(CLOCK_MONOTONIC) + (uint64_t)apart->options.patience_ms;
    if (!take(apart, head, sizeof *head, deadline) || head->size > MESSAGE_MAX || head->status > 0 ||
        head->status < -4095 || (head->frame != FRAME_ANSWER && head->frame != FRAME_NOTICE))
        return NULL;
    char *bytes = malloc(head->size + 1);
    if (bytes && !take(apart, bytes, head->size, deadline)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static int ask_ourselves(const struct apart *apart, uint32_t kind, const struct text *question, int fd,
                         struct apart_answer *out)
{
    struct text answer = {0};
    struct apart_question asked = {.kind = kind, .fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3)};
    if (question)
        asked.in = cursor_over(question->bytes, question->length);
    listener = &apart->options;
    int status = apart->options.serve(apart->options.state, &asked, &answer);
    listener = NULL;
    if (asked.fd >= 0)
        close(asked.fd);
    *out = (struct apart_answer){.in = cursor_over(answer.bytes, answer.length), .bytes = answer.bytes};
    return answer.failed ? -ENOMEM : status;
}

int apart_ask(struct apart *apart, uint32_t kind, const struct text *question, int fd,
              struct apart_answer *out)
{
    struct head head = {.frame = FRAME_NOTICE};
    char *bytes = NULL;
    *out = (struct apart_answer){.bytes = NULL};
    if (question && question->failed)
        return -ENOMEM;
    if (apart_is_gone(apart))
        return -EBADMSG;
    if (is_pretended)
        return ask_ourselves(apart, kind, question, fd, out);
    const struct head asked = {
        .frame = FRAME_QUESTION, .kind = kind, .size = question ? question->length : 0};
    const bool is_sent = give(apart, &asked, question ? question->bytes : NULL, fd);
    for (unsigned notice_count = 0; is_sent && notice_count <= NOTICES_MAX; notice_count++) {
        if (!(bytes = take_frame(apart, &head)) || head.frame != FRAME_NOTICE)
            break;
        struct cursor notice = cursor_over(bytes, head.size);
        if (apart->options.hear)
            apart->options.hear(apart->options.hear_state, head.kind, &notice);
        free(bytes);
        bytes = NULL;
    }
    if (!bytes) {
        deaths++;
        end_child(apart);
        return -EBADMSG;
    }
    *out = (struct apart_answer){.in = cursor_over(bytes, head.size), .bytes = bytes};
    return (int)head.status;
}

void apart_answer_free(struct apart_answer *answer)
{
    free(answer->bytes);
    answer->bytes = NULL;
}
