#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What reads foreign files has no privileges, the tracer few once it is attached; and when a reader dies the trace goes on.
#   tests/programs/apart.sh BUILD
set -u
build=$(cd "${1:?usage: apart.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "skip everything: needs root" && exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-apart.XXXXXX") || exit 1
tracer=
finish() {
    [ -z "$tracer" ] || { kill "$tracer" 2>/dev/null && wait "$tracer" 2>/dev/null; }
    rm -rf "$dir"
}
trap finish EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache

check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name" && tail -n 5 out errors 2>/dev/null | sed 's/^/  /'; fi
}
not() { ! "$@"; }

cat >target.c <<'END'
#include <unistd.h>
struct request { int number; char name[16]; };
__attribute__((noinline, noclone)) int serve(struct request *request)
{
    __asm__ volatile("" ::: "memory");
    return request->number;
}
int main(void)
{
    for (struct request request = {0, "first"};; request.number++, usleep(2000))
        serve(&request);
}
END
gcc -g -O1 -fno-omit-frame-pointer target.c -o target || exit 1

# readers: the children of the tracer that read for it, by name
readers() { pgrep -P "$tracer" -x "spoor-[a-z]+"; }
reader() { pgrep -P "$tracer" -x "spoor-$1"; }
says() { # PID NAME: of /proc/PID/status
    awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/status" 2>/dev/null
}
# until COMMAND…: it comes true within 20 s
until_true() {
    local turn
    for ((turn = 0; turn < 400; turn++)); do
        "$@" && return
        sleep 0.05
    done
    return 1
}
begin_trace() { # SCRIPT OPTIONS…
    local script=$1
    shift
    : >out # of the trace before it, before anybody looks
    "$build/spoor" -q "$@" -e "$script" >out 2>errors &
    tracer=$!
}
end_trace() {
    kill -INT "$tracer" && wait "$tracer"
    status=$?
    tracer=
}
lines() { grep -c -- "$1" out; }
has() { [ "$(lines "$1")" -ge "$2" ]; }

# ---- privileges ----
begin_trace 'uprobe:./target:serve { printf("%s %s\n", args.request->name, ustack(1)); }' -c ./target
check "stacks and types of a program" until_true has "^first" 3
for name in dwarf tables; do
    pid=$(reader $name)
    check "the reader of $name is there" [ -n "$pid" ]
    check "the reader of $name has no capabilities" [ "$(says "$pid" CapPrm)$(says "$pid" CapEff)$(says "$pid" CapAmb)" = \
        000000000000000000000000000000000000000000000000 ]
    check "the reader of $name is not root" [ "$(says "$pid" Uid)" != 0 ]
    check "the reader of $name has few system calls" [ "$(says "$pid" Seccomp)" = 2 ]
    check "the reader of $name has no file of ours that can be written" \
        [ -z "$(find "/proc/$pid/fd" -lname '/*' ! -lname /dev/null -perm -u+w 2>/dev/null)" ]
done
has_capability() { [ $((0x$(says "$tracer" CapEff) >> $1 & 1)) = 1 ]; }
CAP_SYS_MODULE=16 CAP_SYS_ADMIN=21 CAP_PERFMON=38 CAP_BPF=39
check "the tracer keeps CAP_BPF and CAP_PERFMON" eval "has_capability $CAP_BPF && has_capability $CAP_PERFMON"
check "the tracer has no CAP_SYS_ADMIN and CAP_SYS_MODULE any more" eval "! has_capability $CAP_SYS_ADMIN && ! has_capability $CAP_SYS_MODULE"
check "the tracer can run no program any more" [ "$(says "$tracer" Seccomp)" = 2 ]

# ---- readers that die ----
before=$(lines '^first')
readers | xargs -r kill -KILL
check "the trace goes on without its readers" until_true has '^first' $((before + 100))
end_trace
check "and ends as always" [ "$status" = 0 ]

