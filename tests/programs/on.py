# SPDX-License-Identifier: BSD-3-Clause
# The parts of on.sh, in namespaces of its own: on.py BUILD [PART].
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.dom.minidom
import zlib

from background import Background
from waiting import until

build = sys.argv[1]
here = os.getcwd()
static = os.path.join(build, "spoor-static")
COUNT = 10
hosts = [f"h{i}" for i in range(COUNT)]
servers = {}


def run(*words):
    subprocess.run(words, check=True)


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def check(name, is_right, detail=""):
    print(("ok " if is_right else "not ok ") + name, flush=True)
    if not is_right:
        print("    " + str(detail)[-3000:].replace("\n", "\n    "), flush=True)


# ---- ten machines ----

def set_up():
    """A bridge, and for each host a namespace with a home directory of its own, in which sshd runs."""
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm") # the newest recording there is to be one of ours
    run("mount", "-t", "proc", "proc", "/proc")
    run("mount", "-t", "tmpfs", "run", "/run")
    os.mkdir("/run/sshd")
    for key in ("host", "user", "other"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    write("sshd", f"HostKey {here}/host\nAuthorizedKeysFile {here}/user.pub\nStrictModes no\nUsePAM no\nPidFile none\n"
          "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nPrintMotd no\n"
          "PrintLastLog no\nMaxStartups 100\n"
          "KexAlgorithms curve25519-sha256\n") # the standard one takes a hundred times as long to compute
    names = "".join(f"Host {host}\n  HostName 10.77.0.{10 + i}\n" for i, host in enumerate(hosts + ["nowhere"]))
    write("config", names + f"Host *\n  User root\n  IdentityFile {here}/user\n  IdentitiesOnly yes\n  IdentityAgent none\n"
          "  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n")
    write("stranger", names + f"Host *\n  User root\n  IdentityFile {here}/other\n  IdentitiesOnly yes\n  IdentityAgent none\n"
          "  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "bridge", "type", "bridge")
    run("ip", "address", "add", "10.77.0.1/24", "dev", "bridge")
    run("ip", "link", "set", "bridge", "up")
    for i, host in enumerate(hosts):
        os.mkdir("home-" + host)
        run("ip", "netns", "add", host)
        run("ip", "link", "add", "to-" + host, "master", "bridge", "type", "veth", "peer", "name", "eth0", "netns", host)
        run("ip", "link", "set", "to-" + host, "up")
        run("ip", "-n", host, "address", "add", f"10.77.0.{10 + i}/24", "dev", "eth0")
        run("ip", "-n", host, "link", "set", "eth0", "up")
        run("ip", "-n", host, "link", "set", "lo", "up")
        serve(host)
    for host in hosts:
        assert until(lambda: answers(host)), "no sshd on " + host


def serve(host):
    servers[host] = subprocess.Popen(
        ["ip", "netns", "exec", host, "sh", "-c",
         f"mount --bind {here}/home-{host} /root && exec /usr/sbin/sshd -f {here}/sshd -D -e"],
        stderr=open("sshd-" + host, "a"), stdin=subprocess.DEVNULL)


def answers(host, config="config"):
    return subprocess.run(["ssh", "-F", config, "-o", "BatchMode=yes", host, "true"], stdin=subprocess.DEVNULL,
                          capture_output=True).returncode == 0


def processes_of(host, name):
    """Processes in the namespace of a host, of that name."""
    found = subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True).stdout.split()
    result = []
    for pid in found:
        try:
            with open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == name:
                    result.append(int(pid))
        except OSError:
            pass
    return result


def tracers(host):
    with_path = []
    for pid in subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True).stdout.split():
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                if "--remote-end" in file.read().split("\0"):
                    with_path.append(int(pid))
        except OSError:
            pass
    return with_path


# ---- running ----

def words_for(on, *words, binary=static, config="config"):
    return [binary, "--on", ",".join(on), "--ssh", f"ssh -F {here}/{config}", *words]


def spoor(on, *words, seconds=60, **others):
    return subprocess.run(words_for(on, *words, **others), capture_output=True, text=True, timeout=seconds,
                          stdin=subprocess.DEVNULL)


class Running(Background):
    def __init__(self, on, *words, **others):
        super().__init__(words_for(on, *words, **others))

    def printed(self):
        with open("out") as file:
            return file.read()

    def said(self):
        with open("err") as file:
            return file.read()

    def end(self, number=None, seconds=40):
        if number:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None


def end_of(name):
    with open(name, "rb") as file:
        file.seek(max(0, os.path.getsize(name) - 100000))
        return file.read().decode(errors="surrogateescape")


def all_gone():
    return until(lambda: not any(tracers(host) for host in hosts), 15)


