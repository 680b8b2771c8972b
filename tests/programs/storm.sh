#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Event storms on all CPUs: a program hits a USDT probe, a function, a system call as fast as it can, and counts. What was
# printed and what was reported as lost make as many as it counted, the count in the kernel too, memory stays bounded, and
# both the program and the tracer go on to their end.
#   tests/programs/storm.sh BUILD [SECONDS]     the default is 2 for each
set -u
build=$(cd "${1:?usage: storm.sh BUILD}" && pwd) || exit 1
seconds=${2:-2}
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
dir=$(mktemp -d /tmp/spoor-storm.XXXXXX) || exit 1
target= tracer=
finish() {
    kill -KILL $target $tracer 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT
cp "$build/targets/storm" "$dir"
cd "$dir" || exit 1
spoor=$build/spoor
most=$((96 << 10)) # kB of memory that the tracer may need, whatever comes; sanitizers need more
[ -z "${SAN:-}" ] || most=$((most * 8))

check() { # NAME CONDITION…
    local name=$1
    shift
    if [ "$@" ]; then echo "ok $name"; else echo "not ok $name" && tail -n 5 err; fi
}
until_there() { # a line in a file, for 20 seconds
    for _ in $(seq 1000); do
        grep -q "$1" "$2" 2>/dev/null && return 0
        sleep 0.02
    done
    return 1
}
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# storm KIND ATTACH-POINT
storm() {
    local kind=$1 point=$2 listened hits printed lost counted memory begin took
    rm -f hold answers out err
    mkfifo hold answers
    ./storm "$kind" "$(nproc)" <hold >answers &
    target=$!
    exec 8>hold 9<answers
    "$spoor" -p $target -e "$point { @hits = count(); printf(\"hit %d\\n\", cpu); }" >out 2>err &
    tracer=$!
    if ! until_there '^Attached' err; then
        echo "not ok storm of $kind: nothing is attached"
        cat err
        return
    fi
    echo go >&8
    read -r listened hits <&9
    sleep "$seconds"
    memory=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$tracer/status)
    echo stop >&8
    read -r listened hits <&9
    begin=$(milliseconds)
    kill -INT $tracer
    wait $tracer
    check "storm of $kind: the tracer ends as it should" $? = 0
    took=$(($(milliseconds) - begin))
    printed=$(grep -c '^hit ' out)
    lost=$(sed -n 's/^Lost \([0-9]*\) events.*/\1/p' err | awk '{ n += $1 } END { print n + 0 }')
    counted=$(sed -n 's/^@hits: //p' out)
    check "storm of $kind: $printed printed and $lost lost of $hits" $((printed + lost)) = "$hits"
    check "storm of $kind: $counted counted in the kernel" "$counted" = "$hits"
    check "storm of $kind: $memory kB of memory at most" "$memory" -lt $most
    echo "# Ctrl-C was answered within $took ms, $((hits / seconds)) hits a second"
    tracer=
    echo look >&8
    read -r listened hits <&9
    check "storm of $kind: the program goes on" "$hits" -gt 0
    exec 8>&- 9<&-
    wait $target
    check "storm of $kind: and ends by itself" $? = 0
    target=
}

storm usdt 'usdt:./storm:storm:tick'
storm call 'uprobe:./storm:storm_call'
storm syscall 'tracepoint:syscalls:sys_enter_getppid'

# Ctrl-C in the middle of the storm: neither side waits for the other.
mkfifo hold2 answers2
./storm call "$(nproc)" <hold2 >answers2 &
target=$!
exec 8>hold2 9<answers2
"$spoor" -e 'uprobe:./storm:storm_call { @[arg0 % 1000] = count(); printf("%d\n", arg0); }' >out 2>err &
tracer=$!
until_there '^Attached' err
echo go >&8
read -r _ <&9
sleep 1
begin=$(milliseconds)
kill -INT $tracer
wait $tracer
check "Ctrl-C during the storm" $? = 0
echo "# it was answered within $(($(milliseconds) - begin)) ms"
tracer=
check "the map of the storm is printed" "$(grep -c '^@\[' out)" -gt 0
echo stop >&8
read -r _ hits <&9
exec 8>&- 9<&-
wait $target
check "the program of the storm ends by itself" $? = 0
target=
