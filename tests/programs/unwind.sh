#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Stacks by call frame information beside gdb's of the same program: every address of every frame, at calls and at every
# instruction of functions that begin and end in between. tests/programs/unwind.sh BUILD
set -u
build=$(cd "${1:?usage: unwind.sh BUILD}" && pwd) || exit 1
source=$(cd "$(dirname "$0")/../targets" && pwd)/unwound.c
spoor=$build/spoor

ok() { echo "ok $1"; }
not_ok() {
    echo "not ok $1"
    shift
    printf '%s\n' "$@" | head -n 60 | sed 's/^/  /'
}
[ "$(id -u)" = 0 ] || { echo "skip all: needs root" && exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "skip all: needs x86_64" && exit 0; }
for tool in gcc gdb setarch strip; do
    command -v $tool >/dev/null || { echo "skip all: needs $tool" && exit 0; }
done
"$spoor" --info 2>/dev/null | grep -q '^ *loop  *yes' || { echo "skip all: this kernel has no bpf_loop" && exit 0; }
"$spoor" --info 2>/dev/null | grep -q '^ *btf  *yes' || { echo "skip all: this kernel has no BTF" && exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-unwind.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# What gdb sees: "stop" and the addresses at reached(), "step FUNCTION+OFFSET" and the addresses at each instruction.
cat >gdb.py <<'END'
import gdb
WALKED = ("by_growing", "by_library", "by_signal", "handle", "compare")
for text in ("set pagination off", "set confirm off", "set backtrace past-main on", "set backtrace past-entry on",
             "set backtrace limit 127", "handle SIGUSR1 nostop noprint pass", "set width 0"):
    gdb.execute(text, to_string=True)
for name in ("reached",) + WALKED:
    gdb.execute("break *%s" % name, to_string=True)
gdb.execute("run", to_string=True)
def frames():
    frame, out = gdb.newest_frame(), []
    while frame is not None and len(out) < 127:
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME): # others are made up of debug information
            out.append("%x" % frame.pc())
        frame = frame.older()
    return " ".join(out)
def alive():
    return gdb.selected_inferior().pid != 0
out, seen = open("gdb.out", "w"), set()
while alive():
    name = gdb.newest_frame().name()
    if name == "reached":
        number = int(gdb.parse_and_eval("$rdi")) & 0xff
        if number < 6:
            out.write("stop %s\n" % frames())
    elif name in WALKED and name not in seen:
        # To the end of this call; what is called meanwhile runs.
        seen.add(name)
        start, level = int(gdb.parse_and_eval("(unsigned long)%s" % name)), int(gdb.parse_and_eval("$rsp"))
        for turn in range(300):
            pc = int(gdb.parse_and_eval("$pc"))
            if gdb.newest_frame().name() != name:
                if gdb.newest_frame().name() == "reached" and (int(gdb.parse_and_eval("$rdi")) & 0xff) < 6:
                    out.write("stop %s\n" % frames())
                if int(gdb.parse_and_eval("$rsp")) > level:
                    break
                gdb.execute("finish" if gdb.newest_frame().name() == "reached" else "stepi", to_string=True)
                continue
            out.write("step %s+%d %s\n" % (name, pc - start, frames()))
            if int(gdb.parse_and_eval("$rsp")) > level:
                break
            gdb.execute("nexti", to_string=True)
            if not alive():
                break
    if alive():
        gdb.execute("continue", to_string=True)
out.close()
END

# spoor's, one stack a line.
trace() { # PROBE OPTION...
    timeout 60 setarch -R "$spoor" -q "${@:2}" -c ./unwound -e "$1 { printf(\"=\"); print(dw_ustack(raw)); }" 2>errors |
        awk '/^=/ { if (n) print line; n++; line = ""; next } NF { line = line (line == "" ? "" : " ") $1 } END { if (n) print line }'
}

compare() { # NAME
    sort -u expected >want
    sort -u found >have
    if [ -s want ] && cmp -s want have; then
        ok "$1: $(wc -l <want) stacks, $(wc -w <want) frames"
    else
        not_ok "$1" "$(diff want have)" "$(cat errors)"
    fi
}

for flags in "-O2" "-O2 -fno-asynchronous-unwind-tables -g" "-Os" "-O1 -fno-pie -no-pie"; do
    gcc $flags -w "$source" -o unwound.all -ldl -pthread 2>errors || { not_ok "gcc $flags" "$(cat errors)" && continue; }
    cp unwound.all unwound
    rm -f gdb.out
    timeout 60 gdb -q -batch -x gdb.py ./unwound >gdb.log 2>&1
    grep -q '^stop' gdb.out 2>/dev/null || { echo "skip gcc $flags: gdb cannot run it: $(tail -n 1 gdb.log)" && continue; }
    sed -n 's/^stop //p' gdb.out >expected
    trace 'uprobe:./unwound:reached /arg0 < 6/' >found
    compare "gcc $flags, at calls"
    sed -n 's/^step [^ ]* //p' gdb.out >expected
    trace "$(sed -n 's/^step \([^ ]*\) .*/uprobe:.\/unwound:\1/p' gdb.out | sort -u | paste -sd,)" >found
    compare "gcc $flags, at every instruction"
    sed -n 's/^stop //p' gdb.out >expected
    place=$(nm unwound | awk '$3 == "reached" { print $1 }')
    strip unwound
    trace "uprobe:./unwound:0x$place /arg0 < 6/" --unsafe >found
    case $flags in
        *no-asynchronous*) # .debug_frame is gone, too
            if [ "$(wc -l <found)" = 5 ] && ! grep -qv ' \[no$' found; then
                ok "gcc $flags, stripped: each stack says that it is not whole"
            else
                not_ok "gcc $flags, stripped: each stack says that it is not whole" "$(cat found)" "$(cat errors)"
            fi
            ;;
        *) compare "gcc $flags, stripped" ;;
    esac
done
