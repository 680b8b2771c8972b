# SPDX-License-Identifier: BSD-3-Clause
# The parts of serve.sh: serve.py BUILD [PART].
import glob
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

from background import Background
from otlp_receiver import LOGS, METRICS, Receiver, attributes, points
from waiting import until

build = sys.argv[1]
spoor = os.path.join(build, "spoor")
here = os.getcwd()


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Served(Background):
    """A directory that is served, and the process that does it."""

    def __init__(self, scripts, *options, place="unix:" + here + "/socket", environment={}, output=None):
        self.directory = os.path.join(here, "scripts")
        shutil.rmtree(self.directory, ignore_errors=True)
        os.mkdir(self.directory)
        for name, text in scripts.items():
            self.write(name, text)
        super().__init__([spoor, "serve", "--openmetrics", place, *options, self.directory], output,
                         env={**os.environ, **environment})

    def write(self, name, text):
        path = os.path.join(self.directory, name + ".bt")
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def remove(self, name):
        os.unlink(os.path.join(self.directory, name + ".bt"))

    def said(self, words):
        with open("err") as file:
            return words in file.read()

    def printed(self, words):
        with open("out") as file:
            return words in file.read()

    def text(self):
        connection = http.client.HTTPConnection("localhost", timeout=20)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(20)
        try:
            connection.sock.connect("socket")
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        except OSError:
            return ""
        finally:
            connection.close()

    def numbers(self):
        found = {}
        for line in self.text().split("\n"):
            if line and not line.startswith("#"):
                name, number = line.rsplit(" ", 1)
                assert name not in found, "twice: " + name
                found[name] = float(number)
        return found

    def of(self, script, what):
        return self.numbers().get(f'spoor_serve_script_{what}{{script="{script}"}}')

    def is_up(self, *names):
        return until(lambda: all(self.of(name, "up") == 1 for name in names))

    def end(self):
        """Ends it; returns what is wrong with how it ended."""
        all_of_it = children(self.process.pid)
        self.process.terminate()
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            return "it does not end"
        if status:
            return f"status {status}"
        if os.path.exists("socket"):
            return "its socket is still there"
        return [pid for pid in all_of_it if is_alive(pid)]


def explain():
    if not os.path.exists("err"):
        return ""
    with open("err") as file:
        return file.read()


parts = {}


def part(function):
    parts[function.__name__.replace("_", " ")] = function
    return function


def check(name, is_right, why=""):
    print(("ok " if is_right else "not ok ") + name)
    if not is_right:
        print("  " + (str(why) + "\n" + explain()).replace("\n", "\n  "))


STAYS = "interval:s:3600 { }"
COUNTS = "// How often it began.\nbegin { @began = count(); @keys[\"a\"] = count(); }\n" + STAYS


@part
def metrics_of_all_scripts():
    # The same text as two scripts; hist() is a family with rows.
    with Served({"one": COUNTS, "two": COUNTS, "rows": "begin { @rows = hist(5); @rows = hist(70); }" + STAYS}) as served:
        check("all run", served.is_up("one", "two", "rows"))
        found = served.numbers()
        expected = {'spoor_one_began_total{script="one"}': 1, 'spoor_two_began_total{script="two"}': 1,
                    'spoor_one_keys_total{script="one",key0="a"}': 1, 'spoor_rows_rows_count{script="rows"}': 2,
                    'spoor_rows_rows_bucket{script="rows",le="7"}': 1, 'spoor_rows_rows_bucket{script="rows",le="127"}': 2,
                    'spoor_trace_probes{script="one"}': 2, 'spoor_serve_script_failures_total{script="two"}': 0}
        wrong = {name: found.get(name) for name, number in expected.items() if found.get(name) != number}
        check("what they count", not wrong, wrong)
        infos = [name for name in found if name.startswith("spoor_trace_info{")]
        check("one family for all that they count about themselves",
              len(infos) == 3 and all(f'script="{name}"' in " ".join(infos) for name in ("one", "two", "rows")), infos)
        text = served.text()
        check("no family comes twice", len(set(l for l in text.split("\n") if l.startswith("# TYPE"))) ==
              text.count("# TYPE"), text)
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True)
            check("promtool finds nothing", done.returncode == 0, done.stdout + done.stderr)
        wrong = served.end()
        check("all of it ends", not wrong, wrong)


