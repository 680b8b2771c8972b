#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A real program of our own: examples/blockd under clients that others wrote (libnbd's, QEMU's, fio's) and under
# clients that do wrong; then what its probes and its recording tell. tests/programs/blockd.sh BUILD
set -u
build=$(cd "${1:?usage: blockd.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor blockd=$build/examples/blockd
scripts=$root/examples/blockd

ok() { echo "ok $1"; }
not_ok() {
    echo "not ok $1"
    shift
    printf '  %s\n' "$@"
}
skip() { echo "skip $1: $2"; }
check() { # NAME FILE COMMAND…: FILE is shown if the command fails
    local name=$1 file=$2
    shift 2
    if "$@"; then ok "$name"; else not_ok "$name" "$(tail -n 30 "$file")"; fi
}
have() { command -v "$1" >/dev/null; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-blockd.XXXXXX") || exit 1
server=
finish() {
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT
cd "$dir" || exit 1
cp "$blockd" blockd && blockd=$dir/blockd # probes in a file are in all that run it, and others may
export SPOOR_TRACE_DIR=$dir # recordings

# start OPTION…: a server; $server and $port say which.
start() {
    rm -f "$dir/out" "$dir/errors" # what the server before said
    "$blockd" --port 0 --socket "$dir/socket" --control "$dir/control" --threads 2 "$@" >"$dir/out" 2>"$dir/errors" &
    server=$!
    while :; do
        grep -q '^blockd: running' "$dir/out" && break
        kill -0 $server 2>/dev/null || break
        sleep 0.05
    done
    port=$(sed -n 's/^blockd: listens on 127.0.0.1:\([0-9]*\)$/\1/p' "$dir/out")
}
# stop: $status is how it ended, 124: not within 10 seconds.
stop() {
    kill -TERM "$server"
    for _ in $(seq 1200); do
        kill -0 "$server" 2>/dev/null || break
        sleep 0.05
    done
    kill -0 "$server" 2>/dev/null && kill -KILL "$server" && wait "$server" 2>/dev/null && status=124
    wait "$server"
    status=$?
    server=
}
tell() { timeout 10 "$blockd" --control "$dir/control" "$@" 2>&1; }
unix() { echo "nbd+unix:///$1?socket=$dir/socket"; }
tcp() { echo "nbd://127.0.0.1:$port/$1"; }

start --memory disk:64M --memory other:16M --null null0:1G --trace all
check "the server starts" "$dir/errors" [ -n "$port" ]
[ -n "$port" ] || exit 1

# ---- clients of others ----

head -c 64M /dev/urandom >image
if have nbdinfo && have nbdcopy; then
    timeout 10 nbdinfo --list "$(tcp '')" >list 2>&1
    check "the list of exports" list [ "$(sed -n 's/^export="\(.*\)":$/\1/p' list | xargs)" = "disk other null0" ]
    timeout 10 nbdinfo --json "$(unix disk)" >info 2>&1
    check "an export's size and abilities" info eval \
        'grep -q "\"export-size\": 67108864" info && grep -q "\"can_multi_conn\": true" info && grep -q "\"can_trim\": true" info'
    timeout 10 nbdinfo --size "$(tcp nosuch)" >nosuch 2>&1
    check "an export that is not there is said to be so" nosuch grep -q "no export named 'nosuch'" nosuch
    timeout 60 nbdcopy image "$(unix disk)" >copy 2>&1 && timeout 60 nbdcopy "$(unix disk)" back >>copy 2>&1
    check "nbdcopy reads back what it wrote, unix socket" copy cmp image back
    rm -f back
    timeout 60 nbdcopy --connections=4 --requests=64 image "$(tcp disk)" >copy 2>&1 &&
        timeout 60 nbdcopy --connections=4 --requests=64 "$(tcp disk)" back >>copy 2>&1
    check "nbdcopy reads back what it wrote, 4 TCP connections" copy cmp image back
    # Several at once, of which each must get its own.
    head -c 16M image >small
    rm -f back
    pids=()
    timeout 60 nbdcopy small "$(unix other)" & pids+=($!)
    timeout 60 nbdcopy "$(tcp disk)" back & pids+=($!)
    timeout 60 nbdcopy image "$(tcp null0)" & pids+=($!)
    timeout 60 nbdcopy "$(unix null0)" null: & pids+=($!)
    good=true
    for pid in "${pids[@]}"; do wait "$pid" || good=false; done
    timeout 60 nbdcopy "$(tcp other)" small.back
    check "several clients at once" "$dir/errors" eval '$good && cmp image back && cmp small small.back'
else
    skip nbdcopy "libnbd's programs (libnbd-bin) are not installed"
fi

if have qemu-img && have qemu-io; then
    timeout 60 qemu-img convert -n -f raw -O raw image "$(tcp disk)" >qemu 2>&1 &&
        timeout 60 qemu-img compare -f raw -F raw image "$(unix disk)" >>qemu 2>&1
    check "qemu-img converts and compares" qemu grep -q '^Images are identical' qemu
    timeout 30 qemu-io -f raw "$(unix disk)" -c 'write -P 7 1000 70000' -c 'read -P 7 1000 70000' -c 'write -z 4096 8192' \
        -c 'read -P 0 4096 8192' -c 'write -z -u 16k 10000' -c 'read -P 0 16k 10000' -c 'discard 32k 4k' -c 'read -P 0 32k 4k' \
        -c 'read -P 7 36864 512' -c 'write -f -P 9 67104768 4096' -c 'read -P 9 67104768 4096' -c flush >qemu 2>&1
    check "qemu-io: patterns, zeroes, trim, flush, the end" qemu eval '! grep -qi "fail\|error" qemu && [ $(grep -c " ops; " qemu) = 11 ]'
else
    skip qemu "QEMU's programs (qemu-utils) are not installed"
fi

fio_nbd=false
have fio && fio --enghelp 2>/dev/null | grep -qw nbd && fio_nbd=true
if $fio_nbd; then
    timeout 60 fio --name=verify --ioengine=nbd --uri="$(unix disk)" --rw=randwrite --bs=4k-64k --size=32M --iodepth=16 \
        --verify=crc32c --verify_fatal=1 >fio 2>&1
    check "fio verifies what it wrote" fio eval 'grep -q "err= 0" fio && ! grep -q "verify: bad\|crc32c: verify failed" fio'
else
    skip fio "fio with its nbd engine is not installed"
fi

# ---- the control socket ----

[ "$(tell list)" = "disk memory 67108864 ACTIVE
other memory 16777216 ACTIVE
null0 null 1073741824 ACTIVE
ok" ] && ok "control: list" || not_ok "control: list" "$(tell list)"
good=true
expect() { # ANSWER COMMAND…
    local answer=$1 said
    shift
    said=$(tell "$@")
    [ "$said" = "$answer" ] || { good=false && echo "$*: $said" >>control.log; }
}
: >control.log
expect "ok" add memory extra 1M
expect "error: File exists" add null extra 1M
expect "error: no kind of device is called floppy" add floppy a 1M
expect "error: 12Q: a size is a number of bytes, or of K, M, G, T" add null a 12Q
expect "error: a name has 1 to 255 letters, digits and signs, no colon" add null a:b 1M
expect "error: there is no export nosuch" remove nosuch
expect "error: write add KIND NAME SIZE" add memory
expect "error: commands are add, remove, pause, resume and list" dance
expect "error: a command has less than 1024 characters" list "$(head -c 3000 /dev/zero | tr '\0' x)"
expect "error: extra is ACTIVE" resume extra
expect "ok" pause extra
expect "error: extra is PAUSED" pause extra
expect "ok" remove extra
expect "error: there is no export extra" pause extra
check "control: commands and their errors" control.log $good

if have qemu-io; then
    tell pause other >/dev/null
    timeout 20 qemu-io -f raw "$(tcp other)" -c 'write -P 5 0 4k' -c 'read -P 5 0 4k' >paused 2>&1 &
    client=$!
    sleep 0.5
    waits=false
    kill -0 $client 2>/dev/null && ! grep -q wrote paused && waits=true
    timeout 10 qemu-io -f raw "$(tcp disk)" -c 'read 0 4k' >beside 2>&1 || waits=false
    tell resume other >/dev/null
    wait $client && grep -q '^read 4096' paused || waits=false
    check "requests of a paused export wait, those of others do not" paused $waits

    tell add memory gone 1M >/dev/null
    (echo 'write -P 1 0 4k' && until [ -s removing ]; do sleep 0.02; done && echo 'read 0 4k') | timeout 20 qemu-io -f raw "$(unix gone)" >removed 2>&1 &
    client=$!
    until grep -qs wrote removed || ! kill -0 $client 2>/dev/null; do sleep 0.02; done
    tell remove gone >removing
    wait $client
    check "a removed export's clients are disconnected" removed eval 'grep -q "^ok" removing && grep -qi "wrote 4096" removed && grep -qi "failed" removed'
    check "and nobody else" beside eval 'timeout 10 qemu-io -f raw "$(tcp disk)" -c "read 0 4k" >beside 2>&1'
fi

# ---- clients that do wrong ----
# Bytes in printf's notation. All servers say first what they are: 18 bytes.
hex() { sed 's/../\\x&/g' <<<"$1"; }
flags=$(hex 00000003)
option() { printf 'IHAVEOPT%s%s' "$(hex "$(printf '%08x%08x' "$1" "$2")")" "$3"; } # NUMBER LENGTH DATA
request() {                                                                        # COMMAND LENGTH [OFFSET [MAGIC]]
    hex "$(printf '%s0000%04x3132333435363738%016x%08x' "${4:-25609513}" "$1" "${3:-0}" "$2")"
}
choose_disk=$flags$(option 1 4 disk)
# say BYTES: to the server. Its answer is in the file answer; $ended says if it closed the connection within 6 seconds.
say() {
    ended=false
    exec {client}<>"/dev/tcp/127.0.0.1/$port" || return
    { printf '%b' "$1" >&"$client"; } 2>/dev/null
    timeout 6 cat <&$client >answer 2>/dev/null && ended=true
    exec {client}>&-
}
answer_has() { od -An -v -tx1 answer | tr -d ' \n' | grep -q "$1"; }
# wrong NAME BYTES ANSWER-IN-HEX: must be answered by an error and disconnected.
wrong() {
    say "$2"
    if $ended && answer_has "$3"; then ok "$1"; else not_ok "$1" "ended: $ended, answer: $(od -An -v -tx1 answer | tr -d '\n')" "$(tail -n 3 errors)"; fi
}
error=80000003 too_big=80000009
# Somebody who does right, all the while.
if $fio_nbd; then
    timeout 100 fio --name=beside --ioengine=nbd --uri="$(tcp other)" --rw=randrw --bs=4k --size=16M --iodepth=8 --time_based --runtime=4 \
        --thinktime=200 --thinktime_blocks=8 >beside 2>&1 &
    beside=$!
fi
wrong "wrong: HTTP instead of a handshake" 'GET / HTTP/1.1\r\n\r\n' $error
wrong "wrong: flags that were not offered" '\x00\x00\x00\xff' $error
wrong "wrong: no option" "${flags}IHAVENOT$(hex 0000000100000000)" $error
wrong "wrong: an option of 4 GiB" "$flags$(option 7 0xffffffff '')" $too_big
wrong "wrong: a list request with data" "$flags$(option 3 4 disk)" $error
wrong "wrong: a choice without lengths" "$flags$(option 7 2 ab)" $error
wrong "wrong: a choice whose name is longer than itself" "$flags$(option 7 6 "$(hex ffffffff0000)")" $error
wrong "wrong: a choice with more wishes than it has" "$flags$(option 6 6 "$(hex 00000000ffff)")" $error
wrong "wrong: a request without its magic" "$choose_disk$(request 0 4096 0 61626364)" 6744669800000016
wrong "wrong: a write of 4 GiB" "$choose_disk$(request 1 0xffffffff)" 67446698000000163132333435363738
say "$flags$(option 1 6 nosuch)"
$ended && ok "wrong: the old way to choose what is not there ends the connection" || not_ok "wrong: export name" "$ended"
say "$flags$(option 99 0 '')$(option 2 0 '')"
$ended && answer_has 80000001 && ok "an unknown option is answered, and the next one too" || not_ok "unknown option" "$(od -An -tx1 answer)"
# What the protocol allows to fail keeps the connection: five errors, one read, the end.
bad_then_good="$choose_disk$(request 0 4096 0x7fffffffffffffff)$(request 0 4096 0x3fffff0)$(request 77 4096)\
$(request 0 0)$(request 1 4 0x4000000)abcd$(request 0 16)$(request 2 0)"
say "$bad_then_good"
count=$(od -An -v -tx1 answer | tr -d ' \n' | grep -o 67446698000000 | wc -l)
$ended && [ "$count" = 6 ] && answer_has 674466980000001c && answer_has 6744669800000000 &&
    ok "requests that cannot be are answered, and the next one too" ||
    not_ok "bad requests" "ended $ended, $count answers: $(od -An -v -tx1 answer | tr -d '\n')"
# Leaving in the middle.
for part in '' '\x00' "${flags}IHAVE" "$flags$(option 7 100 abc)" "$choose_disk\x25\x60" \
    "$choose_disk$(request 1 0x1000000)abc" "$choose_disk$(request 0 0x2000000)"; do
    exec {client}<>"/dev/tcp/127.0.0.1/$port" && printf '%b' "$part" >&$client
    exec {client}>&-
done
# Many that say nothing, some that ask for much and read nothing.
clients=() greedy=$(request 0 0x1000000)
for i in $(seq 100); do
    exec {client}<>"/dev/tcp/127.0.0.1/$port" && clients+=("$client")
    [ $((i % 10)) != 0 ] || { printf '%b' "$choose_disk" && for _ in $(seq 40); do printf '%b' "$greedy"; done; } >&$client
done
# Noise, the same in each run.
RANDOM=7
for i in $(seq 40); do
    exec {client}<>"/dev/tcp/127.0.0.1/$port" && {
        [ $((i % 2)) = 0 ] || printf '%b' "$choose_disk"
        for _ in $(seq 60); do printf '%b' "\\x$(printf '%x' $((RANDOM % 256)))"; done
    } >&$client
    exec {client}>&-
done 2>/dev/null
check "the server has survived them all" errors kill -0 $server
tell list | grep -q '^disk memory 67108864 ACTIVE$' && ok "it still answers" || not_ok "it still answers"
for client in "${clients[@]}"; do exec {client}>&-; done
if $fio_nbd; then
    check "a client who does right has noticed nothing" beside eval 'wait $beside && grep -q "err= 0" beside'
fi
have nbdcopy && { timeout 20 nbdcopy "$(tcp disk)" null: 2>copied && ok "and clients are served as before" || not_ok "served" "$(cat copied)"; }

# ---- the end ----
for _ in $(seq 1200); do # the last clients leave
    [ "$(ls "/proc/$server/fd" | wc -l)" -gt 20 ] || break
    sleep 0.05
done
check "no connection stays open" errors [ "$(ls "/proc/$server/fd" | wc -l)" -le 20 ]
if $fio_nbd; then
    without=$(ls "/proc/$server/fd" | wc -l)
    timeout 30 fio --name=load --ioengine=nbd --uri="$(tcp disk)" --rw=randrw --bs=64k --size=32M --iodepth=32 --time_based --runtime=20 >/dev/null 2>&1 &
    load=$!
    until [ "$(ls "/proc/$server/fd" | wc -l)" -gt "$without" ] || ! kill -0 $load 2>/dev/null; do sleep 0.05; done
fi
stop
check "it ends cleanly under load" errors [ $status = 0 ]
[ ! -e socket ] && [ ! -e control ] && ok "it leaves no socket behind" || not_ok "sockets" "$(ls)"
wait

# ---- what it tells ----

if ! have qemu-io; then
    skip "probes and recording" "QEMU's programs (qemu-utils) are not installed"
    exit 0
fi
io() { timeout 20 qemu-io -f raw "$(tcp disk)" "$@" >io 2>&1; }

# The recording. 3 requests, one I/O each: 8 records for the request's own steps (9 for writes) and 2 for the I/O's.
if "$spoor" report --help 2>&1 | grep -q -- --slowest; then
    rm -f -- *.spoor
    start --memory disk:64M --trace tcp,bdev
    io -c 'write 4k 8k' -c 'read 4k 4k' -c flush
    stop
    report() { "$spoor" report -f "$(ls -- *.spoor)" --width 0 "$@" 2>report.errors; }
    report >listing
    thread='^ *[0-9]+:' name='thread: *reactor_[01]$' time='[0-9]+\.[0-9]{3}' number='[0-9]+'
    shape="$thread +$time +t$number 127\.0\.0\.1:$number disk +TCP_REQ_NEW +id: +r$number +qpair: *0x[0-9a-f]+ +$name"
    check "recording: a request begins" listing grep -qE "$shape" listing
    shape="$thread +$time +b$number disk +BDEV_IO_START +id: +i$number \(r$number\) +type: +BDEV_WRITE +ctx: +0x[0-9a-f]+ +offset: *4096 +len: *8192 +$name"
    check "recording: its I/O knows it" listing grep -qE "$shape" listing
    shape="$thread +$time +b$number disk +BDEV_IO_DONE +id: +i$number \(r$number\) +time: +$time +ctx: +0x[0-9a-f]+ +$name"
    check "recording: the I/O ends, with its time" listing grep -qE "$shape" listing
    check "recording: the steps of a write, in order" listing [ "$(grep -E "id: +(r0|i0 \(r0\)) " listing | grep -o 'TCP_REQ_[A-Z0-9_]*\|BDEV_IO_[A-Z]*' | xargs)" = \
        "TCP_REQ_NEW TCP_REQ_NEED_BUFFER TCP_REQ_TX_H_TO_C TCP_REQ_RDY_TO_EXECUTE BDEV_IO_START BDEV_IO_DONE TCP_REQ_EXECUTED \
TCP_REQ_RDY_TO_COMPLETE TCP_REQ_TRANSFER_C2H TCP_REQ_COMPLETED" ]
    report --stats >stats
    requests=$(grep -c TCP_REQ_NEW listing) # three, and what the client does when it leaves
    good=true
    for name in tcp:TCP_REQ_NEW tcp:TCP_REQ_COMPLETED bdev:BDEV_IO_START bdev:BDEV_IO_DONE; do
        [ "$(awk -v name=$name '$1 == name { print $2 }' stats)" = "$requests" ] || good=false
    done
    check "recording: each request is counted, and its I/O" stats eval '$good && [ $requests -ge 3 ]'
    report --slowest 3 tcp_request >slowest
    check "recording: the three slowest requests, with their I/O" slowest \
        [ "$(grep -oE "^#[0-9]|BDEV_IO_DONE +id" slowest | grep -oE "^#[0-9]|BDEV" | xargs)" = "#1 BDEV #2 BDEV #3 BDEV" ]
else
    skip recording "this build has no spoor report"
fi

if [ "$(id -u)" != 0 ]; then
    skip probes "needs root"
    exit 0
fi
# trace NAME OPTION…: spoor in the background until untrace; what it prints is in NAME.
trace() {
    traced=$1
    shift
    rm -f "$traced" "$traced.errors"
    "$spoor" -o "$traced" "$@" 2>"$traced.errors" &
    tracer=$!
    while :; do
        grep -q '^Attached' "$traced.errors" && return
        kill -0 $tracer 2>/dev/null || break
        sleep 0.05
    done
}
untrace() {
    kill -INT $tracer 2>/dev/null
    wait $tracer
}

# State changes, the start included.
trace states "$scripts/states.bt" "$blockd"
start --memory disk:64M
tell add null null0 1G >/dev/null
tell pause disk >/dev/null
tell resume disk >/dev/null
stop
untrace
sed -nE 's/^[0-9]+\.[0-9]{6}: //p' states >states.said
change() { # NAME FROM TO
    echo "$1 change state from $2 to $3 start"
    for thread in 2 3; do
        echo "$1 on thread $thread state to $3 start"
        echo "$1 on thread $thread state to $3 done"
    done
    echo "$1 change state from $2 to $3 done"
}
reached() { printf 'blockd reached state %s\n' "$@"; }
{
    reached NONE CREATE_TARGET CREATE_POLL_GROUPS START_EXPORTS
    change disk INACTIVE ACTIVE
    reached RUNNING
    change null0 INACTIVE ACTIVE
    change disk ACTIVE PAUSED
    change disk PAUSED ACTIVE
    reached STOP_EXPORTS
    change disk ACTIVE INACTIVE
    change null0 ACTIVE INACTIVE
    reached DESTROY_POLL_GROUPS DESTROY_TARGET STOPPED
} >states.expected
if cmp -s states.expected states.said; then ok "probes: every change of state, in order"; else
    not_ok "probes: states" "$(diff states.expected states.said)" "$(cat states.errors)"
fi

# One definition, two sinks: the probe fires whether its tracepoint records or not, and both say the same.
for enabled in none all; do
    rm -f -- *.spoor
    if [ $enabled = all ]; then start --memory disk:64M --trace export; else start --memory disk:64M; fi
    trace sinks -p "$server" -e "usdt:$blockd:export:EXPORT_STATE { printf(\"%s %d %d %d\\n\", str(args.name), args.thread, args.from, args.to); }"
    tell pause disk >/dev/null
    tell resume disk >/dev/null
    untrace
    stop
    # By number: INACTIVE 0, ACTIVE 1, PAUSED 2; each thread for itself.
    sort sinks | sed '/^$/d' >sinks.said
    printf 'disk %d %d %d\n' 2 1 2 2 2 1 3 1 2 3 2 1 >sinks.expected
    check "sinks: the probe of a tracepoint (recorded: $enabled)" sinks.said cmp -s sinks.expected sinks.said
    [ $enabled = all ] || continue
    "$spoor" report -f "$(ls -- *.spoor)" --tracepoint EXPORT_STATE --width 0 2>report.errors |
        sed -nE 's/.* name: *([^ ]+) +thread: *([0-9]+) +from: *EXPORT_([A-Z]+) +to: *EXPORT_([A-Z]+) .*/\1 \2 \3 \4/p' |
        sed 's/INACTIVE/0/g; s/ACTIVE/1/g; s/PAUSED/2/g' | grep ' \(1 2\|2 1\)$' | sort >sinks.recorded
    check "sinks: the recording of the same events" sinks.recorded cmp -s sinks.expected sinks.recorded
done

start --memory disk:64M
trace messages -p "$server" "$scripts/send_msg.bt" "$blockd"
tell add null null1 1G >/dev/null
untrace
[ "$(grep '^@' messages | grep -v client_free | sort)" = "@for_each_channel[export_state_change_on_group]: 1
@send_msg[call_channel]: 2
@send_msg[call_completion]: 1" ] && ok "probes: messages are counted by their functions" ||
    not_ok "probes: messages" "$(cat messages messages.errors)"

# Requests, and the client's own account of them.
trace requests -e "usdt:$blockd:blockd:request_done { @[args.command, args.status] = count(); @bytes[str(args.export_name)] = sum(args.length); }
usdt:$blockd:blockd:refused { @refused[str(args.why)] = count(); }
usdt:$blockd:blockd:connected { @connected = count(); }"
args=()
for i in $(seq 50); do args+=(-c "write ${i}M 4k" -c "read ${i}M 8k"); done
io "${args[@]}"
say 'GET / HTTP/1.1\r\n\r\n'
untrace
check "probes: as many requests as the client made" requests eval \
    'grep -q "^@\[1, 0\]: 50$" requests && grep -q "^@\[0, 0\]: 5[0-9]$" requests && grep -q "^@connected: 2$" requests'
check "probes: who does wrong is reported" requests grep -q '^@refused\[it sent flags that were not offered\]: 1$' requests
stop
