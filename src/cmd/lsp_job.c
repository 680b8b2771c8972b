/* SPDX-License-Identifier: BSD-3-Clause */
/* A script is compiled in a child, which answers through a pipe: one that takes long is ended, and one that crashes
 * takes nothing with it. What it had to read from files is forgotten with it, so an answer is never an old one. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sandbox.h"
#include "base/whole.h"
#include "cmd/lsp.h"

enum { ANSWER_MAX = 16 << 20, READ_BYTES = 1 << 16, MEMORY_MAX = 1 << 30 };

static void limit(int resource, rlim_t most)
{
    struct rlimit old;
    if (!getrlimit((__rlimit_resource_t)resource, &old) &&
        (old.rlim_max == RLIM_INFINITY || old.rlim_max > most))
        setrlimit((__rlimit_resource_t)resource, &(struct rlimit){most, most});
}

/* The protocol's streams are not for a child. */
static void leave_streams(void)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0)
        _exit(1);
}

static void run(pid_t parent, int out, lsp_answerer *answer, const struct lsp_question *question,
                uint64_t patience_ms)
{
    struct text text = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    leave_streams();
    limit(RLIMIT_CPU, (rlim_t)(patience_ms / 1000 + 2));
    limit(RLIMIT_CORE, 0);
    if (!SANDBOX_IS_SANITIZED)
        limit(RLIMIT_DATA, MEMORY_MAX);
    answer(question, &text);
    _exit(text.failed || whole_write(out, text_string(&text), text.length, -1) ? 1 : 0);
}

int lsp_job_start(struct lsp_job *job, lsp_answerer *answer, const struct lsp_question *question,
                  uint64_t patience_ms)
{
    int ends[2];
    const pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return -errno;
    job->child = fork();
    if (job->child < 0) {
        const int error = -errno;
        close(ends[0]);
        close(ends[1]);
        return error;
    }
    if (!job->child)
        run(parent, ends[1], answer, question, patience_ms);
    close(ends[1]);
    job->pipe = ends[0];
    job->deadline_ms = clock_ms(CLOCK_MONOTONIC) + patience_ms;
    return 0;
}

/* The child has closed the pipe: it has ended. */
static int finish(struct lsp_job *job)
{
    int status;
    while (waitpid(job->child, &status, 0) < 0 && errno == EINTR)
        continue;
    job->child = 0;
    return WIFEXITED(status) && !WEXITSTATUS(status) ? 1 : -EIO;
}

int lsp_job_read(struct lsp_job *job)
{
    for (;;) {
        if (!text_reserve(&job->answer, READ_BYTES))
            return -ENOMEM;
        const ssize_t got = read(job->pipe, job->answer.bytes + job->answer.length, READ_BYTES);
        if (!got)
            return finish(job);
        if (got < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        job->answer.length += (size_t)got;
        job->answer.bytes[job->answer.length] = 0;
        if (job->answer.length > ANSWER_MAX)
            return -EFBIG;
    }
}

void lsp_job_end(struct lsp_job *job)
{
    if (job->child > 0) {
        kill(job->child, SIGKILL);
        finish(job);
    }
    close(job->pipe);
    text_free(&job->id);
    text_free(&job->answer);
    *job = (struct lsp_job){0};
}
