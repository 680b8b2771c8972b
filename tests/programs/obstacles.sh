#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Nothing hangs: each place where spoor takes a path or a file that others may have a hand in, with each thing that could keep
# it waiting there. It ends by itself and says why; where its user asked to wait, it ends on SIGINT and SIGTERM.
#   tests/programs/obstacles.sh BUILD
set -u
build=$(cd "${1:?usage: obstacles.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
# Whatever happens to this script, what it started does not go on: everything here would do so for ever.
mortal=(setpriv --pdeathsig KILL)
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-obstacles.XXXXXX") || exit 1
trap 'exec 9>&-; wait; rm -rf "$dir"' EXIT
chmod 755 "$dir"
cd "$dir" || exit 1
unset SPOOR_TRACE SUDO_UID SUDO_GID
export SPOOR_TRACE_DIR=$dir/recorded
mkdir recorded shared && chmod 1777 shared
cp "$build/targets/calls" .

. "$root/tests/programs/recording.bash"

cp "$build/targets/recording" . || exit 1
./recording prog 100 2 0 64 </dev/null >out
kept=$(head -n 1 out)

# ---- what stands in the way ----
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("a_socket")' || exit 1
obstacles="fifo device socket directory loop"
make_obstacle() { # KIND PATH
    rm -rf "$2"
    case $1 in
    fifo) mkfifo "$2" ;;
    device) mknod "$2" c 1 5 ;; # zeros without an end
    socket) ln a_socket "$2" ;;
    directory) mkdir "$2" ;;
    loop) ln -s "${2##*/}" "$2" ;;
    esac
}

# ---- where: a name, and a command in which X is the path ----
places() {
    cat <<'P'
ctl show|ctl -f X show
ctl enable|ctl -f X enable all
ctl dump|ctl -f X dump dumped
record|record -f X -o drained
report|report -f X
statistics|report --stats -f X
export|report --export ctf -o exported -f X
script over a recording|-q -f X -e 'trace:bdev:* { @ = count(); }'
uprobe|-q -e 'uprobe:X:main { exit(); }'
usdt|-q -e 'usdt:X:* { exit(); }'
list of probes|-l 'uprobe:X:*'
places of probes|list -l X
import|--check -e 'import "X"; begin { }'
header|--check -e '#include "X"'
output in a directory of all|-q -o shared/X -e 'begin { exit(); }'
P
}

tried=0 wrong=0
while IFS='|' read -r place command; do
    bad=
    for obstacle in $obstacles; do
        name=x.bt
        [ "$place" != header ] || name=x.h
        path=$name
        [[ $command != *shared/X* ]] || path=shared/$name
        make_obstacle $obstacle $path 2>errors || { bad="$bad $obstacle (cannot be made)" && continue; }
        [[ $command != *shared/X* ]] || chown -h 65534 $path
        rm -rf dumped drained exported
        eval "timeout -k 2 10 '$spoor' ${command//X/$name}" >output 2>errors </dev/null
        status=$?
        tried=$((tried + 1))
        # A directory has no probes and no files to import, which may be right.
        if [ $status != 1 ] && [ "$obstacle $status" != "directory 0" ]; then
            bad="$bad $obstacle (status $status)"
        elif [ $status = 1 ] && ! grep -q ERROR errors; then
            bad="$bad $obstacle (not a word)"
        fi
    done
    [ -z "$bad" ] || { wrong=$((wrong + 1)) && cat errors; }
    check "$place:${bad:- ends by itself}" test -z "$bad"
done < <(places)
echo "$tried places and obstacles"

