#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Scripts over recordings: a program that has ended, two at once, one that goes on, SPDK's format, nobody's privileges.
#   tests/programs/trace_scripts.sh BUILD
set -u
build=$(cd "${1:?usage: trace_scripts.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-scripts.XXXXXX") || exit 1
program=
spdk=spoor_script_$$
finish() {
    [ -z "$program" ] || kill -KILL "$program" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$dir" /dev/shm/$spdk*
}
trap finish EXIT
chmod 755 "$dir"
cd "$dir" || exit 1
export SPOOR_TRACE_DIR=$dir SPOOR_TRACE=all
unset SPOOR_HOST

# prints NAME 'what must come' COMMAND…: output, errors and all; blank lines do not count
prints() {
    local name=$1 expected=$2
    shift 2
    timeout 30 "$@" 2>&1 | grep -v '^$' >came
    printf '%s\n' "$expected" | sed '/^$/d' >expected
    if diff -u expected came >difference; then echo "ok $name"; else echo "not ok $name" && cat difference; fi
}
. "$root/tests/programs/recording.bash"

if [ ! -e "$build/libspoor.a" ]; then
    echo "skip everything: $build/libspoor.a is not built"
    exit 0
fi
cp "$build/targets/recording" . || exit 1
compile_spdk spdk_writer

# Two threads, 1000 requests of 8 events each.
file=$(./recording prog 1000 2 0 4096 </dev/null | head -n 1)
run() { "$spoor" -q -f "$file" "$@"; }
export -f run
export spoor file

prints "counts, types by name, sums" '@[trace:bdev:BDEV_IO_START]: 2000
@by[IO_WRITE]: 500
@by[IO_READ]: 1500
@len: 16000' "$spoor" -q -f "$file" -e 'trace:bdev:BDEV_IO_START { @[probe] = count(); @by[args.type] = count(); @len = sum(args.len); }'
prints "one program for many tracepoints" '@[trace:tcp:TCP_NOTE]: 2000
@[trace:tcp:TCP_REQ_NEW]: 2000
@[trace:tcp:TCP_REQ_EXECUTED]: 2000
@[trace:tcp:TCP_REQ_COMPLETED]: 2000
@[trace:tcp:TCP_REQ_NEED_BUFFER]: 2000
@[trace:tcp:TCP_REQ_RDY_TO_EXECUTE]: 2000' bash -c 'run -e "trace:tcp:* { @[probe] = count(); }" | awk "{ print length(\$0), \$0 }" | sort -n | cut -d" " -f2-'
prints "thread, owner, argument by number" '@[reactor_0, null0, 0]: 500
@[reactor_0, null0, -1]: 500
@[reactor_1, null0, 0]: 500
@[reactor_1, null0, -1]: 500
@owner[1]: 2000' bash -c 'run -e "trace:bdev:BDEV_IO_DONE { @[comm, owner_name, arg1] = count(); @owner[owner] = count(); }" | sort -k2,2 -k3,3r | LC_ALL=C sort -s -t, -k1,1'
prints "texts, reals, truth values, args as a whole" '{ .text = , .load = 0, .busy = false }
{ .text = steady as she goes, .load = 0, .busy = true }
steady as she goes 18 true
@[]: 668
@[steady as she goes]: 1332
@load: 499
@n: 2000' "$spoor" -q -f "$file" -e 'trace:tcp:TCP_NOTE {
    @[args.text] = count(); @load = max(args.load);
    if ($1 > @n) { print(args); if (args.busy) { printf("%s %d %s\n", str(args.text), strlen(args.text), args.busy ? "true" : "false"); } }
    @n++; }' 2
prints "related objects lead from I/O to request" '@: 2000' "$spoor" -q -f "$file" -e '
    trace:tcp:TCP_REQ_NEW { @begun[tid, object] = nsecs; }
    trace:bdev:BDEV_IO_DONE /@begun[tid, related] && @begun[tid, related] <= nsecs && related == (uint64)args.ctx/ { @ = count(); }
    end { clear(@begun); }'
