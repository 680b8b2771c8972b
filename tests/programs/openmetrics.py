# SPDX-License-Identifier: BSD-3-Clause
# The parts of openmetrics.sh: openmetrics.py ROOT BUILD [PART].
import glob
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

from prometheus import Prometheus, VictoriaMetrics, free_port
from waiting import until

root, build = sys.argv[1:3]
spoor = os.path.join(build, "spoor")


def result(name, failure):
    print(("not ok " if failure else "ok ") + name)
    if failure:
        print("  " + str(failure).replace("\n", "\n  "))


def run(*arguments, **options):
    return subprocess.run([spoor, "--host", "vm", "-q", *arguments], capture_output=True, timeout=60, **options)


def numbers(text):
    """The lines that are numbers, {name and labels: number}."""
    found = {}
    for line in text.split("\n"):
        if line and not line.startswith("#"):
            name, number = line.rsplit(" ", 1)
            assert name not in found, "twice: " + name
            found[name] = float(number)
    return found


def wanted(found, expected):
    """What differs from the numbers that are expected; None: it is not there."""
    return "\n".join(f"{name}: {found.get(name)}, and not {number}" for name, number in expected.items()
                     if found.get(name) != number)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode()
    except FileNotFoundError:
        return ""


def publish(script, name="script.bt", *options):
    """What a script that ends has published."""
    with open(name, "w") as file:
        file.write(script)
    done = run("--openmetrics", "out.prom", *options, name)
    text = read("out.prom")
    if os.path.exists("out.prom"):
        os.unlink("out.prom")
    return text, done


def lint(text):
    if not shutil.which("promtool"):
        return None
    done = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True)
    return (done.stdout + done.stderr).decode() if done.returncode else None


# ---- a file ----

KINDS = """config = { labels = "@calls: comm, pid" }
// How often,
// and by whom.
begin {
    @calls["a", 1] = count(); @calls["a", 1] = count(); @calls["b", 2] = count();
    @size_bytes = sum(5); @size_bytes = sum(7);
    @wait["x"] = avg(3); @wait["x"] = avg(-4);
    @all = stats(10); @all = stats(20);
    @least = min(-3); @least = min(4); @most["k"] = max(9); // The largest.
    @power = hist(0); @power = hist(5); @power = hist(7); @power = hist(100);
    @steps["r"] = lhist(5, 0, 20, 10); @steps["r"] = lhist(500, 0, 20, 10); @steps["w"] = lhist(-5, 0, 20, 10);
    @now = -5; @on[1, 2, "z"] = true; @text = "no number"; @unset[1] = 1; delete(@unset, 1);
    exit();
}
"""
TWINS = """begin {
    @calls["\\xff"] = count(); @calls["\\xfe"] = count(); @calls["\\xfe"] = count(); @calls["a"] = count();
    @least[1, "\\xff"] = min(5); @least[1, "\\xfe"] = min(3); @now["\\xfe"] = 3; @now["\\xff"] = 5;
    @rows["\\xff"] = hist(5); @rows["\\xfe"] = hist(5); @all["\\xff"] = stats(5); @all["\\xfe"] = stats(6);
    exit();
}
"""
text, done = publish(TWINS)
found = numbers(text)
result("keys that have the same labels", done.stderr.decode() or wanted(found, {
    'spoor_script_calls_total{key0="\ufffd"}': 3, 'spoor_script_calls_total{key0="a"}': 1,
    'spoor_script_least{key0="1",key1="\ufffd"}': 3, 'spoor_script_now{key0="\ufffd"}': 5,
    'spoor_script_rows_count{key0="\ufffd"}': 2, 'spoor_script_rows_bucket{key0="\ufffd",le="7"}': 2,
    'spoor_script_all_count{key0="\ufffd"}': 2, 'spoor_script_all_sum{key0="\ufffd"}': 11,
}))