# ---- where its user asked to wait ----
mkfifo silent
exec 9<>silent # nobody ever writes into it
stopped() { # NAME ARGUMENTS…: ends on either signal
    local name=$1 signal pid status
    shift
    for signal in INT TERM; do
        "${mortal[@]}" env --default-signal=INT,TERM "$spoor" "$@" >output 2>errors 9>&- &
        pid=$!
        # It reads or waits when it has begun; a signal before that ends it, too.
        while runs=$(readlink /proc/$pid/exe) && [ "$runs" != "$(readlink -f "$spoor")" ]; do :; done
        kill -$signal $pid
        timeout 10 tail --pid=$pid -f /dev/null
        status=$?
        kill -KILL $pid 2>/dev/null
        wait $pid 2>/dev/null
        check "$name ends on SIG$signal" test $status = 0
    done
}
stopped "merging a silent pipe" report -f "$kept" --merge silent
stopped "merging zeros without an end" report -f "$kept" --merge /dev/zero
mkfifo own
stopped "output into a pipe of one's own that nobody reads" -q -o own -e 'begin { exit(); }'
stopped "a script from a silent pipe" --check silent
waits() { # NAME WORDS ARGUMENTS…: says after a moment what it waits for, and ends on a signal then, too
    local name=$1 words=$2 pid
    shift 2
    : >errors # of the one before it, before anybody looks
    "${mortal[@]}" env --default-signal=INT,TERM "$spoor" "$@" >output 2>errors 9>&- </dev/null &
    pid=$!
    check "$name: is told" until_so grep -qF "$words" errors
    kill -INT $pid
    check "$name: and SIGINT ends it" timeout 10 tail --pid=$pid -s 0.1 -f /dev/null
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
}
waits "a pipe without a reader" "waiting for a reader of 'own'" -q -o own -e 'begin { exit(); }'
waits "a pipe without a writer" "waiting for the script from 'own'" --check own
waits "a silent pipe" "waiting for the script from 'silent'" --check silent
: >errors
timeout 20 "$spoor" -q -o own -e 'begin { printf("here I am\n"); exit(); }' 2>errors 9>&- &
writer=$!
until_so grep -q waiting errors
timeout 10 cat own >output
wait $writer
check "who comes late to a pipe of output is waited for" test $? = 0 -a "$(head -n 1 output)" = "here I am"
: >errors
timeout 20 "$spoor" -q own >output 2>errors 9>&- &
reader=$!
until_so grep -q waiting errors
timeout 10 sh -c "{ echo 'begin { print(7);'; sleep 0.3; echo 'exit(); }'; } >own"
wait $reader
check "who comes late with a script, too" test $? = 0 -a "$(head -n 1 output)" = 7
mkfifo turned.2
timeout -k 2 10 "$spoor" -q -o turned --rotate-size 1K -e 'interval:us:100 { printf("%d a line of some length, so that it comes soon\n", ++@n); }' 2>errors 9>&-
check "files that follow each other do not wait for the reader of a pipe" test $? = 1
check "which is named" grep -q 'nobody reads the pipe' errors
mkfifo unread
timeout 20 "$spoor" report -f "$kept" --merge unread >output 2>errors 9>&- &
reader=$!
timeout 10 sh -c "echo '{\"type\": \"printf\", \"time_ns\": 1, \"data\": \"here I am\"}' >unread"
wait $reader
check "who comes late to a pipe is waited for" grep -q 'here I am' output

