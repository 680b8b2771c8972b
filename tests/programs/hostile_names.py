# SPDX-License-Identifier: BSD-3-Clause
"""Everything that others can name is named so that it would command a terminal, and every command is run on one:
hostile_names.py ROOT SPOOR PROGRAM SPDK_RECORDING, in an empty directory. Prints "ok …" and "not ok …".

A row says what is run, and which names must be seen, so that none is left out in silence. What there is to run is read from
what spoor says of itself and from the source (commands, their options, builtins with handlers): each must be in a row, or say here why it shows no names.
"""
import os, pty, re, select, shutil, signal, subprocess, sys, termios, time, tty

root, spoor, program, spdk = sys.argv[1:5]
TAIL = b"\x1b[2J\nFORGED\x9b\xc2\x9b\xe2\x80\xae\xe2\x80\x8b\x07"
TOLD = b"Ztold\x1b[8m\nFORGED\xe2\x80\xae"  # what the program says itself; its comm is the first 15 bytes
# Nothing of these may come out: controls but the end of a line and tab; C1; what is hidden or turns the direction.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
                 "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\ufffb\U000e0000-\U000e0fff\udc80-\udcff]")
FORGED = re.compile(r"^\s*FORGED", re.M)
failed = False


def say(is_right, what, why=""):
    global failed
    print(("ok " if is_right else "not ok ") + what, flush=True)
    if not is_right:
        failed = True
        print(why, flush=True)


def hostile(bytes_):
    return re.sub(rb"(Z[a-z]+_)x{%d}" % len(TAIL), lambda found: found[1] + TAIL, bytes_)


def write(path, bytes_, mode=0o644):
    with open(path, "wb") as file:
        file.write(bytes_)
    os.chmod(path, mode)


def run_on_terminal(command, environment, given=b"", limit=60):
    """What a command writes to a terminal, as text; bytes that are no UTF-8 as lone surrogates."""
    master, slave = pty.openpty()
    tty.setraw(slave)  # the bytes as they come
    child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True)
    os.close(slave)
    out, end = b"", time.monotonic() + limit
    if given:
        os.write(master, given)
    while time.monotonic() < end:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            part = os.read(master, 65536)
        except OSError:  # nobody has it open any more
            break
        if not part:
            break
        out += part
    else:
        os.killpg(child.pid, signal.SIGKILL)
        out += b"\n(it did not end)\x00"
    os.close(master)
    child.wait()
    return out.decode("utf-8", "surrogateescape")


def judge(what, text, shows):
    text = re.sub(r"\r(reading|Attaching|The debug).*?\r *\r", "", text, flags=re.S)  # our own progress
    raw, forged = RAW.search(text), FORGED.search(text)
    missing = [name for name in shows if name not in text]
    why = "raw " + ascii(text[max(0, raw.start() - 60) : raw.end() + 30]) if raw else ""
    why += "forged " + ascii(text[max(0, forged.start() - 60) : forged.end() + 30]) if forged else ""
    why += "not seen " + " ".join(missing) + " in " + ascii(text[-1500:]) if missing else ""
    say(not why, what, why)


