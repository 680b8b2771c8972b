#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# spoor profile: what a program spends where is found there, in every format; hostile names stay names.
#   tests/programs/profile.sh BUILD
set -u
build=$(cd "${1:?usage: profile.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-profile.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export LC_ALL=C.UTF-8
is() { python3 "$root/tests/programs/profile.py" "$@"; }

# check WHAT COMMAND…: it ends with status 0.
check() {
    local what=$1 seen
    shift
    if seen=$("$@" 2>&1); then
        echo "ok profile: $what"
    else
        echo "not ok profile: $what"
        printf '%s\n' "$seen" | head -n 40 | sed 's/^/  /'
    fi
}
# refused WHAT PATTERN ARGUMENTS…: spoor profile ends with status 1 and says so.
refused() {
    local what=$1 pattern=$2 status
    shift 2
    "$spoor" profile "$@" >out 2>errors
    status=$?
    if [ $status = 1 ] && grep -q -- "$pattern" errors; then
        echo "ok profile: $what"
    else
        echo "not ok profile: $what"
        sed 's/^/  /' errors
    fi
}
# same WHAT FILE FOLDED: of each format that is there.
same() {
    check "$1: SVG" is svg "$2.svg" "$2.folded"
    check "$1: HTML" is html "$2.html" "$2.folded"
    check "$1: pprof" is pprof "$2.pb.gz" "$2.folded"
    check "$1: Speedscope" is speedscope "$2.speedscope.json" "$2.folded"
}
outputs() { printf -- '-o\n%s\n' "$1.svg" "$1.html" "$1.folded" "$1.pb.gz" "$1.speedscope.json"; }

# ---- without a kernel: folded stacks are read and written ----

# Names that mean something in XML, HTML, JSON or a terminal; marks; a name that is longer than any rectangle.
{
    printf 'p;main;</script><svg onload=alert(1)> 400\n'
    printf 'p;main;]]><!--&amp;"\047 300\n'
    printf 'p;main;\\u0000"},{;std::vector<int>::push_back(int const&) 200\n'
    printf 'p;main;vfs_read_[k];copy_[i] 50\n'
    printf 'p;main;%s 50\n' "$(printf 'x%.0s' {1..3000})"
    printf 'p;main;caf\303\251\342\200\256\033[31mred 25\n'
} >hostile.in
mapfile -t files < <(outputs hostile)
check "hostile names are taken" "$spoor" profile --read hostile.in "${files[@]}"
# What would steer whoever looks is written as \xNN in pictures, and as it is in no other form either.
check "hostile names: SVG is XML, and does nothing" is svg hostile.svg <(sed 's/\xe2\x80\xae/\\xe2\\x80\\xae/; s/?\[31m/\\x1b[31m/' hostile.folded)
check "hostile names: HTML does nothing" is html hostile.html <(sed 's/\xe2\x80\xae/\\xe2\\x80\\xae/; s/?\[31m/\\x1b[31m/' hostile.folded)
check "hostile names: Speedscope" python3 -c 'import json; json.load(open("hostile.speedscope.json"))'
check "folded stacks are read as they were written" sh -c \
    "'$spoor' profile --read hostile.folded -f folded | cmp - hostile.folded"
printf 'p;a;b 60\np;a;c 40\n' >old.in
printf 'p;a;b 10\np;a;d 10\n' >new.in
check "--diff compares shares" sh -c "'$spoor' profile --read new.in --diff old.in | tr -s ' ' | grep -qx ' 50.0% 50.0% 60.0% 60.0% b \[C\]'"
check "--diff says what is gone" sh -c "'$spoor' profile --read new.in --diff old.in -f svg | grep -q '40.0% in stacks that are gone'"
"$spoor" profile --read new.in --diff old.in -f svg >diff.svg
check "--diff: red is more, blue is less" python3 - <<'END'
import re
colours = dict(re.findall(r"<title>([abd])\n.*?fill=.#(\w{6})", open("diff.svg").read(), re.S))
red = {name: int(colour[:2], 16) - int(colour[4:], 16) for name, colour in colours.items()}
assert red["b"] < -50 < 50 < red["d"] and abs(red["a"]) < 20, colours
END
printf 'p;a 1\nno number\n' >bad.in
refused "a line that is no stack is named" "'bad.in', line 2: this is no folded stack" --read bad.in
refused "so is one of --diff" "'bad.in', line 2: this is no folded stack" --read new.in --diff bad.in
refused "a file that is not there" "cannot read 'nowhere'" --read nowhere
refused "an ending that means nothing" "what is to be written" --read new.in -o new.xyz
refused "a file that exists is kept" "new.in" --read old.in -o new.in -f folded
refused "what does not go together" "alloc" --alloc --off-cpu
refused "an event that is none" "there is no such event" --event nonsense
refused "a count that is none" "is not a count" --event page-faults:x
python3 -c 'print(";".join("f%d" % i for i in range(100000)), 1)' >deep.in
check "a stack of 100,000 functions" sh -c "'$spoor' profile --read deep.in -f svg | python3 -c '
import sys, xml.etree.ElementTree as tree
tree.parse(sys.stdin)' && '$spoor' profile --read deep.in -f folded | cmp - deep.in"
: >empty.in
check "nothing is said to be nothing" sh -c "'$spoor' profile --read empty.in -f svg 2>&1 >empty.svg | grep -q 'nothing was measured' && python3 -c '
import xml.etree.ElementTree as tree
tree.parse(\"empty.svg\")'"

[ "$(id -u)" = 0 ] || {
    echo "skip profile: needs root"
    exit 0
}

# ---- measured ----

${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -O1 -g -fomit-frame-pointer -o profiled "$root/tests/programs/profile.c" -lpthread || exit 1
mapfile -t files < <(outputs cpu)
check "on the CPU" "$spoor" profile -F 999 -c "./profiled burn 1.5" "${files[@]}"
check "on the CPU: shares" is share cpu.folded burn_long 0.65 0.85
check "on the CPU: the rest" is share cpu.folded burn_short 0.15 0.35
check "on the CPU: stacks are whole without frame pointers" grep -q '^profiled;.*main;burn_long' cpu.folded
check "on the CPU: as many samples as there is time" is weight cpu.folded profiled 1200 1800
same "on the CPU" cpu
check "what a command starts is measured" sh -c "'$spoor' profile -c 'sh -c \"./profiled burn 0.3; true\"' -f folded | grep -q burn_long"
check "--alone: it is not" sh -c "! '$spoor' profile --alone -c 'sh -c \"./profiled burn 0.3; true\"' -f folded | grep -q burn_long"
check "-U" sh -c "'$spoor' profile -U -c './profiled burn 0.3' -f folded | grep burn_long | grep -vq '_\[k\]'"

# Processes that end soon: where their code is is known when they have mapped it, not first when it was asked for.
check "processes that end soon" sh -c "'$spoor' profile -F 499 -c 'bash -c \"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do python3 -c \\\"sum(i*i for i in range(600000))\\\"; done\"' -f folded >soon.folded"
check "processes that end soon: most stacks are whole" is share soon.folded '[no unwind information]' 0 0.4

# A thread that waits at once has its whole stack only by frame pointers.
${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -o waiting "$root/tests/programs/profile.c" -lpthread || exit 1
check "off the CPU" sh -c "'$spoor' profile --off-cpu --frame-pointers -c './waiting wait 0.4' -f folded >off.folded"
check "off the CPU: how long, and where" is weight off.folded wait_here 400000000 900000000
check "off the CPU: threads" is weight off.folded wait_there 200000000 600000000
check "off the CPU: the kernel's part" grep -q 'nanosleep.*_\[k\];.*schedule_\[k\]' off.folded
check "off the CPU: --min" sh -c "'$spoor' profile --off-cpu --frame-pointers --min 300ms -c './waiting wait 0.4' -f folded >off.min.folded; ! grep -q wait_there off.min.folded && grep -q wait_here off.min.folded"

check "allocations" sh -c "'$spoor' profile --alloc -c './profiled allocate' -f folded >alloc.folded"
check "allocations: to the byte" is weight alloc.folded allocate_much 1000000 1000000
check "allocations: of calloc" is weight alloc.folded allocate_little 50000 50000

check "page faults" sh -c "'$spoor' profile --event page-faults:1 -c './profiled touch' -f folded >faults.folded"
check "page faults: each" is weight faults.folded touch_pages 2000 2020
check "any probe" sh -c "'$spoor' profile --event tracepoint:syscalls:sys_enter_nanosleep,tracepoint:syscalls:sys_enter_clock_nanosleep -c './profiled wait 0.1' -f folded >probe.folded"
check "any probe: each" is weight probe.folded nap 2 2

./profiled burn 60 &
pid=$!
"$spoor" profile -p $pid -f folded >interrupted.folded 2>errors &
tracer=$!
# It measures when its probe is attached: the program has used the CPU since then.
for _ in $(seq 600); do
    grep -q Measuring errors && break
    sleep 0.1
done
used() { awk '{ print $14 }' "/proc/$pid/stat"; }
begin=$(used)
while [ $(($(used) - begin)) -lt 100 ]; do sleep 0.05; done
kill -INT $tracer
wait $tracer
check "Ctrl-C shows what was gathered" is weight interrupted.folded profiled 20 10000
kill $pid
wait 2>/dev/null
exit 0
