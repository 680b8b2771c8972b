# SPDX-License-Identifier: BSD-3-Clause
# What stands before the command of a case: waiting for what happens, instead of for time.

# started PID NAME: until the process runs the program NAME, and its C library is there.
started() {
    until grep -q "/$2\$" "/proc/$1/maps" && grep -q '/libc[.-]' "/proc/$1/maps"; do [ -e "/proc/$1" ] || return; done
}

# attached FILE TRACER: until the tracer has written there that it is attached, or has ended.
attached() {
    until grep -q '^Attached' "$1" || ! kill -0 "$2"; do usleep 20000 || sleep 0.02; done 2>/dev/null
}

# frozen "PID…" TRACER ARGUMENT…: runs the tracer to its end; the processes stand still until it is attached.
frozen() {
    frozen=$1
    shift
    : >frozen.log
    kill -STOP $frozen
    "$@" 2>frozen.log &
    attached frozen.log $!
    kill -CONT $frozen
    wait $!
    grep -v '^Attached [0-9]' frozen.log >&2 || true
}