prints "lifetime is the time since the beginning, since that since the event before" '@same: 6000' "$spoor" -q -f "$file" -e '
    trace:tcp:TCP_REQ_NEW { @begun[tid, object] = nsecs; @last[tid, object] = nsecs; }
    trace:tcp:TCP_REQ_NEED_BUFFER, trace:tcp:TCP_REQ_EXECUTED, trace:tcp:TCP_REQ_COMPLETED {
        if ((int64)lifetime == nsecs - @begun[tid, object] && (probe != "trace:tcp:TCP_REQ_NEED_BUFFER" || (int64)since == nsecs - @last[tid, object])) {
            @same = count(); } }
    end { clear(@begun); clear(@last); }'
prints "exit() is obeyed at once, end sees the last time" 'third
true
@n: 3' "$spoor" -q -f "$file" -e 'trace:tcp:TCP_REQ_NEW { @n++; @last[0] = nsecs; if (@n == 3) { printf("third\n"); exit(); } }
    end { print(@last[0] == nsecs); clear(@last); }'
prints "printf comes in the order of events" 'ordered' bash -c 'run -e "trace:* { printf(\"%llu\n\", nsecs); }" | grep . | sort -c -n && echo ordered'
prints "elapsed begins with the first event, intervals go by the time of events" 'true
@late: 0
@n: 2000' "$spoor" -q -f "$file" -e 'begin { @first[0] = nsecs; @late = 0; }
    trace:tcp:TCP_REQ_NEW { if (@n++ == 0) { print((int64)elapsed == nsecs - @first[0]); } if (@ticks[0] != (int64)(elapsed / 10000)) { @late++; } }
    interval:us:10 { @ticks[0]++; } end { clear(@first); clear(@ticks); }'
prints "JSON" '{"type": "map", "data": {"@": {"2": 500, "1": 1500}}}' "$spoor" -q -f json -f "$file" -e 'trace:BDEV_IO_START { @[args.type] = count(); }'
prints "what the pattern found without the argument is left out" "stdin:1:1-8: WARNING: 7 of 8 tracepoints have no argument 'len' and are left out, such as trace:tcp:TCP_NOTE
trace:* { @ = sum(args.len); }
~~~~~~~
@: 16000" "$spoor" -q -f "$file" -e 'trace:* { @ = sum(args.len); }'
prints "a pointer leads nowhere, and that is told" 'stdin:1:50-68: WARNING: Memory could not be read
Additional Info - helper: probe_read_user, retcode: -14, in trace:bdev:BDEV_IO_START
trace:bdev:BDEV_IO_START /args.offset < 8/ { @ = *(uint64*)args.ctx; exit(); }
                                                 ~~~~~~~~~~~~~~~~~~
@: 0' "$spoor" -q -f "$file" -e 'trace:bdev:BDEV_IO_START /args.offset < 8/ { @ = *(uint64*)args.ctx; exit(); }'
prints "listing" 'trace:bdev:BDEV_IO_DONE
    const void* ctx
    int status
trace:bdev:BDEV_IO_START
    enum io_type type
    const void* ctx
    uint64_t offset
    uint32_t len' "$spoor" -lv 'trace:bdev:*' -f "$file"
# Others record beside us, in the directory that all share.
prints "listing the newest" 'trace:tcp:TCP_NOTE' unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec "$0" "$@"' "$spoor" -l 'trace:*NOTE'

# ---- mistakes ----
prints "a name that is not there" "stdin:1:1-23: ERROR: No matches for trace bdev:BDEV_IO_DON.
trace:bdev:BDEV_IO_DON { }
~~~~~~~~~~~~~~~~~~~~~~
HINT: did you mean 'BDEV_IO_DONE'?" "$spoor" -f "$file" -e 'trace:bdev:BDEV_IO_DON { }'
prints "a probe of the kernel besides what is over" "stdin:1:31-60: ERROR: tracepoint:sched:sched_switch does not go with trace probes here: the program of $file has ended
trace:bdev:BDEV_IO_DONE { }   tracepoint:sched:sched_switch { }
                              ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
HINT: the kernel tells what happens now; a script over what has happened may have trace, begin, end, interval and profile probes" \
    "$spoor" -f "$file" -e 'trace:bdev:BDEV_IO_DONE { }   tracepoint:sched:sched_switch { }'
