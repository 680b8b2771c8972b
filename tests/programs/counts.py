# SPDX-License-Identifier: BSD-3-Clause
"""Counts that agree: counts.py BUILD SECONDS SEED, in a directory of its own, where `small` and `rings` are small file systems.

From each seed, SEED and those after it until the time is over, a trace is drawn: which sources fire, how fast, on which CPUs; what the
blocks do; how large rings and maps are; where the output goes; who stands still when; and how it ends. Then what was delivered
and what was told as lost must be what was fired, to the event. Prints "ok" or "not ok" for each seed, and the whole account at last."""
import collections, json, os, random, re, resource, signal, subprocess, sys, threading, time

build, seconds, first = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
LIMIT = 60  # seconds for whatever is waited for: nothing here takes as long
CPUS = sorted(os.sched_getaffinity(0))
PROBES = {
    "usdt": "usdt:./counts:counts:tick",
    "call": "uprobe:./counts:counts_call",
    "returned": "uretprobe:./counts:counts_call",
    "getpgid": "tracepoint:syscalls:sys_enter_getpgid",
    "rename": "tracepoint:task:task_rename",
    "record": "trace:counts:COUNTS_EVENT",
}
NUMBER = {"usdt": "arg0", "call": "arg0", "returned": "retval", "getpgid": "args.pid", "record": "args.number"}
TEXT = {"usdt": "str(arg1)", "call": "str(arg1)", "record": "str(args.text)", "rename": "str(args.newcomm)"}
ALL = "all of them"
PACKED_LEAST = 32  # of src/bpf/lower/state.h


