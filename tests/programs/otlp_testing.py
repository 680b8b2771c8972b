# SPDX-License-Identifier: BSD-3-Clause
# What the tests of --otlp share: NAME.py ROOT BUILD [PART].
import gc
import json
import os
import subprocess
import sys

gc.disable()  # as many objects as spans have are made, and the program soon ends: looking for circles among them took half of its time
root, build = sys.argv[1:3]
spoor = os.path.join(build, "spoor")
failed = False


def result(name, failure):
    global failed
    failed |= bool(failure)
    print(("not ok " if failure else "ok ") + name, flush=True)
    if failure:
        print("  " + str(failure)[:3000].replace("\n", "\n  "), flush=True)


def report(*arguments, **options):
    return subprocess.run([spoor, "report", *arguments], capture_output=True, text=True, timeout=60, **options)


def record(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout.split("\n")[0]


def lines_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def run_parts(functions):
    """Runs part_NAME() for each of a module's parts, or for the one that is asked for, and ends with the status."""
    for name, function in list(functions.items()):
        if name.startswith("part_") and sys.argv[3:4] in ([], [name[5:]]):
            function()
    sys.exit(failed)
