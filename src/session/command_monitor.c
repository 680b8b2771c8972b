/* SPDX-License-Identifier: BSD-3-Clause */
/* The monitor: it leads the session of the new terminal and is the parent of the command. It sees when the command is
 * stopped, and sets which process group is in the foreground, which only a process of that session may do. */
#include "session/command_monitor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rights.h"

struct monitor {
    int slave, relay, number, signals;
    pid_t command; /* its process id, which is also that of its group */
    bool is_foreground, has_ended;
};

static void notify(const struct monitor *monitor, char what)
{
    if (monitor->relay >= 0 && send(monitor->relay, &what, 1, MSG_NOSIGNAL) < 0)
        return; /* the relay has ended: reading from it will show that */
}

/* Reports to the relay that the command has stopped or ended. A command that has ended stays a zombie, so that no other
 * process gets its number. SIGSTOP is not reported: the trace itself sends it, until all is attached. */
static void look(struct monitor *monitor)
{
    siginfo_t what = {0};
    if (!monitor->has_ended && !waitid(P_PID, (id_t)monitor->command, &what, WEXITED | WNOHANG | WNOWAIT) &&
        what.si_pid) {
        monitor->has_ended = true;
        notify(monitor, MONITOR_ENDED);
        return;
    }
    what.si_pid = 0;
    if (waitid(P_PID, (id_t)monitor->command, &what, WSTOPPED | WNOHANG) || !what.si_pid)
        return;
    bool reads = what.si_status == SIGTTIN || what.si_status == SIGTTOU;
    if (reads && !monitor->is_foreground)
        notify(monitor, MONITOR_WANTS_TERMINAL);
    else if (reads || what.si_status == SIGTSTP)
        notify(monitor, MONITOR_STOPPED);
}

static void signal_command(const struct monitor *monitor, int number)
{
    if (!monitor->has_ended)
        kill(-monitor->command, number);
}

/* Ends the command with the signal that a closed terminal sends. */
static void hang_up(struct monitor *monitor)
{
    signal_command(monitor, SIGHUP);
    signal_command(monitor, SIGCONT);
}

static void hear(struct monitor *monitor)
{
    char what;
    ssize_t got = recv(monitor->relay, &what, 1, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        if (monitor->number >= 0)
            _exit(126);
        close(monitor->relay);
        monitor->relay = -1;
        hang_up(monitor);
        return;
    }
    switch (what) {
    case MONITOR_FOREGROUND:
        monitor->is_foreground = !tcsetpgrp(monitor->slave, monitor->command);
        signal_command(monitor, SIGCONT);
        break;
    case MONITOR_BACKGROUND:
        tcsetpgrp(monitor->slave, getpgrp());
        monitor->is_foreground = false;
        break;
    case MONITOR_GO_ON: signal_command(monitor, SIGCONT); break;
    case MONITOR_INTERRUPT: signal_command(monitor, SIGINT); break;
    case MONITOR_QUIT: signal_command(monitor, SIGQUIT); break;
    case MONITOR_STOP: signal_command(monitor, SIGTSTP); break;
    default: break;
    }
    if (monitor->number >= 0 && write(monitor->number, &monitor->command, sizeof(pid_t)) != sizeof(pid_t))
        _exit(126);
    if (monitor->number >= 0)
        close(monitor->number);
    monitor->number = -1;
}

void command_monitor(int slave, int relay, int number, int life, pid_t command)
{
    enum { SIGNALS, RELAY, LIFE, COUNT };
    struct monitor monitor = {.slave = slave, .relay = relay, .number = number, .command = command};
    sigset_t all, heard;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    sigaddset(&heard, SIGHUP);
    prctl(PR_SET_NAME, "spoor-monitor");
    rights_close_others((int[]){slave, relay, number, life}, 4);
    notify(&monitor, MONITOR_GROUP);
    if (send(relay, &command, sizeof command, MSG_NOSIGNAL) != sizeof command)
        _exit(126);
    monitor.signals = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
    if (monitor.signals < 0)
        _exit(126);
    for (;;) {
        struct pollfd ready[COUNT] = {[SIGNALS] = {monitor.signals, POLLIN, 0},
                                      [RELAY] = {monitor.relay, POLLIN, 0},
                                      [LIFE] = {life, POLLIN, 0}};
        struct signalfd_siginfo signal;
        look(&monitor); /* the command may have changed before signals were caught */
        if (poll(ready, COUNT, -1) < 0)
            continue;
        while (read(monitor.signals, &signal, sizeof signal) == sizeof signal)
            if (signal.ssi_signo == SIGHUP)
                hang_up(&monitor);
        if (ready[RELAY].revents)
            hear(&monitor);
        if (ready[LIFE].revents)
            _exit(0);
    }
}
