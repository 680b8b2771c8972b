/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the child process that reads files on the parent's behalf (apart.c): what it may do, what it may not,
 * and what happens when it misbehaves. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sym/apart.h"

enum kind { ECHO, SIZE, TRY, CRASH, HANG, FLOOD, LIE, TELL, FAIL, WHO, COUNT };
enum try {
    TRY_OPEN,
    TRY_CREATE,
    TRY_SOCKET,
    TRY_FORK,
    TRY_EXEC,
    TRY_CODE,
    TRY_CODE_LATER,
    TRY_KILL,
    TRY_KEPT,
    TRY_OTHER,
    TRIES
};
enum { PATIENCE_MS = 20000 };

static int kept = -1, other = -1;

static bool is_done(enum try what)
{
    void *memory = MAP_FAILED;
    switch (what) {
    case TRY_OPEN: return open("/etc/passwd", O_RDONLY) >= 0;
    case TRY_CREATE: return open("/tmp", O_RDWR | O_TMPFILE, 0600) >= 0;
    case TRY_SOCKET: return socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
    case TRY_FORK: return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0;
    case TRY_EXEC: execl("/bin/true", "true", NULL); return false;
    case TRY_CODE:
        memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return memory != MAP_FAILED;
    case TRY_CODE_LATER:
        memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return memory != MAP_FAILED && !mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    case TRY_KILL: return !kill(getppid(), 0);
    case TRY_KEPT: return fcntl(kept, F_GETFD) >= 0;
    case TRY_OTHER: return fcntl(other, F_GETFD) >= 0;
    default: return false;
    }
}

static int serve(void *state, struct apart_question *question, struct text *answer)
{
    struct text told = {0};
    struct stat status;
    unsigned *count = state;
    ++*count;
    switch (question->kind) {
    case ECHO: wire_put_text(answer, wire_take_text(&question->in)); break;
    case SIZE: wire_put(answer, fstat(question->fd, &status) ? 0 : (uint64_t)status.st_size); break;
    case TRY: wire_put(answer, is_done((enum try)wire_take(&question->in))); break;
    case CRASH: abort();
    case HANG:
        for (;;)
            usleep(1000);
    case FLOOD:
        for (;;) {
            text_clear(&told);
            wire_put(&told, 1);
            apart_notify(7, &told);
        }
    case LIE: /* a text without its NUL, and a count larger than the bytes that follow */
        wire_put_bytes(answer, "lie", 3);
        wire_put(answer, UINT64_MAX - 1);
        break;
    case TELL:
        wire_put_text(&told, "half");
        apart_notify(3, &told);
        text_free(&told);
        break;
    case FAIL: return -ENOTSUP;
    case WHO: wire_put(answer, (uint64_t)syscall(SYS_getpid)); break;
    case COUNT: wire_put(answer, *count); break;
    default: break;
    }
    return 0;
}

static struct text heard;
static unsigned heard_count;
static void hear(void *state, uint32_t kind, struct cursor *told)
{
    const char *text = kind == 3 ? wire_take_text(told) : NULL;
    (void)state;
    heard_count++;
    if (text)
        text_add(&heard, text);
}

static struct apart *start(bool may_open)
{
    static unsigned count;
    static int keep[2] = {-1, -1};
    struct apart *apart = NULL;
    count = 0;
    keep[0] = kept;
    const struct apart_options options = {.name = "apart-test",
                                          .serve = serve,
                                          .state = &count,
                                          .keep = keep,
                                          .memory = (uint64_t)8 << 30,
                                          .may_open = may_open,
                                          .patience_ms = PATIENCE_MS,
                                          .hear = hear};
    assert_int_equal(apart_start(&options, &apart), 0);
    return apart;
}

static int ask(struct apart *apart, enum kind kind, uint64_t number, struct apart_answer *answer)
{
    struct text question = {0};
    wire_put(&question, number);
    int error = apart_ask(apart, kind, &question, -1, answer);
    text_free(&question);
    return error;
}