text, done = publish(KINDS)
found = numbers(text)
result("kinds of maps", done.stderr.decode() or wanted(found, {
    'spoor_script_calls_total{comm="a",pid="1"}': 2, 'spoor_script_calls_total{comm="b",pid="2"}': 1,
    "spoor_script_size_bytes_sum": 12,
    'spoor_script_wait_count{key0="x"}': 2, 'spoor_script_wait_sum{key0="x"}': -1,
    "spoor_script_all_count": 2, "spoor_script_all_sum": 30,
    "spoor_script_least": -3, 'spoor_script_most{key0="k"}': 9,
    'spoor_script_power_bucket{le="0"}': 1, 'spoor_script_power_bucket{le="1"}': 1,
    'spoor_script_power_bucket{le="3"}': 1, 'spoor_script_power_bucket{le="7"}': 3,
    'spoor_script_power_bucket{le="127"}': 4, 'spoor_script_power_bucket{le="255"}': None,
    'spoor_script_power_bucket{le="+Inf"}': 4, "spoor_script_power_count": 4,
    'spoor_script_steps_bucket{key0="r",le="9"}': 1, 'spoor_script_steps_bucket{key0="r",le="+Inf"}': 2,
    'spoor_script_steps_bucket{key0="w",le="-1"}': 1, 'spoor_script_steps_bucket{key0="w",le="9"}': 1,
    "spoor_script_now": -5, 'spoor_script_on{key0="1",key1="2",key2="z"}': 1,
    "spoor_script_text": None, 'spoor_script_unset{key0="1"}': None,
    'spoor_trace_left_out_series{metric="spoor_script_calls"}': 0,
}))
result("comments are help", None if "# HELP spoor_script_calls_total How often, and by whom.\n" in
       publish(KINDS.replace("begin {\n", "begin {"))[0] and "# HELP spoor_script_least The largest.\n" in text
       and "# TYPE spoor_script_calls_total counter\n" in text else text)
result("promtool finds nothing to complain about", lint(text))

text, done = publish('config = { metric_prefix = "my-own" } begin { @a = count(); @["x"] = 1; exit(); }')
result("a prefix of its own", wanted(numbers(text), {"my_own_a_total": 1, 'my_own{key0="x"}': 1}))

NOTED = """
begin { @began[1] = nsecs; @began[2] = 5; @open["x"] = 1; @open["y"] = 1; }
begin { if (@began[1]) { @took = hist(nsecs - @began[1]); } delete(@began, 1); delete(@open, "y"); exit(); }
"""
text, done = publish(NOTED)
result("what the script keeps for itself is no metric", done.stderr.decode() or wanted(numbers(text), {"spoor_script_took_count": 1, 'spoor_script_open{key0="x"}': 1}) or ("began" in text and text))
text, done = publish('config = { metrics = "@began, @open" }' + NOTED)
result("but it is if it is named, and what is not named is none", done.stderr.decode() or wanted(numbers(text), {'spoor_script_began{key0="2"}': 5, 'spoor_script_open{key0="x"}': 1}) or ("took" in text and text))
text, done = publish('config = { metrics = "@took,@x\x1b" }' + NOTED)
result("a name that is no map is told", None if "WARNING: the setting metrics names @x\\x1b, which is no map of numbers" in done.stderr.decode() and "spoor_script_took_count 1" in text else done.stderr.decode() + text)

text, done = publish(r'begin { @["q\"b\\n\n"] = count(); @["\xff\xc3z"] = count(); exit(); }')
result("values of labels are escaped, and UTF-8", done.stderr.decode() or wanted(numbers(text), {
    r'spoor_script_total{key0="q\"b\\n\n"}': 1, 'spoor_script_total{key0="\ufffd\ufffdz"}': 1}) or lint(text))

CLEARED = """
begin { @n["a"] = count(); @n["a"] = count(); @n["b"] = count(); @h = hist(5); @s = sum(3); @g = max(7); @z["a"] = count(); }
begin { clear(@n); clear(@h); clear(@s); clear(@g); zero(@z); }
begin { @n["a"] = count(); @h = hist(100); @s = sum(4); @z["a"] = count(); }
begin { clear(@n); }
begin { @n["c"] = count(); exit(); }
"""
text, done = publish(CLEARED)
result("counters go on when the script clears its maps", done.stderr.decode() or wanted(numbers(text), {
    'spoor_script_n_total{key0="a"}': 3, 'spoor_script_n_total{key0="b"}': 1, 'spoor_script_n_total{key0="c"}': 1,
    'spoor_script_h_bucket{le="7"}': 1, 'spoor_script_h_bucket{le="127"}': 2, "spoor_script_h_count": 2,
    "spoor_script_s_sum": 7, "spoor_script_g": None, 'spoor_script_z_total{key0="a"}': 2}))