@part
def what_scripts_print():
    with Served({"says": 'begin { printf("one\\ntwo "); printf("parts\\n"); }' + STAYS,
                 "ends": 'begin { printf("no end"); exit(); }'}) as served:
        check("lines have their name",
              until(lambda: served.printed("says: one\nsays: two parts\n") and served.printed("ends: no end\n")))
        check("a script that ends is not started again", until(lambda: served.said("NOTE: ends has ended")) and
              served.is_up("says") and served.of("ends", "up") == 0 and served.of("ends", "starts_total") == 1)


@part
def a_script_that_fails():
    large = "config = { max_map_keys = 10000000 } begin { @x[1] = 1; }" + STAYS
    # Sanitizers take all addresses that there are.
    limit = ["--max-memory", "64M"] if os.path.exists(os.path.join(build, "gen", "hardening.mk")) else []
    small = "config = { max_memory = \"33M\"; max_map_keys = 100000 } begin { @x[1] = 1; }" + STAYS
    with Served({"good": COUNTS, "bad": "begin { @x = ; }", "large": large, "small": small}, *limit) as served:
        check("it is told", until(lambda: served.said("bad.bt:1:14") and served.said("bad ended with status 1")))
        check("the others run", served.is_up("good"))
        check("it is started again", until(lambda: (served.of("bad", "failures_total") or 0) >= 2))
        check("limits of memory are each one's own", not limit or (
            until(lambda: served.said("and --max-memory allows 65536 KB")) and served.of("large", "up") == 0))
        check("and a script may want a lower one", until(lambda: served.said("and its setting max_memory allows 33792 KB")))
        served.write("bad", COUNTS)
        check("it runs when it is mended", served.is_up("bad") and until(lambda: served.numbers().get('spoor_bad_began_total{script="bad"}') == 1))


@part
def files_that_change():
    with Served({"a": COUNTS, "b": COUNTS}) as served:
        served.is_up("a", "b")
        served.write("a", COUNTS.replace("@began", "@anew"))
        check("a new text takes the place of the old one",
              until(lambda: served.numbers().get('spoor_a_anew_total{script="a"}') == 1))
        check("which is gone, and was not said to have failed",
              'spoor_a_began_total{script="a"}' not in served.numbers() and served.of("a", "failures_total") == 0)
        served.write("a", "begin { @x = ; }")
        check("a text that does not run replaces nothing", until(lambda: served.of("a", "stale") == 1) and
              served.numbers().get('spoor_a_anew_total{script="a"}') == 1 and served.of("a", "up") == 1)
        served.write("a", COUNTS)
        check("until it is mended", until(lambda: served.numbers().get('spoor_a_began_total{script="a"}') == 1) and
              served.of("a", "stale") == 0)
        served.remove("b")
        check("a script whose file goes ends", until(lambda: served.of("b", "up") is None))
        served.write("b", COUNTS)
        check("and comes back with it", served.is_up("b"))
        served.write("c", COUNTS)
        check("a new file is a new script", served.is_up("c"))
        for turn in range(5):
            served.write("c", COUNTS + f"\n// {turn}\n")
        check("of many texts the last one runs", until(lambda: served.of("c", "up") == 1 and served.numbers().get(
            'spoor_trace_probes{script="c"}') == 2) and not served.said("c ended"))
        served.process.send_signal(signal.SIGHUP)
        check("SIGHUP harms nobody", served.is_up("a", "b", "c"))
        os.rename(served.directory, served.directory + ".old")
        check("without its directory they go on", until(lambda: served.said(
            "' cannot be read")) and served.is_up("a", "b", "c"))
        os.mkdir(served.directory)
        served.write("d", COUNTS)
        check("another directory of that name is served", served.is_up("d") and until(lambda: served.of("a", "up") is None))
        served.write("e", COUNTS)
        check("and watched", served.is_up("e"))
        shutil.rmtree(served.directory + ".old")