# Stacks are named at the end: by readers that come anew each time.
./target &
target=$!
begin_trace 'uprobe:./target:serve { @[ustack(2)] = count(); printf("hit\n"); } interval:ms:50 { print(@); }' -p "$target"
check "stacks of a process" until_true has 'main' 1
killed=0
for ((turn = 0; turn < 30; turn++)); do
    for pid in $(readers); do kill -KILL "$pid" 2>/dev/null && killed=$((killed + 1)); done
    now=$(lines hit)
    until_true has hit $((now + 5))
done
check "readers were there to be killed" [ "$killed" -ge 1 ]
end_trace
check "the trace went on, whenever they were killed" [ "$status" = 0 ]
check "the names are there all the same" grep -q 'serve+0' out
kill "$target" && wait "$target" 2>/dev/null

# ---- names that are mangled ----
# A short name that stands for more than any memory holds: each argument is twice the one before.
endless=$(python3 -c 'print("_Z1fI1AIiiE" + "".join("S0_IS%s_S%s_E" % (c, c) for c in "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") + "Evv")')
cat >endless.c <<END
#include <unistd.h>
int outer(int number) __asm__("$endless");
int named(int number) __asm__("_ZN2ns5namedEi");
__attribute__((noinline, noclone)) int serve(int number) { __asm__ volatile("" ::: "memory"); return number; }
__attribute__((noinline, noclone)) int outer(int number) { return serve(number) + 1; }
__attribute__((noinline, noclone)) int named(int number) { return outer(number) + 1; }
int main(void) { for (int i = 0;; i++, usleep(2000)) named(i); }
END
gcc -O1 -fno-optimize-sibling-calls -fno-omit-frame-pointer endless.c -o endless || exit 1
(ulimit -v 4000000 && timeout -k 2 20 "$build/spoor" -q --max-events 3 -e 'uprobe:./endless:serve { printf("%s\n", ustack(3)); }' -c ./endless) >out 2>errors
check "a name that has no end is left as it is" [ $? = 0 -a "$(lines "$endless+")" = 3 ]
check "and others are not" [ "$(lines 'ns::named(int)+')" = 3 ]
begin_trace 'uprobe:./endless:serve { printf("%s\n", ustack(3)); }' -c ./endless
check "names are there" until_true has 'ns::named(int)+' 3
pid=$(reader names)
check "the reader of names has no capabilities and few system calls" \
    [ "$(says "$pid" CapPrm)$(says "$pid" CapEff)$(says "$pid" Seccomp)" = 000000000000000000000000000000002 ]
end_trace

# ---- recordings ----
cp "$build/targets/recording" . || exit 1
recording=$(SPOOR_TRACE_DIR=$dir ./recording bench 1000 1 0 4096 </dev/null | head -n 1)
mkfifo slow
"$build/spoor" report -f "$recording" >slow 2>errors &
tracer=$!
exec 7<slow
until_true eval '[ "$(says $tracer Seccomp)" = 2 ]'
check "who reports has no capability that matters" eval "! has_capability $CAP_SYS_ADMIN && ! has_capability $CAP_BPF && ! has_capability 1"
check "who reports can run no program" [ "$(says "$tracer" Seccomp)" = 2 ]
check "and reports all the same" [ "$(grep -c BDEV_IO_START <&7)" = 1000 ]
exec 7<&-
wait "$tracer"
tracer=

# A living one is copied by a thread.
mkfifo hold
SPOOR_TRACE_DIR=$dir ./recording lives 1000 1 0 4096 >said <hold &
target=$!
exec 8>hold
until_true test -s said
live=$(head -n 1 said)
begin_trace 'trace:bdev:* { @ = count(); }' -f "$live"
check "a thread copies from a living recording" until_true eval '[ "$(says $tracer Threads)" -ge 2 ] && [ "$(says $tracer Seccomp)" = 2 ]'
check "all threads have what rights are left" \
    [ "$(cat "/proc/$tracer/task/"*/status | grep -E '^(CapEff|CapPrm|Seccomp):' | sort -u | wc -l)" = 3 ]
