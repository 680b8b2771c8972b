/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rights.h"

/* Nobody is asked for a password, for the questions of ten hosts would be mixed; a host that does not answer is given up; and
 * what the configuration says of terminals, commands and tunnels is for other uses. */
static const char *const options[] = {"-T",
                                      "-o",
                                      "BatchMode=yes",
                                      "-o",
                                      "ConnectTimeout=10",
                                      "-o",
                                      "ServerAliveInterval=5",
                                      "-o",
                                      "ServerAliveCountMax=3",
                                      "-o",
                                      "ClearAllForwardings=yes",
                                      "-o",
                                      "RemoteCommand=none",
                                      "-o",
                                      "LogLevel=ERROR",
                                      "--"};
enum { OPTIONS = sizeof options / sizeof *options, ENDS = 3 };

char **ssh_command(const char *words)
{
    char *text = strdup(words + strspn(words, " ")), *rest = text, *word;
    char **command = calloc(strlen(words) + OPTIONS + ENDS, sizeof *command);
    size_t count = 0;
    while (text && command && (word = strsep(&rest, " ")))
        if (*word)
            command[count++] = word;
    for (size_t i = 0; text && command && i < OPTIONS; i++)
        command[count++] = (char *)options[i];
    if (text && command)
        return command;
    free(text);
    free(command);
    return NULL;
}

void ssh_command_free(char **command)
{
    if (command)
        free(command[0]); /* all words are in one text */
    free(command);
}

/* ---- the script ---- */

/* Single quotes, backslashes, newlines and exclamation marks mean different things to different shells: there are none within
 * the quotes. Hosts may share a home directory: a copy has the architecture in its name, and replaces those of the same one. */
static const char find_spoor[] =
    "exec sh -c 'd=${XDG_CACHE_HOME:-$HOME/.cache}/spoor; f=; c=; h=; p=$(command -v spoor); m=$(uname -m); "
    "if test \"$p\" && test \"$(\"$p\" --version 2>/dev/null)\" = \"spoor " SPOOR_VERSION
    "\"; then f=$p; fi; ";
/* For each architecture that there is a binary for. */
static const char choose_binary[] = "if test \"$m\" = %s; then h=%016" PRIx64 "; n=%zu; fi; ";
static const char copy_spoor[] =
    "if test -z \"$f\" && test \"$h\"; then f=$d/spoor-" SPOOR_VERSION "-$m-$h; "
    "if test -x \"$f\" && test -O \"$f\"; then :; else "
    "echo \"" SSH_MARK "need $m\"; t=$d/new-$(uname -n)-$$; "
    "(umask 077; mkdir -p \"$d\" && chmod 700 \"$d\" && head -c $n >\"$t\" && "
    "test \"$(wc -c <\"$t\")\" -eq $n && chmod 700 \"$t\" && mv -f \"$t\" \"$f\") || "
    "{ rm -f \"$t\"; echo \"" SSH_MARK "failed\"; exit 1; }; "
    "for o in \"$d\"/spoor-*-\"$m\"-*; do test \"$o\" = \"$f\" || rm -f \"$o\"; done; "
    "echo \"" SSH_MARK "copied\"; c=1; fi; fi; ";
/* Without a binary: what another build of this version has copied there does, too. */
static const char miss_spoor[] =
    "if test -z \"$f\"; then for o in \"$d\"/spoor-" SPOOR_VERSION "-\"$m\"-*; do "
    "if test -x \"$o\" && test -O \"$o\"; then f=$o; fi; done; fi; "
    "if test -z \"$f\"; then echo \"" SSH_MARK "need $m\"; exit 1; fi; ";
static const char run_spoor[] = "test \"$c\" || echo \"" SSH_MARK "have\"; exec %s\"$f\" --remote-end'";

void ssh_script(struct text *out, const struct remote_binaries *binaries, bool sudo)
{
    text_add(out, find_spoor);
    for (size_t i = 0; i < binaries->count; i++)
        text_printf(out, choose_binary, binaries->of[i].machine, binaries->of[i].hash, binaries->of[i].size);
    text_add(out, copy_spoor);
    text_add(out, miss_spoor);
    text_printf(out, run_spoor, sudo ? "sudo -n -- " : "");
}

/* ---- the process ---- */

/* In the child: Ctrl-C is for spoor, which ends the hosts in order. */
static void run(char *const *command, const int *streams, pid_t parent)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        return;
    for (int i = 0; i < ENDS; i++)
        if (dup2(streams[i], i) < 0)
            return;
    rights_close_from(ENDS);
    execvp(command[0], command);
}

static int start(struct ssh *ssh, char *const *command, int *theirs)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC))
        return -errno;
    const pid_t parent = getpid();
    ssh->pid = fork();
    int error = ssh->pid < 0 ? errno : 0;
    if (!ssh->pid) {
        run(command, theirs, parent);
        error = errno;
        if (write(report[1], &error, sizeof error) < 0)
            _exit(1);
        _exit(1);
    }
    close(report[1]);
    if (!error && read(report[0], &error, sizeof error) != sizeof error)
        error = 0; /* it was closed by exec() */
    close(report[0]);
    if (error && ssh->pid > 0)
        waitpid(ssh->pid, NULL, 0);
    if (error)
        ssh->pid = 0;
    return -error;
}

int ssh_start(struct ssh *ssh, char *const *command, const char *host, const char *script)
{
    size_t count = 0;
    while (command[count])
        count++;
    char **whole = calloc(count + ENDS, sizeof *whole);
    int pairs[ENDS][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, error = whole ? 0 : -ENOMEM;
    *ssh = (struct ssh){0, -1, -1, -1};
    if (whole) {
        memcpy(whole, command, count * sizeof *whole);
        whole[count] = (char *)host;
        whole[count + 1] = (char *)script;
    }
    for (int i = 0; i < ENDS && !error; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]))
            error = -errno;
    int theirs[ENDS] = {pairs[0][1], pairs[1][1], pairs[2][1]};
    if (!error)
        error = start(ssh, whole, theirs);
    for (int i = 0; i < ENDS; i++) {
        if (theirs[i] >= 0)
            close(theirs[i]);
        if (error && pairs[i][0] >= 0)
            close(pairs[i][0]);
        else if (!error)
            fcntl(pairs[i][0], F_SETFL, O_NONBLOCK);
    }
    if (!error) {
        ssh->in = pairs[0][0];
        ssh->out = pairs[1][0];
        ssh->err = pairs[2][0];
    }
    free(whole);
    return error;
}

void ssh_end(struct ssh *ssh)
{
    enum { STEP_MS = 2, PATIENCE_MS = 200 };
    int *streams[] = {&ssh->in, &ssh->out, &ssh->err};
    for (int i = 0; i < ENDS; i++) {
        if (*streams[i] >= 0)
            close(*streams[i]);
        *streams[i] = -1;
    }
    if (ssh->pid)
        kill(ssh->pid, SIGTERM);
    for (int waited = 0; ssh->pid && waited < PATIENCE_MS; waited += STEP_MS) {
        if (waitpid(ssh->pid, NULL, WNOHANG) == ssh->pid)
            ssh->pid = 0;
        else
            nanosleep(&(struct timespec){.tv_nsec = STEP_MS * NSEC_PER_MSEC}, NULL);
    }
    if (ssh->pid) {
        kill(ssh->pid, SIGKILL);
        while (waitpid(ssh->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        ssh->pid = 0;
    }
}
