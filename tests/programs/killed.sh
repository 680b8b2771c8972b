#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Nothing is left behind, whenever the tracer is killed (SIGKILL): at its n-th system call, for n from the first to the last,
# through compiling, loading, attaching, running and leaving. Then the kernel's own lists have none of its maps, programs
# and links, tracefs has no event of it, nobody in the traced program listens any more, no process and no file is left.
#   tests/programs/killed.sh BUILD [STEP]     STEP 1: every n; the default is 29
set -u
build=$(cd "${1:?usage: killed.sh BUILD}" && pwd) || exit 1
step=${2:-29}
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "skip everything: needs root"
    exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/spoor-killed.XXXXXX") || exit 1
target=
finish() {
    exec 8>&- # the end of its input is the end of the target
    [ -z "$target" ] || wait "$target"
    rm -rf "$dir"
}
trap finish EXIT
cp "$build"/targets/{storm,calls,objects,recording} "$build/hostile/spoor" "$dir" || exit 1
mkdir "$dir/tmp" && cd "$dir" || exit 1
export TMPDIR=$dir/tmp HOSTILE_LOG=$dir/log SPOOR_TRACE_DIR=$dir/recorded
mkdir "$SPOOR_TRACE_DIR"
unset HOSTILE

mkfifo hold answers
./storm usdt <hold >answers &
target=$!
exec 8>hold 9<answers
listened() { # is what the target says of its semaphore
    local now hits
    echo look >&8
    read -r now hits <&9
    [ "$now" = 1 ]
}

map=killed$$
script="usdt:./storm:storm:tick { @$map = count(); printf(\"%d %s\\n\", arg0, str(arg1)); }
    uprobe:./storm:storm_call { @$map = count(); @s[ustack] = count(); }
    tracepoint:syscalls:sys_enter_getpgid { @$map = count(); } interval:ms:5 { @$map = count(); exit(); }"
tracefs=/sys/kernel/tracing
[ -e $tracefs/uprobe_events ] || tracefs=/sys/kernel/debug/tracing
events() { cat $tracefs/uprobe_events $tracefs/kprobe_events 2>/dev/null | grep -c "spoor_$1_"; }
# Other traces run on the machine, too: what is shared with them is looked through for this tracer's number.
files() { ls . "$TMPDIR" /sys/fs/bpf 2>/dev/null | sort; }

has_session() { # PID: a process of its session; one that has ended and waits for init to say so is none
    local file stat
    for file in /proc/[0-9]*/stat; do
        { read -r stat <"$file"; } 2>/dev/null && [[ ${stat##*) } =~ ^[^Z]\ [0-9]+\ -?[0-9]+\ $1\  ]] && return
    done
    return 1
}

left() { # PID: what is left of that tracer
    local objects
    objects=$(./objects $map)
    [ "$objects" = "0 maps, 0 programs, 0 links" ] || echo "the kernel has $objects"
    ! listened || echo "somebody listens to the probe"
    [ "$(events "$1")" = 0 ] || echo "events in tracefs"
    ! ls /dev/shm /tmp | grep "[._-]$1\$" || echo "a file"
    ! has_session "$1" || echo "a process"
}

# killed NAME STEP OPTIONS…: all n of a run
killed() {
    local name=$1 step=$2 tried=0 clean=0 calls n pid why i
    shift 2
    rm -f log
    timeout -k 2 60 ./spoor -q "$@" >out 2>err </dev/null
    calls=$(awk '/^counts/ { print $3 }' log)
    if [ -z "$calls" ]; then
        echo "not ok killed $name: it does not run"
        cat err
        return
    fi
    : >before; : >after; files >before
    for ((n = 1; n <= calls; n += step)); do
        HOSTILE=kill:$n setsid ./spoor -q "$@" >out 2>err </dev/null &
        pid=$!
        wait $pid 2>/dev/null
        tried=$((tried + 1))
        # What was open is closed by the kernel, which takes its time.
        for ((i = 0; i < 400; i++)); do
            why=$(left $pid)
            [ -n "$why" ] || break
            sleep 0.05
        done
        if [ -z "$why" ]; then clean=$((clean + 1)); else echo "killed at call $n of $calls: $why"; fi
    done
    files >after
    cmp -s before after || { diff before after; clean=-1; }
    if [ $tried = $clean ]; then
        echo "ok killed $name: $tried of $calls calls, nothing left"
    else
        echo "not ok killed $name: $tried tried, $clean clean"
    fi
}

killed "while tracing" "$step" -e "$script"
killed "while tracing a process" "$step" -p $target -e "$script"
killed "with several scripts" $((step * 7)) -e "$script" -e "begin { @$map = count(); } profile:hz:99 { @$map = count(); }"
killed "with a command" "$step" -c ./calls -e "uprobe:./calls:calls_add { @$map = count(); } tracepoint:syscalls:sys_enter_write { @$map = count(); }"
killed "with a command that is followed" $((step * 7)) --follow -c "sh -c './calls; ./calls'" -e "uprobe:./calls:calls_add { @$map = count(); }"
# The command stands still while what it records is looked for: then, too, it goes on.
killed "with a command and its recording" "$step" -c "./recording prog 5 2 0 64" -e "trace:bdev:BDEV_IO_START { @${map}[args.type] = count(); } uprobe:./recording:work { @${map}[0] = count(); }"
kill -0 $target 2>/dev/null && echo "ok the traced program is alive" || echo "not ok the traced program is alive"
