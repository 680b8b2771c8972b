#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Event storms on all CPUs: a program hits a USDT probe, a function, a system call as fast as it can, and counts. What was
# printed and what was reported as lost make as many as it counted, the count in the kernel and the sums of maps too, memory
# stays bounded, and both the program and the tracer go on to their end: also when nobody reads for long, and when the disk
# is full.
#   tests/programs/storm.sh BUILD [SECONDS]     the default is 1 for each
set -u
build=$(cd "${1:?usage: storm.sh BUILD}" && pwd) || exit 1
seconds=${2:-1}
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-storm.XXXXXX") || exit 1
target= tracer= reader=
finish() {
    kill -KILL $target $tracer $reader 2>/dev/null
    umount "$dir/small" 2>/dev/null
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

# target KIND: what makes the storm, in wait
target() {
    rm -f hold answers pipe out err fast
    mkfifo hold answers pipe
    ./storm "$1" "$(nproc)" <hold >answers &
    target=$!
    exec 8>hold 9<answers
}
tell() { # the target: go, look or stop; sets hits
    echo "$1" >&8
    read -r _ hits <&9
}
leave() { # NAME: the target goes on without the tracer, and ends
    tell look
    check "$1: the program goes on" "$hits" -gt 0
    exec 8>&- 9<&-
    wait $target
    check "$1: and ends by itself" $? = 0
    target=
}
# The program is asked again and again whether all its threads still hit; sets stood, the longest that it took to say so.
watch() {
    local begin now end=$(($(milliseconds) + seconds * 1000))
    stood=0
    while now=$(milliseconds) && [ "$now" -lt $end ]; do
        begin=$now
        tell look
        now=$(($(milliseconds) - begin))
        [ $now -le $stood ] || stood=$now
        sleep 0.1
    done
}
count() { awk '/^hit / { n++; next } { print } END { print "printed", n + 0 }'; }
# No more than a line a second, until there is a file `fast`.
slow() {
    while [ ! -e fast ] && IFS= read -r line; do
        echo "$line"
        sleep 1
    done
    : >reading
    cat
}
kept() { sed -n "s/^$1: //p" out; }

# storm NAME KIND SCRIPT READER: of the script, @hits counts and "hit" is printed. After it `out` has all but these lines.
storm() {
    local name="storm of $1" script=$3 how=$4 printed lost memory begin took turns over
    target "$2"
    rm -f reading
    if [ "$how" = slow ]; then
        slow <pipe | count >out &
    else
        count <pipe >out &
    fi
    reader=$!
    : >err # of the trace before it, before anybody looks
    "$spoor" -p $target -e "$script" >pipe 2>err &
    tracer=$!
    if ! until_there '^Attached' err; then
        echo "not ok $name: nothing is attached"
        cat err
        return
    fi
    tell go
    watch
    memory=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$tracer/status)
    tell stop
    : >fast
    while [ "$how" = slow ] && [ ! -e reading ]; do sleep 0.02; done
    begin=$(milliseconds)
    for _ in $(seq $asks); do
        kill -INT $tracer 2>/dev/null
        sleep 0.05 # or two signals may be one
    done
    wait $tracer
    check "$name: the tracer ends as it should" $? = 0
    took=$(($(milliseconds) - begin))
    tracer=
    wait $reader
    reader=
    printed=$(sed -n 's/^printed //p' out)
    lost=$(sed -n 's/^Lost \([0-9]*\) events.*/\1/p' err | awk '{ n += $1 } END { print n + 0 }')
    # Of what was lost some may be prints of an interval, which @turns counts.
    turns=$(kept @turns)
    over=$((printed + lost - hits))
    check "$name: $printed printed and $lost lost of $hits" $((over >= 0 && over <= ${turns:-0})) = 1
    check "$name: $(kept @hits) counted in the kernel" "$(kept @hits)" = "$hits"
    check "$name: $memory kB of memory at most" "$memory" -lt $most
    echo "# Ctrl-C was answered within $took ms, $((hits / seconds)) hits a second, all threads went on within $stood ms"
    leave "$name"
}

asks=1 # for the end
hit='@hits = count(); printf("hit %d\n", cpu);'
storm usdt usdt "usdt:./storm:storm:tick { $hit }" fast
storm call call "uprobe:./storm:storm_call { $hit }" fast
storm syscall syscall "tracepoint:syscalls:sys_enter_getppid { $hit }" fast
storm maps usdt "usdt:./storm:storm:tick { $hit @by[arg0 % 1000] = count(); @of[str(arg1), cpu] = sum(1); @sizes = hist(arg0); }
    interval:ms:200 { @turns++; print(@of); }" fast
check "each map has all of it" "$(sed -n 's/^@by\[[0-9]*\]: //p' out | awk '{ n += $1 } END { print n }')" = "$(kept @hits)"
storm "usdt, read slowly," usdt "usdt:./storm:storm:tick { $hit }" slow
storm "stacks, read slowly," usdt "usdt:./storm:storm:tick { @hits = count(); printf(\"hit %s\\n\", ustack(1)); }" slow
asks=2
storm "stacks, read slowly, ended twice," usdt "usdt:./storm:storm:tick { @hits = count(); printf(\"hit %s\\n\", ustack(1)); }" slow
asks=1

# The disk is full: that ends the trace and nothing else. Files of limited size are not many.
target usdt
mkdir -p small
if mount -t tmpfs -o size=1m none small; then
    tell go
    "$spoor" -p $target -o small/out -e "usdt:./storm:storm:tick { $hit }" 2>err
    check "a full disk ends the trace" $? = 1
    check "and is named" -n "$(grep 'cannot write the output: No space left' err)"
    rm -f small/*
    "$spoor" -p $target -o small/out --rotate-size 256K --keep 2 --duration "${seconds}s" -e "usdt:./storm:storm:tick { $hit }" 2>err
    check "files of limited size do not fill it" $? = 0
    check "and there are two" "$(ls small | wc -l)" = 2
    tell stop
    umount small
else
    echo "skip a full disk: nothing can be mounted"
fi
leave "a full disk"

# Ctrl-C in the middle of the storm: neither side waits for the other.
target call
: >err
"$spoor" -e 'uprobe:./storm:storm_call { @[arg0 % 1000] = count(); printf("%d\n", arg0); }' >out 2>err &
tracer=$!
until_there '^Attached' err
tell go
sleep 1
before=$hits
begin=$(milliseconds)
kill -INT $tracer
tell look
stood=$(($(milliseconds) - begin))
check "the program goes on while the tracer leaves" "$hits" -gt "$before"
wait $tracer
check "Ctrl-C during the storm" $? = 0
echo "# it was answered within $(($(milliseconds) - begin)) ms, all threads went on within $stood ms"
tracer=
check "the map of the storm is printed" "$(grep -c '^@\[' out)" -gt 0
tell stop
leave "Ctrl-C during the storm"