prints "what only the kernel knows" 'stdin:1:31-38: ERROR: This asks the kernel (get_current_task), and no kernel runs this script
trace:bdev:BDEV_IO_DONE { @ = curtask; }
                              ~~~~~~~
HINT: in scripts over recordings there is only what was recorded: args, object, owner, lifetime, since, tid, comm, nsecs' \
    "$spoor" -f "$file" -e 'trace:bdev:BDEV_IO_DONE { @ = curtask; }'
prints "what only recordings have" 'stdin:1:15-23: ERROR: lifetime is not available with begin
begin { print(lifetime); }
              ~~~~~~~~
HINT: it belongs to events of recordings: trace:GROUP:TRACEPOINT' "$spoor" -f "$file" -e 'begin { print(lifetime); }'
prints "a file that is none" 'stdin:1:1-8: ERROR: ./recording is no recording, neither of spoor nor of SPDK
trace:* { }
~~~~~~~' "$spoor" -f ./recording -e 'trace:* { }'
for size in 0 100 5000 100000; do
    head -c $size "$file" >cut.spoor
    timeout 20 "$spoor" -q -f cut.spoor -e 'trace:* { @ = count(); }' >/dev/null 2>&1
    status=$?
    check "a recording cut at $size" [ $status -le 1 ]
done

# ---- several, living, SPDK's, unprivileged ----
other=$(./recording other 500 1 0 4096 </dev/null | head -n 1)
prints "two recordings, in one order of time" 'ordered
@: 2500' bash -c '"$spoor" -q -f "$1" -f "$2" -e "trace:TCP_REQ_NEW { @ = count(); printf(\"%llu\n\", nsecs); }" | grep . >both
    grep -v @ both | sort -c -n && echo ordered; grep @ both' both "$file" "$other"

mkfifo hold
./recording living 0 1 1000 64 >out <hold &
program=$!
exec 9>hold
for _ in $(seq 400); do
    [ -s out ] && break
    sleep 0.05
done
living=$(head -n 1 out)
"$spoor" -f "$living" -e 'trace:TCP_REQ_NEW { @ = count(); } interval:ms:100 { @ticks++; printf("tick %d\n", (int64)@ > 200); }' >followed 2>&1 &
tracer=$!
followed_enough() { [ "$(grep -c '^tick' followed)" -ge 10 ] && grep -q '^tick 1' followed; }
until_so followed_enough
kill -INT $tracer
check "a living recording ends with Ctrl-C" timeout 20 tail --pid=$tracer -f /dev/null
ticks=$(sed -n 's/^@ticks: //p' followed) requests=$(sed -n 's/^@: //p' followed)
check "and was followed meanwhile ($ticks ticks, $requests requests)" [ "${ticks:-0}" -ge 10 -a "${requests:-0}" -gt 200 ]
"$spoor" -q -p $program -e 'trace:TCP_REQ_NEW { @[pid == $1] = count(); printf("one\n"); }' $program >followed 2>&1 &
tracer=$!
until_so grep -q '^one' followed
kill -KILL $program
wait $program 2>/dev/null
program=
exec 9>&-
check "it ends with its program, found by -p" timeout 20 tail --pid=$tracer -f /dev/null
check "and knows whose it was" grep -q '^@\[true\]' followed

# What a living program has recorded until now: 300 requests, and then it waits.
./recording waiting 300 1 0 4096 >out <hold &
program=$!
exec 9>hold
until_so eval '[ "$(wc -l <out)" = 2 ]'
waiting=$(head -n 1 out)
counts() { "$spoor" --duration 300ms "$@" -f "$waiting" -e 'trace:TCP_REQ_NEW { @ = count(); }'; }
export -f counts
export waiting
prints "a living recording begins now" "Reading $waiting from now on; --from start begins with what it holds
Attached 1 probe
@: 0" bash -c counts
prints "--from start: with what it holds" 'Attached 1 probe
@: 300' bash -c 'counts --from start'
prints "quietly" '@: 0' bash -c 'counts -q'
prints "beside one that has ended, from the beginning" '@n: 2300' bash -c '"$spoor" -q -f "$file" -f "$waiting" -e "trace:TCP_REQ_NEW { if (++@n == 2300) { exit(); } }"'
if [ "$(id -u)" = 0 ]; then
    prints "with probes of the kernel it is refused" 'ERROR: tracepoint:syscalls:sys_enter_openat does not go with trace probes here: --from start takes what was recorded before the kernel was asked
