# SPDX-License-Identifier: BSD-3-Clause
"""spoor top in tmux: top.py ROOT BUILD, in a directory with the programs calls, objects and spdk_writer. Prints "ok …" and
"not ok …". Nothing waits for time: a screen is looked at until it shows what it should, for half a minute at most.
"""
import glob, json, os, re, shutil, signal, subprocess, sys, time

root, build = sys.argv[1:3]
spoor = build + "/spoor"
here = os.getcwd()
failed = False
LIMIT = 30
environment = {**os.environ, "LC_ALL": "C.UTF-8", "SPOOR_TRACE_DIR": here, "PS1": "$ ", "HOME": here}
environment.pop("NO_COLOR", None)
environment.pop("TMUX", None)


def say(is_right, what, why=""):
    global failed
    print(("ok " if is_right else "not ok ") + what, flush=True)
    if not is_right:
        failed = True
        print(why, flush=True)


class Terminal:
    """A shell in tmux."""

    def __init__(self, columns=80, rows=24, **more):
        self.socket = "%s/tmux.%d" % (here, time.monotonic_ns())
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "bash --norc --noprofile -i", env={**environment, **more})
        self.pid = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        self.run("PS1='$ '")
        self.wait(r"^\$ ?$", "the shell")

    def tmux(self, *arguments, env=environment):
        return subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *arguments], env=env, stdout=subprocess.PIPE, text=True).stdout

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def run(self, command):
        self.tmux("send-keys", "-l", "clear; " + command)
        self.type("Enter")

    def wait(self, pattern, what=None, without=None):
        """Until a line matches. Returns the match; None after a failure that was reported."""
        end = time.monotonic() + LIMIT
        while True:
            screen = self.screen()
            found = re.search(pattern, screen, re.M)
            if found and not (without and re.search(without, screen, re.M)):
                return found
            if time.monotonic() > end:
                say(False, what or "a screen with " + pattern, screen)
                return None
            time.sleep(0.02)

    def check(self, what, pattern, without=None):
        found = self.wait(pattern, what, without)
        if found:
            say(True, what)
        return found

    def child(self):
        """The process that the shell runs."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            text = open("/proc/%d/task/%d/children" % (self.pid, self.pid)).read().split()
            if text:
                return int(text[0])
            time.sleep(0.01)

    def modes(self, name):
        """What stty says of the terminal."""
        self.run("stty -a >%s; echo so-$((1+1))" % name)
        self.wait("^so-2")
        return open(name).read()

    def close(self):
        self.tmux("kill-server")


def final(screen):
    """The maps that were printed at the end."""
    return dict(re.findall(r"^(@\w*(?:\[[^]]*\])?): (-?\d+)$", screen, re.M))


ADD = "uprobe:%s/calls:calls_add" % here
COUNTS = ADD + " { @n[(uint64)arg0 < 10 ? \"few\" : \"many\"] = count(); @h = hist(arg0); @k[arg0 % 3] = hist(arg0); @total++; @sum += arg0; @worst = max(arg0); @mean[\"all\"] = avg(arg0); }"
CALLS = "./calls 1000 600000"  # each function a thousand times; then it waits


def screens():
    terminal = Terminal(100, 30)
    before = terminal.modes("before")
    terminal.run("%s top -i 100ms -c '%s' -e '%s'" % (spoor, CALLS, COUNTS))
    terminal.check("top: counts of a map are those of the program", r"^ +990 +\S+ +99.0% .*many$(?s:.*)^ +10 +\S+ +1.0% .*few$")
    terminal.check("top: a title, and that it runs", r"^spoor top stdin .*● running")
    terminal.type("2")
    # 1000 values from 0 to 999
    terminal.check("top: the bars of a histogram", r"^ +\[512, 1K\) +488  █+ p90 p99 p99.9")
    terminal.check("top: all of its values", r"^ all +1000 +p50 499 ")
    found = terminal.wait(r"^ +1000 +\S+ +(\d+) +(\d+) +(\d+) +(\d+) .*@h$")
    values = [int(value) for value in found.groups()] if found else []
    say(values[:1] and 490 <= values[0] <= 510 and 880 <= values[1] <= 1000 and values == sorted(values) and values[3] <= 1023,
        "top: percentiles are within their rows", repr(values))
    terminal.type("3")
    terminal.check("top: histograms with keys, and the bars of the one that is selected", r"^ +334 .* 0$(?s:.*)^── 0 ─+")
    terminal.type("Down", "Down")
    terminal.check("top: arrows choose the row whose bars are shown", r"^── [12] ─+", without="^── 0 ─+")
    terminal.type("Tab")
    terminal.check("top: max", r"^ +999 .*@worst")
    terminal.type("6")
    terminal.check("top: maps without keys share a table", r"^ +499500 .*@sum$(?s:.*)^ +1000 .*@total$")
    terminal.type("5")
    terminal.check("top: an average with its count and total", r"^ +1000 +\S+ +499.500 +499500 .*all$")
    # sort
    terminal.type("1", "s", "s", "s")
    terminal.check("top: s sorts by another column, last by the key", r"KEY▼\s+^ +10 .*few$\s+^ +990 .*many$")
    terminal.type("S")
    terminal.check("top: S reverses", r"KEY▲\s+^ +990 .*many$\s+^ +10 .*few$")
    # filter
    terminal.type("/", "M", "a", "n")
    terminal.check("top: / shows rows that contain the text", r"/Man_ 1 of 2 keys(?s:.*)many$", without="few$")
    terminal.type("Escape")
    terminal.check("top: escape shows all rows again", r"few$", without="/Man")
    # whole row, help
    terminal.type("Home", "Enter")
    terminal.check("top: enter shows a row whole", r"^── RATE ─(?s:.*)^── KEY ─(?s:.*)^ many$")
    terminal.type("Escape", "?")
    terminal.check("top: ? explains keys", r"^ +w +write all maps as JSON")
    terminal.type("?")
    # save
    terminal.type("w")
    found = terminal.check("top: w says where it saved", r"^saved as (spoor-top-stdin-\S+\.json)$")
    terminal.type("w", "w")
    end = time.monotonic() + LIMIT
    while len(glob.glob("spoor-top-stdin-*.json")) < 3 and time.monotonic() < end:
        time.sleep(0.02)
    say(len(glob.glob("spoor-top-stdin-*.json")) == 3, "top: no file is overwritten", repr(os.listdir(".")))
    saved = {}
    for line in open(found[1]) if found else []:
        saved.update(json.loads(line)["data"])
    say(saved.get("@n") == {"few": 10, "many": 990} and saved.get("@total") == 1000 and sum(row["count"] for row in saved["@h"]) == 1000,
        "top: what is saved is JSON with the values that are shown", repr(saved))
    # resize
    terminal.tmux("resize-window", "-x", "40", "-y", "10")
    terminal.check("top: 40x10", r"^ +990 .*many$", without=r"SHARE +RATE")
    terminal.tmux("resize-window", "-x", "25", "-y", "5")
    terminal.check("top: too small a terminal is told", r"25x5 is too small")
    terminal.tmux("resize-window", "-x", "80", "-y", "24")
    terminal.check("top: 80x24", r"^ +990 +\S+ +99.0% .*many$")
    # quit
    terminal.tmux("resize-window", "-x", "120", "-y", "200")
    terminal.type("q")
    terminal.check("top: q ends it with the maps", r"^@total: 1000$(?s:.*)^\$ ?$")
    maps = final(terminal.screen())
    say(maps == {"@n[few]": "10", "@n[many]": "990", "@total": "1000", "@sum": "499500", "@worst": "999", "@mean[all]": "499"},
        "top: the maps at the end are whole", repr(maps))
    after = terminal.modes("after")
    strip = lambda text: re.sub(r"rows \d+; columns \d+;", "", text)
    say(strip(before) == strip(after), "top: the terminal is as it was", before + after)
    terminal.close()


def live():
    """A script that goes on: pause, rates, printed lines, periods."""
    terminal = Terminal()
    script = 'interval:ms:20 { @ticks[1] = count(); @now = count(); } interval:ms:500 { printf("line %d\\n", elapsed > 0); @half[2] = sum(7); @rows[3] = hist(5); @alone = hist(6); print(@half); clear(@half); clear(@rows); clear(@alone); }'
    terminal.run("%s top -i 200ms -e '%s'" % (spoor, script))
    terminal.check("top: what the script prints", r"^── printed ─+$(?s:.*)^line 1$")
    first = terminal.wait(r"^ +(\d+) +\S+ +100.0% .* 1$")
    terminal.check("top: it moves", r"^ +(?!%s )\d+ +\S+ +100.0%% .* 1$" % first[1])
    terminal.check("top: rates", r"^ +\d+ +(4[0-9]|5[0-9])(\.\d)? +100.0% .* 1$")
    terminal.type("Space")
    terminal.check("top: paused", r"● paused")
    kept = terminal.screen()
    count = int(re.search(r"^ +(\d+) +\S+ +100.0% .* 1$", kept, re.M)[1])
    seen, end = 0, time.monotonic() + LIMIT
    while seen <= count + 20 and time.monotonic() < end:  # the trace goes on, as what is saved shows
        for name in glob.glob("spoor-top-*.json"):
            os.remove(name)
        terminal.type("w")
        while not glob.glob("spoor-top-*.json") and time.monotonic() < end:
            time.sleep(0.02)
        try:
            lines = [json.loads(line) for line in open(glob.glob("spoor-top-*.json")[0])]
            seen = [line["data"]["@ticks"]["1"] for line in lines if "@ticks" in line["data"]][0]
        except (ValueError, IndexError):  # it is being written
            pass
    say(seen > count + 20, "top: the trace goes on while it is paused", str(seen))
    terminal.type("Escape")
    terminal.wait(r"● paused", without="^saved")
    say(terminal.screen().splitlines()[:20] == kept.splitlines()[:20], "top: what is shown stays while it is paused", kept + terminal.screen())
    terminal.type("Space")
    terminal.check("top: it goes on", r"● running")
    terminal.type("3")
    terminal.check("top: of a map that is cleared each half second the last period is shown", r"last period, 0\.5 s$(?s:.*)^ +7 +1[0-9](\.\d)? .* 2$")
    for name in glob.glob("spoor-top-*.json"):
        os.remove(name)
    terminal.type("w")
    found = terminal.wait(r"^saved as (spoor-top-\S+\.json)")
    saved = {}
    for line in open(found[1]) if found else []:
        saved.update(json.loads(line)["data"])
    say(saved.get("@half") == {"2": 7} and saved.get("@rows") == {"3": [{"min": 4, "max": 7, "count": 1}]} and saved.get("@alone") == [{"min": 4, "max": 7, "count": 1}],
        "top: what is saved is the period that is shown", repr(saved))
    terminal.type("1", "d")
    terminal.check("top: d shows what came last", r"^ +LAST▼(?s:.*)^ +(8|9|1[0-2]) +\S+ +100.0% .* 1$")
    terminal.type("C-c")
    terminal.check("top: Ctrl-C ends it with the maps", r"^@ticks\[1\]: \d+$(?s:.*)^\$ ?$")
    terminal.close()


def shapes():
    """Values that are no plain numbers."""
    terminal = Terminal(100, 30)
    script = 'begin { @text["a"] = "hello"; @pair[1] = (1, "two"); @low = min(-5); } interval:ms:50 { @series = tseries(7, 100ms, 20); @stacks[kstack] = count(); @more = stats(3); }'
    terminal.run("%s top -i 100ms -e '%s'" % (spoor, script))
    terminal.check("top: aggregations come first", r"^ 1 @low  2 @series  3 @stacks  4 @more  5 @text  6 @pair ")
    terminal.check("top: a negative minimum", r"^ +-5 +0 .*@low$")
    terminal.type("2")
    terminal.check("top: a time series has its intervals as a graph", r"^ +7 +7 +7 +█{5}.*@series$")
    terminal.type("3")
    terminal.check("top: a stack is folded into a line", r"^ +\d+ .* \w+\+\d+ ← \w+\+\d+")
    terminal.type("Enter")
    terminal.check("top: and whole behind enter", r"^── KEY ─+$\s+^ +\w+\+\d+$\s+^ +\w+\+\d+$")
    terminal.type("4")
    terminal.check("top: stats", r"^ +\d+ +\S+ +3.000 +\d+ .*@more$")
    terminal.type("5")
    terminal.check("top: a text", r"^ *a: hello$")
    terminal.type("6")
    terminal.check("top: a tuple", r"^ *1: \(1, two\)$")
    terminal.type("q")
    terminal.wait(r"^\$ ?$")
    terminal.run("%s top -i 100ms -e 'interval:ms:50 { printf(\"nothing but lines\\n\"); }'" % spoor)
    terminal.check("top: a script without maps", r"^The script has no maps.$(?s:.*)^nothing but lines$")
    terminal.type("Tab", "Enter", "w", "/", "s", "?", "Down", "q")
    terminal.wait(r"^\$ ?$")
    terminal.run("%s top -i 100ms --recording nothing extra; echo status-$?" % spoor)
    terminal.check("top: one recording at a time", r"^ERROR: one recording(?s:.*)status-1")
    terminal.run("%s top; echo status-$?" % spoor)
    terminal.check("top: nothing to be shown", r"^ERROR: what is to be shown(?s:.*)status-1")
    terminal.close()


def ends():
    for number in signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV:
        name = signal.Signals(number).name
        terminal = Terminal()
        before = terminal.modes("before")
        terminal.run("%s top -e 'interval:ms:10 { @[1] = count(); }'" % spoor)
        terminal.wait(r"^ +\d+ +\S+ +100.0%")
        os.kill(terminal.child(), number)
        if number == signal.SIGSEGV:
            terminal.check("top: the terminal is given back after %s" % name, r"Segmentation fault(?s:.*)\$ ?$")
        else:
            terminal.check("top: %s ends it with the maps" % name, r"^@\[1\]: \d+$(?s:.*)^\$ ?$")
        say(before == terminal.modes("after"), "top: the terminal is as it was after %s" % name, before + open("after").read())
        say("0" in terminal.tmux("display-message", "-p", "#{alternate_on}"), "top: the other screen is left after %s" % name)
        terminal.close()
    terminal = Terminal()
    terminal.run("%s top --duration 300ms -e 'interval:ms:10 { @[1] = count(); }'" % spoor)
    terminal.check("top: --duration ends it", r"^@\[1\]: \d+$(?s:.*)^\$ ?$")
    terminal.run("%s top -n 2 -i 100ms -e 'interval:ms:10 { @[1] = count(); }'" % spoor)
    terminal.check("top: -n ends it", r"^@\[1\]: \d+$(?s:.*)^\$ ?$")
    terminal.run("%s top -e 'nonsense'; echo status-$?" % spoor)
    terminal.check("top: an error of the script is printed as ever", r"^(stdin:.*)?ERROR(?s:.*)^status-1")
    terminal.run("%s top -c 'sh -c \"echo from the command; exec sleep 600\"' -e 'begin { @ = 5; } interval:ms:10 { @n = count(); }'" % spoor)
    terminal.check("top: what the command prints is a line, and disturbs nothing", r"^── printed ─+$\s+^from the command$")
    terminal.type("q")
    terminal.wait(r"^\$ ?$")
    terminal.close()


def terminals():
    script = "-i 100ms -e 'interval:ms:10 { @[1] = count(); @h = lhist(5, 0, 10, 1); }'"
    colour = re.compile(r"\x1b\[[0-9;]*\b(3[0-7]|38;5;\d+|4[0-7]|48;5;\d+)m")
    for name, more, has_colour in ("colours", {"TERM": "screen-256color"}, True), ("NO_COLOR", {"TERM": "screen-256color", "NO_COLOR": "1"}, False), \
            ("TERM=vt100", {"TERM": "vt100"}, False), ("TERM=screen", {"TERM": "screen"}, True):
        terminal = Terminal()
        terminal.run("%s %s top %s" % (" ".join("%s=%s" % pair for pair in more.items()), spoor, script))
        terminal.check("top: %s" % name, r"^ +\d+ +\S+ +100.0% .* 1$")
        say(bool(colour.search(terminal.screen("-e"))) == has_colour, "top: %s %s" % (name, "has colours" if has_colour else "has none"), ascii(terminal.screen("-e")))
        terminal.type("q")
        terminal.wait(r"^\$ ?$")
        terminal.close()
    terminal = Terminal(LC_ALL="C")
    terminal.run("LC_ALL=C %s top %s" % (spoor, script))
    terminal.type("2")
    terminal.check("top: ASCII where the locale has no more", r"^spoor top stdin .*\* running(?s:.*)#+\+")
    say(terminal.screen().isascii(), "top: nothing but ASCII there", terminal.screen())
    terminal.type("q")
    terminal.wait(r"^\$ ?$")
    terminal.tmux("resize-window", "-x", "140", "-y", "40")
    terminal.run("TERM=dumb %s top -n 1 %s" % (spoor, script))
    terminal.check("top: on a terminal that cannot place characters tables are printed", r"^NOTE: .*TERM=dumb(?s:.*)^@h$")
    terminal.run("TERM=nothing %s top -n 1 %s" % (spoor, script))
    terminal.check("top: on an unknown terminal tables are printed", r"^NOTE: .*TERM=nothing(?s:.*)^@h$")
    terminal.close()
    library = [line.split()[-1] for line in subprocess.run(["ldconfig", "-p"], stdout=subprocess.PIPE, text=True).stdout.splitlines() if "libncursesw.so.6 " in line]
    terminal = Terminal(120)
    terminal.run("unshare -m sh -c 'mount --bind /dev/null %s && exec %s top -n 1 -e \"begin { @ = 1; exit(); }\"'; echo status-$?" % (os.path.realpath(library[0]), spoor))
    terminal.check("top: without ncurses it says which package has it", r"ERROR: the screen needs libncursesw.so.6(?s:.*)^HINT: .*libncursesw6(?s:.*)^status-1")
    terminal.run("unshare -m sh -c 'mount --bind /dev/null %s && exec %s top -b -n 1 -i 100ms -e \"interval:ms:10 { @[8] = count(); }\"'; echo status-$?" % (os.path.realpath(library[0]), spoor))
    terminal.check("top: --batch works without ncurses", r"100.0%  8$(?s:.*)^status-0")
    terminal.close()


def batch():
    # The program waits for ten tables after its last call, so that a slow machine shows all calls in two at least.
    done = subprocess.run([spoor, "top", "-i", "100ms", "-c", "./calls 1000 1000", "-e", COUNTS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=environment)
    text = done.stdout
    say(done.returncode == 0 and "\x1b" not in text and text.count("\n== ") >= 3, "top: to a pipe tables are written without escapes", text + done.stderr)
    say(len(re.findall(r"^ +990 .*many$", text, re.M)) >= 2 and "   [512, 1K)      488 ###" in text and final(text).get("@n[many]") == "990",
        "top: the tables have the counts, and the maps come last", text)
    done = subprocess.run("%s top -i 50ms -e 'interval:ms:10 { @[1] = count(); }' | head -n 2" % spoor, shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    say(done.stdout.count("\n") == 2, "top: it ends when its reader does", done.stdout + done.stderr)
    done = subprocess.run([spoor, "top", "-b", "-n", "1", "-i", "100ms", "--rows", "3", "-e", "interval:ms:10 { for $i : 0..10 { @[$i] = sum($i + 1); } }"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    table = done.stdout.split("\n\n\n")[0]
    say(re.findall(r"  (\d)$", table, re.M) == ["9", "8", "7"] and "7 more" in table, "top: --rows", done.stdout + done.stderr)
    done = subprocess.run([spoor, "top", "-b", "-n", "1", "-i", "100ms", "syscount"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    say("@calls" in done.stdout and "tracepoint:syscalls:" in done.stdout, "top: a tool by its name", done.stdout + done.stderr)


def recordings():
    terminal = Terminal(130, 40)
    blockd = subprocess.Popen([build + "/examples/blockd", "--socket", "nbd", "--memory", "disk:64M", "--threads", "2", "--trace", "all"],
                              env=environment, stdout=subprocess.PIPE, text=True)
    while "running" not in blockd.stdout.readline():
        pass
    load = subprocess.Popen("while qemu-io -f raw -c 'write 0 1M' -c 'read 0 64k' -c flush 'nbd+unix:///disk?socket=nbd'; do :; done", shell=True,
                            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    terminal.run("%s top -i 200ms --recording blockd" % spoor)
    terminal.check("top --recording: steps of objects of a living program", r"^ +\d+ +\S+ +100.0% .*BDEV_IO_START -> BDEV_IO_DONE")
    terminal.check("top --recording: their latencies as bars", r"^ +\[\S+, \S+\) +\d+ +█")
    terminal.type("5")
    terminal.check("top --recording: another type of objects", r"^ +\d+ .*TCP_REQ_NEW -> TCP_REQ_NEED_BUFFER$(?s:.*)whole life")
    terminal.type("1")
    terminal.check("top --recording: tracepoints with rates", r"^ +\d+ +[1-9]\S* +\S+% .*bdev:BDEV_IO_START$")
    terminal.type("2")
    terminal.check("top --recording: owners", r"^ +\d+ .*b1 disk$")
    os.killpg(load.pid, signal.SIGKILL)
    load.wait()
    terminal.type("1")
    blockd.terminate()
    blockd.wait()
    terminal.check("top --recording: it says that the program has ended", r"● the program has ended")
    file = glob.glob("blockd.*.spoor")[0]
    stats = json.loads(subprocess.run([spoor, "report", "--stats", "-j", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment).stdout)
    counts = {point["group"] + ":" + point["name"]: point["count"] for point in stats["tracepoints"]}
    screen = terminal.screen()
    seen = {name: int(count) for count, name in re.findall(r"^ +(\d+) +\S+ +\S+% .* (\w+:\w+)$", screen, re.M)}
    say(seen == counts, "top --recording: its counts are those of report --stats", repr((counts, seen)))
    terminal.type("w")
    found = terminal.check("top --recording: w saves", r"^saved as (\S+)")
    saved = json.load(open(found[1])) if found else {}
    say({point["group"] + ":" + point["name"]: point["count"] for point in saved.get("tracepoints", [])} == counts, "top --recording: what is saved is as report --stats -j", repr(saved))
    terminal.type("q")
    terminal.check("top --recording: q leaves the tables on the terminal", r"^\$ ?$")
    for number in None, signal.SIGTERM:
        name = "SIGTERM" if number else "Ctrl-C"
        terminal.run("%s top --recording %s; echo status-$?" % (spoor, file))
        terminal.wait(r"● the program has ended")
        if number:
            os.kill(terminal.child(), number)
        else:
            terminal.type("C-c")
        terminal.check("top --recording: %s ends it, with the tables" % name, r"^threads, \d keys$(?s:.*)^status-0$")
    terminal.run("%s top --recording no-such; echo status-$?" % spoor)
    terminal.check("top --recording: no recording is told", r"^ERROR: (?s:.*)^status-1")
    terminal.close()
    for name in glob.glob("*.json"):
        os.remove(name)
    written = subprocess.run(["./spdk_writer", "spoor_top_%d" % os.getpid(), "20", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    shutil.move(written, "spdk")
    stats = json.loads(subprocess.run([spoor, "report", "--stats", "-j", "spdk"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
    done = subprocess.run([spoor, "top", "-b", "--rows", "0", "-i", "100ms", "--recording", "spdk"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    counts = {point["group"] + ":" + point["name"]: point["count"] for point in stats["tracepoints"]}
    seen = {name: int(count) for count, name in re.findall(r"^ +(\d+) +\S+ +\S+%  (\S+:\S+)$", done.stdout.split("\nowners")[0], re.M)}
    say(done.returncode == 0 and counts and seen == counts, "top --recording: SPDK's, as report --stats", done.stdout + done.stderr + repr(counts))


def names():
    """What others name stays text."""
    terminal = Terminal()
    terminal.run("%s top -i 100ms -e 'interval:ms:10 { @[\"\\x1b[2J\\nFORGED\\xe2\\x80\\xae\"] = count(); printf(\"\\x1b[31mred\\x1b[m\\n\"); }'" % spoor)
    terminal.check("top: escapes in keys and lines are shown, not obeyed", r"100.0% .*\\x1b\[2J\\n?.*FORGED(?s:.*)^── printed ─+$(?s:.*)\[31mred", without="^FORGED")
    terminal.type("q")
    terminal.wait(r"^\$ ?$")
    terminal.close()


for part in screens, live, shapes, ends, terminals, batch, recordings, names:
    if len(sys.argv) < 4 or sys.argv[3] == part.__name__:
        part()
sys.exit(failed)