parts = {}


def part(function):
    parts[function.__name__.replace("_", " ")] = function
    return function


# Four ticks: more may come before exit() has an effect.
TICKS = """
interval:ms:50 / @n < 4 / { @ticks = count(); @sum = sum(2); @[1, "x"] = count(); @h = hist(4); @l[2] = lhist(3, 0, 10, 1);
    @max = max(7); @min = min(7); @stats = stats(6); @n++;
    if (@n == 4) { exit(); } }
"""


@part
def copies():
    missing = [host for host in hosts if os.listdir("home-" + host)]
    check("homes are empty at first", not missing, missing)
    done = spoor(hosts, "-q", "-e", 'begin { printf("here\\n"); exit(); }')
    lines = sorted(done.stdout.split("\n"))
    check("a line of each host", lines == [""] + [f"{host}: here" for host in hosts] and done.returncode == 0, done)
    for host in hosts[:1]:
        directory = f"home-{host}/.cache/spoor"
        files = os.listdir(directory)
        status = os.stat(directory + "/" + files[0])
        check("the copy is one file, for its owner alone",
              len(files) == 1 and status.st_mode & 0o777 == 0o700 and os.stat(directory).st_mode & 0o777 == 0o700, files)
        with open(directory + "/" + files[0], "rb") as copy, open(static, "rb") as original:
            check("it is the program", copy.read() == original.read())
        before = status.st_ino
        write(f"{directory}/spoor-0.0.1-{os.uname().machine}-0", "old")
        done = spoor([host], "-q", "-e", "begin { exit(); }")
        check("it is not copied again", done.returncode == 0 and os.stat(directory + "/" + files[0]).st_ino == before, done)
        os.unlink(directory + "/" + files[0])
        done = spoor([host], "-q", "-e", "begin { exit(); }")
        dynamic = spoor(hosts[1:2], "-q", "-e", "begin { @ = count(); exit(); }", binary=os.path.join(build, "spoor"))
        check("what is there does for a spoor that cannot be copied", "@: 1" in dynamic.stdout, dynamic)
        os.system(f"rm -rf home-h1/.cache")
        dynamic = spoor(hosts[1:2], "-q", "-e", "begin { exit(); }", binary=os.path.join(build, "spoor"))
        check("without one the remedy is told", dynamic.returncode == 1 and "cannot be copied: it needs libraries" in dynamic.stderr
              and "make static" in dynamic.stderr, dynamic)
        named = spoor(hosts[1:2], "-q", "--on-binary", static, "-e", "begin { @ = count(); exit(); }", binary=os.path.join(build, "spoor"))
        check("--on-binary", named.returncode == 0 and "@: 1" in named.stdout, named)
        os.chmod("home-h1/.cache", 0o755)
        os.system("rm -rf home-h1/.cache/spoor; touch home-h1/.cache/spoor")
        full = spoor(hosts[1:2], "-q", "-e", "begin { exit(); }")
        check("a copy that cannot be stored", full.returncode == 1 and "ERROR: h1: spoor could not be copied: mkdir:" in full.stderr, full)
        os.unlink("home-h1/.cache/spoor")
        check("another version goes when this one comes", os.listdir(directory) == files and done.returncode == 0, done)
    check("nothing goes on", all_gone())


# A way to a host that is this machine, but for what it says of its architecture; all have one home directory.
MIXED = """
import os, sys
host, script = sys.argv[-2:]
os.environ.update(HOME=os.path.abspath("home-shared"), PATH=os.path.abspath("bin-" + host) + ":/usr/sbin:/usr/bin:/sbin:/bin")
os.execvp("sh", ["sh", "-c", script])
"""