text, done = publish("""enum state { IDLE = 1, BUSY }
config = { labels = "@e: what; @p: a, b" }
begin { @e[(enum state)2] = count(); @r[(name = "x", number = 5)] = count(); @p[1, "y"] = count(); exit(); }""")
result("names of enums, records and the setting are labels", done.stderr.decode() or wanted(numbers(text), {
    'spoor_script_e_total{what="BUSY"}': 1, 'spoor_script_r_total{name="x",number="5"}': 1,
    'spoor_script_p_total{a="1",b="y"}': 1}))

run("--openmetrics", "out.prom", "-f", "kept.spoor", "-e",
    "trace:tcp:TCP_REQ_NEW { @new = count(); } trace:*:* { @all[probe] = count(); }")
found = numbers(read("out.prom"))
own = json.loads(run("-f", "json", "-f", "kept.spoor", "-e", "trace:*:* { @all = count(); }").stdout)["data"]["@all"]
result("scripts over recordings", wanted(found, {"spoor_new_total": 1000}) or (
    None if sum(number for name, number in found.items() if name.startswith("spoor_all_total")) == own else (own, found)))
os.unlink("out.prom")

done = run("--openmetrics", "out.prom", "-e", "begin { @x = count(); }", "-e", "begin { @x = count(); @x = count(); exit(); }")
result("maps of one name in two scripts", wanted(numbers(read("out.prom")), {"spoor_x_total": 1, "spoor_x_2_total": 2}))
os.unlink("out.prom")

text, done = publish("config = { max_map_keys = 200000 } begin { for ($i : 0..100000) { @[$i] = count(); } @one = count(); exit(); }",
                     "script.bt", "--openmetrics-series", "1000")
found = numbers(text)
result("series are bounded, and what is left out is counted",
       wanted(found, {'spoor_trace_left_out_series{metric="spoor_script"}': 99000, 'spoor_trace_left_out_series{metric="spoor_script_one"}': 1}) or
       (None if sum(name.startswith("spoor_script_total") for name in found) == 1000 else "not 1000 series"))


for what, place, words in [
        ("a directory that is not there", "nowhere/x.prom", ["nowhere/x.prom", "No such file"]),
        ("a directory", "./", ["./", "Is a directory"]),
        ("a link", "link.prom", ["link.prom", "File exists"]),
        ("neither a file nor an address", "9435x", ["9435x", "neither"]),
        ("a port that is none", ":65536", [":65536", "neither"]),
        ("a host that is no number", "example.org:9435", ["example.org", "no number"]),
        ("a socket without a name", "unix:", ["socket"]),
        ("a socket with a long name", "unix:" + "x" * 200, ["socket", "200"])]:
    if what == "a link" and not os.path.islink(place):
        os.symlink("elsewhere", place)
    done = run("--openmetrics", place, "-e", 'begin { printf("began"); exit(); }')
    missing = [word for word in words + ["ERROR"] if word not in done.stderr.decode()]
    result("refused before the trace begins: " + what,
           missing or done.stdout or (None if done.returncode == 1 else done.returncode))


class Running:
    """A trace that goes on."""

    def __init__(self, place, script, *options, name="running", output=subprocess.DEVNULL):
        with open(name + ".bt", "w") as file:
            file.write(script)
        self.errors = open("errors", "w")
        self.process = subprocess.Popen([spoor, "-q", "--openmetrics", place, *options, name + ".bt"],
                                        stdout=output, stderr=self.errors)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(20)
        finally:
            self.process.kill()
            self.errors.close()


if os.geteuid():
    print("skip openmetrics of a trace that goes on: needs root")
    sys.exit()

TICKS = "interval:ms:1 { @ticks = count(); @by[nsecs % 100] = count(); }"
trace = Running("ticks.prom", TICKS, "--openmetrics-period", "100ms")
seen = set()
last = 0
failure = None if until(lambda: os.path.exists("ticks.prom")) else "there is no file"


