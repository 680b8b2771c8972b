#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One script over the kernel, a program's probes and its recording at once; several scripts at once. blockd is the program,
# clients that others wrote are its work, and what they count themselves must be what is seen. tests/programs/mixed.sh BUILD
set -u
build=$(cd "${1:?usage: mixed.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor blockd=$build/examples/blockd scripts=$root/examples/blockd
if [ "$(id -u)" != 0 ]; then
    echo "skip mixed: needs root"
    exit 0
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-mixed.XXXXXX") || exit 1
server= tracers=()
finish() {
    for pid in $server "${tracers[@]}"; do kill -KILL "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT
cd "$dir" || exit 1
cp "$blockd" blockd && blockd=$dir/blockd # probes in a file are in all that run it, and others may
export SPOOR_TRACE_DIR=$dir
unset SPOOR_HOST SPOOR_TRACE

ok() { echo "ok $1"; }
check() { # NAME FILE COMMAND…: FILE is shown if the command fails
    local name=$1 file=$2
    shift 2
    if "$@"; then ok "$name"; else echo "not ok $name" && tail -n 30 "$file" | sed 's/^/  /'; fi
}
have() { command -v "$1" >/dev/null; }
uri="nbd+unix:///disk?socket=$dir/socket"
start() {
    rm -f -- *.spoor blockd.out
    "$blockd" --socket "$dir/socket" --control "$dir/control" --threads 2 "$@" >blockd.out 2>blockd.errors &
    server=$!
    while :; do
        grep -qs '^blockd: running' blockd.out && return
        kill -0 $server 2>/dev/null || break
        sleep 0.05
    done
    echo "not ok blockd starts" && cat blockd.errors
    exit 1
}
stop() {
    kill -TERM "$server"
    wait "$server"
    server=
}
# trace NAME OPTION…: spoor in the background until untrace; what it prints is in NAME.
trace() {
    local name=$1
    shift
    rm -f "$name" "$name.errors"
    "$spoor" -o "$name" "$@" 2>"$name.errors" &
    tracers+=($!)
    while :; do
        grep -qs '^Attached' "$name.errors" && return
        kill -0 ${tracers[-1]} 2>/dev/null || break
        sleep 0.05
    done
}
untrace() {
    kill -INT "${tracers[@]}" 2>/dev/null
    wait "${tracers[@]}"
    tracers=()
}
ended() { # by itself
    timeout 20 tail --pid="${tracers[0]}" -f /dev/null || return
    wait "${tracers[0]}"
    local status=$?
    tracers=()
    return $status
}
value() { sed -n "s/^@$1: //p" "$2"; } # NAME FILE

# ---- everybody counts the same ----
# What a client does fits into the recorder's rings, so that nothing is lost however busy the machine is.

start --memory disk:64M --trace all
kind='$kind == 0 ? "read" : $kind == 1 ? "write" : "other"'
probe="usdt:$blockd:blockd:request_done { \$kind = (uint64)args.command; @[\"probe\", $kind] = count(); @both++; }"
records="trace:bdev:BDEV_IO_START { \$kind = (uint64)args.type; @[\"record\", $kind] = count(); @both++; }
trace:tcp:TCP_REQ_NEW { @new = count(); } trace:tcp:TCP_REQ_COMPLETED { @completed = count(); } trace:bdev:BDEV_IO_DONE { @done = count(); }"
element() { sed -n "s/^@\[$1, $2\]: //p" "$3" | grep . || echo 0; }
agrees() { # FILE READS WRITES SOURCE…
    local file=$1 reads=$2 writes=$3 source all=0
    shift 3
    for source; do
        all=$((reads + writes + $(element $source other $file)))
        [ "$(element $source read $file)" = $reads ] && [ "$(element $source write $file)" = $writes ] || return 1
        [ $source = probe ] || { [ "$(value new $file)" = $all ] && [ "$(value completed $file)" = $all ] && [ "$(value "done" $file)" = $all ]; } || return 1
    done
    [ $# = 1 ] || [ "$(value both $file)" = $((2 * all)) ]
}
# client NAME COMMAND…: it runs under four tracers; its own account comes as $reads and $writes.
client() {
    local name=$1
    shift
    trace probes -p $server -e "$probe"
    trace records -f "$(ls -- *.spoor)" -e "begin { @[\"begun\"] = nsecs; } trace:tcp:TCP_REQ_NEW /nsecs > @[\"begun\"]/ { @new = count(); }"
    trace mixed -p $server -e "$probe $records"
    trace order -p $server -e "usdt:$blockd:blockd:request_done { printf(\"%llu probe\n\", nsecs); } trace:tcp:TCP_REQ_NEW { printf(\"%llu record\n\", nsecs); }"
    "$@" >client 2>&1 || { echo "not ok $name" && cat client; }
    account
    untrace
    check "$name: the probes are its $reads reads and $writes writes" probes agrees probes "$reads" "$writes" probe
    check "$name: so are probes and records in one script" mixed agrees mixed "$reads" "$writes" probe record
    check "$name: probes and records come in the order of time" order eval 'grep . order >lines && sort -c -n lines &&
        [ $(grep -c probe lines) = $(value new mixed) ] && [ $(grep -c record lines) = $(value new mixed) ]'
}

if have fio && fio --enghelp 2>/dev/null | grep -qw nbd && have python3; then
    account() {
        read -r reads writes < <(python3 -c 'import json; job = json.load(open("fio.json"))["jobs"][0]; print(job["read"]["total_ios"], job["write"]["total_ios"])')
    }
    client fio timeout 60 fio --name=count --ioengine=nbd --uri="$uri" --rw=randrw --bs=4k --size=64M --io_size=3M --iodepth=8 --output-format=json --output=fio.json
else
    echo "skip fio: it is not installed with its nbd engine, or python3 is not"
fi
if have qemu-io; then
    commands=()
    for i in $(seq 0 19); do commands+=(-c "write ${i}M 4k" -c "read ${i}M 8k" -c "read 40M 512"); done
    account() { reads=$(grep -c '^read ' client) writes=$(grep -c '^wrote ' client); }
    client qemu-io timeout 60 qemu-io -f raw "$uri" "${commands[@]}"
else
    echo "skip qemu-io: it is not installed"
fi
if have nbdcopy; then
    head -c 8M /dev/urandom >image
    account() { reads=0 writes=128; } # 8 MiB in pieces of 64 KiB
    client nbdcopy timeout 60 nbdcopy --connections=1 --request-size=65536 image "$uri"
else
    echo "skip nbdcopy: it is not installed"
fi
have qemu-io || exit 0
io() { timeout 20 qemu-io -f raw "$uri" "$@" >client 2>&1; }

# ---- what a block of a trace probe sees, and what it may do ----

trace state -p $server -e "usdt:$blockd:blockd:request_done { @last[tid] = nsecs; @sizes = hist(args.length); }
trace:tcp:TCP_REQ_COMPLETED { printf(\"%d %d %s %s %d %d\n\", @last[tid] > nsecs - 1000000000 && @last[tid] < nsecs, pid == $server, comm, owner_name, lifetime > 0, related); }
trace:bdev:BDEV_IO_START { @sizes = hist(args.len); @text[args.type] = count(); }
trace:export:EXPORT_STATE { printf(\"%s %d %s\n\", str(args.name), args.thread, args.to); }
tracepoint:syscalls:sys_enter_recvfrom { @calls = count(); } interval:ms:1 { @ticks = count(); } begin { @last[0] = 1; @from = \"begin\"; } end { clear(@last); printf(\"end\n\"); }"
"$blockd" --control control pause disk >/dev/null
"$blockd" --control control resume disk >/dev/null
io -c 'write 0 4k' -c 'read 0 4k'
untrace
check "one map for both: what a probe stored, the recorder's block reads" state grep -qE '^1 1 reactor_[01] unix:[0-9]+ disk 1 0$' state
check "texts of records are read" state \
    eval '[ "$(grep "^disk" state | sort | xargs)" = "disk 2 EXPORT_ACTIVE disk 2 EXPORT_PAUSED disk 3 EXPORT_ACTIVE disk 3 EXPORT_PAUSED" ]'
check "one histogram for both" state grep -qE '^\[4K, 8K\) +4 \|' state
check "kernel, probes, timer, begin and end beside it" state eval '[ "$(value calls state)" -gt 4 ] && [ "$(value ticks state)" -gt 3 ] && grep -qx "@from: begin" state && grep -qx end state'

# The same block in the kernel and in this process: what one program recorded from its beginning to its end.
block='trace:tcp:* { printf("%s %d %d %s %s %x %d %d\n", probe, pid, tid, comm, owner_name, object, (int64)lifetime >= 0, cpu); }
trace:export:* { printf("%s %s %d %s %s\n", probe, str(args.name), args.thread, args.from, args.to); @[probe, args.to] = count(); }'
stop
rm -f -- *.spoor
rm -f started
"$spoor" -o inside -c "$blockd --socket $dir/socket --threads 2 --memory disk:64M --trace all" -e "$block tracepoint:sched:sched_process_exec { }" >started 2>inside.errors &
tracers+=($!)
until grep -qs '^blockd: running' started; do sleep 0.05; done
io -c 'write 0 4k' -c 'read 0 4k'
pid=$(sed -n 's/^blockd: running, pid \([0-9]*\),.*/\1/p' started)
kill -TERM "$pid"
check "-c: the command's end ends the trace" inside.errors ended
"$spoor" -q -f blockd.$pid.spoor -e "$block" >outside 2>outside.errors
check "a block sees the same in the kernel as in this process, from the command's first record on" inside eval \
    'cmp -s inside outside && [ $(grep -c TCP_REQ_NEW inside) -ge 2 ] && [ $(grep -c "^trace:export.*ACTIVE" inside) -ge 4 ]'

mv blockd.$pid.spoor dead

# ---- ends ----

start --memory disk:64M --trace all
trace left -p $server -e "trace:tcp:TCP_REQ_NEW { printf(\"%d\n\", ++@n); if (@n == 3) { exit(); } } tracepoint:syscalls:sys_enter_recvfrom { @calls = count(); } end { printf(\"end\n\"); }"
io -c 'write 0 4k' -c 'read 0 4k' -c 'read 8k 4k' -c 'read 16k 4k'
check "exit() in a block of a record ends the trace" left eval 'ended && [ "$(grep -v "^$\|calls" left | xargs)" = "1 2 3 end @n: 3" ]'
trace left -p $server -e "trace:tcp:TCP_REQ_NEW { @n++; } usdt:$blockd:blockd:connected { exit(); }"
io -c 'write 0 4k'
check "exit() in another block ends it, and what was recorded later is not seen" left eval 'ended && [ "$(value n left)" = "" -o "$(value n left)" = 0 ]'
trace left -f "$(ls -- blockd.$server.spoor)" -e "trace:tcp:TCP_REQ_NEW { @n++; } tracepoint:syscalls:sys_enter_recvfrom { @calls = count(); }"
io -c 'write 0 4k'
stop
check "the recorder's end ends it, and everything was read" left eval 'ended && [ "$(value n left)" -ge 1 ] && [ "$(value calls left)" -ge 1 ]'

# ---- mistakes ----

start --memory disk:64M --trace all
refused() { # NAME ERROR OPTION…
    local name=$1 error=$2
    shift 2
    timeout 20 "$spoor" "$@" >refused 2>&1
    check "$name" refused grep -qF "$error" refused
}
refused "the recording of nobody" "stdin:1:13-47: ERROR: tracepoint:syscalls:sys_enter_read does not go with trace probes here: the program of dead has ended" \
    --recording dead -e 'trace:* { } tracepoint:syscalls:sys_enter_read { }'
refused "what the recorder cannot know" "ERROR: This asks the kernel (get_current_uid_gid), and not the one that recorded is asked" \
    -p $server -e 'trace:tcp:* { @[uid] = count(); } tracepoint:syscalls:sys_enter_read { }'
refused "--cgroup" "recordings do not say who is in a group" -p $server --cgroup / -e 'trace:tcp:* { } tracepoint:syscalls:sys_enter_read { }'
refused "a command that records nothing" "ERROR: the command 'true' has ended and recorded nothing" -c true -e 'trace:tcp:* { } tracepoint:syscalls:sys_enter_read { }'
refused "-c and -f" "ERROR: -c and a recording are two answers to one question" -c true -f blockd.$server.spoor -e 'trace:tcp:* { } tracepoint:syscalls:sys_enter_read { }'

# ---- blockd's scripts ----

trace several -p $server --script "$scripts/schedule.bt" --script "$scripts/send_msg.bt" \
    -e "trace:tcp:TCP_QP_CONNECT { @given[args.peer] = count(); }" -- "$blockd"
for _ in 1 2 3; do io -c 'read 0 4k'; done
untrace
check "schedule.bt: an array of structs, as it changes" several eval '[ "$(grep -c "^a new connection:" several)" = 3 ] &&
    grep -qx "a new connection: thread 2 has 1 with it, thread 3 has 0" several && grep -qx "a new connection: thread 2 has 2 with it, thread 3 has 1" several'
check "several scripts at once have maps of their own" several eval 'grep -qx "@given\[2\]: 2" several && grep -qx "@given\[3\]: 1" several && grep -q "^@given\[unix:" several && grep -q "^@send_msg" several'
stop

start --file disk:16M --trace all
trace timeline -p $server "$scripts/timeline.bt" "$blockd"
io -c 'write 64k 4k'
untrace
stop
steps="socket received
recorder trace:tcp:TCP_REQ_NEW
recorder trace:bdev:BDEV_IO_START
recorder trace:bdev:BDEV_IO_DONE
socket sent
probe NBD_CMD_WRITE"
check "timeline.bt: a write's way in order" timeline [ "$(grep . timeline | awk '{ print $3, $4 }' | grep -v 'disk\|RDY_TO\|COMPLETED' |
    awk '/TCP_REQ_NEW/ && !begun { begun = 1; print before } begun && !/received/ && !done { print } /NBD_CMD_WRITE/ { done = 1 } { before = $0 }')" = "$steps" ]
check "timeline.bt: lines are in order" timeline eval 'grep . timeline | sort -c -n -k1,1'

trace names "$scripts/names.bt" "$blockd"
start --memory disk:16M
stop
untrace
check "names.bt: tables filled from the enums" names [ "$(sed -n 's/^[0-9]*\.[0-9]*: //p' names | sed 's/blockd reached state //' | xargs)" = \
    "NONE CREATE_TARGET CREATE_POLL_GROUPS START_EXPORTS disk change state from INACTIVE to ACTIVE RUNNING STOP_EXPORTS disk change state from ACTIVE to INACTIVE DESTROY_POLL_GROUPS DESTROY_TARGET STOPPED" ]
check "names.bt: it is said which enums" names.errors eval 'grep -qx "@target has the names of enum target_state" names.errors &&
    grep -qx "@export has the names of enum export_state" names.errors'
"$spoor" --check -e 'usdt:$1:blockd:connected { print(@state[arg0]); }' "$blockd" 2>several
check "several enums fit: an error that names them" several eval 'grep -q "several enums of .* may be meant (.*target_state.*): choose one with --enum @state=NAME" several'
start --memory disk:16M
trace request -p $server "$scripts/request.bt"
io -c 'write 1M 64k'
untrace
stop
check "request.bt: structs, enums and a struct in a struct, by the server's own types" request \
    [ "$(grep -m 2 -o 'NBD_CMD_WRITE is .*\|{ .type = BDEV_WRITE.*length = 65536' request | xargs -d '\n')" = \
    "NBD_CMD_WRITE is REQUEST_AT_WORK at export disk, which is EXPORT_ACTIVE { .type = BDEV_WRITE, .keep_space = false, .offset = 1048576, .length = 65536" ]
rm -f started
"$spoor" -o states -c "$blockd --socket $dir/socket --threads 2 --memory disk:16M" "$scripts/states.bt" "$blockd" >started 2>states.errors &
tracers+=($!)
until grep -qs '^blockd: running' started; do sleep 0.05; done
kill -TERM "$(sed -n 's/^blockd: running, pid \([0-9]*\),.*/\1/p' started)"
check "states.bt with -c: from the first state on" states eval 'ended && [ "$(grep "reached state" states | head -n 1 | sed "s/.*state //")" = NONE ]'