@part
def links_as_a_config_map_has_them():
    with Served({}) as served:
        for turn in ("first", "second"):
            data = os.path.join(served.directory, f"..{turn}")
            os.mkdir(data)
            with open(os.path.join(data, "linked.bt"), "w") as file:
                file.write(COUNTS.replace("@began", "@" + turn))
            os.symlink(f"..{turn}", os.path.join(served.directory, "..new"))
            os.rename(os.path.join(served.directory, "..new"), os.path.join(served.directory, "..data"))
            if turn == "first":
                os.symlink("..data/linked.bt", os.path.join(served.directory, "linked.bt"))
            check(f"the {turn} one runs",
                  until(lambda: served.numbers().get(f'spoor_linked_{turn}_total{{script="linked"}}') == 1))


@part
def processes_that_die():
    with Served({"a": COUNTS, "b": COUNTS}) as served:
        served.is_up("a", "b")
        publisher = children(served.process.pid)[0]
        for pid in children(served.process.pid)[1:]:
            os.kill(pid, signal.SIGKILL)
        check("scripts are started again", until(lambda: served.of("a", "failures_total") == 1 and
                                                 served.of("b", "failures_total") == 1) and served.is_up("a", "b"))
        os.kill(publisher, signal.SIGKILL)
        check("and so is the one that publishes", until(lambda: served.said("publishes metrics ended")) and
              served.is_up("a", "b"))
        stopped = children(served.process.pid)[0]
        os.kill(stopped, signal.SIGSTOP)
        begin = time.monotonic()
        found = {}

        def is_left_out():
            found.update(served.numbers())
            return sum(found.get(f'spoor_serve_script_unanswered_total{{script="{name}"}}', 0) for name in "ab")
        check("one that stands still is left out, and holds nobody up", until(is_left_out) and
              time.monotonic() - begin < 15, found)
        check("the other one is there", len({'spoor_a_began_total{script="a"}', 'spoor_b_began_total{script="b"}'} &
                                            set(served.numbers())) == 1)
        os.kill(stopped, signal.SIGCONT)
        check("until it goes on", until(lambda: {'spoor_a_began_total{script="a"}', 'spoor_b_began_total{script="b"}'} <=
                                        set(served.numbers())))
        everyone = children(served.process.pid)
        served.process.kill()
        served.process.wait()
        check("without the supervisor all end", until(lambda: not any(is_alive(pid) for pid in everyone)),
              [pid for pid in everyone if is_alive(pid)])


@part
def the_guard():
    # Of two scripts that do the same the one pauses that wants a lower limit than all of them have.
    with Receiver() as receiver, Served({"busy": "config = { max_cpu = 1 } tracepoint:raw_syscalls:sys_enter { @calls = count(); }", "calm": COUNTS,
                 "alike": "tracepoint:raw_syscalls:sys_enter { @calls = count(); }"}, "--max-cpu", "99000", "--otlp", receiver.url) as served:
        served.is_up("busy", "calm", "alike")
        load = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1"], stderr=subprocess.DEVNULL)
        paused = until(lambda: (served.of("busy", "pauses_total") or 0) >= 1)
        load.kill()
        load.wait()
        check("a script whose probes take too much is paused", paused and served.said("of a CPU: they are paused for 10 s"))
        check("the others are not", served.of("calm", "pauses_total") == 0 and served.of("calm", "paused") == 0 and served.of("alike", "pauses_total") == 0)
        check("and goes on", until(lambda: served.of("busy", "paused") == 0 and served.of("busy", "up") == 1, 60))

        def calls():
            return sum(number for name, number in served.numbers().items() if name.startswith("spoor_busy_calls_total{"))
        before = calls()
        check("it counts again", until(lambda: calls() > before))
        check("a receiver is told why it paused", until(lambda: any(severity == 13 and "its probes took" in text for severity, text in sent_records(receiver, "busy"))),
              sent_records(receiver, "busy"))


