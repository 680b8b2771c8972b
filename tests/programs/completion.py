# SPDX-License-Identifier: BSD-3-Clause
"""Types into shells and presses TAB: completion.py ROOT, with spoor in the PATH, in a directory with "a file.bt", "a folder" and
recording.spoor. Prints "ok …", "not ok …" and "skip …". What a line has become the shell itself writes to a file, at Ctrl-G.
"""
import atexit, os, pty, re, select, shutil, signal, subprocess, sys, time

failed = False
LIMIT = 0.050


def say(is_right, what, why=""):
    global failed
    print(("ok " if is_right else "not ok ") + what, flush=True)
    if not is_right:
        failed = True
        print(why, flush=True)


class Shell:
    """One that runs on a terminal of its own; `setup` is typed first, and makes Ctrl-G write the line to the file "line"."""

    def __init__(self, command, setup, environment):
        self.child, self.master = pty.fork()
        if not self.child:
            os.execvpe(command[0], command, {**os.environ, "TERM": "dumb", "INPUTRC": "/dev/null", **environment})
        self.seen = b""
        self.type(setup + "\n: >ready\n")
        self.wait("ready")

    def type(self, keys):
        os.write(self.master, keys.encode())

    def wait(self, path):
        """Until the file is there, while what the shell prints is read."""
        end = time.monotonic() + 20
        while not os.path.exists(path):
            if select.select([self.master], [], [], 0.0005)[0]:
                self.seen += os.read(self.master, 65536)
            if time.monotonic() > end:
                raise TimeoutError("%s was not written; seen: %r" % (path, self.seen[-2000:]))
        os.rename(path, "taken")
        return open("taken").read()

    def becomes(self, keys):
        self.type(keys + "\x07")
        line = self.wait("line")
        self.type("\x15")
        return line

    def close(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.master)


def check(shell, name, keys, *wanted, without=()):
    """wanted: texts that the line then has."""
    try:
        line = shell.becomes(keys)
    except TimeoutError as error:
        return say(False, name, str(error))
    missing, more = [text for text in wanted if text not in line], [text for text in without if text in line]
    say(not missing and not more, name, "became '%s': lacks %s, has %s" % (line, missing, more))


def check_list(shell, name, keys, wanted, without):
    """What TAB lists when it is pressed twice."""
    shell.seen = b""
    shell.type(keys + "\t\t")
    end = time.monotonic() + 20
    while not re.search(wanted, shell.seen.decode()) and time.monotonic() < end:
        if select.select([shell.master], [], [], 0.05)[0]:
            shell.seen += os.read(shell.master, 65536)
    shell.type("\x15")
    listed = shell.seen.decode()
    say(re.search(wanted, listed) and without not in listed, name, "listed %r" % listed)


def processor_time(pid):
    """Seconds that a process and those of its children that have ended had the CPU."""
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def check_time(shell, name, keys):
    """How long TAB takes where nothing else runs: time on the CPU, which does not depend on the neighbours."""
    count, begin = 5, processor_time(shell.child)
    try:
        for _ in range(count):
            shell.becomes(keys)
    except TimeoutError as error:
        return say(False, name, str(error))
    took = (processor_time(shell.child) - begin) / count
    say(took < LIMIT, "%s: TAB takes less than 50 ms of a CPU" % name, "took %.3f s" % took)