HINT: without probes of the kernel it can be read' bash -c '"$spoor" -q --from start -f "$waiting" -e "trace:TCP_REQ_NEW { exit(); } tracepoint:syscalls:sys_enter_openat { exit(); }" 2>&1 | sed -n "s/.*ERROR/ERROR/p; /HINT/p"'
fi
exec 9>&-
wait $program
program=
prints "and when it has ended, from the beginning" 'Attached 1 probe
@: 300' bash -c counts

prints "-c: what the command records, from its beginning" '@: 300' bash -c '"$spoor" -q -c "./recording started 300 1 0 4096" -e "trace:TCP_REQ_NEW { @ = count(); }" </dev/null | grep @'

if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
    chmod 644 "$file"
    prints "needs no privilege" '@: 2000' setpriv --reuid=65534 --regid=65534 --clear-groups "$spoor" -q -f "$file" -e 'trace:TCP_REQ_NEW { @ = count(); }'
fi
prints "needs no bpf(2)" '0' bash -c 'strace -f -e trace=bpf,perf_event_open "$spoor" -q -f "$file" -e "begin { @a = 1; } trace:TCP_REQ_NEW { @ = count(); }" 2>&1 | grep -c "bpf(\|perf_event"'

if [ -w /dev/shm ]; then
    ./spdk_writer $spdk 100 0 4096 </dev/null >out
    shm=$(head -n 1 out)
    "$spoor" report -f "$shm" >events 2>/dev/null
    for name in BDEV_IO_START BDEV_IO_DONE TCP_REQ_NEW TCP_REQ_COMPLETED; do
        count=$(grep -c " $name " events)
        came=$("$spoor" -q -f "$shm" -e "trace:$name { @ = count(); }" 2>/dev/null | sed -n 's/^@: //p')
        check "SPDK's format: as many $name as spoor report shows" [ "$count" -gt 0 -a "${came:-0}" = "$count" ]
    done
    rm -f "$shm"
    ./spdk_writer $spdk 100 0 4096 >out <hold &
    program=$!
    exec 9>hold
    until_so eval '[ "$(wc -l <out)" -ge 3 ]'
    waiting=$(head -n 1 out)
    prints "SPDK's, too, begins now" "Reading $waiting from now on; --from start begins with what it holds
Attached 1 probe
@: 0" bash -c counts
    prints "--from start: SPDK's with what it holds" 'Attached 1 probe
@: 200' bash -c 'counts --from start'
    exec 9>&-
    wait $program
    program=
    rm -f "$waiting"
    # A round has 7 slots: the oldest of 28,000 that a ring of 256 keeps are the rest of an IO_START.
    ./spdk_writer $spdk 4000 0 256 </dev/null >out
    shm=$(head -n 1 out)
    "$spoor" report -f "$shm" 2>/dev/null | grep ' BDEV_IO_DONE ' >events
    "$spoor" -k -f "$shm" -e 'trace:BDEV_IO_DONE { @all = count(); @known[lifetime > 0 || since == 0] = count(); }
        trace:BDEV_IO_DONE /lifetime > 0 || lifetime == 0/ { @passed = count(); }' >came 2>errors
    value() { sed -n "s/^$1: //p" came; }
    check "a statement that asks for an unknown lifetime is left out, a predicate is false" \
        [ "$(value @all)" = "$(wc -l <events)" -a "$(value '@known.*')" = "$(grep -c ' time: ' events)" -a \
        "$(value @passed)" = "$(value '@known.*')" -a "$(value @all)" -gt "$(value @passed)" ]
    check "and counted with -k" grep -q 'The beginning of the object, or its event before, is not in the recording: the statement was left out' errors
    rm -f "$shm"
fi
