#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Recordings of programs in namespaces of their own, as in containers: found by the process, whatever id it has for itself,
# read, drained, followed and steered; known to run where their file is seen from outside.
#   tests/programs/namespaces.sh BUILD
set -u
build=$(cd "${1:?usage: namespaces.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
spoor=$build/spoor
. "$root/tests/programs/recording.bash"
begin_test namespaces
unset SPOOR_TRACE_DIR
need_shared_memory
if ! unshare -m -p -f sh -c 'mount -t tmpfs tmpfs /dev/shm' 2>errors; then
    echo "skip everything: needs root" # for namespaces and mounts
    exit 0
fi
cp "$build/targets/recording" . || exit 1
compile_spdk spdk_writer
mkfifo hold
name=spoor_test_$$
decoy=

# inside FLAGS PREPARE COMMAND…: in new namespaces, until `end`. $program is the process, as it is seen from here.
inside() {
    local flags=$1 prepare=$2
    shift 2
    rm -f out
    # shellcheck disable=SC2086
    unshare $flags -f --kill-child sh -c "$prepare; exec 3<&0; \"\$@\" <&3 & wait" sh "$@" >out <hold 2>errors &
    outer=$!
    readers=("$outer")
    exec 9>hold
    wait_for_file
    program=$(pgrep -P "$(pgrep -P "$outer")")
    [ -n "$program" ] || { echo "not ok $1 began"; cat errors; exit 1; }
}
end() {
    exec 9>&-
    kill -KILL "$program" 2>/dev/null
    wait "$outer" 2>/dev/null
    program= readers=()
    [ -z "$file" ] || rm -f "$file" $decoy
    file= decoy=
}
# events WHAT ARGUMENTS…: the listing has events of the program.
events() {
    local what=$1
    shift
    timeout 20 "$spoor" "$@" >list 2>errors
    check "$what" test "$(grep -c 'REQ_COMPLETED\|BDEV_IO_DONE' list)" -gt 10
}
# All that -p does, of a program that is $1.
by_process() {
    events "$1: report" report -p "$program" --whole
    timeout 20 "$spoor" record -q -p "$program" -o drained --duration 300ms 2>errors
    events "$1: record" report -f drained
    rm -f drained
    timeout 20 "$spoor" report --follow -p "$program" >list 2>errors 9>&- &
    local follower=$!
    for _ in $(seq 500); do [ "$(grep -c REQ_COMPLETED list)" -gt 10 ] && break; sleep 0.02; done
    kill -INT $follower
    wait $follower
    check "$1: report --follow" test "$(grep -c REQ_COMPLETED list)" -gt 10
    "$spoor" ctl -p "$program" show >list 2>errors
    check "$1: ctl show" grep -q '+ TCP_REQ_COMPLETED' list
    "$spoor" ctl -p "$program" disable all 2>errors
    check "$1: ctl steers it" sh -c "'$spoor' ctl -p $program show | grep -q -- '- TCP_REQ_COMPLETED'"
    "$spoor" ctl -p "$program" enable all 2>errors
    timeout 20 "$spoor" -q -p "$program" -e 'trace:*:TCP_REQ_COMPLETED { @n = count(); } interval:ms:200 { exit(); }' >list 2>errors
    check "$1: a script" grep -q '^@n: [1-9]' list
}

for kind in spdk spoor; do
    command=(./spdk_writer "$name" 0 500 2048)
    [ $kind = spdk ] || command=(./recording "$name" 0 2 500)
    inside "-m -p" "mount -t tmpfs tmpfs /dev/shm" "${command[@]}"
    inner=$file file=
    check "$kind: it has another id for itself" sh -c "! grep -qE '(pid|[.])$program([.]|$)' out && grep -q '/dev/shm/$name' out"
    check "$kind: its file is not here" test ! -e "$inner"
    # What has the name here is no recording of that process.
    decoy=/dev/shm/${name}_trace.pid$program
    "$spoor" record -q -p "$program" -o decoy --duration 100ms 2>errors
    "$spoor" convert -q --to spdk decoy "$decoy" 2>errors
    by_process "$kind in a container"
    "$spoor" report -p "$program" --whole -j 2>errors >list
    check "$kind: and not what has its name here" sh -c "! grep -q '$decoy' errors && '$spoor' ctl -p $program show | head -1 | grep -q '^/proc/$program/root/dev/shm/'"
    events "$kind: by its path" report --whole -f "/proc/$program/root$inner"
    if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
        setpriv --reuid 65534 --regid 65534 --clear-groups "$spoor" report -p "$program" >list 2>errors
        check "$kind: who may not look is told so" grep -q "^ERROR: no recording of process $program in /dev/shm.*; what it has mapped cannot be looked at: Permission denied (that is for its user, or for root)" errors
    fi
    rm -f decoy "$decoy"
    end

    # Ids of their own, and the host's /dev/shm.
    inside "-p" : "${command[@]}"
    by_process "$kind with ids of its own"
    check "$kind: it is listed as running" sh -c "'$spoor' ctl list | grep '$file' | grep -q running"
    check "$kind: and is not cleaned" sh -c "! '$spoor' ctl clean -n | grep -q '$file'"
    kill -KILL "$program"
    wait "$outer" 2>/dev/null
    check "$kind: until it has ended" sh -c "'$spoor' ctl list | grep '$file' | grep -q ended"
    end
done
"$spoor" report -p 4000000 >list 2>errors
check "a process that is not there" grep -q '^ERROR: no recording of process 4000000 in /dev/shm.*; there is no such process$' errors
exit 0
