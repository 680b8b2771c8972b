# SPDX-License-Identifier: BSD-3-Clause
"""A command of -c at a terminal: commands.py SPOOR COMMANDS. Prints "ok …" and "not ok …".

A shell of ours leads the session of a pseudo-terminal and starts spoor as a job in the foreground, as an interactive shell
does. What it says stands in <>. A step waits for a text, then types, or does something else."""
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

spoor, commands = sys.argv[1:3]
LIMIT = 60


def processes():
    """(number, name, state, parent, group) of all."""
    for entry in os.listdir("/proc"):
        try:
            number, name, state, parent, group = re.match(r"(\d+) \((.*)\) (.) (\d+) (\d+)", open("/proc/%s/stat" % entry).read()).groups()
        except (OSError, AttributeError):
            continue
        yield int(number), name, state, int(parent), int(group)


def all_stand(job):
    return all(state in "TtZX" for _, name, state, _, group in processes() if group == job and not name.startswith("spoor-"))


def shell(job, slave, background):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(slave, fd)
    os.closerange(3, 100)
    for number in (signal.SIGTTOU, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    mode = termios.tcgetattr(0)
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        if not background:
            os.tcsetpgrp(0, os.getpgrp())
        for number in (signal.SIGTTOU, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.write(1, b"<job %d>" % os.getpid())  # by the job, so that it comes before all that the job prints
        os.execvp(job[0], job)
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass
    if background:  # fg, when it is asked for
        while b"fg" not in os.read(0, 100):
            pass
        os.write(1, b"<on>")
        os.tcsetpgrp(0, pid)
        os.killpg(pid, signal.SIGCONT)
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            break
        while not all_stand(pid):  # one that was just reading would take what is typed next
            time.sleep(0.001)
        same = termios.tcgetattr(0) == mode
        os.write(1, b"<stopped %d, mode %s>" % (os.WSTOPSIG(status), b"same" if same else b"changed"))
        while b"fg" not in os.read(0, 100):
            pass
        termios.tcsetattr(0, termios.TCSANOW, mode)
        os.write(1, b"<on>")
        os.tcsetpgrp(0, pid)
        os.killpg(pid, signal.SIGCONT)
    for _ in range(500):  # who was killed left the mode to somebody who needs a moment
        if termios.tcgetattr(0) == mode:
            break
        time.sleep(0.01)
    os.write(1, b"<mode %s>" % (b"same" if termios.tcgetattr(0) == mode else b"changed"))
    while select.select([0], [], [], 0)[0]:
        os.write(1, b"<comes %r>" % os.read(0, 100))
    os.write(1, b"<status %d>" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def at_terminal(job, *steps, size=(24, 80), background=False):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    child = os.fork()
    if not child:
        shell(job, slave, background)
    os.close(slave)
    out, steps, end = "", list(steps), time.monotonic() + LIMIT
    seen = 0
    while time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            out += part.decode("utf-8", "replace")
        while steps and steps[0][0] in out[seen:]:
            text, action = steps.pop(0)
            seen = out.index(text, seen) + len(text)
            if callable(action):
                action(master, int(re.search(r"<job (\d+)>", out)[1]))
            else:
                os.write(master, action.encode())
    else:
        out += "<it did not end>"
    os.close(master)
    try:
        os.killpg(child, signal.SIGHUP)
    except OSError:
        pass
    os.waitpid(child, 0)
    return out


def check(name, out, *patterns, never=()):
    missing = [pattern for pattern in patterns if not re.search(pattern, out, re.S)]
    found = [pattern for pattern in never if re.search(pattern, out, re.S)]
    if missing or found:
        print("not ok %s: %s missing, %s found in %s" % (name, missing, found, ascii(out[-2500:])), flush=True)
    else:
        print("ok " + name, flush=True)


forever = "interval:s:1000 { } end { printf(\"the end\\n\"); }"


def traced(command, *options, script=forever):
    return [spoor, "-q", *options, "-c", command, "-e", script]


def other(command, *options, script=forever):
    return traced(command, "--user", "65534", *options, script=script)


def send(number):
    return lambda master, job: os.kill(job, number)


whole = r"<mode same><status 0>"
typed = r"<comes"

# ---- typing ----
out = at_terminal(traced(commands + " type"))
if "<comes b'typed" in out:
    print("ok TIOCSTI works here, as root's own command shows")
else:
    print("skip TIOCSTI: this kernel does not offer it")
check("another user cannot type", at_terminal(other(commands + " type")), "tried with", "the end", whole, never=[typed])
check("nor where only /dev/tty is the terminal", at_terminal(["sh", "-c", 'exec "$@" </dev/null 2>&1 | cat', "sh"] + other(commands + " type")), "tried with", "<mode same>", never=[typed])
os.environ.update(SUDO_UID="65534", SUDO_GID="65534")
check("nor who called sudo", at_terminal(traced(commands + " type")), "tried with", whole, never=[typed])
del os.environ["SUDO_UID"], os.environ["SUDO_GID"]
tty = "sh -c 'echo \"[$(tty)]\"; stty -a'"
mine = at_terminal(["sh", "-c", tty[7:-1].replace('\\"', '"')])
same = re.search(r"\[(.*?)\]", at_terminal(traced(tty)))
check("root's own command has the terminal itself", "%s" % (same and same[1] in os.listdir("/dev/pts") or same and same[1]), "/dev/pts")

# ---- signals of the terminal ----
wait = "sh -c 'echo ready; exec sleep 1000'"
for name, make in (("root's own", traced), ("another user's", other)):
    check("Ctrl-C ends the trace and the command, " + name, at_terminal(make(wait), ("ready", "\x03")), "the end", whole)
    check("Ctrl-Z stops both, fg goes on, " + name, at_terminal(make("sh -c 'echo ready; read a; echo got $a'"), ("ready", "\x1a"), ("<stopped", "fg\n"), ("<on>", "text\n")),
          "<stopped 20, mode same>.*got text.*the end", whole)
    check("end of input, " + name, at_terminal(make("sh -c 'echo ready; cat; echo over'"), ("ready", "a line\n"), ("a line\r\na line", "\x04")), "over.*the end", whole)
    check("a program in raw mode stops itself, " + name, at_terminal(make(commands + " raw"), ("ready", "\x1a"), ("<stopped", "fg\n"), ("resumed", "q")),
          "raw\nready.*<stopped 20, mode same>.*resumed.*the end", whole)
    check("window size, " + name,
          at_terminal(make(commands + " size"),
                      ("size 81x25", lambda master, job: fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))), ("size 99x33 new", "\x04"), size=(25, 81)),
          "the end", whole)
    check("lines are lines, " + name, at_terminal(make(commands + " lines 2")), "line 2\r+\nline 1\r+\n.*the end\r+\n", whole)
    check("Ctrl-C of a job in the command is that job's, " + name, at_terminal(make(commands + " jobs"), ("sleeping", "\x03"), ("still", "\n")), "still.*the end", whole,
          never=["the end.*still"])
    check("SIGTERM, " + name, at_terminal(make(wait), ("ready", send(signal.SIGTERM))), "the end.*<mode same>")
    check("SIGHUP, " + name, at_terminal(make(wait), ("ready", send(signal.SIGHUP))), "the end.*<mode same>")
check("SIGKILL", at_terminal(other(wait), ("ready", send(signal.SIGKILL))), "<mode same><status -9>")
check("Ctrl-C reaches a program that takes signals itself", at_terminal(other("sh -c 'trap \"\" TERM; trap \"echo heard; exit\" INT; echo ready; read a'"), ("ready", "\x03")), "heard", "the end", whole)
check("Ctrl-C is a byte in raw mode", at_terminal(other(commands + " raw"), ("ready", "\x03\x03q")), "the end", whole, never=[r"\^C"])


def kill_relay(master, job):
    for number, name, _, parent, _ in processes():
        if name == "spoor-relay" and parent == job:
            os.kill(number, signal.SIGKILL)


check("the mode comes back without the relay, too", at_terminal(other(wait), ("ready", kill_relay)), "the end", whole)

# ---- order, pipelines, the background ----
check("what it wrote stands before the end", at_terminal(other(commands + " lines 20000")), r"line 3\r+\nline 2\r+\nline 1\r+\nthe end", whole)
piped = ["sh", "-c", '"$@" | (trap "" INT; sed "s/^/piped /")', "sh"]
check("in a pipeline the terminal is not taken", at_terminal(piped + other("sh -c 'stty -F /dev/tty -a >/dev/null; echo ready >&2; exec sleep 1000'"), ("ready", "\x03")), r"\^C.*piped the end", "<mode same>")
check("until the command reads", at_terminal(piped + other("sh -c 'echo ready >&2; read a; echo got $a'"), ("ready", "text\n")), "piped got text.*piped the end", "<mode same>")
check("from the background it stops, fg goes on", at_terminal(other("sh -c 'echo ready; read a; echo got $a'"), ("ready", "fg\n"), ("<on>", "text\n"), background=True), "got text.*the end", "<mode same>")
check("it can be opened by its name", at_terminal(other("sh -c 'exec 3<>$(tty) && echo opened'")), "opened", whole)
check("standard input of its own", at_terminal(["sh", "-c", 'echo other | "$@"', "sh"] + other("sh -c 'read a; echo got $a; tty <&1'")), "got other.*/dev/pts/.*the end", "<mode same>")