# ---- readers that do not read ----
# Of the output and of the messages: whatever is written there waits for them, but not longer than its user does.
mkfifo stuck hold
# shellcheck disable=SC2217 # it only holds the pipe open
"${mortal[@]}" sleep 1000 <stuck 9>&- &
unwilling=$!
exec 8>stuck
dd if=/dev/zero of=/dev/fd/8 bs=4096 oflag=nonblock 2>errors # as much as it holds
exec 10<>hold
SPOOR_TRACE_DIR=$dir/recorded ./recording lives 1000 1 0 4096 >said <hold 8>&- 9>&- 10>&- &
living=$!
until_so test -s said
live=$(head -n 1 said)
cat >packets <<'P' && chmod +x packets
#!/usr/bin/env python3
import signal, socket, time
signal.alarm(60)
while True:
    time.sleep(0.0005)
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(1000), ("127.0.0.1", 9))
P
many='interval:us:100 { printf("%d a line of some length\n", ++@n); }'
stuck_places() {
    cat <<P
output of a script|-q -e '$many'
output of a script into a pipe of one's own|-q -o '$dir/stuck' -e '$many'
files of packets|-q -c './packets' -e 'tracepoint:net:net_dev_queue { skboutput("$dir/stuck", (struct sk_buff *)args.skbaddr, 2048, 0); }'
a list of probes|-l 'tracepoint:*'
a report|report -f '$kept'
a report in JSON|report -j -f '$kept'
a report that follows|report --follow -f '$live'
statistics|report --stats -f '$kept'
the slowest|report --slowest 3 -f '$kept'
an export|report --export folded -f '$kept'
a binary export|report --export perfetto -f '$kept'
ctl show|ctl -f '$kept' show
ctl list|ctl list
places of probes|list -l ./calls
P
}
mapfile -t stuck_list < <(stuck_places)
begin_unread() { # NUMBER STREAM: in a directory of its own, so that all of them run at once; its process is the last of pids
    local number=$1 out=../../stuck errors=../../stuck
    if [ "$2" = output ]; then errors=errors; else out=output; fi
    mkdir -p "unread/$number" && cp -s "$dir"/{calls,packets} "unread/$number/"
    # shellcheck disable=SC2086
    (cd "unread/$number" && eval "exec ${mortal[*]} env --default-signal=INT,TERM '$spoor' ${stuck_list[number]#*|}" >$out 2>$errors \
        9>&- 8>&- 10>&- </dev/null) &
    pids+=($!)
}
tried=0 bad=()
for stream in output messages; do
    for signal in INT TERM; do
        pids=()
        rm -rf unread
        for number in "${!stuck_list[@]}"; do begin_unread "$number" $stream; done
        sleep 2
        kill -$signal "${pids[@]}" 2>/dev/null
        for number in "${!pids[@]}"; do
            timeout 10 tail --pid="${pids[number]}" -s 0.1 -f /dev/null || bad[number]="${bad[number]:-} $stream (deaf to SIG$signal)"
            kill -KILL "${pids[number]}" 2>/dev/null
            wait "${pids[number]}" 2>/dev/null
            tried=$((tried + 1))
        done
    done
done
for number in "${!stuck_list[@]}"; do
    check "nobody reads ${stuck_list[number]%%|*}:${bad[number]:- ends on a signal}" test -z "${bad[number]:-}"
done
echo "$tried readers that do not read"
"${mortal[@]}" env --default-signal=INT,TERM "$spoor" record -f "$live" -o drained 2>stuck 9>&- 8>&- 10>&- </dev/null &
pid=$!
until_so test -s drained
kill -INT $pid
check "nobody reads the summary of record: ends on SIGINT" timeout 10 tail --pid=$pid -s 0.1 -f /dev/null
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
exec 10>&- 8>&-
kill $unwilling
wait $living $unwilling 2>/dev/null

# ---- holes ----
# Terabytes that cost nothing: the rings of a recording are said to be far away, and larger than any disk.
size=$((1 << 42))
cp "$kept" sparse.spoor && truncate -s $size sparse.spoor
timeout 60 "$spoor" ctl -f sparse.spoor dump whole 2>errors
check "a dump of four terabytes of nothing" test $? = 0 -a "$(du -k whole | cut -f 1)" -lt 20000
rm -f whole
timeout 60 "$spoor" ctl -f sparse.spoor dump 1000s newest 2>errors
check "of its newest" test $? = 0 -a "$(du -k newest | cut -f 1)" -lt 20000
check "which is a recording" sh -c "'$spoor' report -f newest 2>errors | grep -q TCP_REQ_NEW"
timeout 60 "$spoor" report -f sparse.spoor >output 2>errors
check "and is read" test $? = 0

# The same, and its header says that each of 3072 rings is in use and has 4 GB, 8 GB apart: holes, and what lies behind the end.
python3 - sparse.spoor <<'P'
import struct, sys
with open(sys.argv[1], "r+b") as file:
    file.seek(120)
    control, = struct.unpack("=Q", file.read(8))
    file.seek(200)
    file.write(struct.pack("=QQQ", 1 << 33, 3072, 1 << 32))  # stride, limit, bytes
    file.seek(control + 832)
    file.write(b"\2" * 3072)
P
for command in "ctl -f sparse.spoor dump forged" "ctl -f sparse.spoor dump 1000s forged" "report -f sparse.spoor" "record -q -f sparse.spoor -o forged" \
    "ctl -f sparse.spoor show"; do
    rm -f forged
    timeout -k 2 60 "$spoor" $command >output 2>errors
    status=$?
    check "$command: 24 terabytes that are said to be there" test $status -le 1 -a "$(du -ck forged 2>/dev/null | tail -n 1 | cut -f 1)" -lt 200000
done