@part
def errors_that_come_again():
    with Served({"full": "config = { max_map_keys = 2 } interval:ms:100 { @[nsecs] = count(); }"}) as served:
        happened = until(lambda: sum(number for name, number in served.numbers().items() if 'error="map_full"' in name) >= 25)
        with open("err") as file:
            told = file.read().count("Map full")
        check("errors that happen again are counted, and told once a minute", happened and told == 1)


@part
def nobody_who_reads():
    reading, writing = os.pipe()
    os.mkdir("unread")
    with open("unread/says.bt", "w") as file:
        file.write('begin { @began = count(); } interval:ms:100 { printf("said\\n"); @said = count(); }')
    process = subprocess.Popen([spoor, "serve", "--openmetrics", here + "/unread.prom", "--openmetrics-period", "100ms",
                                "unread"], stdout=writing, stderr=writing, stdin=subprocess.DEVNULL)
    os.close(writing)

    def said():
        try:
            with open("unread.prom") as file:
                found = [line for line in file if line.startswith("spoor_says_said_total")]
            return float(found[0].rsplit(" ", 1)[1]) if found else 0
        except OSError:
            return 0
    until(lambda: said() > 0)
    os.close(reading)
    before = said()
    with open("unread/bad.bt", "w") as file:
        file.write("begin {")
    check("metrics go on when nobody reads what is printed", until(lambda: said() > before + 5) and process.poll() is None)
    process.terminate()
    check("and it ends", process.wait(30) == 0)


@part
def somebody_who_does_not_read():
    reading, writing = os.pipe()
    with Served({"says": """interval:ms:1 { @said = count(); printf("%d %s\\n", @said, "x"); }"""}, output=writing) as served:
        os.close(writing)
        served.is_up("says")

        def said():
            return served.numbers().get('spoor_says_said_total{script="says"}', 0)
        check("metrics go on", until(lambda: said() > 8000, 60))  # a pipe holds 64 KB
        got = b""
        os.set_blocking(reading, False)

        def is_told():
            nonlocal got
            try:
                got += os.read(reading, 65536)
            except BlockingIOError:
                pass
            return b"missing here" in got
        until(is_told)
        lines = [line for line in got.split(b"\n")[:-1] if b"missing" not in line]
        check("lines are whole, and it is said how many are missing",
              all(line.startswith(b"says: ") and line.endswith(b" x") for line in lines) and b" lines are missing here: nobody read them" in got)
        wrong = served.end()
        check("it ends", not wrong, wrong)
    os.close(reading)


@part
def rights():
    with Served({"a": COUNTS}) as served:
        served.is_up("a")
        publisher, script = children(served.process.pid)

        def rights_of(pid):
            with open(f"/proc/{pid}/status") as file:
                return [int(line.split()[1], 16) for line in file if line.startswith("CapPrm")][0]
        check("who talks to scrapers has no rights", rights_of(publisher) == 0, rights_of(publisher))
        check("a script gives up what it does not need", rights_of(script) != rights_of(served.process.pid))
        path = os.path.join(served.directory, "a.bt")
        with open(path, "a") as file:
            file.write("\n// more\n")
        os.chmod(path, 0o666)
        check("a file that others may write is not read", until(lambda: served.of("a", "stale") == 1) and
              served.said("may be written by everybody") and served.of("a", "up") == 1)
        os.chmod(path, 0o644)
        check("until they may not", until(lambda: served.of("a", "stale") == 0))


@part
def a_service_manager():
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind("manager")
    manager.settimeout(30)
    with Served({"a": COUNTS, "bad": "begin {"},
                environment={"NOTIFY_SOCKET": here + "/manager", "WATCHDOG_USEC": "400000"}) as served:
        said = [manager.recv(4096).decode()]
        while "READY=1" not in said[-1]:
            said.append(manager.recv(4096).decode())
        check("is told that all is ready", said[-1] == "READY=1\nSTATUS=1 of 2 scripts run", said)
        told = [manager.recv(4096).decode() for _ in range(5)]
        check("and that it is alive", told == ["WATCHDOG=1"] * 5, told)
        wrong = served.end()
        manager.settimeout(0.1)
        try:
            while told[-1] != "STOPPING=1":
                told.append(manager.recv(4096).decode())
        except OSError:
            pass
        check("and that it ends", not wrong and told[-1] == "STOPPING=1", (wrong, told))
    manager.close()
    os.unlink("manager")


