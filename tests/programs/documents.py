# SPDX-License-Identifier: BSD-3-Clause
"""Runs what a document shows: documents.py BUILD DOCUMENT [--bless].

In a block of Markdown between bare ``` lines, or of a manual page between .Bd -literal and .Ed, that begins with "# " or "$ " each
such line is a command, with the lines that the shell still needs, and what follows is its output. All commands of a document run
in one directory, in their order. They must print what the document shows, where

    … alone on a line      stands for any lines, and … inside of a line for any text,
    digits                 may be others, as may addresses, the rows of histograms, and the order of lines,
    an output of nothing   is not compared,

and more errors than it shows are a mistake in any case.

Prints "ok …" or "not ok …" for each block. --bless writes the output of commands that show none into the document."""
import os
import re
import signal
import subprocess
import sys
import tempfile

build, document = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 60  # seconds for a command


def blocks(lines):
    """Yields the numbers of the first line of each block and of the line behind its last."""
    begin = None
    for number, line in enumerate(lines):
        if begin is None and (line == "```" or line.startswith(".Bd -literal")):
            begin = number + 1
        elif begin is not None and (line == "```" or line == ".Ed"):
            if begin < number and re.match(r"[#$] ", lines[begin]):
                yield begin, number
            begin = None


def is_whole(command):
    """Whether the shell needs no more lines."""
    read = subprocess.run(["bash", "-n"], input=command, capture_output=True, text=True)
    return read.returncode == 0 and "here-document" not in read.stderr


def commands(lines):
    """Yields pairs of a command and of the lines that it shall print."""
    at = 0
    while at < len(lines):
        command = lines[at][2:]
        at += 1
        while not is_whole(command + "\n") and at < len(lines):
            command += "\n" + lines[at]
            at += 1
        shown = []
        while at < len(lines) and not re.match(r"[#$] ", lines[at]):
            shown.append(lines[at])
            at += 1
        yield command, shown


def plain(line):
    """A line of a manual page as it is shown; others have no such escapes."""
    if not document.endswith(".md"):
        line = line.replace("\\e", "\\").replace("\\-", "-").replace("\\(aq", "'").replace("\\&", "")
    return line


def same(line):
    """A line without what differs from run to run."""
    line = re.sub(r"^[\[(].* \|[@ ]+\|$", "a row", line.rstrip())
    line = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{12}\b", "0x", line)
    return re.sub(r"\s+", " ", re.sub(r" *[0-9]+", "#", line.rstrip()))


def without_rows(lines):
    """The lines that are not blank, with one in the place of all rows of a histogram."""
    row = re.compile(r"[\[(].* \|[@ ]+\|$")
    lines = [line for line in lines if line.strip()]
    return [line for at, line in enumerate(lines) if not (at and row.match(line) and row.match(lines[at - 1]))]


def matches(shown, came):
    """Whether the lines that came are those that are shown."""
    pattern = ""
    shown, came = without_rows(shown), without_rows(came)
    for line in shown:
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in same(line).split("…")) + r"\n"
    same_lines = sorted(map(same, shown)) == sorted(map(same, came))
    return same_lines or re.fullmatch(pattern, "".join(same(line) + "\n" for line in came)) is not None


def run(command, state):
    """Runs a command; what it exports is kept in a file for the next."""
    script = '. "%s"\n{ %s\n} 2>&1\ndeclare -px | grep -v "declare -[a-z]*r" >"%s"\n' % (state, command, state)
    process = subprocess.Popen(["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=True)
    try:
        return process.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0] + "it did not end within %d s\n" % LIMIT


def lines_of(output):
    """Lines, without blank ones at both ends, and one where there are several."""
    return re.sub(r"\n(\s*\n)+", "\n\n", output.strip("\n")).split("\n") if output.strip() else []


text = open(document).read()
lines = text.split("\n")
name = os.path.relpath(document, root)
blessed, done = [], 0
with tempfile.TemporaryDirectory(prefix="spoor-documents.") as work:
    os.chmod(work, 0o755)
    os.chdir(work)
    open(".state", "w").close()
    os.environ.update(PATH=build + ":" + os.path.join(root, "tools") + ":" + os.environ["PATH"], LC_ALL="C.UTF-8",
                      CPATH=os.path.join(root, "include"), LIBRARY_PATH=build, LD_LIBRARY_PATH=build)
    for begin, end in blocks(lines):
        wrong = []
        blessed += lines[done:begin]
        for command, shown in commands([plain(line) for line in lines[begin:end]]):
            came = lines_of(run(command, os.path.join(work, ".state")).replace(work, "…"))
            wanted = lines_of("\n".join(shown))
            strange = "\n".join(came).count("ERROR: ") > "\n".join(wanted).count("ERROR: ")
            if (wanted and not matches(wanted, came)) or strange:
                wrong += ["  # " + command, "    shown:"] + ["      " + line for line in wanted]
                wrong += ["    came:"] + ["      " + line for line in came[:60]]
            blessed += ("# " + command).split("\n") + (shown if wanted else came)
        done = end
        print("%s %s:%d: %s" % ("not ok" if wrong else "ok", name, begin + 1, lines[begin][2:70]))
        print("\n".join(wrong), end="\n" if wrong else "")
    os.chdir("/")
if "--bless" in sys.argv and document.endswith(".md"):
    open(document, "w").write("\n".join(blessed + lines[done:]))