static void test_answers(void **state)
{
    struct apart *apart = start(false);
    struct apart_answer answer;
    struct text question = {0}, big = {0};
    (void)state;
    text_fill(&big, 'x', 5 << 20);
    wire_put_text(&question, text_string(&big));
    assert_int_equal(apart_ask(apart, ECHO, &question, -1, &answer), 0);
    assert_string_equal(wire_take_text(&answer.in), text_string(&big));
    assert_true(cursor_is_done(&answer.in));
    apart_answer_free(&answer);
    int fd = open("/proc/self/exe", O_RDONLY);
    struct stat status;
    fstat(fd, &status);
    assert_int_equal(apart_ask(apart, SIZE, NULL, fd, &answer), 0);
    assert_int_equal(wire_take(&answer.in), status.st_size);
    apart_answer_free(&answer);
    assert_int_equal(ask(apart, FAIL, 0, &answer), -ENOTSUP);
    apart_answer_free(&answer);
    assert_int_equal(ask(apart, COUNT, 0, &answer), 0); /* the child's state survives between questions */
    assert_int_equal(wire_take(&answer.in), 4);
    apart_answer_free(&answer);
    assert_false(apart_is_gone(apart));
    apart_end(apart);
    close(fd);
    text_free(&question);
    text_free(&big);
}

static void test_hears(void **state)
{
    struct apart *apart = start(false);
    struct apart_answer answer;
    (void)state;
    assert_int_equal(ask(apart, TELL, 0, &answer), 0);
    assert_string_equal(text_string(&heard), "half");
    apart_answer_free(&answer);
    text_free(&heard);
    heard_count = 0;
    /* the child notifies without end and never answers */
    assert_int_equal(ask(apart, FLOOD, 0, &answer), -EBADMSG);
    assert_in_range(heard_count, 1, 1000);
    assert_true(apart_is_gone(apart));
    apart_end(apart);
}