@part
def a_file():
    with Served({"a": COUNTS}, "--openmetrics-period", "100ms", place=here + "/out.prom") as served:
        def content():
            try:
                with open("out.prom") as file:
                    return file.read()
            except OSError:
                return ""
        check("has the metrics", until(lambda: 'spoor_a_began_total{script="a"} 1' in content()))
        wrong = served.end()
        check("all of it ends", not wrong, wrong)


def by_service(receiver, kind):
    """{service.name: [(attributes of the resource, what its scope has)]} of all that a receiver has got by now."""
    resources, scopes, items = ("resourceLogs", "scopeLogs", "logRecords") if kind is LOGS else ("resourceMetrics", "scopeMetrics", "metrics")
    found = {}
    for request in receiver.requests(kind):
        for resource in request[resources]:
            about = attributes(resource["resource"])
            found.setdefault(about.get("service.name"), []).append((about, [item for scope in resource[scopes] for item in scope[items]]))
    return found


def sent_lines(receiver, script):
    return [record["body"]["stringValue"] for _, records in by_service(receiver, LOGS).get(script, []) for record in records]


def sent_number(receiver, script, metric):
    """The newest number of a metric without keys."""
    numbers = [next(iter(points(item).values()))["asDouble"] for _, items in by_service(receiver, METRICS).get(script, []) for item in items if item["name"] == metric]
    return numbers[-1] if numbers else None


@part
def a_receiver_of_opentelemetry():
    says = 'begin { @began = count(); printf("hello\\n"); } interval:ms:50 { @ticks = count(); printf("tick\\n"); } end { printf("bye\\n"); }'
    with Receiver() as receiver, Served({"says": says, "calm": COUNTS}, "--otlp", receiver.url, "--openmetrics-period", "100ms") as served:
        check("maps of each script arrive", until(lambda: (sent_number(receiver, "says", "spoor_says_ticks") or 0) > 2 and sent_number(receiver, "calm", "spoor_calm_began") == 1))
        check("and its lines", until(lambda: sent_lines(receiver, "says")[:2] == ["hello", "tick"]) and not sent_lines(receiver, "calm"))
        about = by_service(receiver, METRICS)["says"][0][0]
        host = os.uname().nodename
        wanted = {"service.name": "says", "service.namespace": "spoor", "service.instance.id": host, "host.name": host, "os.type": "linux"}
        check("a script is a service, and this machine one of its instances", about == wanted and by_service(receiver, LOGS)["says"][0][0] == wanted, about)
        check("scrapers get the same", until(lambda: served.numbers().get('spoor_calm_began_total{script="calm"}') == 1))
        check("lines are printed, too", until(lambda: served.printed("says: hello\nsays: tick\n")))
        served.write("says", says.replace("hello", "again"))
        check("what is replaced sends all that it had", until(lambda: "again" in sent_lines(receiver, "says") and "bye" in sent_lines(receiver, "says")))
        wrong = served.end()
        check("all of it ends", not wrong, wrong)
        lines = sent_lines(receiver, "says")
        with open("out") as file:
            printed = [line[len("says: "):-1] for line in file if line.startswith("says: ")]
        check("every line that was printed has arrived", sorted(lines) == sorted(printed) and lines.count("bye") == 2, (len(lines), len(printed)))
        check("nothing is said about what arrived", not served.said("arrive"))


def sent_records(receiver, script):
    """Severities and texts."""
    return [(record["severityNumber"], record["body"]["stringValue"]) for _, records in by_service(receiver, LOGS).get(script, []) for record in records]