@part
def mixed_architectures():
    """Each machine gets the program for its architecture. That of this one runs."""
    here_is, there_is = ("x86_64", "aarch64") if os.uname().machine == "x86_64" else ("aarch64", "x86_64")
    with open(static, "rb") as own:
        theirs = bytearray(own.read())
    theirs[18:20] = (183 if there_is == "aarch64" else 62).to_bytes(2, "little")  # e_machine
    with open("theirs", "wb") as file:
        file.write(theirs)
    write("mixed.py", MIXED)
    for host, machine in ("near", here_is), ("far", there_is):
        os.mkdir("bin-" + host)
        write(f"bin-{host}/uname", f"#!/bin/sh\ntest $1 = -m && echo {machine} || exec /bin/uname $1\n")
        os.chmod(f"bin-{host}/uname", 0o755)

    def ask(on, *words):
        return subprocess.run([static, "-q", "--on", on, "--ssh", f"python3 {here}/mixed.py", *words, "-e", "begin { @ = count(); exit(); }"],
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    done = ask("near,far", "--on-binary", "theirs")
    files = sorted(os.listdir("home-shared/.cache/spoor"))
    check("the program that runs is for machines of its architecture", "@: 1\n" in done.stdout and "near" not in done.stderr, done)
    check("and the other file for those of the other", done.returncode == 1 and "ERROR: far: spoor could not be started:" in done.stderr, done)
    check("in one home directory there is one for each", len(files) == 2 and f"-{there_is}-" in files[0] + files[1] and f"-{here_is}-" in files[0] + files[1], files)
    for file in files:
        with open("home-shared/.cache/spoor/" + file, "rb") as copy, open("theirs" if there_is in file else static, "rb") as original:
            check(f"the copy for {file.split('-')[2]} is the program", copy.read() == original.read())
    os.system("rm -rf home-shared/.cache")
    done = ask("near,far")
    check("without a file for it the remedy is told", "@: 1\n" in done.stdout and f"ERROR: far: it is of another architecture, {there_is}, " in done.stderr
          and f"make static FOR={there_is}" in done.stderr, done)
    done = ask("near", "--on-binary", static, "--on-binary", static)
    check("two files for one architecture", done.returncode == 1 and f"another file is for {here_is}, too" in done.stderr, done)


@part
def styles():
    """How the script wants its maps printed is known on hosts, and printed here."""
    done = spoor(hosts[:2], "-q", "-e", 'begin { @h = hist(4); exit(); } end { print_log2_hist(@h, "wait\\t(us)"); clear(@h); }')
    check("a table of BCC's, with its title", re.match(r" +wait\t\(us\) +: count +distribution\n", done.stdout) and
          re.search(r"^ +4 -> 7 +: 2 +\|\*+\|$", done.stdout, re.M) and not done.stderr, done)
    done = spoor(hosts[:2], "-q", "-e", 'config = { histogram = "bcc" } begin { @h = hist(4); exit(); }')
    check("the setting histogram", re.search(r"^ +4 -> 7 +: 2 +\|", done.stdout, re.M) and not done.stderr, done)
    done = spoor(hosts[:2], "-q", "-f", "json", "-e", 'config = { json_enums = "name" } enum which { FIRST, SECOND } begin { @[(enum which)1] = count(); @v = (enum which)1; exit(); }')
    check("the setting json_enums", '"SECOND"' in done.stdout and '"h0": "SECOND"' in done.stdout and not done.stderr, done)
    done = spoor(hosts[:2], "-q", "-e", 'config = { map_order = "key" } begin { @[10] = sum(1); @[9] = sum(2); exit(); }')
    check("the setting map_order", "@[9]: 4\n@[10]: 2\n" in done.stdout and not done.stderr, done)


@part
def headings():
    done = spoor(hosts[:3], "-q", "-e", 'begin { @a = count(); @b = count(); exit(); } '
                 'end { printf("first\\n"); print(@b); printf("second\\n"); print(@a); clear(@a); }')
    check("headings stay above their maps", re.fullmatch(
        "(h[012]: first\n){3}@b: 3\n(h[012]: second\n){3}@a: 3\n\n\n@b: 3\n", done.stdout) and not done.stderr, done)


@part
def sums():
    done = spoor(hosts, "-q", "-e", TICKS)
    out = done.stdout
    check("ends well", done.returncode == 0, done)
    for text in ("@ticks: 40\n", "@sum: 80\n", "@[1, x]: 40\n", "@max: 7\n", "@min: 7\n",
                 "@stats: { .count = 40, .average = 6, .total = 240 }\n"):
        check("added up: " + text.split(":")[0], "\n" + text in out, done)
    check("histograms by rows", re.search(r"@h:\n\[4, 8\) +40 \|@+\|\n", out) and
          re.search(r"@l\[2\]:\n\[3\] +40 \|@+\|\n", out), done)
    check("a number is of each host", all(f"@n[{host}]: 4\n" in out for host in hosts), done)
    done = spoor(hosts, "-q", "--per-host", "-e", TICKS)
    out = done.stdout
    check("--per-host", all(f"@ticks[{host}]: 4\n" in out and f"@[{host}, 1, x]: 4\n" in out and f"@stats[{host}]: {{ .count = 4," in out
                            and re.search(rf"@h\[{host}\]:\n\[4, 8\) +4 \|", out) for host in hosts), done)
    check("in the order of --on", re.findall(r"@ticks\[(\w+)\]", out) == hosts, out)
    done = spoor(hosts[:3], "-q", "-f", "json", "-e", 'begin { printf("a\\n"); @ = count(); @q = topk(5, 3); exit(); }')
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    check("JSON says from which host a line is",
          sorted(line["host"] for line in lines if line["type"] == "printf") == hosts[:3], done)
    check("and maps are one", [line["data"] for line in lines if line["type"] == "map"] == [{"@": 3}], done)
    check("topk adds up", '"keys": [{"key": 5, "count": 3, "error": 0}]' in done.stdout, done)


@part
def rounds():
    done = spoor(hosts, "-q", "-e", 'interval:s:1 / @i < 3 / { @c = count(); @i++; print(@c); clear(@c); if (@i == 3) { exit(); } }', seconds=90)
    counts = re.findall(r"^@c: (\d+)$", done.stdout, re.M)
    check("what all print at a time is one, and was cleared on each", counts == ["10", "10", "10"], done)


def page_tables(path):
    """What a page of --html says of its maps."""
    with open(path, encoding="utf-8") as file:
        element = re.search(r'class="tables">([^<]*)<', file.read()).group(1)
    return json.loads(zlib.decompress(base64.b64decode(element)))


@part
def drawings():
    done = spoor(hosts[:3], "--svg", "three.svg", "--html", "three.html", "-e",
                 'interval:ms:400 / @i < 3 / { @c = count(); @h["x"] = hist(4); @i++; print(@c); print(@h); clear(@h); if (@i == 3) { exit(); } } '
                 'end { printf("over\\n"); }')
    check("ends well", done.returncode == 0 and done.stdout.count("@c: ") == 4, done)
    tables = page_tables("three.html")
    maps = {table["name"]: table for table in tables["maps"]}
    check("the page has the maps of all hosts as one", list(maps) == ["@c", "@h", "@i"] and maps["@c"]["kind"] == "numbers" and maps["@c"]["printed"]
          and maps["@h"]["kind"] == "rows" and maps["@h"]["keys"] == [["x"]] and maps["@i"]["keys"] == [[host] for host in hosts[:3]], tables)
    check("it has their times", 0.8e9 < tables["end"] < 60e9 and abs(int(tables["start"]) + int(tables["realtime"]) - time.time_ns()) < 60e9, tables)
    with open("three.html", encoding="utf-8") as file:
        parts_of_lines = re.findall(r'class="lines">([^<]*)<', file.read())
    lines = b"".join(zlib.decompress(base64.b64decode(part)) for part in parts_of_lines)
    check("and the lines, with what is said", all(f"{host}: over".encode() in lines for host in hosts[:3]) and b"its clock is " in lines, lines)
    picture = xml.dom.minidom.parse("three.svg")
    texts = ["".join(node.data for node in text.childNodes if node.nodeType == node.TEXT_NODE) for text in picture.getElementsByTagName("text")]
    check("the picture has them", {"@c", "@h", "@i"} <= {text.split(" ")[0] for text in texts}, texts)
    done = spoor([hosts[0], "nobody"], "-q", "--svg", "one.svg", "-e", "begin { @ = count(); exit(); }")
    check("a host that fails is missing, and the picture is drawn", done.returncode == 1 and os.path.getsize("one.svg") and "@: 1" in done.stdout, done)
    done = spoor(["nobody"], "-q", "--svg", "none.svg", "-e", "begin { @ = count(); exit(); }")
    check("where no trace began there is no picture", done.returncode == 1 and not os.path.exists("none.svg") and "none.svg is not whole and was removed" in done.stderr, done)


@part
def recordings():
    # Machines share /dev/shm, so each of them reads the same recording.
    shutil.copy(build + "/targets/recording", ".")
    program = subprocess.Popen(["./recording", "on", "0", "1", "2000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    path = program.stdout.readline().strip()
    counting = "trace:BDEV_IO_DONE / @x <= 100 / { @[args.status] = count(); @n = count(); if (@x == 100) { exit(); } @x++; }"
    done = spoor(hosts[:2], "-q", "-e", counting)
    check("a script reads the newest recording of each machine", done.returncode == 0 and "\n@n: 202\n" in done.stdout, done)
    done = spoor(hosts[:2], "-q", "--recording", path, "-e", counting.replace("@n", "@named"))
    check("or the one that is named", done.returncode == 0 and "\n@named: 202\n" in done.stdout, done)
    done = spoor(hosts[:2], "-q", "-e", counting + " tracepoint:raw_syscalls:sys_enter { @calls = count(); }")
    check("beside probes of the kernel", done.returncode == 0 and "\n@n: 202\n" in done.stdout and "\n@calls: " in done.stdout, done)
    program.kill()
    program.communicate()
    done = spoor(hosts[:2], "-q", "-f", path, "-e", "trace:BDEV_IO_DONE { @n = count(); }")
    check("one that has ended is read as a whole", done.returncode == 0 and re.search(r"\n@n: \d*[02468]\n", done.stdout), done)
    os.unlink(path)
    done = spoor(hosts[:2], "-q", "--recording", path, "-e", counting)
    check("one that is not there is told", done.returncode == 1 and path in done.stderr and "h0, h1" in done.stderr, done)


@part
def names():
    done = spoor(hosts[:2], "-q", "-e", 'begin { @[probe, ksym(kaddr("_text"))] = count(); @u[username] = count(); exit(); }')
    check("names travel as texts", re.search(r"@\[begin, [A-Za-z_]\w*\]: 2\n", done.stdout) and "@u[root]: 2\n" in done.stdout, done)
    done = spoor(hosts[:2], "-q", "-e", "profile:hz:50 { @[kstack(3)] = count(); @n = count(); } interval:s:1 { exit(); }")
    total = sum(int(number) for number in re.findall(r"^\]: (\d+)$", done.stdout, re.M))
    counted = re.search(r"^@n: (\d+)$", done.stdout, re.M)
    check("stacks are added up by their text", counted and total == int(counted.group(1)), done)


@part
def parameters_and_statuses():
    odd = "a'b \"c\" $(touch broken) `touch broken` ; touch broken"
    done = spoor(hosts[:2], "-q", "-e", 'begin { printf("%s|%s\\n", str($1), str($2)); exit(); }', "--", odd, "-x")
    check("no shell reads a parameter", all(f"{host}: {odd}|-x\n" in done.stdout for host in hosts[:2]), done)
    check("nor runs it", not os.path.exists("broken") and not os.path.exists("home-h0/broken"))
    done = spoor(hosts[:2], "-q", "-e", "begin { exit(3); }")
    check("the status of exit()", done.returncode == 3, done)
    done = spoor(hosts[:2], "-q", "-e", "begin { nonsense(); }")
    # What the second says long after the first is told for itself.
    check("a script that is wrong", done.returncode == 1 and all(re.search(f"^(h., )?{host}(, h.)?: stdin:1:9-19: ERROR: Unknown function", done.stderr, re.M) and re.search(f"^ERROR: (h., )?{host}(, h.)?: the script cannot be started there", done.stderr, re.M) for host in hosts[:2]), done)
    write("script.bt", 'begin { printf("from a file\\n"); exit(); }')
    done = spoor(hosts[:1], "-q", "script.bt")
    check("a file; of one host lines have no name", done.stdout.startswith("from a file\n"), done)
    done = spoor(hosts[:1], "-q", "-o", "written", "script.bt")
    check("-o is here", open("written").read().startswith("from a file\n"), done)
    done = spoor(hosts[:2], "-q", "-c", "/bin/echo told", "-e", "begin { @ = count(); } interval:s:60 { }")
    check("-c runs on each, and what it prints is told", all(re.search(f"^(h., )?{host}(, h.)?: told$", done.stderr, re.M) for host in hosts[:2]) and "@: 2\n" in done.stdout, done)
    done = spoor(hosts[:1], "-e", "begin { exit(); }")
    check("the clock is told", re.search(r"h0: its clock is [0-9.]+ ms (ahead|behind), give or take [0-9.]+ ms\n", done.stderr), done)


@part
def hosts_that_fail():
    done = spoor(hosts[:2] + ["nowhere"], "-q", "-e", "begin { @ = count(); exit(); }")
    check("one that is not there", done.returncode == 1 and "@: 2\n" in done.stdout and
          "ERROR: nowhere: it cannot be logged in to: " in done.stderr and "1 of 3 hosts failed: nowhere\n" in done.stderr, done)
    done = spoor(hosts[:1], "-q", "-e", "begin { exit(); }", config="stranger")
    check("one that refuses", done.returncode == 1 and "Permission denied" in done.stderr, done)
    with Running(hosts[:3], "-q", "-e", "interval:ms:50 { @ = count(); printf(\"t\\n\"); }") as running:
        check("all run", until(lambda: all(f"{host}: t\n" in running.printed() for host in hosts[:3])), running.said())
        for pid in processes_of("h1", "sshd"):
            os.kill(pid, signal.SIGKILL)
        check("one that dies is named", until(lambda: "ERROR: h1: the connection was lost" in running.said()), running.said())
        length = len(running.printed())
        check("the others go on", until(lambda: "h0: t\n" in running.printed()[length:] and "h2: t\n" in running.printed()[length:]))
        status = running.end(signal.SIGINT)
        check("and end", status == 1 and "@: " in running.printed() and "1 of 3 hosts failed: h1" in running.said(), running.said())
    check("its trace has ended, too", all_gone())
    servers["h1"].wait()
    serve("h1")
    check("it is back", until(lambda: answers("h1")))


@part
def hosts_that_hang():
    with Running(hosts[:3], "-q", "-e", "interval:ms:50 { @ = count(); printf(\"t\\n\"); }") as running:
        check("all run", until(lambda: all(f"{host}: t\n" in running.printed() for host in hosts[:3])), running.said())
        stopped = tracers("h1")
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        length = len(running.printed())
        check("the others are printed meanwhile", until(lambda: "h0: t\n" in running.printed()[length + 200:], 8))
        check("one that hangs is given up", until(lambda: "ERROR: h1: it has not answered for 10 s" in running.said()), running.said())
        check("after its bound", 5 < time.monotonic() - began < 20, time.monotonic() - began)
        status = running.end(signal.SIGINT)
        check("what the others have is printed", status == 1 and "@: " in running.printed(), running.said())
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    check("it ends when it goes on", all_gone())


@part
def interrupts():
    with Running(hosts, "-q", "-e", 'interval:ms:50 { @ = count(); printf("t\\n"); } end { printf("bye\\n"); @e = count(); }') as running:
        check("all run", until(lambda: all(f"{host}: t\n" in running.printed() for host in hosts)), running.said())
        status = running.end(signal.SIGINT)
        out = running.printed()
        check("Ctrl-C ends all", status == 0 and all(f"{host}: bye\n" in out for host in hosts), running.said())
        check("what was gathered is printed", "@e: 10\n" in out and re.search(r"^@: \d+$", out, re.M), out[-300:])
    check("nothing goes on", all_gone())
    with Running(hosts[:2], "-q", "-e", 'interval:ms:50 { printf("t\\n"); }') as running:
        check("two run", until(lambda: "h1: t\n" in running.printed()), running.said())
        running.process.kill()
        running.process.wait()
    check("killed, nothing goes on", all_gone())


@part
def interrupts_while_nobody_reads():
    """Between the last look at the clock and the look at what the user wants, time passes: as much as who reads what is printed takes."""
    process = subprocess.Popen(words_for(hosts[:2], "-q", "-e", 'interval:ms:1 { printf("%s\\n", "' + "x" * 1000 + '"); } end { @e = count(); }'),
                               stdout=subprocess.PIPE, stderr=open("err", "w"), stdin=subprocess.DEVNULL)

    def waits():
        with open(f"/proc/{process.pid}/wchan") as channel, open(f"/proc/{process.pid}/status") as status:
            return "pipe_write" in channel.read() and "\nShdPnd:\t0000000000000000\n" in status.read()
    check("what is printed waits for its reader", until(waits), end_of("err"))
    process.send_signal(signal.SIGINT)
    until(waits)  # it has heard, and waits again
    printed = process.communicate(timeout=60)[0].decode()
    check("hosts have time to end", process.returncode == 0 and printed.endswith("@e: 2\n") and "has not ended" not in end_of("err"), (process.returncode, end_of("err"), printed[-300:]))
    check("nothing goes on", all_gone())


# A way to a host on which what says that all begin is held back until what says that they are to end has come.
TOGETHER = """
import os, struct, subprocess, sys
host, script = sys.argv[-2:]
end = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, bufsize=0)
held = b""
while len(head := sys.stdin.buffer.read(8)) == 8:
    kind, size = struct.unpack("<II", head)
    held += head + sys.stdin.buffer.read(size)
    if kind == 2:
        open("held-" + host, "w").close()
    else:
        os.write(end.stdin.fileno(), held)
        held = b""
"""


@part
def interrupts_at_once():
    write("together.py", TOGETHER)
    beside = {**os.environ, "PATH": build + ":" + os.environ["PATH"]}
    with Background([static, "-q", "--on", "one,other", "--ssh", f"python3 {here}/together.py", "-e", "interval:s:100 { } end { @e = count(); }"], env=beside) as running:
        check("they are started", until(lambda: os.path.exists("held-one") and os.path.exists("held-other")), end_of("err"))
        running.process.send_signal(signal.SIGINT)
        status = running.process.wait(40)
        check("what comes together with the start ends them, too", status == 0 and end_of("out").endswith("@e: 2\n") and not end_of("err"), (status, end_of("err"), end_of("out")))


# What a host answers instead of a spoor: it is told by its first word.
FALSE_HOST = r"""
import os, random, struct, sys, time
what = sys.argv[1]
def put(data):
    while data:
        data = data[os.write(1, data):]
def message(kind, *payload):
    data = b"".join(struct.pack("<Q", word) if isinstance(word, int) else struct.pack("<Q", len(word)) + word + bytes(-len(word) % 8)
                    for word in payload)
    put(struct.pack("<II", kind, len(data)) + data)
def read_message():
    head = sys.stdin.buffer.read(8)
    if len(head) < 8:
        sys.exit()
    kind, size = struct.unpack("<II", head)
    return kind, sys.stdin.buffer.read(size)
def begin():
    put(b"spoor-on: have\n")
    message(4, 0x33726f6f7073)
    while True:
        kind, payload = read_message()
        if kind == 1:
            put(struct.pack("<II", 5, 24) + payload + struct.pack("<QQ", time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.time_ns()))
        elif kind == 0:
            message(6, 1)
        elif kind == 2:
            return
if what == "lines":
    while True:
        put(b"x\n" * 4096)
if what == "one-line":
    while True:
        put(b"x" * 65536)
if what == "noise":
    put(b"spoor-on: have\n")
    while True:
        put(random.randbytes(65536))
if what == "long":
    put(b"spoor-on: have\n" + struct.pack("<II", 4, 0xffffffff))
if what == "machine":
    put(b"spoor-on: need \x1b[2Jpdp11\n")
    sys.exit()
if what == "full": # its error stream comes behind its answer
    put(b"spoor-on: need %s\nspoor-on: failed\n" % os.uname().machine.encode())
    os.close(1)
    time.sleep(1)
    os.write(2, b"mkdir: no room\n")
    os._exit(1)
if what == "late":
    time.sleep(6)
    sys.exit()
if what == "errors":
    while True:
        os.write(2, b"\x1b[2Jwrong " * 1000)
if what in ("endless", "maps", "rounds", "future", "text", "none"):
    begin()
if what == "endless":
    while True:
        message(7, 1, 0, b"y" * 65536)
if what == "future":
    message(10, 2**64 - 1)
    while True:
        message(7, 2**63, 0, b"z\n" * 1000)
if what in ("maps", "rounds"):
    name = 0
    while True:
        name += 1
        types = struct.pack("<QQQQ", 0, 1, 22, 8) + b"count_t\0" + struct.pack("<QQQQQQQQ", 0, 0, 1, 0, 0, 0, 0, 0)
        message(9, 1, int(what == "maps"), 0, 0, 0, 0, 0, 0, 2**64 - 1, 2**64 - 1, b"@%d\0" % name, types, 0, bytes(8))
if what == "text":
    message(8, b"\x1b[2Jtold\nb: forged\n\0")
    message(11, 0)
if what == "none":
    message(3)
time.sleep(1000)
"""


@part
def by_sudo():
    """A host where one logs in as a user without rights, whom sudo asks for no password."""
    os.makedirs("sudoer/rules")
    shutil.copy("user.pub", "sudoer/key")
    for name, entry in ("passwd", "tracer:x:4321:65534::/home:/bin/sh"), ("shadow", "tracer:*:19000:0:99999:7:::"):
        shutil.copy("/etc/" + name, "sudoer/" + name)
        with open("sudoer/" + name, "a") as file:
            file.write(entry + "\n")
    write("sudoer/rules/tracer", "tracer ALL=(root) NOPASSWD: ALL\n")
    os.chmod("sudoer/rules/tracer", 0o440)
    os.mkdir("sudoer/home")
    for name in "key", "home":
        os.chown("sudoer/" + name, 4321, 65534)
    with open("sshd") as ours:
        write("sshd-of-user", ours.read().replace(f"{here}/user.pub", "/run/key") + "Port 2222\n")
    with open("config") as ours:
        write("config-of-user", "Host *\n  Port 2222\n  User tracer\n" + ours.read())
    host = hosts[-1]
    mounts = "mount -t tmpfs run /run && mkdir /run/sshd && cp -p sudoer/key /run && mount --bind sudoer/home /home && mount --bind sudoer/rules /etc/sudoers.d"
    for name in "passwd", "shadow":
        mounts += f" && mount --bind sudoer/{name} /etc/{name}"
    server = subprocess.Popen(["ip", "netns", "exec", host, "sh", "-c", f"{mounts} && exec /usr/sbin/sshd -f {here}/sshd-of-user -D -e"],
                              stderr=open("sshd-of-user.log", "w"), stdin=subprocess.DEVNULL)
    check("the user can log in", until(lambda: answers(host, "config-of-user")), end_of("sshd-of-user.log"))
    done = spoor([host], "-q", "-e", 'begin { printf("%d\\n", uid); exit(); }', config="config-of-user")
    check("without sudo the rights are missing", done.returncode == 1 and "ERROR: " in done.stderr, done)
    done = spoor([host], "-q", "--sudo", "-e", 'begin { printf("%d\\n", uid); exit(); }', config="config-of-user")
    check("with it root traces", done.returncode == 0 and done.stdout == "0\n", done)
    with Running([host], "-q", "--sudo", "-e", 'interval:ms:50 { printf("t\\n"); } end { @ = count(); }', config="config-of-user") as running:
        check("it runs", until(lambda: "t\n" in running.printed()), running.said())
        status = running.end(signal.SIGINT)
        check("Ctrl-C ends it, and prints", status == 0 and running.printed().endswith("@: 1\n"), (status, running.said(), running.printed()[-300:]))
    with Running([host], "-q", "--sudo", "-e", 'interval:ms:50 { printf("t\\n"); }', config="config-of-user") as running:
        check("it runs again", until(lambda: "t\n" in running.printed()), running.said())
        check("root's process is there", until(lambda: tracers(host)))
        running.end(signal.SIGKILL)
    check("it ends with its connection", all_gone())
    server.terminate()
    server.wait()


@part
def hosts_that_lie():
    write("false.py", FALSE_HOST)
    write("false.sh", f'for last; do :; done; while [ $# -gt 2 ]; do shift; done; case $1 in honest) exec sh -c "$last";; '
          f'*) exec python3 {here}/false.py "$1";; esac\n')
    home = {**os.environ, "HOME": here + "/home-h0"}
    wanted = {"lines": "", "one-line": "its login prints without end", "noise": "no spoor", "long": "no spoor",
              "endless": "", "maps": "no spoor", "rounds": "", "future": "", "none": "no spoor", "errors": ""}
    for what, reason in wanted.items():
        began = time.monotonic()
        with open("err", "w+") as err, open("out", "w+") as out:
            process = subprocess.Popen([static, "-q", "--on", "honest," + what, "--ssh", f"sh {here}/false.sh", "-e",
                                        'interval:ms:300 / @i < 3 / { @ = count(); @i++; if (@i == 3) { exit(); } }'],
                                       stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=home)
            if not reason: # it never ends by itself: after a while the user ends it
                time.sleep(1.5)
                os.kill(process.pid, signal.SIGINT) # send_signal() would wait for a process that has ended
            if what == "rounds": # and does not wait for it
                time.sleep(1)
                os.kill(process.pid, signal.SIGINT)
            _, status, usage = os.wait4(process.pid, 0)
        said, printed = end_of("err"), end_of("out")
        check(what + ": it is given up, and the other one is whole",
              (reason in said and f"ERROR: {what}: " in said and "@: 3\n" in printed and os.waitstatus_to_exitcode(status) == 1)
              if reason else time.monotonic() - began < (12 if what == "rounds" else 40), said[-500:] + printed[-500:])
        check(what + ": memory is bounded", usage.ru_maxrss < 300 << 10, f"{usage.ru_maxrss} KB")
        check(what + ": nothing raw is told", "\x1b" not in said, said[:300])
    done = subprocess.run([static, "-q", "--on", "honest,late", "--ssh", f"sh {here}/false.sh", "-e", "begin { @ = count(); exit(); }"],
                          capture_output=True, text=True, env=home, timeout=60)
    check("one that is late is told, and given up", done.returncode == 1 and done.stderr.startswith("late: NOTE: the others wait for it\n"
          "ERROR: late: it cannot be logged in to\n") and "@: 1\n" in done.stdout, done)
    done = subprocess.run([static, "-q", "--on", "machine", "--ssh", f"sh {here}/false.sh", "-e", "begin { }"],
                          capture_output=True, text=True, env=home, timeout=30)
    check("a machine of another architecture", done.returncode == 1 and "another architecture, \\x1b[2Jpdp11," in done.stderr and
          "if it can be built for \\x1b[2Jpdp11" in done.stderr, done)
    done = subprocess.run([static, "-q", "--on", "full", "--ssh", f"sh {here}/false.sh", "-e", "begin { }"],
                          capture_output=True, text=True, env=home, timeout=30)
    check("what its error stream says late is why", done.stderr.startswith("ERROR: full: spoor could not be copied: mkdir: no room\n"), done)
    done = subprocess.run([static, "-q", "--on", "text", "--ssh", f"sh {here}/false.sh", "-e", "begin { }"],
                          capture_output=True, text=True, env=home, timeout=30)
    check("what is told has the host before each line", done.stderr == "text: \\x1b[2Jtold\ntext: b: forged\n", done)


set_up()
for name in parts:
    if len(sys.argv) < 3 or sys.argv[2] in name:
        print("== " + name, flush=True)
        parts[name]()
for host in hosts:
    for pid in processes_of(host, "sshd"):
        os.kill(pid, signal.SIGKILL)
