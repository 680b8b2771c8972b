/* SPDX-License-Identifier: BSD-3-Clause */
/* The relay: carries what is typed to the command's own terminal, and what is written there to the user's. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/rights.h"
#include "base/whole.h"
#include "session/command_monitor.h"

enum { PATIENCE_MS = 1000 /* how long a terminal may take nothing of what is written to it */ };

struct relay {
    int terminal, master, monitor, shown, signals;
    struct termios mode; /* the mode of the user's terminal while it is not taken */
    struct termios ours; /* the mode that the relay gave it */
    bool is_taken;       /* what is typed goes to the command */
    bool is_wanted;      /* it is to be taken whenever the relay is in the foreground */
    pid_t command;       /* its process group; 0: not known yet */
    bool is_over;        /* the command and the monitor have ended */
};

/* Whether what is typed at the user's terminal is meant for this job. A terminal that is not the controlling one has no
 * foreground, and counts as such. */
static bool is_foreground(const struct relay *relay)
{
    pid_t group = tcgetpgrp(relay->terminal);
    return group < 0 ? errno == ENOTTY : group == getpgrp();
}

static void notify(const struct relay *relay, char what)
{
    if (send(relay->monitor, &what, 1, MSG_NOSIGNAL) < 0)
        return; /* the monitor has ended: reading from it will show that */
}

static void copy_size(const struct relay *relay)
{
    struct winsize size;
    if (!ioctl(relay->terminal, TIOCGWINSZ, &size))
        ioctl(relay->master, TIOCSWINSZ, &size);
}

/* Sets the mode of the user's terminal while what is typed goes to the command: input passes unchanged. Output is processed
 * (newline to CR and newline) if the command's terminal does that, too: the output of the trace goes to the terminal
 * directly and needs it, and processing the command's output twice does no harm. */
static void set_mode(struct relay *relay)
{
    struct termios mode = relay->mode, theirs;
    cfmakeraw(&mode);
    mode.c_oflag = relay->mode.c_oflag;
    if (!tcgetattr(relay->master, &theirs) && !(theirs.c_oflag & OPOST))
        mode.c_oflag &= ~(tcflag_t)OPOST;
    if (!relay->is_taken || mode.c_oflag != relay->ours.c_oflag)
        tcsetattr(relay->terminal, TCSANOW, &mode);
    relay->ours = mode;
}

/* Whether two modes agree in what the relay sets. */
static bool is_like(const struct termios *a, const struct termios *b)
{
    return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_lflag == b->c_lflag;
}

static void take(struct relay *relay)
{
    relay->is_wanted = true;
    if (!relay->is_taken && (!is_foreground(relay) || tcgetattr(relay->terminal, &relay->mode)))
        return;
    copy_size(relay);
    set_mode(relay);
    relay->is_taken = true;
    notify(relay, MONITOR_FOREGROUND);
}

/* Gives the user's terminal its mode back, also in the background after the tracer was killed, unless the foreground job
 * has set a mode of its own meanwhile. */
static void release(struct relay *relay)
{
    struct termios now;
    if (relay->is_taken &&
        (is_foreground(relay) || (!tcgetattr(relay->terminal, &now) && is_like(&now, &relay->ours))))
        tcsetattr(relay->terminal, TCSANOW, &relay->mode);
    relay->is_taken = false;
}

/* Stops the whole job that the relay belongs to, as the terminal would. When the job continues, so does the command. */
static void stop(struct relay *relay, int number)
{
    sigset_t only;
    release(relay);
    sigemptyset(&only);
    sigaddset(&only, number);
    kill(0, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL); /* the relay is stopped here */
    sigprocmask(SIG_BLOCK, &only, NULL);
    if (relay->is_wanted)
        take(relay);
    if (!relay->is_taken) {
        notify(relay, MONITOR_BACKGROUND);
        notify(relay, MONITOR_GO_ON);
    }
}

/* Carries what was typed to the command. Ctrl-C and Ctrl-\ also go to the job of the trace, to which the user's terminal would
 * have sent them; but when the command is a shell with jobs, only to the one that it has in the foreground. */
static void carry_typed(const struct relay *relay)
{
    char typed[512]; /* less than a terminal buffers */
    struct termios theirs;
    ssize_t got = read(relay->terminal, typed, sizeof typed);
    if (got == 0 || (got < 0 && errno == EIO))
        _exit(0); /* the terminal was hung up */
    if (got < 0)
        return;
    bool has_signals = !tcgetattr(relay->master, &theirs) && (theirs.c_lflag & ISIG) &&
                       (!relay->command || tcgetpgrp(relay->master) == relay->command);
    whole_write(relay->master, typed, (size_t)got, PATIENCE_MS);
    for (ssize_t i = 0; has_signals && i < got; i++)
        if ((cc_t)typed[i] == theirs.c_cc[VINTR] && typed[i])
            kill(0, SIGINT);
        else if ((cc_t)typed[i] == theirs.c_cc[VQUIT] && typed[i])
            kill(0, SIGQUIT);
}