def look():
    global last, failure
    found = read("ticks.prom")
    now = numbers(found).get("spoor_running_ticks_total", 0)
    if not found.endswith("\n") or "spoor_trace_left_out_series" not in found or now < last:
        failure = "%d, and then:\n%s" % (last, found)
    last = now
    seen.add(now)
    return failure or len(seen) > 8


if not failure and not until(look):
    failure = "it is not written again and again: %s" % seen
status = trace.end()
mode = stat.S_IMODE(os.stat("ticks.prom").st_mode)
result("a file is replaced at once, period by period", failure or (None if status == 0 and mode == 0o644 else (status, mode)))
result("nothing else is left in its directory", [name for name in os.listdir(".") if name.startswith("ticks.prom.")])

os.mkdir("theirs")
os.chown("theirs", 65534, 65534)
os.chmod("theirs", 0o755)
os.chmod(".", 0o755)
trace = Running("theirs/x.prom", TICKS, "--openmetrics-period", "100ms")
inodes = set()
again = until(lambda: os.path.exists("theirs/x.prom") and (inodes.add(os.stat("theirs/x.prom").st_ino) or len(inodes) > 1))
status = trace.end()
result("a directory of another user", None if again and status == 0 and not read("errors") else (again, status, read("errors")))

OWN = """begin { @zero = (uint64)0; }
interval:ms:2 { @ticks = count(); @x = 7 / (uint64)@zero; } interval:ms:2 { @again = count(); printf("x"); }
"""
trace = Running("own.prom", OWN, "--openmetrics-period", "100ms", "--duration", "1s")
trace.process.wait(20)
trace.end()
found = numbers(read("own.prom"))
ticks = found.get("spoor_running_ticks_total", 0)
place = 'place="running.bt:2:%d",probe="interval:ms:2"}'
result("what a trace counts about itself", wanted(found, {
    "spoor_trace_probes": 3, "spoor_trace_events_total": found["spoor_running_again_total"],
    'spoor_trace_errors_total{error="division",place="running.bt:2:40",probe="interval:ms:2"}': ticks,
    "spoor_trace_program_runs_total{" + place % 1: ticks,
    "spoor_trace_program_runs_total{" + place % 61: found["spoor_running_again_total"],
    'spoor_trace_lost_events_total{probe="interval:ms:2",reason="ring"}': 0}) or lint(read("own.prom")) or
    (None if ticks > 100 and 0 < found["spoor_trace_program_seconds_total{" + place % 1] < 0.1 and
     1e6 < found["process_resident_memory_bytes"] < 1e8 and 0 < found["process_cpu_seconds_total"] < 1 else found))