/* Returns the value of one field of /proc/PID/status, without blanks. It is valid until the next call. */
static const char *text_of(pid_t pid, const char *name)
{
    static char line[512];
    char path[64];
    const char *found = NULL;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (!found && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            found = line + strlen(name) + strspn(line + strlen(name), " \t\n");
    fclose(file);
    assert_non_null(found);
    return found;
}

static uint64_t status_of(pid_t pid, const char *name, int base)
{
    return strtoull(text_of(pid, name), NULL, base);
}

static void test_may_do_nothing(void **state)
{
    struct apart_answer answer;
    (void)state;
    kept = open("/dev/null", O_RDONLY);
    other = open("/dev/null", O_RDONLY);
    struct apart *apart = start(false);
    for (enum try what = 0; what < TRIES; what++) {
        assert_int_equal(ask(apart, TRY, what, &answer), 0);
        if (wire_take(&answer.in) != (what == TRY_KEPT))
            fail_msg("number %d", (int)what);
        apart_answer_free(&answer);
    }
    assert_int_equal(ask(apart, WHO, 0, &answer), 0);
    pid_t child = (pid_t)wire_take(&answer.in);
    assert_int_equal(status_of(child, "NoNewPrivs:", 10), 1);
    assert_int_equal(status_of(child, "Seccomp:", 10), 2);
    assert_int_equal(status_of(child, "CapEff:", 16), 0);
    assert_int_equal(status_of(child, "CapPrm:", 16), 0);
    assert_int_equal(status_of(child, "CapInh:", 16), 0);
    assert_int_equal(status_of(child, "CapAmb:", 16), 0);
    assert_true(geteuid() ? status_of(child, "Uid:", 10) == getuid() : status_of(child, "Uid:", 10) != 0);
    assert_true(geteuid() || !*text_of(child, "Groups:"));
    apart_answer_free(&answer);
    apart_end(apart);
    apart = start(true);
    assert_int_equal(ask(apart, TRY, TRY_OPEN, &answer), 0);
    assert_true(wire_take(&answer.in));
    apart_answer_free(&answer);
    assert_int_equal(ask(apart, TRY, TRY_CREATE, &answer), 0);
    assert_false(wire_take(&answer.in));
    apart_answer_free(&answer);
    apart_end(apart);
    close(kept);
    close(other);
    kept = other = -1;
}

static bool leave_at_once(void *state)
{
    ++*(unsigned *)state;
    return true;
}

static void test_misbehaves(void **state)
{
    struct apart_answer answer;
    struct apart *apart = start(false);
    struct text large = {0};
    unsigned asked = 0;
    (void)state;
    assert_int_equal(ask(apart, CRASH, 0, &answer), -EBADMSG);
    assert_true(apart_is_gone(apart));
    assert_int_equal(ask(apart, ECHO, 0, &answer), -EBADMSG);
    apart_end(apart);
    apart = start(false);
    apart_may_leave(apart, leave_at_once, &asked);
    assert_int_equal(ask(apart, HANG, 0, &answer), -EBADMSG);
    assert_int_equal(asked, 1);
    apart_end(apart);
    /* A child that reads no question, so that a large question does not fit into the socket. */
    apart = start(false);
    assert_int_equal(ask(apart, WHO, 0, &answer), 0);
    pid_t child = (pid_t)wire_take(&answer.in);
    apart_answer_free(&answer);
    assert_int_equal(kill(child, SIGSTOP), 0);
    text_fill(&large, 'x', 16 << 20);
    apart_may_leave(apart, leave_at_once, &asked);
    assert_int_equal(apart_ask(apart, ECHO, &large, -1, &answer), -EBADMSG);
    assert_int_equal(asked, 2);
    text_free(&large);
    apart_end(apart);
    apart = start(false);
    assert_int_equal(ask(apart, LIE, 0, &answer), 0);
    assert_null(wire_take_text(&answer.in));
    assert_true(answer.in.is_bad);
    assert_int_equal(wire_take(&answer.in), 0);
    assert_false(cursor_is_done(&answer.in));
    apart_answer_free(&answer);
    apart_end(apart);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left, not even a zombie */
}

/* A process forked from the test must not use the test's child: it is not its own. */
static void test_forked(void **state)
{
    struct apart *apart = start(false);
    struct apart_answer answer;
    int status;
    (void)state;
    pid_t child = fork();
    if (!child) {
        bool is_right = apart_is_gone(apart) && ask(apart, COUNT, 0, &answer) == -EBADMSG;
        apart_end(apart);
        _exit(is_right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(ask(apart, COUNT, 0, &answer), 0);
    assert_int_equal(wire_take(&answer.in), 1);
    apart_answer_free(&answer);
    apart_end(apart);
}

static void *start_in_thread(void *state)
{
    struct apart *apart = start(false);
    struct apart_answer answer;
    (void)state;
    assert_int_equal(ask(apart, COUNT, 0, &answer), 0); /* by now the child has finished its own setup */
    apart_answer_free(&answer);
    return apart;
}

/* A thread that opens a trace may end before the trace does: the child must outlive the thread. */
static void test_outlives_thread(void **state)
{
    struct apart_answer answer;
    pthread_t thread;
    void *apart;
    (void)state;
    apart_outlive_threads();
    assert_int_equal(pthread_create(&thread, NULL, start_in_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, &apart), 0);
    assert_int_equal(ask(apart, COUNT, 0, &answer), 0);
    assert_int_equal(wire_take(&answer.in), 2);
    apart_answer_free(&answer);
    apart_end(apart);
}

static void test_wire(void **state)
{
    struct text bytes = {0};
    size_t size;
    (void)state;
    wire_put(&bytes, 7);
    wire_put_text(&bytes, NULL);
    wire_put_text(&bytes, "");
    wire_put_bytes(&bytes, "abcdefghi", 9);
    struct cursor in = cursor_over(bytes.bytes, bytes.length);
    assert_int_equal(wire_take_within(&in, 7), 7);
    assert_null(wire_take_text(&in));
    assert_string_equal(wire_take_text(&in), "");
    assert_memory_equal(wire_take_bytes(&in, &size), "abcdefghi", 9);
    assert_int_equal(size, 9);
    assert_true(cursor_is_done(&in));
    for (size_t cut = 0; cut < bytes.length;
         cut++) { /* wherever the message is cut, it is bad, and nothing behind it is read */
        char *part = malloc(cut + 1);
        memcpy(part, bytes.bytes, cut);
        in = cursor_over(part, cut);
        wire_take(&in);
        wire_take_text(&in);
        wire_take_text(&in);
        wire_take_bytes(&in, &size);
        assert_true(in.is_bad);
        free(part);
    }
    text_clear(&bytes);
    wire_put(&bytes, UINT64_MAX / 4);
    wire_put(&bytes, 1);
    in = cursor_over(bytes.bytes, bytes.length);
    assert_int_equal(wire_take_count(&in, 8), 0);
    assert_true(in.is_bad);
    text_clear(&bytes);
    wire_put_bytes(&bytes, "abcdefg", 7);
    in = cursor_over(bytes.bytes, bytes.length);
    assert_null(wire_take_array(&in, 2, &size)); /* the bytes hold three and a half elements */
    text_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_hears),
        cmocka_unit_test(test_misbehaves),
        cmocka_unit_test(test_forked),
        cmocka_unit_test(test_may_do_nothing),
        cmocka_unit_test(test_outlives_thread), /* the last, because the restrictions cannot be undone */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