/* Removes the CR that the command's terminal has put before each newline, where the user's terminal adds one as well.
 * Returns the length that is left. */
static size_t without_returns(const struct relay *relay, char *bytes, size_t length)
{
    struct termios theirs, now;
    size_t kept = 0;
    if (tcgetattr(relay->master, &theirs) || tcgetattr(relay->terminal, &now) ||
        !(theirs.c_oflag & now.c_oflag & OPOST) || !(theirs.c_oflag & now.c_oflag & ONLCR))
        return length;
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != '\r' || i + 1 == length || bytes[i + 1] != '\n')
            bytes[kept++] = bytes[i];
    return kept;
}

/* Carries output to the user's terminal. False: there is no more now. */
static bool carry_written(struct relay *relay)
{
    char written[4096];
    ssize_t got = read(relay->master, written, sizeof written);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    if (relay->is_taken)
        set_mode(relay);
    whole_write(relay->terminal, written, without_returns(relay, written, (size_t)got), PATIENCE_MS);
    return true;
}

/* Shows the rest of what the command wrote, after it has ended. */
static void finish(struct relay *relay)
{
    while (carry_written(relay))
        ;
    release(relay);
    relay->is_wanted = false;
    if (write(relay->shown, "", 1) < 0)
        return; /* the tracer does not wait for it any more */
}

static void read_monitor(struct relay *relay)
{
    char what;
    ssize_t got = recv(relay->monitor, &what, 1, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        relay->is_over = true;
    } else if (what == MONITOR_GROUP) {
        relay->is_over = recv(relay->monitor, &relay->command, sizeof relay->command, MSG_WAITALL) !=
                         sizeof relay->command;
    } else if (what == MONITOR_ENDED) {
        finish(relay);
    } else if (what == MONITOR_STOPPED) {
        stop(relay, SIGTSTP);
    } else if (what == MONITOR_WANTS_TERMINAL) {
        take(relay);
        if (!relay->is_taken)
            stop(relay, SIGTTIN); /* the relay is in the background */
    }
}

/* Sends the command the signals that the terminal sends to all processes of a job, unless they were typed at the command's
 * own terminal, which has sent them already. */
static void read_signal(struct relay *relay)
{
    struct signalfd_siginfo signal;
    if (read(relay->signals, &signal, sizeof signal) != sizeof signal)
        return;
    int number = (int)signal.ssi_signo;
    if (number == SIGHUP) { /* the terminal has gone, or the tracer has */
        release(relay);
        _exit(0);
    } else if (number == SIGWINCH)
        copy_size(relay);
    else if (number == SIGCONT && relay->is_wanted && !relay->is_taken)
        take(relay); /* perhaps we are in the foreground now */
    else if (number != SIGCONT && !relay->is_taken)
        notify(relay, number == SIGINT ? MONITOR_INTERRUPT : number == SIGQUIT ? MONITOR_QUIT : MONITOR_STOP);
}

void command_relay(int terminal, int master, int monitor, int shown, bool takes)
{
    enum { SIGNALS, MONITOR, WRITTEN, TYPED, COUNT };
    struct relay relay = {.terminal = terminal, .master = master, .monitor = monitor, .shown = shown};
    static const int heard[] = {SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    sigset_t all, some;
    sigfillset(&all);
    /* also SIGTERM, which is meant for the tracer: the relay ends with that */
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&some);
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
        sigaddset(&some, heard[i]);
    prctl(PR_SET_NAME, "spoor-relay");
    rights_close_others((int[]){terminal, master, monitor, shown}, 4);
    relay.signals = signalfd(-1, &some, SFD_CLOEXEC | SFD_NONBLOCK);
    if (relay.signals < 0)
        _exit(126);
    if (takes)
        take(&relay);
    if (!relay.is_taken)
        notify(&relay, MONITOR_BACKGROUND);
    while (!relay.is_over) {
        struct pollfd ready[COUNT] = {[SIGNALS] = {relay.signals, POLLIN, 0},
                                      [MONITOR] = {monitor, POLLIN, 0},
                                      [WRITTEN] = {master, POLLIN, 0},
                                      [TYPED] = {relay.is_taken ? terminal : -1, POLLIN, 0}};
        if (poll(ready, COUNT, -1) < 0)
            continue;
        if (ready[WRITTEN].revents)
            carry_written(&relay);
        if (ready[SIGNALS].revents)
            read_signal(&relay);
        if (ready[MONITOR].revents)
            read_monitor(&relay);
        if (relay.is_taken && ready[TYPED].revents)
            carry_typed(&relay);
    }
    finish(&relay);
    _exit(0);
}
