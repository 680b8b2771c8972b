#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recorder with ten thousand threads at one time, with a hundred thousand that come and go, and with threads that grow from ring to
# ring and are killed at any time.
#   tests/programs/recorder_threads.sh BUILD
set -u
build=$(cd "${1:?usage: recorder_threads.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
. "$root/tests/programs/recording.bash"
need_shared_memory
[ "$(df --output=avail -k /dev/shm | tail -1)" -gt 600000 ] || { echo "skip everything: less than 600 MB in /dev/shm"; exit 0; }
begin_test threads
unset SPOOR_TRACE_DIR
${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -O2 -g -I"$root/include" -o recorder_threads "$root/tests/programs/recorder_threads.c" \
    "$build/libspoor.a" -lpthread ${SAN:+-fsanitize=address,undefined} || exit 1
mkfifo hold

# begin COMMAND…: the program, until `end`; $file, and what it says is in it.
begin() {
    : >out
    ./recorder_threads "$@" >out 2>errors <hold &
    program=$!
    exec 9>hold
    until_so test -s out
    read -r file written lost memory rest <out
}
end() {
    exec 9>&-
    wait "$program"
    program=
    rm -f "$file"
}
events() { "$spoor" report -f "$file" --stats 2>errors | awk 'NR == 1 { print $1 }'; }

count=10000
begin living $count
if grep -q 'Resource temporarily unavailable' errors; then
    echo "skip ten thousand threads: the system allows fewer"
else
    check "of ten thousand threads nothing is lost" test "$written $lost" = "$((count * 3)) 0"
    check "each takes 24 KiB, and all others 2 MiB" test "$memory" -le $((count * 24 + 2048))
    check "all is read while they live" test "$(events)" = "$written"
    cp --sparse=always "$file" copy
    live=$file file=copy
    check "and in a copy" test "$(events)" = "$written"
    file=$live
    rm copy
    check "a dump has it all" sh -c "$spoor ctl -f $file dump dumped 2>errors"
    live=$file file=dumped
    check "and is read" test "$(events)" = "$written"
    file=$live
    check "it is drained to a file" sh -c "timeout 60 $spoor record -f $file -o drained --duration 1s 2>errors"
    live=$file file=drained
    check "that has it all" test "$(events)" = "$written"
    file=$live
fi
end

count=100000
begin short $count
check "of a hundred thousand threads nothing is lost" test "$written $lost" = "$((count * 3)) 0"
check "those that ended are followed in their rings: these take 4 MiB" test "$memory" -le 4096
"$spoor" report -f "$file" --stats >stats 2>notes
there=$(awk 'NR == 1 { print $1 }' stats)
over=$(grep -oE '[0-9]+ (older )?events were overwritten' notes | awk '{ s += $1 } END { print s + 0 }')
check "all is read or was overwritten" test $((there + over)) = "$written"
end

# Threads without end that go through all sizes of rings are killed at any time. What a thread recorded is read in its order, across
# its rings; there may be gaps, because the rings of those that ended are used again.
cat >order.awk <<'AWK'
{ split($4, thread, ":"); split($5, serial, ":") }
thread[1] != "thread" || serial[1] != "serial" { next }
(thread[2] in last) && serial[2] + 0 <= last[thread[2]] { wrong++ }
{ last[thread[2]] = serial[2] + 0; count++ }
END { print wrong + 0, count + 0 }
AWK
has_grown() { [ "$(stat -c %s "$file")" -gt "$1" ]; }
round() { # NUMBER
    begin growing 6
    until_so has_grown $((600000 + $1 * 100000))
    kill -KILL "$program"
    wait "$program" 2>/dev/null
    program=
    "$spoor" report -f "$file" >list 2>errors || return 1
    awk -f order.awk list >>orders
    exec 9>&-
    rm -f "$file"
}
: >orders
for i in $(seq 20); do
    round "$i" || { echo "not ok a recording of a program that was killed is read"; break; }
done 2>>noise
check "of threads that grow nothing is read out of order" awk '$1 != 0 || $2 < 1000 { bad = 1 } END { exit bad || NR != 20 }' orders