class Plan:
    """What a seed draws."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.seed = seed
        kinds = draw.sample(["usdt", "call", "getpgid", "rename", "record"], draw.randint(1, 4))
        if seed % 3 == 0 and "record" not in kinds:
            kinds.append("record")
        self.threads = []
        for kind in kinds:
            for cpu in CPUS if draw.random() < 0.5 else [draw.choice(CPUS)]:
                burst = draw.choice([1, 10, 100, 1000, 5000])
                pause = draw.choice([20, 200, 2000]) * max(1, burst // 20)
                self.threads.append((kind, cpu, burst, 0 if draw.random() < 0.1 else pause))
        self.faults = draw.choice([0, 3, 10, 1000])
        self.sources = kinds + (["returned"] if "call" in kinds and draw.random() < 0.5 else [])
        self.ring_kib, self.recordings, self.drains = draw.choice([64, 256, 4096]), ".", "record" in kinds and draw.random() < 0.4
        if "record" in kinds and draw.random() < 0.3:  # with room for some of these threads
            self.ring_kib, self.recordings = 128, "rings"
            self.threads += [("record", draw.choice(CPUS), draw.choice([1, 100]), 2000) for _ in range(12)]
        self.environment = {
            "SPOOR_PERF_RB_PAGES": draw.choice(["auto", "1", "4", "64"]),
            "SPOOR_MAX_STRLEN": draw.choice(["16", "200", "1024"]),
        }
        self.without = draw.choice(["", "", "", "uprobe_multi", "sleepable_uprobe", "task_storage", "sleepable_uprobe,task_storage"])
        self.output = draw.choice(["file", "file", "pipe", "pipe", "small", "limit"])
        self.json = draw.random() < 0.5 and self.output not in ("small", "limit")  # what is told is told in it
        self.timer_ms = draw.choice([0, 0, 1, 20])
        self.fires = draw.uniform(0.5, 2)
        self.end = draw.choice(["quiet", "quiet", "storm", "duration"])
        self.pauses = []  # (when, how long, who)
        for who in ("tracer", "traced", "reader", "drainer"):
            for _ in range(draw.choice([0, 0, 1, 2, 5])):
                if {"reader": self.output == "pipe", "drainer": self.drains}.get(who, True):
                    self.pauses.append((draw.choice([draw.uniform(0, self.fires), self.fires - 0.02]), draw.choice([0.001, 0.03, 0.2, 0.7]), who))
        if seed % 3 == 0:  # when the time that events have at the end is over, and they are only counted
            self.pauses.append((self.fires - 0.02, 1.2, "apart"))
        self.pauses.sort()
        self.places = {}  # line of the script: source, what is done there
        self.prints, self.texts = collections.Counter(), collections.Counter()  # by source: how often its block prints, and texts
        self.script = self.write(draw)

    def block(self, draw, source):
        yield "%s {" % PROBES[source], None
        yield "@n_%s = count();" % source, None
        number, text = NUMBER.get(source), TEXT.get(source)
        deeds = ["print", "print again", "keys", "unique", "texts", "divide", "delete"]
        for deed in [deed for deed in deeds if draw.random() < 0.5]:
            if deed.startswith("print"):
                values = [(word, value) for word, value in (("%d", number), ("%s", text)) if value and draw.random() < 0.7]
                self.prints[source] += 1
                self.texts[source] += any(word == "%s" for word, _ in values)
                yield 'printf("%s%s\\n"%s);' % (source, "".join(" " + word for word, _ in values), "".join(", " + value for _, value in values)), "line"
            elif deed == "keys" and number:
                yield "@k_%s[%s %% %d] = count();" % (source, number, draw.choice([5, 1000, 100000])), "keys"
            elif deed == "unique" and number:
                yield "@u_%s[tid, %s] = 1;" % (source, number), "unique"
            elif deed == "texts" and text:
                yield "@t_%s[%s] = count();" % (source, text), "texts"
            elif deed == "divide" and number:
                yield "@d_%s = sum(10 / ((int64)%s %% 5));" % (source, number), "divide"
            elif deed == "delete" and number:
                yield "delete(@none, %s);" % number, "delete"
        yield "}", None

    def write(self, draw):
        lines = []

        def add(line, place=None):
            lines.append(line)
            if place:
                self.places[len(lines)] = place

        for source in self.sources:
            add("let @k_%s = percpuhash(%d);" % (source, draw.choice([10, 500, 4096])))
            add("let @u_%s = hash(%d);" % (source, draw.choice([1, 100, 20000])))
        body = []
        for source in self.sources:
            for line, deed in self.block(draw, source):
                body.append((line, deed and (source, deed)))
        text = "\n".join(line for line, _ in body)
        lines[:] = [line for line in lines if line.split()[1] in text]
        add('begin { for ($i : 0..1000) { @big[$i] = count(); } @none[(int64)-1] = 1; }')
        for line, place in body:
            add(line, place)
        self.prints["timer"] = 1
        if self.timer_ms:
            add("interval:ms:%d { @n_timer = count(); print(@big, 1); }" % self.timer_ms)
        counted = self.sources + ["timer"] * bool(self.timer_ms)
        for name in counted:
            add('end { warnf("counted %s %%d", (int64)@n_%s); }' % (name, name))
        add("end { clear(@big); }")
        return "\n".join(lines) + "\n"

    def __str__(self):
        return "\n".join("  " + line for line in [
            "threads " + " ".join("%s:%d:%d:%d" % thread for thread in self.threads),
            "faults %d, recorder %d KiB in %s%s, %s, without '%s'" % (
                self.faults, self.ring_kib, self.recordings, ", drained" * self.drains, self.environment, self.without),
            "output %s%s, timer %d ms, %.2f s, end %s" % (self.output, " json" * self.json, self.timer_ms, self.fires, self.end),
            "pauses " + " ".join("%s@%.2f+%.3f" % (who, when, how_long) for when, how_long, who in self.pauses),
        ] + self.script.splitlines())


def wait_for(what, condition):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise Exception("waited too long for " + what)
        time.sleep(0.005)


class Reader(threading.Thread):
    """Of a pipe: keeps what comes, and stands still when it is told to."""

    def __init__(self):
        super().__init__(daemon=True)
        self.source, self.end = os.pipe()
        self.goes = threading.Event()
        self.goes.set()
        self.file = open("out", "wb")

    def run(self):
        while True:
            self.goes.wait()
            piece = os.read(self.source, 65536)
            if not piece:
                break
            self.file.write(piece)
            self.file.flush()
        os.close(self.source)
        self.file.close()


class Run:
    """One trace as planned: fired, faults by source, and the files out and err."""

    def __init__(self, plan):
        self.plan = plan
        self.fired, self.faults = collections.Counter(), collections.Counter()
        self.by_thread = []
        self.stopped = {}  # who, until when
        for name in os.listdir("."):
            if os.path.isfile(name) and name != "counts":
                os.unlink(name)
        for path in [directory + "/" + name for directory in ("small", "rings") for name in os.listdir(directory)]:
            os.unlink(path)
        open("script.bt", "w").write(plan.script)

    def go(self):
        plan = self.plan
        environment = dict(os.environ, SPOOR_TRACE_DIR=os.path.abspath(plan.recordings))
        environment.update(plan.environment)
        self.target = subprocess.Popen(["./counts", str(plan.ring_kib), str(plan.faults)] + ["%s:%d:%d:%d" % thread for thread in plan.threads],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)
        self.tracer = self.drainer = None
        try:
            self.recording = self.target.stdout.readline().strip()
            if plan.drains:
                self.drainer = subprocess.Popen([build + "/spoor", "record", "-f", self.recording, "-o", "drained"], stderr=open("drainer", "w"))
                wait_for("the drainer", lambda: os.path.exists("drained") or self.drainer.poll() is not None)
            self.trace(environment)
            if plan.drains:
                self.drainer.send_signal(signal.SIGINT)
                wait_for("the drainer's end", lambda: self.drainer.poll() is not None)
        finally:
            for process in (self.tracer, self.drainer, self.target):
                if process and process.poll() is None:
                    process.kill()
                    process.wait()
            self.target.stdin.close()
            self.target.stdout.close()

    def trace(self, environment):
        plan = self.plan
        self.path = "small/out" if plan.output == "small" else "out"
        command = [build + "/spoor", "-p", str(self.target.pid)]
        command += ["-f", "json"] if plan.json else []
        command += ["--no-feature", plan.without] if plan.without else []
        command += ["--duration", "%dms" % (plan.fires * 1000)] if plan.end == "duration" else []
        command += ["-o", self.path] if plan.output != "pipe" else []
        self.reader = Reader() if plan.output == "pipe" else None

        def limit():
            if plan.output == "limit":
                resource.setrlimit(resource.RLIMIT_FSIZE, (400000, resource.RLIM_INFINITY))

        with open("err", "w") as err:
            self.tracer = subprocess.Popen(command + ["script.bt"], stdout=self.reader.end if self.reader else subprocess.DEVNULL,
                                           stderr=err, env=environment, preexec_fn=limit)
        if self.reader:
            os.close(self.reader.end)
            self.reader.start()
        wait_for("the tracer", lambda: self.is_attached() or self.tracer.poll() is not None)
        self.tell("go")
        begin = time.monotonic()
        for when, who, stands in self.moments():
            time.sleep(max(0, begin + when - time.monotonic()))
            self.ask_for_end() if who == "~" else self.pause(who, stands)
        wait_for("the tracer's end", lambda: self.tracer.poll() is not None)
        if plan.end != "quiet":
            self.stop()
        if self.reader:
            self.reader.goes.set()
            self.reader.join(LIMIT)

    def is_attached(self):
        try:
            return b"attached_probes" in open(self.path, "rb").read() if self.plan.json else "\nAttached " in "\n" + open("err").read()
        except OSError:
            return False

    def tell(self, word):
        self.target.stdin.write(word + "\n")
        self.target.stdin.flush()

    def stop(self):
        self.tell("stop")
        for line in iter(self.target.stdout.readline, "end\n"):
            kind, _, fired, faults = line.split()
            self.by_thread.append((kind, int(fired)))
            for source in (kind, "returned") if kind == "call" else (kind,):
                self.fired[source] += int(fired)
                self.faults[source] += int(faults) if source == kind else 0

    def pause(self, who, stands):
        if who == "reader":
            self.reader.goes.clear() if stands else self.reader.goes.set()
            return
        number = signal.SIGSTOP if stands else signal.SIGCONT
        if who == "apart":
            for pid in self.apart():
                os.kill(pid, number)
            return
        process = {"tracer": self.tracer, "drainer": self.drainer, "traced": self.target}[who]
        if process.poll() is None:
            process.send_signal(number)

    def apart(self):
        """The processes that read recordings for the tracer."""
        try:
            children = open("/proc/%d/task/%d/children" % (self.tracer.pid, self.tracer.pid)).read().split()
            return [int(child) for child in children if open("/proc/%s/comm" % child).read() == "spoor-recording\n"]
        except OSError:
            return []

    def ask_for_end(self):
        if self.plan.end == "quiet":
            self.stop()
        if self.plan.end != "duration" and self.tracer.poll() is None:
            self.tracer.send_signal(signal.SIGINT)

    def moments(self):
        """When who stops or goes on, or ("~") the end is asked for. The traced goes on before that: it has to say what it fired."""
        found, until = [], {}
        for when, how_long, who in self.plan.pauses:
            end = min(when + how_long, self.plan.fires) if who == "traced" else when + how_long
            if when >= until.get(who, 0):
                found += [(when, who, True), (end, who, False)]
                until[who] = end
        return sorted(found + [(self.plan.fires, "~", False)], key=lambda moment: moment[:2])


class Account:
    """What the tracer said: lines and `<fault>`s by source, losses and runtime errors by place, elements of maps."""

    def __init__(self, run):
        self.plan, self.run = run.plan, run
        self.lines, self.wrong = collections.Counter(), collections.Counter()
        self.lost = collections.Counter()  # (source or ALL, reason)
        self.runtime_errors = collections.Counter()  # (source, what is done there)
        self.counted, self.maps = {}, {}
        self.strange = []
        self.texts = collections.Counter()
        self.source_of = {probe.replace("./", os.getcwd() + "/"): source for source, probe in PROBES.items()}
        output = open(run.path, errors="replace").read() if os.path.exists(run.path) else ""
        whole = output[:output.rfind("\n") + 1]
        errors = open("err", errors="replace").read()
        self.read_json(whole) if self.plan.json else self.read_text(whole)
        self.read_messages(errors)

    def line(self, text):
        word = text.split(" ", 1)[0]
        if word not in self.plan.sources:
            self.strange.append(text)
        self.lines[word] += 1
        self.wrong[word] += "<fault>" in text

    def loss(self, count, probe, reason):
        source = "timer" if probe.startswith("interval") else ALL if probe.startswith("all") else self.source_of.get(probe)
        if probe.startswith("trace probes"):
            source, reason = "record", "unread"
        if source is None:
            self.strange.append("lost of " + probe)
        self.lost[source, reason] += count

    def read_json(self, output):
        for line in output.splitlines():
            record = json.loads(line)
            kind, data = record["type"], record.get("data")
            if kind == "printf":
                self.line(data.rstrip("\n"))
            elif kind == "map":
                for name, value in data.items():
                    if name == "@big":
                        self.lines["timer"] += 1
                    else:
                        self.maps[name] = value
            elif kind == "lost_events":
                self.loss(record["count"], data["probe"], data["reason"])
            elif kind in ("helper_error", "runtime_error"):
                self.runtime_error(record["line"], record.get("count", 1), record["msg"])
            elif kind == "warnf":
                self.read_counted(record["msg"])
            elif kind != "attached_probes":
                self.strange.append(line)

    def read_text(self, output):
        for line in output.splitlines():
            found = re.match(r"@(\w+)(?:\[(.*)\])?: (-?\d+)$", line)
            if line.startswith("@big["):
                self.lines["timer"] += 1
            elif found and found[2] is None:
                self.maps["@" + found[1]] = int(found[3])
            elif found:
                self.maps.setdefault("@" + found[1], {})[found[2]] = int(found[3])
            elif line:
                self.line(line)

    def read_counted(self, text):
        for name, count in re.findall(r"counted (\w+) (\d+)", text):
            self.counted[name] = int(count)

    def runtime_error(self, line, count, message):
        if line not in self.plan.places:
            self.strange.append("%s in line %d" % (message, line))
            return
        source, deed = self.plan.places[line]
        what = {"Bad": "fault", "Mem": "fault", "Map": "full", "Div": "divide", "Can": "delete"}.get(message[:3], message)
        self.runtime_errors[source, deed, what] += count

    def read_messages(self, errors):
        self.read_counted(errors)
        for line, message in re.findall(r"^script\.bt:(\d+):.*?: WARNING: (.*\n(?:Additional Info.*\n)?)", errors, re.M):
            if not message.startswith("counted"):
                times = re.search(r"(\d+) times in ", message)
                self.runtime_error(int(line), int(times[1]) if times else 1, message)
        for line in errors.splitlines():
            found = re.match(r"Lost (\d+) events of (.*): (.*)$", line)
            if found:
                self.loss(int(found[1]), found[2], REASONS[found[3]])
                continue
            found = re.match(r"Lost (\d+) events (.*)$", line)
            if found:
                self.lost[END_REASONS[found[2]]] += int(found[1])
                continue
            found = re.match(r"(?:WARNING|NOTE): .*?(\d+) (?:older )?events (were overwritten|could not be recorded)", line)
            if found:
                self.lost["record", "overwritten" if "over" in found[2] else "unrecorded"] += int(found[1])
            elif line.startswith(("ERROR", "WARNING")) and not re.match(KNOWN, line):
                self.strange.append(line)


REASONS = {
    "the reader could not keep up": "ring",
    "no scratch memory was free": "scratch",
    "the CPU was running a BPF program already": "nested",
}
END_REASONS = {
    "that were waiting to be printed or acted on when the trace was ended": (ALL, "end"),
    "of recordings that were waiting to be read when the trace was ended": ("record", "unread"),
    "that could not be written": (ALL, "unwritten"),
}


KNOWN = r"WARNING: \d+ records came too late|ERROR: (cannot write the output|nobody reads)"


class Checks:
    """The equations. Each is told with both sides if they differ."""

    def __init__(self, run, account):
        self.run, self.account, self.plan = run, account, run.plan
        self.wrong = ["strange: " + text for text in account.strange[:5]]
        if run.tracer.returncode not in ((0, 1) if self.breaks() else (0,)):
            self.wrong.append("the tracer ended with %s" % run.tracer.returncode)
        known = [source for source in self.plan.sources if not self.is_unknown(source)]
        for source in known:
            self.source(source)
        if known == self.plan.sources:
            self.all_lines()
        if "record" in self.plan.sources:
            self.recorder()

    def is_unknown(self, source):
        """What was counted stood in the last piece of JSON, which could not be written any more."""
        return self.plan.json and self.breaks() and source not in self.account.counted

    def breaks(self):
        return "ERROR" in open("err").read()

    def same(self, name, one, other):
        if one != other:
            self.wrong.append("%s: %s and not %s" % (name, one, other))

    def least(self, name, one, other):
        if one > other:
            self.wrong.append("%s: %s, more than %s" % (name, one, other))

    def counted(self, source):
        return self.account.counted.get(source, self.account.maps.get("@n_" + source, 0))

    def seen(self, source):
        """What blocks ran for, and what was told as not seen by them."""
        lost = self.account.lost
        return self.counted(source) + sum(lost[source, reason] for reason in ("scratch", "nested", "overwritten", "unrecorded", "unread"))

    def source(self, source):
        fired, count, is_whole = self.run.fired[source], self.counted(source), self.plan.end == "quiet" and not self.breaks()
        lost = {reason: number for (of, reason), number in self.account.lost.items() if of == source}
        (self.same if is_whole else self.least)("%s: counted %d and lost %s, and fired" % (source, count, lost), self.seen(source), fired)
        runs_for_all = is_whole and count == fired
        for (place, deed) in self.plan.places.values():
            if place != source:
                continue
            happened = lambda what: self.account.runtime_errors[source, deed, what]
            name = "%s, %s" % (source, deed)
            if deed in ("keys", "unique", "texts") and not self.breaks():
                elements = self.account.maps.get("@%s_%s" % (deed[0], source), {})
                self.same(name + ": in the map and rejected, and counted", sum(elements.values()) + happened("full"), count)
            if deed == "texts" and not self.breaks():
                self.same(name + ": faults in the map, and told", elements.get("<fault>", 0), happened("fault"))
            if deed == "texts" and runs_for_all:
                self.same(name + ": faults told, and fired", happened("fault"), self.run.faults[source])
            if deed == "divide" and runs_for_all:
                zeros = sum((fired + 4) // 5 for kind, fired in self.run.by_thread if kind == ("call" if source == "returned" else source))
                self.same(name + ": divisions by zero told, and fired", happened("divide"), zeros)
            if deed == "delete":
                self.same(name + ": told, and counted", happened("delete"), count)
        self.faults_in_lines(source, runs_for_all)

    def faults_in_lines(self, source, runs_for_all):
        """Of short strings programs count them, of others the reader, which does not see what was lost."""
        told, shown = self.account.runtime_errors[source, "line", "fault"], self.account.wrong[source]
        missing = {"unwritten": self.account.lost[ALL, "unwritten"]}
        if int(self.plan.environment["SPOOR_MAX_STRLEN"]) <= PACKED_LEAST:
            missing.update(ring=self.account.lost[source, "ring"], end=self.account.lost[ALL, "end"])
            if runs_for_all:
                self.same(source + ": faults of lines told, and fired", told, self.run.faults[source] * self.plan.texts[source])
        self.least(source + ": faults in lines, and told", shown, told)
        self.least(source + ": faults told, and in lines or lost", told, shown + sum(missing.values()))

    def all_lines(self):
        missing = 0
        for source in self.plan.sources + ["timer"] * bool(self.plan.timer_ms):
            sent = self.counted(source) * self.plan.prints[source] - self.account.lost[source, "ring"]
            self.least(source + ": lines, and sent", self.account.lines[source], sent)
            missing += sent - self.account.lines[source]
        told = sum(self.account.lost[ALL, reason] for reason in ("end", "unwritten"))
        self.same("lines that are missing at the end, and told", missing, told)

    def recorder(self):
        """Of the recording itself, and of what was drained from it: what is read and what is missing."""
        fired = self.run.fired["record"]
        self.recording("recorder", self.run.recording, fired)
        if self.plan.drains:
            self.recording("drained", "drained", fired)
            told = [int(number) for number in re.findall(r"(\d+) events in .*; (\d+) were", open("drainer").read())[0]]
            self.same("drainer: what it tells, and fired", sum(told) + self.unrecorded, fired)

    def recording(self, name, path, fired):
        for command in (["report", "-f", path, "--stats"], ["-q", "-f", path, "-e", "trace:* { @ = count(); }"]):
            done = subprocess.run([build + "/spoor"] + command, capture_output=True, text=True)
            number = lambda pattern: sum(int(found) for found in re.findall(pattern, done.stdout + done.stderr, re.M))
            self.unrecorded = number(r"(\d+) events could not")
            told = number(r"^(?:@: )?(\d+)(?: events in .*)?$"), number(r"(\d+) (?:older )?events were overwritten"), self.unrecorded
            self.same("%s, %s: read, overwritten and lost %s, and fired" % (name, command[0], told), sum(told), fired)


def main():
    end, seed, failed = time.monotonic() + seconds, first, []
    fired, lost, told, lines = 0, collections.Counter(), collections.Counter(), 0
    while time.monotonic() < end:
        plan = Plan(seed)
        run = Run(plan)
        try:
            run.go()
            account = Account(run)
            wrong = Checks(run, account).wrong
            fired += sum(count for _, count in run.by_thread)
            lines += sum(account.lines.values())
            for (_, reason), count in account.lost.items():
                lost[reason] += count
            for (_, _, what), count in account.runtime_errors.items():
                told[what] += count
        except Exception as problem:
            wrong = [repr(problem)]
            if os.environ.get("TRACEBACK"):
                raise
        if wrong:
            failed.append(seed)
            print("not ok seed %d: %s\n%s\n%s" % (seed, "\n  ".join([""] + wrong[:10]), plan, "".join(open("err").readlines()[-12:])))
        else:
            print("ok seed %d" % seed)
        sys.stdout.flush()
        seed += 1
    print("# seeds %d to %d: %d events fired, %d lines; lost: %s; told: %s; failed: %s" % (
        first, seed - 1, fired, lines, dict(lost), dict(told), failed or "none"))
    return bool(failed)


sys.exit(main())