# ---- the names ----
here = os.getcwd()
path = os.fsencode(here) + b"/Zpath_" + TAIL
write(path, hostile(open(program, "rb").read()), 0o755)
os.mkdir("recordings")
served = os.fsencode(here) + b"/Zserved_" + TAIL
os.mkdir(served)
write(served + b"/Zbroken_" + TAIL + b".bt", b"begin { @x = ; }")
write(served + b"/Zunreadable_" + TAIL + b".bt", b"", 0o666)
write(served + b"/Zscript_" + TAIL + b".bt", b"""begin { print("Ztold"); }
interval:ms:300 { system("kill -INT $(cut -d ' ' -f 4 /proc/$PPID/stat)"); }""")
environment = {**os.environ, "SPOOR_TRACE_DIR": here + "/recordings", "BPFTRACE_COLOR": "never", "XDG_CACHE_HOME": here + "/cache"}
running = subprocess.Popen([path, TOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
recording = os.fsdecode(running.stdout.readline().rstrip(b"\n"))
pid = str(running.pid)
ended = os.fsencode(here) + b"/recordings/Zfile_" + TAIL + b".1.spoor"
subprocess.run([spoor, "ctl", "-p", pid, "dump", ended], env=environment, check=True)
names = {b"BDEV_IO_START": b"Zs\x1b[2J\n\x9bF\xe2\x80\xae", b"TCP_REQ_NEW": b"Zn\x1b[2J\n\xe2\x80\xae", b"lcore_0": b"Zt\x1b[2J\n",
         b"null0": b"Zo\x1b[2J"}
bytes_ = open(spdk, "rb").read()
for old, new in names.items():
    bytes_ = bytes_.replace(old, new.ljust(len(old), b"x")[: len(old)])
write(b"Zspdk_" + TAIL, bytes_)
spdk = os.fsdecode(b"Zspdk_" + TAIL)
ended = os.fsdecode(ended)
text = b"Zcat_\x1b[2J\xc2\x9b\xe2\x80\xae\x07\nown line\n"
write("text", text)
write("script.bt", b'begin { printf("%s\\n", nothing); } // Zscript_\x1b[2J\xe2\x80\xae\x1b[31m')
shutil.copy("script.bt", b"Zname_" + TAIL + b".bt")
write("folded", b'Ztold;Zline_\x1b[2J\xe2\x80\xae\xc2\x9b;a 1\n')
write("lines", b'{"type": "printf", "time_ns": 1, "data": "Zline_\x7f\xe2\x80\xae\xc2\x9b"}\n'
      b'{"type": "printf", "time_ns": 2, "data": "Zjson_\\u001b[2J\\u202e\\u009b"}\n')
bad = os.fsdecode(b"Zbad_" + TAIL)
word = bad.replace("\n", "")  # in what becomes a script, where a newline is the caller's own
os.link(path, "plain")  # the same program under a name that commands take

# ---- what is run ----
at = "uprobe:%s/Zpath_*:Zsymbol_*" % here
probe = "usdt:%s/Zpath_*:*:*" % here
# arg0, arg1 and arg2 are of the debug information, which gives `args` its names, too.
shown = {
    "printf": 'printf("%s|%s|%s|%s|%s|%c%c\\n", comm, func, probe, str(arg0), usym(reg("ip")), (uint8)27, (uint8)10);',
    "print": "print(args); print(comm); print((comm, str(arg0))); print(ustack); print(ustack(perf)); print(*args.both);",
    "print of a map": "@a[comm, str(arg0), func, ustack] = count(); @b[str(arg0)] = str(arg0); @c[comm] = hist(1); print(@a); print(@b); print(@c);",
    "cat": 'cat("%s/text");' % here,
    "errorf": 'errorf("%s %s", comm, str(arg0));',
    "warnf": 'warnf("%s %s", comm, str(arg0));',
    "assert": "assert(comm == \"\", str(arg0));",
    "system": 'system("exit 3 # %s", str(arg0));',
    "print_rows": '@a[str(arg0)] = count(); print_rows(@a, "%s %d\\n");',
    "printf_containing": 'printf_containing("", 0, 9, "%s\\n", str(arg0));',
    "join": None,  # of a row of its own
}
quiet_builtins = {
    "exit": "no text", "clear": "no text", "delete": "no text", "zero": "no text", "unwatch": "a number", "time": "the script's format",
    "print_log2_hist": "the title is the script's", "skboutput": "writes a file", "signal": "no text",
    "debugf": "the kernel prints it",
}
# name: (arguments, names that must be seen)
rows = {
    "-l uprobe": (["-l", at], ["Zpath_", "Zsymbol_"]),
    "-lv uprobe": (["-lv", at], ["Zpath_", "Zsymbol_", "Zparameter_"]),
    "-l usdt": (["-lv", probe], ["Zprovider_", "Zprobe_"]),
    "-l trace": (["-lv", "-f", ended, "trace:*"], ["Zgroup_", "Zbegin_", "Ztext_"]),
    "-l -e": (["-l", "-e", at + " { }"], ["Zsymbol_"]),
    "-l nothing": (["-l", "uprobe:%s/%s:*" % (here, word)], ["Zbad_"]),
    "a script": (["script.bt"], ["Zscript_"]),
    "a script's name": ([os.fsdecode(b"Zname_" + TAIL + b".bt")], ["Zname_"]),
    "no script": ([bad], ["Zbad_"]),
    "no option": (["--" + bad], ["Zbad_"]),
    "--script": (["--script", bad], ["Zbad_"]),
    "--enum": (["--together", "--debuginfo", bad, "--dwarf-pid", "1", "--check", "--enum", "x=" + bad, "-e", at + ' { print(@x[arg0]); }'], ["Zbad_"]),
    "--dry-run": (["--dry-run", "-e", at + " { }"], ["Zsymbol_"]),
    "--check": (["--check", "script.bt"], ["Zscript_"]),
    "--fmt": (["--fmt", "script.bt"], []),
    "-d ast": (["-d", "ast", "-e", at + " { }"], []),
    "-d ir": (["-d", "ir", "-e", at + " { }"], []),
    "-d bpf": (["-d", "bpf", "-e", at + " { }"], []),
    "-v": (["-v", "-c", "/bin/true", "-e", at + " { }"], []),
    "-c": (["-c", here + "/" + "Z\x1b[2J", "-e", "interval:s:9 { }"], ["Z"]),
    "-o": (["-o", "/nowhere/" + bad, "-e", "begin { exit(); }"], ["Zbad_"]),
    "-f": (["-f", bad, "-e", "begin { exit(); }"], ["Zbad_"]),
    "--format": (["--format", bad, "-e", "begin { exit(); }"], ["Zbad_"]),
    "--recording": (["--recording", "/nowhere/" + bad, "-e", "trace:*:* { }"], ["Zbad_"]),
    "--user": (["--user", bad, "-c", "true", "-e", "begin { exit(); }"], ["Zbad_"]),
    "--include": (["--include", bad, "-e", "begin { exit(); }"], ["Zbad_"]),
    "--probe-filter": (["--probe-filter", "Zbad_", "--dry-run", "-e", at + " { }"], []),
    "--test": (["--test", "-e", 'test:t { assert(comm == "", "Zsaid"); }'], ["Zsaid"]),
    "--info": (["--info"], ["spoor"]),
    "trace probes": (["-q", "-f", ended, "-e", 'trace:*:Zb* { printf("%s %s %s %s\\n", probe, comm, str(args.arg0), thread); print(args); exit(); }'], []),
    "trace probes, all": (["-q", "-f", ended, "-e", "trace:*:* { @[probe, comm] = count(); print(args); } "], ["Zbegin_", "Ztext_", "Ztold"]),
    "spdk probes": (["-q", "-f", spdk, "-e", "trace:*:* { @[probe, comm] = count(); print(args); }"], ["Zs"]),
    "ctl list": (["ctl", "list"], ["Zfile_", "running"]),
    "ctl clean": (["ctl", "clean", "-n"], ["Zfile_"]),
    "ctl show": (["ctl", "-p", pid, "show"], ["Zgroup_", "Zabout_", "Zbegin_", "Ztext_", "Ztold", "thread", "owner"]),
    "ctl show -f": (["ctl", "-f", ended, "show"], ["Zfile_"]),
    "ctl show of SPDK's": (["ctl", "-f", spdk, "show"], ["Zs", "Zspdk_"]),
    "ctl show of nothing": (["ctl", "-f", bad, "show"], ["Zbad_"]),
    "ctl enable": (["ctl", "-p", pid, "enable", bad], ["Zbad_"]),
    "ctl disable": (["ctl", "-p", pid, "disable", "Zgroup_" + bad + ":" + bad], ["Zbad_"]),
    "ctl filter": (["ctl", "-p", pid, "filter", "--owner", bad, "--object", bad], ["Zbad_"]),
    "ctl clear": (["ctl", "-f", ended, "clear"], ["Zfile_"]),
    "ctl dump": (["ctl", "-f", ended, "dump", "/nowhere/" + bad], ["Zbad_"]),
    "ctl dump's time": (["ctl", "-f", ended, "dump", bad, bad], ["Zbad_"]),
    "ctl's command": (["ctl", bad], ["Zbad_"]),
    "ctl's option": (["ctl", "--" + bad], ["Zbad_"]),
    "report": (["report", "-f", ended], ["Zbegin_", "Ztext_", "Zone_", "Ztold"]),
    "report -tT": (["report", "-tT", "--width", "0", "-f", ended], ["Zbegin_", "Ztext_"]),
    "report of SPDK's": (["report", "--whole", "-f", spdk], ["Zs"]),
    "report -j": (["report", "-j", "-f", ended], ["Zbegin_", "Ztext_", "Ztold"]),
    "report --stats": (["report", "--stats", "-f", ended], ["Zbegin_", "Zobject_"]),
    "report --slowest": (["report", "--slowest", "2", "-f", ended], ["Zbegin_", "Zobject_"]),
    "report --slowest of nothing": (["report", "--slowest", "2", bad, "-f", ended], ["Zbad_", "Zobject_"]),
    "report --slowest p": (["report", "--slowest", "p" + bad, "-f", ended], ["Zbad_"]),
    "report --export folded": (["report", "--export", "folded", "-f", ended], []),
    "report --export csv": (["report", "--export", "csv", "-f", ended], ["nothing for a terminal"]),
    "report --rows objects": (["report", "--export", "ndjson", "--rows", "objects", "-f", ended], ["Zbegin_", "Zobject_"]),
    "report --rows": (["report", "--export", "csv", "--rows", bad, "-f", ended], ["Zbad_"]),
    "report --export csv -o": (["report", "--export", "csv", "-o", "/nowhere/" + bad, "-f", ended], ["Zbad_"]),
    "report --export": (["report", "--export", bad, "-f", ended], ["Zbad_"]),
    "report --html": (["report", "--html", "/nowhere/" + bad, "-f", ended], ["Zbad_"]),
    "report --otlp": (["report", "--otlp", "/nowhere/" + bad, "-f", ended], ["Zbad_"]),
    "report --otlp of no address": (["report", "--otlp", "http://" + bad, "-f", ended], ["Zbad_"]),
    "report --otlp-header": (["report", "--otlp", "http://127.0.0.1:9", "--otlp-header", bad, "-f", ended], ["Zbad_"]),
    "report --otlp-wait": (["report", "--otlp", "-", "--otlp-wait", bad, "-f", ended], ["Zbad_"]),
    "report --otlp -": (["report", "--otlp", "-", "-f", ended], ["Zbegin_", "Ztext_"]),
    "report -o": (["report", "-o", "/nowhere/" + bad, "-f", ended], ["Zbad_"]),
    "report --merge": (["report", "--merge", "lines", "-f", ended], ["Zjson_"]),
    "report --merge -j": (["report", "--merge", "lines", "-j", "-f", ended], ["Zline_", "Zjson_"]),
    "report --merge of nothing": (["report", "--merge", "/nowhere/" + bad, "-f", ended], ["Zbad_"]),
    "report of nothing": (["report", bad], ["Zbad_"]),
    "report --owner": (["report", "--owner", bad, "--thread", bad, "--group", bad, "--tracepoint", bad, "--object", bad, "-f", ended], ["Zbad_"]),
    "report --from": (["report", "--from", bad, "-f", ended], ["Zbad_"]),
    "report -s": (["report", "-s", bad], ["Zbad_"]),
    "report --names": (["report", "--names", bad + "=" + bad, "--program", "/nowhere/" + bad, "-f", ended], ["Zbad_"]),
    "convert": (["convert", "--to", "spdk", ended, here + "/" + os.fsdecode(b"Zconverted_" + TAIL)], ["NOTE"]),
    "convert of nothing": (["convert", "--to", bad, "/nowhere/" + bad, "out"], ["Zbad_"]),
    "convert's option": (["convert", "--" + bad], ["Zbad_"]),
    "report's option": (["report", "--" + bad], ["Zbad_"]),
    "record": (["record", "-p", pid, "-o", here + "/" + os.fsdecode(b"Zout_" + TAIL), "--duration", "50ms"], ["events in"]),
    "record -f": (["record", "-f", bad, "-o", "new"], ["Zbad_"]),
    "record -s": (["record", "-s", bad, "-o", "new"], ["Zbad_"]),
    "record -o": (["record", "-p", pid, "-o", "/nowhere/" + bad], ["Zbad_"]),
    "record --otlp": (["record", "-p", pid, "--otlp", "/nowhere/" + bad], ["Zbad_"]),
    "record --otlp of no address": (["record", "-p", pid, "--otlp", "http://" + bad], ["Zbad_"]),
    "record --otlp-header": (["record", "-p", pid, "--otlp", "http://127.0.0.1:9", "--otlp-header", bad], ["Zbad_"]),
    "record --otlp-wait": (["record", "-p", pid, "--otlp", "x", "--otlp-wait", bad], ["Zbad_"]),
    "record --slowest": (["record", "-p", pid, "--otlp", "x", "--slowest", bad], ["Zbad_"]),
    "record --slowest of nothing": (["record", "-p", pid, "--otlp", "x", "--slowest", "p99", bad], ["Zbad_", "Zobject_"]),
    "record --otlp -": (["record", "-p", pid, "--otlp", "-", "--duration", "50ms"], []),
    "record's option": (["record", "--" + bad], ["Zbad_"]),
    "list": (["list", "-l", "%s/%s" % (here, os.fsdecode(b"Zpath_" + TAIL))], ["Zprovider_", "Zprobe_", "Zpath_"]),
    "list -v": (["list", "-v", "-p", pid], ["Zprovider_", "Zprobe_"]),
    "list -vv": (["list", "-vv", "-p", pid], ["Zprovider_", "Zprobe_", "Zpath_", "Zargument_"]),
    "list of nothing": (["list", "-l", bad], ["Zbad_"]),
    "list's option": (["list", "--" + bad], ["Zbad_"]),
    "trace": (["trace", "-p", pid, "-M", "1", "-U", 'c:getenv "%s", arg1'], ["Ztold"]),
    "trace -f": (["trace", "-M", "1", "-f", "Ztold", 'c:getenv "%s", arg1'], ["Ztold"]),
    "trace of nothing": (["trace", word + ":" + word], ["Zbad_"]),
    "trace's option": (["trace", "--" + bad], ["Zbad_"]),
    "count": (["count", "-d", "1", here + "/plain:Zsymbol_*"], ["Zsymbol_"]),
    "count of nothing": (["count", "-d", "1", "%s:%s" % (word, word)], ["Zbad_"]),
    "count's option": (["count", "--" + bad], ["Zbad_"]),
    "argdist": (["argdist", "-p", pid, "-i", "1", "-n", "1", "-C", "p:c:getenv(char *name):char*:name"], ["Ztold"]),
    "argdist of nothing": (["argdist", "-n", "1", "-C", "p:%s:%s()" % (word, word)], ["Zbad_"]),
    "argdist's option": (["argdist", "--" + bad], ["Zbad_"]),
    "top": (["top", "--batch", "-i", "500ms", "-n", "4", "-e", at + " { @a[comm, str(arg0), func, ustack] = count(); @b[str(arg0)] = str(arg0); @c[comm] = hist(1); }"], ["Ztold", "Zsymbol_"]),
    "top of a recording": (["top", "--batch", "--recording", "--rows", "0", ended], ["Zgroup_", "Zbegin_", "Zobject_", "Ztold"]),
    "top of SPDK's": (["top", "--batch", "--recording", "--rows", "0", spdk], ["Zs", "Zn"]),
    "top of nothing": (["top", bad], ["Zbad_"]),
    "top of no recording": (["top", "--recording", bad], ["Zbad_"]),
    "top's option": (["top", "--" + bad], ["Zbad_"]),
    "doctor": (["doctor"], ["privileges"]),
    "doctor of a program": (["doctor", os.fsdecode(path)], ["Zpath_", "symbols"]),
    "doctor of a process": (["doctor", "--pid", pid], ["Zpath_", "symbols"]),
    "doctor of a script": (["doctor", "--unsafe", os.fsdecode(b"Zname_" + TAIL + b".bt"), "-e", at + " { print(Zscript_); }"], ["Zname_", "Zscript_", "Zsymbol_"]),
    "doctor of nothing": (["doctor", bad], ["Zbad_"]),
    "doctor --json": (["doctor", "--json", os.fsdecode(path)], ["Zpath_", "privileges"]),
    "doctor's option": (["doctor", "--" + bad], ["Zbad_"]),
    "help": (["help"], ["Usage"]),
    "completion": (["completion", "candidates", "--", "-p", ""], ["\t"]),
    "lsp": (["lsp", bad], ["Zbad_"]),
    "profile": (["profile", "-q", "-d", "1", "-e", at], ["Zsymbol_", "Zpath_"]),
    "profile -f folded": (["profile", "-q", "-d", "1", "-f", "folded", "-e", at], ["Zsymbol_", "Ztold"]),
    "profile -f speedscope": (["profile", "-q", "-d", "1", "-f", "speedscope", "-e", at], ["Zsymbol_", "Ztold"]),
    "profile -f svg": (["profile", "-q", "-d", "1", "-f", "svg", "-e", at], ["Zsymbol_", "Ztold"]),
    "profile --read": (["profile", "-f", "folded", "--read", "folded", "--title", bad], ["Zline_"]),
    "--svg": (["-q", "--duration", "20s", "--svg", "-", "-e", at + " { @a[comm, str(arg0)] = count(); @b[func] = hist(1); exit(); }"], ["Ztold", "Zsymbol_"]),
    "--openmetrics, no file": (["-q", "--openmetrics", bad + "/x", "-e", at], ["Zbad_"]),
    "--otlp": (["-q", "--otlp", "http://" + bad, "-e", at], ["Zbad_"]),
    "--otlp, no file": (["-q", "--otlp", bad + "/x", "-e", at], ["Zbad_"]),
    "--otlp-header": (["-q", "--otlp", "http://127.0.0.1:9", "--otlp-header", bad, "-e", at], ["Zbad_"]),
    "--otlp-wait": (["-q", "--otlp", "x", "--otlp-wait", bad, "-e", at], ["Zbad_"]),
    "--openmetrics-period": (["-q", "--openmetrics", "x", "--openmetrics-period", bad, "-e", at], ["Zbad_"]),
    "--openmetrics-series": (["-q", "--openmetrics", "x", "--openmetrics-series", bad, "-e", at], ["Zbad_"]),
    "--html": (["-q", "--duration", "20s", "--html", "-", "-e", at + " { @a[comm, str(arg0)] = count(); @b[func] = hist(1); exit(); }"], []),
    "profile, no stack": (["profile", "--read", ended], ["Zfile_"]),
    "profile, no ending": (["profile", "-o", bad], ["Zbad_"]),
    # A script ends it: the parent of the process that runs the command's shell.
    "serve": (["serve", "--unsafe", "--openmetrics", here + "/served.prom", os.fsdecode(served)], ["Zscript_", "Zbroken_", "Ztold", "Zunreadable_"]),
    "serve of nothing": (["serve", bad], ["Zbad_"]),
    "serve --openmetrics": (["serve", "--openmetrics", "/nowhere/" + bad, here], ["Zbad_"]),
    "serve --otlp": (["serve", "--otlp", "http://" + bad, here], ["Zbad_"]),
    "serve --otlp, no address": (["serve", "--otlp", bad, here], ["Zbad_"]),
    "serve --otlp-header": (["serve", "--otlp", "http://127.0.0.1:9", "--otlp-header", bad, here], ["Zbad_"]),
    "serve --otlp-wait": (["serve", "--otlp", "http://127.0.0.1:9", "--otlp-wait", bad, here], ["Zbad_"]),
    "serve to a receiver that is down": (["serve", "--unsafe", "--otlp", "http://127.0.0.1:9", "--otlp-wait", "100ms", "--openmetrics", here + "/sent.prom", os.fsdecode(served)], ["Zscript_", "Ztold"]),
    "serve --max-cpu": (["serve", "--max-cpu", bad, here], ["Zbad_"]),
    "serve's option": (["serve", "--" + bad], ["Zbad_"]),
    "--on": (["-q", "--on", bad, "--ssh", "sh -c exit", "-e", at], ["Zbad_"]),
    "--on, what its host says": (["--on", "a,b", "--per-host", "--sudo", "--ssh", "sh " + here + "/says", "-e", at], ["Ztold"]),
    "--on, what its spoor prints": (["--on", "a,b", "--ssh", "sh " + here + "/answers", "--duration", "20s", "-e", at + ' { printf("%s %s\\n", comm, str(arg0)); @a[comm, str(arg0), func, ustack] = count(); @b[str(arg0)] = str(arg0); exit(); }'], ["Ztold", "Zsymbol_"]),
    "--on's option": (["--on", "a", "--ssh", bad, "-e", at], ["Zbad_"]),
    "--on-binary": (["--on", "a", "--on-binary", bad, "-e", at], ["Zbad_"]),
    "completion of nothing": (["completion", bad], ["Zbad_"]),
}
# Hosts of --on: one says what it likes, the other is this machine.
write(b"says", b"printf 'Ztold\\033[2J\\n' >&2; exit 1\n")
write(b"answers", b'for last; do :; done\nPATH=' + os.fsencode(os.path.dirname(spoor)) + b':$PATH exec sh -c "$last"\n')
for name, block in shown.items():
    if block:
        rows[name] = (["-q", "--unsafe", "--duration", "20s", "-e", "%s { %s exit(); }" % (at, block)], {"cat": ["Zcat_", "\nown line"]}.get(name, ["Ztold"]))
rows["join"] = (["-q", "--unsafe", "-c", "/bin/true Zword_\x1b[2J\u202e", "-e", "tracepoint:syscalls:sys_enter_execve /pid == cpid/ { join(args.argv); exit(); }"], ["Zword_"])
rows["usdt"] = (["-q", "--duration", "20s", "-e", probe + ' { printf("%s %s\\n", probe, str(arg0)); print(args); exit(); }'], ["Zprovider_", "Zprobe_", "Ztold", "Zargument_"])
rows["-p"] = (["-q", "-p", pid, "--duration", "20s", "-e", "uprobe:*:Zsymbol_* { print(probe); print(comm); exit(); }"], ["Zsymbol_", "Ztold"])
rows["the script's own lines"] = (["-q", "-e", 'begin { printf("%s|%s\\n%c", "own\\nline", 1 ? "own\\nchoice" : "", 10); print("own\\nvalue"); exit(); }'],
                                  ["own\nline", "own\nchoice", "own\nvalue"])
write(b"Zodd_\xff", b"the odd one")
rows["a path is its bytes"] = (["-q", "--unsafe", "-e", 'begin { cat("%s", "Zodd_\\xff"); system("cat %s", "Zodd_\\xff"); exit(); }'], ["the odd onethe odd one"])
for name in ("printf", "print", "print of a map", "errorf", "usdt", "trace probes, all"):
    arguments, names = rows[name]
    rows["-f json, " + name] = (["-f", "json"] + arguments, names)

for name, (arguments, names) in rows.items():
    judge(name, run_on_terminal([spoor] + arguments, environment), names)

# The same JSON elsewhere: it is escaped wherever it goes.
for name in ("report -j", "report --merge -j", "-f json, print", "-f json, printf", "-f json, print of a map"):
    done = subprocess.run([spoor] + rows[name][0], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    judge(name + ", to a pipe", done.stdout.decode("utf-8", "surrogateescape"), rows[name][1])
# And text elsewhere: the bytes as they are.
done = subprocess.run([spoor] + rows["printf"][0], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
say(TOLD in done.stdout, "text to a pipe is unchanged", ascii(done.stdout))

# ---- all there is ----


def source(name):
    return open(root + "/src/" + name).read()


def complete(what, found, fed):
    missing = sorted(set(found) - set(fed))
    say(bool(found) and not missing, "all %s are fed" % what, "not in a row: %s" % " ".join(missing) if found else "none found: this must follow the source")


def helped(*command):
    return subprocess.run([spoor, *command], stdout=subprocess.PIPE, text=True, check=True).stdout


def options(*command):
    """The long options that a command's help lists."""
    return re.findall(r"^  (?:-., |    )--([a-z_-]+)", helped(*command, "--help"), re.M)


def given(*command):
    return [word[2:] for arguments, _ in rows.values() if arguments[: len(command)] == list(command) for word in arguments if word.startswith("--")]


menu = re.search(r"^Commands:\n(.*?)\n\n", helped("help"), re.S | re.M)[1]
complete("commands", re.findall(r"^  ([a-z]+) ", menu, re.M), {arguments[0] for arguments, _ in rows.values()})
ctl = re.search(r"^Commands:\n(.*?)\n\n", helped("ctl", "--help"), re.S | re.M)[1]
complete("commands of ctl", re.findall(r"^  ([a-z]+) ", ctl, re.M), {word for arguments, _ in rows.values() if arguments[0] == "ctl" for word in arguments})
own = dict.fromkeys(["pid", "cmd", "output", "list", "quiet", "verbose"], "by their letters")
own |= dict.fromkeys(["follow", "cgroup", "new-privileges", "rotate-size", "keep", "duration", "max-events", "max-memory", "times", "histogram", "warnings",
                      "no-warnings", "unsafe", "mode", "no-feature", "bench", "host", "btf", "usdt-file-activation", "traceable-functions", "version", "help", "list-tools"],
                     "show no names of their own, or what is given to them: see `no option`")
complete("options", options(), given() + list(own))
reports = dict.fromkeys(["name", "pid", "id", "file", "cpu", "ticks", "step", "json", "output"], "by their letters")
reports |= {"follow": "lines as those of report", "to": "as --from", "width": "a number", "help": "ours"}
complete("options of report", options("report"), given("report") + list(reports))
handling = []
for name in sorted(os.listdir(root + "/src/builtin")):
    if name.endswith(".c"):
        for entry in re.findall(r'\n    \{"([a-z_0-9]+)",((?:(?!\n    \{).)*?\.handle = )', source("builtin/" + name), re.S):
            handling.append(entry[0])
complete("builtins with handlers", handling, list(shown) + list(quiet_builtins))

running.stdin.close()
running.wait()
sys.exit(failed)