def check_beginnings():
    """Whatever has been typed of a program, in quotes or not."""
    bad = []
    for tool in ("biolatency", "execsnoop", "undump"):
        program = open("%s/tools/%s.bt" % (sys.argv[1], tool)).read()
        for length in range(0, len(program), 37):
            for quote in ("", "'"):
                done = subprocess.run(["spoor", "completion", "candidates", "--", "-e", quote + program[:length]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                if done.returncode or done.stderr:
                    bad.append("%s, %d bytes: status %d, %s" % (tool, length, done.returncode, done.stderr[-300:]))
    say(not bad, "all beginnings of programs are completed in silence", "\n".join(bad[:3]))


def check_names():
    """Each map of the program once, also one whose name is a part of another's."""
    program = "begin { @ab = 1; $c = 2; @b[1] = 2; @a = 3; @ab = 4; print(@"
    done = subprocess.run(["spoor", "completion", "candidates", "--", "-e", program], stdout=subprocess.PIPE, universal_newlines=True)
    say(done.stdout.split("\n") == [program + "ab", program + "b", program + "a", ""], "each map of a program", done.stdout)


def number_of_its_own():
    """The number of a process that no other process's number begins with. What begins so later is ten times as many processes away."""
    while True:
        process = subprocess.Popen(["sleep", "1000"])
        atexit.register(process.kill)
        number = str(process.pid)
        if process.pid >= 1000 and not any(other.startswith(number) and other != number for other in os.listdir("/proc")):
            return number
        process.kill()
        process.wait()


pid = number_of_its_own()
is_root = os.geteuid() == 0

# ---- bash; M-* inserts all that TAB would offer ----
ALL = "\x1b*"
bash = Shell(["bash", "--norc", "--noprofile", "-i"],
             "PS1=; set +o history; source <(spoor completion bash); bind -x '\"\\C-g\": printf %s \"$READLINE_LINE\" >new; mv new line'", {})
check(bash, "bash: a command", "spoor conv\t", "spoor convert ")
check(bash, "bash: all commands and tools", "spoor r" + ALL, "report", "record", "runqlat", "recording.spoor")
check(bash, "bash: an option", "spoor report --slow\t", "spoor report --slowest ")
check(bash, "bash: the options that begin so", "spoor report --s" + ALL, "--stats", "--slowest", "--step")
check(bash, "bash: options of a trace, behind a tool", "spoor biolatency --dura\t", "--duration ")
check(bash, "bash: a tool, behind spoor top", "spoor top biola\t", "spoor top biolatency ")
check(bash, "bash: options of spoor top", "spoor top --r" + ALL, "--recording", "--rows")
check(bash, "bash: a recording, behind spoor top --recording", "spoor top --recording reco\t", "spoor top --recording recording.spoor ")
check(bash, "bash: a command's own words", "spoor ctl dis\t", "spoor ctl disable ")
check(bash, "bash: an option of one word only", "spoor ctl filter --o" + ALL, "--owner", "--object")
check(bash, "bash: not of another one", "spoor ctl show --o" + ALL, without=("--owner",))
check(bash, "bash: a process", "spoor -p %s\t" % pid, "spoor -p %s " % pid)
check(bash, "bash: one more of a list", "spoor -p 1,%s\t" % pid, "spoor -p 1,%s " % pid)
check(bash, "bash: a process behind =", "spoor ctl --pid=%s\t" % pid, "spoor ctl --pid=%s " % pid)
check(bash, "bash: words of a choice", "spoor report --export " + ALL, "perfetto", "ctf", "folded")
check(bash, "bash: a choice behind =", "spoor --host=ker\t", "spoor --host=kernel ")
check(bash, "bash: choices or a file", "spoor -f rec\t", "spoor -f recording.spoor ")
check(bash, "bash: a file, with its spaces", "spoor -o a\\ fi\t", "spoor -o a\\ file.bt ")
check(bash, "bash: a file of a command", "spoor report reco\t", "spoor report recording.spoor ")
check(bash, "bash: a file behind =", "spoor report --output=reco\t", "spoor report --output=recording.spoor")
check(bash, "bash: a directory", "spoor -I a\t", "spoor -I a\\ folder/")
check(bash, "bash: a program", "spoor -c spo\t", "spoor -c spoor ")
check(bash, "bash: a user", "spoor --user roo\t", "spoor --user root ")
check(bash, "bash: kinds of probes", "spoor -l tracep\t", "spoor -l tracepoint:", without=("tracepoint: ",))
if is_root:
    check(bash, "bash: a category of tracepoints", "spoor -l tracepoint:sche\t", "spoor -l tracepoint:sched:")
    check(bash, "bash: a tracepoint", "spoor -l tracepoint:sched:sched_wakeup_n\t", "spoor -l tracepoint:sched:sched_wakeup_new ")
    check(bash, "bash: a tracepoint of BCC's", "spoor count t:sched:sched_wakeup_n\t", "spoor count t:sched:sched_wakeup_new ")
    check(bash, "bash: a tracepoint of list", "spoor list sched:sched_wakeup_n\t", "spoor list sched:sched_wakeup_new ")
    check(bash, "bash: a tracepoint in a program", "spoor -e 'tracepoint:sched:sched_wakeup_n\t", "spoor -e 'tracepoint:sched:sched_wakeup_new", without=("new'",))
    check(bash, "bash: a field", "spoor -e 'tracepoint:sched:sched_wakeup /args.pri\t", "sched_wakeup /args.prio", without=("prio'",))
    check_list(bash, "bash: the list of fields does not repeat the program", "spoor -e 'tracepoint:sched:sched_wakeup { @[args.", r"args\.comm +args\.pid", "@[args.comm")
    check(bash, "bash: a field in a block", "spoor -e 'begin { } tracepoint:sched:sched_wakeup { @[args->target_\t", "{ @[args->target_cpu")
else:
    print("skip tracepoints: needs root")
check(bash, "bash: a function in a program", "spoor -e 'begin { } uprobe:libc:malloc_tri\t", "spoor -e 'begin { } uprobe:libc:malloc_trim", without=("trim'",))
check(bash, "bash: a function of a library", "spoor -l uprobe:libc:malloc_tri\t", "spoor -l uprobe:libc:malloc_trim ")
check(bash, "bash: an argument of a function", "spoor -e 'uprobe:./calls:calls_add { print(args.fi\t", "print(args.first")
check(bash, "bash: an argument of a function, behind a predicate and ->", "spoor -e 'begin { } uprobe:./calls:calls_add /args->se\t", "/args->second")
check(bash, "bash: an argument of a USDT probe, by its name", "spoor -e 'usdt:./counts:counts:tick { print(args.nu\t", "print(args.number")
check(bash, "bash: arguments of a USDT probe, by their numbers", "spoor -e 'usdt:./sites:sites:widths { print(args." + ALL, "args.arg0", "args.arg7", without=("args.g", "semaphore"))
check(bash, "bash: no return value among arguments", "spoor -e 'uretprobe:./calls:calls_add { print(args.\t", without=("retval",))
check(bash, "bash: a function of the program", "spoor -e 'fn twice($x : int64) : int64 { return $x; } begin { print(twi\t", "print(twice")
check(bash, "bash: a builtin", "spoor -e 'begin { printf(\"%s\", strft\t", "spoor -e 'begin { printf(\"%s\", strftime")
check(bash, "bash: a map", "spoor -e 'begin { @counts[1] = 2; @unlike = 3; print(@c\t", "print(@counts")
check(bash, "bash: nothing in a string", "spoor -e 'begin { printf(\"strft\t", "spoor -e 'begin { printf(\"strft", without=("strftime",))
check(bash, "bash: what TAB cannot know stays", "spoor --keep 1\t", "spoor --keep 1")
check(bash, "bash: help of what there is", "spoor help exec\t", "spoor help execsnoop ")
check_time(bash, "bash", "spoor -p 1\t")
check_time(bash, "bash, functions in a program", "spoor -e 'uprobe:libc:malloc_tri\t")
check_time(bash, "bash, arguments of a function", "spoor -e 'uprobe:./calls:calls_add { print(args.fi\t")
check_time(bash, "bash, arguments of a function of a large program", "spoor -e 'uprobe:spoor:main { print(args.arg\t")
check_time(bash, "bash, arguments of a USDT probe", "spoor -e 'usdt:./counts:counts:tick { print(args.nu\t")
check_time(bash, "bash, tracepoints", "spoor -l tracepoint:sched:sched_wakeup_n\t")
bash.close()
check_beginnings()
check_names()

# ---- zsh ----
if shutil.which("zsh"):
    zsh = Shell(["zsh", "-f", "-i"],
                "PS1=; unsetopt zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; "
                "source <(spoor completion zsh); write() { print -rn -- \"$BUFFER\" >new; mv new line }; zle -N write; "
                "bindkey -e; bindkey '^G' write; bindkey '^U' kill-whole-line", {})
    check(zsh, "zsh: a command", "spoor conv\t", "spoor convert ")
    check(zsh, "zsh: an option", "spoor report --slow\t", "spoor report --slowest ")
    check(zsh, "zsh: a process", "spoor -p %s\t" % pid, "spoor -p %s " % pid)
    check(zsh, "zsh: one more of a list", "spoor -p 1,%s\t" % pid, "spoor -p 1,%s " % pid)
    check(zsh, "zsh: a choice behind =", "spoor --host=ker\t", "spoor --host=kernel ")
    check(zsh, "zsh: a file, with its spaces", "spoor -o a\\ fi\t", "spoor -o a\\ file.bt ")
    check(zsh, "zsh: a file behind =", "spoor report --output=reco\t", "spoor report --output=recording.spoor")
    check(zsh, "zsh: a directory", "spoor -I a\t", "spoor -I a\\ folder/")
    check(zsh, "zsh: kinds of probes", "spoor -l tracep\t", "spoor -l tracepoint:", without=("tracepoint: ",))
    if is_root:
        check(zsh, "zsh: a tracepoint", "spoor -l tracepoint:sched:sched_wakeup_n\t", "spoor -l tracepoint:sched:sched_wakeup_new ")
    check(zsh, "zsh: a function in a program", "spoor -e 'begin { } uprobe:libc:malloc_tri\t", "spoor -e 'begin { } uprobe:libc:malloc_trim", without=("trim'",))
    check(zsh, "zsh: an argument of a function", "spoor -e 'uprobe:./calls:calls_add { print(args.fi\t", "print(args.first")
    check(zsh, "zsh: an argument of a USDT probe", "spoor -e 'usdt:./counts:counts:tick { print(args.nu\t", "print(args.number")
    check(zsh, "zsh: a builtin", "spoor -e 'begin { printf(\"%s\", strft\t", "spoor -e 'begin { printf(\"%s\", strftime", without=("strftime'",))
    check_time(zsh, "zsh", "spoor -p 1\t")
    zsh.close()
else:
    print("skip zsh: it is not installed")

# ---- fish, on a terminal, and what it says that it would offer ----
if shutil.which("fish"):
    os.mkdir("runtime", 0o700)  # one that others may read would not do
    fish = Shell(["fish", "--no-config", "-i"],
                 "spoor completion fish | source; function write; printf %s (commandline) >new; mv new line; end; bind \\cg write",
                 {"TERM": "xterm", "HOME": os.getcwd(), "XDG_DATA_HOME": os.getcwd(), "XDG_CONFIG_HOME": os.getcwd(), "XDG_RUNTIME_DIR": os.path.abspath("runtime")})
    check(fish, "fish: a command", "spoor conv\t", "spoor convert ")
    check(fish, "fish: an option", "spoor report --slow\t", "spoor report --slowest ")
    check(fish, "fish: a process", "spoor -p 1,%s\t" % pid, "spoor -p 1,%s " % pid)
    check(fish, "fish: a choice behind =", "spoor --host=ker\t", "spoor --host=kernel ")
    check(fish, "fish: a file, with its spaces", "spoor -o a\\ fi\t", "spoor -o a\\ file.bt ")
    check(fish, "fish: a file behind =", "spoor report --output=reco\t", "spoor report --output=recording.spoor")
    check(fish, "fish: a directory", "spoor -I a\\ fo\t", "spoor -I a\\ folder/")
    check(fish, "fish: kinds of probes", "spoor -l tracep\t", "spoor -l tracepoint:", without=("tracepoint: ",))
    if is_root:
        check(fish, "fish: a tracepoint", "spoor -l tracepoint:sched:sched_wakeup_n\t", "spoor -l tracepoint:sched:sched_wakeup_new ")
    check(fish, "fish: a function in a program", "spoor -e 'begin { } uprobe:libc:malloc_tri\t", "uprobe:libc:malloc_trim", without=("trim'",))
    check(fish, "fish: a builtin", "spoor -e 'begin { printf(\"%s\", strft\t", "printf(\"%s\", strftime", without=("strftime'",))
    check(fish, "fish: an argument of a function", "spoor -e 'uprobe:./calls:calls_add { print(args.fi\t", "print(args.first", without=("first'",))
    check_time(fish, "fish", "spoor -p 1\t")
    fish.close()

    def offered(line):
        done = subprocess.run(["fish", "--no-config", "-c", "spoor completion fish | source; complete -C \"$argv[1]\"", line], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env={**os.environ, "HOME": os.getcwd(), "XDG_RUNTIME_DIR": os.path.abspath("runtime")})
        return {word.split("\t")[0]: word for word in done.stdout.splitlines()}

    def check_fish(name, line, *wanted):
        words = offered(line)
        missing = [word for word in wanted if word not in words]
        say(not missing, "fish: " + name, "lacks %s in %s" % (missing, list(words)[:40]))

    check_fish("commands and tools", "spoor r", "report", "record", "runqlat", "recording.spoor")
    check_fish("options", "spoor report --s", "--stats", "--slowest", "--step")
    check_fish("files", "spoor -o reco", "recording.spoor")
    check_fish("a directory", "spoor -I a", "a folder/")
    say(not offered("spoor --keep "), "fish: nothing where nothing is known", str(offered("spoor --keep ")))
else:
    print("skip fish: it is not installed")
sys.exit(failed)
