#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Who is traced decides what the names of their files mean, and when. At every single system call of spoor another file takes
# the place of the one that it works on: what was looked at is what is used, and nothing else is ever written to.
#   tests/programs/exchanged.sh BUILD
set -u
build=$(cd "${1:?usage: exchanged.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
dir=$(mktemp -d /tmp/spoor-exchanged.XXXXXX) || exit 1
program='' locker=''
finish() {
    exec 7>&- 8>&- 9>&- # the end of their input is theirs
    wait
    rm -rf "$dir"
}
trap finish EXIT
chmod 755 "$dir"
cd "$dir" || exit 1
cp "$build/hostile/spoor" "$build/targets/recording" . && ${CC:-gcc} -o locker "$root/tests/programs/locker.c" || exit 1
unset HOSTILE HOSTILE_LOG HOSTILE_RUN SPOOR_TRACE SPOOR_TRACE_DIR

. "$root/tests/programs/recording.bash"

# A program of nobody's, with its recording in a directory of its own: nobody else sees what is mounted there.
mkdir own && mkfifo hold
unshare -m --propagation private sh -c 'mount -t tmpfs none own && chmod 777 own && SPOOR_TRACE_DIR=$PWD/own exec \
    setpriv --reuid=65534 --regid=65534 --clear-groups ./recording prog 40 2 0 64' >out <hold &
program=$!
exec 9>hold
wait_for_file
until [ "$(wc -l <out)" = 2 ]; do readlink /proc/$program/exe >/dev/null || exit 1; done
inside() { nsenter -t $program -m "$@"; }
# shellcheck disable=SC2154 # recording.bash sets it
inside cat "$file" >victim # a recording too, as like the other as can be: but root's, and in nobody's memory
chmod 600 victim
cp victim unharmed
restore() { cat unharmed >victim && touch -d 2001-01-01 victim; }
is_harmed() { ! cmp -s victim unharmed || [ "$(stat -c %Y victim)" != "$(date -d 2001-01-01 +%s)" ]; } # or written as it was
restore

# ---- recordings ----
# exchanged NAME COMMAND…: the recording, at each call of a command
exchanged() {
    local name=$1 calls n harmed=0 failed=0 status
    shift
    rm -f log drained
    HOSTILE_LOG=log timeout 20 "$@" >errors 2>&1 || { echo "not ok $name: it does not work by itself" && cat errors; return; }
    calls=$(awk '/^counts/ { print $3 }' log)
    for ((n = 1; n <= calls; n++)); do
        rm -f drained
        HOSTILE=run:$n HOSTILE_RUN="exec nsenter -t $program -m mount --bind '$dir/victim' '$file'" timeout 20 "$@" >errors 2>&1
        status=$?
        # In a round more or less than the one before, the last calls may not come.
        inside umount "$file" 2>/dev/null
        [ $status -le 1 ] || { failed=$((failed + 1)) && cp errors "failed$n"; }
        ! is_harmed || { harmed=$((harmed + 1)) && restore; }
    done
    echo "$name: $calls calls, at $harmed of them the other file was written to, $failed did not end as they should"
    check "$name writes into no other file" test "$calls" -gt 20 -a $harmed = 0 -a $failed = 0
}
exchanged "record" ./spoor record -q -p $program -o drained --duration 1ms
exchanged "ctl enable" ./spoor ctl -p $program enable all
exchanged "ctl clear" ./spoor ctl -p $program clear
./spoor ctl -p $program disable bdev 2>errors
check "the program's own recording is steered" sh -c "./spoor ctl -p $program show | grep -q -- '- BDEV_IO_START'"

# ---- who may be written to ----
./spoor ctl -f victim enable all 2>errors
check "what no program has in its memory is not steered" grep -q '^ERROR: victim is in the memory of no process that could write there itself: no program looks at it' errors
./spoor ctl -f "/proc/$program/root$file" enable all 2>errors
check "what one has is, by any name" test $? = 0
inside mount --bind "$dir/victim" "$file"
./spoor ctl -p $program enable all 2>errors
check "what lies over it is not" grep -q "^ERROR: process $program does not have .* in its memory" errors
check "nor changed" eval '! is_harmed'
inside umount "$file"

recorded=$file
mkdir dropped && chmod 755 dropped
mkfifo holding
BECOME=65534 SPOOR_TRACE_DIR=$PWD/dropped ./recording dropped 40 2 0 64 >out <holding &
daemon=$!
exec 8>holding
wait_for_file
check "one that gave up root's rights keeps root's file" test "$(stat -c %u "$file")" = 0 -a "$(awk '/^Uid:/ { print $3 }' /proc/$daemon/status)" = 65534
./spoor ctl -p $daemon disable all 2>errors
check "and is steered, because it could write there" test $? = 0
exec 8>&-
wait $daemon
file=$recorded

# ---- who holds the lock ----
mkfifo locked answer
for kind in "" old; do
    ./locker "/proc/$program/root$file" $kind <locked >answer &
    locker=$!
    exec 8>locked 7<answer
    read -r _ <&7
    begin=$EPOCHSECONDS
    timeout 20 ./spoor ctl -p $program enable all 2>errors
    check "a lock that is held is an end (${kind:-new})" test $? = 1 -a $((EPOCHSECONDS - begin)) -ge 2 -a $((EPOCHSECONDS - begin)) -lt 15
    check "and who holds it is named (${kind:-new})" grep -q "^ERROR: .* is being steered by somebody else: process $locker (locker) holds its lock" errors
    for command in show "dump whole" "dump 1s newest"; do
        timeout 20 ./spoor ctl -p $program $command >errors 2>&1
        check "${command%% *} asks for no lock (${kind:-new})" test $? = 0
        rm -f whole newest
    done
    timeout 20 ./spoor record -q -p $program -o drained --duration 1ms 2>errors
    check "nor does record (${kind:-new})" test $? = 0
    rm -f drained
    for signal in INT TERM; do
        env --default-signal=$signal ./spoor ctl -p $program enable all 2>errors &
        waiting=$!
        # One that has ended already runs nothing.
        while runs=$(readlink /proc/$waiting/exe) && [ "$runs" != "$PWD/spoor" ]; do :; done
        kill -$signal $waiting
        wait $waiting
        check "who waits for it hears SIG$signal (${kind:-new})" test $? = $((128 + $(kill -l $signal)))
    done
    exec 8>&- 7<&-
    wait $locker
    ./spoor ctl -p $program enable all 2>errors
    check "then it is steered again (${kind:-new})" test $? = 0
done
exec 9>&-
wait $program
check "the program ended well" test $? = 0