def full_disk():
    """A file system that has no room: the old file stays, the trace goes on, and it is said once."""
    os.mkdir("full")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", "full"], capture_output=True).returncode:
        return "skip"
    try:
        trace = Running("full/x.prom", 'begin { @["a"] = count(); } interval:ms:1 { @ticks = count(); }',
                        "--openmetrics-period", "100ms")
        if not until(lambda: os.path.exists("full/x.prom")):
            return "there is no file"
        ballast = os.open("full/ballast", os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(ballast, b"x" * 4096)
        except OSError:
            os.close(ballast)
        if not until(lambda: "not up to date" in read("errors")):
            return "nothing is said: " + read("errors")
        old = read("full/x.prom")
        if "spoor_running_ticks_total" not in old:
            return "the old file is gone: " + old
        os.unlink("full/ballast")
        if not until(lambda: "up to date again" in read("errors")):
            return "it does not go on: " + read("errors")
        before = numbers(read("full/x.prom"))["spoor_running_ticks_total"]
        if not until(lambda: numbers(read("full/x.prom"))["spoor_running_ticks_total"] > before):
            return "it does not go on"
        status = trace.end()
        said = read("errors").count("not up to date")
        left = os.listdir("full")
        return None if status == 0 and said == 1 and left == ["x.prom"] else (status, said, left)
    finally:
        subprocess.run(["umount", "-l", "full"])


result("a full disk", full_disk())


# ---- over HTTP ----

def ask(port, path="/metrics", method="GET", timeout=20, **headers):
    """Status, headers and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def answers(port):
    try:
        return ask(port)[0] == 200
    except OSError:
        return False


def serve(script, *options, **named):
    port = free_port()
    trace = Running(f":{port}", script, *options, **named)
    if not until(lambda: answers(port) or trace.process.poll() is not None) or trace.process.poll() is not None:
        raise SystemExit("not ok a server\n" + read("errors"))
    return trace, port


MANY = """
config = { max_map_keys = 30000 }
begin { for ($i : 0..1000) { @many[$i, "%s"] = count(); } }
interval:ms:1 { @ticks = count(); @by[nsecs %% 10] = hist(nsecs %% 1000); @avg = avg(7); }
""" % ("x" * 200)

if not any(os.path.exists(os.path.join(directory, "libmicrohttpd.so.12")) for directory in
           ["/lib", "/usr/lib", "/lib64", "/usr/lib64", *glob.glob("/usr/lib/*-linux-gnu")]):
    print("skip openmetrics over HTTP: there is no libmicrohttpd")
    sys.exit()


SCRAPED = """
begin { for ($i : 1..2001) { @power = hist($i); @exact = llhist($i); @steps = lhist($i, 0, 1000, 100); @all = stats($i); @bytes["x"] = sum($i); } }
interval:ms:10 { @ticks = count(); @cleared = count(); @spread = hist(nsecs % 1000); }
interval:ms:100 { clear(@cleared); clear(@spread); }
"""
servers = []
if shutil.which("prometheus"):
    scraped_output = open("scraped.json", "w")
    scraped, scraped_port = serve(SCRAPED, "-f", "json", name="scraped", output=scraped_output)
    # It begins to scrape some seconds after its start: meanwhile there are other tests.
    servers = [Prometheus("classic", scraped_port),
               Prometheus("native", scraped_port, "--enable-feature=native-histograms")]
    victoria = VictoriaMetrics("victoria", scraped_port) if shutil.which("victoria-metrics") else None

trace, port = serve(MANY)
status, head, body = ask(port)
result("the text format is the usual one", lint(body.decode()) or (
    None if head["Content-Type"].startswith("text/plain; version=0.0.4") and b"# EOF" not in body else head))
status, head, body = ask(port, Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
result("OpenMetrics, for who asks for it", None if head["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
       and body.endswith(b"# EOF\n") and b"spoor_running_ticks_created " in body else (head, body[-300:]))
status, head, body = ask(port, Accept_Encoding="gzip")
result("gzip, for who asks for it", None if head.get("Content-Encoding") == "gzip" and
       b"spoor_running_ticks_total" in gzip.decompress(body) and len(body) < 20000 else head)
status, head, body = ask(port, method="HEAD")
result("HEAD has no body", None if status == 200 and not body and int(head["Content-Length"]) > 1000 else (status, head))
result("other paths", None if [ask(port, path)[0] for path in ["/", "/metrics?x=y", "/metrics/", "/x", "/../metrics"]] ==
       [200, 200, 404, 404, 404] else "wrong")
result("other methods", None if [ask(port, "/metrics", method)[0] for method in ["POST", "PUT", "DELETE", "OPTIONS"]] ==
       [405] * 4 else "wrong")


def garbage():
    for bytes_ in [b"\0" * 5000, b"GET", b"GET /metrics HTTP/9.9\r\n\r\n", b"\r\n" * 3000, b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n",
                   b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: " + b";q=,," * 500 + b"\r\n\r\n", os.urandom(3000),
                   b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
                   b"POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzzzz\r\n"]:
        with socket.create_connection(("127.0.0.1", port)) as client:
            try:
                client.sendall(bytes_)
            except OSError:
                pass
    return None if ask(port)[0] == 200 and trace.process.poll() is None else "it does not answer any more"


result("garbage", garbage())


def consistent():
    """What changes while it is read: histograms are whole, counters do not go back."""
    before = {}
    for _ in range(50):
        found = numbers(ask(port)[2].decode())
        for name, number in found.items():
            if not name.startswith("spoor_trace") and number < before.get(name, 0):
                return f"{name} goes back from {before[name]} to {number}"
            if name.startswith("spoor_running_by_count"):
                bucket = name.replace("_count", "_bucket").replace("}", ',le="+Inf"}')
                if found[bucket] != number:
                    return f"{name}: {number}, and {bucket}: {found[bucket]}"
        last = 0
        for name, number in found.items():
            if name.startswith('spoor_running_by_bucket{key0="3"'):
                if number < last:
                    return f"{name} has less than the bucket before it"
                last = number
        before = found
    return None if before["spoor_running_ticks_total"] > 50 else before


result("scrapes while maps change", consistent())
status = trace.end()
result("it ends", None if status == 0 and not answers(port) else status)


def unread_output():
    """Where nobody reads what the trace prints, it still answers."""
    reader, writer = os.pipe()
    trace, port = serve('interval:ms:1 { printf("%s\\n", "' + "x" * 500 + '"); @ticks = count(); }', output=writer)
    ticks = lambda: numbers(ask(port)[2].decode())["spoor_running_ticks_total"]
    try:
        full = until(lambda: ticks() > 500)  # of 500 bytes each: more than a pipe holds
        before = ticks()
        goes_on = until(lambda: ticks() > before + 100)
        status = trace.end()
        return None if full and goes_on and status in (0, 1) else (full, goes_on, status)
    finally:
        os.close(reader)
        os.close(writer)


result("an output that nobody reads", unread_output())


def deleted():
    """A key that is deleted vanishes, whatever its map counts; one that comes again begins a new series."""
    maps = {"k": "count()", "h": "hist(5)", "l": "lhist(5, 0, 10, 1)", "s": "sum(5)", "a": "avg(5)", "m": "min(5)", "g": "5"}
    trace, port = serve("".join(f'begin {{ @{name}["gone"] = {value}; @{name}["stays"] = {value}; }}\n' for name, value in maps.items()) + """
begin { @up["gone"]++; @up["stays"]++; @step = 0; @k["again"] = count(); @k["again"] = count(); }
self:signal:SIGUSR1 {
    if (@step == 0) { delete(@k, "again"); delete(@up, "gone"); """ + " ".join(f'delete(@{name}, "gone");' for name in maps) + """ }
    if (@step == 1) { @k["again"] = count(); }
    @step += 1;
}""")
    maps["up"] = ""
    created = {}

    def look():  # numbers, and when "again" began
        text = ask(port, Accept="application/openmetrics-text")[2].decode().replace("# EOF\n", "")
        found = numbers(text)
        created[found.get('spoor_running_k_created{key0="again"}')] = True
        return found

    def having(key):  # the maps that have it
        return {re.match("spoor_running_([a-z]+)", name)[1] for name in look() if f'key0="{key}"' in name}
    before = until(lambda: having("gone") == set(maps))
    trace.process.send_signal(signal.SIGUSR1)
    gone = until(lambda: not having("gone"))
    trace.process.send_signal(signal.SIGUSR1)
    again = until(lambda: look().get("spoor_running_step") == 2)
    found, stay = look(), having("stays")
    trace.end()
    return wanted(found, {'spoor_running_k_total{key0="stays"}': 1, 'spoor_running_k_total{key0="again"}': 1}) or (
        None if before and gone and again and stay == set(maps) and len([time for time in created if time]) == 2 else (before, gone, again, stay, created))


result("keys that are deleted", deleted())


def deleted_twins():
    """Of keys with the same labels, whose counts are added, one is deleted, and one comes again: the sums never become less."""
    trace, port = serve(r"""
begin {
    @n = 1; @k["\xff"] = count(); @k["\xff"] = count(); @k["\xff"] = count(); @k["\xfe"] = count(); @k["\xfe"] = count();
    @h["\xff"] = hist(5); @h["\xfe"] = hist(100); @s["\xff"] = stats(7); @s["\xfe"] = stats(8);
}
self:signal:SIGUSR1 {
    if (@n == 1) { delete(@k, "\xfe"); delete(@h, "\xff"); delete(@s, "\xff"); }
    if (@n == 2) { @k["\xfe"] = count(); @s["\xff"] = stats(1); }
    if (@n == 3) { delete(@k, "\xff"); delete(@s, "\xfe"); @h["\xff"] = hist(5); }
    if (@n == 4) { clear(@k); @s["\xff"] = stats(1); }
    if (@n == 5) { delete(@h, "\xfe"); @k["\xff"] = count(); }
    if (@n == 6) { delete(@h, "\xff"); }
    @n += 1;
}""")
    labels, found, failure = '{key0="\ufffd"}', {}, None
    def look():
        found.update({"h": None}, **{name.removeprefix("spoor_running_").removesuffix(labels): number for name, number in numbers(ask(port)[2].decode()).items()})
        return found
    for step, (k, h, s, s_sum) in enumerate(((5, 2, 2, 15), (5, 2, 2, 15), (6, 2, 3, 16), (6, 3, 3, 16), (6, 3, 4, 17), (7, 3, 4, 17)), 1):
        if step > 1:
            trace.process.send_signal(signal.SIGUSR1)
        if not until(lambda: look().get("n") == step):
            failure = f"step {step} does not come"
            break
        look()
        failure = wanted(found, {"k_total": k, "h_count": h, "s_count": s, "s_sum": s_sum})
        if failure:
            failure = f"step {step}: {failure}"
            break
    trace.process.send_signal(signal.SIGUSR1)
    gone = failure or until(lambda: not any("running_h_count" in name for name in numbers(ask(port)[2].decode())))
    status = trace.end()
    return failure or (None if gone and status == 0 else (gone, status))


result("keys with the same labels that are deleted", deleted_twins())


def deaf():
    """Clients that never read: the trace goes on, they get no more than a bounded memory, and others come after them."""
    trace, port = serve(MANY.replace("1000", "20000", 1), "--openmetrics-series", "30000")
    clients = []
    before = read(f"/proc/{trace.process.pid}/status")
    for _ in range(8):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        clients.append(client)
    time_before = time.monotonic()
    number = numbers(ask(port, timeout=40)[2].decode())["spoor_running_ticks_total"]
    waited = time.monotonic() - time_before
    after = read(f"/proc/{trace.process.pid}/status")
    grown = [int(re.search(r"VmRSS:\s*(\d+)", text).group(1)) // 1024 for text in (before, after)]
    for client in clients:
        client.close()
    status = trace.end()
    # A page has 6 MB, of which each client has one at most.
    return None if status == 0 and number > waited * 500 and grown[1] - grown[0] < 80 else (status, number, waited, grown)


result("clients that never read", deaf())


def unix_socket():
    trace = Running("unix:here.socket", "interval:ms:1 { @ticks = count(); }")
    get = ["curl", "-s", "--max-time", "10", "--unix-socket", "here.socket", "http://x/metrics"]
    if not until(lambda: b"ticks_total" in subprocess.run(get, capture_output=True).stdout):
        return read("errors")
    second = run("--openmetrics", "unix:here.socket", "-e", "begin { exit(); }")
    status = trace.end()
    if os.path.exists("here.socket"):
        return "the socket is left"
    with socket.socket(socket.AF_UNIX) as gone: # one that nobody listens at any more
        gone.bind("here.socket")
    third = run("--openmetrics", "unix:here.socket", "-e", "begin { exit(); }")
    return None if (status, second.returncode, third.returncode) == (0, 1, 0) and b"in use" in second.stderr else (
        status, second, third)


if shutil.which("curl"):
    result("a socket in a file", unix_socket())
else:
    print("skip openmetrics at a socket in a file: there is no curl")


def in_use():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = run("--openmetrics", ":%d" % other.getsockname()[1], "-e", 'begin { printf("began"); exit(); }')
    said = done.stderr.decode()
    return None if done.returncode == 1 and not done.stdout and "in use" in said and "HINT" in said else done


result("an address that is in use", in_use())


# ---- a real server ----

def near(number, expected, share):
    return number is not None and abs(number - expected) <= share * expected


def rate_of_five_seconds():
    """Ticks in a second, over the next five: a server is asked for the same ones, for on a busy machine those before may have been more or fewer."""
    begin = time.monotonic(), numbers(ask(scraped_port)[2].decode())["spoor_scraped_ticks_total"]
    time.sleep(5)
    end = time.monotonic(), numbers(ask(scraped_port)[2].decode())["spoor_scraped_ticks_total"]
    return (end[1] - begin[1]) / (end[0] - begin[0])


def victoria_metrics():
    """What VictoriaMetrics says is what the script counted."""
    failures = []
    if not until(lambda: (victoria.ask("count_over_time(spoor_scraped_ticks_total[1m])") or 0) >= 8, 60):
        return read("victoria/log")
    for query, expected, error in (("up", 1, 0), ("spoor_scraped_all_count", 2000, 0), ("spoor_scraped_all_sum", 2001000, 0),
                                   ('spoor_scraped_bytes_sum{key0="x"}', 2001000, 0), ("resets(spoor_scraped_cleared_total[1m])", 0, 0),
                                   ("resets(spoor_scraped_spread_count[1m])", 0, 0), ('spoor_scraped_power_bucket{le="511"}', 511, 0),
                                   ("histogram_quantile(0.9, spoor_scraped_exact_bucket)", 1800, 0.02),
                                   ("histogram_quantile(0.5, sum by (le) (rate(spoor_scraped_spread_bucket[3s])))", 500, 0.3)):
        number = victoria.ask(query)
        if not near(number, expected, error):
            failures.append((query, number, expected))
    own = rate_of_five_seconds()
    rate = victoria.ask("rate(spoor_scraped_ticks_total[5s])")
    if not near(rate, own, 0.2):
        failures.append(("rate", rate, own))
    return failures


def prometheus():
    """What PromQL says is what the script counted."""
    classic, native = servers
    if not all(until(lambda: (server.ask("count_over_time(spoor_scraped_ticks_total[1m])") or 0) >= 12, 60) for server in servers):
        return [read("classic/log"), read("native/log")]
    failures = []
    for server, name in ((classic, "classic"), (native, "native")):
        for query, expected in {"up": 1, "spoor_scraped_all_count": 2000, "spoor_scraped_all_sum": 2001000,
                                'spoor_scraped_bytes_sum{key0="x"}': 2001000, "spoor_trace_probes": 3,
                                "resets(spoor_scraped_cleared_total[1m])": 0}.items():
            if server.ask(query) != expected:
                failures.append((name, query, server.ask(query), expected))
    own = rate_of_five_seconds()
    rates = [server.ask("rate(spoor_scraped_ticks_total[5s])") for server in servers]
    if not all(near(rate, own, 0.2) for rate in rates):
        failures.append(("rate", rates, own))
    quantiles = {  # what the classic ones say by linear, the native ones by exponential interpolation within a bucket
        ("power", 0.5): (1000, 0.05), ("power", 0.9): (1800, 0.1), ("exact", 0.5): (1000, 0.02), ("exact", 0.9): (1800, 0.02),
        ("steps", 0.25): (500, 0.15)}
    for (name, share), (expected, error) in quantiles.items():
        for server, series in ((classic, name + "_bucket"), (native, name)):
            number = server.ask(f"histogram_quantile({share}, spoor_scraped_{series})")
            if not near(number, expected, error):
                failures.append((series, share, number, expected))
    for query, expected in {"histogram_count(spoor_scraped_power)": 2000, "histogram_count(spoor_scraped_exact)": 2000,
                            "histogram_fraction(64, 512, spoor_scraped_power) * 2000": 448}.items():
        if not near(native.ask(query), expected, 1e-9):
            failures.append(("native", query, native.ask(query), expected))
    if classic.ask('spoor_scraped_power_bucket{le="511.0"}') != 511:
        failures.append(("classic", "le=511.0", classic.ask('spoor_scraped_power_bucket{le="511.0"}')))
    if native.ask("spoor_scraped_power_bucket") is not None:
        failures.append("the native server got classic histograms")
    for server in servers:
        if not near(server.ask("resets(spoor_scraped_spread_count[1m])" if server is classic else
                               "resets(spoor_scraped_spread[1m])"), 0, 0):
            failures.append("a histogram goes back when the script clears it")
    return failures


if servers:
    try:
        failure = prometheus()
        if victoria:
            result("a server of VictoriaMetrics", victoria_metrics())
        else:
            print("skip a server of VictoriaMetrics: it is not installed")
    finally:
        if victoria:
            victoria.end()
        for server in servers:
            server.end()
        status = scraped.end()
        scraped_output.close()
    result("a server of Prometheus, with classic and with native histograms", failure or status)
    lines = [json.loads(line) for line in read("scraped.json").splitlines()]
    exact = next(line for line in lines if "@exact" in line.get("data", {}))["data"]["@exact"]
    result("quantiles are the tool's own", None if near(exact["p50"], 1000, 0.02) and near(exact["p90"], 1800, 0.02) else exact)
else:
    print("skip openmetrics of a server of Prometheus: there is no prometheus")