end_trace

# The description, which the script is compiled with, is read with few rights, too.
strace -f -y -o calls -e trace=read,pread64,preadv,capset,prctl "$build/spoor" -q -e 'trace:bdev:* { @ = count(); }' -f "$recording" >out 2>errors
check "under strace a script counts" grep -qx '@: 2000' out
before_reading() {
    awk '/ capset\(.*= 0/ { few = !/CAP_BPF|CAP_SYS_ADMIN|CAP_KILL/ } /PR_SET_SECCOMP, SECCOMP_MODE_FILTER.*= 0/ { filtered = 1 }
        /read[v64]*\([0-9]+<[^>]*\.spoor>/ { print few && filtered ? "few" : "all"; exit }' calls
}
check "rights are given up before a byte of the recording is read" [ "$(before_reading)" = few ]
chmod 755 "$dir"
mkdir -m 777 theirs
SUDO_UID=65534 SUDO_GID=65534 SPOOR_TRACE_DIR=$dir/theirs begin_trace 'trace:bdev:* { printf("event\n"); }' -c './recording of-a-user 0 1 1000 4096'
check "the recording of a command is read" until_true has event 20
pid=$(pgrep -P "$tracer" -x recording)
check "the command is another user" [ "$(says "$pid" Uid)" = 65534 ]
end_trace
check "and ends with the trace" until_true not test -e "/proc/$pid/exe"

# Beside probes of the kernel a process reads each.
SPOOR_TRACE_DIR=$dir ./recording goes 0 1 1000 4096 >/dev/null 2>&1 <hold &
other=$!
until_true eval 'goes=$(ls goes.*.spoor 2>/dev/null)'
begin_trace 'trace:*:TCP_REQ_NEW { printf("request\n"); } tracepoint:sched:sched_switch { @switches = count(); }
    interval:ms:20 { printf("alive\n"); }' -f "$live" -f "$goes"
check "events come, and the tracer keeps up" until_true has request 20
check "a process reads each recording" [ "$(reader recording | wc -l)" = 2 ]
for pid in $(reader recording); do
    check "it has one recording open" [ "$(find "/proc/$pid/fd" -lname '*.spoor' | wc -l)" = 1 ]
    check "and no capabilities" [ "$(says "$pid" CapPrm)$(says "$pid" CapEff)$(says "$pid" CapAmb)" = \
        000000000000000000000000000000000000000000000000 ]
    check "it is not root" [ "$(says "$pid" Uid)" != 0 ]
    check "it has few system calls and one thread" [ "$(says "$pid" Seccomp)$(says "$pid" Threads)" = 21 ]
    [ -z "$(find "/proc/$pid/fd" -lname "*/$goes")" ] || of_goes=$pid
    [ -z "$(find "/proc/$pid/fd" -lname "*/lives.*")" ] || of_live=$pid
done
kill -KILL "${of_live:-}"
check "one that dies is told of, by the recording's name" until_true grep -q "^WARNING: $live: the process that read it was lost after" errors
now=$(lines request)
check "the other one goes on" until_true has request $((now + 20))
kill -KILL "${of_goes:-}"
check "the other one is told of, too" until_true grep -q "^WARNING: $goes: the process that read it was lost after" errors
now=$(lines alive)
check "and what the kernel tells goes on" until_true has alive $((now + 20))
end_trace
check "until the end" [ "$status" = 0 -a "$(lines '^@switches: [1-9]')" = 1 ]
check "each loss was told once" [ "$(grep -c 'was lost' errors)" = 2 ]
strace -f -y -o calls -e trace=read,pread64,preadv,prctl "$build/spoor" -q -e 'trace:*:TCP_REQ_NEW { @ = count(); }
    tracepoint:sched:sched_switch { @switches = count(); } interval:ms:300 { exit(); }' -f "$goes" >out 2>errors
check "under strace it counts" grep -q '^@: [1-9]' out
who_reads() {
    awk '/PR_SET_NAME, "spoor-recordin/ { reader[$1] } /read[v64]*\([0-9]+<[^>]*\.spoor>/ { who[$1 in reader ? "reader" : "tracer"]++ }
        END { for (name in who) print name }' calls
}
check "nobody but the process reads the recording" [ "$(who_reads)" = reader ]
begin_trace 'trace:*:TCP_REQ_NEW { printf("request\n"); } tracepoint:sched:sched_switch { @switches = count(); }' -f "$goes"
check "events come again" until_true has request 5
kill -STOP "$(reader recording)"
began=$SECONDS
end_trace
check "one that stands still is not waited for at the end" [ "$status" = 0 -a $((SECONDS - began)) -lt 8 -a "$(grep -c 'was lost' errors)" = 1 ]
strace -f -y -o calls -e trace=read,pread64,preadv,prctl "$build/spoor" -l 'trace:*' -f "$goes" >out 2>errors
check "nor does who lists tracepoints read the recording" [ "$(lines TCP_REQ_NEW)$(who_reads)" = 1reader ]
kill "$other" && wait "$other" 2>/dev/null

# Who writes into the memory of a program has the rights to open it, and no others; then the rights to read.
CAP_DAC_OVERRIDE=1 CAP_FOWNER=3
has_only() { # CAPABILITY…: some of these and those to read
    local capability mask=$((1 << 2 | 1 << 19)) # CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE
    for capability; do mask=$((mask | 1 << capability)); done
    [ "$(says "$tracer" Seccomp)" = 2 ] && [ $((0x$(says "$tracer" CapPrm) & ~mask)) = 0 ]
}
"$build/spoor" record -f "$live" -o drained 2>errors &
tracer=$!
until_true test -s drained
check "who records into a file that is there has the rights to read" until_true has_only
end_trace
check "and records" [ "$status" = 0 -a -s drained ]
"$build/spoor" record -f "$live" -o drained --rotate-time 1s --keep 1 2>errors &
tracer=$!
check "with the next file the first goes" until_true test -s drained.2 -a ! -e drained.1
check "who makes files that follow each other has rights for that, too" has_only $CAP_DAC_OVERRIDE 0 $CAP_FOWNER # 0: CAP_CHOWN
end_trace
gcc -o locker "$root/tests/programs/locker.c" || exit 1
mkfifo locked
./locker "$live" <locked >answer &
locker=$!
exec 7>locked
until_true test -s answer
"$build/spoor" ctl -f "$live" enable all 2>errors &
tracer=$!
check "who steers has no more than opening takes" until_true has_only $CAP_DAC_OVERRIDE 0
wait "$tracer"
exec 7>&-
wait "$locker"
"$build/spoor" ctl -f "$live" disable all 2>errors
check "and steers" [ $? = 0 ]
"$build/spoor" ctl -f "$live" show >out
check "as the program sees" not grep -q '^  +' out
tracer=
exec 8>&-
wait "$target"
# Somebody else's, in a directory of somebody else's where all may write: as /dev/shm may be in a container.
# In a /dev/shm of its own: what others have recorded is not for this test to remove.
unshare -m bash -c 'mount -t tmpfs -o mode=1777,uid=65534 none /dev/shm && cp "$1" /dev/shm/bench.1.spoor &&
    chown 65534 /dev/shm/bench.1.spoor && strace -f -o calls "$2" ctl clean && test ! -e /dev/shm/bench.1.spoor' \
    bash "$recording" "$build/spoor" >out 2>errors
check "who cleans up removes what others have recorded" [ $? = 0 ]
check "and gives up what that does not take" grep -q capset calls
exit 0
