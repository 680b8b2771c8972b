# SPDX-License-Identifier: BSD-3-Clause
"""The curves of bench/scale: what is measured at which sizes.

A curve is a function that prepares its work at size n, in a directory of its own in memory, and returns the Job. Nothing here makes
thousands of perf events, which the kernel takes badly: sizes end before. How starting depends on CPUs that are possible needs a
guest: part cpus of tests/deep."""
import collections, glob, os, random, shutil, subprocess

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(here)
ENDS = "interval:ms:1 { exit(); }"

# A curve: what one of n is, its sizes for the small half and for the whole, and what makes the Job of a size.
Curve = collections.namedtuple("Curve", "unit small whole prepare")
# A Job: the command; what it must print, or it did not do its work; its environment; processes that live meanwhile; files that it makes.
Job = collections.namedtuple("Job", "command says environment helpers leaves", defaults=("", {}, (), ()))
curves = {}


def curve(name, unit, small, whole):
    def add(prepare):
        curves[name] = Curve(unit, small, whole, prepare)
        return prepare

    return add


class Place:
    """Where a curve's work is done: the directory, the build, and what was made for a size, which serves all turns."""

    def __init__(self, build, directory):
        self.build, self.directory, self.spoor = build, directory, os.path.join(build, "spoor")

    def path(self, name):
        return os.path.join(self.directory, name)

    def text(self, name, text):
        """A file with this text, made once."""
        path = self.path(name)
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                file.write(text() if callable(text) else text)
        return path

    def compile(self, name, source, *options):
        path = self.path(name)
        if not os.path.exists(path):
            compiler = os.environ.get("CC", "gcc")
            include = ["-I" + os.path.join(root, "include"), "-I" + self.directory]
            subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", *include, "-o", path, source, *options], check=True)
        return path

    def recorder(self, name):
        """A program of tests/programs that records."""
        source = os.path.join(root, "tests", "programs", name + ".c")
        return self.compile(name, source, "-O2", os.path.join(self.build, "libspoor.a"), "-pthread")

    def recording(self, requests):
        """A recording of so many requests of eight events, made once."""
        directory = self.path(f"requests{requests}")
        if not os.path.exists(directory):
            os.mkdir(directory)
            kib = 1024
            while kib * 1024 < requests * 8 * 64:
                kib *= 2
            program = self.recorder("recording")
            environment = dict(os.environ, SPOOR_TRACE_DIR=directory)
            subprocess.run([program, "scale", str(requests), "1", "0", str(kib)], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        return glob.glob(directory + "/*.spoor")[0]


# ---- probes: attached, and left ----
def functions(place, n):
    """A program of n functions f_0, f_1 …, each a nop."""
    source = place.text(
        f"functions{n}.s",
        lambda: ".text\n.globl _start\n_start: nop\n"
        + "".join(f".globl f_{i}\n.type f_{i}, %function\nf_{i}: nop\nret\n.size f_{i}, .-f_{i}\n" for i in range(n)),
    )
    return place.compile(f"functions{n}", source, "-nostdlib", "-static")


@curve("uprobes", "function", (1000, 8000, 32000), (1000, 4000, 16000, 64000))
def uprobes(place, n):
    return Job([place.spoor, "-e", f"uprobe:{functions(place, n)}:f_* {{ @ = count(); }} {ENDS}"], f"Attached {n + 1} probes")


@curve("usdt", "site", (1000, 8000, 32000), (1000, 4000, 16000, 64000))
def usdt(place, n):
    site = (
        "990: nop\n.pushsection .note.stapsdt,\"\",%note\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
        "993: .8byte 990b\n.8byte 0\n.8byte 0\n.asciz \"scale\"\n.asciz \"site\"\n.asciz \"\"\n994: .balign 4\n.popsection\n"
    )
    source = place.text(f"sites{n}.s", lambda: ".text\n.globl _start\n_start: nop\n" + site * n)
    program = place.compile(f"sites{n}", source, "-nostdlib", "-static")
    return Job([place.spoor, "-e", f"usdt:{program}:scale:site {{ @ = count(); }} {ENDS}"], "Attached 2 probes")


@curve("tracepoints", "tracepoint", (25, 100, 400), (25, 100, 400, 1500))
def tracepoints(place, n):
    listed = subprocess.run([place.spoor, "-l", "tracepoint:*"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    listed = [name for name in listed if not name.startswith("tracepoint:syscalls:")]
    if len(listed) < n:
        return None
    return Job([place.spoor, "-e", f"{','.join(listed[:n])} {{ @ = count(); }} {ENDS}"], f"Attached {n + 1} probes")


# The kernel takes some 50 ms to close each, one after another, in the background.
@curve("blocks", "block", (10, 40, 160), (25, 100, 400))
def blocks(place, n):
    program = functions(place, n)
    script = place.text(f"blocks{n}.bt", lambda: "".join(f"uprobe:{program}:f_{i} {{ @ = count(); }}\n" for i in range(n)) + ENDS)
    return Job([place.spoor, script], f"Attached {n + 1} probes")


@curve("intervals", "block", (60, 120, 240, 480), (60, 120, 240, 480))
def intervals(place, n):
    script = place.text(f"intervals{n}.bt", "interval:s:100 { @ = count(); }\n" * n + ENDS)
    return Job([place.spoor, script], f"Attached {n + 1} probes")


# ---- the compiler ----
@curve("statements", "statement", (1000, 4000, 16000), (2000, 8000, 32000))
def statements(place, n):
    script = place.text(f"statements{n}.bt", lambda: "BEGIN {\n" + "".join(f"$v = nsecs + {i}; @s[$v % 16] = $v;\n" for i in range(n // 2)) + "}\n")
    return Job([place.spoor, "--check", script])


@curve("unroll", "turn", (500, 2000, 10000), (500, 2000, 10000))
def unroll(place, n):
    return Job([place.spoor, "--check", "-e", f"BEGIN {{ $i = 0; unroll(100) {{ unroll({n // 100}) {{ $i += nsecs; }} }} @ = $i; }}"])


@curve("conditions", "if", (250, 1000, 4000), (500, 2000, 8000))
def conditions(place, n):
    script = place.text(f"conditions{n}.bt", lambda: "BEGIN {\n" + "".join(f"if (nsecs % {i + 2} == 0) {{ @ = {i}; }}\n" for i in range(n)) + "}\n")
    return Job([place.spoor, "--check", script])


@curve("counts", "count", (500, 2000, 8000), (500, 2000, 8000, 16000))
def counts(place, n):
    script = place.text(f"counts{n}.bt", "BEGIN {\n" + "@ = count();\n" * n + "exit();\n}\n")
    return Job([place.spoor, script], f"@: {n}\n")


# ---- maps and output ----
def keys_allowed(n):
    return {"SPOOR_MAX_MAP_KEYS": str(n + 100)}


@curve("keys", "key", (10000, 40000, 160000), (10000, 40000, 160000, 640000, 2560000))
def keys(place, n):
    script = f"BEGIN {{ for ($i : 0..{n}) {{ @[$i] = count(); }} exit(); }}"
    return Job([place.spoor, "-e", script], f"@[{n - 1}]: 1\n", keys_allowed(n))


@curve("prints", "print of 100 keys", (200, 800, 3200), (200, 800, 3200, 12800))
def prints(place, n):
    script = f"BEGIN {{ for ($i : 0..100) {{ @[$i] = $i; }} for ($i : 0..{n}) {{ print(@); }} exit(); }}"
    return Job([place.spoor, "-e", script], "@[99]: 99\n", {"SPOOR_PERF_RB_PAGES": "4096"})


STACKS = r"""
#include <stdlib.h>
__attribute__((noinline, noipa)) void leaf(void) { __asm__ volatile("" ::: "memory"); }
static void descend(unsigned long way, int depth);
#define SIDE(name) __attribute__((noinline, noipa)) static void name(unsigned long way, int depth) { descend(way, depth); __asm__ volatile("" ::: "memory"); }
SIDE(left)
SIDE(right)
__attribute__((noinline, noipa)) static void descend(unsigned long way, int depth)
{
    if (depth == 0) leaf();
    else if (way & 1) right(way >> 1, depth - 1);
    else left(way >> 1, depth - 1);
    __asm__ volatile("" ::: "memory");
}
int main(int argc, char **argv)
{
    unsigned long n = strtoul(argv[1], NULL, 10);
    for (unsigned long i = 0; i < n; i++) descend(i, 20);
    return argc < 2;
}
"""


@curve("stacks", "stack", (2000, 8000, 32000), (2000, 8000, 32000, 128000))
def stacks(place, n):
    program = place.compile("stacks", place.text("stacks.c", STACKS), "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
    script = f"uprobe:{program}:leaf {{ @[ustack] = count(); @all = count(); }}"
    return Job([place.spoor, "-c", f"{program} {n}", "-e", script], f"@all: {n}\n", keys_allowed(n))


PRINTF = r"""
#include <spoor/probe.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
SPOOR_PROBE_DECLARE(scale, tick, (uint64_t, number), (const char *, text));
static void *work(void *argument)
{
    for (unsigned long i = 0; i < 50000; i++) SPOOR_FIRE(scale, tick, i, "a string of some length");
    return argument;
}
int main(int argc, char **argv)
{
    pthread_t threads[64];
    int n = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < n; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""


@curve("printf", "thread of 50,000 lines", (1, 2, 4, 8), (1, 2, 4, 8, 16))
def printf(place, n):
    program = place.compile("printf", place.text("printf.c", PRINTF), "-O2", "-pthread")
    script = f'usdt:{program}:scale:tick {{ printf("%d %s\\n", arg0, str(arg1)); @ = count(); }}'
    return Job([place.spoor, "-c", f"{program} {n}", "-e", script], f"@: {n * 50000}\n")


# ---- symbols ----
@curve("symbols", "symbol", (4000, 16000, 64000), (4000, 16000, 64000, 256000))
def symbols(place, n):
    return Job([place.spoor, "-l", f"uprobe:{functions(place, n)}:f_*"], f":f_{n - 1}\n")


@curve("unit", "function of a compile unit", (500, 2000, 8000), (500, 2000, 8000, 24000))
def unit(place, n):
    source = place.text(f"unit{n}.c", lambda: "".join(f"int g_{i}(int a, long b) {{ return a + (int)b + {i}; }}\n" for i in range(n)) + "int main(void) { return 0; }\n")
    return Job([place.spoor, "-lv", f"uprobe:{place.compile(f'unit{n}', source, '-g', '-O0')}:g_*"], f":g_{n - 1}\n")


@curve("lines", "function of a compile unit on a stack", (250, 1000, 4000), (500, 2000, 8000))
def lines(place, n):
    source = place.text(
        f"lines{n}.c",
        lambda: '__attribute__((noinline, noipa)) void leaf(void) { __asm__ volatile("" ::: "memory"); }\n'
        + "".join(f'__attribute__((noinline, noipa)) void g_{i}(void)\n{{\n    leaf();\n    __asm__ volatile("" ::: "memory");\n}}\n' for i in range(n))
        + "int main(void)\n{\n"
        + "".join(f"    g_{i}();\n" for i in range(n))
        + "    return 0;\n}\n",
    )
    program = place.compile(f"lines{n}", source, "-g", "-O1", "-fno-omit-frame-pointer")
    return Job([place.spoor, "-c", program, "-e", f"uprobe:{program}:leaf {{ @[ustack] = count(); }}"], f"g_{n - 1}+", keys_allowed(n))


# ---- processes ----
@curve("pids", "process", (5, 50, 250), (10, 100, 1000))
def pids(place, n):
    helpers = [subprocess.Popen(["sleep", "1000"]) for _ in range(n)]
    listed = ",".join(str(helper.pid) for helper in helpers)
    return Job([place.spoor, "-p", listed, "-e", f"tracepoint:syscalls:sys_enter_getpgid {{ @ = count(); }} {ENDS}"], "Attached 2 probes", {}, helpers)


CHILDREN = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--) {
        if (fork() == 0) _exit(0);
        wait(NULL);
    }
    return 0;
}
"""


@curve("children", "child", (250, 1000, 4000), (500, 2000, 8000, 32000))
def children(place, n):
    program = place.compile("children", place.text("children.c", CHILDREN), "-O2")
    return Job([place.spoor, "--follow", "-c", f"{program} {n}", "-e", "tracepoint:sched:sched_process_exit { @ = count(); }"], f"@: {n + 1}\n")


# ---- the recorder ----
@curve("threads", "thread", (250, 1000, 4000), (500, 2000, 8000))
def threads(place, n):
    return Job([place.recorder("recorder_threads"), "short", str(n)], "", {"SPOOR_TRACE_DIR": place.directory}, (), ("recorder_threads.*", "short.*"))


@curve("open", "tracepoint", (1000, 8000, 32000), (1000, 4000, 16000, 64000))
def open_tracepoints(place, n):
    source = place.text(
        f"open{n}.c",
        lambda: '#include <stdio.h>\n#include <spoor/trace.h>\nSPOOR_GROUP(scale, "many");\n'
        + "".join(f"SPOOR_TRACEPOINT(scale, POINT_{i}, none, SPOOR_USES, (uint64_t, number));\nSPOOR_TRACEPOINT_HERE(POINT_{i});\n" for i in range(n))
        + 'int main(void)\n{\n    const struct spoor_trace_options options = {.size = sizeof options, .name = "open", .enable = "all"};\n'
        + "    const int error = spoor_trace_open(&options);\n    puts(error ? spoor_trace_error() : \"open\");\n    return error != 0;\n}\n",
    )
    program = place.compile(f"open{n}", source, "-O0", os.path.join(place.build, "libspoor.a"), "-pthread")
    return Job([program], "open\n", {"SPOOR_TRACE_DIR": place.directory}, (), ("open.*",))


@curve("ctl", "recording", (100, 400, 1600), (100, 400, 1600, 6400))
def ctl(place, n):
    directory = place.path(f"ctl{n}")
    if not os.path.exists(directory):
        os.mkdir(directory)
        recording = place.recording(1)
        for i in range(n):
            shutil.copy(recording, f"{directory}/scale{i}.{os.path.basename(recording).split('.')[1]}.spoor")
    return Job([place.spoor, "ctl", "list"], f"scale{n - 1} ", {"SPOOR_TRACE_DIR": directory})


# ---- recordings ----
REQUESTS = (4000, 16000, 64000), (16000, 64000, 256000, 1024000)


def reads(name, *arguments, leaves=()):
    @curve(name, "request of 8 events", *REQUESTS)
    def read(place, n):
        return Job([place.spoor, "report", "-f", place.recording(n), *(argument.format(place.directory) for argument in arguments)], "", {}, (), leaves)


reads("stats", "--stats")
reads("print")
reads("json", "--json")
reads("slowest", "--slowest", "10")
for format in ("perfetto", "ctf", "folded", "csv", "html"):
    reads(format, "--export", format, "-o", "{}/export", leaves=("export*",))


@curve("script", "request of 8 events", *REQUESTS)
def script_on_recording(place, n):
    return Job([place.spoor, "-f", place.recording(n), "-e", "trace:* { @[probe] = count(); @h = hist(nsecs); @all = count(); }"], f"@all: {n * 8}\n")


@curve("merge", "unsorted line", (2000, 8000, 32000), (4000, 16000, 64000, 256000))
def merge(place, n):
    def lines():
        draw = random.Random(n)
        return "".join(f'{{"type": "printf", "time_ns": {draw.randrange(10**15)}, "data": "line {i}\\n"}}\n' for i in range(n))

    return Job([place.spoor, "report", "-f", place.recording(10), "--merge", place.text(f"merge{n}.json", lines)], f"line {n - 1}\n")


@curve("rings", "ring", (2, 8, 64, 512), (2, 8, 64, 512))
def rings(place, n):
    return Job([os.path.join(place.build, "bench", "merge"), str(n), "2000000"])