@part
def errors_for_a_receiver():
    with Receiver() as receiver, Served({"bad": "begin { @x = ; }", "full": 'config = { max_map_keys = 2 } interval:ms:10 { @[nsecs] = count(); }'}, "--otlp", receiver.url) as served:
        def sent(script):
            return sent_records(receiver, script)
        check("it is told why a script does not run", until(lambda: sent("bad")) and sent("bad")[0][0] == 17 and "bad.bt:1:14-15: ERROR: syntax" in sent("bad")[0][1], sent("bad"))
        check("and of errors in its blocks", until(lambda: sent("full")) and sent("full")[0][0] == 13 and "Map full" in sent("full")[0][1], sent("full"))
        wrong = served.end()
        check("all of it ends", not wrong, wrong)


@part
def counters_of_what_is_replaced():
    # What ends sends its last numbers when what takes its place runs already: those of one are not to come between those of the other.
    with Receiver() as receiver, Served({"a": COUNTS}, "--otlp", receiver.url, "--openmetrics-period", "1h") as served:
        def told():
            return [sorted(item["name"] for item in items if item["name"].startswith("spoor_a_")) for _, items in by_service(receiver, METRICS).get("a", [])]
        served.is_up("a")
        served.write("a", COUNTS.replace("@began", "@anew"))
        check("the old one ends with all that it counted", until(told) and told() == [["spoor_a_began", "spoor_a_keys"]], told())
        check("the new one runs", served.is_up("a") and until(lambda: served.numbers().get('spoor_a_anew_total{script="a"}') == 1))
        wrong = served.end()
        check("all of it ends", not wrong, wrong)
        check("and with it the new one", told() == [["spoor_a_began", "spoor_a_keys"], ["spoor_a_anew", "spoor_a_keys"]], told())


@part
def a_receiver_that_fails():
    ends = 'begin { @began = count(); printf("line\\n"); exit(); }'
    with Receiver(503) as receiver, Served({"ends": ends, "stays": ends.replace("exit();", "") + STAYS}, "--otlp", receiver.url, "--otlp-wait", "1s") as served:
        check("its script goes on", served.is_up("stays") and until(lambda: served.numbers().get('spoor_stays_began_total{script="stays"}') == 1))
        check("a script that has ended by itself has not failed", until(lambda: served.said("NOTE: ends has ended")) and served.of("ends", "failures_total") == 0 and served.of("ends", "starts_total") == 1)
        wrong = served.end()
        check("all of it ends", not wrong, wrong)
        for script in "ends", "stays":
            check(f"what of {script} did not arrive is counted, and told with its name", served.said(f"{script}: ERROR: 1 of 1 lines did not arrive at {receiver.url}, the last ones among them: it answers 503"))
        check("so is what goes wrong before", served.said(f"stays: WARNING: {receiver.url}/v1/metrics: it answers 503; it is tried again for 1 seconds"))


@part
def mistakes():
    for name, arguments, words in (
            ("no directory", [], "which directory"), ("two", ["a", "b"], "'b'"),
            ("none of that name", ["not-there"], "not-there"), ("a file", [__file__], __file__),
            ("a bad address", ["--openmetrics", "nonsense", here], "--openmetrics"),
            ("a share that is none", ["--max-cpu", "much", here], "--max-cpu"),
            ("a receiver that is a file", ["--otlp", "lines.json", here], "--otlp: 'lines.json' is no address"),
            ("a receiver of no address", ["--otlp", "ftp://x", here], "--otlp: 'ftp://x' is no address"),
            ("a header without a receiver", ["--otlp-header", "a=b", here], "needs --otlp")):
        done = subprocess.run([spoor, "serve", *arguments], capture_output=True, timeout=60)
        check(name, done.returncode == 1 and words in done.stderr.decode(), done)
    with Served({}) as served:
        check("a directory without scripts is served", until(lambda: served.said("0 of 0 scripts run")))
        done = subprocess.run([spoor, "serve", "--openmetrics", "unix:" + here + "/socket", here], capture_output=True,
                              timeout=60)
        check("an address that is taken", done.returncode == 1 and b"another program listens there" in done.stderr, done)


for name in parts:
    if len(sys.argv) < 3 or sys.argv[2] in name:
        print("== " + name)
        parts[name]()
